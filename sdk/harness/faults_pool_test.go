package harness_test

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/harnesstest"
)

// poolFaults are those of machinepool modules.
var poolFaults = []fault{
	{
		name: "members named after a name that is cut", scenario: "life", with: outputs(func(_ string, in *contract.PoolInputs, v map[string]any) {
			ids, instances := []string{}, []map[string]any{}
			for n := range in.Replicas {
				ids = append(ids, fmt.Sprintf("noop:///%s/%.60s/%03d", in.Object.Namespace, in.Object.Name, n))
				instances = append(instances, map[string]any{"provider_id": ids[n], "state": "running"})
			}
			v["provider_id_list"], v["instances"] = ids, instances
		}), failed: []string{"CP-063"},
	},
	{
		name: "pool's payload must be text", scenario: "life", with: failing(func(_ harness.Op, _ string, in *contract.PoolInputs) bool {
			return !utf8.Valid(in.Bootstrap.Data)
		}), failed: []string{"contract/bootstrap_data"},
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
		name: "empty pool degraded", scenario: "life", with: outputs(func(_ string, in *contract.PoolInputs, v map[string]any) {
			if in.Replicas == 0 {
				v["health"] = health("degraded")
			}
		}), failed: []string{"contract/health"},
	},
	{
		name: "pool never healthy", scenario: "life", with: output(contract.RoleMachinePool, "health", map[string]any{"state": "running", "healthy": false}),
		failed: []string{"contract/health"},
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
				list[n]["provider_id"] = strconv.Itoa(n)
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
}
