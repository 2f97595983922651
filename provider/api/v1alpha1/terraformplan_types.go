package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PlanReason is why a plan waits for approval.
// +kubebuilder:validation:Enum=Manual;Destructive;ExportsChange
type PlanReason string

// Reasons of a plan.
const (
	// PlanReasonManual is the apply policy Manual.
	PlanReasonManual PlanReason = "Manual"
	// PlanReasonDestructive is a plan that deletes or replaces something.
	PlanReasonDestructive PlanReason = "Destructive"
	// PlanReasonExportsChange is a pool's destructive plan that comes from the cluster's changed exports.
	PlanReasonExportsChange PlanReason = "ExportsChange"
)

// PlanPhase is where a plan stands.
// +kubebuilder:validation:Enum=Pending;Approved;Applied;Superseded;Failed
type PlanPhase string

// Phases of a plan. Pending and Approved are live, the others final.
const (
	// PlanPhasePending waits for approval.
	PlanPhasePending PlanPhase = "Pending"
	// PlanPhaseApproved waits for its apply.
	PlanPhaseApproved PlanPhase = "Approved"
	// PlanPhaseApplied was applied.
	PlanPhaseApplied PlanPhase = "Applied"
	// PlanPhaseSuperseded was replaced by another plan, or is no longer due.
	PlanPhaseSuperseded PlanPhase = "Superseded"
	// PlanPhaseFailed was approved, but its apply planned something else.
	PlanPhaseFailed PlanPhase = "Failed"
)

// TerraformPlanSpec is what was planned and who approved it.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="self.targetRef == oldSelf.targetRef",fieldPath=".targetRef",message="targetRef is immutable"
// +kubebuilder:validation:XValidation:rule="self.planHash == oldSelf.planHash",fieldPath=".planHash",message="planHash is immutable"
// +kubebuilder:validation:XValidation:rule="self.inputsHash == oldSelf.inputsHash",fieldPath=".inputsHash",message="inputsHash is immutable"
// +kubebuilder:validation:XValidation:rule="self.reason == oldSelf.reason",fieldPath=".reason",message="reason is immutable"
// +kubebuilder:validation:XValidation:rule="self.summary == oldSelf.summary",fieldPath=".summary",message="summary is immutable"
// +kubebuilder:validation:XValidation:rule="(has(self.approved) && self.approved) == has(self.approvedBy)",fieldPath=".approvedBy",message="approvedBy is set if and only if approved is true"
// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.approved) && oldSelf.approved) || (has(self.approved) && self.approved && has(self.approvedBy) && has(oldSelf.approvedBy) && self.approvedBy == oldSelf.approvedBy)",fieldPath=".approved",message="an approval cannot be taken back or changed"
type TerraformPlanSpec struct {
	// targetRef is the object that the plan is for.
	// +required
	TargetRef PlanTarget `json:"targetRef,omitempty,omitzero"`

	// planHash identifies exactly this plan.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	PlanHash string `json:"planHash,omitempty"`

	// inputsHash identifies the inputs that were planned.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	InputsHash string `json:"inputsHash,omitempty"`

	// reason says why the plan waits.
	// +required
	Reason PlanReason `json:"reason,omitempty"`

	// summary says what the plan changes: addresses, actions and counts, never values.
	// +required
	Summary PlanSummary `json:"summary,omitempty,omitzero"`

	// approved lets the plan be applied, in a later release: this one makes no plans and applies none. It cannot be taken back.
	// +optional
	Approved *bool `json:"approved,omitempty"`

	// approvedBy is the user name of who set approved.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ApprovedBy string `json:"approvedBy,omitempty"`
}

// PlanTarget names the object that a plan is for.
type PlanTarget struct {
	// kind of the object.
	// +required
	// +kubebuilder:validation:Enum=TerraformCluster;TerraformMachinePool
	Kind string `json:"kind,omitempty"`

	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// PlanSummary counts what a plan changes. A replacement counts in replace only.
// +kubebuilder:validation:MinProperties=1
type PlanSummary struct {
	// create is the number of resources to be created.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Create *int32 `json:"create,omitempty"`

	// update is the number of resources to be changed in place.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Update *int32 `json:"update,omitempty"`

	// replace is the number of resources to be replaced.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replace *int32 `json:"replace,omitempty"`

	// delete is the number of resources to be deleted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Delete *int32 `json:"delete,omitempty"`

	// import is the number of resources to be imported.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Import *int32 `json:"import,omitempty"`

	// move is the number of resources that get another address.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Move *int32 `json:"move,omitempty"`

	// forget is the number of resources to be taken out of the state and left alone.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Forget *int32 `json:"forget,omitempty"`

	// outputChanges is the number of outputs that change.
	// +optional
	// +kubebuilder:validation:Minimum=0
	OutputChanges *int32 `json:"outputChanges,omitempty"`

	// resources are "<address> (<actions>)", sorted by address.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=600
	Resources []string `json:"resources,omitempty"`

	// truncated tells that there are more resources than are listed.
	// +optional
	Truncated *bool `json:"truncated,omitempty"`
}

// TerraformPlanStatus is where a plan stands.
// +kubebuilder:validation:MinProperties=1
type TerraformPlanStatus struct {
	// phase of the plan.
	// +optional
	Phase PlanPhase `json:"phase,omitempty"`

	// observedGeneration is the generation that the status was computed for.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions of the plan.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// TerraformPlan is a plan that waits to be reviewed. The controller makes it, from a later release on; a user approves it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=terraformplans,shortName=tfplan,categories=cluster-api,scope=Namespaced
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1alpha1"
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Target",type="string",JSONPath=".spec.targetRef.name",description="Object that the plan is for"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".spec.reason",description="Why the plan waits"
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",description="Where the plan stands"
// +kubebuilder:printcolumn:name="Create",type="integer",JSONPath=".spec.summary.create",description="Resources to be created"
// +kubebuilder:printcolumn:name="Update",type="integer",JSONPath=".spec.summary.update",description="Resources to be changed"
// +kubebuilder:printcolumn:name="Replace",type="integer",JSONPath=".spec.summary.replace",description="Resources to be replaced"
// +kubebuilder:printcolumn:name="Delete",type="integer",JSONPath=".spec.summary.delete",description="Resources to be deleted"
// +kubebuilder:printcolumn:name="Approved",type="boolean",JSONPath=".spec.approved",description="Whether the plan is approved"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Age"
type TerraformPlan struct {
	metav1.TypeMeta `json:",inline"`

	// metadata of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is what was planned.
	// +required
	Spec TerraformPlanSpec `json:"spec,omitempty,omitzero"`

	// status is where the plan stands.
	// +optional
	Status TerraformPlanStatus `json:"status,omitempty,omitzero"`
}

// TerraformPlanList is a list of TerraformPlans.
//
// +kubebuilder:object:root=true
type TerraformPlanList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TerraformPlan `json:"items"`
}
