package runner

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/plan"
	"github.com/captf-toolkit/captf/provider/internal/result"
)

// TestLife plays the operations of an object on the real runtimes: sequences (B-590..B-598), guard (B-602..B-605), results.
func TestLife(t *testing.T) {
	eachRuntime(t, func(t *testing.T, bin string) {
		j := newJob(t, bin, map[string]string{"main.tf": plainModule})
		guardDeletes := func(o *Options) { o.GuardDeletes, o.InputsHash = true, "h2:one" }

		d := j.must(infrav1.OperationApply, nil)
		if got, want := stepNames(d), "init validate apply"; got != want {
			t.Errorf("apply: %s, wanted %s", got, want)
		}
		if diff := cmp.Diff(&result.Changes{Add: 2}, d.Changes); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
		if d.Image.Ref != "registry.example/module:v1" || d.Image.ProvidersMirror || d.Plan != nil || d.Drift != nil || d.Runtime.Version == "" {
			t.Errorf("result: %+v", d)
		}
		if diff := cmp.Diff([]string{"RunStarted", "ResourcesChanged", "RunFinished"}, j.broker.reasons()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(d, j.broker.reported(t)); diff != "" {
			t.Errorf("the broker's result is another (-file +broker):\n%s", diff)
		}
		j.broker.free(t)
		first := j.broker.stateOf(t)

		// Nothing to do: not applied, and no key is needed for it.
		d = j.must(infrav1.OperationApply, guardDeletes)
		if got, want := stepNames(d), "init validate plan"; got != want {
			t.Errorf("apply of nothing: %s, wanted %s", got, want)
		}
		d = j.must(infrav1.OperationPlan, nil)
		if d.Plan == nil || d.Plan.Hash != plan.EmptyHash {
			t.Errorf("plan of nothing: %+v", d.Plan)
		}
		if got, want := stepNames(j.must(infrav1.OperationRefresh, nil)), "init apply-refresh-only"; got != want {
			t.Errorf("refresh: %s, wanted %s", got, want)
		}
		d = j.must(infrav1.OperationDrift, nil)
		if got, want := stepNames(d), "init apply-refresh-only plan"; got != want {
			t.Errorf("drift: %s, wanted %s", got, want)
		}
		if diff := cmp.Diff(&result.Drift{}, d.Drift); diff != "" {
			t.Errorf("drift (-want +got):\n%s", diff)
		}

		// A change that replaces is blocked, and only the plan that was approved is applied.
		j.values(map[string]any{"name": "two"}, nil)
		d = j.fails(infrav1.OperationApply, infrav1.RunErrorBlocked, guardDeletes, "replaces 1")
		if got, want := stepNames(d), "init validate plan show-json"; got != want {
			t.Errorf("blocked: %s, wanted %s", got, want)
		}
		hash := d.Plan.Hash
		want := &result.Plan{Hash: hash, Replace: 1, Update: 1, OutputChanges: 1, Resources: []string{
			"module.role.terraform_data.a (replace)", "module.role.terraform_data.b (update)",
		}}
		if diff := cmp.Diff(want, d.Plan); diff != "" || !strings.HasPrefix(hash, plan.HashPrefix) {
			t.Errorf("blocked plan (-want +got):\n%s", diff)
		}
		if got := j.broker.stateOf(t); got.Serial != first.Serial {
			t.Errorf("a blocked apply changed the state: serial %d after %d", got.Serial, first.Serial)
		}
		d = j.must(infrav1.OperationPlan, nil)
		if d.Plan.Hash != hash {
			t.Errorf("the same plan has hash %s, then %s", hash, d.Plan.Hash)
		}
		j.fails(infrav1.OperationApply, infrav1.RunErrorPlanChanged, func(o *Options) { o.ExpectPlan = plan.EmptyHash }, "nothing was applied")
		j.fails(infrav1.OperationApply, infrav1.RunErrorBlocked, func(o *Options) {
			o.GuardDeletes, o.InputsHash, o.AllowDeletesHash = true, "h2:one", "h2:two"
		})
		d = j.must(infrav1.OperationApply, func(o *Options) { o.GuardDeletes, o.InputsHash, o.ExpectPlan = true, "h2:one", hash })
		if got, want := stepNames(d), "init validate plan show-json apply"; got != want {
			t.Errorf("approved apply: %s, wanted %s", got, want)
		}
		if diff := cmp.Diff(&result.Changes{Add: 1, Change: 1, Destroy: 1}, d.Changes); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
		j.values(map[string]any{"name": "three"}, nil)
		j.must(infrav1.OperationApply, func(o *Options) { o.GuardDeletes, o.InputsHash, o.AllowDeletesHash = true, "h2:one", "h2:one" })

		// An object that is missing from the state is drift.
		j.values(map[string]any{"name": "four"}, nil)
		d = j.must(infrav1.OperationDrift, nil)
		if diff := cmp.Diff(&result.Drift{Detected: true, Update: 1, Replace: 1, Resources: []string{
			"module.role.terraform_data.a", "module.role.terraform_data.b",
		}}, d.Drift); diff != "" {
			t.Errorf("drift (-want +got):\n%s", diff)
		}

		// The password must not be where a later reader of the disk finds it.
		err := filepath.WalkDir(j.o.Work, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(path)
			if strings.Contains(string(content), j.broker.session.Password) {
				t.Errorf("%s holds the broker's password", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}

		d = j.must(infrav1.OperationDestroy, nil)
		if got, want := stepNames(d), "init destroy"; got != want {
			t.Errorf("destroy: %s, wanted %s", got, want)
		}
		if s := j.broker.stateOf(t); len(s.Resources) != 0 {
			t.Errorf("left after the destroy: %+v", s.Resources)
		}
		j.broker.free(t)
	})
}

// TestForceUnlock breaks a stale lock, and takes a lock that is free for success (B-435).
func TestForceUnlock(t *testing.T) {
	eachRuntime(t, func(t *testing.T, bin string) {
		j := newJob(t, bin, map[string]string{"main.tf": plainModule})
		j.broker.lock = map[string]any{"ID": "stale", "Who": "old@pod", "Operation": "OperationTypeApply"}
		d := j.must(infrav1.OperationApply, func(o *Options) { o.ForceUnlock = "stale" })
		if got, want := stepNames(d), "init force-unlock validate apply"; got != want {
			t.Errorf("steps: %s, wanted %s", got, want)
		}
		j.must(infrav1.OperationRefresh, func(o *Options) { o.ForceUnlock = "stale" })

		// Another's lock is waited for and left alone.
		j.broker.lock = map[string]any{"ID": "foreign", "Who": "somebody@laptop", "Operation": "OperationTypeApply"}
		j.fails(infrav1.OperationRefresh, infrav1.RunErrorStep, nil, "lock")
		if j.broker.lock["ID"] != "foreign" {
			t.Errorf("the foreign lock became %v", j.broker.lock)
		}
	})
}
