package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of all kinds of this package.
var GroupVersion = schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1alpha1"}

var (
	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme registers the kinds of this package.
	AddToScheme = schemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&TerraformCluster{}, &TerraformClusterList{},
		&TerraformClusterTemplate{}, &TerraformClusterTemplateList{},
		&TerraformMachine{}, &TerraformMachineList{},
		&TerraformMachineTemplate{}, &TerraformMachineTemplateList{},
		&TerraformMachinePool{}, &TerraformMachinePoolList{},
		&TerraformMachinePoolTemplate{}, &TerraformMachinePoolTemplateList{},
		&TerraformClusterIdentity{}, &TerraformClusterIdentityList{},
		&TerraformPlan{}, &TerraformPlanList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
