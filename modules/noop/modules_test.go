// Package noop_test holds the tests of the no-op module set that need Go: whole
// runs through the generated root, plan actions, and what the READMEs say.
package noop_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

func TestModuleTests(t *testing.T) {
	t.Parallel()
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		for _, role := range contract.Roles() {
			t.Run(string(role), func(t *testing.T) {
				t.Parallel()
				runtimetest.ModuleTests(t, b, string(role))
			})
		}
	})
}

// object is one object with its generated root, state and module.
type object struct {
	t    *testing.T
	dir  string
	work *runtime.Workdir
}

func newObject(t *testing.T, b *runtime.Binary) *object {
	t.Helper()
	dir := t.TempDir()
	return &object{t: t, dir: dir, work: runtimetest.Workdir(t, b, dir, runtime.WorkdirOptions{})}
}

// render writes the generated root of the inputs, as a controller would.
func (o *object) render(in contract.Inputs, vars map[string]string) {
	o.t.Helper()
	module, err := filepath.Abs(string(in.Role()))
	if err != nil {
		o.t.Fatal(err)
	}
	source, err := filepath.Rel(o.dir, module)
	if err != nil {
		o.t.Fatal(err)
	}
	var list []contract.Variable
	for name, value := range vars {
		list = append(list, contract.Variable{Name: name, Value: json.RawMessage(value)})
	}
	r, vs := versions.Default().Render(in, list, contract.RenderOptions{
		Backend:      contract.Backend{Type: "local", Config: map[string]any{"path": "terraform.tfstate"}},
		ModuleSource: filepath.ToSlash(source),
	})
	if len(vs) > 0 {
		o.t.Fatalf("rendering %s: %v", in.Role(), vs)
	}
	for name, content := range map[string][]byte{"main.tf.json": r.Root, "terraform.tfvars.json": r.Values} {
		if err := os.WriteFile(filepath.Join(o.dir, name), content, 0o600); err != nil {
			o.t.Fatal(err)
		}
	}
	if _, err := o.work.Init(context.Background(), runtime.InitOptions{}); err != nil {
		o.t.Fatal(err)
	}
}

// apply renders and applies, and returns what the contract makes of the outputs.
func (o *object) apply(in contract.Inputs, vars map[string]string) contract.Outputs {
	o.t.Helper()
	o.render(in, vars)
	if _, err := o.work.Apply(context.Background(), runtime.ApplyOptions{}); err != nil {
		o.t.Fatal(err)
	}
	out, vs := o.outputs(in)
	if len(vs) > 0 {
		o.t.Fatalf("outputs of %s: %v", in.Role(), vs)
	}
	return out
}

func (o *object) outputs(in contract.Inputs) (contract.Outputs, contract.Violations) {
	o.t.Helper()
	values, err := o.work.Outputs(context.Background())
	if err != nil {
		o.t.Fatal(err)
	}
	def := versions.Default()
	declared := map[string]bool{}
	for _, out := range def.Spec(in.Role()).Outputs {
		declared[out.Name] = true
	}
	return contract.Decode(def, in.Role(), contract.Values{Outputs: values, Declared: declared}, in)
}

// plan returns the planned changes as "action address", sorted.
func (o *object) plan(in contract.Inputs, vars map[string]string) []string {
	o.t.Helper()
	o.render(in, vars)
	r, err := o.work.Plan(context.Background(), runtime.PlanOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	if r.Changed != (len(r.Planned) > 0) {
		o.t.Errorf("changed is %v, but %d resources are to be changed", r.Changed, len(r.Planned))
	}
	list := []string{}
	for _, c := range r.Planned {
		list = append(list, string(c.Action)+" "+strings.TrimPrefix(c.Address, "module.role."))
	}
	slices.Sort(list)
	return list
}

func (o *object) destroy() {
	o.t.Helper()
	if _, err := o.work.Destroy(context.Background(), runtime.ApplyOptions{}); err != nil {
		o.t.Fatal(err)
	}
	if left := o.resources(); len(left) > 0 {
		o.t.Errorf("left after destroy: %v", left)
	}
}

// resources returns the addresses in the state, sorted.
func (o *object) resources() []string {
	o.t.Helper()
	state, err := o.work.State()
	if err != nil {
		o.t.Fatal(err)
	}
	list := []string{}
	for _, r := range state.Resources {
		list = append(list, strings.TrimPrefix(r.Address, "module.role."))
	}
	slices.Sort(list)
	return list
}

// recorded returns the input of a terraform_data in the state.
func (o *object) recorded(address string) map[string]any {
	o.t.Helper()
	state, err := o.work.ShowState(context.Background())
	if err != nil {
		o.t.Fatal(err)
	}
	for _, child := range state.Values.RootModule.ChildModules {
		for _, r := range child.Resources {
			if r.Address == "module.role."+address {
				return r.AttributeValues["input"].(map[string]any)
			}
		}
	}
	o.t.Fatalf("the state has no %s", address)
	return nil
}

// failed asserts that err is a failed run whose diagnostics mention text.
func failed(t *testing.T, err error, text string) {
	t.Helper()
	var run *runtime.RunError
	if !errors.As(err, &run) {
		t.Fatalf("got %v, want a failed run", err)
	}
	for _, d := range run.Diagnostics {
		if strings.Contains(d.Detail, text) {
			return
		}
	}
	t.Errorf("no diagnostic says %q: %v", text, err)
}

func common(name string) contract.CommonInputs {
	return contract.CommonInputs{
		Cluster:  contract.NamespacedName{Name: "dev", Namespace: "team-a"},
		Object:   contract.NamespacedName{Name: name, Namespace: "team-a"},
		Template: "dev-v1",
	}
}

func clusterInputs() *contract.ClusterInputs {
	return &contract.ClusterInputs{CommonInputs: common("dev-x7k2p")}
}

func machineInputs(exports json.RawMessage) *contract.MachineInputs {
	return &contract.MachineInputs{
		CommonInputs: common("dev-control-plane-1"), ClusterOutputs: exports,
		MachineName: "dev-cp-abcde", ControlPlane: true, KubernetesVersion: new("v1.36.1"), FailureDomain: new("fd1"),
		Bootstrap: contract.Bootstrap{Data: []byte("#cloud-config\n"), Format: "cloud-config"},
	}
}

func poolInputs(exports json.RawMessage) *contract.PoolInputs {
	return &contract.PoolInputs{
		CommonInputs: common("dev-pool-x7k2p"), ClusterOutputs: exports,
		MachinePoolName: "dev-pool", Replicas: 3, KubernetesVersion: new("v1.36.1"),
		Bootstrap:             contract.Bootstrap{Data: []byte("#cloud-config\n"), Format: "cloud-config"},
		ClusterFailureDomains: []string{"fd1"}, NodeLabels: map[string]string{"example.com/team": "a"},
	}
}

// TestLife plays the applies of a cluster's life through generated roots: what a
// cluster exports reaches the others, and a second plan is empty everywhere.
func TestLife(t *testing.T) {
	t.Parallel()
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		t.Parallel()
		c := newObject(t, b)
		in := clusterInputs()
		out := c.apply(in, nil).(*contract.ClusterOutputs)
		if diff := cmp.Diff(&contract.Endpoint{Host: "noop-dev-x7k2p.invalid", Port: 6443}, out.ControlPlaneEndpoint); diff != "" {
			t.Errorf("endpoint (-want +got):\n%s", diff)
		}
		empty(t, c.plan(in, nil))

		in.ControlPlaneInitialized = true
		if diff := cmp.Diff([]string{"update terraform_data.load_balancer"}, c.plan(in, nil)); diff != "" {
			t.Errorf("plan at initialisation (-want +got):\n%s", diff)
		}
		again := c.apply(in, nil).(*contract.ClusterOutputs)
		if diff := cmp.Diff(out, again); diff != "" {
			t.Errorf("outputs after initialisation (-before +after):\n%s", diff)
		}
		empty(t, c.plan(in, nil))
		var exports struct {
			BackendID string `json:"backend_id"`
		}
		if err := json.Unmarshal(out.Exports, &exports); err != nil {
			t.Fatal(err)
		}

		m := newObject(t, b)
		cp := machineInputs(out.Exports)
		machine := m.apply(cp, nil).(*contract.MachineOutputs)
		if machine.ProviderID != "noop:///team-a/dev-cp-abcde" {
			t.Errorf("provider id is %s", machine.ProviderID)
		}
		if got := m.recorded("terraform_data.backend_member[0]")["backend_id"]; got != exports.BackendID {
			t.Errorf("the member's backend is %v, the exports say %s", got, exports.BackendID)
		}
		empty(t, m.plan(cp, nil))

		w := newObject(t, b)
		worker := machineInputs(out.Exports)
		worker.ControlPlane, worker.MachineName = false, "dev-md-0-fghij"
		w.apply(worker, nil)
		if diff := cmp.Diff([]string{"terraform_data.instance"}, w.resources()); diff != "" {
			t.Errorf("resources of a worker (-want +got):\n%s", diff)
		}

		p := newObject(t, b)
		group := poolInputs(out.Exports)
		pool := p.apply(group, nil).(*contract.PoolOutputs)
		if replicas(pool) != 3 || len(pool.ProviderIDList) != 3 {
			t.Errorf("the pool has %d replicas and lists %v", replicas(pool), pool.ProviderIDList)
		}
		if got := p.recorded("terraform_data.group")["backend_id"]; got != exports.BackendID {
			t.Errorf("the pool recorded backend %v, the exports say %s", got, exports.BackendID)
		}
		empty(t, p.plan(group, nil))

		for _, o := range []*object{p, w, m, c} {
			o.destroy()
		}
		// A destroy that is repeated has nothing to do.
		m.destroy()
	})
}

func empty(t *testing.T, plan []string) {
	t.Helper()
	if len(plan) > 0 {
		t.Errorf("a second apply would %v", plan)
	}
}

// TestPoolChanges asserts what a change does to a pool: only a new version, with
// its build metadata, may replace anything.
func TestPoolChanges(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*contract.PoolInputs)
		want   []string
	}{
		{
			"rotation", func(in *contract.PoolInputs) { in.Bootstrap.Data = []byte("#cloud-config\n# new token\n") },
			[]string{"update terraform_data.group"},
		},
		{
			"labels", func(in *contract.PoolInputs) { in.NodeLabels = map[string]string{"example.com/team": "b"} },
			[]string{"update terraform_data.group"},
		},
		{
			"scaling", func(in *contract.PoolInputs) { in.Replicas = 11 },
			[]string{"update terraform_data.group"},
		},
		{
			"build metadata", func(in *contract.PoolInputs) { in.KubernetesVersion = new("v1.36.1+rke2r1") },
			[]string{"replace terraform_data.kubernetes_version_roll", "update terraform_data.group"},
		},
		{
			"autoscaling", func(in *contract.PoolInputs) {
				in.Autoscaling = contract.Autoscaling{Enabled: true, Min: 1, Max: 5}
			},
			[]string{"create terraform_data.desired_capacity[0]"},
		},
	}
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		t.Parallel()
		p := newObject(t, b)
		p.apply(poolInputs(nil), nil)
		for _, test := range tests {
			in := poolInputs(nil)
			test.change(in)
			if diff := cmp.Diff(test.want, p.plan(in, nil)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
		}
	})
}

// TestFailedApply asserts that a simulated failure leaves a partial state that
// both a destroy and another apply cope with (CP-038).
func TestFailedApply(t *testing.T) {
	t.Parallel()
	fail := map[string]string{"simulate_failure": `"apply"`}
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		t.Parallel()
		m := newObject(t, b)
		in := machineInputs(json.RawMessage(`{"backend_id":"noop-backend-1"}`))
		m.render(in, fail)
		_, err := m.work.Apply(context.Background(), runtime.ApplyOptions{})
		failed(t, err, "simulate_failure is apply")
		if diff := cmp.Diff([]string{"terraform_data.instance"}, m.resources()); diff != "" {
			t.Errorf("state after the failure (-want +got):\n%s", diff)
		}
		m.destroy()
		m.destroy()

		m.render(in, fail)
		if _, err := m.work.Apply(context.Background(), runtime.ApplyOptions{}); err == nil {
			t.Error("the failure was not simulated again")
		}
		m.apply(in, nil)
	})
}

// TestFailedDestroy asserts that a simulated failure keeps the object in the
// state until the variable is changed.
func TestFailedDestroy(t *testing.T) {
	t.Parallel()
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		t.Parallel()
		for _, in := range []contract.Inputs{clusterInputs(), poolInputs(nil)} {
			o := newObject(t, b)
			o.apply(in, nil)
			before := o.resources()
			o.render(in, map[string]string{"simulate_failure": `"destroy"`})
			_, err := o.work.Destroy(context.Background(), runtime.ApplyOptions{})
			failed(t, err, "simulate_failure is destroy")
			if diff := cmp.Diff(before, o.resources()); diff != "" {
				t.Errorf("state after the failure (-want +got):\n%s", diff)
			}
			o.render(in, nil)
			o.destroy()
		}
	})
}

// TestContractBranches asserts that the simulations reach the branches of the
// contract that they are made for.
func TestContractBranches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		in    contract.Inputs
		vars  map[string]string
		check func(t *testing.T, out contract.Outputs, vs contract.Violations)
	}{
		{
			"machine gone", machineInputs(json.RawMessage(`{"backend_id":"b"}`)), map[string]string{"simulate_missing": `true`},
			func(t *testing.T, out contract.Outputs, vs contract.Violations) {
				m := out.(*contract.MachineOutputs)
				if m.ProviderID != "" || m.Health.State != contract.HealthTerminated || len(vs.Blocking()) > 0 {
					t.Errorf("got %+v, %v", m, vs)
				}
			},
		},
		{
			"cluster without endpoint", clusterInputs(), map[string]string{"endpoint_host": `""`},
			func(t *testing.T, out contract.Outputs, vs contract.Violations) {
				if c := out.(*contract.ClusterOutputs); c.ControlPlaneEndpoint != nil || len(vs) > 0 {
					t.Errorf("got %+v, %v", c, vs)
				}
			},
		},
		{
			"cluster pending", clusterInputs(), map[string]string{"simulate_health": `{"state":"pending"}`},
			func(t *testing.T, out contract.Outputs, vs contract.Violations) {
				if c := out.(*contract.ClusterOutputs); c.Health.State != contract.HealthPending || len(vs) > 0 {
					t.Errorf("got %+v, %v", c, vs)
				}
			},
		},
		{
			"pool that is scaling", poolInputs(nil), map[string]string{"provider_id_list_override": `["noop:///a/0"]`},
			func(t *testing.T, out contract.Outputs, vs contract.Violations) {
				if p := out.(*contract.PoolOutputs); replicas(p) != 3 || len(p.ProviderIDList) != 1 {
					t.Errorf("got %+v, %v", p, vs)
				}
			},
		},
	}
	b := runtimetest.OpenTofu(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := newObject(t, b)
			o.render(test.in, test.vars)
			if _, err := o.work.Apply(context.Background(), runtime.ApplyOptions{}); err != nil {
				t.Fatal(err)
			}
			out, vs := o.outputs(test.in)
			test.check(t, out, vs)
		})
	}
}

// TestBootstrapStaysOut asserts that a payload that is no text is accepted, and
// that it does not reach the state (contract.md 3 R7, R9).
func TestBootstrapStaysOut(t *testing.T) {
	t.Parallel()
	b := runtimetest.OpenTofu(t)
	m := newObject(t, b)
	in := machineInputs(json.RawMessage(`{"backend_id":"b"}`))
	in.Bootstrap.Data = []byte{0x1f, 0x8b, 0x08, 0xff, 0xfe} // gzip magic, no UTF-8.
	m.apply(in, nil)
	state, err := os.ReadFile(filepath.Join(m.dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	if payload := base64.StdEncoding.EncodeToString(in.Bootstrap.Data); strings.Contains(string(state), payload) {
		t.Error("the state holds the payload")
	}
}

func replicas(p *contract.PoolOutputs) int64 {
	if p.Replicas == nil {
		return -1
	}
	return *p.Replicas
}
