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

// notes are what a set does that is allowed, and what is said about it; a set
// that passes stays one that passes.
var notes = []struct {
	name     string
	scenario string
	with     func(s *harnesstest.Set)
	want     []string
}{
	{name: "nothing", scenario: "K1", with: func(*harnesstest.Set) {}},
	{
		name: "exports beyond what is published", scenario: "K1",
		with: output(contract.RoleCluster, "exports", map[string]any{"backend_id": "b", "map": strings.Repeat("x", contract.MaxPublishedExports)}),
		want: []string{"exports have 65563 bytes"},
	},
	{
		name: "exports as large as is published", scenario: "K1",
		with: output(contract.RoleCluster, "exports", map[string]any{"backend_id": "b", "map": strings.Repeat("x", contract.MaxPublishedExports-27)}),
	},
	{
		name: "health unknown", scenario: "K1", with: func(s *harnesstest.Set) {
			s.Outputs = func(_ string, _ contract.Inputs, v map[string]any) { v["health"] = health("unknown") }
		}, want: []string{"TerraformCluster objects are Ready=Unknown: no MachineHealthCheck", "TerraformMachine objects are Ready=Unknown: nothing is ever remediated"},
	},
	{
		name: "resource without the namespace in its name", scenario: "life",
		with: namedResource(func(in *contract.MachineInputs) string { return in.MachineName }),
		want: []string{"of one name in two namespaces get the same name of cloud_thing.this"},
	},
	{
		name: "resource that is not named after its object", scenario: "life",
		with: namedResource(func(*contract.MachineInputs) string { return "primary" }),
	},
	{
		name: "resource named after the namespace", scenario: "life",
		with: namedResource(func(in *contract.MachineInputs) string { return in.Object.Namespace }),
	},
	{
		name: "hostname that is none", scenario: "K1", with: addresses(func(list []map[string]any) { list[1]["address"] = "node_1 a" }),
		want: []string{`the Hostname "node_1 a", which is no DNS name`},
	},
	{
		name: "an instance that starts", scenario: "life", with: starting(contract.RoleMachine, "degraded", 3),
	},
	{
		name: "a pool whose members start", scenario: "life", with: starting(contract.RoleMachinePool, "degraded", 3),
	},
	{
		name: "backend block", scenario: "K1", with: func(s *harnesstest.Set) {
			info := s.Infos[contract.RoleMachine]
			info.StateBlocks = []harness.StateBlock{{Block: `backend "s3"`, Place: "modules/machine/versions.tf:2"}}
			s.Infos[contract.RoleMachine] = info
		}, want: []string{`backend "s3"`},
	},
}

// starting lets each object of a role become well with its nth reading only.
func starting(role contract.Role, state string, n int) func(*harnesstest.Set) {
	return func(s *harnesstest.Set) {
		readings := map[string]int{}
		s.Outputs = func(object string, in contract.Inputs, v map[string]any) {
			if pool, ok := in.(*contract.PoolInputs); in.Role() != role || ok && pool.Replicas == 0 {
				return // a group without members has none that starts
			}
			if readings[object]++; readings[object] < n {
				v["health"] = health(state)
			}
		}
	}
}

func TestNotes(t *testing.T) {
	for _, n := range notes {
		t.Run(n.name, func(t *testing.T) {
			t.Parallel()
			set := harnesstest.New(contract.Roles()...)
			n.with(set)
			result, err := harness.Play(context.Background(), config(t, set, n.scenario, 1))
			if err != nil {
				t.Fatalf("playing: %v", err)
			}
			if result.Verdict != harness.VerdictPassed {
				t.Errorf("verdict is %s\n%s", result.Verdict, story(result))
			}
			if !slices.EqualFunc(result.Notes, n.want, func(got harness.Note, want string) bool { return strings.Contains(got.Message, want) }) {
				t.Errorf("notes are %+v, want %q", result.Notes, n.want)
			}
		})
	}
}

// What a scenario does not come to is said so, whatever a cluster or pool
// module tells of backends: only a machine module can.
func TestReasonOfWhatIsNotJudged(t *testing.T) {
	const undeclared, notPlayed = "does not tell how its machines become backends", "the scenario does not come to it"
	for _, tt := range []struct {
		name    string
		declare bool
		want    map[string]string
	}{
		{"the machine module tells", true, map[string]string{"CP-024": notPlayed, "CP-060": notPlayed, "CP-035": notPlayed}},
		{"the machine module does not tell", false, map[string]string{"CP-024": notPlayed, "CP-060": notPlayed, "CP-030": undeclared}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := harnesstest.New(contract.Roles()...)
			if !tt.declare {
				info := set.Infos[contract.RoleMachine]
				info.Membership = nil
				set.Infos[contract.RoleMachine] = info
			}
			result, err := harness.Play(context.Background(), config(t, set, "K1", 1))
			if err != nil {
				t.Fatalf("playing: %v", err)
			}
			for _, q := range result.Requirements {
				if want := tt.want[q.ID]; !strings.Contains(q.Reason, want) || want != "" && q.Status != harness.StatusNotApplicable {
					t.Errorf("%s is %s: %s", q.ID, q.Status, q.Reason)
				}
			}
		})
	}
}
