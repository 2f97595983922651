package harness_test

import (
	"cmp"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/harnesstest"
)

// clusterFaults are those of cluster modules.
var clusterFaults = []fault{
	{
		name: "resource of a cluster's name that is cut", scenario: "life",
		with:   namedResource(func(in *contract.ClusterInputs) string { return in.Cluster.Name[:min(40, len(in.Cluster.Name))] }),
		failed: []string{"contract/captf_object"},
	},
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
		name: "cluster needs the namespace default", scenario: "life", with: failing(func(_ harness.Op, _ string, in *contract.ClusterInputs) bool {
			return in.Object.Namespace != "default"
		}), failed: []string{"contract/captf_object"},
	},
	{
		name: "cluster refuses only all at once", scenario: "life", with: failing(func(_ harness.Op, _ string, in *contract.ClusterInputs) bool {
			return in.Template == "" && in.KubernetesVersion == nil
		}), failed: []string{"contract/captf_object"},
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
}
