package metrics

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/operation"
)

// Type is the type of a metric, as Prometheus calls it.
type Type string

// Types of metrics.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Other is recorded for a value that is not among those of its label.
const Other = "other"

// Label is a label of a metric.
type Label struct {
	Name string
	// Values that it takes, besides Other; nil if they are namespaces or names of objects, or facts of the build.
	Values []string
}

// Family is one metric: all series of one name.
type Family struct {
	// Name starts with captf_.
	Name string
	Type Type
	// Labels in the order of the series' values.
	Labels []Label
	// Unit that is counted or measured.
	Unit string
	// Help is what it tells.
	Help string
	// Buckets are the upper bounds of a histogram.
	Buckets []float64
	// PerObject tells that a series is about one object and is deleted with it.
	PerObject bool
	// FromZero tells that all its series exist from the start, so that alerts see the first thing that is counted.
	FromZero bool
	// Later says what the metric waits for, if nothing records it in this release.
	Later string
}

// label is what makes a Family's label.
func label(name string, values ...string) Label { return Label{Name: name, Values: values} }

// kinds are the values of the label kind.
var kinds = []string{contract.RoleCluster.Kind(), contract.RoleMachine.Kind(), contract.RoleMachinePool.Kind()}

// ops are the values of the label op.
var ops = []string{
	string(infrav1.OperationApply), string(infrav1.OperationDestroy), string(infrav1.OperationRefresh),
	string(infrav1.OperationDrift), string(infrav1.OperationPlan), string(infrav1.OperationRestore),
}

// none is the value of op if a decision starts no operation, and of step if no step failed.
const none = "none"

// steps are the commands of a run (B-599).
var steps = []string{
	"init", "force-unlock", "validate", "plan", "show-json", "apply", "apply-refresh-only", "destroy", "state-push",
	"state-list", "prepare",
}

// Kinds of errors of Jobs that the result document does not have: the Job ran into its deadline, or left no document.
const (
	errorDeadline = "deadline"
	errorUnknown  = "unknown"
)

var errorKinds = []string{
	string(infrav1.RunErrorStep), string(infrav1.RunErrorImageLayout), string(infrav1.RunErrorInterrupted),
	string(infrav1.RunErrorBlocked), string(infrav1.RunErrorPlanChanged), errorDeadline, errorUnknown,
}

var results = []string{
	string(operation.Succeeded), string(operation.Failed), string(operation.Deadline), string(operation.Interrupted),
	string(operation.Blocked), string(operation.PlanChanged),
}

// stateReasons are reasons of StateReadable as values of a label. A state that cannot be told from a lost one counts as lost.
var stateReasons = map[string]string{
	infrav1.StateInconsistentReason:   "inconsistent",
	infrav1.StateEncryptedReason:      "encrypted",
	infrav1.StateCorruptReason:        "corrupt",
	infrav1.StateLostReason:           "lost",
	infrav1.ApplyOutcomeUnknownReason: "lost",
	infrav1.StateLockedReason:         "locked",
}

// waitReasons are reasons of ApplyJobSucceeded and DriftJobSucceeded as values of a label.
var waitReasons = map[string]string{
	infrav1.WaitingForRunLeaseReason:          "run_lease",
	infrav1.WaitingForClusterOperationReason:  "cluster_operation",
	infrav1.WaitingForMachineOperationsReason: "machine_operations",
	infrav1.WaitingForJobSlotReason:           "job_slot",
}

// identityReasons are reasons of IdentityAllowed as values of a label.
var identityReasons = map[string]string{
	infrav1.IdentityNotFoundReason:      "notfound",
	infrav1.SecretNotFoundReason:        "notfound",
	infrav1.CredentialsIncompleteReason: "incomplete",
	infrav1.NamespaceNotAllowedReason:   "namespace",
}

// outputsReasons are the reasons of OutputsValid that say that the outputs break the contract.
var outputsReasons = []string{
	infrav1.OutputsMissingReason, infrav1.OutputsInvalidReason, infrav1.FailureDomainMismatchReason,
	infrav1.ProviderIDChangedReason,
}

// Why an image could not be inspected: values of the label reason of captf_image_inspect_errors_total.
const (
	// InspectRegistry: the registry could not be reached, or did not have the image.
	InspectRegistry = "registry"
	// InspectAuth: the registry did not let us read the image.
	InspectAuth = "auth"
	// InspectRefused: the registry is not among those that may be asked.
	InspectRefused = "refused"
	// InspectTooLarge: the image's config is larger than what is read.
	InspectTooLarge = "too_large"
	// InspectLabel: a label of the image does not hold what it should.
	InspectLabel = "label"
)

// Results of backups: values of the label result of captf_state_backups_total.
const (
	BackupTaken   = "taken"
	BackupPruned  = "pruned"
	BackupSkipped = "skipped"
)

// Actions of remediation: values of the label action of captf_remediation_requests_total.
const (
	RemediationRequested = "requested"
	RemediationWithdrawn = "withdrawn"
)

// decisions are the reasons of decisions: those that are made now, and those of what the provider gains later.
func decisions() []string {
	var out []string
	for _, r := range operation.Reasons() {
		out = append(out, string(r))
	}
	return append(out, "RestoreRequested", "RestoreRequestedBackoff", "DriftRemediation", "DriftRemediationBackoff")
}

// values returns the distinct values of a map, sorted.
func values(m map[string]string) []string {
	s := sets.New[string]()
	for _, v := range m {
		s.Insert(v)
	}
	return sets.List(s)
}

var (
	kindLabel = label("kind", kinds...)
	opLabel   = label("op", ops...)
	object    = []Label{kindLabel, label("namespace"), label("name")}
)

// What some metrics wait for.
const (
	laterRestore   = "restoring a backup of the state"
	laterApprovals = "approval of plans"
)

// Families are all metrics of the provider, in the order of the reference page.
func Families() []Family { return slices.Clone(families) }

var families = []Family{
	{
		Name: "captf_jobs_total", Type: Counter, Unit: "Jobs", FromZero: true,
		Labels: []Label{kindLabel, opLabel, label("result", results...)},
		Help:   "Jobs that have ended.",
	},
	{
		Name: "captf_job_duration_seconds", Type: Histogram, Unit: "seconds",
		Labels:  []Label{kindLabel, opLabel, label("result", results...)},
		Buckets: []float64{15, 30, 60, 120, 300, 600, 900, 1200, 1800, 2700, 3600, 5400, 7200},
		Help:    "Time from the start of a Job to its end.",
	},
	{
		Name: "captf_job_step_duration_seconds", Type: Histogram, Unit: "seconds",
		Labels:  []Label{kindLabel, opLabel, label("step", steps...)},
		Buckets: []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200},
		Help:    "Time that one command of a run took.",
	},
	{
		Name: "captf_job_queue_seconds", Type: Histogram, Unit: "seconds",
		Labels:  []Label{kindLabel, opLabel},
		Buckets: []float64{5, 10, 15, 20, 30, 45, 60, 120, 300, 600, 900, 1800},
		Help: "Time from the creation of a Job to the start of its module's container: scheduling, pulling images, and the " +
			"init containers. Not recorded if the pod does not tell when it started.",
	},
	{
		Name: "captf_job_errors_total", Type: Counter, Unit: "Jobs",
		Labels: []Label{kindLabel, opLabel, label("error_kind", errorKinds...), label("step", append(slices.Clone(steps), none)...)},
		Help:   "Jobs that did not succeed, by what went wrong and the command that failed.",
	},
	{
		Name: "captf_jobs_active", Type: Gauge, Unit: "Jobs",
		Labels: []Label{kindLabel, opLabel},
		Help:   "Jobs that have not ended, counted when the metrics are read.",
	},
	{
		Name: "captf_job_attempts", Type: Histogram, Unit: "attempts",
		Labels:  []Label{kindLabel, opLabel},
		Buckets: []float64{1, 2, 3, 4, 5, 8, 13, 21},
		Help: "Attempts that a successful Job took: 1 and the Jobs of the operation that failed since the last success. Jobs " +
			"that were interrupted, blocked, or whose plan changed, are not counted.",
	},
	{
		Name: "captf_resources_changed_total", Type: Counter, Unit: "resources",
		Labels: []Label{kindLabel, opLabel, label("action", "create", "update", "delete", "import")},
		Help:   "Resources that applies and destroys changed, from the runtime's summary.",
	},
	{
		Name: "captf_reconcile_op_decisions_total", Type: Counter, Unit: "decisions",
		Labels: []Label{kindLabel, label("op", append(slices.Clone(ops), none)...), label("reason", decisions()...)},
		Help:   "What was decided to do next, and why. A reason that ends in Backoff: the operation has to wait after a failure.",
	},
	{
		Name: "captf_state_read_errors_total", Type: Counter, Unit: "states", FromZero: true,
		Labels: []Label{kindLabel, label("reason", values(stateReasons)...)},
		Help: "States that became unreadable. Each is counted once, not again while it stays so; corrupt includes a version " +
			"of the state that is not known, lost an apply whose outcome is not known.",
	},
	{
		Name: "captf_state_resources", Type: Gauge, Unit: "resources", Labels: object, PerObject: true,
		Help: "Managed resources in the state; one with count or for_each is one.",
	},
	{
		Name: "captf_state_bytes", Type: Gauge, Unit: "bytes", Labels: object, PerObject: true,
		Help: "Size of the state as it is stored: compressed, all parts together.",
	},
	{
		Name: "captf_inputs_bytes", Type: Gauge, Unit: "bytes", Labels: object, PerObject: true,
		Help: "Size of the generated root module and its variables; also of those that are too large to be used.",
	},
	{
		Name: "captf_state_backups_total", Type: Counter, Unit: "backups",
		Labels: []Label{kindLabel, label("result", BackupTaken, BackupPruned, BackupSkipped)},
		Help:   "Backups of states. Skipped: the state cannot be read or is too large, or the copy failed.",
	},
	{
		Name: "captf_state_restores_total", Type: Counter, Unit: "restores",
		Labels: []Label{kindLabel, label("result", "succeeded", "failed", "not_found")},
		Help:   "Restores of backups.", Later: laterRestore,
	},
	{
		Name: "captf_outputs_invalid_total", Type: Counter, Unit: "findings",
		Labels: []Label{kindLabel, label("reason", outputsReasons...)},
		Help:   "Outputs that became invalid, by the reason of the condition OutputsValid.",
	},
	{
		Name: "captf_inputs_hash_changes_total", Type: Counter, Unit: "applies",
		Labels: []Label{label("kind", contract.RoleCluster.Kind(), contract.RoleMachinePool.Kind())},
		Help:   "Applies that were started because inputs changed. A machine is applied once.",
	},
	{
		Name: "captf_ready", Type: Gauge, Unit: "1, 0 or -1", Labels: object, PerObject: true,
		Help: "The condition Ready: 1 is True, 0 is False, -1 is Unknown.",
	},
	{
		Name: "captf_infrastructure_healthy", Type: Gauge, Unit: "1, 0 or -1", Labels: object, PerObject: true,
		Help: "The condition InfrastructureHealthy: 1 is True, 0 is False, -1 is Unknown.",
	},
	{
		Name: "captf_drift_detected", Type: Gauge, Unit: "1 or 0", Labels: object, PerObject: true,
		Help: "Whether the condition DriftDetected is True.",
	},
	{
		Name: "captf_drift_resources_total", Type: Counter, Unit: "resources",
		Labels: []Label{kindLabel, label("action", "create", "update", "replace", "delete")},
		Help:   "Resources that drift checks found to differ, by what an apply would do to them.",
	},
	{
		Name: "captf_last_success_timestamp_seconds", Type: Gauge, Unit: "seconds since 1970",
		Labels: append(slices.Clone(object), opLabel), PerObject: true,
		Help: "When the operation last succeeded. Of drift and refresh there is a series only while they are scheduled: not " +
			"while the object is deleted or paused, nor with the checks turned off.",
	},
	{
		Name: "captf_unhealthy_samples", Type: Gauge, Unit: "samples", PerObject: true,
		Labels: []Label{label("namespace"), label("name")},
		Help:   "Readings in a row that found a machine's instance unhealthy.",
	},
	{
		Name: "captf_remediation_requests_total", Type: Counter, Unit: "requests",
		Labels: []Label{label("action", RemediationRequested, RemediationWithdrawn)},
		Help:   "Requests to Cluster API to replace a machine, and requests taken back.",
	},
	{
		Name: "captf_lock_force_unlocks_total", Type: Counter, Unit: "locks", Labels: []Label{kindLabel}, FromZero: true,
		Help: "Locks of states that were broken because their holder was provably gone, or because a user asked for it.",
	},
	{
		Name: "captf_lease_waits_total", Type: Counter, Unit: "waits",
		Labels: []Label{kindLabel, label("reason", values(waitReasons)...)},
		Help:   "Operations that had to wait for others. Each wait is counted once, however long it is.",
	},
	{
		Name: "captf_plan_approvals_total", Type: Counter, Unit: "plans",
		Labels: []Label{kindLabel, label("result", "created", "approved", "applied", "superseded", "failed")},
		Help:   "What became of plans that need approval.", Later: laterApprovals,
	},
	{
		Name: "captf_identity_denied_total", Type: Counter, Unit: "denials",
		Labels: []Label{label("reason", values(identityReasons)...)},
		Help: "Objects that lost, or never had, the use of an identity: it or its Secret is missing, a key is missing, or the " +
			"namespace is not allowed.",
	},
	{
		Name: "captf_image_inspect_errors_total", Type: Counter, Unit: "images",
		Labels: []Label{label("reason", InspectRegistry, InspectAuth, InspectRefused, InspectTooLarge, InspectLabel)},
		Help:   "Images whose config could not be read, or whose labels are not what they should be.",
	},
	{
		Name: "captf_build_info", Type: Gauge, Unit: "1",
		Labels: []Label{label("version"), label("commit"), label("contract")},
		Help:   "The build of the manager, and the versions of the module contract that it knows.",
	},
}
