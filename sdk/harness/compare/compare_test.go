package compare_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/compare"
	"github.com/captf-toolkit/captf/sdk/harness/harnesstest"
	"github.com/captf-toolkit/captf/sdk/harness/kcp"
)

func play(t testing.TB, scenario string, seed uint64, with func(*harnesstest.Set)) *harness.Result {
	t.Helper()
	set := harnesstest.New(contract.Roles()...)
	if with != nil {
		with(set)
	}
	plane := kcp.New()
	n := slices.IndexFunc(plane.Scenarios, func(s harness.Scenario) bool { return s.ID == scenario })
	result, err := harness.Play(context.Background(), harness.Config{
		Modules: set, Definition: versions.Default(), ControlPlane: plane, Scenario: plane.Scenarios[n], Seed: seed,
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// One seed gives one story, whatever its real times are.
func TestSame(t *testing.T) {
	a, b := play(t, "life", 1, nil), play(t, "life", 1, nil)
	a.Timing.Total, b.Timing.Total = 2, 6
	d := compare.Runs(a, b)
	if !d.Same {
		t.Errorf("two runs of one seed differ: %+v", d)
	}
	if d.Total.Ratio != 3 {
		t.Errorf("the ratio of times is %v", d.Total.Ratio)
	}
}

// Another seed gives other names and times; machines still come in the same order.
func TestNamesDoNotCount(t *testing.T) {
	a, b := play(t, "K2", 1, nil), play(t, "K2", 2, nil)
	if a.Steps[8].Object == b.Steps[8].Object && a.Steps[8].At == b.Steps[8].At {
		t.Log("the seeds tell the same story, so this shows little")
	}
	if d := compare.Objects(compare.Project(a.Steps, compare.Observed), compare.Project(b.Steps, compare.Observed)); d != nil {
		t.Errorf("objects differ: %+v", d)
	}
}

func TestDifferences(t *testing.T) {
	good := play(t, "K2", 1, nil)
	bad := play(t, "K2", 1, func(s *harnesstest.Set) {
		s.Outputs = func(_ string, in contract.Inputs, values map[string]any) {
			if in.Role() == contract.RoleMachine {
				values["provider_id"] = nil
			}
		}
	})
	d := compare.Results([]*harness.Result{good, play(t, "K1", 1, nil)}, []*harness.Result{play(t, "K4", 1, nil), bad})
	if d.Same || len(d.Runs) != 1 || d.Runs[0].Same {
		t.Fatalf("the difference is %+v", d)
	}
	if diff := cmp.Diff([][]string{{"kcp/K1"}, {"kcp/K4"}}, [][]string{d.OnlyA, d.OnlyB}); diff != "" {
		t.Errorf("only in one (-want +got):\n%s", diff)
	}
	r := d.Runs[0]
	if r.Verdict.A != harness.VerdictPassed || r.Verdict.B != harness.VerdictFailed || r.Stalled.A != "" || r.Stalled.B != "captf/provider-id" {
		t.Errorf("verdicts %v, stalled %v", r.Verdict, r.Stalled)
	}
	if len(r.Requirements) == 0 || r.Requirements[0].ID != "CP-040" || !r.Requirements[0].Worse() || r.Requirements[0].Reason.B == "" {
		t.Errorf("requirements %+v", r.Requirements)
	}
	if !slices.ContainsFunc(r.Order, func(c compare.Change) bool {
		return c.Side == "a" && c.Event.String() == "Machine 1 node-ref"
	}) || !slices.ContainsFunc(r.Order, func(c compare.Change) bool { return c.Side == "b" && c.Event.Type == harness.EventStalled }) {
		t.Errorf("order %v", r.Order)
	}
	if !slices.ContainsFunc(r.ModuleRuns, func(c compare.RunCount) bool {
		return c.Kind == "TerraformMachine" && c.Op == harness.OpApply && c.A == 3 && c.B == 1
	}) {
		t.Errorf("module runs %+v", r.ModuleRuns)
	}
}

// What only a played life can tell is not on the common ground.
func TestObserved(t *testing.T) {
	for _, e := range compare.Project(play(t, "life", 1, nil).Steps, compare.Observed) {
		if !e.Type.Observable() {
			t.Errorf("%s is not to be observed", e)
		}
	}
	seen := 0
	for _, typ := range harness.EventTypes() {
		if typ.Observable() {
			seen++
		}
	}
	if seen == 0 || seen == len(harness.EventTypes()) {
		t.Errorf("%d kinds of event can be observed", seen)
	}
}

// A trace differs from another exactly if one of them has what the other has
// not, and a difference tells both: what it keeps and takes away of one makes the other.
func TestOrder(t *testing.T) {
	event := rapid.Custom(func(t *rapid.T) compare.Event {
		return compare.Event{
			Type: rapid.SampledFrom(harness.EventTypes()[:4]).Draw(t, "type"), Kind: rapid.SampledFrom([]string{"Machine", "Cluster"}).Draw(t, "kind"), N: rapid.IntRange(1, 2).Draw(t, "n"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := compare.Trace(rapid.SliceOfN(event, 0, 12).Draw(t, "a")), compare.Trace(rapid.SliceOfN(event, 0, 12).Draw(t, "b"))
		d := compare.Order(a, b)
		if slices.Equal(a, b) != (d == nil) {
			t.Fatalf("%v and %v differ by %v", a, b, d)
		}
		balance := 0
		for _, c := range d {
			switch c.Side {
			case "a":
				balance--
			case "b":
				balance++
			}
		}
		if balance != len(b)-len(a) {
			t.Fatalf("%v and %v differ by %v", a, b, d)
		}
		if (d == nil) && compare.Objects(a, b) != nil {
			t.Fatalf("the objects of equal traces differ")
		}
	})
}
