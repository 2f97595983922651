package harness

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness/balancer"
)

// Virtual times of what follows a fault.
const (
	// healthCheckEvery is how often a provisioned machine is read when its health
	// matters (contract.md 14.2, the default of remediation.healthCheckIntervalSeconds).
	healthCheckEvery = 5 * time.Minute
	// driftEvery is how often a provisioned cluster or pool is read (contract.md 14.4).
	driftEvery = 30 * time.Minute
	// nodeLifecycle is how long a cloud controller manager takes to delete the Node of an instance that is gone.
	nodeLifecycle = time.Minute
)

// trouble is one fault of the story.
type trouble struct {
	Fault
	info FaultInfo
	// matches tells that a machine is the one that it happens to; nil for other roles.
	matches func(*Machine) bool
	// infra and machine are what it happens to; nil before that exists.
	infra   *Infra
	machine *Machine
	// injected tells that it has been injected, over that it has no more effect to come.
	injected, over bool
	// left counts the runs that it still breaks, ends is when one that lasts is over; 0: never.
	left   int
	ends   time.Duration
	record *FaultRecord
	// names are how the story calls what it happens to, and what takes its place.
	names []string
	// shown tells that a run showed an effect.
	shown bool
	// asked tells that the object is going to be read for it.
	asked bool
}

// addFault takes a fault into the story when its step is played.
func (p *play) addFault(f Fault) {
	info, ok := FaultOf(f.Kind)
	if !ok {
		p.fatal(fmt.Errorf("playing the fault %q: there is no such kind", f.Kind))
		return
	}
	if f.Role == "" {
		f.Role = info.Roles[0]
	}
	if f.Op == "" && len(info.Ops) > 0 {
		f.Op = info.Ops[0]
	}
	f.Times, f.After = max(f.Times, 1), max(f.After, 1)
	t := &trouble{Fault: f, info: info, left: f.Times}
	if f.Role == contract.RoleMachine && f.Machine != TargetAll {
		t.matches = p.target(f.Machine)
	}
	p.troubles = append(p.troubles, t)
	p.tickFaults()
}

// target returns a test for the machine that a target names.
func (p *play) target(t Target) func(*Machine) bool {
	worker := false
	if name, ok := strings.CutPrefix(string(t), "worker-"); ok {
		worker, t = true, Target(name)
	}
	number := 0
	switch t {
	case "", TargetFirst:
		number = 1
	case TargetNext:
		number = p.counted[!worker] + 1
	case TargetLast:
		number = 1
		for _, m := range p.w.Machines {
			if m.ControlPlane == !worker {
				number = m.Number
			}
		}
	default:
		n, err := strconv.Atoi(string(t))
		if err != nil {
			return func(m *Machine) bool { return m.Name == string(t) }
		}
		number = n
	}
	return func(m *Machine) bool { return m.ControlPlane == !worker && m.Number == number }
}

// subject finds what a fault happens to, once that exists.
func (p *play) subject(t *trouble) bool {
	if t.infra != nil {
		return true
	}
	switch t.Role {
	case contract.RoleCluster:
		t.infra = p.w.Infra
	case contract.RoleMachinePool:
		if p.w.Pool != nil {
			t.infra = p.w.Pool.Infra
			t.names = []string{p.w.Pool.Ref()}
		}
	case contract.RoleMachine:
		for _, m := range p.w.Machines {
			if t.matches != nil && t.matches(m) {
				t.machine, t.infra = m, m.Infra
				t.names = []string{m.Ref(), "Node/" + m.Name}
				break
			}
		}
	}
	if t.infra == nil {
		return false
	}
	t.names = append(t.names, t.infra.Ref())
	t.Object = runKey(t.infra.Role, t.infra.Name)
	return true
}

// TargetAll is every machine, for a fault that happens to each.
const TargetAll Target = "all"

// spread makes a fault of all machines one of the given machine too.
func (p *play) spread(i *Infra) {
	m := p.ownerOf(i)
	if m == nil {
		return
	}
	for _, t := range slices.Clone(p.troubles) {
		if t.Machine != TargetAll || t.matches != nil || t.over {
			continue
		}
		t.injected = true // it lives on in its copies
		if slices.ContainsFunc(p.troubles, func(o *trouble) bool { return o.machine == m && o.Kind == t.Kind && o.Op == t.Op }) {
			continue
		}
		one := &trouble{Fault: t.Fault, info: t.info, left: t.Times, matches: func(o *Machine) bool { return o == m }}
		p.subject(one)
		p.troubles = append(p.troubles, one)
	}
}

// begin notes that a fault happens now.
func (p *play) begin(t *trouble, what string) {
	t.injected = true
	t.record = &FaultRecord{Kind: t.Kind, Object: t.infra.Ref(), At: p.w.Now.Seconds(), Effect: what}
	if len(t.info.Ops) > 0 {
		t.record.Op = t.Op
	}
	if t.For > 0 {
		t.ends = p.w.Now + t.For
		p.eng.After(t.For, func() {})
		p.hold(t.ends)
	}
	for _, id := range t.info.Breaks {
		p.rec.excuse(id, fmt.Sprintf("the scenario plays that %s", t.info.Title))
	}
	p.tell(EventFault, "harness", t.infra.Ref(), what)
}

// react notes what happens to a faulty object next, as the story tells it.
func (p *play) react(s StoryStep) {
	const most = 12
	switch s.Type {
	case EventFault, EventAsked, EventReached, EventProbed, EventCleanUp, EventBackend:
		return
	}
	for _, t := range p.troubles {
		if t.record == nil || t.record.Survived || len(t.record.Reaction) >= most || s.At < t.record.At || !slices.Contains(t.names, s.Object) {
			continue
		}
		t.record.Reaction = append(t.record.Reaction, fmt.Sprintf("%s: %s %s %s", time.Duration(s.At*float64(time.Second)), s.Actor, s.Object, s.Event))
	}
}

// survive notes that what was asked for is reached after the faults so far.
func (p *play) survive() {
	for _, t := range p.troubles {
		if t.record != nil && t.over {
			t.record.Survived = true
		}
	}
}

// faultRecords returns what became of the faults. One that never came is none.
func (p *play) faultRecords() []FaultRecord {
	var out []FaultRecord
	for _, t := range p.troubles {
		if t.record != nil {
			out = append(out, *t.record)
		}
	}
	return out
}

// faultDue returns a fault that is under way, or whose time has come; nil when
// there is none. What breaks a run to come, or happens to a machine to come, is
// not waited for.
func (p *play) faultDue() *trouble {
	for _, t := range p.troubles {
		switch {
		case t.over, t.Machine == TargetAll && t.matches == nil:
		case t.injected:
			return t
		case t.asked:
			return t
		case len(t.info.Ops) > 0, t.Kind == FaultTokenRotates, t.Kind == FaultCreateFails:
		case p.subject(t) && !t.infra.Deleting:
			return t
		}
	}
	return nil
}

// owns tells that a thing in the cloud was made for what the fault happens to. A
// runner may put the role before the object's name.
func (t *trouble) owns(o CloudObject) bool {
	return o.Owner != "" && (o.Owner == t.Object || o.Owner == string(t.Role)+"-"+t.Object)
}

// ref is how the story calls what the fault happens to.
func (t *trouble) ref(p *play) string {
	if t.infra != nil {
		return t.infra.Ref()
	}
	return "Cluster/" + p.w.Cluster.Name
}

// breakRun injects the faults that break the run about to start, and returns how
// long that takes in virtual time; 0 leaves that as it is.
func (p *play) breakRun(i *Infra, op Op, usual time.Duration) time.Duration {
	p.spread(i)
	for _, t := range p.troubles {
		if t.over || len(t.info.Ops) == 0 || t.Op != op || !p.subject(t) || t.infra != i {
			continue
		}
		if !t.injected {
			injector, ok := p.cfg.Modules.(Injector)
			if !ok {
				p.fatal(fmt.Errorf("injecting %s into %s: these modules take no faults", t.Kind, i.Ref()))
				return 0
			}
			if err := injector.Inject(p.ctx, t.Fault); err != nil {
				p.fatal(fmt.Errorf("injecting %s into %s: %w", t.Kind, i.Ref(), err))
				return 0
			}
			p.begin(t, fmt.Sprintf("%s: %s", t.Kind, t.info.Title))
		}
		i.broken = t
		switch t.Kind {
		case FaultHangs:
			return jobDeadline
		case FaultKilled, FaultInterrupted:
			return usual / 2
		}
		return 0
	}
	return 0
}

// brokeRun takes in the end of a run that a fault was to break. It tells that the
// run failed because of a fault, so that the controllers go on.
func (p *play) brokeRun(i *Infra, op Op, run *Run) bool {
	t := i.broken
	i.broken = nil
	if t == nil {
		return run.Failed && p.consequence(i, op)
	}
	t.left--
	t.over = t.left <= 0
	t.shown = t.shown || run.Failed
	i.orphaned = i.orphaned || t.info.Orphans
	i.fault = t.Kind
	if !run.Failed {
		t.over = true
		if t.Kind != FaultRefreshBlind {
			p.tell(EventFault, "harness", i.Ref(), fmt.Sprintf("%s: the run ends well all the same", t.Kind))
		}
		return false
	}
	p.tryAgain(i, op, t.Kind)
	return true
}

// consequence tells that a run fails because of what a fault left that no module
// can know of, such as a thing that exists and is in no state. It is tried again
// a few times, as the controllers do without end.
func (p *play) consequence(i *Infra, op Op) bool {
	if !i.orphaned {
		if i.Role == contract.RoleCluster && op == OpDestroy && p.sweep() {
			p.tryAgain(i, op, FaultStateLost)
			return true
		}
		return false
	}
	if i.failures[op] >= maxConsequences {
		i.gaveUp = op
		i.unapplied = i.unapplied || op == OpApply
		g := gateRunFails
		if op == OpDestroy {
			g.Requirement = map[bool]string{true: "CP-038", false: idDestroy}[i.Role == contract.RoleMachine]
		}
		p.open(i, g, func() (bool, any) { return false, nil })
		return true
	}
	p.tryAgain(i, op, i.fault)
	return true
}

// sweeper is a [Modules] whose cloud can be cleared of what an object made.
type sweeper interface {
	// Sweep deletes everything in the cloud that was made for an object, and returns it.
	Sweep(owner string) []CloudObject
}

// sweep does what a person has to when a network cannot be deleted, because something
// is in it that a fault orphaned: no state records it, so no module can delete it. It
// tells that there was any.
func (p *play) sweep() bool {
	s, ok := p.cfg.Modules.(sweeper)
	if !ok {
		return false
	}
	found := false
	for _, t := range p.troubles {
		if t.record == nil || !t.info.Orphans {
			continue
		}
		if left := s.Sweep(t.Object); len(left) > 0 {
			found = true
			t.record.Left = append(t.record.Left, left...)
			p.tell(EventFault, "user", t.record.Object, fmt.Sprintf("%d things that %s left are found by their tags and deleted by hand", len(left), t.Kind))
		}
	}
	return found
}

// tickFaults injects the faults whose time has come, and ends those that are over.
func (p *play) tickFaults() bool {
	changed := false
	for _, t := range slices.Clone(p.troubles) {
		if t.over {
			continue
		}
		if t.infra != nil && t.injected && (t.infra.Gone || t.infra.Deleting && t.Op != OpDestroy) {
			t.over = true // what it happens to goes
			continue
		}
		if t.injected {
			if t.ends > 0 && p.w.Now >= t.ends {
				p.endFault(t)
				changed = true
			}
			continue
		}
		if t.Op == OpRefresh && len(t.info.Ops) > 0 && !t.asked && p.subject(t) && t.infra.Provisioned {
			t.asked = true // every object is read again sooner or later
			p.readSoon(t.infra, 2, healthCheckEvery)
			changed = true
		}
		if len(t.info.Ops) > 0 || !p.subject(t) {
			continue
		}
		if play, ok := faultPlays[t.Kind]; ok && play(p, t) {
			changed = true
		}
	}
	return changed
}

// endFault ends a fault that lasted for a time.
func (p *play) endFault(t *trouble) {
	t.over = true
	p.tell(EventFault, "harness", t.infra.Ref(), fmt.Sprintf("%s is over", t.Kind))
	if t.Kind == FaultDegraded {
		p.readSoon(t.infra, 1, p.readEvery(t.infra))
	}
}

// faultPlays inject the faults that break no run; they return false until the
// time has come.
var faultPlays = map[FaultKind]func(p *play, t *trouble) bool{
	FaultInstanceGone:    (*play).harmInstance,
	FaultInstanceStopped: (*play).harmInstance,
	FaultAddressChanges:  (*play).harmInstance,
	FaultDegraded: func(p *play, t *trouble) bool {
		if !t.infra.Provisioned || t.infra.Running != "" {
			return false
		}
		p.begin(t, "degraded: the harness lets the module report that the infrastructure is degraded")
		t.infra.fault = t.Kind
		p.readSoon(t.infra, 1, p.readEvery(t.infra))
		return true
	},
	FaultNodeNeverJoins: func(p *play, t *trouble) bool {
		p.begin(t, "node-never-joins: the instance runs, and no Node registers")
		t.over = t.For == 0
		return true
	},
	FaultBackendLate:     (*play).holdBackend,
	FaultProviderIDWrong: altersOutputs, FaultProviderIDTwice: altersOutputs, FaultDomainIgnored: altersOutputs,
	FaultEndpointChanges: func(p *play, t *trouble) bool { return t.infra.AppliedHash != "" && altersOutputs(p, t) },
	FaultTokenRotates:    func(*play, *trouble) bool { return false }, // once the pool is applied: see rotateMidway
	FaultCreateFails:     func(*play, *trouble) bool { return false }, // once a machine is created: see createFails
}

// holdBackend lets the balancer send nothing to a machine.
func (p *play) holdBackend(t *trouble) bool {
	by, text := balancer.Never, "never"
	if t.For > 0 {
		by, text = t.For, "only "+t.For.String()+" later"
	}
	what := fmt.Sprintf("backend-late: %s becomes a backend %s", t.machine.Ref(), text)
	if p.w.Balancer.Direct() {
		p.moot = "no balancer of the modules stands between the endpoint and the nodes"
		what = "backend-late: nothing is late, since " + p.moot
	} else {
		p.w.Balancer.Delay(t.machine.Name, by)
	}
	p.begin(t, what)
	t.over = t.For == 0
	return true
}

// altersOutputs begins a fault that shows in the outputs of the runs to come.
func altersOutputs(p *play, t *trouble) bool {
	p.begin(t, fmt.Sprintf("%s: the harness plays that %s", t.Kind, t.info.Title))
	return true
}

// harmInstance lets the cloud change the instance of a machine that is provisioned.
func (p *play) harmInstance(t *trouble) bool {
	i, m := t.infra, t.machine
	if !i.Provisioned || i.Running != "" || m.Node == nil && t.Kind != FaultInstanceGone {
		return false
	}
	injector, ok := p.cfg.Modules.(Injector)
	if !ok {
		p.fatal(fmt.Errorf("injecting %s into %s: these modules take no faults", t.Kind, i.Ref()))
		return true
	}
	if err := injector.Inject(p.ctx, t.Fault); err != nil {
		p.fatal(fmt.Errorf("injecting %s into %s: %w", t.Kind, i.Ref(), err))
		return true
	}
	p.begin(t, fmt.Sprintf("%s: %s", t.Kind, t.info.Title))
	i.fault = t.Kind
	p.readSoon(i, 2, nodeLifecycle-time.Second)
	if t.Kind == FaultAddressChanges {
		return true
	}
	m.silent = max(p.w.Now, 1)
	p.stopServing(m)
	if t.Kind == FaultInstanceGone {
		p.eng.After(nodeLifecycle, func() {
			if n := slices.IndexFunc(p.w.Nodes, func(n *Node) bool { return n == m.Node }); n >= 0 {
				p.w.Nodes = slices.Delete(p.w.Nodes, n, n+1)
				p.tell(EventGone, "cloud-controller-manager", "Node/"+m.Name, "is deleted, because its instance is gone")
			}
		})
	}
	return true
}

// readEvery is how often a provisioned object is read when nothing is known to be wrong.
func (p *play) readEvery(i *Infra) time.Duration {
	if i.Role == contract.RoleMachine {
		return healthCheckEvery
	}
	return driftEvery
}

// readSoon lets the controllers read an object that changed without a run: within
// the given time, and then at their cadence, a number of times in all.
func (p *play) readSoon(i *Infra, times int, within time.Duration) {
	i.readings = times
	wait := time.Duration(p.rng.Int64N(int64(within))).Round(time.Second) + time.Second
	p.hold(p.w.Now + wait + time.Duration(times)*p.readEvery(i))
	i.readAt = p.w.Now + wait
	p.eng.After(wait, func() {})
}

// readFaulty refreshes an object that a fault changed, when that is due.
func (p *play) readFaulty(i *Infra) bool {
	if i.readings == 0 || p.w.Now < i.readAt || i.Deleting {
		return false
	}
	if i.readings--; i.readings > 0 {
		i.readAt = p.w.Now + p.readEvery(i)
		p.eng.After(p.readEvery(i), func() {})
	}
	p.start(i, OpRefresh, i.Inputs)
	return true
}

// readDone ends the faults of an object that a reading has shown.
func (p *play) readDone(i *Infra, op Op) {
	for _, t := range p.troubles {
		if t.infra != i || !t.injected || t.over || t.ends > 0 || i.readings > 0 {
			continue
		}
		switch t.Kind {
		case FaultInstanceGone, FaultInstanceStopped, FaultAddressChanges, FaultDegraded:
			t.over = op == OpRefresh
		case FaultEndpointChanges:
			t.over = op == OpApply
		case FaultProviderIDWrong, FaultProviderIDTwice, FaultDomainIgnored:
			t.over = true
		}
	}
}

// alter changes what a module said, as a fault of the story has it, or a
// scenario whose module emits no endpoint.
func (p *play) alter(i *Infra, op Op, run *Run) {
	set := func(name string, value any) {
		raw, err := json.Marshal(value)
		if err != nil {
			p.fatal(fmt.Errorf("altering the output %s of %s: %w", name, i.Ref(), err))
			return
		}
		run.Values.Outputs = maps.Clone(run.Values.Outputs)
		run.Values.Outputs[name] = raw
	}
	if i.Role == contract.RoleCluster && p.noEndpoint() {
		if _, emitted := run.Values.Outputs["control_plane_endpoint"]; emitted {
			run.Values.Outputs = maps.Clone(run.Values.Outputs)
			delete(run.Values.Outputs, "control_plane_endpoint")
			p.tell(EventFault, "harness", i.Ref(), "the harness leaves out the endpoint that the module emits, since the scenario is about a module that emits none")
		}
	}
	for _, t := range p.troubles {
		if t.infra != i || !t.injected || t.info.Player != PlayedByHarness || t.over && t.Kind != FaultEndpointChanges && t.Kind != FaultDomainIgnored && t.Kind != FaultProviderIDTwice && !(t.Kind == FaultDegraded && t.For == 0) {
			continue
		}
		switch t.Kind {
		case FaultDegraded:
			set("health", map[string]any{"state": "degraded", "healthy": false, "message": "the harness plays that the infrastructure is degraded", "reasons": []string{"Played"}})
		case FaultEndpointChanges:
			var e contract.Endpoint
			if op == OpApply && json.Unmarshal(run.Values.Outputs["control_plane_endpoint"], &e) == nil && e.Host != "" {
				set("control_plane_endpoint", map[string]any{"host": "moved.example.com", "port": e.Port})
			}
		case FaultProviderIDTwice:
			for _, m := range p.w.Machines {
				if m.Infra != i && m.ProviderID != "" {
					set("provider_id", m.ProviderID)
					break
				}
			}
		case FaultDomainIgnored:
			if in, ok := i.Inputs.(*contract.MachineInputs); ok && in.FailureDomain != nil {
				set("failure_domain", *in.FailureDomain+"-elsewhere")
				continue
			}
			p.moot = "the set publishes no failure domain for control planes, so none can be ignored"
		}
	}
}

// noEndpoint tells that the scenario is about a module that emits no endpoint.
func (p *play) noEndpoint() bool {
	mode := p.cfg.Scenario.Endpoint
	return (mode == EndpointLate || mode == EndpointNever) && p.endpointSource != contract.EndpointSourceUser && !p.w.Cluster.Endpoint.Valid()
}

// registers tells that the node of a machine may register at present.
func (p *play) registers(m *Machine) bool {
	return !p.suffers(m, FaultNodeNeverJoins)
}

// suffers tells that a fault of the workload cluster happens to a machine now.
func (p *play) suffers(m *Machine, kind FaultKind) bool {
	return slices.ContainsFunc(p.troubles, func(t *trouble) bool {
		return t.Kind == kind && t.machine == m && t.injected && (t.ends == 0 || p.w.Now < t.ends)
	})
}

// createFails lets the creation of a machine fail after its TerraformMachine was
// created, if a fault of the story has it so (control-planes.md 2.2).
func (p *play) createFails(infra string) bool {
	for _, t := range p.troubles {
		if t.Kind != FaultCreateFails || t.over {
			continue
		}
		i := &Infra{Role: contract.RoleMachine, Name: infra}
		t.infra, t.names = i, []string{i.Ref()}
		p.tell(EventCreated, p.cp.Name, i.Ref(), "is created, and waits for its owner Machine")
		p.begin(t, "create-fails: the bootstrap config cannot be created, so there will be no Machine")
		t.left--
		t.over = t.left <= 0
		i.Deleting = true
		p.tell(EventDeleted, p.cp.Name, i.Ref(), "is deleted")
		p.destroyInfra(i, gateClusterOperation, p.clusterIdle)
		return true
	}
	return false
}

// rotateMidway rewrites the bootstrap data of the pool while its apply runs, if a
// fault of the story has it so.
func (p *play) rotateMidway(i *Infra, op Op, takes time.Duration) {
	for _, t := range p.troubles {
		if t.Kind != FaultTokenRotates || t.over || op != OpApply || !p.subject(t) || t.infra != i {
			continue
		}
		t.over = true
		p.eng.After(takes/2, func() {
			p.begin(t, "token-rotates: the bootstrap data is rewritten while the pool is applied")
			p.rewriteToken()
		})
	}
}

// leftBehind compares the simulated cloud with nothing, which is what it must be
// when everything is destroyed. What a fault orphaned is no fault of the module.
func (p *play) leftBehind(kept []string) []CloudObject {
	inventory, ok := p.cfg.Modules.(Inventory)
	if !ok || p.cfg.Keep || p.forced() || len(kept) > 0 || p.ctx.Err() != nil && p.cfg.KeepOnInterrupt {
		return nil
	}
	left := inventory.Inventory()
	var blamed []string
	for _, o := range left {
		n := slices.IndexFunc(p.troubles, func(t *trouble) bool {
			return t.record != nil && t.info.Orphans && t.owns(o)
		})
		if n >= 0 {
			p.troubles[n].record.Left = append(p.troubles[n].record.Left, o)
			continue
		}
		text := o.Type + " " + o.ID
		if o.Owner != "" {
			text += " of " + o.Owner
		}
		if o.Address != "" {
			text += " (" + o.Address + ")"
		}
		blamed = append(blamed, text)
	}
	for _, t := range p.troubles {
		if t.record != nil && len(t.record.Left) > 0 {
			p.rec.note(t.Role, "", "%s of %s left %d things in the cloud that no state records: no module can know of them; tag what is created with captf_tags, so that they are found",
				t.Kind, t.record.Object, len(t.record.Left))
		}
	}
	if len(blamed) > 0 {
		p.rec.add(finding{
			id: idLeftBehind, status: StatusFailed,
			reason:   fmt.Sprintf("%d things are left in the cloud after everything was destroyed", len(blamed)),
			evidence: blamed,
		})
	}
	return left
}
