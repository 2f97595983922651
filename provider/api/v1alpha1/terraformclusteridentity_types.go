package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IdentityType is where the credentials of an identity come from.
// +kubebuilder:validation:Enum=Secret
type IdentityType string

// IdentityTypeSecret are credentials in a Secret, the default.
const IdentityTypeSecret IdentityType = "Secret"

// TerraformClusterIdentitySpec are credentials and who may use them.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="has(self.type) && self.type != 'Secret' ? !has(self.secretRef) : has(self.secretRef)",fieldPath=".secretRef",message="secretRef is required when type is Secret or unset"
type TerraformClusterIdentitySpec struct {
	// type is Secret, the default.
	// +optional
	// +unionDiscriminator
	Type IdentityType `json:"type,omitempty"`

	// secretRef names the Secret with the credentials. Its keys become environment variables and files of the Jobs.
	// +optional
	// +unionMember
	SecretRef *IdentitySecretReference `json:"secretRef,omitempty"`

	// requiredKeys are keys that the Secret must have.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[-._a-zA-Z0-9]+$`
	RequiredKeys []string `json:"requiredKeys,omitempty"`

	// allowedNamespaces says whose objects may use the identity. Unset, nobody's.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`
}

// IdentitySecretReference names a Secret of any namespace.
type IdentitySecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`

	// namespace of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`
}

// AllowedNamespaces selects namespaces: those of the list and those that the selector matches.
// +kubebuilder:validation:XValidation:rule="has(self.list) || has(self.selector)",message="an empty allowedNamespaces selects nothing: leave it out to allow nobody, or write selector: {} to allow every namespace"
type AllowedNamespaces struct {
	// list of names.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	List []string `json:"list,omitempty"`

	// selector of the namespaces' labels; {} selects every namespace.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// TerraformClusterIdentityStatus is the observed state of an identity.
// +kubebuilder:validation:MinProperties=1
type TerraformClusterIdentityStatus struct {
	// namespaces that hold a copy of the credentials and have an object that uses it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`

	// conditions of the identity.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// TerraformClusterIdentity are credentials that objects of allowed namespaces run their modules with.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=terraformclusteridentities,shortName=tfci,categories=cluster-api,scope=Cluster
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:metadata:labels="clusterctl.cluster.x-k8s.io/move-hierarchy="
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Secret",type="string",JSONPath=".spec.secretRef.name",description="Secret with the credentials"
// +kubebuilder:printcolumn:name="Namespace",type="string",JSONPath=".spec.secretRef.namespace",description="Namespace of the Secret"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Whether the Secret is there and complete"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Age"
type TerraformClusterIdentity struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec are the credentials and who may use them.
	// +required
	Spec TerraformClusterIdentitySpec `json:"spec,omitempty,omitzero"`

	// status is the observed state.
	// +optional
	Status TerraformClusterIdentityStatus `json:"status,omitempty,omitzero"`
}

// TerraformClusterIdentityList is a list of TerraformClusterIdentities.
//
// +kubebuilder:object:root=true
type TerraformClusterIdentityList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TerraformClusterIdentity `json:"items"`
}
