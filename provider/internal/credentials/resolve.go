package credentials

import (
	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/job"
	"github.com/captf-toolkit/captf/provider/internal/names"
)

// IdentityRef returns what an object runs with, its kind filled in, or nil (provider-api.md 2.2): its own reference; for a
// machine or pool without one, that of the cluster's spec.defaults, then the cluster's own. A TerraformCluster never uses
// its defaults. The result is a copy.
func IdentityRef(object infrav1.Workspace, cluster *infrav1.TerraformCluster) *infrav1.IdentityReference {
	ref := object.Workspace().IdentityRef
	if object.Role() != contract.RoleCluster && ref == nil && cluster != nil {
		if cluster.Spec.Defaults != nil {
			ref = cluster.Spec.Defaults.IdentityRef
		}
		if ref == nil {
			ref = cluster.Spec.IdentityRef
		}
	}
	if ref == nil || ref.Name == "" {
		return nil
	}
	resolved := *ref
	if resolved.Kind == "" {
		resolved.Kind = infrav1.IdentityKindClusterIdentity
	}
	return &resolved
}

// ServiceAccountName returns the ServiceAccount of an object's Jobs: what job.Resolve says, without resolving the rest,
// because it is asked on every pass.
func ServiceAccountName(object infrav1.Workspace, cluster *infrav1.TerraformCluster) string {
	for _, layer := range job.Layers(object, cluster) {
		if layer.Policy != nil && layer.Policy.ServiceAccountName != "" {
			return layer.Policy.ServiceAccountName
		}
	}
	return names.ServiceAccount
}
