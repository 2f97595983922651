package harness_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/harnesstest"
)

// trouble is one kind of fault, with a module that stands it and one that does not.
type trouble struct {
	kind harness.FaultKind
	// scenario is fault-KIND unless it says otherwise.
	scenario string
	// dies tells that even a good module's cluster does not come to what is asked for.
	dies bool
	// orphans tells that the fault leaves things behind, whatever a module does.
	orphans bool
	// reaction is a part of what the controllers do next.
	reaction string
	// bad makes the modules bad, and blamed are the ids that they fail.
	bad    func(s *harnesstest.Set)
	blamed []string
}

// afterFault lets runs of machines fail once a run of theirs has failed.
func afterFault(op harness.Op, text string) func(*harnesstest.Set) {
	return func(s *harnesstest.Set) {
		inner := map[string]int{}
		s.Broken = func(object string) { inner[object]++ }
		s.Fail = func(o harness.Op, object string, _ contract.Inputs) string {
			if o == op && inner[object] > 0 {
				return text
			}
			return ""
		}
	}
}

// machineSays changes the outputs of machines in refreshes.
func machineSays(name string, value func(in *contract.MachineInputs) any) func(*harnesstest.Set) {
	return outputs(func(_ string, in *contract.MachineInputs, v map[string]any) { v[name] = value(in) })
}

// alwaysWell lets machines say that they are well, whatever became of the instance.
func alwaysWell(s *harnesstest.Set) {
	outputs(func(_ string, in *contract.MachineInputs, v map[string]any) {
		v["provider_id"], v["health"] = "noop:///default/"+in.MachineName, health("running")
	})(s)
}

var troubles = []trouble{
	{
		kind: harness.FaultApplyFails, reaction: "tries the apply again in 1m0s",
		bad: afterFault(harness.OpApply, "it exists already"), blamed: []string{"module/apply"},
	},
	{
		kind: harness.FaultApplyFails, scenario: "K8", reaction: "is remediated",
		bad: afterFault(harness.OpDestroy, "there is no backend to detach from"), blamed: []string{"CP-038"},
	},
	{
		kind: harness.FaultInterrupted, reaction: "tries the destroy again in 5s",
		bad: afterFault(harness.OpDestroy, "it is gone"), blamed: []string{"CP-038"},
	},
	{
		kind: harness.FaultKilled, reaction: "tries the apply again in 1m0s", orphans: true,
		bad: afterFault(harness.OpDestroy, "a lookup finds two"), blamed: []string{"CP-038"},
	},
	{
		kind: harness.FaultHangs, reaction: "tries the apply again in 1m0s",
		bad: afterFault(harness.OpApply, "the name is taken"), blamed: []string{"module/apply"},
	},
	{
		kind: harness.FaultStateLost, reaction: "tries the apply again in 1m0s", orphans: true,
		bad: func(s *harnesstest.Set) {
			s.Leak = func(object, address string) bool {
				return strings.HasPrefix(object, "cluster-") && address == "terraform_data.load_balancer"
			}
		},
		blamed: []string{"module/left-behind"},
	},
	{
		kind: harness.FaultRefreshBlind, reaction: "is remediated", orphans: true,
		bad: alwaysWell, blamed: []string{"CP-055"},
	},
	{
		kind: harness.FaultQuota, reaction: "tries the apply again in 2m0s",
		bad: afterFault(harness.OpApply, "it was refused before"), blamed: []string{"module/apply"},
	},
	{
		kind: harness.FaultConflict, reaction: "tries the destroy again in 1m0s",
		bad: func(s *harnesstest.Set) {
			s.Leak = func(_, address string) bool { return address == "terraform_data.backend_member[0]" }
		},
		blamed: []string{"module/left-behind"},
	},
	{
		kind: harness.FaultInstanceGone, reaction: "is remediated: its Node is gone",
		bad: alwaysWell, blamed: []string{"CP-055"},
	},
	{
		kind: harness.FaultInstanceStopped, reaction: "is remediated",
		bad: machineSays("health", func(*contract.MachineInputs) any { return health("running") }), blamed: []string{"CP-055"},
	},
	{
		kind: harness.FaultAddressChanges, reaction: "refresh ends",
		bad: changing(func(op harness.Op, object string, _ *contract.MachineInputs, changes []harness.Change) []harness.Change {
			if op == harness.OpPlan && len(changes) == 0 {
				return []harness.Change{{Address: "terraform_data.instance", Type: "terraform_data", Action: harness.ActionReplace}}
			}
			return changes
		}),
		blamed: []string{"CP-056"},
	},
	{
		kind: harness.FaultProviderIDWrong, dies: true, reaction: "stalled at capi/node-ref",
		bad: machineSays("provider_id", func(*contract.MachineInputs) any { return "noop:///default/always-the-same" }), blamed: []string{"CP-040"},
	},
	{
		kind: harness.FaultProviderIDTwice, reaction: "is Node",
		bad: machineSays("provider_id", func(in *contract.MachineInputs) any { return "" }), blamed: []string{"CP-040"},
	},
	{
		kind: harness.FaultDomainIgnored, dies: true, reaction: "stalled at captf/outputs-valid",
		bad: output(contract.RoleCluster, "control_plane_endpoint", nil), blamed: []string{"CP-001"},
	},
	{
		kind: harness.FaultEndpointChanges, reaction: "apply ends",
		bad: outputs(func(_ string, in *contract.ClusterInputs, v map[string]any) {
			v["exports"] = map[string]any{"backend_id": map[bool]string{false: "a", true: "b"}[in.ControlPlaneInitialized]}
		}),
		blamed: []string{"CP-011"},
	},
	{
		kind: harness.FaultNodeNeverJoins, reaction: "is remediated: it has no Node after 10m0s",
		bad: failing(func(op harness.Op, _ string, in *contract.MachineInputs) bool { return op == harness.OpDestroy }), blamed: []string{"CP-039"},
	},
	{
		kind: harness.FaultTokenRotates, reaction: "has a new bootstrap token",
		bad: changing(func(op harness.Op, _ string, _ *contract.PoolInputs, changes []harness.Change) []harness.Change {
			return replaceAll(op, changes)
		}),
		blamed: []string{"CP-061"},
	},
	{
		kind: harness.FaultDegraded, reaction: "is Ready=False/NotReady",
		bad: failing(func(op harness.Op, _ string, in *contract.MachineInputs) bool { return op == harness.OpRefresh }), blamed: []string{"module/apply"},
	},
	{
		kind: harness.FaultBackendLate, reaction: "joins",
		bad: output(contract.RoleMachine, "addresses", []any{}), blamed: []string{"CP-042"},
	},
	{
		kind: harness.FaultCreateFails, reaction: "nothing was ever applied",
		bad: failing(func(op harness.Op, _ string, in *contract.MachineInputs) bool { return op == harness.OpDestroy }), blamed: []string{"CP-039"},
	},
}

// brief is the story without the requirements.
func brief(r *harness.Result) string {
	text, _, _ := strings.Cut(string(story(r)), "\n\n")
	return text
}

func (tr trouble) id() string {
	if tr.scenario != "" {
		return tr.scenario
	}
	return "fault-" + string(tr.kind)
}

// A good module survives every fault, the record says what came of it, and only
// what no module can help is left in the cloud.
func TestGoodModulesSurviveFaults(t *testing.T) {
	for _, tr := range troubles {
		t.Run(tr.id(), func(t *testing.T) {
			set := harnesstest.New(contract.Roles()...)
			result, err := harness.Play(context.Background(), config(t, set, tr.id(), 1))
			if err != nil {
				t.Fatalf("playing: %v", err)
			}
			if result.Verdict != harness.VerdictPassed {
				t.Fatalf("verdict is %s\n%s", result.Verdict, story(result))
			}
			n := slices.IndexFunc(result.Faults, func(f harness.FaultRecord) bool { return f.Kind == tr.kind })
			if n < 0 {
				t.Fatalf("there is no record of it: %+v", result.Faults)
			}
			for _, f := range result.Faults {
				if f.Survived == tr.dies || f.Effect == "" || f.Object == "" {
					t.Errorf("the record is %+v", f)
				}
			}
			all := ""
			for _, f := range result.Faults {
				all += strings.Join(f.Reaction, "\n") + "\n"
			}
			if !strings.Contains(all, tr.reaction) {
				t.Errorf("the reaction has no %q:\n%s", tr.reaction, all)
			}
			if left := len(result.LeftInCloud) > 0; left != tr.orphans || left != (len(result.Faults[n].Left) > 0) {
				t.Errorf("left in the cloud are %v, recorded are %v", result.LeftInCloud, result.Faults[n].Left)
			}
		})
	}
}

// A bad module is caught by the same scenario.
func TestBadModulesFailFaults(t *testing.T) {
	for _, tr := range troubles {
		t.Run(tr.id(), func(t *testing.T) {
			set := harnesstest.New(contract.Roles()...)
			tr.bad(set)
			result, err := harness.Play(context.Background(), config(t, set, tr.id(), 1))
			if err != nil {
				t.Fatalf("playing: %v", err)
			}
			var failed []string
			for _, q := range result.Requirements {
				if q.Status == harness.StatusFailed {
					failed = append(failed, q.ID)
				}
			}
			if result.Verdict != harness.VerdictFailed {
				t.Errorf("verdict is %s\n%s", result.Verdict, brief(result))
			}
			for _, id := range tr.blamed {
				if !slices.Contains(failed, id) {
					t.Errorf("failed are %v, want %s\n%s", failed, id, brief(result))
				}
			}
		})
	}
}

// Every kind of fault is tested.
func TestEveryFaultIsTested(t *testing.T) {
	for _, info := range harness.Faults() {
		if !slices.ContainsFunc(troubles, func(tr trouble) bool { return tr.kind == info.Kind }) {
			t.Errorf("%s is not tested", info.Kind)
		}
	}
}

// What cannot be injected is said before a story begins.
func TestPlayable(t *testing.T) {
	set := harnesstest.New(contract.RoleCluster, contract.RoleMachine)
	set.Unseen = map[harness.FaultKind]bool{harness.FaultQuota: true}
	for id, want := range map[string]string{
		"fault-quota": "quota is not simulated", "fault-token-rotates": "needs a pool", "K7": "", "fault-killed": "",
	} {
		err := harness.Playable(config(t, set, id, 1).Scenario, set)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
}
