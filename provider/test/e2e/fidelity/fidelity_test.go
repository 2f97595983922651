package fidelity

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/compare"
	"github.com/captf-toolkit/captf/sdk/harness/harnesstest"
	"github.com/captf-toolkit/captf/sdk/harness/kcp"
)

var update = flag.Bool("update", false, "write the expected events anew")

// lives are the folders of testdata: the story, what watches said when it was led for real, and the events in that.
func lives(t *testing.T) []string {
	t.Helper()
	folders, err := filepath.Glob("testdata/*/watch.jsonl")
	if err != nil || len(folders) == 0 {
		t.Fatalf("reading the lives: %v", err)
	}
	for n := range folders {
		folders[n] = filepath.Base(filepath.Dir(folders[n]))
	}
	return folders
}

func seen(t *testing.T, life string) []Sighting {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", life, "watch.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func storyOf(t *testing.T, life string) harness.Scenario {
	t.Helper()
	story, err := Story(filepath.Join("testdata", life, "scenario.yaml"), Plane())
	if err != nil {
		t.Fatal(err)
	}
	return story
}

// simulated are modules without a runtime, for plays that are about the control plane alone.
func simulated() harness.Modules { return harnesstest.New(contract.Roles()...) }

// What watches said becomes the events that are written beside it.
func TestProject(t *testing.T) {
	for _, life := range lives(t) {
		t.Run(life, func(t *testing.T) {
			var got strings.Builder
			for _, s := range Project(seen(t, life)) {
				fmt.Fprintf(&got, "%-60s %s\n", s.Event, s.Name)
			}
			file := filepath.Join("testdata", life, "events.txt")
			if *update {
				if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("the events are\n%s\nwant those of %s; if the new ones are right, run the test with -update", got.String(), file)
			}
		})
	}
}

// What is written is read again, and what is no sighting is refused with its line.
func TestRead(t *testing.T) {
	all := seen(t, lives(t)[0])
	var text strings.Builder
	if err := Write(&text, all); err != nil {
		t.Fatal(err)
	}
	again, err := Read(strings.NewReader(text.String()))
	if err != nil || len(again) != len(all) {
		t.Errorf("%d of %d sightings are read again: %v", len(again), len(all), err)
	}
	if _, err := Read(strings.NewReader(text.String() + "no sighting\n")); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("line %d", len(all)+1)) {
		t.Errorf("the error is %v", err)
	}
}

// The lives that were led for real are those of the harness. The tests of package e2e play on the same modules; here those of
// tests are enough.
func TestRecordedLives(t *testing.T) {
	for _, life := range lives(t) {
		t.Run(life, func(t *testing.T) {
			story := storyOf(t, life)
			played, err := Play(t.Context(), Plane(), story, simulated())
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range Compare(played, seen(t, life), story) {
				t.Error(d)
			}
		})
	}
}

// always opens the gates with an id.
func always(checks []harness.Check, id string) []harness.Check {
	out := slices.Clone(checks)
	for n := range out {
		if out[n].ID == id {
			out[n].Open = func(*harness.World, *harness.Machine) (bool, any) { return true, nil }
		}
	}
	return out
}

// surge is a story of three control planes that are upgraded with a surge.
var surge = harness.Scenario{ID: "surge", Steps: []harness.Step{harness.StepCreateThree, harness.StepRollout, harness.StepDelete}}

// A row of the harness that is wrong is found, and named.
func TestWrongRows(t *testing.T) {
	for _, c := range []struct {
		name, life string
		wrong      func(*harness.ControlPlane)
		says       []string
	}{
		{"workers before the control plane", "life", func(cp *harness.ControlPlane) {
			cp.Bootstrap = always(cp.Bootstrap, "cabpk/control-plane-initialized")
		}, []string{"the harness breaks a rule with worker Machine 1 bootstrap-data", "cabpk/control-plane-initialized", "control-planes.md 2.10"}},
		{"control planes at once", "life", func(cp *harness.ControlPlane) {
			for n := range cp.Operations {
				cp.Operations[n].Preflight = always(cp.Operations[n].Preflight, "kcp/machines-have-nodes")
			}
		}, []string{"the harness breaks a rule with control-plane Machine 3 created", "kcp/machines-have-nodes", "control-planes.md 2.3 CP-040"}},
		{"a machine too many without a surge", "life", func(cp *harness.ControlPlane) {
			for n := range cp.Operations {
				if cp.Operations[n].ID == "rollout-create" {
					cp.Operations[n].When = func(w *harness.World) bool {
						return w.OutdatedControlPlane() && len(w.ControlPlaneMachines()) <= w.Spec.ControlPlanes
					}
				}
			}
		}, []string{"the harness breaks a rule with control-plane Machine 4 created", "with a surge of 0 there are up to 3", "rollout-create", "control-planes.md 2.4"}},
		{"the old machine first with a surge", "surge", func(cp *harness.ControlPlane) {
			for n := range cp.Operations {
				if cp.Operations[n].ID == "rollout-create" {
					cp.Operations[n].When = func(w *harness.World) bool {
						return w.OutdatedControlPlane() && len(w.ControlPlaneMachines()) < w.Spec.ControlPlanes
					}
				}
			}
		}, []string{"the harness breaks a rule with control-plane Machine 1 deleted", "has a Node before the old one is deleted", "rollout-delete", "CP-035"}},
		{"no stage before the infrastructure goes", "life", func(cp *harness.ControlPlane) { cp.PreTerminate = nil },
			[]string{"control-plane Machine 1 goes through other events", "only in the real life: control-plane Machine 1 pre-terminate", "control-planes.md 2.5 #4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			plane, story, real := Plane(), surge, []Sighting(nil) // surge was not led for real: its rules are enough
			if c.life != surge.ID {
				story, real = storyOf(t, c.life), seen(t, c.life)
			}
			c.wrong(plane)
			played, err := Play(t.Context(), plane, story, simulated())
			if err != nil {
				t.Fatal(err)
			}
			said := strings.Join(Compare(played, real, story), "\n")
			for _, want := range c.says {
				if !strings.Contains(said, want) {
					t.Errorf("it is not said that %q:\n%s", want, said)
				}
			}
		})
	}
}

// Each rule holds in the recorded lives, and one of them breaks it as soon as it is without what the rule waits for.
func TestRules(t *testing.T) {
	broken := map[string]bool{}
	try := func(life compare.Trace, story harness.Scenario) {
		for _, r := range rulesOf(story) {
			if v := r.Holds(life); v.Broken != nil {
				t.Errorf("%s breaks with %s: %s", story.ID, v.Broken, r)
			}
			less := slices.DeleteFunc(slices.Clone(life), func(e compare.Event) bool { return r.first.matches(e) })
			broken[r.Text] = broken[r.Text] || r.Holds(less).Broken != nil
		}
	}
	for _, life := range lives(t) {
		try(Trace(Project(seen(t, life))), storyOf(t, life))
	}
	// The recorded life with a surge has too few machines to break its rule.
	one := harness.Scenario{ID: "surge-of-one", Steps: []harness.Step{harness.StepCreateControlPlane, harness.StepRollout, {ID: "again", Ask: &harness.Ask{Template: true}}, harness.StepDelete}}
	for _, story := range []harness.Scenario{surge, one} {
		played, err := Play(t.Context(), Plane(), story, simulated())
		if err != nil {
			t.Fatal(err)
		}
		try(played, story)
	}
	for rule, fails := range broken {
		if !fails {
			t.Errorf("nothing breaks the rule: %s", rule)
		}
	}
}

// Every gate, operation and stage of the harness is compared, or it is said why not; and no row is of nothing.
func TestEveryRowIsCompared(t *testing.T) {
	plane := kcp.New()
	var all []string
	for _, g := range harness.Gates(plane) {
		all = append(all, g.ID)
	}
	for _, o := range plane.Operations {
		all = append(all, o.ID)
	}
	for _, s := range slices.Concat(plane.PreDrain, plane.PreTerminate) {
		all = append(all, s.ID)
	}
	compared := map[string]bool{}
	for _, r := range slices.Concat(Rules(), Rollouts(3, 1)) {
		for _, id := range r.IDs {
			compared[id] = true
			if !slices.Contains(all, id) {
				t.Errorf("the harness has no %s: %s", id, r)
			}
		}
	}
	for _, id := range all {
		if _, unordered := Unordered[id]; unordered == compared[id] {
			t.Errorf("%s must be in a rule or in Unordered, and not in both", id)
		}
	}
	for id := range Unordered {
		if !slices.Contains(all, id) {
			t.Errorf("the harness has no %s, which Unordered names", id)
		}
	}
}

// Every event of the harness is observed, or it is said why not.
func TestEveryEventIsObserved(t *testing.T) {
	for _, e := range harness.EventTypes() {
		if !e.Observable() || e == harness.EventServers || e == harness.EventPreDrain {
			continue // servers and stages before a drain are those of another control plane
		}
		observed := slices.ContainsFunc(slices.Concat(rows, runRows), func(r row) bool { return r.event == e })
		if _, unseen := Unseen[e]; unseen == observed {
			t.Errorf("%s must be observed or stand in Unseen, and not both", e)
		}
	}
}

// TestWithdrawn tells of no run that was withdrawn before it began, and of the one that took its place.
func TestWithdrawn(t *testing.T) {
	job := func(revision uint64, gone, suspended, complete bool) Sighting {
		o := map[string]any{
			"kind":     "Job",
			"metadata": map[string]any{"name": "captf-mp-a", "labels": map[string]any{labelOwnerKind: terraformPool, labelOwnerName: "a", labelOperation: "apply"}},
			"spec":     map[string]any{"suspend": suspended},
		}
		if complete {
			o["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}
		}
		return Sighting{Revision: revision, Gone: gone, Object: o}
	}
	withdrawn := []Sighting{job(1, false, false, false), job(2, false, true, false), job(3, true, true, false)}
	run := []Sighting{job(4, false, false, false), job(5, false, false, true), job(6, true, false, true)}
	if steps := Project(withdrawn); len(steps) > 0 {
		t.Errorf("a Job that was withdrawn is told as %v", steps)
	}
	steps := Project(slices.Concat(withdrawn, run))
	if len(steps) != 2 || steps[0].Type != harness.EventRunStarted || steps[0].Revision != 4 || steps[1].Type != harness.EventRunEnded || steps[1].Revision != 5 {
		t.Errorf("the run after it is told as %v", steps)
	}
}
