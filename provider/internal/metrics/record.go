package metrics

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/provider/internal/operation"
)

// Job is a Job that has ended.
type Job struct {
	// Kind of the object, and the Operation.
	Kind, Operation string
	// Result is a value of the label result (operation.Outcome.Result).
	Result string
	// Duration from the start of the Job to its end.
	Duration time.Duration
	// Queued is the time from its creation to the start of the module's container; nil if the pod does not tell.
	Queued *time.Duration
	// Steps are the commands that were run.
	Steps []Step
	// Changes are resources that were changed, by action: create, update, delete, import.
	Changes map[string]int32
	// Drift is what a drift check found, by action: create, update, replace, delete.
	Drift map[string]int32
	// ErrorKind and ErrorStep are the error of the result document; empty if there is none.
	ErrorKind, ErrorStep string
	// Attempts is 1 and the failures since the last success; 0 unless the Job succeeded.
	Attempts int
}

// Step is one command of a run.
type Step struct {
	Name     string
	Duration time.Duration
}

// JobEnded records a Job that has ended. It is called once a Job.
func JobEnded(j Job) {
	s := registered
	s.add("captf_jobs_total", 1, j.Kind, j.Operation, j.Result)
	s.observe("captf_job_duration_seconds", j.Duration.Seconds(), j.Kind, j.Operation, j.Result)
	if j.Queued != nil {
		s.observe("captf_job_queue_seconds", j.Queued.Seconds(), j.Kind, j.Operation)
	}
	for _, step := range j.Steps {
		s.observe("captf_job_step_duration_seconds", step.Duration.Seconds(), j.Kind, j.Operation, step.Name)
	}
	for action, n := range j.Changes {
		if n > 0 {
			s.add("captf_resources_changed_total", float64(n), j.Kind, j.Operation, action)
		}
	}
	for action, n := range j.Drift {
		if n > 0 {
			s.add("captf_drift_resources_total", float64(n), j.Kind, action)
		}
	}
	if j.Attempts > 0 {
		s.observe("captf_job_attempts", float64(j.Attempts), j.Kind, j.Operation)
	}
	if j.Result == string(operation.Succeeded) {
		return
	}
	kind, step := j.ErrorKind, j.ErrorStep
	switch {
	case j.Result == string(operation.Deadline):
		kind = errorDeadline // the runner may have reported that it was interrupted (B-068)
	case kind == "":
		kind = errorUnknown
	}
	if step == "" {
		step = none
	}
	s.add("captf_job_errors_total", 1, j.Kind, j.Operation, kind, step)
}

// Decision records what was decided to do next: the operation, empty for none, and the reason (operation.Reason).
func Decision(kind, op, reason string) {
	if op == "" {
		op = none
	}
	registered.add("captf_reconcile_op_decisions_total", 1, kind, op, reason)
}

// Waited records that an operation has begun to wait, by the reason of the condition that says so.
func Waited(kind, reason string) {
	registered.add("captf_lease_waits_total", 1, kind, translate(waitReasons, reason))
}

// StateUnreadable records that a state has become unreadable, by the reason of StateReadable.
func StateUnreadable(kind, reason string) {
	registered.add("captf_state_read_errors_total", 1, kind, translate(stateReasons, reason))
}

// OutputsInvalid records that outputs have become invalid, by the reason of OutputsValid.
func OutputsInvalid(kind, reason string) {
	registered.add("captf_outputs_invalid_total", 1, kind, reason)
}

// InputsChanged records that an apply was started because the inputs changed.
func InputsChanged(kind string) { registered.add("captf_inputs_hash_changes_total", 1, kind) }

// ForceUnlocked records that a lock was broken.
func ForceUnlocked(kind string) { registered.add("captf_lock_force_unlocks_total", 1, kind) }

// Backup records what became of a backup: BackupTaken, BackupPruned or BackupSkipped.
func Backup(kind, result string) { registered.add("captf_state_backups_total", 1, kind, result) }

// Remediation records RemediationRequested or RemediationWithdrawn; only what really changed a Machine.
func Remediation(action string) { registered.add("captf_remediation_requests_total", 1, action) }

// IdentityDenied records that an object may no longer, or not yet, use its identity, by the reason of IdentityAllowed.
func IdentityDenied(reason string) {
	registered.add("captf_identity_denied_total", 1, translate(identityReasons, reason))
}

// ImageInspectFailed records that an image could not be inspected, by one of the Inspect reasons.
func ImageInspectFailed(reason string) {
	registered.add("captf_image_inspect_errors_total", 1, reason)
}

// BuildInfo records the build of this binary.
func BuildInfo(version, commit string) {
	registered.gauge("captf_build_info", 1, version, commit, strings.Join(versions.Names(), ","))
}

// translate returns the value of a label for a reason of a condition. What is such a value already stays.
func translate(m map[string]string, reason string) string {
	if v, found := m[reason]; found {
		return v
	}
	return reason
}

// ObjectGauges are the gauges of one object.
type ObjectGauges struct {
	kind, namespace, name string
}

// Object returns the gauges of an object. It records nothing by itself.
func Object(kind, namespace, name string) *ObjectGauges {
	return &ObjectGauges{kind: kind, namespace: namespace, name: name}
}

// Forget deletes every series of an object.
func Forget(kind, namespace, name string) {
	o := Object(kind, namespace, name)
	for _, f := range families {
		switch {
		case !f.PerObject:
		case f.Name == lastSuccess:
			for _, op := range ops {
				o.LastSuccess(op, time.Time{})
			}
		case f.Name == unhealthySamples:
			if kind == contract.RoleMachine.Kind() {
				registered.drop(f.Name, namespace, name)
			}
		default:
			registered.drop(f.Name, kind, namespace, name)
		}
	}
}

func (o *ObjectGauges) set(name string, v float64) {
	registered.gauge(name, v, o.kind, o.namespace, o.name)
}

// Ready records the status of Ready.
func (o *ObjectGauges) Ready(status metav1.ConditionStatus) { o.set("captf_ready", number(status)) }

// Healthy records the status of InfrastructureHealthy.
func (o *ObjectGauges) Healthy(status metav1.ConditionStatus) {
	o.set("captf_infrastructure_healthy", number(status))
}

// number is a status as the value of a gauge.
func number(status metav1.ConditionStatus) float64 {
	switch status {
	case metav1.ConditionTrue:
		return 1
	case metav1.ConditionFalse:
		return 0
	default:
		return -1
	}
}

// Drift records whether there is drift.
func (o *ObjectGauges) Drift(detected bool) {
	v := 0.0
	if detected {
		v = 1
	}
	o.set("captf_drift_detected", v)
}

// StateResources records the number of managed resources in the state.
func (o *ObjectGauges) StateResources(n int) { o.set("captf_state_resources", float64(n)) }

// StateBytes records the size of the state as it is stored.
func (o *ObjectGauges) StateBytes(n int) { o.set("captf_state_bytes", float64(n)) }

// InputsBytes records the size of the rendered inputs.
func (o *ObjectGauges) InputsBytes(n int) { o.set("captf_inputs_bytes", float64(n)) }

const unhealthySamples = "captf_unhealthy_samples"

// UnhealthySamples records the readings in a row that found a machine unhealthy; of other kinds nothing is recorded.
func (o *ObjectGauges) UnhealthySamples(n int) {
	if o.kind == contract.RoleMachine.Kind() {
		registered.gauge(unhealthySamples, float64(n), o.namespace, o.name)
	}
}

const lastSuccess = "captf_last_success_timestamp_seconds"

// LastSuccess records when an operation last succeeded. The zero time deletes the series: the operation never succeeded,
// or is not scheduled now.
func (o *ObjectGauges) LastSuccess(op string, at time.Time) {
	if at.IsZero() {
		registered.drop(lastSuccess, o.kind, o.namespace, o.name, op)
		return
	}
	registered.gauge(lastSuccess, float64(at.Unix()), o.kind, o.namespace, o.name, op)
}
