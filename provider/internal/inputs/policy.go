package inputs

import (
	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// defaultUnhealthyThreshold is how many readings in a row mean that a machine is to be replaced (B-710).
const defaultUnhealthyThreshold = 3

// DeletionPolicy returns what becomes of the infrastructure of a deleted object (provider-api.md 2.7, B-850). It is not
// resolved for a machine or pool that sets none and whose cluster cannot be found (B-856).
func DeletionPolicy(obj infrav1.Workspace, cluster *infrav1.TerraformCluster) (policy infrav1.DeletionPolicy, resolved bool) {
	own := obj.Workspace().DeletionPolicy
	switch {
	case own != "":
		return own, true
	case obj.Role() == contract.RoleCluster:
		return infrav1.DeletionPolicyDestroy, true
	case cluster == nil:
		return "", false
	}
	for _, inherited := range []infrav1.DeletionPolicy{defaults(cluster).DeletionPolicy, cluster.Spec.DeletionPolicy} {
		if inherited != "" {
			return inherited, true
		}
	}
	return infrav1.DeletionPolicyDestroy, true
}

// Remediation is when a machine is marked for replacement (B-710); how often it is read is one of operation.Intervals.
type Remediation struct {
	// Enabled tells that the Machine is marked for replacement.
	Enabled bool
	// Threshold is the number of unhealthy readings in a row that it takes.
	Threshold int32
}

// RemediationOf returns how a machine is watched: field by field its own setting, else that of the cluster's defaults.
func RemediationOf(machine *infrav1.TerraformMachine, cluster *infrav1.TerraformCluster) Remediation {
	out := Remediation{Threshold: defaultUnhealthyThreshold}
	layers := []*infrav1.RemediationPolicy{machine.Spec.Remediation}
	if cluster != nil {
		layers = []*infrav1.RemediationPolicy{defaults(cluster).Remediation, machine.Spec.Remediation}
	}
	for _, layer := range layers {
		if layer == nil {
			continue
		}
		if layer.AnnotateMachine != nil {
			out.Enabled = *layer.AnnotateMachine
		}
		if layer.UnhealthyThreshold != 0 {
			out.Threshold = layer.UnhealthyThreshold
		}
	}
	return out
}

func defaults(cluster *infrav1.TerraformCluster) infrav1.ClusterDefaults {
	if cluster.Spec.Defaults == nil {
		return infrav1.ClusterDefaults{}
	}
	return *cluster.Spec.Defaults
}
