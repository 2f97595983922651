package harness_test

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/harnesstest"
)

// machineFaults are those of machine modules.
var machineFaults = []fault{
	{
		name: "machine refuses a domain", scenario: "K1", with: failing(func(op harness.Op, _ string, in *contract.MachineInputs) bool {
			return applies(op) && in.FailureDomain != nil
		}), failed: []string{"CP-014"},
	},
	{
		name: "machine refuses one domain", scenario: "life", with: failing(func(op harness.Op, object string, in *contract.MachineInputs) bool {
			return op == harness.OpPlan && strings.Contains(object, "probe") && in.FailureDomain != nil && *in.FailureDomain == "fd2"
		}), failed: []string{"CP-014"},
	},
	{
		name: "control plane does not join", scenario: "K1", with: func(s *harnesstest.Set) {
			info := s.Infos[contract.RoleMachine]
			info.Membership = &harness.Membership{Pattern: harness.PatternAttachment, Members: []harness.Member{{Address: "terraform_data.other"}}}
			s.Infos[contract.RoleMachine] = info
		}, failed: []string{"CP-030"}, gate: "capi/workload-reachable",
	},
	{
		name: "worker joins", scenario: "life", with: func(s *harnesstest.Set) {
			info := s.Infos[contract.RoleMachine]
			info.Membership = &harness.Membership{Pattern: harness.PatternAttachment, Members: []harness.Member{{Address: "terraform_data.instance"}}}
			s.Infos[contract.RoleMachine] = info
		}, failed: []string{"CP-031"},
	},
	{
		name: "a newer member changes an older one", scenario: "life", with: changing(func(op harness.Op, object string, _ *contract.MachineInputs, c []harness.Change) []harness.Change {
			if op == harness.OpPlan && strings.Contains(object, "probe-member-a") {
				return []harness.Change{{Address: "terraform_data.backend_member[0]", Action: harness.ActionUpdate}}
			}
			return c
		}), failed: []string{"CP-057"},
	},
	{
		name: "destroy changes others", scenario: "life", with: func(s *harnesstest.Set) {
			var gone atomic.Bool
			s.After = func(op harness.Op, object string) {
				if op == harness.OpDestroy && strings.HasPrefix(object, "machine-") && !strings.Contains(object, "probe") {
					gone.Store(true)
				}
			}
			s.Changes = func(op harness.Op, object string, in contract.Inputs, c []harness.Change) []harness.Change {
				if _, ok := in.(*contract.MachineInputs); ok && op == harness.OpPlan && gone.Load() && strings.Contains(object, "-md-") {
					return []harness.Change{{Address: "lb_pool.members", Action: harness.ActionUpdate}}
				}
				return c
			}
		}, failed: []string{"CP-035"},
	},
	{
		name: "destroy fails on partial state", scenario: "life", with: failing(func(op harness.Op, object string, _ *contract.MachineInputs) bool {
			return op == harness.OpDestroy && strings.Contains(object, "broken")
		}), failed: []string{"CP-038"},
	},
	{
		name: "destroy always fails", scenario: "K1", with: failing(func(op harness.Op, _ string, _ *contract.MachineInputs) bool { return op == harness.OpDestroy }),
		failed: []string{"CP-039"},
	},
	{
		name: "provider id never known", scenario: "K1", with: output(contract.RoleMachine, "provider_id", nil),
		failed: []string{"CP-040"}, gate: "captf/provider-id", output: "machine.provider_id",
	},
	{
		name: "provider id of another name (K17)", scenario: "K1", with: output(contract.RoleMachine, "provider_id", "noop:///default/other"),
		failed: []string{"CP-040"}, gate: "capi/node-ref", output: "machine.provider_id",
	},
	{
		name: "provider id not in the cloud's form", scenario: "K1", with: output(contract.RoleMachine, "provider_id", "aws://i-0123"),
		failed: []string{"CP-040"}, gate: "capi/node-ref", output: "machine.provider_id",
	},
	{
		name: "provider id with a line break", scenario: "K1", with: outputs(func(_ string, _ *contract.MachineInputs, v map[string]any) {
			v["provider_id"] = "cloud://" + v["provider_id"].(string) + "\n"
		}), failed: []string{"CP-040"},
	},
	{
		name: "provider id changes by refresh", scenario: "life", with: func(s *harnesstest.Set) {
			var refreshed atomic.Bool
			s.Before = func(op harness.Op, object string) {
				if op == harness.OpRefresh && strings.HasSuffix(object, "probe-a") {
					refreshed.Store(true)
				}
			}
			s.Outputs = func(object string, in contract.Inputs, v map[string]any) {
				if in.Role() == contract.RoleMachine && strings.HasSuffix(object, "probe-a") && refreshed.Load() {
					v["provider_id"] = "noop:///default/changed"
				}
			}
		}, failed: []string{"CP-040"},
	},
	{
		name: "addresses empty", scenario: "K1", with: output(contract.RoleMachine, "addresses", []any{}), failed: []string{"CP-042"},
	},
	{
		name: "addresses null", scenario: "K1", with: output(contract.RoleMachine, "addresses", nil),
		failed: []string{"CP-042"}, gate: "captf/addresses", output: "machine.addresses",
	},
	{
		name: "address type unknown", scenario: "K1", with: output(contract.RoleMachine, "addresses", []map[string]any{{"type": "IP", "address": "a"}}),
		failed: []string{"CP-042"}, gate: "captf/outputs-valid", output: "machine.addresses",
	},
	{
		name: "one address for all", scenario: "life", with: addresses(func(list []map[string]any) { list[0]["address"] = "10.0.0.1" }),
		failed: []string{"CP-042"},
	},
	{
		name: "address is none", scenario: "K1", with: addresses(func(list []map[string]any) { list[0]["address"] = "10.0.0.1/24" }),
		failed: []string{"CP-042"},
	},
	{
		name: "address of the machine for itself", scenario: "K1", with: addresses(func(list []map[string]any) { list[0]["address"] = "127.0.0.1" }),
		failed: []string{"CP-042"},
	},
	{
		name: "address unspecified", scenario: "K1", with: addresses(func(list []map[string]any) { list[0]["address"] = "::" }),
		failed: []string{"CP-042"},
	},
	{
		name: "provider id of a name that is cut", scenario: "life", with: outputs(func(_ string, in *contract.MachineInputs, v map[string]any) {
			if len(in.MachineName) > 60 {
				v["provider_id"] = "noop:///default/" + in.MachineName[:60]
			}
		}), failed: []string{"CP-040"},
	},
	{
		name: "provider id without the namespace", scenario: "life", with: outputs(func(_ string, in *contract.MachineInputs, v map[string]any) {
			v["provider_id"] = "cloud:///" + in.MachineName
		}), failed: []string{"CP-040"},
	},
	{
		name: "hostname of a name that is cut", scenario: "life", with: outputs(func(_ string, in *contract.MachineInputs, v map[string]any) {
			v["addresses"].([]map[string]any)[1]["address"] = in.MachineName[:min(63, len(in.MachineName))]
		}), failed: []string{"CP-051"},
	},
	{
		name: "address of a name that is cut", scenario: "life", with: outputs(func(_ string, in *contract.MachineInputs, v map[string]any) {
			if len(in.MachineName) > 60 {
				v["addresses"].([]map[string]any)[0]["address"] = "10.0.0.7"
			}
		}), failed: []string{"CP-042"},
	},
	{
		name: "resource of a name that is cut", scenario: "life", with: namedResource(func(in *contract.MachineInputs) string {
			return in.MachineName[:min(54, len(in.MachineName))] + in.Object.Namespace
		}), failed: []string{"CP-053"},
	},
	{
		name: "only the cloud refuses long names", scenario: "life", with: failing(func(op harness.Op, _ string, in *contract.MachineInputs) bool {
			return op == harness.OpApply && len(in.MachineName) > 63
		}), failed: []string{"CP-053"},
	},
	{
		name: "placed elsewhere", scenario: "K1", with: output(contract.RoleMachine, "failure_domain", "elsewhere"),
		failed: []string{"CP-045"}, gate: "captf/outputs-valid", output: "machine.failure_domain",
	},
	{
		name: "needs a domain", scenario: "life", with: failing(func(op harness.Op, object string, in *contract.MachineInputs) bool {
			return applies(op) && in.FailureDomain == nil && in.ControlPlane
		}), failed: []string{"CP-046"},
	},
	{
		name: "machine needs a version", scenario: "life", with: failing(func(_ harness.Op, _ string, in *contract.MachineInputs) bool {
			return in.KubernetesVersion == nil
		}), failed: []string{"contract/kubernetes_version"},
	},
	{
		name: "payload trimmed", scenario: "life", with: func(s *harnesstest.Set) {
			s.Planned = func(in contract.Inputs, content json.RawMessage) json.RawMessage {
				m, ok := in.(*contract.MachineInputs)
				if !ok {
					return content
				}
				raw, _ := json.Marshal(map[string]any{"x.y": map[string]any{"values": strings.TrimSpace(string(m.Bootstrap.Data))}})
				return raw
			}
		}, failed: []string{"CP-047"},
	},
	{
		name: "payload reaches nothing", scenario: "life", with: func(s *harnesstest.Set) {
			s.Planned = func(contract.Inputs, json.RawMessage) json.RawMessage { return json.RawMessage("{}") }
		}, failed: []string{"CP-047"},
	},
	{
		name: "payload must be text", scenario: "life", with: failing(func(_ harness.Op, _ string, in *contract.MachineInputs) bool {
			return !utf8.Valid(in.Bootstrap.Data)
		}), failed: []string{"contract/bootstrap_data"},
	},
	{
		name: "machine refuses dots", scenario: "life", with: failing(func(_ harness.Op, _ string, in *contract.MachineInputs) bool {
			return strings.Contains(in.MachineName, ".")
		}), failed: []string{"CP-053"},
	},
	{
		name: "machine needs a template", scenario: "life", with: failing(func(_ harness.Op, _ string, in *contract.MachineInputs) bool { return in.Template == "" }),
		failed: []string{"contract/captf_tags"},
	},
	{
		name: "large payload refused", scenario: "life", with: failing(func(op harness.Op, _ string, in *contract.MachineInputs) bool {
			return op == harness.OpPlan && len(in.Bootstrap.Data) > 32<<10
		}), failed: []string{"CP-048"},
	},
	{
		name: "build metadata refused", scenario: "life", with: failing(func(_ harness.Op, _ string, in *contract.MachineInputs) bool {
			return in.KubernetesVersion != nil && strings.Contains(*in.KubernetesVersion, "+")
		}), failed: []string{"CP-050"},
	},
	{
		name: "one hostname for all", scenario: "life", with: addresses(func(list []map[string]any) { list[1]["address"] = "node" }),
		failed: []string{"CP-051"},
	},
	{
		name: "object and machine name must agree", scenario: "life", with: failing(func(op harness.Op, object string, in *contract.MachineInputs) bool {
			return op == harness.OpPlan && in.Object.Name != in.MachineName && strings.Contains(object, "probe-plan")
		}), failed: []string{"CP-052"},
	},
	{
		name: "long names refused", scenario: "life", with: failing(func(_ harness.Op, _ string, in *contract.MachineInputs) bool { return len(in.MachineName) > 63 }),
		failed: []string{"CP-053"},
	},
	{
		name: "machine waits for its Node", scenario: "K1", with: output(contract.RoleMachine, "health", health("pending")),
		failed: []string{"CP-054"}, gate: "captf/machine-pending", output: "machine.health",
	},
	{
		name: "machine terminated from the start", scenario: "K1", with: output(contract.RoleMachine, "health", health("terminated")), failed: []string{"CP-054"},
	},
	{
		name: "machine stopped from the start", scenario: "life", with: output(contract.RoleMachine, "health", health("stopped")), failed: []string{"CP-054"},
	},
	{
		name: "machine degraded for ever", scenario: "K1", with: output(contract.RoleMachine, "health", health("degraded")), failed: []string{"CP-054"},
	},
	{
		name: "machine never healthy", scenario: "K1", with: output(contract.RoleMachine, "health", map[string]any{"state": "running", "healthy": false}), failed: []string{"CP-054"},
	},
	{
		name: "machine plan never empty", scenario: "life", with: changing(func(op harness.Op, _ string, _ *contract.MachineInputs, c []harness.Change) []harness.Change {
			if op == harness.OpPlan {
				return []harness.Change{{Address: "x.y", Type: "x", Action: harness.ActionUpdate}}
			}
			return c
		}), failed: []string{"CP-056"},
	},
	{
		name: "output not declared", scenario: "K1", with: func(s *harnesstest.Set) { s.Undeclared["machine.provider_id"] = true },
		failed: []string{"contract/provider_id"}, gate: "captf/outputs-valid", output: "machine.provider_id",
	},
	{
		name: "input not declared", scenario: "K1", with: func(s *harnesstest.Set) { delete(s.Infos[contract.RoleMachine].Variables, "control_plane") },
		failed: []string{"contract/control_plane"},
	},
	{
		name: "health state unknown to the contract", scenario: "K1", with: output(contract.RoleMachine, "health", health("fine")),
		failed: []string{"contract/health"}, gate: "captf/outputs-valid", output: "machine.health",
	},
}
