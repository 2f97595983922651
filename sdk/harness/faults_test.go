package harness_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

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
	with     func(s *harnesstest.Set)
	failed   []string
	gate     string
	output   string
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

var faults = []fault{
	{
		name: "endpoint never set (K16)", scenario: "K1", with: output(contract.RoleCluster, "control_plane_endpoint", nil),
		failed: []string{"CP-001"}, gate: "kcp/endpoint-valid", output: "cluster.control_plane_endpoint",
	},
	{
		name: "endpoint host with a scheme", scenario: "K1", with: output(contract.RoleCluster, "control_plane_endpoint", map[string]any{"host": "https://a.example.com", "port": 6443}),
		failed: []string{"CP-001"},
	},
	{
		name: "endpoint half set", scenario: "K1", with: output(contract.RoleCluster, "control_plane_endpoint", map[string]any{"host": "a"}),
		failed: []string{"CP-004"}, gate: "captf/outputs-valid", output: "cluster.control_plane_endpoint",
	},
	{
		name: "endpoint not echoed", scenario: "life", with: outputs(func(_ string, in *contract.ClusterInputs, v map[string]any) {
			v["control_plane_endpoint"] = map[string]any{"host": in.Object.Name, "port": 6443}
		}), failed: []string{"CP-002"},
	},
	{
		name: "endpoint fails when given", scenario: "life", with: failing(func(op harness.Op, _ string, in *contract.ClusterInputs) bool {
			return op == harness.OpApply && in.ControlPlaneEndpoint != nil
		}), failed: []string{"CP-002"},
	},
	{
		name: "endpoint moves with initialisation", scenario: "life", with: outputs(func(_ string, in *contract.ClusterInputs, v map[string]any) {
			if in.ControlPlaneInitialized && in.ControlPlaneEndpoint == nil {
				v["control_plane_endpoint"] = map[string]any{"host": "moved", "port": 6443}
			}
		}), failed: []string{"CP-003"},
	},
	{
		name: "cluster pending for ever", scenario: "K1", with: output(contract.RoleCluster, "health", health("pending")),
		failed: []string{"CP-006"}, gate: "captf/cluster-provisioned", output: "cluster.health",
	},
	{
		name: "needs the workload API at once", scenario: "K1", with: failing(func(op harness.Op, _ string, in *contract.ClusterInputs) bool {
			return op == harness.OpApply && !in.ControlPlaneInitialized
		}), failed: []string{"CP-007"},
	},
	{
		name: "cluster apply always fails", scenario: "K1",
		with:   failing(func(op harness.Op, _ string, _ *contract.ClusterInputs) bool { return op == harness.OpApply }),
		failed: []string{"module/apply"},
	},
	{
		name: "cluster plan never empty", scenario: "life", with: changing(func(op harness.Op, _ string, _ *contract.ClusterInputs, c []harness.Change) []harness.Change {
			if op == harness.OpPlan {
				return []harness.Change{{Address: "x.y", Type: "x", Action: harness.ActionUpdate}}
			}
			return c
		}), failed: []string{"CP-008"},
	},
	{
		name: "initialisation replaces", scenario: "life", with: changing(func(op harness.Op, _ string, in *contract.ClusterInputs, c []harness.Change) []harness.Change {
			if in.ControlPlaneInitialized {
				return replaceAll(op, c)
			}
			return c
		}), failed: []string{"CP-009"},
	},
	{
		name: "exports change with each apply", scenario: "life", with: outputs(func(_ string, in *contract.ClusterInputs, v map[string]any) {
			v["exports"] = map[string]any{"backend_id": "b", "initialized": in.ControlPlaneInitialized}
		}), failed: []string{"CP-011"},
	},
	{
		name: "secret in exports", scenario: "K1", with: output(contract.RoleCluster, "exports", map[string]any{"backend_id": "b", "auth": map[string]any{"token": "abc"}}),
		failed: []string{"CP-012"},
	},
	{
		name: "fraction in exports", scenario: "K1", with: output(contract.RoleCluster, "exports", map[string]any{"backend_id": "b", "ratio": 0.5}),
		failed: []string{"CP-012"}, gate: "captf/outputs-valid", output: "cluster.exports",
	},
	{
		name: "no domain for control planes", scenario: "K1", with: output(contract.RoleCluster, "failure_domains", []map[string]any{{"name": "a", "control_plane": false}}),
		failed: []string{"CP-013"},
	},
	{
		name: "domain twice", scenario: "K1", with: output(contract.RoleCluster, "failure_domains", []map[string]any{{"name": "a"}, {"name": "a"}}),
		failed: []string{"CP-014"}, gate: "captf/outputs-valid", output: "cluster.failure_domains",
	},
	{
		name: "domains change with initialisation", scenario: "K1", with: outputs(func(_ string, in *contract.ClusterInputs, v map[string]any) {
			if in.ControlPlaneInitialized {
				v["failure_domains"] = []map[string]any{{"name": "fd1"}, {"name": "fd4"}}
			}
		}), failed: []string{"CP-014"},
	},
	{
		name: "domains change with the version", scenario: "life", with: outputs(func(_ string, in *contract.ClusterInputs, v map[string]any) {
			if strings.Contains(*cmp.Or(in.KubernetesVersion, new("")), "v1.36") {
				v["failure_domains"] = []map[string]any{{"name": "new"}}
			}
		}), failed: []string{"CP-014"},
	},
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
		name: "terminated without backends", scenario: "life", with: outputs(func(object string, _ *contract.ClusterInputs, v map[string]any) {
			if strings.Contains(object, "probe") {
				v["health"] = health("terminated")
			}
		}), failed: []string{"CP-024"},
	},
	{
		name: "cluster destroy fails", scenario: "K1", with: failing(func(op harness.Op, _ string, _ *contract.ClusterInputs) bool { return op == harness.OpDestroy }),
		failed: []string{"CP-025"},
	},
	{
		name: "balancer reports members", scenario: "life", with: changing(func(op harness.Op, object string, _ *contract.ClusterInputs, c []harness.Change) []harness.Change {
			if op == harness.OpPlan && !strings.Contains(object, "probe") {
				return []harness.Change{{Address: "lb.x", Type: "lb", Action: harness.ActionUpdate}}
			}
			return c
		}), failed: []string{"CP-027"},
	},
	{
		name: "control plane does not join", scenario: "K1", with: func(s *harnesstest.Set) {
			info := s.Infos[contract.RoleMachine]
			info.Membership = &harness.Membership{Pattern: harness.PatternAttachment, Members: []harness.Member{{Address: "terraform_data.other"}}}
			s.Infos[contract.RoleMachine] = info
		}, failed: []string{"CP-030"},
	},
	{
		name: "worker joins", scenario: "life", with: func(s *harnesstest.Set) {
			info := s.Infos[contract.RoleMachine]
			info.Membership = &harness.Membership{Pattern: harness.PatternAttachment, Members: []harness.Member{{Address: "terraform_data.instance"}}}
			s.Infos[contract.RoleMachine] = info
		}, failed: []string{"CP-031"},
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
		name: "placed elsewhere", scenario: "K1", with: output(contract.RoleMachine, "failure_domain", "elsewhere"),
		failed: []string{"CP-045"}, gate: "captf/outputs-valid", output: "machine.failure_domain",
	},
	{
		name: "needs a domain", scenario: "life", with: failing(func(op harness.Op, object string, in *contract.MachineInputs) bool {
			return applies(op) && in.FailureDomain == nil && in.ControlPlane
		}), failed: []string{"CP-046"},
	},
	{
		name: "cluster needs a version", scenario: "life", with: failing(func(_ harness.Op, _ string, in *contract.ClusterInputs) bool {
			return in.KubernetesVersion == nil
		}), failed: []string{"contract/kubernetes_version"},
	},
	{
		name: "cluster needs a network", scenario: "life", with: failing(func(_ harness.Op, _ string, in *contract.ClusterInputs) bool {
			return in.ClusterNetwork == nil
		}), failed: []string{"contract/cluster_network"},
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
		name: "pool's payload must be text", scenario: "life", with: failing(func(_ harness.Op, _ string, in *contract.PoolInputs) bool {
			return !utf8.Valid(in.Bootstrap.Data)
		}), failed: []string{"contract/bootstrap_data"},
	},
	{
		name: "machine refuses dots", scenario: "life", with: failing(func(_ harness.Op, _ string, in *contract.MachineInputs) bool {
			return strings.Contains(in.MachineName, ".")
		}), failed: []string{"CP-053"},
	},
	{
		name: "pool refuses long names", scenario: "life", with: failing(func(_ harness.Op, _ string, in *contract.PoolInputs) bool { return len(in.Object.Name) > 63 }),
		failed: []string{"contract/captf_object"},
	},
	{
		name: "pool needs a version", scenario: "life", with: failing(func(_ harness.Op, _ string, in *contract.PoolInputs) bool { return in.KubernetesVersion == nil }),
		failed: []string{"contract/kubernetes_version"},
	},
	{
		name: "pool needs labels", scenario: "life", with: failing(func(_ harness.Op, _ string, in *contract.PoolInputs) bool { return len(in.NodeLabels) == 0 }),
		failed: []string{"contract/node_labels"},
	},
	{
		name: "cluster needs the namespace default", scenario: "life", with: failing(func(_ harness.Op, _ string, in *contract.ClusterInputs) bool {
			return in.Object.Namespace != "default"
		}), failed: []string{"contract/captf_object"},
	},
	{
		name: "machine needs a template", scenario: "life", with: failing(func(_ harness.Op, _ string, in *contract.MachineInputs) bool { return in.Template == "" }),
		failed: []string{"contract/captf_tags"},
	},
	{
		name: "cluster refuses only all at once", scenario: "life", with: failing(func(_ harness.Op, _ string, in *contract.ClusterInputs) bool {
			return in.Template == "" && in.KubernetesVersion == nil
		}), failed: []string{"contract/captf_object"},
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
		name: "cluster degraded from the start", scenario: "life", with: output(contract.RoleCluster, "health", health("degraded")), failed: []string{"CP-006"},
	},
	{
		name: "cluster terminated from the start", scenario: "life", with: output(contract.RoleCluster, "health", health("terminated")), failed: []string{"CP-006"},
	},
	{
		name: "cluster degraded by initialisation", scenario: "life", with: outputs(func(_ string, in *contract.ClusterInputs, v map[string]any) {
			if in.ControlPlaneInitialized {
				v["health"] = health("degraded")
			}
		}), failed: []string{"contract/health"},
	},
	{
		name: "pool never healthy", scenario: "life", with: output(contract.RoleMachinePool, "health", map[string]any{"state": "running", "healthy": false}),
		failed: []string{"contract/health"},
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
		name: "pool joins the backend", scenario: "life", with: func(s *harnesstest.Set) {
			info := s.Infos[contract.RoleMachinePool]
			info.Membership = &harness.Membership{Pattern: harness.PatternAttachment, Members: []harness.Member{{Address: "terraform_data.group"}}}
			s.Infos[contract.RoleMachinePool] = info
		}, failed: []string{"CP-060"},
	},
	{
		name: "rotation replaces", scenario: "life", with: changing(func(op harness.Op, _ string, _ *contract.PoolInputs, c []harness.Change) []harness.Change {
			return replaceAll(op, c)
		}), failed: []string{"CP-061"},
	},
	{
		name: "version rolls nothing", scenario: "life", with: changing(func(op harness.Op, _ string, _ *contract.PoolInputs, c []harness.Change) []harness.Change {
			if op == harness.OpPlan {
				return nil
			}
			return c
		}), failed: []string{"CP-062"},
	},
	{
		name: "list not sorted", scenario: "life", with: outputs(func(_ string, in *contract.PoolInputs, v map[string]any) {
			if in.Replicas > 1 {
				ids := slices.Clone(v["provider_id_list"].([]string))
				slices.Reverse(ids)
				v["provider_id_list"] = ids
			}
		}), failed: []string{"CP-063"},
	},
	{
		name: "list incomplete", scenario: "life", with: outputs(func(_ string, in *contract.PoolInputs, v map[string]any) {
			if in.Replicas == 3 {
				v["provider_id_list"] = v["provider_id_list"].([]string)[:2]
			}
		}), failed: []string{"CP-063"}, gate: "captf/pool-members", output: "machinepool.provider_id_list",
	},
	{
		name: "replicas constant", scenario: "life", with: output(contract.RoleMachinePool, "replicas", 3), failed: []string{"CP-063"},
	},
	{
		name: "size ignored by everything", scenario: "life", with: func(s *harnesstest.Set) {
			s.Outputs = func(_ string, in contract.Inputs, v map[string]any) {
				if p, ok := in.(*contract.PoolInputs); ok {
					ids := []string{}
					for n := range 3 {
						ids = append(ids, fmt.Sprintf("noop:///default/%s/%03d", p.Object.Name, n))
					}
					v["provider_id_list"], v["replicas"], v["instances"] = ids, 3, []any{}
				}
			}
		}, failed: []string{"CP-063"},
	},
	{
		name: "size reaches outputs only", scenario: "life", with: changing(func(op harness.Op, object string, _ *contract.PoolInputs, c []harness.Change) []harness.Change {
			if op == harness.OpApply && len(c) > 0 && c[0].Action == harness.ActionUpdate {
				return nil
			}
			return c
		}), failed: []string{"CP-063"},
	},
	{
		name: "pools share members", scenario: "life", with: outputs(func(_ string, in *contract.PoolInputs, v map[string]any) {
			ids := []string{}
			for n := range in.Replicas {
				ids = append(ids, fmt.Sprintf("noop:///default/%s/%03d", in.Cluster.Name, n))
			}
			v["provider_id_list"], v["instances"] = ids, []any{}
		}), failed: []string{"CP-063"},
	},
	{
		name: "instances are others than the list", scenario: "life", with: outputs(func(_ string, in *contract.PoolInputs, v map[string]any) {
			list := v["instances"].([]map[string]any)
			for n := range list {
				list[n]["provider_id"] = fmt.Sprint(n)
			}
		}), failed: []string{"CP-063"},
	},
	{
		name: "member not in the cloud's form", scenario: "life", with: outputs(func(_ string, in *contract.PoolInputs, v map[string]any) {
			ids := []string{}
			for n := range in.Replicas {
				ids = append(ids, fmt.Sprintf("aws://%s-%03d", in.Object.Name, n))
			}
			v["provider_id_list"], v["instances"] = ids, []any{}
		}), failed: []string{"CP-063"},
	},
	{
		name: "instance without an address", scenario: "life", with: outputs(func(_ string, in *contract.PoolInputs, v map[string]any) {
			for _, i := range v["instances"].([]map[string]any) {
				i["addresses"] = []map[string]any{{"type": "InternalIP", "address": "none"}}
			}
		}), failed: []string{"contract/instances"},
	},
	{
		name: "pool waits for Nodes", scenario: "life", with: output(contract.RoleMachinePool, "health", health("pending")),
		failed: []string{"CP-064"}, gate: "captf/pool-pending", output: "machinepool.health",
	},
	{
		name: "export missing", scenario: "K1", with: func(s *harnesstest.Set) {
			output(contract.RoleCluster, "exports", map[string]any{})(s)
			s.Fail = func(op harness.Op, _ string, in contract.Inputs) string {
				if in.Role() == contract.RoleMachine && applies(op) {
					return "Unsupported attribute"
				}
				return ""
			}
		}, failed: []string{"CP-070"},
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

func TestFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			set := harnesstest.New(contract.Roles()...)
			f.with(set)
			result, err := harness.Play(context.Background(), config(t, set, f.scenario, 1))
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
		})
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
