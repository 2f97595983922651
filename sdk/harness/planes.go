package harness

import (
	"fmt"

	"github.com/captf-toolkit/captf/contract"
)

// reconcileControlPlane plays the control-plane provider by its table: gates,
// then at most one operation.
func (p *play) reconcileControlPlane() bool {
	w, cp := p.w, p.cp
	status := &w.ControlPlane
	if !status.Created || status.Gone {
		return false
	}
	if status.Deleting {
		return p.deleteControlPlane()
	}
	if w.Spec.ControlPlaneDeleted {
		status.Deleting = true
		p.tell(EventDeleted, "user", p.controlPlaneRef(), "is deleted")
		return true
	}
	if w.Spec.Deleted {
		return false
	}
	if p.updateServers() {
		return true
	}
	for _, gate := range cp.Gates {
		if !p.openCheck(status, gate, nil) {
			return false
		}
	}
	if !status.Initialized && len(w.ControlPlaneMachines()) > 0 && p.openCheck(&status.Initialized, cp.Initialized, nil) {
		status.Initialized, w.Connected = true, true
		p.tell(EventInitialized, cp.Name, p.controlPlaneRef(), "is initialised")
		return true
	}
	for _, op := range cp.Operations {
		if !op.When(w) {
			if op.Remediates {
				delete(p.blocks, &status.Remediating)
			}
			continue
		}
		done, blocked := p.operate(op)
		if blocked && op.Remediates {
			continue
		}
		return done
	}
	return false
}

// operate does one operation once its preflight gates are open; blocked tells
// that they are not.
func (p *play) operate(op Operation) (done, blocked bool) {
	w, cp := p.w, p.cp
	var subject any = &w.ControlPlane
	if op.Remediates {
		subject = &w.ControlPlane.Remediating
	}
	var victim *Machine
	if op.Victim != nil {
		if victim = op.Victim(w); victim == nil {
			return false, false
		}
	}
	for _, gate := range op.Preflight {
		if !p.openCheck(subject, gate, victim) {
			return false, true
		}
	}
	if victim != nil && op.Remediates {
		w.ControlPlane.Remediating = true
		p.tell(EventRemediated, cp.Name, victim.Ref(), "is remediated: "+victim.Unhealthy)
	}
	if victim != nil {
		return p.deleteMachine(victim, cp.Name), false
	}
	name, infra := cp.MachineName(w, p.rng)
	if p.createFails(infra) {
		return true, false
	}
	w.ControlPlane.Remediating = false
	p.addMachine(&Machine{
		Name: name, ControlPlane: true, Init: op.Create.Init,
		Revision: w.Spec.Revision, Version: w.Spec.Version, FailureDomain: p.failureDomain(),
	}, infra, cp.Name)
	if op.Requeue > 0 {
		p.eng.After(op.Requeue, func() {})
	}
	return true, false
}

// failureDomain picks the domain with the fewest up-to-date machines, then the
// fewest machines, then any (control-planes.md 2.2).
func (p *play) failureDomain() *string {
	type row struct {
		name              string
		current, machines int
	}
	var best []row
	for _, d := range p.w.Cluster.FailureDomains {
		if !d.ControlPlane {
			continue
		}
		r := row{name: d.Name}
		for _, m := range p.w.ControlPlaneMachines() {
			if m.FailureDomain == nil || *m.FailureDomain != d.Name {
				continue
			}
			r.machines++
			if !m.Deleting && !p.w.Outdated(m) {
				r.current++
			}
		}
		switch {
		case len(best) == 0 || r.current < best[0].current || r.current == best[0].current && r.machines < best[0].machines:
			best = []row{r}
		case r.current == best[0].current && r.machines == best[0].machines:
			best = append(best, r)
		}
	}
	if len(best) == 0 {
		return nil
	}
	name := best[p.rng.IntN(len(best))].name
	return &name
}

// deleteControlPlane deletes all control-plane machines in parallel, without
// draining and without care for etcd (control-planes.md 2.9).
func (p *play) deleteControlPlane() bool {
	for _, gate := range p.cp.Deletion {
		if !p.openCheck(&p.w.ControlPlane, gate, nil) {
			return false
		}
	}
	machines := p.w.ControlPlaneMachines()
	changed := false
	for _, m := range machines {
		m.HookRemoved = true
		changed = p.deleteMachine(m, p.cp.Name) || changed
	}
	if len(machines) > 0 {
		return changed
	}
	p.w.ControlPlane.Gone = true
	p.tell(EventGone, p.cp.Name, p.controlPlaneRef(), "is gone")
	return true
}

// reapplied tells that the cluster was applied with control_plane_initialized true.
func (p *play) reapplied() bool {
	in, ok := p.w.Infra.Inputs.(*contract.ClusterInputs)
	return ok && in.ControlPlaneInitialized
}

// holdCluster tells that the cluster's re-apply at initialisation shall lose
// the race against the next machine.
func (p *play) holdCluster() bool {
	w := p.w
	if p.race != RaceMachineFirst || !w.ControlPlane.Initialized || p.reapplied() || p.raceRun {
		return false
	}
	p.raceRun = p.machineWrites() != nil
	wanted := len(w.ControlPlaneMachines()) < w.Spec.ControlPlanes || len(w.Workers()) < w.Spec.Workers || len(w.MachinesWhere(func(m *Machine) bool { return m.Infra.Inputs == nil })) > 0
	return wanted && !p.raceRun
}

// holdMachines tells that a machine's first apply shall lose that race.
func (p *play) holdMachines() bool {
	return p.race == RaceClusterFirst && p.w.ControlPlane.Initialized && !p.reapplied()
}

// admit asks the control plane's admission about what the user asks for.
func (p *play) admit(step Step) bool {
	if p.cp.Admit == nil || p.w.Spec.Deleted {
		return true
	}
	refusal, warning := p.cp.Admit(p.w)
	if refusal != "" {
		p.fatal(fmt.Errorf("playing the step %s of scenario %s: admission refuses it: %s", step.ID, p.cfg.Scenario.ID, refusal))
		return false
	}
	if warning != "" {
		p.rec.note("", "", "%s", warning)
	}
	return true
}
