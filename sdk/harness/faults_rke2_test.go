package harness_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/harnesstest"
)

// member replaces what the machine module tells of its membership.
func members(pattern harness.Pattern, declared bool, list ...harness.Member) func(*harnesstest.Set) {
	return func(s *harnesstest.Set) {
		info := s.Infos[contract.RoleMachine]
		info.Membership = &harness.Membership{Pattern: pattern, Declared: declared, Members: list}
		s.Infos[contract.RoleMachine] = info
	}
}

var (
	apiMember        = harness.Member{Listener: "api", Address: "terraform_data.backend_member"}
	supervisorMember = harness.Member{Listener: "supervisor", Address: "terraform_data.backend_member"}
)

// breaksOverGzip tells that a payload is packed and cannot be read as text.
func breaksOverGzip(in *contract.MachineInputs) bool {
	return bytes.HasPrefix(in.Bootstrap.Data, []byte{0x1f, 0x8b})
}

// rke2Faults are those that show under RKE2ControlPlane only, or otherwise.
var rke2Faults = []fault{
	{
		name: "supervisor not declared", scenario: "K2", with: members(harness.PatternAttachment, true, apiMember),
		failed: []string{"CP-032"}, gate: "capi/node-ref", output: "",
	},
	{
		name: "supervisor not joined", scenario: "K2",
		with:   members(harness.PatternAttachment, true, apiMember, harness.Member{Listener: "supervisor", Address: "terraform_data.nowhere"}),
		failed: []string{"CP-032"}, gate: "capi/node-ref", output: "",
	},
	{
		name: "worker joins the supervisor's backends", scenario: "R1",
		with:   members(harness.PatternAttachment, true, apiMember, supervisorMember, harness.Member{Listener: "supervisor", Address: "terraform_data.instance"}),
		failed: []string{"CP-031"},
	},
	{
		name: "no external address for external-only-ips", scenario: "R1", registration: "external-only-ips", with: func(*harnesstest.Set) {},
		failed: []string{"CP-043"}, gate: "caprke2/server-addresses", output: "machine.addresses",
	},
	{
		name: "only a hostname for internal-first", scenario: "R1", registration: "internal-first", with: addressesAre(map[string]any{"type": "Hostname", "address": "a.example.com"}),
		failed: []string{"CP-042", "CP-043"}, gate: "caprke2/server-addresses", output: "machine.addresses",
	},
	{
		name: "breaks over packed data", scenario: "R5", with: failing(func(op harness.Op, _ string, in *contract.MachineInputs) bool {
			return op == harness.OpApply && breaksOverGzip(in)
		}), failed: []string{"CP-047"},
	},
	{
		name: "breaks over packed data, in a probe", scenario: "rke2-life", with: failing(func(op harness.Op, _ string, in *contract.MachineInputs) bool {
			return breaksOverGzip(in)
		}), failed: []string{"CP-047"},
	},
	{
		name: "refuses build metadata", scenario: "K2", with: failing(func(op harness.Op, _ string, in *contract.MachineInputs) bool {
			return applies(op) && strings.Contains(*in.KubernetesVersion, "+")
		}), failed: []string{"CP-050"},
	},
	{
		name: "wants equal names", scenario: "K2", with: failing(func(op harness.Op, _ string, in *contract.MachineInputs) bool {
			return applies(op) && in.Object.Name != in.MachineName
		}), failed: []string{"CP-052"},
	},
	{
		name: "provider id made from the object's name", scenario: "K2", with: outputs(func(_ string, in *contract.MachineInputs, v map[string]any) {
			v["provider_id"] = "noop:///" + in.Object.Namespace + "/" + in.Object.Name
		}), failed: []string{"CP-040"}, gate: "capi/node-ref", output: "machine.provider_id",
	},
	{
		name: "unknown health keeps every node from joining", scenario: "K2", with: output(contract.RoleMachine, "health", map[string]any{"state": "unknown", "healthy": false}),
		failed: []string{"CP-054"}, gate: "caprke2/machine-ready", output: "machine.health",
	},
	{
		name: "endpoint never set", scenario: "R1", with: output(contract.RoleCluster, "control_plane_endpoint", nil),
		failed: []string{"CP-001"}, gate: "rke2/endpoint-valid", output: "cluster.control_plane_endpoint",
	},
}

// addressesAre replaces the addresses of machines.
func addressesAre(list ...map[string]any) func(*harnesstest.Set) {
	return output(contract.RoleMachine, "addresses", list)
}

func TestFaultsRKE2(t *testing.T) {
	for _, f := range rke2Faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			set := harnesstest.New(contract.Roles()...)
			f.with(set)
			cfg := configRKE2(t, set, f.scenario, 1)
			cfg.Registration = f.registration
			checkFault(t, f, cfg)
		})
	}
}

// Every requirement that is judged under RKE2 has a fault that breaks it.
func TestEveryRequirementJudgedForRKE2HasAFault(t *testing.T) {
	covered := map[string]bool{}
	for _, list := range [][]fault{faults, rke2Faults} {
		for _, f := range list {
			for _, id := range f.failed {
				covered[id] = true
			}
		}
	}
	for _, scenario := range []string{"rke2-life", "R3-internal-only-ips", "R5", "R10"} {
		result, err := harness.Play(context.Background(), configRKE2(t, harnesstest.New(contract.Roles()...), scenario, 1))
		if err != nil {
			t.Fatalf("playing %s: %v", scenario, err)
		}
		for _, q := range result.Requirements {
			if q.Status == harness.StatusPassed && !covered[q.ID] {
				t.Errorf("%s passes in %s, and no fault shows it failing", q.ID, scenario)
			}
		}
	}
}

// A module may refuse packed data with a condition of its own: that is said, and
// is no failure.
func TestPackedDataMayBeRefusedInAStory(t *testing.T) {
	set := harnesstest.New(contract.Roles()...)
	set.Fail = func(op harness.Op, _ string, in contract.Inputs) string {
		if m, ok := in.(*contract.MachineInputs); ok && applies(op) && breaksOverGzip(m) {
			return "Resource precondition failed"
		}
		return ""
	}
	result, err := harness.Play(context.Background(), configRKE2(t, set, "R5", 1))
	if err != nil {
		t.Fatalf("playing: %v", err)
	}
	if result.Verdict != harness.VerdictPassed || len(result.Notes) != 1 || !strings.Contains(result.Notes[0].Message, "refuses bootstrap data") || len(set.Objects()) > 0 {
		t.Errorf("verdict %s, notes %+v, left %v\n%s", result.Verdict, result.Notes, set.Objects(), story(result))
	}
}
