package conditions

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

const (
	isTrue    = metav1.ConditionTrue
	isFalse   = metav1.ConditionFalse
	isUnknown = metav1.ConditionUnknown
)

// Catalogue returns every type of condition with its reasons (provider-status.md 2); inputs of Ready come in order of
// relevance. The result must not be changed.
func Catalogue() []Type { return catalogue }

func typeRow(name string) (Type, bool) {
	i := slices.IndexFunc(catalogue, func(t Type) bool { return t.Name == name })
	if i < 0 {
		return Type{}, false
	}
	return catalogue[i], true
}

var (
	onlyCluster   = []string{KindCluster}
	onlyMachine   = []string{KindMachine}
	onlyPool      = []string{KindMachinePool}
	onlyIdentity  = []string{KindIdentity}
	onlyPlan      = []string{KindPlan}
	onlyTemplate  = []string{KindMachineTemplate}
	dependents    = []string{KindMachine, KindMachinePool}
	withTemplates = []string{KindMachineTemplate, KindClusterTemplate}
)

var catalogue = []Type{
	{
		Name: infrav1.ReadyCondition, Carriers: slices.Concat(workloads, onlyIdentity, onlyPlan), Polarity: Positive, Ready: SummaryNever,
		Doc: "Whether the object is as it should be. It is the one condition that Cluster API reads. On objects that run modules it sums up " +
			"other conditions, which its message names; on identities and plans it is set directly.",
		Reasons: []Reason{
			{Status: isTrue, Name: infrav1.ReadyReason, Kinds: workloads, Doc: "every input of the summary is as it should be"},
			{Status: isFalse, Name: infrav1.NotReadyReason, Kinds: workloads, Doc: "an input of the summary is in its bad status", Action: "look at the conditions that the message names"},
			{Status: isUnknown, Name: infrav1.ReadyUnknownReason, Kinds: workloads, Doc: "no input is bad, but one is Unknown or missing", Action: "look at the conditions that the message names"},
			{Status: isTrue, Name: infrav1.SecretFoundReason, Kinds: onlyIdentity, Event: "IdentitySecretFound", Doc: "the Secret exists and has every required key"},
			{Status: isFalse, Name: infrav1.SecretNotFoundReason, Kinds: onlyIdentity, Event: "IdentitySecretNotFound", Doc: "the Secret does not exist", Action: "create it, or correct spec.secretRef"},
			{Status: isFalse, Name: infrav1.CredentialsIncompleteReason, Kinds: onlyIdentity, Event: "IdentitySecretNotFound", Doc: "the Secret lacks a required key", Action: "add the keys that the message names"},
			{Status: isTrue, Name: infrav1.PlanPendingReason, Kinds: onlyPlan, Elsewhere: true, Waits: FeaturePlans, Doc: "the plan waits for approval"},
			{Status: isTrue, Name: infrav1.PlanApprovedReason, Kinds: onlyPlan, Elsewhere: true, Waits: FeaturePlans, Doc: "the plan is approved and its apply has not finished"},
			{Status: isTrue, Name: infrav1.PlanAppliedReason, Kinds: onlyPlan, Elsewhere: true, Waits: FeaturePlans, Doc: "the plan's apply succeeded"},
			{Status: isFalse, Name: infrav1.PlanSupersededReason, Kinds: onlyPlan, Elsewhere: true, Waits: FeaturePlans, Doc: "the plan was replaced or is no longer due", Action: "none, look at the plan that took its place"},
			{Status: isFalse, Name: infrav1.PlanFailedReason, Kinds: onlyPlan, Elsewhere: true, Waits: FeaturePlans, Doc: "the plan's apply would have made other changes", Action: "review the new plan"},
		},
	},
	{
		Name: infrav1.DependenciesReadyCondition, Carriers: workloads, Polarity: Positive, Ready: SummaryUntilProvisioned,
		Doc: "Whether everything that the module's inputs are made of is there. It carries the first gate that is not met; while one is not, " +
			"no Job starts and the object is looked at again after 30 seconds.",
		Reasons: []Reason{
			{Status: isTrue, Name: infrav1.DependenciesReadyReason, Doc: "nothing is outstanding"},
			{Status: isUnknown, Name: infrav1.WaitingForOwnerReason, Doc: "there is no owner yet, or the Cluster that the label names does not exist", Action: "let a Cluster, Machine or MachinePool refer to the object; if one does, look at the log of Cluster API's controllers"},
			{Status: isUnknown, Name: infrav1.WaitingForOwnerMachineReason, Kinds: onlyMachine, Doc: "a control plane owns the machine, but no Machine does yet", Action: "look at what keeps the control plane from making its Machine"},
			{Status: isUnknown, Name: infrav1.WaitingForOwnerMachinePoolReason, Kinds: onlyPool, Doc: "the pool has owners, but none is a MachinePool", Action: "let a MachinePool refer to the object"},
			{Status: isFalse, Name: infrav1.OwnerNotFoundReason, Doc: "the owner does not exist any more", Action: "delete the object, or restore its owner"},
			{Status: isFalse, Name: infrav1.OwnerMismatchReason, Doc: "the owner does not refer back to the object, has another UID, or belongs to another cluster", Action: "correct the reference that the message names"},
			{Status: isFalse, Name: infrav1.ClusterNotTerraformReason, Kinds: dependents, Doc: "the Cluster's infrastructure is of another kind", Action: "use machines of the Cluster's own infrastructure provider"},
			{Status: isUnknown, Name: infrav1.WaitingForClusterInfrastructureReason, Kinds: dependents, Doc: "the infrastructure of the Cluster is not provisioned yet", Action: "look at the conditions of the TerraformCluster"},
			{Status: isUnknown, Name: infrav1.WaitingForClusterExportsReason, Kinds: dependents, Doc: "the cluster's exports cannot be read, or hold a number with a fraction or exponent", Action: "let the cluster's module export whole numbers only"},
			{Status: isUnknown, Name: infrav1.WaitingForBootstrapDataReason, Kinds: dependents, Doc: "the bootstrap provider has not made its Secret yet", Action: "look at the bootstrap config; where there is none, make the Secret that the owner names"},
			{Status: isFalse, Name: infrav1.VariablesSourceNotFoundReason, Doc: "a source in spec.variablesFrom does not exist or lacks the label captf.io/variables=true", Action: "create and label it, or mark the entry optional"},
			{Status: isFalse, Name: infrav1.VariablesInvalidReason, Doc: "a variable has a name that cannot be set, a value that cannot be read, or does not fit the variables schema of the image", Action: "correct the variables that the message names"},
		},
	},
	{
		Name: infrav1.IdentityAllowedCondition, Carriers: workloads, Polarity: Positive, Ready: SummaryUntilProvisioned,
		Doc: "Whether the object may use its credentials. While it is not True no Job starts. It keeps its value while a Job runs.",
		Reasons: []Reason{
			{Status: isTrue, Name: infrav1.IdentityAllowedReason, Doc: "the identity exists, allows the namespace, and its Secret is complete"},
			{Status: isTrue, Name: infrav1.LocalSecretReason, Doc: "the object names a Secret of its own namespace, which exists"},
			{Status: isFalse, Name: infrav1.IdentityNotFoundReason, Event: "IdentityNotAllowed", Doc: "no identity is named, or the named one does not exist", Action: "create it, or correct identityRef"},
			{Status: isFalse, Name: infrav1.NamespaceNotAllowedReason, Event: "IdentityNotAllowed", Doc: "the identity does not allow the namespace; its copy there is removed", Action: "add the namespace to the identity's allowedNamespaces"},
			{Status: isFalse, Name: infrav1.SecretNotFoundReason, Event: "IdentityNotAllowed", Doc: "the Secret with the credentials does not exist", Action: "create it"},
			{Status: isFalse, Name: infrav1.CredentialsIncompleteReason, Event: "IdentityNotAllowed", Doc: "the Secret lacks a required key", Action: "add the keys that the message names"},
			{Status: isUnknown, Name: infrav1.IdentityCheckFailedReason, Doc: "the API could not be asked; the check is repeated", Action: "none, it is repeated; if it lasts, look at the log of the manager"},
		},
	},
	{
		Name: infrav1.CredentialsMirroredCondition, Carriers: workloads, Polarity: Positive, Ready: SummaryUntilProvisioned,
		Doc: "Whether the namespace holds a current copy of the credentials. It keeps its value while a Job runs.",
		Reasons: []Reason{
			{Status: isTrue, Name: infrav1.MirroredReason, Doc: "the copy is current, or none is needed because the Secret is local"},
			{Status: isFalse, Name: infrav1.MirrorFailedReason, Doc: "the copy cannot be written, or a Secret that is not ours has its name", Action: "rename or remove the Secret that the message names"},
			{Status: isUnknown, Name: infrav1.MirrorPendingReason, Doc: "there is no copy yet, or the object may not use its credentials", Action: "look at IdentityAllowed"},
		},
	},
	{
		Name: infrav1.RunnerRBACReadyCondition, Carriers: workloads, Polarity: Positive, Ready: SummaryUntilProvisioned,
		Doc: "Whether Jobs of the namespace have their ServiceAccount and its rights. It keeps its value while a Job runs.",
		Reasons: []Reason{
			{Status: isTrue, Name: infrav1.RBACReadyReason, Doc: "ServiceAccount and RoleBinding are in place"},
			{Status: isFalse, Name: infrav1.RBACFailedReason, Doc: "they cannot be made, for example because a RoleBinding of that name is not ours", Action: "remove or rename the object that the message names"},
			{Status: isFalse, Name: infrav1.ServiceAccountNotOptedInReason, Doc: "jobs.serviceAccountName names a ServiceAccount that does not exist or lacks the label captf.io/runner=true", Action: "create and label it"},
		},
	},
	{
		Name: infrav1.ApplyJobSucceededCondition, Carriers: workloads, Polarity: Positive, Ready: SummaryPoolAlways,
		Doc: "How the newest apply, plan or destroy ended, and why one waits or cannot start. A running apply keeps the value of the one before.",
		Reasons: slices.Concat([]Reason{
			{Status: isTrue, Name: infrav1.ApplySucceededReason, Elsewhere: true, Event: "JobSucceeded", Doc: "the newest apply succeeded"},
			{Status: isTrue, Name: infrav1.DestroySucceededReason, Elsewhere: true, Event: "JobSucceeded", Doc: "the destroy succeeded; what is left is cleaned up"},
			{Status: isFalse, Name: infrav1.ApplyFailedReason, Elsewhere: true, Event: "JobFailed", Doc: "the newest apply failed, ended without a result, or vanished", Action: "mend the cause, which the message and the Job's log tell; it is retried by itself"},
			{Status: isFalse, Name: infrav1.DestroyFailedReason, Elsewhere: true, Event: "JobFailed", Doc: "the destroy failed, or there is no record of inputs to destroy with", Action: "mend the cause, which the message and the Job's log tell; it is retried by itself"},
			{Status: isFalse, Name: infrav1.DestructivePlanBlockedReason, Kinds: onlyCluster, Elsewhere: true, Event: "DestructivePlanBlocked", Doc: "an apply stopped before it deleted or replaced something", Action: "read which resources the message names, and change the inputs so that nothing is deleted; plans cannot be approved yet"},
			{Status: isFalse, Name: infrav1.IdentityNotAllowedReason, Event: "JobFailed", Doc: "a destroy cannot start because the object may not use its credentials any more", Action: "let the identity allow the namespace again"},
			{Status: isFalse, Name: infrav1.ImageInvalidReason, Elsewhere: true, Event: "JobFailed", Doc: "the image is no module image", Action: "correct spec.source.image, or build the image as the image contract says"},
			{Status: isFalse, Name: infrav1.ImagePullFailedReason, Doc: "the image cannot be pulled", Action: "push the image, add a pull secret, or correct spec.source.image"},
			{Status: isFalse, Name: infrav1.JobNotStartedReason, Doc: "the pod of the Job does not start: a Secret or ConfigMap is missing, a container cannot be made, there is no room for it, or somebody suspended the Job", Action: "mend what the message names; a change of the spec makes a new Job"},
			{Status: isFalse, Name: infrav1.InputsTooLargeReason, Event: "JobFailed", Doc: "the rendered inputs have more than 1,000,000 bytes", Action: "shorten variables, exports or the bootstrap payload"},
			{Status: isFalse, Name: infrav1.JobDeadlineExceededReason, Elsewhere: true, Event: "JobDeadlineExceeded", Doc: "the Job ran into its deadline", Action: "raise jobs.activeDeadlineSeconds; look for a held state lock"},
			{Status: isFalse, Name: infrav1.JobPolicyInvalidReason, Event: "JobFailed", Doc: "the lock timeout is not shorter than the deadline, once the policies of object and cluster are merged", Action: "correct the policy that the message names"},
			{Status: isUnknown, Name: infrav1.NoApplyYetReason, Doc: "no apply has finished yet", Action: "none, the first apply is on its way"},
			{Status: isUnknown, Name: infrav1.PlanAwaitingApprovalReason, Kinds: onlyCluster, Elsewhere: true, Event: "PlanReady", Waits: FeaturePlans, Doc: "a plan waits for approval", Action: "review and approve the plan that the message names"},
			{Status: isUnknown, Name: infrav1.PlanChangedReason, Kinds: onlyCluster, Elsewhere: true, Event: "PlanChanged", Waits: FeaturePlans, Doc: "an approved apply would have made other changes", Action: "review and approve the new plan"},
		}, waits("")),
	},
	{
		Name: infrav1.StateReadableCondition, Carriers: workloads, Polarity: Positive, Ready: SummaryUntilProvisioned,
		Doc: "Whether the state can be read. While it is False no Job starts and a deletion is held, except with StateLocked; it is looked at again after a minute.",
		Reasons: []Reason{
			{Status: isTrue, Name: infrav1.StateReadReason, Doc: "the state was read"},
			{Status: isUnknown, Name: infrav1.StateNotFoundReason, Doc: "there is no state yet, and nothing speaks for there having been one", Action: "none, the first apply makes it"},
			{Status: isFalse, Name: infrav1.StateCorruptReason, Event: "StateUnreadable", Doc: "the Secret holds no state, one that is too large, or one of another version", Action: "put a good state back"},
			{Status: isFalse, Name: infrav1.StateEncryptedReason, Event: "StateUnreadable", Doc: "the runtime encrypted the state", Action: "turn encryption off in the module and put a plain state back"},
			{Status: isFalse, Name: infrav1.StateInconsistentReason, Event: "StateUnreadable", Doc: "a part of the state is missing, twice there, or not named like one", Action: "put the missing part back"},
			{Status: isFalse, Name: infrav1.StateLockedReason, Event: "StateLocked", Doc: "something that is no Job of this object holds the lock", Action: "end that run, or run the command in the message"},
			{Status: isFalse, Name: infrav1.StateLostReason, Event: "StateLost", Doc: "infrastructure was made and its state is gone, or is not marked as that of a successful apply", Action: "put the state Secrets back, or store a backup that the message names with runner state push; in a namespace that is being deleted neither can be done: do what the message says"},
			{Status: isFalse, Name: infrav1.ApplyOutcomeUnknownReason, Event: "StateLost", Doc: "there is no state, and an apply ended without telling whether it made something", Action: "look in the cloud; if there is nothing, set the annotation that the message shows"},
			{Status: isFalse, Name: infrav1.RetainedStateFoundReason, Event: "RetainedStateFound", Waits: FeatureRetain, Doc: "a deleted object of the same name retained a state", Action: "set spec.adoptRetainedState, or delete its Secrets"},
		},
	},
	{
		Name: infrav1.OutputsValidCondition, Carriers: workloads, Polarity: Positive, Ready: SummaryUntilProvisioned,
		Doc: "Whether the module's outputs keep the contract. The first reason that applies, in this order, is the one; the message lists every problem. While it is False, what was read before stays in spec and status.",
		Reasons: []Reason{
			{Status: isFalse, Name: infrav1.OutputsMissingReason, Event: "OutputsInvalid", Doc: "the module does not declare an output of the contract", Action: "add the output to the module"},
			{Status: isFalse, Name: infrav1.OutputsInvalidReason, Event: "OutputsInvalid", Doc: "an output has another shape than the contract, or is outside its limits", Action: "correct the output in the module"},
			{Status: isFalse, Name: infrav1.FailureDomainMismatchReason, Kinds: onlyMachine, Event: "OutputsInvalid", Doc: "the machine is in another failure domain than was asked for", Action: "place the instance where the input says"},
			{Status: isFalse, Name: infrav1.ProviderIDChangedReason, Kinds: onlyMachine, Event: "OutputsInvalid", Doc: "the provider id is another one than the machine has", Action: "replace the Machine instead of its instance"},
			{Status: isUnknown, Name: infrav1.OutputsPendingReason, Doc: "an output that is needed is null, or there is no state of a successful apply yet", Action: "none while the infrastructure is being made; if it lasts, let the module give the output that the message names"},
			{Status: isTrue, Name: infrav1.InstancesTruncatedReason, Kinds: onlyPool, Doc: "the pool has more instances than the status holds; the provider ids are complete"},
			{Status: isTrue, Name: infrav1.OutputsValidReason, Doc: "the outputs keep the contract"},
		},
	},
	{
		Name: infrav1.InfrastructureHealthyCondition, Carriers: workloads, Polarity: Positive, Ready: SummaryAlways,
		Doc: "The health that the module reports: how the cloud sees the infrastructure.",
		Reasons: []Reason{
			{Status: isTrue, Name: infrav1.HealthyReason, Event: "InstanceHealthy", Doc: "running and healthy"},
			{Status: isFalse, Name: infrav1.InstancePendingReason, Progress: true, Doc: "being made; it is read again soon", Action: "none, it is read again"},
			{Status: isFalse, Name: infrav1.InstanceUnhealthyReason, Event: "InstanceUnhealthy", Doc: "running, but not healthy", Action: "look at it in the cloud"},
			{Status: isFalse, Name: infrav1.InstanceDegradedReason, Event: "InstanceUnhealthy", Doc: "partly working", Action: "look at it in the cloud"},
			{Status: isFalse, Name: infrav1.InstanceStoppedReason, Event: "InstanceUnhealthy", Doc: "stopped", Action: "start it, or replace it"},
			{Status: isFalse, Name: infrav1.InstanceTerminatedReason, Event: "InstanceUnhealthy", Doc: "gone; of a machine also when two readings in a row had no provider id", Action: "delete the Machine, or let a MachineHealthCheck replace it"},
			{Status: isFalse, Name: infrav1.ProvisioningReason, Progress: true, Doc: "the first apply has started and none has succeeded yet", Action: "none, it ends with the first apply that succeeds"},
			{Status: isUnknown, Name: infrav1.HealthUnknownReason, Doc: "the module does not know, or its output cannot be read", Action: "let the module's output health tell a state"},
			{Status: isUnknown, Name: infrav1.ProviderIDMissingReason, Kinds: onlyMachine, Doc: "one reading of a provisioned machine had no provider id", Action: "none, the next reading decides"},
			{Status: isUnknown, Name: infrav1.WaitingForProvisioningReason, Doc: "no apply has started yet", Action: "none, the first apply is on its way"},
		},
	},
	{
		Name: infrav1.DeletingCondition, Carriers: workloads, Polarity: Negative, Ready: SummaryAlways,
		Doc: "Whether the object is being deleted, and what the deletion waits for.",
		Reasons: []Reason{
			{Status: isTrue, Name: infrav1.DeletingReason, Event: "DeletionStarted", Doc: "it is; the message says what it waits for", Action: "look at what the message names"},
			{Status: isTrue, Name: infrav1.DeletionPolicyUnresolvedReason, Kinds: dependents, Doc: "it is, sets no policy, and its TerraformCluster does not exist", Action: "set spec.deletionPolicy"},
			{Status: isFalse, Name: infrav1.NotDeletingReason, Doc: "it is not"},
		},
	},
	{
		Name: infrav1.InputsAppliedCondition, Carriers: workloads, Polarity: Positive, Ready: SummaryNever, Silent: true,
		Doc: "Whether the current inputs are applied; for tools that wait until a change has landed. Frozen while the object is deleted or paused. A machine keeps True once it is applied.",
		Reasons: []Reason{
			{Status: isTrue, Name: infrav1.InputsAppliedReason, Doc: "they are, and no apply is due"},
			{Status: isFalse, Name: infrav1.ApplyPendingReason, Doc: "they are not, and no Job runs", Action: "look at ApplyJobSucceeded for what the apply waits for"},
			{Status: isFalse, Name: infrav1.AwaitingApprovalReason, Kinds: []string{KindCluster, KindMachinePool}, Waits: FeaturePlans, Doc: "a plan waits for approval", Action: "review and approve the plan"},
			{Status: isFalse, Name: infrav1.ApplyRunningReason, Doc: "an apply runs", Action: "none, it runs"},
			{Status: isFalse, Name: infrav1.InputsApplyFailedReason, Doc: "the last apply failed and none has succeeded since", Action: "look at ApplyJobSucceeded"},
			{Status: isUnknown, Name: infrav1.InputsUnavailableReason, Doc: "the inputs cannot be built", Action: "look at DependenciesReady"},
		},
	},
	{
		Name: infrav1.RestoreJobSucceededCondition, Carriers: workloads, Polarity: Positive, Ready: SummaryNever,
		Doc: "How the last restore of a backup ended; absent until one was asked for.",
		Reasons: slices.Concat([]Reason{
			{Status: isTrue, Name: infrav1.StateRestoredReason, Elsewhere: true, Event: "StateRestored", Waits: FeatureRestore, Doc: "the backup is the state again"},
			{Status: isFalse, Name: infrav1.RestoreBackupNotFoundReason, Waits: FeatureRestore, Doc: "the annotation names no complete backup", Action: "name a serial of status.stateBackups"},
			{Status: isFalse, Name: infrav1.RestoreFailedReason, Elsewhere: true, Event: "StateRestoreFailed", Waits: FeatureRestore, Doc: "the Job failed or ran into its deadline; the same serial is not tried again", Action: "read the message and the Job's log, then ask for another serial"},
		}, waits(FeatureRestore)),
	},
	{
		Name: infrav1.DriftJobSucceededCondition, Carriers: workloads, Polarity: Positive, Ready: SummaryNever,
		Doc: "How the newest refresh or drift check ended.",
		Reasons: []Reason{
			{Status: isTrue, Name: infrav1.DriftCheckedReason, Elsewhere: true, Event: "JobSucceeded", Doc: "it succeeded"},
			{Status: isFalse, Name: infrav1.DriftJobFailedReason, Elsewhere: true, Event: "JobFailed", Doc: "it failed; it is retried", Action: "read the message and the Job's log"},
			{Status: isFalse, Name: infrav1.DriftJobDeadlineExceededReason, Elsewhere: true, Event: "JobDeadlineExceeded", Doc: "it ran into its deadline", Action: "raise jobs.activeDeadlineSeconds; look for a held state lock"},
			{Status: isFalse, Name: infrav1.ImagePullFailedReason, Doc: "its image cannot be pulled", Action: "push the image again"},
			{Status: isFalse, Name: infrav1.JobNotStartedReason, Doc: "the pod of the Job does not start: a Secret or ConfigMap is missing, a container cannot be made, there is no room for it, or somebody suspended the Job", Action: "mend what the message names; a change of the spec makes a new Job"},
			{Status: isUnknown, Name: infrav1.DriftJobRunningReason, Elsewhere: true, Event: "JobCreated", Doc: "it runs", Action: "none, it runs"},
			{Status: isUnknown, Name: infrav1.DriftNotCheckedReason, Doc: "there was none yet, or they are turned off", Action: "none, a check comes when it is due, unless checks are turned off"},
			{Status: isUnknown, Name: infrav1.DurableInputsMissingReason, Doc: "one is due, but there is no record of inputs and none can be made", Action: "none for a machine; else look at DependenciesReady"},
			{Status: isUnknown, Name: infrav1.WaitingForRunLeaseReason, Event: "WaitingForRunLease", Doc: "another Job of the object holds its Lease", Action: "none, it starts when the other Job has ended"},
			{Status: isUnknown, Name: infrav1.WaitingForJobSlotReason, Event: "WaitingForJobSlot", Doc: "the limit of Jobs is reached; background Jobs start below four fifths of it", Action: "none, it starts when others have ended; raise --max-active-jobs or the cluster's spec.maxActiveJobs if this lasts"},
		},
	},
	{
		Name: infrav1.DriftDetectedCondition, Carriers: workloads, Polarity: Negative, Ready: SummaryNever,
		Doc: "Whether the last drift check found differences between the infrastructure and the module. Imports, moves and changes of outputs alone are none.",
		Reasons: []Reason{
			{Status: isTrue, Name: infrav1.DriftReportedReason, Elsewhere: true, Event: "DriftDetected", Doc: "it did", Action: "read status.lastRun.drift"},
			{Status: isTrue, Name: infrav1.DriftPendingReason, Kinds: []string{KindCluster, KindMachinePool}, Elsewhere: true, Event: "DriftDetected", Waits: FeatureDriftRemediation, Doc: "it did, and an apply that takes it back is due or has failed", Action: "look at ApplyJobSucceeded"},
			{Status: isTrue, Name: infrav1.DriftRemediatingReason, Kinds: []string{KindCluster, KindMachinePool}, Elsewhere: true, Event: "DriftRemediationStarted", Waits: FeatureDriftRemediation, Doc: "it did, and an apply that takes it back runs", Action: "none, it runs"},
			{Status: isFalse, Name: infrav1.NoDriftReason, Event: "DriftResolved", From: isTrue, Doc: "it did not"},
			{Status: isUnknown, Name: infrav1.DriftNotCheckedReason, Doc: "there was no check yet", Action: "none, a check comes when it is due, unless checks are turned off"},
		},
	},
	{
		Name: infrav1.PausedCondition, Carriers: workloads, Polarity: Neutral, Ready: SummaryNever,
		Doc: "Whether the object or its Cluster is paused: finished Jobs are recorded, nothing new starts.",
		Reasons: []Reason{
			{Status: isTrue, Name: infrav1.PausedReason, Event: "Paused", Doc: "it is"},
			{Status: isFalse, Name: infrav1.NotPausedReason, Event: "Resumed", From: isTrue, Doc: "it is not"},
		},
	},
	{
		Name: infrav1.DeletionBlockedCondition, Carriers: onlyCluster, Polarity: Negative, Ready: SummaryNever,
		Doc: "Whether the deletion of a cluster waits for its machines and pools.",
		Reasons: []Reason{
			{Status: isTrue, Name: infrav1.DependentsExistReason, Doc: "it does; the message names some of them", Action: "look at the machines and pools that the message names"},
			{Status: isFalse, Name: infrav1.NotBlockedReason, Doc: "it does not"},
		},
	},
	{
		Name: infrav1.EndpointAvailableCondition, Carriers: onlyCluster, Polarity: Positive, Ready: SummaryNever,
		Doc: "Whether a provisioned cluster has a control-plane endpoint; absent before. It holds nothing back here, but control-plane providers make no Machine without one.",
		Reasons: []Reason{
			{Status: isTrue, Name: infrav1.EndpointAvailableReason, Doc: "it has one"},
			{Status: isFalse, Name: infrav1.WaitingForEndpointReason, Doc: "neither the module nor the Cluster gives one", Action: "emit control_plane_endpoint from the module, or set Cluster.spec.controlPlaneEndpoint"},
		},
	},
	{
		Name: infrav1.AutoscalingActiveCondition, Carriers: onlyPool, Polarity: Positive, Ready: SummaryNever,
		Doc: "Whether the scaling group decides on its own size.",
		Reasons: []Reason{
			{Status: isTrue, Name: infrav1.ReplicasManagedByModuleReason, Doc: "it does, within the limits of the MachinePool's annotations"},
			{Status: isFalse, Name: infrav1.AutoscalingDisabledReason, Progress: true, Doc: "the MachinePool has no autoscaler annotations, so its spec.replicas decides", Action: "none, unless the group should decide"},
			{Status: isFalse, Name: infrav1.AutoscalingAnnotationsInvalidReason, Doc: "the annotations cannot be used, so spec.replicas decides", Action: "correct the annotations that the message names"},
			{Status: isFalse, Name: infrav1.ReplicasManagedExternallyReason, Event: "ReplicasManagedExternally", Doc: "somebody else claims spec.replicas", Action: "remove the annotation that the message names"},
		},
	},
	{
		Name: infrav1.CapacityResolvedCondition, Carriers: onlyTemplate, Polarity: Positive, Ready: SummaryNever,
		Doc: "Whether it is known what the template's machines offer, for scaling from zero.",
		Reasons: []Reason{
			{Status: isTrue, Name: infrav1.CapacityResolvedReason, Elsewhere: true, Event: "CapacityResolved", Doc: "it is"},
			{Status: isTrue, Name: infrav1.CapacityNotDeclaredReason, Doc: "neither template nor image say"},
			{Status: isFalse, Name: infrav1.CapacityLabelInvalidReason, Doc: "the image's label cannot be read", Action: "correct the label and push the image under another tag"},
			{Status: isFalse, Name: infrav1.ImageInspectFailedReason, Elsewhere: true, Event: "ImageInspectFailed", Doc: "the image cannot be read; it is retried", Action: "push the image, or let the manager reach its registry"},
		},
	},
	{
		Name: infrav1.VariablesValidCondition, Carriers: withTemplates, Polarity: Positive, Ready: SummaryNever,
		Doc: "Whether the template's variables fit the variables schema of its image.",
		Reasons: []Reason{
			{Status: isTrue, Name: infrav1.VariablesValidReason, Doc: "they do"},
			{Status: isTrue, Name: infrav1.VariablesSchemaNotDeclaredReason, Doc: "the image declares no schema, so the module itself will judge"},
			{Status: isFalse, Name: infrav1.VariablesRejectedReason, Doc: "they do not", Action: "correct the variables that the message names"},
			{Status: isUnknown, Name: infrav1.VariablesSourcePendingReason, Doc: "a source of variables does not exist or is not labelled", Action: "create the source, and label it captf.io/variables=true"},
			{Status: isUnknown, Name: infrav1.VariablesSchemaUnavailableReason, Doc: "the image cannot be read; it is retried", Action: "push the image, or let the manager reach its registry"},
		},
	},
	{
		Name: infrav1.PlanApprovedCondition, Carriers: onlyPlan, Polarity: Neutral, Ready: SummaryNever,
		Doc: "Whether a plan is approved.",
		Reasons: []Reason{
			{Status: isTrue, Name: infrav1.PlanApprovedReason, Elsewhere: true, Event: "PlanApproved", Waits: FeaturePlans, Doc: "it is"},
			{Status: isFalse, Name: infrav1.PlanPendingReason, Elsewhere: true, Waits: FeaturePlans, Doc: "not yet"},
			{Status: isFalse, Name: infrav1.PlanNotApprovedReason, Elsewhere: true, Waits: FeaturePlans, Doc: "it ended without"},
			{Status: isFalse, Name: infrav1.PlanApprovalIgnoredReason, Elsewhere: true, Waits: FeaturePlans, Doc: "it was approved after it was no longer due"},
		},
	},
}

// waits are the reasons why an operation waits for others; all conditions of operations that change infrastructure share them.
func waits(feature Feature) []Reason {
	return []Reason{
		{Status: isUnknown, Name: infrav1.WaitingForClusterOperationReason, Kinds: dependents, Event: "WaitingForClusterOperation", Waits: feature, Doc: "an apply, destroy or restore of the cluster runs or waits", Action: "none, it starts when the Job that the message names has ended"},
		{Status: isUnknown, Name: infrav1.WaitingForMachineOperationsReason, Kinds: onlyCluster, Event: "WaitingForMachineOperations", Waits: feature, Doc: "applies, destroys or restores of machines or pools run", Action: "none, it starts when the Jobs that the message names have ended"},
		{Status: isUnknown, Name: infrav1.WaitingForRunLeaseReason, Event: "WaitingForRunLease", Waits: feature, Doc: "another Job holds the Lease, or another manager took it first", Action: "none, it starts when the other Job has ended"},
		{Status: isUnknown, Name: infrav1.WaitingForJobSlotReason, Event: "WaitingForJobSlot", Waits: feature, Doc: "the limit of Jobs of the manager or of the cluster is reached", Action: "none, it starts when others have ended; raise --max-active-jobs or the cluster's spec.maxActiveJobs if this lasts"},
	}
}
