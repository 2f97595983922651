package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MachineFinalizer keeps a TerraformMachine until its infrastructure is gone (B-004).
const MachineFinalizer = "terraformmachine.infrastructure.cluster.x-k8s.io"

// TerraformMachineSpec is the desired infrastructure of a machine. What the module is given is immutable; how it is run
// and watched is not.
// +kubebuilder:validation:MinProperties=1
type TerraformMachineSpec struct {
	WorkspaceSpec `json:",inline"`

	// providerID of the instance, written once by the controller from the module's output. It must equal the
	// spec.providerID of the Node.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// drift says how often drift is looked for. On a machine it is only reported.
	// +optional
	Drift *MachineDriftPolicy `json:"drift,omitempty"`

	// remediation says when an unhealthy machine is handed to Cluster API for remediation.
	// +optional
	Remediation *RemediationPolicy `json:"remediation,omitempty"`
}

// MachineDriftPolicy says how often a machine's infrastructure is compared with its module.
// +kubebuilder:validation:MinProperties=1
type MachineDriftPolicy struct {
	// intervalSeconds between drift checks. Unset, that of the cluster, then the manager's --drift-default-interval; 0 turns
	// drift checks off and, with them, reading the health unless remediation.annotateMachine is true.
	// +optional
	// +kubebuilder:validation:Minimum=0
	IntervalSeconds *int32 `json:"intervalSeconds,omitempty"`
}

// TerraformMachineStatus is the observed infrastructure of a machine.
// +kubebuilder:validation:MinProperties=1
type TerraformMachineStatus struct {
	WorkspaceStatus `json:",inline"`

	// addresses of the machine, from the module.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// failureDomain is where the machine is, from the module.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// interruptible tells that the cloud may take the instance away.
	// +optional
	Interruptible *bool `json:"interruptible,omitempty"`

	// unhealthySamples counts unhealthy readings in a row.
	// +optional
	// +kubebuilder:validation:Minimum=1
	UnhealthySamples int32 `json:"unhealthySamples,omitempty"`
}

// TerraformMachine is the infrastructure of a Machine, made by a module of role machine.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=terraformmachines,shortName=tfm,categories=cluster-api,scope=Namespaced
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster"
// +kubebuilder:printcolumn:name="Machine",type="string",JSONPath=".metadata.ownerReferences[?(@.kind=='Machine')].name",description="Machine"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether the infrastructure is ready"
// +kubebuilder:printcolumn:name="Provisioned",type="boolean",JSONPath=".status.initialization.provisioned",description="Whether the infrastructure was ever ready"
// +kubebuilder:printcolumn:name="ProviderID",type="string",JSONPath=".spec.providerID",description="Provider id"
// +kubebuilder:printcolumn:name="Image",type="string",priority=1,JSONPath=".spec.source.image",description="Module image"
// +kubebuilder:printcolumn:name="InputsApplied",type="string",priority=1,JSONPath=".status.conditions[?(@.type=='InputsApplied')].status",description="Whether the current inputs are applied"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Age"
// +kubebuilder:validation:XValidation:rule="self.spec.source == oldSelf.spec.source",fieldPath=".spec.source",message="source is immutable: make a new TerraformMachineTemplate and roll the Machines"
// +kubebuilder:validation:XValidation:rule="has(self.spec.identityRef) == has(oldSelf.spec.identityRef) && (!has(self.spec.identityRef) || self.spec.identityRef == oldSelf.spec.identityRef)",fieldPath=".spec.identityRef",message="identityRef is immutable: make a new TerraformMachineTemplate and roll the Machines"
// +kubebuilder:validation:XValidation:rule="has(self.spec.variables) == has(oldSelf.spec.variables) && (!has(self.spec.variables) || self.spec.variables == oldSelf.spec.variables)",fieldPath=".spec.variables",message="variables are immutable: make a new TerraformMachineTemplate and roll the Machines"
// +kubebuilder:validation:XValidation:rule="has(self.spec.variablesFrom) == has(oldSelf.spec.variablesFrom) && (!has(self.spec.variablesFrom) || self.spec.variablesFrom == oldSelf.spec.variablesFrom)",fieldPath=".spec.variablesFrom",message="variablesFrom is immutable: make a new TerraformMachineTemplate and roll the Machines"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.spec.providerID) || (has(self.spec.providerID) && self.spec.providerID == oldSelf.spec.providerID)",fieldPath=".spec.providerID",message="providerID is immutable once it is set"
type TerraformMachine struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the desired infrastructure.
	// +required
	Spec TerraformMachineSpec `json:"spec,omitempty,omitzero"`

	// status is the observed infrastructure.
	// +optional
	Status TerraformMachineStatus `json:"status,omitempty,omitzero"`
}

// TerraformMachineList is a list of TerraformMachines.
//
// +kubebuilder:object:root=true
type TerraformMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TerraformMachine `json:"items"`
}

// TerraformMachineTemplateSpec is the desired state of a template.
type TerraformMachineTemplateSpec struct {
	// template is what is made of it.
	// +required
	Template TerraformMachineTemplateResource `json:"template,omitempty,omitzero"`

	// capacity of a machine made from the template, for scaling from zero. It replaces the capacity that the module image
	// declares as a whole, and can be changed.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
}

// TerraformMachineTemplateResource is a TerraformMachine to be made.
// +kubebuilder:validation:MinProperties=1
type TerraformMachineTemplateResource struct {
	// metadata are labels and annotations of what is made. They can be changed.
	// +optional
	ObjectMeta TemplateMetadata `json:"metadata,omitempty,omitzero"`

	// spec of what is made. It is immutable, and providerID must be empty.
	// +required
	Spec TerraformMachineSpec `json:"spec,omitempty,omitzero"`
}

// TerraformMachineTemplateStatus is what is known of machines made from a template.
// +kubebuilder:validation:MinProperties=1
type TerraformMachineTemplateStatus struct {
	TemplateStatus `json:",inline"`

	// capacity of a machine, for scaling from zero: spec.capacity, else what the module image declares.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`

	// nodeInfo describes the node, from the module image.
	// +optional
	NodeInfo *NodeInfo `json:"nodeInfo,omitempty"`

	// capacitySource says where capacity comes from.
	// +optional
	CapacitySource *CapacitySource `json:"capacitySource,omitempty"`
}

// NodeInfo describes a node for scaling from zero.
// +kubebuilder:validation:MinProperties=1
type NodeInfo struct {
	// architecture of the node.
	// +optional
	// +kubebuilder:validation:Enum=amd64;arm64;s390x;ppc64le
	Architecture string `json:"architecture,omitempty"`

	// operatingSystem of the node.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	OperatingSystem string `json:"operatingSystem,omitempty"`
}

// CapacitySourceKind is where a capacity comes from.
// +kubebuilder:validation:Enum=Spec;Image
type CapacitySourceKind string

const (
	// CapacitySourceSpec is spec.capacity.
	CapacitySourceSpec CapacitySourceKind = "Spec"
	// CapacitySourceImage is a label of the module image.
	CapacitySourceImage CapacitySourceKind = "Image"
)

// CapacitySource says where a capacity comes from.
// +kubebuilder:validation:XValidation:rule="self.source != 'Image' || has(self.image)",message="image is required when source is Image"
type CapacitySource struct {
	// source is Spec or Image.
	// +required
	Source CapacitySourceKind `json:"source,omitempty"`

	// image is the reference that was inspected last.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
}

// TerraformMachineTemplate is a template of TerraformMachines.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=terraformmachinetemplates,shortName=tfmt,categories=cluster-api,scope=Namespaced
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Image",type="string",JSONPath=".spec.template.spec.source.image",description="Module image"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Age"
type TerraformMachineTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the template.
	// +required
	Spec TerraformMachineTemplateSpec `json:"spec,omitempty,omitzero"`

	// status is what is known of machines made from the template.
	// +optional
	Status TerraformMachineTemplateStatus `json:"status,omitempty,omitzero"`
}

// TerraformMachineTemplateList is a list of TerraformMachineTemplates.
//
// +kubebuilder:object:root=true
type TerraformMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TerraformMachineTemplate `json:"items"`
}
