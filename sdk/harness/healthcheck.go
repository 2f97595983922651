package harness

import (
	"fmt"
	"time"

	"github.com/captf-toolkit/captf/contract"
)

// Times of a MachineHealthCheck (control-planes.md 7 and 10).
const (
	nodeStartupTimeout = 600 * time.Second
	// unhealthyTimeout is the time after which a condition that is not well
	// counts, as the quick start of Cluster API has it.
	unhealthyTimeout = 5 * time.Minute
)

// reconcileHealthCheck is a MachineHealthCheck on every machine of the cluster
// (control-planes.md 7): it looks at nothing while the cluster's infrastructure
// is not Ready, and only at control-plane machines before the control plane is
// initialised.
func (p *play) reconcileHealthCheck() bool {
	w := p.w
	if !p.cfg.Scenario.HealthCheck || w.Spec.Deleted || w.Cluster.Gone {
		return false
	}
	ready := w.Infra.Provisioned && w.Infra.readyAt > 0
	if suspended := w.Infra.Provisioned && !ready; suspended != p.suspended {
		p.suspended = suspended
		text := "looks at machines again: the cluster's infrastructure is Ready"
		if suspended {
			text = "looks at no machine, because the cluster's infrastructure is not Ready"
		}
		p.tell(EventWaiting, "machinehealthcheck", "Cluster/"+w.Cluster.Name, text)
	}
	if !ready {
		return false
	}
	changed := false
	for _, m := range w.Machines {
		if m.Deleting || m.Unhealthy != "" || !m.ControlPlane && !w.Cluster.ControlPlaneInitialized {
			continue
		}
		why, at := p.unhealthy(m)
		if why == "" {
			continue
		}
		if p.w.Now < at {
			p.checkAgain(at)
			continue
		}
		m.Unhealthy = why
		p.tell(EventUnhealthy, "machinehealthcheck", m.Ref(), "is unhealthy: "+why)
		changed = true
	}
	return changed
}

// checkAgain lets the health check look at a time to come.
func (p *play) checkAgain(at time.Duration) {
	if p.checkAt > p.w.Now && p.checkAt <= at {
		return
	}
	p.checkAt = at
	p.hold(at)
	p.eng.After(at-p.w.Now, func() {})
}

// unhealthy says why a machine is not healthy, and from when on that counts; ""
// when it is.
func (p *play) unhealthy(m *Machine) (why string, at time.Duration) {
	i := m.Infra
	switch {
	case m.Node != nil && p.nodeOf(m.Node.ProviderID) == nil:
		return "its Node is gone", p.w.Now
	case m.Node != nil && m.silent > 0:
		return fmt.Sprintf("its Node has not been Ready for %s", unhealthyTimeout), m.silent + unhealthyTimeout
	case i.unwellAt > 0:
		return fmt.Sprintf("its infrastructure has not been Ready for %s (%s)", unhealthyTimeout, i.idWatch.Condition(i.HealthOf()).Reason), i.unwellAt + unhealthyTimeout
	case m.Node == nil:
		since := max(m.Created, p.initializedAt, p.w.Infra.readyAt, i.readyAt)
		return fmt.Sprintf("it has no Node after %s", nodeStartupTimeout), since + nodeStartupTimeout
	}
	return "", 0
}

// ailing tells that the health check is going to mark a machine that has a Node.
func (p *play) ailing() bool {
	if !p.cfg.Scenario.HealthCheck {
		return false
	}
	for _, m := range p.w.Machines {
		if why, _ := p.unhealthy(m); why != "" && m.Node != nil && !m.Deleting {
			return true
		}
	}
	return false
}

// watchHealth notes since when an object is Ready, or is not.
func (p *play) watchHealth(i *Infra, op Op) {
	if i.Machine != nil && i.Provisioned && op == OpRefresh {
		i.idWatch = i.idWatch.Observe(i.Machine.ProviderID)
	}
	now := max(p.w.Now, 1)
	was := i.unwellAt > 0
	switch {
	case !i.Provisioned:
	case i.idWatch.Condition(i.HealthOf()).Status == contract.ConditionFalse:
		i.readyAt = 0
		if i.unwellAt == 0 {
			i.unwellAt = now
		}
	default:
		i.unwellAt = 0
		if i.readyAt == 0 {
			i.readyAt = now
		}
	}
	if i.fault != "" && was != (i.unwellAt > 0) {
		text := "is Ready again"
		if !was {
			text = "is Ready=False/NotReady, and stays provisioned: " + i.idWatch.Condition(i.HealthOf()).Reason
		}
		p.tell(EventUnhealthy, "captf", i.Ref(), text)
	}
	p.readDone(i, op)
}

// remediateWorkers is what a MachineSet does with machines that are unhealthy.
func (p *play) remediateWorkers() bool {
	changed := false
	for _, m := range p.w.Workers() {
		if m.Unhealthy == "" || m.Deleting || !p.w.Cluster.ControlPlaneInitialized {
			continue
		}
		p.tell(EventRemediated, "machineset", m.Ref(), "is remediated: "+m.Unhealthy)
		changed = p.deleteMachine(m, "machineset") || changed
	}
	return changed
}
