package runner_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/runner"
	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// noop is the set of modules without a cloud.
const noop = "../../../modules/noop"

func openRunner(t testing.TB, b *runtime.Binary, dir string, change func(*runner.Options)) *runner.Runner {
	t.Helper()
	set, err := runner.OpenSet(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := runner.Options{Binary: b, Scratch: filepath.Join(t.TempDir(), "scratch"), Definition: versions.Default()}
	if change != nil {
		change(&o)
	}
	r, err := runner.New(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func common(name string) contract.CommonInputs {
	return contract.CommonInputs{
		Cluster: contract.NamespacedName{Name: "demo", Namespace: "default"},
		Object:  contract.NamespacedName{Name: name, Namespace: "default"},
	}
}

func clusterInputs() *contract.ClusterInputs {
	return &contract.ClusterInputs{CommonInputs: common("demo")}
}

func machineInputs(name string, exports json.RawMessage, controlPlane bool) *contract.MachineInputs {
	version := "v1.34.2"
	return &contract.MachineInputs{
		CommonInputs: common(name), ClusterOutputs: exports, MachineName: name, KubernetesVersion: &version,
		Bootstrap: contract.Bootstrap{Data: []byte("#cloud-config\nwrite_files: [a-very-secret-key]\n")}, ControlPlane: controlPlane,
	}
}

func poolInputs(name string, exports json.RawMessage) *contract.PoolInputs {
	return &contract.PoolInputs{
		CommonInputs: common(name), ClusterOutputs: exports, MachinePoolName: name, Replicas: 3,
		Bootstrap: contract.Bootstrap{Data: []byte("#cloud-config\nruncmd: [join]\n")},
	}
}

// must fails the test unless the run ended well.
func must(t testing.TB) func(run *harness.Run, err error) *harness.Run {
	return func(run *harness.Run, err error) *harness.Run {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if run.Failed {
			t.Fatalf("the module failed: %+v", run.Diagnostics)
		}
		return run
	}
}

func addresses(list []harness.Resource) []string {
	var out []string
	for _, r := range list {
		out = append(out, r.Address)
	}
	slices.Sort(out)
	return out
}

func TestLife(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		r := openRunner(t, b, noop, nil)
		ok := must(t)
		ctx := t.Context()

		run := ok(r.Plan(ctx, "TerraformCluster/demo", clusterInputs()))
		want := []harness.Change{{Address: "terraform_data.load_balancer", Type: "terraform_data", Action: harness.ActionCreate}}
		if diff := cmp.Diff(want, run.Changes); diff != "" {
			t.Errorf("changes of the first plan (-want +got):\n%s", diff)
		}
		if !run.OutputsChanged || len(run.Resources) != 0 || len(run.Values.Outputs) != 0 {
			t.Errorf("first plan: %+v", run)
		}

		run = ok(r.Apply(ctx, "TerraformCluster/demo", clusterInputs()))
		if diff := cmp.Diff(want, run.Changes); diff != "" {
			t.Errorf("changes of the first apply (-want +got):\n%s", diff)
		}
		if got := addresses(run.Resources); !slices.Equal(got, []string{"terraform_data.load_balancer"}) {
			t.Errorf("resources %v", got)
		}
		if run.Took <= 0 {
			t.Error("the run took no time")
		}
		// A dynamic attribute comes without the type that the state wraps it in.
		input, isObject := run.Resources[0].Values["input"].(map[string]any)
		if !isObject || input["cluster"] == nil {
			t.Errorf("input is %v", run.Resources[0].Values["input"])
		}
		out, vs := versions.Default().DecodeCluster(run.Values)
		if len(vs.Blocking()) > 0 || out.Health.State != contract.HealthRunning {
			t.Fatalf("outputs %+v: %v", out, vs)
		}

		run = ok(r.Plan(ctx, "TerraformCluster/demo", clusterInputs()))
		if len(run.Changes) != 0 || run.OutputsChanged {
			t.Errorf("second plan: %+v, outputs changed: %t", run.Changes, run.OutputsChanged)
		}
		run = ok(r.Refresh(ctx, "TerraformCluster/demo", clusterInputs()))
		if len(run.Changes) != 0 {
			t.Errorf("refresh: %+v", run.Changes)
		}
		before := run.Values

		// Machines and a pool side by side, on the directories that one init serves.
		var wg sync.WaitGroup
		for _, name := range []string{"demo-cp-1", "demo-cp-2", strings.Repeat("long-name-", 25)} {
			wg.Go(func() {
				run, err := r.Apply(ctx, name, machineInputs(name, out.Exports, true))
				if err != nil || run.Failed {
					t.Errorf("%s: %+v %v", name, run, err)
					return
				}
				if got := addresses(run.Resources); !slices.Equal(got, []string{"terraform_data.backend_member[0]", "terraform_data.instance"}) {
					t.Errorf("%s: resources %v", name, got)
				}
			})
		}
		wg.Go(func() {
			run, err := r.Apply(ctx, "pool", poolInputs("pool", out.Exports))
			if err != nil || run.Failed {
				t.Errorf("pool: %+v %v", run, err)
			}
		})
		wg.Wait()

		// Every object has its own state.
		run = ok(r.Plan(ctx, "TerraformCluster/demo", clusterInputs()))
		if diff := cmp.Diff(before.Outputs, run.Values.Outputs); diff != "" {
			t.Errorf("the cluster's outputs changed:\n%s", diff)
		}

		worker := machineInputs("demo-cp-1", out.Exports, false)
		run = ok(r.PlanValues(ctx, "demo-cp-1", worker))
		if len(run.Planned) == 0 {
			t.Error("no planned content")
		}
		var deleted []string
		for _, c := range run.Changes {
			if c.Action == harness.ActionDelete {
				deleted = append(deleted, c.Address)
			}
		}
		if !slices.Equal(deleted, []string{"terraform_data.backend_member[0]"}) {
			t.Errorf("a worker's plan deletes %v: %+v", deleted, run.Changes)
		}

		left, err := r.Left()
		if err != nil || len(left) != 5 {
			t.Errorf("left: %+v, %v", left, err)
		}
		run = ok(r.Destroy(ctx, "demo-cp-1", machineInputs("demo-cp-1", out.Exports, true)))
		if len(run.Resources) != 0 {
			t.Errorf("left after destroy: %v", addresses(run.Resources))
		}
		ok(r.Destroy(ctx, "demo-cp-1", machineInputs("demo-cp-1", out.Exports, true)))

		if left[0].Object != "TerraformMachine/demo-cp-1" || left[4].Object != "TerraformCluster/demo" || left[4].Resources != 1 {
			t.Errorf("left: %+v", left)
		}
		for _, name := range []string{"demo-cp-2", strings.Repeat("long-name-", 25)} {
			ok(r.Destroy(ctx, name, machineInputs(name, out.Exports, true)))
		}
		ok(r.Destroy(ctx, "pool", poolInputs("pool", out.Exports)))
		ok(r.Destroy(ctx, "TerraformCluster/demo", clusterInputs()))
		if left, err := r.Left(); len(left) != 0 || err != nil {
			t.Errorf("left: %+v, %v", left, err)
		}
		if r.Busy() <= 0 || r.Runs() < 14 {
			t.Errorf("busy %s in %d runs", r.Busy(), r.Runs())
		}
	})
}

func TestPlannedContent(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		r := openRunner(t, b, noop, nil)
		ok := must(t)
		exports := json.RawMessage(`{"schema":"captf.io/noop-cluster/v1","backend_id":"b"}`)
		one := machineInputs("m", exports, true)
		first := ok(r.PlanValues(t.Context(), "one", one))
		if again := ok(r.PlanValues(t.Context(), "two", one)); !bytes.Equal(first.Planned, again.Planned) {
			t.Errorf("two plans of the same thing differ:\n%s\n%s", first.Planned, again.Planned)
		}
		other := machineInputs("m", exports, true)
		other.Bootstrap.Data = []byte("#cloud-config\nother: true\n")
		if changed := ok(r.PlanValues(t.Context(), "one", other)); bytes.Equal(first.Planned, changed.Planned) {
			t.Error("another payload plans the same")
		}
		var content map[string]struct{ Values, Unknown map[string]any }
		if err := json.Unmarshal(first.Planned, &content); err != nil {
			t.Fatal(err)
		}
		if content["terraform_data.instance"].Unknown["id"] != true {
			t.Errorf("planned content: %s", first.Planned)
		}
		files, err := filepath.Glob(filepath.Join(r.Scratch(), "*", "*", "*.tfplan"))
		if err != nil || len(files) > 0 {
			t.Errorf("a plan was left behind: %v %v", files, err)
		}
	})
}

// TestOneInit counts the processes: beside one a run there is one init a role.
func TestOneInit(t *testing.T) {
	r := openRunner(t, runtimetest.OpenTofu(t), noop, nil)
	ok := must(t)
	exports := json.RawMessage(`{"schema":"captf.io/noop-cluster/v1","backend_id":"b"}`)
	for _, name := range []string{"a", "b", "c"} {
		ok(r.Apply(t.Context(), name, machineInputs(name, exports, true)))
	}
	var inits, applies int
	err := filepath.WalkDir(r.Scratch(), func(path string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasSuffix(path, "-init.log"):
			inits++
		case strings.HasSuffix(path, "-apply.log"):
			applies++
		}
		return nil
	})
	if err != nil || inits != 3 || applies != 3 {
		t.Errorf("%d inits for 3 roles, %d applies for 3 machines (%v)", inits, applies, err)
	}
}
