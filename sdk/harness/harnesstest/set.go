// Package harnesstest is a set of modules that exists only in memory: it
// behaves as the no-op modules do, at once and without a runtime. It serves
// tests of the simulation itself, and shows what the simulation costs.
//
// Not in this package: anything that stands in for a real module run in a
// statement about a real module.
package harnesstest

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/balancer"
)

// Set is a set of simulated modules. The zero value is not usable; see New.
type Set struct {
	roles []contract.Role
	// Outputs may change the outputs of a run before they are stored; nil keeps them.
	Outputs func(object string, in contract.Inputs, outputs map[string]any)
	// Fail may let a run fail: it returns the error's text, "" for success.
	Fail func(op harness.Op, object string, in contract.Inputs) string
	// Hung may let a failed run be one that was not done in time: it returns the
	// addresses that were worked on, nil for another failure.
	Hung func(op harness.Op, object string, in contract.Inputs) []string
	// Changes may replace the planned changes of a run; nil keeps them.
	Changes func(op harness.Op, object string, in contract.Inputs, changes []harness.Change) []harness.Change
	// Resources may say what a run makes; nil keeps to records of terraform_data.
	Resources func(object string, in contract.Inputs) []harness.Resource
	// Planned may replace the planned content of a run; nil keeps it.
	Planned func(in contract.Inputs, content json.RawMessage) json.RawMessage
	// Undeclared are outputs, as role.output, that the module does not declare.
	Undeclared map[string]bool
	// Infos may change what is known of a module without running it.
	Infos map[contract.Role]harness.ModuleInfo
	// Before is called when a run starts, After when it has ended.
	Before, After func(op harness.Op, object string)

	// Injected is called when a fault is injected.
	Injected func(f harness.Fault)
	// Broken is called when a fault has broken a run of an object.
	Broken func(object string)
	// Unseen are faults that cannot be injected.
	Unseen map[harness.FaultKind]bool
	// Leak may let a destroy leave a resource in the cloud, by its address.
	Leak func(object, address string) bool

	mu    sync.Mutex
	state map[string]*object
	cloud cloud
}

type object struct {
	record    string
	outputs   map[string]json.RawMessage
	resources []harness.Resource
	// ids are the things in the cloud, by resource address.
	ids map[string]string
}

// New returns a set with the given roles.
func New(roles ...contract.Role) *Set {
	s := &Set{roles: roles, state: map[string]*object{}, Infos: map[contract.Role]harness.ModuleInfo{}, Undeclared: map[string]bool{}}
	for _, role := range roles {
		spec := versions.Default().Spec(role)
		info := harness.ModuleInfo{Role: role, Dir: "modules/" + string(role), Outputs: map[string]string{}, Sensitive: map[string]bool{}, Variables: map[string]string{}}
		for n, in := range spec.Inputs {
			info.Variables[in.Name] = fmt.Sprintf("modules/%s/variables.tf:%d", role, n+1)
		}
		for n, out := range spec.Outputs {
			info.Outputs[out.Name] = fmt.Sprintf("modules/%s/outputs.tf:%d", role, n+1)
		}
		if role == contract.RoleMachine {
			info.ExportReads = []harness.ExportRead{{Path: []string{"backend_id"}, Range: "modules/machine/main.tf:7"}}
			info.Membership = &harness.Membership{
				Pattern: harness.PatternAttachment, Declared: true,
				Members: []harness.Member{
					{Listener: balancer.ListenerAPI, Address: "terraform_data.backend_member"},
					{Listener: balancer.ListenerSupervisor, Address: "terraform_data.backend_member"},
				},
			}
		}
		s.Infos[role] = info
	}
	return s
}

// Roles returns the set's roles.
func (s *Set) Roles() []contract.Role { return s.roles }

// Module describes the module of a role.
func (s *Set) Module(role contract.Role) harness.ModuleInfo { return s.Infos[role] }

// Objects returns the objects that have a state, sorted.
func (s *Set) Objects() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.state))
}

// Apply stores what the inputs ask for.
func (s *Set) Apply(ctx context.Context, name string, in contract.Inputs) (*harness.Run, error) {
	return s.run(ctx, harness.OpApply, name, in)
}

// Plan compares what the inputs ask for with what is stored.
func (s *Set) Plan(ctx context.Context, name string, in contract.Inputs) (*harness.Run, error) {
	return s.run(ctx, harness.OpPlan, name, in)
}

// PlanValues plans with the planned content.
func (s *Set) PlanValues(ctx context.Context, name string, in contract.Inputs) (*harness.Run, error) {
	run, err := s.run(ctx, harness.OpPlan, name, in)
	if run != nil && !run.Failed {
		s.mu.Lock()
		run.Planned, run.PlannedOutputs = s.planned(name, in), s.outputs(name, in)
		s.mu.Unlock()
		if s.Planned != nil {
			run.Planned = s.Planned(in, run.Planned)
		}
	}
	return run, err
}

// Refresh returns what is stored.
func (s *Set) Refresh(ctx context.Context, name string, in contract.Inputs) (*harness.Run, error) {
	return s.run(ctx, harness.OpRefresh, name, in)
}

// Destroy removes what is stored.
func (s *Set) Destroy(ctx context.Context, name string, in contract.Inputs) (*harness.Run, error) {
	return s.run(ctx, harness.OpDestroy, name, in)
}

// PartialApply stores the first resource and fails.
func (s *Set) PartialApply(_ context.Context, name string, in contract.Inputs) (*harness.Run, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := &harness.Run{Op: harness.OpApply, Failed: true}
	s.create(name, in, 1)
	run.Resources = slices.Clone(s.state[name].resources)
	return run, true, nil
}

var mainResource = map[contract.Role]string{
	contract.RoleCluster: "terraform_data.load_balancer", contract.RoleMachine: "terraform_data.instance", contract.RoleMachinePool: "terraform_data.group",
}

func (s *Set) run(ctx context.Context, op harness.Op, name string, in contract.Inputs) (*harness.Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.Before != nil {
		s.Before(op, name)
	}
	if s.After != nil {
		defer s.After(op, name)
	}
	run := &harness.Run{Op: op}
	if s.Fail != nil {
		if text := s.Fail(op, name, in); text != "" {
			run.Failed = true
			if s.Hung != nil {
				run.Hung = s.Hung(op, name, in)
			}
			run.Diagnostics = []harness.Diagnostic{{Severity: "error", Summary: text}}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if run.Failed {
		return run, nil
	}
	if f := s.cloud.armed(name, op); f != nil {
		s.breakRun(f, op, name, in, run)
	} else {
		s.transition(op, name, in, run)
	}
	if s.Changes != nil {
		run.Changes = s.Changes(op, name, in, run.Changes)
	}
	if o := s.state[name]; o != nil {
		run.Values.Outputs, run.Resources = maps.Clone(o.outputs), slices.Clone(o.resources)
	}
	run.Values.Declared = map[string]bool{}
	for _, out := range versions.Default().Spec(in.Role()).Outputs {
		run.Values.Declared[out.Name] = !s.Undeclared[string(in.Role())+"."+out.Name]
	}
	return run, nil
}

// transition changes the state and the cloud as the run does, and notes the changes.
func (s *Set) transition(op harness.Op, name string, in contract.Inputs, run *harness.Run) {
	old, want := s.state[name], record(in)
	switch op {
	case harness.OpDestroy:
		if old != nil {
			s.forget(old)
			run.Changes = changesOf(old.resources, harness.ActionDelete)
			s.remove(name, len(old.resources))
		}
		delete(s.state, name)
		return
	case harness.OpRefresh:
		if old != nil {
			s.forget(old)
			old.outputs = s.outputs(name, in)
		}
		return
	}
	resources := s.resourcesOf(name, in)
	if missing := s.missing(old, resources); len(missing) > 0 {
		run.Changes = changesOf(missing, harness.ActionCreate)
	} else if old != nil && old.record != want && len(resources) > 0 {
		run.Changes = changesOf(resources[:1], harness.ActionUpdate)
	}
	if op == harness.OpApply {
		s.create(name, in, len(resources))
		o := s.state[name]
		o.record, o.resources = want, resources
		o.outputs = s.outputs(name, in)
	}
}

func changesOf(resources []harness.Resource, action harness.Action) []harness.Change {
	out := make([]harness.Change, 0, len(resources))
	for _, r := range resources {
		out = append(out, harness.Change{Address: r.Address, Type: r.Type, Action: action})
	}
	return out
}

// planned is the content that a plan shows: a record of the inputs, and the
// bootstrap payload as it is handed to the instance.
func (s *Set) planned(name string, in contract.Inputs) json.RawMessage {
	values := map[string]string{"record": record(in)}
	if m, ok := in.(*contract.MachineInputs); ok {
		values["user_data"] = base64.StdEncoding.EncodeToString(m.Bootstrap.Data)
	}
	content := map[string]any{mainResource[in.Role()]: map[string]any{"values": values}}
	if s.Resources != nil {
		for _, r := range s.Resources(name, in) {
			content[r.Address] = map[string]any{"values": r.Values}
		}
	}
	raw, err := json.Marshal(content)
	if err != nil {
		panic(err) // plain data
	}
	return raw
}

// record is a digest of everything that the inputs say.
func record(in contract.Inputs) string {
	raw, err := json.Marshal(in)
	if err != nil {
		panic(err) // inputs are plain data
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

func (s *Set) resourcesOf(name string, in contract.Inputs) []harness.Resource {
	if s.Resources != nil {
		return s.Resources(name, in)
	}
	out := []harness.Resource{{Address: mainResource[in.Role()], Type: "terraform_data"}}
	if m, ok := in.(*contract.MachineInputs); ok && m.ControlPlane {
		out = append(out, harness.Resource{Address: "terraform_data.backend_member[0]", Type: "terraform_data"})
	}
	return out
}

func (s *Set) outputs(name string, in contract.Inputs) map[string]json.RawMessage {
	values := map[string]any{"health": map[string]any{"state": "running", "healthy": true, "message": nil, "reasons": []string{}}}
	common := in.Common()
	switch in := in.(type) {
	case *contract.ClusterInputs:
		clusterOutputs(in, values)
	case *contract.MachineInputs:
		values["provider_id"] = fmt.Sprintf("noop:///%s/%s", common.Object.Namespace, in.MachineName)
		values["addresses"] = []map[string]any{{"type": "InternalIP", "address": address(in.MachineName)}, {"type": "Hostname", "address": in.MachineName}}
		s.instanceOutputs(name, in, values)
		values["failure_domain"] = in.FailureDomain
		values["interruptible"] = false
	case *contract.PoolInputs:
		ids, instances := []string{}, []map[string]any{}
		for n := range in.Replicas {
			id := fmt.Sprintf("noop:///%s/%s/%03d", common.Object.Namespace, common.Object.Name, n)
			ids = append(ids, id)
			instances = append(instances, map[string]any{"provider_id": id, "state": "running"})
		}
		values["provider_id"] = fmt.Sprintf("noop-group:///%s/%s", common.Object.Namespace, common.Object.Name)
		values["provider_id_list"], values["replicas"], values["instances"] = ids, in.Replicas, instances
	}
	if s.Outputs != nil {
		s.Outputs(name, in, values)
	}
	out := map[string]json.RawMessage{}
	for k, v := range values {
		raw, err := json.Marshal(v)
		if err != nil {
			panic(err) // outputs are plain data
		}
		if string(raw) != "null" && !s.Undeclared[string(in.Role())+"."+k] {
			out[k] = raw
		}
	}
	return out
}

// address is an address that no other machine has.
func address(machine string) string {
	sum := sha256.Sum256([]byte(machine))
	return fmt.Sprintf("10.%d.%d.%d", sum[0], sum[1], sum[2])
}

func clusterOutputs(in *contract.ClusterInputs, values map[string]any) {
	endpoint := in.ControlPlaneEndpoint
	if endpoint == nil {
		endpoint = &contract.Endpoint{Host: "noop-" + in.Object.Name + ".invalid", Port: 6443}
	}
	values["control_plane_endpoint"] = endpoint
	values["failure_domains"] = []map[string]any{{"name": "fd1"}, {"name": "fd2"}, {"name": "fd3", "control_plane": true}}
	values["exports"] = map[string]any{"backend_id": "noop-backend-" + in.Object.Name}
}
