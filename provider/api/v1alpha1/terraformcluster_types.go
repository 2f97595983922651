package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterFinalizer keeps a TerraformCluster until its infrastructure is gone (B-004).
const ClusterFinalizer = "terraformcluster.infrastructure.cluster.x-k8s.io"

// ApplyPolicy says which applies of a TerraformCluster wait for approval.
// +kubebuilder:validation:Enum=Automatic;Manual
type ApplyPolicy string

const (
	// ApplyPolicyAutomatic applies at once; only a plan that deletes or replaces something waits. The default.
	ApplyPolicyAutomatic ApplyPolicy = "Automatic"
	// ApplyPolicyManual lets every plan that changes something wait, except the first apply, in a later release; until then it
	// is as Automatic.
	ApplyPolicyManual ApplyPolicy = "Manual"
)

// TerraformClusterSpec is the desired infrastructure of a cluster.
// +kubebuilder:validation:MinProperties=1
type TerraformClusterSpec struct {
	WorkspaceSpec `json:",inline"`

	// controlPlaneEndpoint is the address of the API server. Set by a user, it is an input of the module; otherwise it is
	// written once from the module's output. It is immutable once host and port are set.
	// +optional
	ControlPlaneEndpoint *APIEndpoint `json:"controlPlaneEndpoint,omitempty"`

	// drift says how often drift is looked for and what is done about it.
	// +optional
	Drift *DriftPolicy `json:"drift,omitempty"`

	// applyPolicy is Automatic (the default) or Manual, which will let every plan wait for approval in a later release. This
	// one applies without approval, whatever the policy.
	// +optional
	ApplyPolicy ApplyPolicy `json:"applyPolicy,omitempty"`

	// maxActiveJobs is how many Jobs of this cluster, its machines and its pools may run at once; the manager's
	// --cluster-max-active-jobs if unset. Refreshes and drift checks start only below 80 % of it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxActiveJobs int32 `json:"maxActiveJobs,omitempty"`

	// defaults are for the TerraformMachines and TerraformMachinePools of this cluster, never for the cluster itself.
	// +optional
	Defaults *ClusterDefaults `json:"defaults,omitempty"`
}

// APIEndpoint is the address of an API server: host and port together, or neither.
// +kubebuilder:validation:MinProperties=1
type APIEndpoint struct {
	// host is a name or an IP address.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Host string `json:"host,omitempty"`

	// port of the API server.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// Valid tells that host and port are set.
func (e *APIEndpoint) Valid() bool { return e != nil && e.Host != "" && e.Port != 0 }

// ClusterDefaults are what the TerraformMachines and TerraformMachinePools of a cluster use for what they do not set.
// +kubebuilder:validation:MinProperties=1
type ClusterDefaults struct {
	// identityRef for machines and pools; spec.identityRef of the cluster if unset.
	// +optional
	IdentityRef *IdentityReference `json:"identityRef,omitempty"`

	// jobs for machines and pools, laid over spec.jobs of the cluster.
	// +optional
	Jobs *JobPolicy `json:"jobs,omitempty"`

	// drift for machines and pools; spec.drift of the cluster if unset. Its action is for pools only, and pools ignore an
	// interval of 0.
	// +optional
	Drift *DriftPolicy `json:"drift,omitempty"`

	// remediation of machines.
	// +optional
	Remediation *RemediationPolicy `json:"remediation,omitempty"`

	// membershipRefreshIntervalSeconds is how often the members of a pool are read; 60 if unset.
	// +optional
	// +kubebuilder:validation:Minimum=15
	// +kubebuilder:validation:Maximum=86400
	MembershipRefreshIntervalSeconds int32 `json:"membershipRefreshIntervalSeconds,omitempty"`

	// deletionPolicy of machines and pools; spec.deletionPolicy of the cluster if unset, then Destroy. Retain is for a later
	// release, as there.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// TerraformClusterStatus is the observed infrastructure of a cluster.
// +kubebuilder:validation:MinProperties=1
type TerraformClusterStatus struct {
	WorkspaceStatus `json:",inline"`

	// failureDomains are where machines may be placed, from the module.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []FailureDomain `json:"failureDomains,omitempty"`

	// exports is a copy of the module's output of that name, which machines and pools are given. Nothing in it may be
	// secret. It is absent if it is larger than 64 KiB.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Exports *apiextensionsv1.JSON `json:"exports,omitempty"`

	// pendingPlanRef names the TerraformPlan that waits for approval or for its apply.
	// +optional
	PendingPlanRef *PlanReference `json:"pendingPlanRef,omitempty"`
}

// FailureDomain is a place for machines.
type FailureDomain struct {
	// name of the failure domain.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// controlPlane tells that control plane machines may be placed there.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty"`

	// attributes are further facts, from the module.
	// +optional
	Attributes map[string]string `json:"attributes,omitempty"`
}

// TerraformCluster is the infrastructure of a Cluster, made by a module of role cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=terraformclusters,shortName=tfc,categories=cluster-api,scope=Namespaced
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether the infrastructure is ready"
// +kubebuilder:printcolumn:name="Provisioned",type="boolean",JSONPath=".status.initialization.provisioned",description="Whether the infrastructure was ever ready"
// +kubebuilder:printcolumn:name="Endpoint",type="string",JSONPath=".spec.controlPlaneEndpoint.host",description="Host of the API server"
// +kubebuilder:printcolumn:name="Image",type="string",priority=1,JSONPath=".spec.source.image",description="Module image"
// +kubebuilder:printcolumn:name="InputsApplied",type="string",priority=1,JSONPath=".status.conditions[?(@.type=='InputsApplied')].status",description="Whether the current inputs are applied"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Age"
// +kubebuilder:validation:XValidation:rule="has(self.spec.identityRef)",fieldPath=".spec.identityRef",message="identityRef is required: name the TerraformClusterIdentity or Secret that the module runs with"
// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.spec.controlPlaneEndpoint) && has(oldSelf.spec.controlPlaneEndpoint.host) && has(oldSelf.spec.controlPlaneEndpoint.port)) || (has(self.spec.controlPlaneEndpoint) && self.spec.controlPlaneEndpoint == oldSelf.spec.controlPlaneEndpoint)",fieldPath=".spec.controlPlaneEndpoint",message="controlPlaneEndpoint is immutable once host and port are set"
type TerraformCluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the desired infrastructure.
	// +required
	Spec TerraformClusterSpec `json:"spec,omitempty,omitzero"`

	// status is the observed infrastructure.
	// +optional
	Status TerraformClusterStatus `json:"status,omitempty,omitzero"`
}

// TerraformClusterList is a list of TerraformClusters.
//
// +kubebuilder:object:root=true
type TerraformClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TerraformCluster `json:"items"`
}

// TerraformClusterTemplateSpec is the desired state of a template.
type TerraformClusterTemplateSpec struct {
	// template is what is made of it.
	// +required
	Template TerraformClusterTemplateResource `json:"template,omitempty,omitzero"`
}

// TerraformClusterTemplateResource is a TerraformCluster to be made.
// +kubebuilder:validation:MinProperties=1
type TerraformClusterTemplateResource struct {
	// metadata are labels and annotations of what is made. They can be changed.
	// +optional
	ObjectMeta TemplateMetadata `json:"metadata,omitempty,omitzero"`

	// spec of what is made. It is immutable; identityRef may be left to a patch of the ClusterClass.
	// +required
	Spec TerraformClusterSpec `json:"spec,omitempty,omitzero"`
}

// TerraformClusterTemplate is a template of TerraformClusters, for a ClusterClass.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=terraformclustertemplates,shortName=tfct,categories=cluster-api,scope=Namespaced
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Image",type="string",JSONPath=".spec.template.spec.source.image",description="Module image"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Age"
type TerraformClusterTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the template.
	// +required
	Spec TerraformClusterTemplateSpec `json:"spec,omitempty,omitzero"`

	// status tells whether the template's variables fit the module.
	// +optional
	Status TemplateStatus `json:"status,omitempty,omitzero"`
}

// TerraformClusterTemplateList is a list of TerraformClusterTemplates.
//
// +kubebuilder:object:root=true
type TerraformClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TerraformClusterTemplate `json:"items"`
}
