package harness

import (
	"fmt"

	"github.com/captf-toolkit/captf/contract"
)

// stop ends the story at a gate that will not open.
func (p *play) stop(s *Stall) {
	s.At = p.w.Now.Seconds()
	if s.Remedy == "" {
		s.Remedy = p.remedyOf(s.Requirement)
	}
	p.stalled, p.stopped = s, true
	p.tell("harness", s.Object, "stalled at "+s.Gate+": waits for "+s.WaitsFor)
}

// stall ends a story in which nothing moves any more: it finds the gate at the
// root and who is responsible.
func (p *play) stall() {
	subject, b, ok := p.rootBlock()
	if !ok {
		p.rec.fail(idStalled, "", "nothing moves and no gate is closed")
		p.stop(&Stall{Gate: "harness/idle", WaitsFor: "anything to happen", Object: "Cluster/" + p.w.Cluster.Name, Requirement: idStalled,
			Message: "the run ended although the cluster is not what was asked for: " + p.w.String()})
		return
	}
	g := b.gate
	s := &Stall{Gate: g.ID, WaitsFor: g.WaitsFor, Object: p.refOf(subject), Requirement: g.Requirement, Remedy: g.Remedy}
	if g.Output != "" {
		s.Output = string(g.Role) + "." + g.Output
	}
	if s.Requirement == "" {
		s.Requirement = idStalled
	}
	s.Message = fmt.Sprintf("%s waits for %s; after %s without progress this will not come", s.Object, g.WaitsFor, Patience)
	if more := p.explain(subject, g); more != "" {
		s.Message += ". " + more
	}
	p.rec.fail(s.Requirement, g.Role, s.Message, p.placeOf(g)...)
	p.stop(s)
}

// placeOf returns where the responsible output is declared.
func (p *play) placeOf(g Gate) []string {
	if g.Output == "" {
		return nil
	}
	if at, ok := p.cfg.Modules.Module(g.Role).Outputs[g.Output]; ok {
		return []string{at}
	}
	return nil
}

// explain says what a person would find out next about a closed gate.
func (p *play) explain(subject any, g Gate) string {
	m, isMachine := subject.(*Machine)
	if isMachine && g.ID == gateNodeRef.ID {
		for _, n := range p.w.Nodes {
			if n.Name == m.Name {
				return fmt.Sprintf("its Machine has providerID %q, its Node joined as %q", m.ProviderID, n.ProviderID)
			}
		}
		return "its Node has not joined"
	}
	if i, isInfra := subject.(*Infra); isInfra && len(i.Violations) > 0 {
		return i.Violations[0].Message
	}
	return ""
}

// rootBlock follows closed gates from what the user asked for to the one that
// holds everything up.
func (p *play) rootBlock() (subject any, b block, ok bool) {
	w := p.w
	candidates := []any{w.Infra, &w.ControlPlane, &w.ControlPlane.Initialized}
	for _, m := range w.ControlPlaneMachines() {
		candidates = append(candidates, m, m.Infra)
	}
	for _, m := range w.Workers() {
		candidates = append(candidates, m, m.Infra)
	}
	candidates = append(candidates, &w.Spec)
	if w.Pool != nil {
		candidates = append(candidates, w.Pool.Infra, w.Pool)
	}
	candidates = append(candidates, &w.Cluster)
	for _, c := range candidates {
		if b, ok := p.blocks[c]; ok {
			subject, b := p.follow(c, b)
			return subject, b, true
		}
	}
	return nil, block{}, false
}

// follow goes from a closed gate to the one that the object it waits for is closed at.
func (p *play) follow(subject any, b block) (any, block) {
	for seen := map[any]bool{subject: true}; b.on != nil && !seen[b.on]; {
		next, ok := p.blocks[b.on]
		if !ok {
			return subject, b
		}
		seen[b.on] = true
		subject, b = b.on, next
	}
	return subject, b
}

func (p *play) refOf(subject any) string {
	switch s := subject.(type) {
	case *Infra:
		return s.Ref()
	case *Machine:
		return s.Ref()
	case *Pool:
		return s.Ref()
	case *ControlPlaneStatus, *bool:
		return p.controlPlaneRef()
	}
	return "Cluster/" + p.w.Cluster.Name
}

// moduleFailed ends the story because a module run failed, and blames one
// requirement (harness.md H3).
func (p *play) moduleFailed(i *Infra, op Op, in contract.Inputs, run *Run) {
	id, why := p.blame(i, op, in)
	reason := fmt.Sprintf("%s of %s fails: %s", op, i.Ref(), firstError(run))
	if why != "" {
		reason += " (" + why + ")"
	}
	if !p.rec.hasFailed(id) {
		p.rec.fail(id, i.Role, reason)
	}
	p.failedRun = reason
	p.stopped = true
	p.tell("harness", i.Ref(), "the story ends: "+id)
}

// blame tries what would tell one cause of a failed run from another.
func (p *play) blame(i *Infra, op Op, in contract.Inputs) (id, why string) {
	if op == OpDestroy {
		return map[contract.Role]string{
			contract.RoleCluster: "CP-025", contract.RoleMachine: "CP-039", contract.RoleMachinePool: idDestroy,
		}[i.Role], ""
	}
	if p.rec.hasFailed("CP-070") {
		return "CP-070", "an export that it reads is not published"
	}
	switch typed := in.(type) {
	case *contract.ClusterInputs:
		return p.blameCluster(typed)
	case *contract.MachineInputs:
		return p.blameMachine(typed)
	}
	return idApply, ""
}

func (p *play) blameCluster(in *contract.ClusterInputs) (id, why string) {
	if in.ControlPlaneInitialized {
		return idApply, ""
	}
	later := *in
	later.ControlPlaneInitialized = true
	if p.works(contract.RoleCluster, OpApply, &later) {
		return "CP-007", "the same apply with control_plane_initialized true succeeds"
	}
	if in.ControlPlaneEndpoint != nil {
		without := *in
		without.ControlPlaneEndpoint = nil
		if p.works(contract.RoleCluster, OpPlan, &without) {
			return "CP-002", "the same plan without a given endpoint succeeds"
		}
	}
	return idApply, ""
}

func (p *play) blameMachine(in *contract.MachineInputs) (id, why string) {
	other := *in
	if in.FailureDomain != nil {
		other.FailureDomain = nil
		if p.works(contract.RoleMachine, OpApply, &other) {
			return "CP-014", "the same apply without the published failure domain succeeds"
		}
		return idApply, ""
	}
	for _, d := range p.w.Cluster.FailureDomains {
		other.FailureDomain = &d.Name
		if p.works(contract.RoleMachine, OpApply, &other) {
			return "CP-046", "the same apply with a failure domain succeeds"
		}
	}
	return idApply, ""
}

// works tries a run on an object of its own; what it made is destroyed at the end.
func (p *play) works(role contract.Role, op Op, in contract.Inputs) bool {
	name := p.probeName("blame")
	in.Common().Object.Name = name
	d := &drill{p: p, ctx: p.ctx, name: "the cause of a failure", role: role, live: map[string]contract.Inputs{}, done: make(chan struct{})}
	close(d.done)
	p.drills = append(p.drills, d)
	run := d.run(op, name, in)
	return run != nil && !run.Failed
}
