package harness

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/captf-toolkit/captf/contract"
)

// stop ends the story at a gate that will not open.
func (p *play) stop(s *Stall) {
	s.At = p.w.Now.Seconds()
	if s.Remedy == "" {
		s.Remedy = p.remedyOf(s.Requirement)
	}
	s.Expected = p.expects(s)
	p.stalled, p.ended, p.stopped = s, s.Expected, !s.Expected
	p.tell(EventStalled, "harness", s.Object, "stalled at "+s.Gate+": waits for "+s.WaitsFor)
}

// stall ends a story in which nothing moves any more: it finds the gate at the
// root and who is responsible.
func (p *play) stall() {
	subject, b, ok := p.rootBlock()
	if t := p.faultDue(); !ok && t != nil {
		p.rec.fail(idStalled, t.Role, fmt.Sprintf("the fault %s of the scenario has no effect that anything could notice", t.Kind))
		p.stop(&Stall{Gate: "harness/fault", WaitsFor: "an effect of the fault " + string(t.Kind), Object: t.ref(p), Requirement: idStalled,
			Message: "everything is as asked for, and nothing comes of the fault " + string(t.Kind), Remedy: "ask for what makes the fault show, such as a run of the kind that it breaks"})
		return
	}
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
	if r, found := p.obstacle(subject, g); found {
		if role := p.blameBalancer(s, r); role != "" {
			g.Role, g.Output = role, ""
		}
	}
	if !p.expects(s) {
		p.rec.fail(s.Requirement, g.Role, s.Message, p.placeOf(g)...)
	}
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
	candidates := []any{w.Infra, &w.ControlPlane.Remediating, &w.ControlPlane, &w.ControlPlane.Initialized}
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

// blamed is the requirement that a failed module run breaks.
type blamed struct {
	id string
	// why says what tells this cause from others, "" when nothing does.
	why string
	// remedy is what to do where the requirement's own does not fit.
	remedy string
	// evidence are places that have to do with it.
	evidence []string
}

// moduleFailed ends the story because a module run failed, and blames one
// requirement (harness.md H3).
func (p *play) moduleFailed(i *Infra, op Op, in contract.Inputs, run *Run) {
	if p.declines(op, in, run) {
		p.declined, p.stopped = true, true
		p.rec.note(i.Role, "", "the %s module refuses bootstrap data that is packed with gzip, as it may: ask the bootstrap provider for data that is not packed (%s)", i.Role, firstError(run))
		p.tell(EventEnded, "harness", i.Ref(), "the story ends: the module refuses packed bootstrap data, as it may")
		return
	}
	b := p.blame(i, op, in, run)
	reason := fmt.Sprintf("%s of %s fails: %s", op, i.Ref(), firstError(run))
	if b.why != "" {
		reason += " (" + b.why + ")"
	}
	if !p.rec.hasFailed(b.id) {
		p.rec.add(finding{id: b.id, role: i.Role, status: StatusFailed, reason: reason, evidence: b.evidence, remedy: b.remedy})
	}
	p.failedRun = reason
	p.stopped = true
	p.tell(EventEnded, "harness", i.Ref(), "the story ends: "+b.id)
}

// blame tries what would tell one cause of a failed run from another.
func (p *play) blame(i *Infra, op Op, in contract.Inputs, run *Run) blamed {
	var b blamed
	if op == OpRefresh {
		return blamed{id: idApply, why: "the inputs are those with which it was applied"}
	}
	if op == OpApply && i.unapplied && i.fault != "" {
		return blamed{id: idApply, why: fmt.Sprintf("an earlier apply of it broke: %s", i.fault),
			remedy: "let an apply go on where a broken one stopped: refuse nothing because it exists already, and read nothing that the broken one has not made"}
	}
	switch typed := in.(type) {
	case *contract.ClusterInputs:
		b = p.blameCluster(op, typed, run)
	case *contract.MachineInputs:
		b = p.blameMachine(i, op, typed, run)
	case *contract.PoolInputs:
		b = p.blamePool(op, typed)
	}
	if blockedByPreventDestroy(run) && b.remedy == "" {
		b.remedy = p.protectionRemedy(i.Role)
	}
	if run.Hung != nil && b.id == idApply {
		b.remedy = "find out what the resource waits for: an apply may not wait for what comes after it, such as the Node, the API or other machines (CP-034, CP-054); if it only needs longer, raise --step-timeout"
	}
	return b
}

func blockedByPreventDestroy(run *Run) bool {
	return slices.ContainsFunc(run.Diagnostics, func(d Diagnostic) bool { return d.Severity == "error" && BlockedByPreventDestroy(d) })
}

// protectionRemedy says what to do about prevent_destroy where it is in the way.
func (p *play) protectionRemedy(role contract.Role) string {
	var at []string
	for _, r := range p.cfg.Modules.Module(role).Protected {
		at = append(at, fmt.Sprintf("%s (%s)", r.Address, r.Range))
	}
	if role == contract.RoleCluster {
		return "prevent_destroy of " + strings.Join(at, ", ") + " stands against the plan: let no change of inputs replace the resource"
	}
	return "remove prevent_destroy of " + strings.Join(at, ", ") + ": " + string(role) + "s are replaced and scaled by deleting them, and it blocks that for ever"
}

func (p *play) blameCluster(op Op, in *contract.ClusterInputs, run *Run) blamed {
	if op == OpDestroy {
		return blamed{id: "CP-025"}
	}
	if in.ControlPlaneInitialized {
		if blockedByPreventDestroy(run) {
			return blamed{id: "CP-009", why: "it would replace or delete a resource that prevent_destroy protects"}
		}
		return blamed{id: idApply}
	}
	later := *in
	later.ControlPlaneInitialized = true
	if p.works(contract.RoleCluster, OpApply, &later) {
		return blamed{id: "CP-007", why: "the same apply with control_plane_initialized true succeeds"}
	}
	if in.ControlPlaneEndpoint != nil {
		without := *in
		without.ControlPlaneEndpoint = nil
		if p.works(contract.RoleCluster, OpPlan, &without) {
			return blamed{id: "CP-002", why: "the same plan without a given endpoint succeeds"}
		}
	}
	return blamed{id: idApply}
}

func (p *play) blameMachine(i *Infra, op Op, in *contract.MachineInputs, run *Run) blamed {
	if op == OpDestroy {
		return p.blameMachineDestroy(i, in, run)
	}
	if m := p.cfg.Modules.Module(contract.RoleMachine).Membership; m != nil && run.Hung != nil {
		for _, member := range m.Members {
			if slices.ContainsFunc(run.Hung, func(address string) bool { return baseAddress(address) == baseAddress(member.Address) }) {
				return blamed{
					id: "CP-034", why: "the attachment to the backend waits for something",
					remedy: "create the attachment without waiting for the backend's health: the first machine is alone, and its node boots only after the apply",
				}
			}
		}
	}
	if b, ok := p.blameExports(contract.RoleMachine, func(exports json.RawMessage) contract.Inputs {
		with := *in
		with.ClusterOutputs = exports
		return &with
	}); ok {
		return b
	}
	if run.Hung != nil {
		return blamed{id: idApply} // every further try would hang as long
	}
	if b, ok := p.blameSpelling(in); ok {
		return b
	}
	other := *in
	if in.FailureDomain != nil {
		other.FailureDomain = nil
		if p.works(contract.RoleMachine, OpApply, &other) {
			return blamed{id: "CP-014", why: "the same apply without the published failure domain succeeds"}
		}
		return blamed{id: idApply}
	}
	for _, d := range p.w.Cluster.FailureDomains {
		other.FailureDomain = &d.Name
		if p.works(contract.RoleMachine, OpApply, &other) {
			return blamed{id: "CP-046", why: "the same apply with a failure domain succeeds"}
		}
	}
	return blamed{id: idApply}
}

// blameMachineDestroy tells a module that can never destroy a machine from one
// that could not destroy this one, or not at once (harness.md H3).
func (p *play) blameMachineDestroy(i *Infra, in *contract.MachineInputs, run *Run) blamed {
	if i.AppliedHash == "" || i.fault != "" {
		return blamed{id: "CP-038", why: fmt.Sprintf("an earlier run of it broke: %s", i.fault)}
	}
	switch {
	case p.deleted > 0:
		return blamed{id: idDestroy, why: fmt.Sprintf("%d other machines could be destroyed", p.deleted)}
	case run.Hung != nil || blockedByPreventDestroy(run):
	default:
		if again, err := p.call(p.ctx, OpDestroy, i.Role, i.Name, in); err == nil && !again.Failed {
			if p.destroyingBeside(i) {
				return blamed{id: "CP-037", why: "other machines are destroyed at the same time, and a second try succeeds"}
			}
			return blamed{id: idDestroy, why: "a second try succeeds"}
		}
	}
	return blamed{id: "CP-039"}
}

func (p *play) blamePool(op Op, in *contract.PoolInputs) blamed {
	if op == OpDestroy {
		return blamed{id: idDestroy}
	}
	if b, ok := p.blameExports(contract.RoleMachinePool, func(exports json.RawMessage) contract.Inputs {
		with := *in
		with.ClusterOutputs = exports
		return &with
	}); ok {
		return b
	}
	return blamed{id: idApply}
}

// blameExports tells that a run fails because an export is missing: one that is
// read without care, or one whose absence is handled by an error of the
// module's own. The latter is tried: with any text in its place a plan succeeds.
func (p *play) blameExports(role contract.Role, with func(exports json.RawMessage) contract.Inputs) (blamed, bool) {
	if p.rec.hasFailed("CP-070") {
		return blamed{id: "CP-070", why: "an export that it reads is not published"}, true
	}
	if p.w.Infra.Cluster == nil {
		return blamed{}, false
	}
	filled, names, places := p.fillExports(role, "captf-probe")
	if len(names) == 0 || !p.works(role, OpPlan, with(filled)) {
		return blamed{}, false
	}
	return blamed{
		id: "CP-070", why: fmt.Sprintf("the cluster module does not export %s; with a text in its place the plan succeeds", strings.Join(names, ", ")), evidence: places,
		remedy: "add the value to the cluster module's exports under the name that is read, or let the module do without it",
	}, true
}

// fillExports returns the exports with a value in place of each that a module
// reads and the cluster does not export, with their names and where they are read.
func (p *play) fillExports(role contract.Role, value any) (filled json.RawMessage, names, places []string) {
	exports := p.w.Infra.Cluster.Exports
	filled = exports
	for _, r := range p.cfg.Modules.Module(role).ExportReads {
		if hasPath(exports, r.Path) {
			continue
		}
		added, ok := withPath(filled, r.Path, value)
		if !ok {
			continue
		}
		filled = added
		names, places = append(names, "captf_cluster_outputs."+strings.Join(r.Path, ".")), append(places, r.Range)
	}
	return filled, names, places
}

// blameUnjoined tells that a control-plane machine joins no backend because of an
// export that is missing and read with care, so that nothing breaks: then the
// cluster is to blame, and the machine is not (harness.md H4). An export that
// changes nothing when it is there is not the cause.
func (p *play) blameUnjoined(in *contract.MachineInputs, run *Run) {
	m := p.cfg.Modules.Module(contract.RoleMachine).Membership
	if p.unexported || !in.ControlPlane || m == nil || p.endpointSource == contract.EndpointSourceUser || p.endpointGiven || p.w.Infra.Cluster == nil {
		return
	}
	if _, missing := memberships(m, run.Resources); m.Pattern == PatternNone || len(missing) == 0 {
		return
	}
	_, names, places := p.fillExports(contract.RoleMachine, "captf-probe")
	if len(names) == 0 || !p.exportsMatter(m, in) {
		return
	}
	p.unexported = true
	what := strings.Join(names, ", ")
	p.rec.add(finding{
		id: "CP-070", role: contract.RoleCluster, status: StatusFailed,
		reason:   fmt.Sprintf("a control-plane machine joins no backend, and the cluster module does not export %s, which the machine module reads and does without", what),
		evidence: places, remedy: remedyUnexported,
	})
	why := fmt.Sprintf("the cluster module does not export %s, which the machine module would join by (CP-070)", what)
	for _, id := range []string{"CP-030", "CP-032"} {
		p.rec.excuse(id, why)
	}
}

const remedyUnexported = "add the value to the cluster module's exports under the name that is read"

// exportsMatter plans a machine with something in place of what is not exported:
// of which form is not known. It tells that the machine then joins, or that the
// module makes so much of it that the plan breaks.
func (p *play) exportsMatter(m *Membership, in *contract.MachineInputs) bool {
	d := &drill{p: p, ctx: p.ctx, name: "what is not exported", role: contract.RoleMachine, live: map[string]contract.Inputs{}, done: make(chan struct{})}
	close(d.done)
	p.drills = append(p.drills, d)
	text := "captf-probe"
	for _, value := range []any{text, []any{text}, map[string]any{text: text}} {
		other := *in
		other.Object.Name = p.probeName("exports")
		other.ClusterOutputs, _, _ = p.fillExports(contract.RoleMachine, value)
		run := d.values(other.Object.Name, &other)
		if run == nil {
			return false
		}
		if _, missing := memberships(m, plannedResources(run.Planned)); run.Failed || len(missing) == 0 {
			return true
		}
	}
	return false
}

// works tries a run on an object of its own; what it made is destroyed at the end. No two tries share an object: they would share a
// state, and what one of them made could then not be destroyed with the inputs of the other.
func (p *play) works(role contract.Role, op Op, in contract.Inputs) bool {
	name := p.tryName()
	p.tries++
	in.Common().Object.Name = name
	d := &drill{p: p, ctx: p.ctx, name: "the cause of a failure", role: role, live: map[string]contract.Inputs{}, done: make(chan struct{})}
	close(d.done)
	p.drills = append(p.drills, d)
	run := d.run(op, name, in)
	return run != nil && !run.Failed
}

// tryName is the name of the object of the next try.
func (p *play) tryName() string { return p.probeName("blame", strconv.Itoa(p.tries+1)) }

// declines tells that a module refuses what a scenario asks it and what it may
// refuse: packed bootstrap data, with a condition of its own.
func (p *play) declines(op Op, in contract.Inputs, run *Run) bool {
	m, ok := in.(*contract.MachineInputs)
	if !ok || op != OpApply || !p.w.Bootstrap.Gzip || !refuses(run) {
		return false
	}
	b, found := p.blameSpelling(m)
	return found && b.id == "CP-047"
}

// blameSpelling finds out whether an apply fails over build metadata in the
// version, over names that are not the same, or over a packed payload.
func (p *play) blameSpelling(in *contract.MachineInputs) (blamed, bool) {
	if v := in.KubernetesVersion; v != nil && strings.Contains(*v, "+") {
		plain, _, _ := strings.Cut(*v, "+")
		other := *in
		other.KubernetesVersion = &plain
		if p.works(contract.RoleMachine, OpApply, &other) {
			return blamed{id: "CP-050", why: "the same apply with kubernetes_version " + plain + " succeeds"}, true
		}
	}
	if in.Object.Name != in.MachineName {
		other := *in
		other.MachineName = p.tryName() // as works names the object
		if p.works(contract.RoleMachine, OpApply, &other) {
			return blamed{id: "CP-052", why: "the same apply with captf_object.name equal to machine_name succeeds"}, true
		}
	}
	if p.w.Bootstrap.Gzip {
		other := *in
		other.Bootstrap = contract.Bootstrap{Data: unpack(in.Bootstrap.Data), Format: in.Bootstrap.Format}
		if other.Bootstrap.Data != nil && p.works(contract.RoleMachine, OpApply, &other) {
			return blamed{id: "CP-047", why: "the same apply with the payload unpacked succeeds"}, true
		}
	}
	return blamed{}, false
}
