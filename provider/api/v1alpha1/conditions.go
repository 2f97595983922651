package v1alpha1

// Types of conditions. Messages never carry values of variables, credentials or outputs.
const (
	// ReadyCondition summarises the conditions that a consumer has to wait for (provider-status.md 1.1).
	ReadyCondition = "Ready"
	// DependenciesReadyCondition tells whether what the inputs are made of is there (provider-status.md 2.1).
	DependenciesReadyCondition = "DependenciesReady"
	// IdentityAllowedCondition tells whether the object may use its credentials (provider-status.md 2.2).
	IdentityAllowedCondition = "IdentityAllowed"
	// CredentialsMirroredCondition tells whether the namespace holds a current copy of the credentials (provider-status.md 2.3).
	CredentialsMirroredCondition = "CredentialsMirrored"
	// RunnerRBACReadyCondition tells whether Jobs have their ServiceAccount (provider-status.md 2.4).
	RunnerRBACReadyCondition = "RunnerRBACReady"
	// ApplyJobSucceededCondition is the outcome of the newest apply, plan or destroy, and why one waits (provider-status.md 2.5).
	ApplyJobSucceededCondition = "ApplyJobSucceeded"
	// StateReadableCondition tells whether the state could be read (provider-status.md 2.6).
	StateReadableCondition = "StateReadable"
	// RestoreJobSucceededCondition is the outcome of a restore (provider-status.md 2.7).
	RestoreJobSucceededCondition = "RestoreJobSucceeded"
	// OutputsValidCondition tells whether the outputs keep the contract (provider-status.md 2.8).
	OutputsValidCondition = "OutputsValid"
	// InfrastructureHealthyCondition is the health that the module reports (provider-status.md 2.9).
	InfrastructureHealthyCondition = "InfrastructureHealthy"
	// InputsAppliedCondition tells whether the current inputs are applied (provider-status.md 2.10).
	InputsAppliedCondition = "InputsApplied"
	// DriftJobSucceededCondition is the outcome of the newest refresh or drift check (provider-status.md 2.11).
	DriftJobSucceededCondition = "DriftJobSucceeded"
	// DriftDetectedCondition tells whether the infrastructure differs from the module (provider-status.md 2.12).
	DriftDetectedCondition = "DriftDetected"
	// DeletionBlockedCondition tells whether a cluster waits for its machines and pools (provider-status.md 2.13).
	DeletionBlockedCondition = "DeletionBlocked"
	// EndpointAvailableCondition tells whether a provisioned cluster has an endpoint (provider-status.md 2.14).
	EndpointAvailableCondition = "EndpointAvailable"
	// AutoscalingActiveCondition tells who decides on the size of a pool (provider-status.md 2.15).
	AutoscalingActiveCondition = "AutoscalingActive"
	// CapacityResolvedCondition tells whether a template's capacity is known (provider-status.md 2.16).
	CapacityResolvedCondition = "CapacityResolved"
	// VariablesValidCondition tells whether a template's variables fit the module (provider-status.md 2.17).
	VariablesValidCondition = "VariablesValid"
	// PausedCondition tells whether reconciliation is paused (provider-status.md 2.18).
	PausedCondition = "Paused"
	// DeletingCondition tells whether the object is being deleted (provider-status.md 2.18).
	DeletingCondition = "Deleting"
	// PlanApprovedCondition tells whether a plan is approved (provider-status.md 2.19).
	PlanApprovedCondition = "Approved"
)

// Reasons of ReadyCondition.
const (
	// ReadyReason: all inputs of the summary are True.
	ReadyReason = "Ready"
	// NotReadyReason: an input of the summary is False.
	NotReadyReason = "NotReady"
	// ReadyUnknownReason: no input is False and one is Unknown or missing.
	ReadyUnknownReason = "ReadyUnknown"
)

// Reasons of DependenciesReadyCondition.
const (
	// DependenciesReadyReason: nothing is outstanding.
	DependenciesReadyReason = "DependenciesReady"
	// ClusterNotTerraformReason: the Cluster's infrastructure is of another kind.
	ClusterNotTerraformReason = "ClusterNotTerraform"
	// OwnerMismatchReason: the owner does not refer back to the object.
	OwnerMismatchReason = "OwnerMismatch"
	// OwnerNotFoundReason: the owner is gone.
	OwnerNotFoundReason = "OwnerNotFound"
	// VariablesInvalidReason: the variables cannot be used.
	VariablesInvalidReason = "VariablesInvalid"
	// VariablesSourceNotFoundReason: a source of variables is missing or not labelled.
	VariablesSourceNotFoundReason = "VariablesSourceNotFound"
	// WaitingForOwnerMachineReason: a control plane object owns the machine, but no Machine yet.
	WaitingForOwnerMachineReason = "WaitingForOwnerMachine"
	// WaitingForOwnerMachinePoolReason: the pool has owners, but no MachinePool.
	WaitingForOwnerMachinePoolReason = "WaitingForOwnerMachinePool"
	// WaitingForOwnerReason: there is no owner yet.
	WaitingForOwnerReason = "WaitingForOwner"
	// WaitingForClusterInfrastructureReason: the Cluster's infrastructure is not provisioned.
	WaitingForClusterInfrastructureReason = "WaitingForClusterInfrastructure"
	// WaitingForClusterExportsReason: the cluster's exports cannot be read.
	WaitingForClusterExportsReason = "WaitingForClusterExports"
	// WaitingForBootstrapDataReason: there is no bootstrap data yet.
	WaitingForBootstrapDataReason = "WaitingForBootstrapData"
)

// Reasons of IdentityAllowedCondition.
const (
	// IdentityAllowedReason: the identity allows the namespace and its Secret is complete.
	IdentityAllowedReason = "IdentityAllowed"
	// LocalSecretReason: the Secret of the object's own namespace exists.
	LocalSecretReason = "LocalSecret"
	// IdentityNotFoundReason: no identity is named, or the named one does not exist.
	IdentityNotFoundReason = "IdentityNotFound"
	// NamespaceNotAllowedReason: the identity does not allow the namespace.
	NamespaceNotAllowedReason = "NamespaceNotAllowed"
	// SecretNotFoundReason: the Secret with the credentials does not exist.
	SecretNotFoundReason = "SecretNotFound"
	// CredentialsIncompleteReason: the Secret lacks a required key.
	CredentialsIncompleteReason = "CredentialsIncomplete"
	// IdentityCheckFailedReason: the check could not be made.
	IdentityCheckFailedReason = "IdentityCheckFailed"
)

// Reasons of CredentialsMirroredCondition.
const (
	// MirroredReason: the copy is current, or none is needed.
	MirroredReason = "Mirrored"
	// MirrorFailedReason: the copy cannot be written.
	MirrorFailedReason = "MirrorFailed"
	// MirrorPendingReason: there is no copy yet.
	MirrorPendingReason = "MirrorPending"
)

// Reasons of RunnerRBACReadyCondition.
const (
	// RBACReadyReason: ServiceAccount and RoleBinding are in place.
	RBACReadyReason = "RBACReady"
	// RBACFailedReason: they cannot be made.
	RBACFailedReason = "RBACFailed"
	// ServiceAccountNotOptedInReason: the chosen ServiceAccount is missing or not labelled.
	ServiceAccountNotOptedInReason = "ServiceAccountNotOptedIn"
)

// Reasons of ApplyJobSucceededCondition.
const (
	// ApplySucceededReason: the newest apply succeeded.
	ApplySucceededReason = "ApplySucceeded"
	// DestroySucceededReason: the destroy succeeded.
	DestroySucceededReason = "DestroySucceeded"
	// ApplyFailedReason: the newest apply failed.
	ApplyFailedReason = "ApplyFailed"
	// DestroyFailedReason: the newest destroy failed, or there is no record to destroy from.
	DestroyFailedReason = "DestroyFailed"
	// DestructivePlanBlockedReason: an apply stopped before it deleted or replaced something.
	DestructivePlanBlockedReason = "DestructivePlanBlocked"
	// IdentityNotAllowedReason: a destroy cannot start because the identity does not allow it.
	IdentityNotAllowedReason = "IdentityNotAllowed"
	// ImageInvalidReason: the image is not a module image.
	ImageInvalidReason = "ImageInvalid"
	// ImagePullFailedReason: the image cannot be pulled.
	ImagePullFailedReason = "ImagePullFailed"
	// JobNotStartedReason: the pod of the Job does not start.
	JobNotStartedReason = "JobNotStarted"
	// InputsTooLargeReason: the rendered inputs do not fit in a Secret.
	InputsTooLargeReason = "InputsTooLarge"
	// JobDeadlineExceededReason: the Job ran into its deadline.
	JobDeadlineExceededReason = "JobDeadlineExceeded"
	// JobPolicyInvalidReason: the lock timeout is not shorter than the deadline.
	JobPolicyInvalidReason = "JobPolicyInvalid"
	// NoApplyYetReason: no apply has finished yet.
	NoApplyYetReason = "NoApplyYet"
	// PlanAwaitingApprovalReason: a plan waits for approval.
	PlanAwaitingApprovalReason = "PlanAwaitingApproval"
	// PlanChangedReason: an approved apply planned something else.
	PlanChangedReason = "PlanChanged"
	// WaitingForClusterOperationReason: an operation of the cluster runs.
	WaitingForClusterOperationReason = "WaitingForClusterOperation"
	// WaitingForMachineOperationsReason: operations of machines or pools run.
	WaitingForMachineOperationsReason = "WaitingForMachineOperations"
	// WaitingForRunLeaseReason: another Job holds the lease.
	WaitingForRunLeaseReason = "WaitingForRunLease"
	// WaitingForJobSlotReason: the limit of Jobs is reached.
	WaitingForJobSlotReason = "WaitingForJobSlot"
)

// Reasons of StateReadableCondition.
const (
	// StateReadReason: the state was read.
	StateReadReason = "StateRead"
	// StateCorruptReason: the state is not a state.
	StateCorruptReason = "StateCorrupt"
	// StateEncryptedReason: the runtime encrypted the state.
	StateEncryptedReason = "StateEncrypted"
	// StateInconsistentReason: the parts of the state do not fit together.
	StateInconsistentReason = "StateInconsistent"
	// StateLockedReason: something else holds the lock of the state.
	StateLockedReason = "StateLocked"
	// StateLostReason: there was a state and it is gone.
	StateLostReason = "StateLost"
	// ApplyOutcomeUnknownReason: there is no state, and whether the recorded apply made something is not known.
	ApplyOutcomeUnknownReason = "ApplyOutcomeUnknown"
	// RetainedStateFoundReason: there is a state that a deleted object of the same name retained.
	RetainedStateFoundReason = "RetainedStateFound"
	// StateNotFoundReason: there is no state yet.
	StateNotFoundReason = "StateNotFound"
)

// Reasons of RestoreJobSucceededCondition.
const (
	// StateRestoredReason: the backup was pushed.
	StateRestoredReason = "StateRestored"
	// RestoreBackupNotFoundReason: there is no such backup.
	RestoreBackupNotFoundReason = "RestoreBackupNotFound"
	// RestoreFailedReason: the restore failed.
	RestoreFailedReason = "RestoreFailed"
)

// Reasons of OutputsValidCondition.
const (
	// OutputsValidReason: they do.
	OutputsValidReason = "OutputsValid"
	// InstancesTruncatedReason: there are more instances than the status holds.
	InstancesTruncatedReason = "InstancesTruncated"
	// OutputsMissingReason: a required output is not declared.
	OutputsMissingReason = "OutputsMissing"
	// OutputsInvalidReason: an output breaks the contract.
	OutputsInvalidReason = "OutputsInvalid"
	// FailureDomainMismatchReason: the machine is in another failure domain than was asked for.
	FailureDomainMismatchReason = "FailureDomainMismatch"
	// ProviderIDChangedReason: the provider id is another one than before.
	ProviderIDChangedReason = "ProviderIDChanged"
	// OutputsPendingReason: required outputs are not known yet.
	OutputsPendingReason = "OutputsPending"
)

// Reasons of InfrastructureHealthyCondition.
const (
	// HealthyReason: running and healthy.
	HealthyReason = "Healthy"
	// InstanceDegradedReason: degraded.
	InstanceDegradedReason = "InstanceDegraded"
	// InstancePendingReason: pending.
	InstancePendingReason = "InstancePending"
	// InstanceStoppedReason: stopped.
	InstanceStoppedReason = "InstanceStopped"
	// InstanceTerminatedReason: terminated.
	InstanceTerminatedReason = "InstanceTerminated"
	// InstanceUnhealthyReason: running, but not healthy.
	InstanceUnhealthyReason = "InstanceUnhealthy"
	// ProvisioningReason: the first apply has started.
	ProvisioningReason = "Provisioning"
	// HealthUnknownReason: the module does not know.
	HealthUnknownReason = "HealthUnknown"
	// ProviderIDMissingReason: the provider id is gone.
	ProviderIDMissingReason = "ProviderIDMissing"
	// WaitingForProvisioningReason: no apply has started.
	WaitingForProvisioningReason = "WaitingForProvisioning"
)

// Reasons of InputsAppliedCondition.
const (
	// InputsAppliedReason: they are.
	InputsAppliedReason = "InputsApplied"
	// ApplyPendingReason: they are not, and no Job runs.
	ApplyPendingReason = "ApplyPending"
	// AwaitingApprovalReason: a plan waits for approval.
	AwaitingApprovalReason = "AwaitingApproval"
	// ApplyRunningReason: an apply runs.
	ApplyRunningReason = "ApplyRunning"
	// InputsApplyFailedReason: the last apply failed.
	InputsApplyFailedReason = "InputsApplyFailed"
	// InputsUnavailableReason: the inputs cannot be built.
	InputsUnavailableReason = "InputsUnavailable"
)

// Reasons of DriftJobSucceededCondition.
const (
	// DriftCheckedReason: it succeeded.
	DriftCheckedReason = "DriftChecked"
	// DriftJobFailedReason: it failed.
	DriftJobFailedReason = "DriftJobFailed"
	// DriftJobDeadlineExceededReason: it ran into its deadline.
	DriftJobDeadlineExceededReason = "DriftJobDeadlineExceeded"
	// DriftJobRunningReason: it runs.
	DriftJobRunningReason = "DriftJobRunning"
	// DriftNotCheckedReason: there was none, or it is turned off.
	DriftNotCheckedReason = "DriftNotChecked"
	// DurableInputsMissingReason: there are no inputs to check with.
	DurableInputsMissingReason = "DurableInputsMissing"
)

// Reasons of DriftDetectedCondition.
const (
	// DriftReportedReason: it does.
	DriftReportedReason = "DriftReported"
	// DriftPendingReason: it does, and the remediation has not started or failed.
	DriftPendingReason = "DriftPending"
	// DriftRemediatingReason: it does, and an apply runs.
	DriftRemediatingReason = "DriftRemediating"
	// NoDriftReason: it does not.
	NoDriftReason = "NoDrift"
)

// Reasons of DeletionBlockedCondition.
const (
	// DependentsExistReason: it does.
	DependentsExistReason = "DependentsExist"
	// NotBlockedReason: it does not.
	NotBlockedReason = "NotBlocked"
)

// Reasons of EndpointAvailableCondition.
const (
	// EndpointAvailableReason: it has.
	EndpointAvailableReason = "EndpointAvailable"
	// WaitingForEndpointReason: it has none.
	WaitingForEndpointReason = "WaitingForEndpoint"
)

// Reasons of AutoscalingActiveCondition.
const (
	// ReplicasManagedByModuleReason: the cloud's autoscaler.
	ReplicasManagedByModuleReason = "ReplicasManagedByModule"
	// AutoscalingDisabledReason: the MachinePool.
	AutoscalingDisabledReason = "AutoscalingDisabled"
	// AutoscalingAnnotationsInvalidReason: the MachinePool, because the annotations cannot be used.
	AutoscalingAnnotationsInvalidReason = "AutoscalingAnnotationsInvalid"
	// ReplicasManagedExternallyReason: somebody else.
	ReplicasManagedExternallyReason = "ReplicasManagedExternally"
)

// Reasons of CapacityResolvedCondition.
const (
	// CapacityResolvedReason: it is.
	CapacityResolvedReason = "CapacityResolved"
	// CapacityNotDeclaredReason: the image declares none.
	CapacityNotDeclaredReason = "CapacityNotDeclared"
	// CapacityLabelInvalidReason: the image's label cannot be read.
	CapacityLabelInvalidReason = "CapacityLabelInvalid"
	// ImageInspectFailedReason: the image cannot be read.
	ImageInspectFailedReason = "ImageInspectFailed"
)

// Reasons of VariablesValidCondition.
const (
	// VariablesValidReason: they do.
	VariablesValidReason = "VariablesValid"
	// VariablesSchemaNotDeclaredReason: the image declares no schema.
	VariablesSchemaNotDeclaredReason = "VariablesSchemaNotDeclared"
	// VariablesRejectedReason: they do not.
	VariablesRejectedReason = "VariablesRejected"
	// VariablesSourcePendingReason: a source is missing.
	VariablesSourcePendingReason = "VariablesSourcePending"
	// VariablesSchemaUnavailableReason: the image cannot be read.
	VariablesSchemaUnavailableReason = "VariablesSchemaUnavailable"
)

// Reasons of PausedCondition.
const (
	// PausedReason: it is.
	PausedReason = "Paused"
	// NotPausedReason: it is not.
	NotPausedReason = "NotPaused"
)

// Reasons of DeletingCondition.
const (
	// DeletingReason: it is.
	DeletingReason = "Deleting"
	// DeletionPolicyUnresolvedReason: it is, and what to do with the infrastructure is not known.
	DeletionPolicyUnresolvedReason = "DeletionPolicyUnresolved"
	// NotDeletingReason: it is not.
	NotDeletingReason = "NotDeleting"
)

// Reasons of PlanApprovedCondition.
const (
	// PlanApprovedReason: it is.
	PlanApprovedReason = "Approved"
	// PlanNotApprovedReason: it ended without approval.
	PlanNotApprovedReason = "NotApproved"
	// PlanApprovalIgnoredReason: it was approved too late.
	PlanApprovalIgnoredReason = "ApprovalIgnored"
)

// Further reasons of a TerraformPlan's Ready condition; they are its phases.
const (
	// PlanPendingReason: it waits for approval.
	PlanPendingReason = "Pending"
	// PlanAppliedReason: it was applied.
	PlanAppliedReason = "Applied"
	// PlanSupersededReason: it was replaced, or is no longer due.
	PlanSupersededReason = "Superseded"
	// PlanFailedReason: its apply planned something else.
	PlanFailedReason = "Failed"
)

// Reasons of a TerraformClusterIdentity's Ready condition beside SecretNotFoundReason and CredentialsIncompleteReason.
const (
	// SecretFoundReason: the Secret exists and has every required key.
	SecretFoundReason = "SecretFound"
)
