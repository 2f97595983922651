package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// WorkspaceSpec is what TerraformCluster, TerraformMachine and TerraformMachinePool have in common: the module that is
// run, with which credentials, variables and Job settings, and what becomes of its infrastructure on deletion.
type WorkspaceSpec struct {
	// source is the module to run. On a TerraformCluster or TerraformMachinePool another image is another version of
	// the module, applied to the same state. On a TerraformMachine it is immutable.
	// +required
	Source ModuleSource `json:"source,omitempty,omitzero"`

	// identityRef names the credentials that the module runs with. A TerraformMachine or TerraformMachinePool without
	// one uses spec.defaults.identityRef of its TerraformCluster, then the TerraformCluster's own.
	// +optional
	IdentityRef *IdentityReference `json:"identityRef,omitempty"`

	// jobs are settings of the Jobs that run the module. They can be changed at any time.
	// +optional
	Jobs *JobPolicy `json:"jobs,omitempty"`

	// variables are further inputs of the module, by name. A value here wins over every source of variablesFrom. Names
	// that start with captf_, inputs of the contract and Terraform's meta-arguments are refused.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=256
	Variables map[string]apiextensionsv1.JSON `json:"variables,omitempty"`

	// variablesFrom are ConfigMaps and Secrets of the same namespace whose keys become variables. They must carry the
	// label captf.io/variables=true. A later source wins over an earlier one; what comes from a Secret is sensitive.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	VariablesFrom []VariablesSource `json:"variablesFrom,omitempty"`

	// deletionPolicy says what happens to the infrastructure when the object is deleted: Destroy runs the module's
	// destroy; Retain will leave infrastructure and state behind in a later release: in this one it destroys nothing, and the
	// object stays until the policy is Destroy. Unset, a TerraformMachine or TerraformMachinePool uses
	// spec.defaults.deletionPolicy of its TerraformCluster, then the TerraformCluster's own, then Destroy. It can be
	// changed while the object is being deleted.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// adoptRetainedState will let an object take over the state that a deleted object of the same name retained, in a later
	// release. This one adopts nothing.
	// +optional
	AdoptRetainedState *bool `json:"adoptRetainedState,omitempty"`
}

// ModuleSource is a module packed as an OCI image.
type ModuleSource struct {
	// image is the reference of the module image, by tag or by digest. Moving a tag starts nothing; another reference
	// does, where source is mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// imagePullPolicy is that of the container that runs the module; IfNotPresent if unset.
	// +optional
	// +kubebuilder:validation:Enum=IfNotPresent;Always;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
}

// IdentityKind is the kind of object that credentials come from.
// +kubebuilder:validation:Enum=TerraformClusterIdentity;Secret
type IdentityKind string

const (
	// IdentityKindClusterIdentity is a TerraformClusterIdentity, the default.
	IdentityKindClusterIdentity IdentityKind = "TerraformClusterIdentity"
	// IdentityKindSecret is a Secret in the object's own namespace, used as it is.
	IdentityKindSecret IdentityKind = "Secret"
)

// IdentityReference names credentials.
type IdentityReference struct {
	// kind is TerraformClusterIdentity (the default) or Secret, which is a Secret of the object's own namespace.
	// +optional
	Kind IdentityKind `json:"kind,omitempty"`

	// name of the TerraformClusterIdentity or Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// JobPolicy are settings of the Jobs that run a module. A TerraformMachine or TerraformMachinePool takes what it does
// not set from spec.defaults.jobs of its TerraformCluster, then from the TerraformCluster's spec.jobs.
// +kubebuilder:validation:MinProperties=1
type JobPolicy struct {
	// successfulJobsHistoryLimit is how many succeeded Jobs are kept for each operation; 3 if unset. The newest always stays.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	SuccessfulJobsHistoryLimit *int32 `json:"successfulJobsHistoryLimit,omitempty"`

	// failedJobsHistoryLimit is how many failed Jobs are kept for each operation; 3 if unset. The newest stays until the
	// operation succeeds. From this many failures in a row on, retries wait 10 minutes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	FailedJobsHistoryLimit *int32 `json:"failedJobsHistoryLimit,omitempty"`

	// activeDeadlineSeconds is how long a Job may run; 3600 if unset.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	ActiveDeadlineSeconds int32 `json:"activeDeadlineSeconds,omitempty"`

	// lockTimeoutSeconds is how long a run waits for the lock of its state; 300 if unset, 0 does not wait. It must be
	// shorter than the deadline.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	LockTimeoutSeconds *int32 `json:"lockTimeoutSeconds,omitempty"`

	// serviceAccountName is the ServiceAccount of the Jobs; captf-runner, made by the controller, if unset. Another one
	// must exist and carry the label captf.io/runner=true.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// imagePullSecrets are used for the module image and the runner image.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// resources of the container that runs the module; requests of 250m CPU and 512Mi memory and a limit of 2Gi memory
	// if unset. Set, they replace these as a whole.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// env are environment variables of the container that runs the module. Names that start with TF_ or KUBE_ are refused.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Env []corev1.EnvVar `json:"env,omitempty"`

	// securityContext of the container that runs the module is laid over the defaults field by field. All capabilities
	// are always dropped.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`

	// podSecurityContext of the Jobs is laid over the defaults field by field.
	// +optional
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`
}

// VariablesFormat says how the values of a source are read.
// +kubebuilder:validation:Enum=String;JSON
type VariablesFormat string

const (
	// VariablesFormatString takes each value as a string, the default.
	VariablesFormatString VariablesFormat = "String"
	// VariablesFormatJSON parses each value as JSON.
	VariablesFormatJSON VariablesFormat = "JSON"
)

// VariablesSource is a ConfigMap or a Secret whose keys become variables; exactly one of the two is set.
type VariablesSource struct {
	// configMapRef names a ConfigMap of the same namespace.
	// +optional
	ConfigMapRef *VariablesSourceReference `json:"configMapRef,omitempty"`

	// secretRef names a Secret of the same namespace.
	// +optional
	SecretRef *VariablesSourceReference `json:"secretRef,omitempty"`

	// optional lets a source be absent or unlabelled; it then contributes nothing. Unset means false.
	// +optional
	Optional *bool `json:"optional,omitempty"`

	// format is String (the default) or JSON.
	// +optional
	Format VariablesFormat `json:"format,omitempty"`
}

// VariablesSourceReference names a ConfigMap or Secret of the same namespace.
type VariablesSourceReference struct {
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`
}

// DeletionPolicy says what happens to the infrastructure when its object is deleted.
// +kubebuilder:validation:Enum=Destroy;Retain
type DeletionPolicy string

const (
	// DeletionPolicyDestroy destroys the infrastructure.
	DeletionPolicyDestroy DeletionPolicy = "Destroy"
	// DeletionPolicyRetain leaves the infrastructure and its state, in a later release; until then it keeps the object, too.
	DeletionPolicyRetain DeletionPolicy = "Retain"
)

// DriftAction says what is done about drift.
// +kubebuilder:validation:Enum=Report;Remediate
type DriftAction string

const (
	// DriftActionReport reports drift, the default.
	DriftActionReport DriftAction = "Report"
	// DriftActionRemediate applies the module again, in a later release; until then it reports.
	DriftActionRemediate DriftAction = "Remediate"
)

// Operation is what one Job does.
// +kubebuilder:validation:Enum=apply;destroy;drift;refresh;restore;plan
type Operation string

// Operations of a Job (B-001).
const (
	// OperationApply applies the module.
	OperationApply Operation = "apply"
	// OperationDestroy destroys what the state holds.
	OperationDestroy Operation = "destroy"
	// OperationDrift refreshes the state and plans.
	OperationDrift Operation = "drift"
	// OperationRefresh refreshes the state.
	OperationRefresh Operation = "refresh"
	// OperationRestore pushes a backup of the state.
	OperationRestore Operation = "restore"
	// OperationPlan plans and applies nothing.
	OperationPlan Operation = "plan"
)

// WorkspaceStatus is what TerraformCluster, TerraformMachine and TerraformMachinePool report in common. Nothing in it is
// needed to go on: it is built again from the spec, the state, the recorded inputs and the Jobs.
type WorkspaceStatus struct {
	// observedGeneration is the generation that the status was computed for.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// initialization is what Cluster API reads to go on with the object.
	// +optional
	Initialization *InitializationStatus `json:"initialization,omitempty"`

	// activeJob is the Job that runs.
	// +optional
	ActiveJob *ActiveJob `json:"activeJob,omitempty"`

	// lastRun is how the newest finished Job ended.
	// +optional
	LastRun *LastRun `json:"lastRun,omitempty"`

	// lastDriftCheck is when the newest completed drift check ended.
	// +optional
	LastDriftCheck *metav1.Time `json:"lastDriftCheck,omitempty"`

	// lastRefresh is when the infrastructure was last read: by a refresh, a drift check, or an apply whose reading is definite.
	// +optional
	LastRefresh *metav1.Time `json:"lastRefresh,omitempty"`

	// pendingRefreshes counts readings in a row that found the infrastructure pending.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PendingRefreshes int32 `json:"pendingRefreshes,omitempty"`

	// observedStateSerial is the serial of the state that the outputs were read from.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedStateSerial int64 `json:"observedStateSerial,omitempty"`

	// lastRestoredSerial is the serial of the backup that was last restored, or tried to be.
	// +optional
	// +kubebuilder:validation:Minimum=1
	LastRestoredSerial int64 `json:"lastRestoredSerial,omitempty"`

	// stateSecretSuffix is the end of the names of the Secrets that hold the state, for people who look for them.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	StateSecretSuffix string `json:"stateSecretSuffix,omitempty"`

	// stateBackups are the backups of the state, newest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	StateBackups []StateBackup `json:"stateBackups,omitempty"`

	// source is what the last Job ran.
	// +optional
	Source *SourceStatus `json:"source,omitempty"`

	// conditions of the object.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// InitializationStatus is the part of the status that Cluster API's v1beta2 contract names.
// +kubebuilder:validation:MinProperties=1
type InitializationStatus struct {
	// provisioned is true once the infrastructure was first ready. It never becomes false again.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// ActiveJob is a Job that runs.
type ActiveJob struct {
	// name of the Job.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// operation of the Job.
	// +required
	Operation Operation `json:"operation,omitempty"`

	// attempt is the number in the Job's name. It counts the Jobs of the operation that are kept, not its retries.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Attempt int32 `json:"attempt,omitempty"`

	// startTime is when the Job was created.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
}

// LastRun is how a Job ended.
type LastRun struct {
	// job is the name of the Job.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Job string `json:"job,omitempty"`

	// operation of the Job.
	// +required
	Operation Operation `json:"operation,omitempty"`

	// steps are the commands that were run, in order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Steps []RunStep `json:"steps,omitempty"`

	// error is set if the Job failed.
	// +optional
	Error *RunError `json:"error,omitempty"`

	// drift is set if the Job found drift.
	// +optional
	Drift *DriftStatus `json:"drift,omitempty"`
}

// RunStep is one command of a Job.
type RunStep struct {
	// name of the step, such as init, plan or apply.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name,omitempty"`

	// exitCode of the command; 1 if it could not be started or was killed.
	// +required
	ExitCode *int32 `json:"exitCode,omitempty"`

	// durationMilliseconds is how long the command took.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DurationMilliseconds *int64 `json:"durationMilliseconds,omitempty"`
}

// RunErrorKind is the kind of a failure.
// +kubebuilder:validation:Enum=image-layout;step;interrupted;blocked;plan-changed
type RunErrorKind string

// Kinds of failure (B-613).
const (
	// RunErrorImageLayout is an image that is not a module image.
	RunErrorImageLayout RunErrorKind = "image-layout"
	// RunErrorStep is a command that failed.
	RunErrorStep RunErrorKind = "step"
	// RunErrorInterrupted is a run that was stopped from outside.
	RunErrorInterrupted RunErrorKind = "interrupted"
	// RunErrorBlocked is an apply that stopped before it deleted something.
	RunErrorBlocked RunErrorKind = "blocked"
	// RunErrorPlanChanged is an approved apply that planned something else.
	RunErrorPlanChanged RunErrorKind = "plan-changed"
)

// RunError is why a Job failed.
type RunError struct {
	// kind of the failure.
	// +required
	Kind RunErrorKind `json:"kind,omitempty"`

	// step that failed, for kind step.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Step string `json:"step,omitempty"`

	// summary says what went wrong, in at most 512 bytes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Summary string `json:"summary,omitempty"`

	// resources are the resources that failed, each as "<address>: <summary>".
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Resources []string `json:"resources,omitempty"`
}

// DriftStatus is the drift that a Job found. A replacement counts in replace only.
type DriftStatus struct {
	// create is the number of resources that are missing.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Create *int32 `json:"create,omitempty"`

	// update is the number of resources that would be changed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Update *int32 `json:"update,omitempty"`

	// replace is the number of resources that would be replaced.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replace *int32 `json:"replace,omitempty"`

	// delete is the number of resources that would be deleted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Delete *int32 `json:"delete,omitempty"`

	// resources are the addresses of resources that drifted, at most 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Resources []string `json:"resources,omitempty"`
}

// StateBackup is one backup of the state.
type StateBackup struct {
	// serial of the state.
	// +required
	// +kubebuilder:validation:Minimum=1
	Serial int64 `json:"serial,omitempty"`

	// takenAt is when the backup was taken.
	// +required
	TakenAt metav1.Time `json:"takenAt,omitempty,omitzero"`

	// bytes is the compressed size.
	// +required
	// +kubebuilder:validation:Minimum=1
	Bytes int64 `json:"bytes,omitempty"`
}

// SourceStatus is what the last Job ran.
type SourceStatus struct {
	// image is the reference as it was written in the spec.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// imageDigest is the digest that ran, as the node reported it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ImageDigest string `json:"imageDigest,omitempty"`

	// runtimeVersion is the version of the runtime in the image.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	RuntimeVersion string `json:"runtimeVersion,omitempty"`
}

// TemplateStatus is the status of a template whose variables are checked against the schema in its image.
// +kubebuilder:validation:MinProperties=1
type TemplateStatus struct {
	// observedGeneration is the generation that the status was computed for.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions of the template.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// TemplateMetadata are labels and annotations that are copied to what is made from a template.
type TemplateMetadata = clusterv1.ObjectMeta

// DriftPolicy says how often a cluster's infrastructure is compared with its module and what is done about differences.
// +kubebuilder:validation:MinProperties=1
type DriftPolicy struct {
	// intervalSeconds between drift checks. Unset, the manager's --drift-default-interval; 0 turns drift checks off and,
	// with them, reading the health of infrastructure that is provisioned.
	// +optional
	// +kubebuilder:validation:Minimum=0
	IntervalSeconds *int32 `json:"intervalSeconds,omitempty"`

	// action is Report (the default) or Remediate, which will apply the module again in a later release. This one only
	// reports.
	// +optional
	Action DriftAction `json:"action,omitempty"`
}

// RemediationPolicy says when a machine that is not healthy is handed to Cluster API for remediation.
// +kubebuilder:validation:MinProperties=1
type RemediationPolicy struct {
	// annotateMachine sets cluster.x-k8s.io/remediate-machine on the Machine of an unhealthy TerraformMachine. Unset means
	// false. It needs a MachineHealthCheck that selects the Machine.
	// +optional
	AnnotateMachine *bool `json:"annotateMachine,omitempty"`

	// unhealthyThreshold is the number of unhealthy readings in a row that ask for remediation; 3 if unset. A terminated
	// instance asks at once.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	UnhealthyThreshold int32 `json:"unhealthyThreshold,omitempty"`

	// healthCheckIntervalSeconds is how often the health is read while annotateMachine is true; 300 if unset.
	// +optional
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=86400
	HealthCheckIntervalSeconds int32 `json:"healthCheckIntervalSeconds,omitempty"`
}

// PlanReference names the TerraformPlan that waits.
type PlanReference struct {
	// name of the TerraformPlan.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}
