package workspace

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/names"
	"github.com/captf-toolkit/captf/provider/internal/operation"
	"github.com/captf-toolkit/captf/provider/internal/record"
	"github.com/captf-toolkit/captf/provider/internal/state"
)

// provisioned tells that the object has ever been provisioned.
func provisioned(obj infrav1.Workspace) bool { return conditions.Provisioned(obj) }

// ownerReference refers to the object as an owner that is not a controller and blocks nothing (B-366, B-412).
func (p *pass) ownerReference() metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: infrav1.GroupVersion.String(), Kind: p.Role.Kind(), Name: p.obj.GetName(), UID: p.obj.GetUID(),
	}
}

// owner is the object as the owner of records.
func (p *pass) owner() record.Owner {
	return record.Owner{
		Role: p.Role, Namespace: p.obj.GetNamespace(), Name: p.obj.GetName(), Reference: p.ownerReference(), Cluster: p.clusterName(),
	}
}

// clusterName is the name of the object's cluster: of its label, or of the Cluster that owns it; "" if unknown.
func (p *pass) clusterName() string {
	if p.owners != nil && p.owners.Cluster != nil {
		return p.owners.Cluster.Name
	}
	if name := p.obj.GetLabels()[clusterv1.ClusterNameLabel]; name != "" {
		return name
	}
	for _, ref := range p.obj.GetOwnerReferences() {
		if ref.Kind == "Cluster" {
			return ref.Name
		}
	}
	return ""
}

// keyWithLabels is the key of the state with the labels that its Secrets carry.
func (p *pass) keyWithLabels() state.Key {
	k := p.key
	k.Labels = names.StateLabels(p.Role, p.obj.GetName(), p.clusterName())
	return k
}

func jobOperation(j *batchv1.Job) infrav1.Operation {
	return infrav1.Operation(j.Labels[infrav1.LabelOperation])
}

func jobAttempt(j *batchv1.Job) int32 {
	n, err := strconv.ParseInt(j.Labels[infrav1.LabelAttempt], 10, 32)
	if err != nil || n < 1 {
		return 1
	}
	return int32(n)
}

// jobImage is the module image that a Job was created with.
func jobImage(j *batchv1.Job) string {
	for _, c := range j.Spec.Template.Spec.Containers {
		if c.Name == operation.SourceContainer {
			return c.Image
		}
	}
	return ""
}
