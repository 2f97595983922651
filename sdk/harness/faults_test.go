package harness_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/harnesstest"
	"github.com/captf-toolkit/captf/sdk/harness/kcp"
)

// A fault is one way in which a module breaks a requirement; the story must
// blame exactly the ids given, and stall where the gate says.
type fault struct {
	name     string
	scenario string
	// registration is the registration method, "" for the default.
	registration string
	with         func(s *harnesstest.Set)
	failed       []string
	gate         string
	output       string
}

// output replaces one output of one role.
func output(role contract.Role, name string, value any) func(*harnesstest.Set) {
	return func(s *harnesstest.Set) {
		s.Outputs = func(_ string, in contract.Inputs, values map[string]any) {
			if in.Role() == role {
				values[name] = value
			}
		}
	}
}

// outputs changes the outputs of one role.
func outputs[T contract.Inputs](change func(object string, in T, values map[string]any)) func(*harnesstest.Set) {
	return func(s *harnesstest.Set) {
		s.Outputs = func(object string, in contract.Inputs, values map[string]any) {
			if typed, ok := in.(T); ok {
				change(object, typed, values)
			}
		}
	}
}

// addresses changes the addresses of machines: InternalIP, then Hostname.
func addresses(change func(list []map[string]any)) func(*harnesstest.Set) {
	return outputs(func(_ string, _ *contract.MachineInputs, v map[string]any) { change(v["addresses"].([]map[string]any)) })
}

// namedResource lets a plan have a resource with a name.
func namedResource[T contract.Inputs](name func(in T) string) func(*harnesstest.Set) {
	return func(s *harnesstest.Set) {
		s.Planned = func(in contract.Inputs, content json.RawMessage) json.RawMessage {
			typed, ok := in.(T)
			if !ok {
				return content
			}
			var doc map[string]any
			if err := json.Unmarshal(content, &doc); err != nil {
				panic(err) // the set made it
			}
			doc["cloud_thing.this"] = map[string]any{"values": map[string]any{"name": name(typed), "labels": map[string]any{"name": "a"}}}
			raw, err := json.Marshal(doc)
			if err != nil {
				panic(err)
			}
			return raw
		}
	}
}

// failing lets runs of one role fail.
func failing[T contract.Inputs](when func(op harness.Op, object string, in T) bool) func(*harnesstest.Set) {
	return func(s *harnesstest.Set) {
		s.Fail = func(op harness.Op, object string, in contract.Inputs) string {
			if typed, ok := in.(T); ok && when(op, object, typed) {
				return "the cloud says no"
			}
			return ""
		}
	}
}

// changing replaces the planned changes of runs of one role.
func changing[T contract.Inputs](when func(op harness.Op, object string, in T, changes []harness.Change) []harness.Change) func(*harnesstest.Set) {
	return func(s *harnesstest.Set) {
		s.Changes = func(op harness.Op, object string, in contract.Inputs, changes []harness.Change) []harness.Change {
			if typed, ok := in.(T); ok {
				return when(op, object, typed, changes)
			}
			return changes
		}
	}
}

func health(state string) map[string]any { return map[string]any{"state": state, "healthy": true} }

func replaceAll(op harness.Op, changes []harness.Change) []harness.Change {
	if op != harness.OpApply {
		return changes
	}
	out := slices.Clone(changes)
	for n := range out {
		if out[n].Action == harness.ActionUpdate {
			out[n].Action = harness.ActionReplace
		}
	}
	return out
}

func applies(op harness.Op) bool { return op == harness.OpApply || op == harness.OpPlan }

var faults = slices.Concat(clusterFaults, machineFaults, poolFaults, blamedFaults)

func TestFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			set := harnesstest.New(contract.Roles()...)
			f.with(set)
			checkFault(t, f, config(t, set, f.scenario, 1))
		})
	}
}

// checkFault plays a story on modules with a fault and checks that exactly that
// fault is blamed.
func checkFault(t *testing.T, f fault, cfg harness.Config) {
	t.Helper()
	result, err := harness.Play(context.Background(), cfg)
	if err != nil {
		t.Fatalf("playing: %v", err)
	}
	var failed []string
	for _, q := range result.Requirements {
		if q.Status == harness.StatusFailed {
			failed = append(failed, q.ID)
			if seen := slices.Compact(slices.Sorted(slices.Values(q.Evidence))); len(seen) != len(q.Evidence) {
				t.Errorf("%s says the same twice: %q", q.ID, q.Evidence)
			}
			for _, e := range q.Evidence {
				if strings.Contains(e, "deletes and replaces nothing") || strings.Contains(e, "unchanged") || strings.Contains(e, "constant") {
					t.Errorf("%s fails, and its evidence says that it passes: %q", q.ID, e)
				}
			}
			if q.Remedy == "" || q.Reason == "" {
				t.Errorf("%s fails without reason or remedy: %+v", q.ID, q)
			}
		}
	}
	if !slices.Equal(failed, f.failed) {
		t.Errorf("failed are %v, want %v\n%s", failed, f.failed, story(result))
	}
	if result.Verdict != harness.VerdictFailed {
		t.Errorf("verdict is %s", result.Verdict)
	}
	gate, out := "", ""
	if result.Stalled != nil {
		gate, out = result.Stalled.Gate, result.Stalled.Output
	}
	if gate != f.gate || out != f.output {
		t.Errorf("stalled at %q by %q, want %q by %q", gate, out, f.gate, f.output)
	}
}

// Every requirement that the harness judges has a fault that breaks it.
func TestEveryJudgedRequirementHasAFault(t *testing.T) {
	covered := map[string]bool{}
	for _, f := range faults {
		for _, id := range f.failed {
			covered[id] = true
		}
	}
	result, err := harness.Play(context.Background(), config(t, harnesstest.New(contract.Roles()...), "life", 1))
	if err != nil {
		t.Fatalf("playing: %v", err)
	}
	for _, q := range result.Requirements {
		if q.Status == harness.StatusPassed && !covered[q.ID] {
			t.Errorf("%s passes, and no fault shows it failing", q.ID)
		}
	}
}

// An output that is not declared is named, whichever it is.
func TestEveryMissingOutputIsNamed(t *testing.T) {
	plane := kcp.New()
	create := harness.Scenario{ID: "create", Steps: []harness.Step{harness.StepCreate, harness.StepDelete}}
	for _, role := range contract.Roles() {
		for _, out := range versions.Default().Spec(role).Outputs {
			t.Run(string(role)+"."+out.Name, func(t *testing.T) {
				set := harnesstest.New(contract.Roles()...)
				set.Undeclared[string(role)+"."+out.Name] = true
				result, err := harness.Play(context.Background(), harness.Config{
					Modules: set, Definition: versions.Default(), ControlPlane: plane, Scenario: create, Seed: 1,
				})
				if err != nil {
					t.Fatalf("playing: %v", err)
				}
				if result.Stalled == nil || result.Stalled.Output != string(role)+"."+out.Name || result.Stalled.Requirement != "contract/"+out.Name {
					t.Errorf("stalled is %+v", result.Stalled)
				}
				if len(set.Objects()) > 0 {
					t.Errorf("left behind: %v", set.Objects())
				}
			})
		}
	}
}
