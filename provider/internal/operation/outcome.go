package operation

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// Outcome is how a Job ended.
type Outcome string

// Outcomes of a Job.
const (
	// Succeeded: it did what it was for.
	Succeeded Outcome = "succeeded"
	// Failed: a step failed, the image is not a module image, or nothing is known about why.
	Failed Outcome = "failed"
	// Deadline: it ran into its deadline, even if the runner could still report that it was interrupted (B-068).
	Deadline Outcome = "deadline"
	// Interrupted: it was stopped from outside, and is simply run again (B-192).
	Interrupted Outcome = "interrupted"
	// Blocked: it stopped before it deleted or replaced something (B-731).
	Blocked Outcome = "blocked"
	// PlanChanged: it planned something else than was approved (B-741).
	PlanChanged Outcome = "plan_changed"
	// PullFailed: its module image could not be pulled (B-176).
	PullFailed Outcome = "pull_failed"
)

// Failure tells that the outcome counts for the wait before the next try (B-191, B-192).
func (o Outcome) Failure() bool { return o == Failed || o == Deadline || o == PullFailed }

// Result is the outcome as the label of captf_jobs_total, which knows no failed pull (provider-status.md 4).
func (o Outcome) Result() string {
	if o == PullFailed {
		return string(Failed)
	}
	return string(o)
}

// OutcomeOf tells how a Job ended, from its conditions and from what was noted on it; false while it runs. Interruptions,
// stops by the guard and plans that cannot be read are known once bookkeeping has noted them (B-065).
func OutcomeOf(job *batchv1.Job) (Outcome, bool) {
	complete, failed := condition(job, batchv1.JobComplete), condition(job, batchv1.JobFailed)
	has := func(annotation string) bool { return job.Annotations[annotation] != "" }
	switch {
	case complete != nil && has(infrav1.AnnotationPlanUnreadable):
		return Failed, true // B-744
	case complete != nil:
		return Succeeded, true
	case failed == nil:
		return "", false
	case has(infrav1.AnnotationImagePullFailed):
		return PullFailed, true // B-069: before the deadline, which is what ends such a Job
	case has(infrav1.AnnotationDestructivePlanBlocked):
		return Blocked, true
	case has(infrav1.AnnotationPlanChanged):
		return PlanChanged, true
	case failed.Reason == batchv1.JobReasonDeadlineExceeded:
		return Deadline, true
	case has(infrav1.AnnotationInterrupted):
		return Interrupted, true
	default:
		return Failed, true
	}
}

// SourceContainer is the container of a Job's pod that runs the module.
const SourceContainer = "source"

// RunOf is what a choice needs to know of a finished Job; false while it runs.
func RunOf(job *batchv1.Job) (Run, bool) {
	outcome, finished := OutcomeOf(job)
	if !finished {
		return Run{}, false
	}
	r := Run{
		Job:         job.Name,
		Operation:   infrav1.Operation(job.Labels[infrav1.LabelOperation]),
		Outcome:     outcome,
		Hash:        job.Annotations[infrav1.AnnotationInputsHash],
		Remediation: job.Annotations[infrav1.AnnotationDriftRemediation] != "",
		Bookkept:    job.Annotations[infrav1.AnnotationBookkept] != "",
	}
	r.Attempt, _ = strconv.Atoi(job.Labels[infrav1.LabelAttempt]) // a label that was tampered with is no attempt of ours
	if c := condition(job, batchv1.JobFailed); c != nil {
		r.Finished = c.LastTransitionTime.Time
	} else if job.Status.CompletionTime != nil {
		r.Finished = job.Status.CompletionTime.Time
	} else if c := condition(job, batchv1.JobComplete); c != nil {
		r.Finished = c.LastTransitionTime.Time
	}
	for _, c := range job.Spec.Template.Spec.Containers {
		if c.Name == SourceContainer {
			r.Image = c.Image
		}
	}
	return r, true
}

// RunsOf returns the runs that have finished.
func RunsOf(jobs []*batchv1.Job) []Run {
	runs := make([]Run, 0, len(jobs))
	for _, j := range jobs {
		if r, finished := RunOf(j); finished {
			runs = append(runs, r)
		}
	}
	return runs
}

// condition returns a condition that is true; nil if there is none.
func condition(job *batchv1.Job, conditionType batchv1.JobConditionType) *batchv1.JobCondition {
	for i, c := range job.Status.Conditions {
		if c.Type == conditionType && c.Status == corev1.ConditionTrue {
			return &job.Status.Conditions[i]
		}
	}
	return nil
}
