package harness_test

import (
	"strings"
	"sync/atomic"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/harnesstest"
)

// blamedFaults are those whose cause is only told from others by a further try.
var blamedFaults = []fault{
	{
		// The workers go first, so that it is known that machines can be destroyed.
		name: "one machine's destroy fails", scenario: "K10", with: failing(func(op harness.Op, _ string, in *contract.MachineInputs) bool {
			return op == harness.OpDestroy && in.ControlPlane
		}), failed: []string{"module/destroy"},
	},
	{
		name: "a second destroy works", scenario: "K1", with: func(s *harnesstest.Set) {
			var destroys atomic.Int32
			failing(func(op harness.Op, _ string, _ *contract.MachineInputs) bool {
				return op == harness.OpDestroy && destroys.Add(1) == 1
			})(s)
		}, failed: []string{"module/destroy"},
	},
	{
		name: "instance never comes", scenario: "K1", with: hanging("terraform_data.instance"), failed: []string{"module/apply"},
	},
	{
		name: "attachment waits for health", scenario: "K1", with: hanging("terraform_data.backend_member[0]"), failed: []string{"CP-034"},
	},
	{
		name: "export missing, read with care", scenario: "K1", with: func(s *harnesstest.Set) {
			info := s.Infos[contract.RoleMachine]
			info.ExportReads = []harness.ExportRead{{Path: []string{"lb", "backend_id"}, Optional: true, Range: "modules/machine/main.tf:7"}}
			s.Infos[contract.RoleMachine] = info
			failing(func(op harness.Op, _ string, in *contract.MachineInputs) bool {
				return applies(op) && !strings.Contains(string(in.ClusterOutputs), `"lb":{"backend_id":`)
			})(s)
		}, failed: []string{"CP-070"},
	},
	{
		name: "export missing, done without", scenario: "K1", with: func(s *harnesstest.Set) {
			joinsIf(s, func(in *contract.MachineInputs) bool { return strings.Contains(string(in.ClusterOutputs), `"groups":`) })
		}, failed: []string{"CP-070"}, gate: "capi/workload-reachable", output: "cluster.exports",
	},
	{
		name: "export missing, of a form that no text has", scenario: "K1", with: func(s *harnesstest.Set) {
			joinsIf(s, func(in *contract.MachineInputs) bool {
				return strings.Contains(string(in.ClusterOutputs), `"groups":{`)
			})
		}, failed: []string{"CP-070"}, gate: "capi/workload-reachable", output: "cluster.exports",
	},
	{
		name: "export missing, breaks when it is there", scenario: "K1", with: func(s *harnesstest.Set) {
			joinsIf(s, func(*contract.MachineInputs) bool { return false })
			s.Fail = func(_ harness.Op, _ string, in contract.Inputs) string {
				if m, ok := in.(*contract.MachineInputs); ok && strings.Contains(string(m.ClusterOutputs), `"groups":`) {
					return "a text has no attribute arn"
				}
				return ""
			}
		}, failed: []string{"CP-070"}, gate: "capi/workload-reachable", output: "cluster.exports",
	},
	{
		name: "export missing, and not why nothing joins", scenario: "K1", with: func(s *harnesstest.Set) {
			joinsIf(s, func(*contract.MachineInputs) bool { return false })
		}, failed: []string{"CP-030"}, gate: "capi/workload-reachable",
	},
	{
		name: "export missing for the pool, read with care", scenario: "life", with: func(s *harnesstest.Set) {
			info := s.Infos[contract.RoleMachinePool]
			info.ExportReads = []harness.ExportRead{{Path: []string{"subnet"}, Optional: true, Range: "modules/machinepool/main.tf:7"}}
			s.Infos[contract.RoleMachinePool] = info
			failing(func(op harness.Op, _ string, in *contract.PoolInputs) bool {
				return applies(op) && !strings.Contains(string(in.ClusterOutputs), `"subnet":`)
			})(s)
		}, failed: []string{"CP-070"},
	},
	{
		name: "endpoint port is a text", scenario: "K1", with: output(contract.RoleCluster, "control_plane_endpoint", map[string]any{"host": "a", "port": "6443"}),
		failed: []string{"contract/control_plane_endpoint"}, gate: "captf/outputs-valid", output: "cluster.control_plane_endpoint",
	},
}

// joinsIf lets a control-plane machine join where the inputs allow it. The module
// reads an export that is not there, with care.
func joinsIf(s *harnesstest.Set, joins func(in *contract.MachineInputs) bool) {
	info := s.Infos[contract.RoleMachine]
	info.ExportReads = []harness.ExportRead{{Path: []string{"groups"}, Optional: true, Range: "modules/machine/main.tf:7"}}
	s.Infos[contract.RoleMachine] = info
	s.Resources = func(_ string, in contract.Inputs) []harness.Resource {
		out := []harness.Resource{{Address: "terraform_data.thing", Type: "terraform_data"}}
		if m, ok := in.(*contract.MachineInputs); ok && m.ControlPlane && joins(m) {
			out = append(out, harness.Resource{Address: "terraform_data.backend_member[0]", Type: "terraform_data"})
		}
		return out
	}
}

// hanging lets machines' applies be not done in time, at work on the address.
func hanging(address string) func(*harnesstest.Set) {
	return func(s *harnesstest.Set) {
		failing(func(op harness.Op, _ string, _ *contract.MachineInputs) bool { return op == harness.OpApply })(s)
		s.Hung = func(harness.Op, string, contract.Inputs) []string { return []string{address} }
	}
}
