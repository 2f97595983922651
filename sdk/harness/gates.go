package harness

import (
	"slices"
	"strings"
)

// Gates returns every gate that something can wait at under a control plane: the
// controllers of CAPTF, Cluster API's and the control plane's own, by id.
func Gates(cp *ControlPlane) []Gate {
	out := []Gate{
		gateNodeRef, gateWorkloadReachable, gateMachineInfrastructure, gateMachineSet, gatePoolNodes, gateDescendants, gateControlPlaneGone,
		gateClusterProvisioned, gateMachineOperations, gateClusterOperation, gateInfrastructureProvisioned, gateBootstrapData, gateDependents,
		gateMachineHealth, gateProviderID, gateAddresses, gatePoolHealth, gatePoolMembers, gateBackoff, gateRunFails,
		{ID: gateOutputsValid, WaitsFor: "outputs of the module that satisfy the contract (OutputsValid)", Source: "contract.md 4"},
	}
	checks := slices.Concat(cp.Gates, cp.Deletion, []Check{cp.Initialized}, cp.Bootstrap, cp.PoolBootstrap)
	for _, op := range cp.Operations {
		checks = append(checks, op.Preflight...)
	}
	for _, c := range checks {
		out = append(out, c.Gate)
	}
	slices.SortStableFunc(out, func(a, b Gate) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(out, func(a, b Gate) bool { return a.ID == b.ID })
}

// gateOutputsValid is where an object waits whose outputs break the contract.
const gateOutputsValid = "captf/outputs-valid"
