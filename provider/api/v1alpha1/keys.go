package v1alpha1

// Annotations that a user sets (provider-api.md 12).
const (
	// AnnotationRestoreState asks to push the backup with the serial that is its value. Like the three below that approve or
	// abandon, it is for a later release: this one accepts it, warns, and does nothing.
	AnnotationRestoreState = "captf.io/restore-state"
	// AnnotationConfirmNoResources says that the Job that is its value created nothing (B-487).
	AnnotationConfirmNoResources = "captf.io/confirm-no-resources"
	// AnnotationApproveDestructivePlan approves a destructive plan by its inputs hash (B-736).
	AnnotationApproveDestructivePlan = "captf.io/approve-destructive-plan"
	// AnnotationApprovePlan approves a plan by its hash (B-737).
	AnnotationApprovePlan = "captf.io/approve-plan"
	// AnnotationAbandonInfrastructure retains the infrastructure of a deleting object whose UID is its value (B-852).
	AnnotationAbandonInfrastructure = "captf.io/abandon-infrastructure"
	// AnnotationForceUnlock frees the foreign state lock whose ID is its value (B-436).
	AnnotationForceUnlock = "captf.io/force-unlock"
)

// Labels that a user sets.
const (
	// LabelVariables, "true", lets a ConfigMap or Secret be a source of variables (B-312).
	LabelVariables = "captf.io/variables"
	// LabelRunner, "true", lets a ServiceAccount be used by Jobs (B-517).
	LabelRunner = "captf.io/runner"
)

// Annotations and labels that the controllers set on users' objects.
const (
	// AnnotationRemediationRequested is the reason of our own request for remediation, on a Machine (B-711).
	AnnotationRemediationRequested = "captf.io/remediation-requested"
	// LabelManaged, "true", is on every object that the manager makes (B-003).
	LabelManaged = "captf.io/managed"
	// LabelOwnerKind and LabelOwnerName name the object that a Job, Secret or Lease is for; LabelOperation and LabelAttempt
	// say what a Job does (B-002).
	LabelOwnerKind = "captf.infrastructure.cluster.x-k8s.io/owner-kind"
	// LabelOwnerName is the name of the owner, or a hash of it.
	LabelOwnerName = "captf.infrastructure.cluster.x-k8s.io/owner-name"
	// LabelOperation is the Operation of a Job.
	LabelOperation = "captf.infrastructure.cluster.x-k8s.io/op"
	// LabelAttempt is the attempt of a Job, in decimal.
	LabelAttempt = "captf.infrastructure.cluster.x-k8s.io/attempt"
	// LabelMove, with an empty value, lets clusterctl move a Secret.
	LabelMove = "clusterctl.cluster.x-k8s.io/move"
	// LabelRetainedFrom is the UID of the deleted object that retained a Secret (B-851).
	LabelRetainedFrom = "captf.io/retained-from-uid"
	// LabelLease is the kind of one of our Leases: run or cluster (B-212).
	LabelLease = "captf.io/lease"
	// LabelMirrored, "true", is on copies of credentials (B-510).
	LabelMirrored = "captf.io/mirrored"
	// LabelStateBackup, "true", is on backups of a state (B-452).
	LabelStateBackup = "captf.io/state-backup"
	// LabelPlanPhase, LabelPlanReason and LabelDestructive describe a TerraformPlan (B-753).
	LabelPlanPhase = "captf.io/plan-phase"
	// LabelPlanReason is the PlanReason of a TerraformPlan.
	LabelPlanReason = "captf.io/plan-reason"
	// LabelDestructive is "true" on a TerraformPlan that deletes or replaces something, else "false".
	LabelDestructive = "captf.io/destructive"
)

// Annotations of Secrets, Leases and Jobs (provider-api.md 12, provider-ops.md 4.4).
const (
	// AnnotationInputsHash is the hash of the inputs that were applied or recorded.
	AnnotationInputsHash = "captf.io/inputs-hash"
	// AnnotationImage is the reference of the module image, as it was written.
	AnnotationImage = "captf.io/image"
	// AnnotationImageDigest is the digest that the last successful apply ran.
	AnnotationImageDigest = "captf.io/image-digest"
	// AnnotationIdentity is the name of the credentials.
	AnnotationIdentity = "captf.io/identity"
	// AnnotationIdentityKind is Secret, or absent for a TerraformClusterIdentity.
	AnnotationIdentityKind = "captf.io/identity-kind"
	// AnnotationJob is the Job that a record belongs to.
	AnnotationJob = "captf.io/job"
	// AnnotationApplied, "true", tells that an apply ever succeeded (B-367).
	AnnotationApplied = "captf.io/applied"
	// AnnotationMayHaveApplied, "true", tells that the recorded attempt may have changed infrastructure (B-368).
	AnnotationMayHaveApplied = "captf.io/may-have-applied"
	// AnnotationUnconfirmedApply is the apply Job whose outcome is unknown (B-200).
	AnnotationUnconfirmedApply = "captf.io/unconfirmed-apply"
	// AnnotationUnpullableImages is a JSON list of images that could not be pulled (B-173).
	AnnotationUnpullableImages = "captf.io/unpullable-images"
	// AnnotationSourceHash is the hash of the credentials that were copied (B-510).
	AnnotationSourceHash = "captf.io/source-hash"
	// AnnotationLeaseOperation is the operation that a Lease was taken for (B-212).
	AnnotationLeaseOperation = "captf.io/lease-op"
	// AnnotationLeaseAcquired is when a Lease was taken, RFC 3339.
	AnnotationLeaseAcquired = "captf.io/lease-acquired-at"

	// AnnotationBookkept tells that a finished Job was recorded (B-066).
	AnnotationBookkept = "captf.io/bookkept"
	// AnnotationInterrupted tells that a Job was stopped from outside.
	AnnotationInterrupted = "captf.io/interrupted"
	// AnnotationDestructivePlanBlocked tells that a Job stopped before it deleted something.
	AnnotationDestructivePlanBlocked = "captf.io/destructive-plan-blocked"
	// AnnotationPlanChanged tells that a Job planned something else than was approved.
	AnnotationPlanChanged = "captf.io/plan-changed"
	// AnnotationPlanUnreadable tells that a Job made a plan that cannot be read (B-744).
	AnnotationPlanUnreadable = "captf.io/plan-unreadable"
	// AnnotationPlanHash is the hash of the plan that a Job made.
	AnnotationPlanHash = "captf.io/plan-hash"
	// AnnotationDriftRemediation tells that an apply remediates drift.
	AnnotationDriftRemediation = "captf.io/drift-remediation"
	// AnnotationAfterFailedApply tells that a Job was started while the newest apply had failed.
	AnnotationAfterFailedApply = "captf.io/after-failed-apply"
	// AnnotationAfterInterruptedApply is the unconfirmed Job that a Job followed.
	AnnotationAfterInterruptedApply = "captf.io/after-interrupted-apply"
	// AnnotationImageFallbacks is a JSON list of images that a Job may still fall back to (B-174).
	AnnotationImageFallbacks = "captf.io/image-fallbacks"
	// AnnotationImagePullFailed tells that a Job's module image could not be pulled (B-176).
	AnnotationImagePullFailed = "captf.io/image-pull-failed"
	// AnnotationGeneration is the metadata.generation of the object that a Job was made from, of a machine or pool with that
	// of its TerraformCluster after a dot. A Job that cannot start gives way to one of a later generation.
	AnnotationGeneration = "captf.io/generation"
	// AnnotationWithdrawn, "true", tells that it was the manager who suspended a Job, to end it.
	AnnotationWithdrawn = "captf.io/withdrawn"
	// AnnotationRestoreSerial is the serial that a restore Job pushed.
	AnnotationRestoreSerial = "captf.io/restore-serial"
	// AnnotationApprovalHash is the hash that a pool's approval is bound to (B-345).
	AnnotationApprovalHash = "captf.io/approval-hash"
)

// Keys of Cluster API that the provider reads or writes. LabelCluster is also clusterv1.ClusterNameLabel, whose package is a
// lot to carry for a Job's broker; the others have no name in Cluster API's Go packages.
const (
	// LabelCluster is the name of the cluster that an object belongs to.
	LabelCluster = "cluster.x-k8s.io/cluster-name"
	// AnnotationBlockMove keeps clusterctl from moving an object while a Job runs (B-890).
	AnnotationBlockMove = "clusterctl.cluster.x-k8s.io/block-move"
	// AnnotationDeleteForMove is set by clusterctl on what it deletes after a move.
	AnnotationDeleteForMove = "clusterctl.cluster.x-k8s.io/delete-for-move"
)
