package harness

import (
	"fmt"
	"slices"
	"time"
)

// endless is the virtual time after which a step that is still making some
// progress is given up.
const endless = 24 * time.Hour

// settleTime is how long something must wait at a gate until a step that waits
// for that is done.
const settleTime = time.Minute

// playSteps plays one step of the scenario after the other.
func (p *play) playSteps() {
	p.checkModules()
	for _, step := range p.cfg.Scenario.Steps {
		if p.over() {
			return
		}
		p.step = step
		p.beginStep(step)
		if p.over() {
			return
		}
		p.lastProgress = p.w.Now
		until := step.until()
		if until.Now {
			continue
		}
		p.playUntil(until)
		if p.over() {
			return
		}
		if until.Settled {
			p.survive()
			p.stepDone(step)
			p.moveDone(step)
			continue
		}
		p.tell(EventReached, "harness", "Cluster/"+p.w.Cluster.Name, "done: "+step.ID)
	}
	p.expectNothingMore()
}

// beginStep does what the step says.
func (p *play) beginStep(step Step) {
	cluster := "Cluster/" + p.w.Cluster.Name
	switch {
	case step.Ask != nil:
		p.tell(EventAsked, "user", cluster, step.Title)
		p.ask(step)
	case step.Fault != nil:
		p.tell(EventFault, "harness", cluster, step.Title)
		p.addFault(*step.Fault)
	case step.Remediate != "":
		p.tell(EventAsked, "user", cluster, step.Title)
		p.mark(step.Remediate)
	case step.Move:
		p.tell(EventAsked, "user", cluster, step.Title)
		p.move()
	}
}

// ask changes what the user asks for.
func (p *play) ask(step Step) {
	step.Ask.apply(&p.w.Spec, p.cp)
	if !p.admit(step) {
		return
	}
	if e := step.Ask.Endpoint; e != nil {
		p.w.Cluster.Endpoint, p.first, p.endpointGiven = e, nil, true
		p.w.Balancer.Bypass("the endpoint is given later")
	}
	if !p.hasPool {
		p.w.Spec.PoolSize = 0
	}
	if p.w.Pool != nil {
		p.w.Pool.Replicas = p.w.Spec.PoolSize
	}
	p.w.ControlPlane.Created = true
	if !p.ownerSet {
		p.eng.After(ownerRefTime, func() { p.ownerSet = true })
	}
}

// mark marks a machine for remediation, as the annotation
// cluster.x-k8s.io/remediate-machine does, past every gate of a health check.
func (p *play) mark(t Target) {
	is := p.target(t)
	for _, m := range p.w.Machines {
		if is(m) && !m.Deleting {
			m.Unhealthy = "somebody annotated it with cluster.x-k8s.io/remediate-machine"
			p.tell(EventUnhealthy, "user", m.Ref(), "is marked for remediation")
			return
		}
	}
	p.fatal(fmt.Errorf("playing the step %s of scenario %s: there is no machine %q to remediate", p.step.ID, p.cfg.Scenario.ID, t))
}

// hold lets nothing count as a stall until a time at which something is to come.
func (p *play) hold(until time.Duration) { p.patient = max(p.patient, until) }

// playUntil lets events happen until what the step waits for is there, the run
// stalls, a module fails or the context ends.
func (p *play) playUntil(until Until) {
	began := p.w.Now
	if until.For > 0 {
		p.hold(began + until.For)
		p.eng.After(until.For, func() {})
	}
	for {
		p.settle()
		if p.over() || p.done(until, began) {
			return
		}
		stuck := !p.working() && p.w.Now-max(p.lastProgress, p.patient) > Patience || p.w.Now-began > endless
		if !stuck {
			more, err := p.eng.Step(p.ctx)
			if err != nil {
				p.fatal(err)
				return
			}
			stuck = !more
		}
		if stuck && until.Stalled {
			if subject, b, ok := p.rootBlock(); ok {
				p.tell(EventStalled, "harness", p.refOf(subject), "nothing moves, as expected: it waits for "+b.gate.WaitsFor)
			}
			return
		}
		if stuck {
			p.stall()
			return
		}
	}
}

// working tells that a module run is under way whose end is to come.
func (p *play) working() bool {
	for _, i := range p.w.infras() {
		if i.writing() {
			return true
		}
	}
	return false
}

// done tells that what a step waits for is there.
func (p *play) done(until Until, began time.Duration) bool {
	switch {
	case until.Stalled:
		return false
	case until.For > 0:
		return p.w.Now >= began+until.For
	case until.Gate != "":
		return p.waitsAt(until.Gate, began)
	}
	return asAsked(p.w) && (p.w.Spec.Deleted || p.faultDue() == nil && !p.ailing() && !p.reading())
}

// reading tells that an object that a fault changed is going to be read.
func (p *play) reading() bool {
	for _, i := range p.w.infras() {
		if (i.readings > 0 || i.fault != "" && i.Running == OpRefresh) && !i.Deleting {
			return true
		}
	}
	return false
}

// waitsAt tells that something has waited at a gate for a while since the step began.
func (p *play) waitsAt(gate string, began time.Duration) bool {
	for _, w := range p.waiting {
		if w.gate.ID == gate && p.w.Now-max(w.since, began) >= settleTime {
			return true
		}
	}
	return false
}

// expects tells that a stall is what the scenario is about: at the gate that it
// names, and of what its fault has happened to, if it has one.
func (p *play) expects(s *Stall) bool {
	want := p.cfg.Scenario.Stalls
	if want == nil || want.Gate != s.Gate || want.Requirement != "" && want.Requirement != s.Requirement {
		return false
	}
	return len(p.troubles) == 0 || slices.ContainsFunc(p.troubles, func(t *trouble) bool { return t.injected && slices.Contains(t.names, s.Object) })
}

// expectNothingMore judges the end of a story that came to its last step: one
// that is about a stall should not have.
func (p *play) expectNothingMore() {
	for _, t := range p.troubles {
		if t.record == nil && !(t.Machine == TargetAll && t.injected) {
			p.rec.note(t.Role, "", "the fault %s of the scenario never came to pass: nothing happened that it could break", t.Kind)
		}
	}
	want := p.cfg.Scenario.Stalls
	switch {
	case want == nil || want.Optional:
	case p.moot != "":
		p.rec.note("", "", "the stall that the scenario is about could not be played: %s", p.moot)
	default:
		p.rec.fail(idStalled, "", fmt.Sprintf("the scenario is about a stall at %s, and the story went on to its end", want.Gate))
	}
}
