package conditions

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

const (
	normal  = corev1.EventTypeNormal
	warning = corev1.EventTypeWarning
)

// Reasons of events that this package and provider/internal/outputs emit; the rest of the catalogue is emitted by who does
// what it tells, by the name in the catalogue.
const (
	ConditionChangedEvent        = "ConditionChanged"
	ProvisionedEvent             = "Provisioned"
	ControlPlaneEndpointSetEvent = "ControlPlaneEndpointSet"
	FailureDomainsChangedEvent   = "FailureDomainsChanged"
	ProviderIDSetEvent           = "ProviderIDSet"
	ExportsNotPublishedEvent     = "ExportsNotPublished"
	RemediationRequestedEvent    = "RemediationRequested"
	RemediationWithdrawnEvent    = "RemediationWithdrawn"
)

// Events returns every reason of an event (provider-status.md 3). The result must not be changed.
func Events() []EventReason { return eventCatalogue }

func eventRow(reason string) (EventReason, bool) {
	i := slices.IndexFunc(eventCatalogue, func(e EventReason) bool { return e.Reason == reason })
	if i < 0 {
		return EventReason{}, false
	}
	return eventCatalogue[i], true
}

var (
	clusterAndPool = []string{KindCluster, KindMachinePool}
	machineAndPool = []string{KindMachine, KindMachinePool}
)

var eventCatalogue = []EventReason{
	{Reason: ProvisionedEvent, Type: normal, Action: ActionObserve, On: workloads, Doc: "the object is provisioned, for the first time and for good"},
	{Reason: "InputsChanged", Type: normal, Action: ActionReconcile, On: workloads, Doc: "an apply starts because the inputs differ from those of the state"},
	{Reason: ControlPlaneEndpointSetEvent, Type: normal, Action: ActionObserve, On: onlyCluster, Doc: "the module's endpoint became spec.controlPlaneEndpoint"},
	{Reason: FailureDomainsChangedEvent, Type: normal, Action: ActionObserve, On: onlyCluster, Doc: "status.failureDomains changed"},
	{Reason: ProviderIDSetEvent, Type: normal, Action: ActionObserve, On: machineAndPool, Doc: "spec.providerID was written"},
	{Reason: "Paused", Type: normal, Action: ActionReconcile, On: workloads, Doc: "the object or its Cluster was paused"},
	{Reason: "Resumed", Type: normal, Action: ActionReconcile, On: workloads, Doc: "neither is paused any more"},
	{Reason: "OutputsInvalid", Type: warning, Action: ActionObserve, On: workloads, Doc: "the module's outputs break the contract"},
	{Reason: ExportsNotPublishedEvent, Type: warning, Action: ActionObserve, On: onlyCluster, Doc: "the exports are larger than 64 KiB, so status.exports is empty; machines and pools still get them"},
	{Reason: ConditionChangedEvent, Type: normal, Either: true, Action: ActionReconcile, On: []string{"all"}, Doc: "a condition without an event of its own changed its status or reason; a warning when it turned bad"},
	{Reason: "DigestPinned", Type: normal, Action: ActionRun, On: workloads, Doc: "the digest that a successful apply ran was recorded"},
	{Reason: "DigestUnknown", Type: warning, Action: ActionRun, On: workloads, Doc: "no digest could be recorded, or a Job runs the reference of the spec for lack of one"},
	{Reason: "AppliedInputsUnknown", Type: warning, Action: ActionRun, On: workloads, Doc: "an apply succeeded, but no record has its inputs; the older record stays"},
	{Reason: "DestroyInputsMismatch", Type: warning, Action: ActionDelete, On: workloads, Doc: "a destroy uses recorded inputs that are not those of the state"},

	{Reason: "JobCreated", Type: normal, Action: ActionRun, On: workloads, Doc: "a Job was started; the note has operation, attempt, image and why"},
	{Reason: "JobSucceeded", Type: normal, Action: ActionRun, On: workloads, Doc: "an apply, destroy, refresh or drift check succeeded"},
	{Reason: "JobFailed", Type: warning, Action: ActionRun, On: workloads, Doc: "a Job failed, or an apply or destroy could not start"},
	{Reason: "JobDeadlineExceeded", Type: warning, Action: ActionRun, On: workloads, Doc: "a Job ran into its deadline"},
	{Reason: "JobInterrupted", Type: warning, Action: ActionRun, On: workloads, Doc: "a Job was stopped from outside; it is repeated at once"},
	{Reason: "StuckJobDeleted", Type: warning, Action: ActionRun, On: workloads, Doc: "a Job whose inputs were never written was removed"},
	{Reason: "ResultUnreadable", Type: warning, Action: ActionRun, On: workloads, Doc: "a Job's result is not one that the runner writes; the Job counts as one without a result"},
	{Reason: "EnvironmentDropped", Type: warning, Action: ActionRun, On: workloads, Doc: "spec.jobs.env holds names that no module may have; they are left out"},
	{Reason: "ImagePullFallback", Type: warning, Action: ActionRun, On: workloads, Doc: "an image could not be pulled, so the next one that the operation may run is tried"},

	{Reason: "WaitingForRunLease", Type: normal, Action: ActionRun, On: workloads, Doc: "an operation waits for another Job of the object; once a wait"},
	{Reason: "WaitingForJobSlot", Type: normal, Action: ActionRun, On: workloads, Doc: "an operation waits for a free slot; once a wait"},
	{Reason: "WaitingForClusterOperation", Type: normal, Action: ActionRun, On: machineAndPool, Doc: "an operation waits for one of the cluster; once a wait"},
	{Reason: "WaitingForMachineOperations", Type: normal, Action: ActionRun, On: onlyCluster, Doc: "an operation waits for those of machines or pools; once a wait"},

	{Reason: "PlanReady", Type: normal, Action: ActionPlan, On: onlyCluster, Waits: FeaturePlans, Doc: "a plan waits for approval, or is empty and is applied without"},
	{Reason: "PlanApproved", Type: normal, Action: ActionPlan, On: clusterAndPool, Waits: FeaturePlans, Doc: "a plan was approved"},
	{Reason: "PlanApplied", Type: normal, Action: ActionPlan, On: clusterAndPool, Waits: FeaturePlans, Doc: "an approved plan was applied"},
	{Reason: "PlanChanged", Type: warning, Action: ActionPlan, On: onlyCluster, Waits: FeaturePlans, Doc: "an approved apply would have made other changes"},
	{Reason: "PlanSuperseded", Type: normal, Either: true, Action: ActionPlan, On: clusterAndPool, Waits: FeaturePlans, Doc: "a plan was replaced or is no longer due; a warning when it was approved"},
	{Reason: "DestructivePlanBlocked", Type: warning, Action: ActionPlan, On: onlyCluster, Doc: "an apply stopped before it deleted or replaced something"},

	{Reason: "StateAdopted", Type: normal, Action: ActionState, On: workloads, Doc: "the state of a successful apply was taken over with the hash of its inputs"},
	{Reason: "StateBackedUp", Type: normal, Action: ActionState, On: workloads, Doc: "a version of the state was backed up"},
	{Reason: "StateRestored", Type: normal, Action: ActionState, On: workloads, Waits: FeatureRestore, Doc: "a backup is the state again"},
	{Reason: "StateRestoreFailed", Type: warning, Action: ActionState, On: workloads, Waits: FeatureRestore, Doc: "a restore failed"},
	{Reason: "StateLocked", Type: warning, Action: ActionState, On: workloads, Doc: "something that is no Job of the object holds the lock of its state"},
	{Reason: "ForceUnlocked", Type: warning, Action: ActionState, On: workloads, Doc: "a stale lock is broken, or an annotation asked to free a foreign one"},
	{Reason: "StateUnreadable", Type: warning, Action: ActionState, On: workloads, Doc: "the state is corrupt, encrypted or inconsistent"},
	{Reason: "StateLost", Type: warning, Action: ActionState, On: workloads, Doc: "a state that must exist does not, or it is not known whether one must"},
	{Reason: "OwnerReferencesRepaired", Type: normal, Action: ActionState, On: workloads, Doc: "Secrets of the object belong to it again, after a move"},

	{Reason: "DriftDetected", Type: warning, Action: ActionObserve, On: workloads, Doc: "a drift check found differences; once a finding"},
	{Reason: "DriftRemediationStarted", Type: normal, Action: ActionRun, On: clusterAndPool, Waits: FeatureDriftRemediation, Doc: "an apply that takes drift back was started"},
	{Reason: "DriftResolved", Type: normal, Action: ActionObserve, On: workloads, Doc: "the differences are gone"},
	{Reason: "InstanceHealthy", Type: normal, Action: ActionObserve, On: workloads, Doc: "the infrastructure is running and healthy"},
	{Reason: "InstanceUnhealthy", Type: warning, Action: ActionObserve, On: workloads, Doc: "the infrastructure is unhealthy, degraded, stopped or terminated"},
	{Reason: RemediationRequestedEvent, Type: warning, Action: ActionObserve, On: onlyMachine, Doc: "the Machine was marked for replacement"},
	{Reason: RemediationWithdrawnEvent, Type: normal, Action: ActionObserve, On: onlyMachine, Doc: "the mark was taken off because the machine is healthy again"},

	{Reason: "IdentityNotAllowed", Type: warning, Action: ActionCredentials, On: workloads, Doc: "the object may not use its credentials, or they are missing"},
	{Reason: "IdentitySecretFound", Type: normal, Action: ActionCredentials, On: onlyIdentity, Doc: "the Secret of an identity exists and is complete"},
	{Reason: "IdentitySecretNotFound", Type: warning, Action: ActionCredentials, On: onlyIdentity, Doc: "the Secret of an identity does not exist or is incomplete"},
	{Reason: "MirrorCreated", Type: normal, Action: ActionCredentials, On: workloads, Doc: "credentials were copied into the namespace"},
	{Reason: "MirrorRemoved", Type: normal, Action: ActionCredentials, On: workloads, Doc: "the copy was removed: its last user is gone, or it is not allowed any more"},

	{Reason: "DeletionStarted", Type: normal, Action: ActionDelete, On: workloads, Doc: "the object is being deleted"},
	{Reason: "Destroyed", Type: normal, Action: ActionDelete, On: workloads, Doc: "the infrastructure is gone"},
	{Reason: "ExternallyManagedReleased", Type: normal, Action: ActionDelete, On: workloads, Doc: "the finalizer of an object was removed that somebody else manages"},
	{Reason: "FinalizerRemoved", Type: normal, Action: ActionDelete, On: workloads, Doc: "nothing holds the object any more"},
	{Reason: "InfrastructureRetained", Type: normal, Action: ActionDelete, On: workloads, Waits: FeatureRetain, Doc: "the object goes and its infrastructure stays"},
	{Reason: "RetainedStateFound", Type: warning, Action: ActionState, On: workloads, Waits: FeatureRetain, Doc: "a deleted object of the same name retained a state"},
	{Reason: "RetainedStateAdopted", Type: normal, Action: ActionState, On: workloads, Waits: FeatureRetain, Doc: "a retained state belongs to the object now"},

	{Reason: "ReplicasWrittenBack", Type: normal, Action: ActionObserve, On: onlyPool, Waits: FeatureAutoscaling, Doc: "the size that the group has given itself became MachinePool.spec.replicas"},
	{Reason: "ReplicasManagedExternally", Type: warning, Action: ActionObserve, On: onlyPool, Doc: "somebody else claims MachinePool.spec.replicas"},
	{Reason: "CapacityResolved", Type: normal, Action: ActionObserve, On: onlyTemplate, Doc: "what the template's machines offer is known, or changed"},
	{Reason: "ImageInspectFailed", Type: warning, Action: ActionObserve, On: onlyTemplate, Doc: "the template's image could not be read, for the first time"},

	{Reason: "RunStarted", Type: normal, Action: ActionRun, On: workloads, Runner: true, Doc: "a run begins; the note has operation, image and version of the runtime"},
	{Reason: "StepStarted", Type: normal, Action: ActionRun, On: workloads, Runner: true, Doc: "a step begins"},
	{Reason: "StepSucceeded", Type: normal, Action: ActionRun, On: workloads, Runner: true, Doc: "a step ended well"},
	{Reason: "StepFailed", Type: warning, Action: ActionRun, On: workloads, Runner: true, Doc: "a step failed"},
	{Reason: "PlanSummary", Type: normal, Action: ActionRun, On: workloads, Runner: true, Doc: "a plan was read; the note has its counts"},
	{Reason: "ResourcesChanged", Type: normal, Action: ActionRun, On: workloads, Runner: true, Doc: "an apply or destroy finished; the note has its counts"},
	{Reason: "RunFinished", Type: normal, Either: true, Action: ActionRun, On: workloads, Runner: true, Doc: "a run ended; a warning when it failed"},
}
