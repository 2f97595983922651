package runner_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/runner"
	"github.com/captf-toolkit/captf/sdk/module"
	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// simulated is a set of modules for the tiny provider, whose schema is in testdata of sdk/simcloud.
const simulated = "testdata/simulated"

const tinySchema = "../../simcloud/testdata/tiny.json"

func tinyCatalog(t testing.TB) *simcloud.Catalog {
	t.Helper()
	c := simcloud.NewCatalog(nil)
	if err := c.AddFile("", tinySchema); err != nil {
		t.Fatal(err)
	}
	return c
}

// openSimulated opens a set on simulated providers.
func openSimulated(t testing.TB, b *runtime.Binary) *runner.Runner {
	t.Helper()
	r := openRunner(t, b, simulated, func(o *runner.Options) { o.Simulate = &runner.Simulation{Catalog: tinyCatalog(t)} })
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// count is how many objects of each type exist in the simulated cloud.
func count(r *runner.Runner) map[string]int {
	out := map[string]int{}
	for _, o := range r.Inventory() {
		out[strings.TrimPrefix(o.Type, "tiny_")]++
	}
	return out
}

// A set on simulated providers needs no installation; what it makes is owned by its objects
// and known by address.
func TestSimulated(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		r := openSimulated(t, b)
		ok := must(t)
		ok(r.Apply(t.Context(), "demo", clusterInputs()))
		ok(r.Apply(t.Context(), "demo-cp-1", machineInputs("demo-cp-1", nil, true)))
		var got []string
		for _, o := range r.Inventory() {
			if o.ID == "" {
				t.Errorf("%s has no id", o.Type)
			}
			got = append(got, o.Owner+" "+o.Type+" "+o.Address)
		}
		want := []string{
			"machine-demo-cp-1 tiny_instance tiny_instance.this",
			"machine-demo-cp-1 tiny_lb_target_group_attachment tiny_lb_target_group_attachment.this",
			"cluster-demo tiny_network tiny_network.this",
			"machine-demo-cp-1 tiny_network module.disk.tiny_network.disk",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("the inventory (-want +got):\n%s", d)
		}
		if run := ok(r.Plan(t.Context(), "demo-cp-1", machineInputs("demo-cp-1", nil, true))); len(run.Changes) > 0 {
			t.Errorf("planned again: %+v", run.Changes)
		}
		sim := r.Simulated()
		if len(sim) != 1 || sim[0].Provider != "example.com/acme/tiny 1.2.3" || sim[0].Schema != "real" || sim[0].Behaviour != "generic" {
			t.Errorf("simulated: %+v", sim)
		}
		ok(r.Destroy(t.Context(), "demo-cp-1", machineInputs("demo-cp-1", nil, true)))
		ok(r.Destroy(t.Context(), "demo", clusterInputs()))
		if left := r.Inventory(); len(left) > 0 {
			t.Errorf("left: %+v", left)
		}
	})
}

// Each fault breaks the run that it is for, and the next one goes on from there.
func TestInjected(t *testing.T) {
	all := map[string]int{"instance": 1, "lb_target_group_attachment": 1, "network": 1}
	for _, c := range []struct {
		kind harness.FaultKind
		op   harness.Op
		// after is what exists after the broken run, left what exists after a later apply and destroy.
		after, left map[string]int
		well        bool
	}{
		{kind: harness.FaultApplyFails, after: map[string]int{"network": 1}},
		{kind: harness.FaultInterrupted, after: map[string]int{"network": 1, "instance": 1}},
		{kind: harness.FaultKilled, after: map[string]int{"network": 1, "instance": 1}, left: map[string]int{"network": 1, "instance": 1}},
		{kind: harness.FaultHangs, after: map[string]int{"network": 1}},
		{kind: harness.FaultStateLost, after: all, left: all},
		{kind: harness.FaultQuota, after: map[string]int{}},
		{kind: harness.FaultConflict, op: harness.OpDestroy, after: all},
		{kind: harness.FaultInterrupted, op: harness.OpDestroy, after: map[string]int{"network": 1}},
		{kind: harness.FaultRefreshBlind, op: harness.OpRefresh, after: all, left: all, well: true},
	} {
		t.Run(string(c.kind)+" "+string(c.op), func(t *testing.T) {
			t.Parallel()
			r := openSimulated(t, runtimetest.OpenTofu(t))
			ok := must(t)
			in, name := machineInputs("m", nil, true), "m"
			if err := r.Injects(c.kind); err != nil {
				t.Fatal(err)
			}
			var run *harness.Run
			var err error
			f := harness.Fault{Kind: c.kind, Role: contract.RoleMachine, Object: name, Op: c.op}
			if c.op != "" {
				ok(r.Apply(t.Context(), name, in))
			}
			if err := r.Inject(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			switch c.op {
			case harness.OpDestroy:
				run, err = r.Destroy(t.Context(), name, in)
			case harness.OpRefresh:
				run, err = r.Refresh(t.Context(), name, in)
			default:
				run, err = r.Apply(t.Context(), name, in)
			}
			if err != nil {
				t.Fatal(err)
			}
			if run.Failed == c.well || !c.well && len(run.Diagnostics) == 0 {
				t.Errorf("the run failed: %t, saying %+v", run.Failed, run.Diagnostics)
			}
			if (c.kind == harness.FaultHangs) != (run.Hung != nil) {
				t.Errorf("at work on %v when its time was over", run.Hung)
			}
			if d := cmp.Diff(c.after, count(r)); d != "" {
				t.Errorf("after the broken run (-want +got):\n%s", d)
			}
			if c.op != harness.OpDestroy {
				ok(r.Apply(t.Context(), name, in))
			}
			ok(r.Destroy(t.Context(), name, in))
			want := c.left
			if want == nil {
				want = map[string]int{}
			}
			if d := cmp.Diff(want, count(r)); d != "" {
				t.Errorf("left in the cloud (-want +got):\n%s", d)
			}
		})
	}
}

// What happens to an instance out of band is seen by a refresh.
func TestHarmed(t *testing.T) {
	r := openSimulated(t, runtimetest.OpenTofu(t))
	ok := must(t)
	in := machineInputs("m", nil, true)
	f := harness.Fault{Role: contract.RoleMachine, Object: "m"}
	f.Kind = harness.FaultInstanceGone
	if err := r.Inject(t.Context(), f); err == nil || !strings.Contains(err.Error(), "has made no instance") {
		t.Errorf("harming what is not there: %v", err)
	}
	before := ok(r.Apply(t.Context(), "m", in)).Values.Outputs["addresses"]
	for _, f.Kind = range []harness.FaultKind{harness.FaultAddressChanges, harness.FaultInstanceStopped, harness.FaultInstanceGone} {
		if err := r.Inject(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		run := ok(r.Refresh(t.Context(), "m", in))
		var instance map[string]any
		for _, res := range run.Resources {
			if res.Type == "tiny_instance" {
				instance = res.Values
			}
		}
		switch f.Kind {
		case harness.FaultAddressChanges:
			if string(before) == string(run.Values.Outputs["addresses"]) {
				t.Errorf("the address is still %s", before)
			}
		case harness.FaultInstanceStopped:
			if instance["state"] != "stopped" {
				t.Errorf("the state is %v", instance["state"])
			}
		default:
			if instance != nil {
				t.Error("the instance is still there")
			}
		}
	}
	ok(r.Destroy(t.Context(), "m", in))
	if left := r.Inventory(); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
}

// Without a simulated cloud, faults of runs are played with any module that loses nothing by it.
func TestInjectedWithoutCloud(t *testing.T) {
	r := openRunner(t, runtimetest.OpenTofu(t), noop, nil)
	ok := must(t)
	if err := r.Injects(harness.FaultQuota); err == nil || !strings.Contains(err.Error(), "--simulate") {
		t.Errorf("a quota: %v", err)
	}
	if err := r.Injects(harness.FaultDegraded); err == nil {
		t.Error("what the engine plays is taken")
	}
	exports := ok(r.Apply(t.Context(), "demo", clusterInputs())).Values.Outputs["exports"]
	in := machineInputs("m", exports, true)
	for _, kind := range []harness.FaultKind{harness.FaultApplyFails, harness.FaultInterrupted, harness.FaultHangs, harness.FaultKilled, harness.FaultStateLost} {
		for _, op := range []harness.Op{harness.OpApply, harness.OpDestroy} {
			if kind == harness.FaultApplyFails && op == harness.OpDestroy {
				continue
			}
			if op == harness.OpDestroy {
				ok(r.Apply(t.Context(), "m", in))
			}
			if err := r.Inject(t.Context(), harness.Fault{Kind: kind, Role: contract.RoleMachine, Object: "m", Op: op}); err != nil {
				t.Fatal(err)
			}
			run := r.Apply
			if op == harness.OpDestroy {
				run = r.Destroy
			}
			got, err := run(t.Context(), "m", in)
			if err != nil {
				t.Fatal(err)
			}
			if !got.Failed || len(got.Diagnostics) == 0 {
				t.Errorf("%s of %s: failed %t, saying %+v", kind, op, got.Failed, got.Diagnostics)
			}
			ok(r.Apply(t.Context(), "m", in))
			ok(r.Destroy(t.Context(), "m", in))
		}
	}
}

// A set that cannot be simulated is refused with every reason, each with its place.
func TestCannotSimulate(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"cluster/main.tf": `terraform {
  required_providers {
    tiny  = { source = "example.com/acme/tiny" }
    other = { source = "acme/other" }
  }
}
module "far" {
  source = "acme/far/other"
}
resource "tiny_lake" "l" {}
`,
		"machine/main.tf": `resource "implied_thing" "x" {}` + "\n",
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := runner.OpenSet(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = runner.New(t.Context(), set, runner.Options{
		Binary: runtimetest.OpenTofu(t), Scratch: t.TempDir(), Definition: versions.Default(), Simulate: &runner.Simulation{Catalog: prunedCatalog(t)},
	})
	if _, is := errors.AsType[*runner.SimulationError](err); !is {
		t.Fatalf("the error is %v", err)
	}
	for _, want := range []string{
		`cluster/main.tf:7: module "far" is fetched from elsewhere`,
		"cluster/main.tf:4: there is no recorded schema of the provider acme/other; record one where the provider can be installed, with: captf simcloud record --provider acme/other",
		"cluster/main.tf:10: the recorded schema of example.com/acme/tiny 1.2.3 has only some types, and not the resource type tiny_lake",
		"machine/main.tf:1: there is no recorded schema of the provider hashicorp/implied",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q:\n%v", want, err)
		}
	}
	requirements, err := runner.Requirements([]string{filepath.Join(dir, "cluster"), filepath.Join(dir, "machine")}, module.OpenTofu)
	if err != nil {
		t.Fatal(err)
	}
	var sources []string
	for _, r := range requirements {
		sources = append(sources, r.Source)
	}
	if d := cmp.Diff([]string{"acme/other", "example.com/acme/tiny", "hashicorp/implied"}, sources); d != "" {
		t.Errorf("requirements (-want +got):\n%s", d)
	}
}

// prunedCatalog has the tiny schema without most types.
func prunedCatalog(t *testing.T) *simcloud.Catalog {
	t.Helper()
	raw, err := os.ReadFile(tinySchema)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tiny.json.gz")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = simcloud.Record(out, strings.NewReader(string(raw)), simcloud.RecordOptions{Types: &simcloud.Types{Resources: map[string]bool{"tiny_network": true}}})
	if err = errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	c := simcloud.NewCatalog(nil)
	if err := c.AddFile("", file); err != nil {
		t.Fatal(err)
	}
	return c
}
