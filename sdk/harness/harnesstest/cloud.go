package harnesstest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
)

var (
	_ harness.Injector  = (*Set)(nil)
	_ harness.Inventory = (*Set)(nil)
)

// cloud is what exists behind the states.
type cloud struct {
	things map[string]*thing
	made   int
	faults []*harness.Fault
}

// thing is one thing in the cloud.
type thing struct {
	harness.CloudObject
	stopped, moved bool
}

// Injects implements [harness.Injector].
func (s *Set) Injects(kind harness.FaultKind) error {
	if s.Unseen[kind] {
		return fmt.Errorf("%s is not simulated", kind)
	}
	return nil
}

// Inject implements [harness.Injector].
func (s *Set) Inject(_ context.Context, f harness.Fault) error {
	if s.Injected != nil {
		s.Injected(f)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	instance := s.instance(f.Object)
	switch f.Kind {
	case harness.FaultInstanceGone, harness.FaultInstanceStopped, harness.FaultAddressChanges:
		if instance == nil {
			return fmt.Errorf("%s has no instance", f.Object)
		}
	default:
		s.cloud.faults = append(s.cloud.faults, &f)
		return nil
	}
	switch f.Kind {
	case harness.FaultInstanceGone:
		delete(s.cloud.things, instance.ID)
	case harness.FaultInstanceStopped:
		instance.stopped = true
	case harness.FaultAddressChanges:
		instance.moved = true
	}
	return nil
}

// Inventory implements [harness.Inventory].
func (s *Set) Inventory() []harness.CloudObject {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]harness.CloudObject, 0, len(s.cloud.things))
	for _, t := range s.cloud.things {
		out = append(out, t.CloudObject)
	}
	slices.SortFunc(out, func(a, b harness.CloudObject) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Snapshot returns what exists in the cloud, and the objects whose states record
// an id, at one time.
func (s *Set) Snapshot() (things []harness.CloudObject, recorded map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.cloud.things {
		things = append(things, t.CloudObject)
	}
	recorded = map[string]string{}
	for name, o := range s.state {
		for _, id := range o.ids {
			recorded[id] = name
		}
	}
	return things, recorded
}

// armed returns the fault that the run meets, and counts it.
func (c *cloud) armed(object string, op harness.Op) *harness.Fault {
	for _, f := range c.faults {
		if f.Object == object && f.Op == op && f.Times > 0 {
			f.Times--
			return f
		}
	}
	return nil
}

// breakRun does what a run does that a fault breaks.
func (s *Set) breakRun(f *harness.Fault, op harness.Op, name string, in contract.Inputs, run *harness.Run) {
	before := s.state[name].clone()
	after := max(f.After, 1)
	all := s.resourcesOf(name, in)
	part := func(n int) {
		if op == harness.OpDestroy {
			s.remove(name, n)
			return
		}
		s.create(name, in, n)
	}
	if s.Broken != nil {
		defer s.Broken(name)
	}
	fail := func(text string) {
		run.Failed = true
		run.Diagnostics = []harness.Diagnostic{{Severity: "error", Summary: text}}
	}
	switch f.Kind {
	case harness.FaultApplyFails:
		part(after)
		fail("the cloud says no, on purpose")
	case harness.FaultInterrupted:
		part(after)
		fail("execution was interrupted")
	case harness.FaultKilled:
		part(after)
		recorded := s.state[name].clone()
		part(after + 1) // one more exists, or is gone, and no state knows
		s.restore(name, recorded)
		fail("the run was killed")
	case harness.FaultHangs:
		part(after)
		run.Hung = []string{all[min(after, len(all)-1)].Address}
		fail("the run did not end in time")
	case harness.FaultStateLost:
		part(len(all))
		s.restore(name, before)
		fail("the state could not be stored")
	case harness.FaultRefreshBlind:
		if o := s.state[name]; o != nil {
			o.resources, o.ids = nil, map[string]string{}
			o.outputs = s.outputs(name, in)
		}
	case harness.FaultQuota:
		fail("QuotaExceeded: the quota of instances is used up")
	case harness.FaultConflict:
		fail("Conflict: another change of the balancer is under way")
	default:
		fail("a fault of the kind " + string(f.Kind) + " breaks no run")
	}
}

func (o *object) clone() *object {
	if o == nil {
		return nil
	}
	c := *o
	c.resources, c.ids, c.outputs = slices.Clone(o.resources), maps.Clone(o.ids), maps.Clone(o.outputs)
	return &c
}

// restore puts a state back; the cloud stays as it is.
func (s *Set) restore(name string, o *object) {
	if o == nil {
		delete(s.state, name)
		return
	}
	s.state[name] = o
}

// missing returns the resources that a state does not have, or has and the cloud has no more.
func (s *Set) missing(o *object, resources []harness.Resource) []harness.Resource {
	var out []harness.Resource
	for _, r := range resources {
		if o == nil || s.cloud.things[o.ids[r.Address]] == nil {
			out = append(out, r)
		}
	}
	return out
}

// create makes the first n resources that the inputs ask for, and that are
// missing, in the cloud and in the state.
func (s *Set) create(name string, in contract.Inputs, n int) {
	o := s.state[name]
	if o == nil {
		o = &object{record: "partial", outputs: nil, ids: map[string]string{}}
		s.state[name] = o
	}
	if s.cloud.things == nil {
		s.cloud.things = map[string]*thing{}
	}
	all := s.resourcesOf(name, in)
	for _, r := range s.missing(o, all[:min(n, len(all))]) {
		s.cloud.made++
		id := fmt.Sprintf("thing-%06d", s.cloud.made)
		s.cloud.things[id] = &thing{CloudObject: harness.CloudObject{Type: r.Type, ID: id, Owner: name, Address: r.Address}}
		o.ids[r.Address] = id
		if !slices.ContainsFunc(o.resources, func(have harness.Resource) bool { return have.Address == r.Address }) {
			o.resources = append(o.resources, r)
		}
	}
}

// remove destroys the last n resources of a state, which depend on those before them.
func (s *Set) remove(name string, n int) {
	o := s.state[name]
	if o == nil {
		return
	}
	for range min(n, len(o.resources)) {
		last := o.resources[len(o.resources)-1]
		if s.Leak == nil || !s.Leak(name, last.Address) {
			delete(s.cloud.things, o.ids[last.Address])
		}
		delete(o.ids, last.Address)
		o.resources = o.resources[:len(o.resources)-1]
	}
}

// forget drops what the cloud has no more from a state, as a refresh does.
func (s *Set) forget(o *object) {
	o.resources = slices.DeleteFunc(o.resources, func(r harness.Resource) bool {
		gone := s.cloud.things[o.ids[r.Address]] == nil
		if gone {
			delete(o.ids, r.Address)
		}
		return gone
	})
}

// instance is the instance that an object's state records; nil without one.
func (s *Set) instance(name string) *thing {
	if o := s.state[name]; o != nil {
		return s.cloud.things[o.ids[mainResource[contract.RoleMachine]]]
	}
	return nil
}

// instanceOutputs are the outputs of a machine whose instance is not as it was made.
func (s *Set) instanceOutputs(name string, in *contract.MachineInputs, values map[string]any) {
	o := s.state[name]
	if o == nil || s.Resources != nil || !strings.HasPrefix(name, string(contract.RoleMachine)+"-") {
		return
	}
	switch i := s.instance(name); {
	case i == nil:
		values["provider_id"], values["addresses"] = nil, []map[string]any{}
		values["health"] = map[string]any{"state": "terminated", "healthy": false, "message": "the instance is gone", "reasons": []string{}}
	case i.stopped:
		values["health"] = map[string]any{"state": "stopped", "healthy": false, "message": "the instance is stopped", "reasons": []string{}}
	case i.moved:
		values["addresses"] = []map[string]any{{"type": "InternalIP", "address": address("moved " + in.MachineName)}, {"type": "Hostname", "address": in.MachineName}}
	}
}
