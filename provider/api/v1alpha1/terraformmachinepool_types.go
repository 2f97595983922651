package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MachinePoolFinalizer keeps a TerraformMachinePool until its infrastructure is gone (B-004).
const MachinePoolFinalizer = "terraformmachinepool.infrastructure.cluster.x-k8s.io"

// TerraformMachinePoolSpec is the desired infrastructure of a pool. All of it can be changed.
// +kubebuilder:validation:MinProperties=1
type TerraformMachinePoolSpec struct {
	WorkspaceSpec `json:",inline"`

	// providerID of the group of instances, written by the controller from the module's output.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// providerIDList holds the provider id of every instance that is not terminated, written by the controller.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	ProviderIDList []string `json:"providerIDList,omitempty"`

	// drift says how often drift is looked for and what is done about it. A pool's drift checks cannot be turned off.
	// +optional
	Drift *PoolDriftPolicy `json:"drift,omitempty"`

	// membershipRefreshIntervalSeconds is how often the members are read; the cluster's default, then 60, if unset.
	// +optional
	// +kubebuilder:validation:Minimum=15
	// +kubebuilder:validation:Maximum=86400
	MembershipRefreshIntervalSeconds int32 `json:"membershipRefreshIntervalSeconds,omitempty"`
}

// PoolDriftPolicy says how often a pool's infrastructure is compared with its module and what is done about differences.
// +kubebuilder:validation:MinProperties=1
type PoolDriftPolicy struct {
	// intervalSeconds between drift checks. Unset, that of the cluster if it is positive, then the manager's
	// --drift-default-interval.
	// +optional
	// +kubebuilder:validation:Minimum=1
	IntervalSeconds int32 `json:"intervalSeconds,omitempty"`

	// action is Report or Remediate; that of the cluster, then Report, if unset. Remediate will apply the module again in a later
	// release. This one only reports.
	// +optional
	Action DriftAction `json:"action,omitempty"`
}

// TerraformMachinePoolStatus is the observed infrastructure of a pool.
// +kubebuilder:validation:MinProperties=1
type TerraformMachinePoolStatus struct {
	WorkspaceStatus `json:",inline"`

	// ready is initialization.provisioned under the name that Cluster API's MachinePool controller reads.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// replicas is the desired number of instances at the last reading.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`

	// instances of the pool, at most 1000.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Instances []PoolInstance `json:"instances,omitempty"`

	// pendingPlanRef names the TerraformPlan that waits for approval or for its apply.
	// +optional
	PendingPlanRef *PlanReference `json:"pendingPlanRef,omitempty"`
}

// PoolInstance is one instance of a pool.
type PoolInstance struct {
	// providerID of the instance.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// instanceID is the cloud's own name of the instance.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	InstanceID string `json:"instanceID,omitempty"`

	// addresses of the instance.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// failureDomain is where the instance is.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// state of the instance.
	// +optional
	// +kubebuilder:validation:Enum=pending;running;degraded;stopped;terminated;unknown
	State string `json:"state,omitempty"`
}

// TerraformMachinePool is the infrastructure of a MachinePool, made by a module of role machinepool.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=terraformmachinepools,shortName=tfmp,categories=cluster-api,scope=Namespaced
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster"
// +kubebuilder:printcolumn:name="MachinePool",type="string",JSONPath=".metadata.ownerReferences[?(@.kind=='MachinePool')].name",description="MachinePool"
// +kubebuilder:printcolumn:name="Replicas",type="integer",JSONPath=".status.replicas",description="Desired number of instances"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether the infrastructure is ready"
// +kubebuilder:printcolumn:name="InputsApplied",type="string",priority=1,JSONPath=".status.conditions[?(@.type=='InputsApplied')].status",description="Whether the current inputs are applied"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Age"
type TerraformMachinePool struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the desired infrastructure.
	// +required
	Spec TerraformMachinePoolSpec `json:"spec,omitempty,omitzero"`

	// status is the observed infrastructure.
	// +optional
	Status TerraformMachinePoolStatus `json:"status,omitempty,omitzero"`
}

// TerraformMachinePoolList is a list of TerraformMachinePools.
//
// +kubebuilder:object:root=true
type TerraformMachinePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TerraformMachinePool `json:"items"`
}

// TerraformMachinePoolTemplateSpec is the desired state of a template.
type TerraformMachinePoolTemplateSpec struct {
	// template is what is made of it.
	// +required
	Template TerraformMachinePoolTemplateResource `json:"template,omitempty,omitzero"`
}

// TerraformMachinePoolTemplateResource is a TerraformMachinePool to be made.
// +kubebuilder:validation:MinProperties=1
type TerraformMachinePoolTemplateResource struct {
	// metadata are labels and annotations of what is made. They can be changed.
	// +optional
	ObjectMeta TemplateMetadata `json:"metadata,omitempty,omitzero"`

	// spec of what is made. It is immutable; provider ids in it mean nothing.
	// +required
	Spec TerraformMachinePoolSpec `json:"spec,omitempty,omitzero"`
}

// TerraformMachinePoolTemplate is a template of TerraformMachinePools, for a ClusterClass.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=terraformmachinepooltemplates,shortName=tfmpt,categories=cluster-api,scope=Namespaced
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Image",type="string",JSONPath=".spec.template.spec.source.image",description="Module image"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Age"
type TerraformMachinePoolTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the template.
	// +required
	Spec TerraformMachinePoolTemplateSpec `json:"spec,omitempty,omitzero"`
}

// TerraformMachinePoolTemplateList is a list of TerraformMachinePoolTemplates.
//
// +kubebuilder:object:root=true
type TerraformMachinePoolTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TerraformMachinePoolTemplate `json:"items"`
}
