package workspace

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/operation"
)

// operationCondition is the condition that an operation's outcome is told by (B-008).
func operationCondition(op infrav1.Operation) string {
	switch op {
	case infrav1.OperationRefresh, infrav1.OperationDrift:
		return infrav1.DriftJobSucceededCondition
	case infrav1.OperationRestore:
		return infrav1.RestoreJobSucceededCondition
	default:
		return infrav1.ApplyJobSucceededCondition
	}
}

// reasons are the reasons that an operation's outcomes have in its condition (provider-status.md 2.5, 2.11).
var reasons = map[infrav1.Operation]map[operation.Outcome]string{
	infrav1.OperationApply: {
		operation.Succeeded:   infrav1.ApplySucceededReason,
		operation.Failed:      infrav1.ApplyFailedReason,
		operation.Interrupted: infrav1.ApplyFailedReason,
		operation.Deadline:    infrav1.JobDeadlineExceededReason,
		operation.Blocked:     infrav1.DestructivePlanBlockedReason,
		operation.PullFailed:  infrav1.ImagePullFailedReason,
	},
	infrav1.OperationDestroy: {
		operation.Succeeded:   infrav1.DestroySucceededReason,
		operation.Failed:      infrav1.DestroyFailedReason,
		operation.Interrupted: infrav1.DestroyFailedReason,
		operation.Deadline:    infrav1.JobDeadlineExceededReason,
		operation.PullFailed:  infrav1.ImagePullFailedReason,
	},
	infrav1.OperationRefresh: checkReasons,
	infrav1.OperationDrift:   checkReasons,
}

var checkReasons = map[operation.Outcome]string{
	operation.Succeeded:   infrav1.DriftCheckedReason,
	operation.Failed:      infrav1.DriftJobFailedReason,
	operation.Interrupted: infrav1.DriftJobFailedReason,
	operation.Deadline:    infrav1.DriftJobDeadlineExceededReason,
	operation.PullFailed:  infrav1.ImagePullFailedReason,
}

// recordConditions sets the conditions that the end of a Job decides, and emits the events of it.
func (p *pass) recordConditions(e *ended, told bool) {
	reason := reasons[e.op][e.outcome]
	if e.doc != nil && e.doc.Error != nil && e.doc.Error.Kind == infrav1.RunErrorImageLayout &&
		operationCondition(e.op) == infrav1.ApplyJobSucceededCondition {
		reason = infrav1.ImageInvalidReason
	}
	v := conditions.False(reason, "%s", p.explain(e))
	if e.outcome == operation.Succeeded {
		v = conditions.True(reason, "")
	}
	if reason != "" {
		p.set(operationCondition(e.op), v)
	}
	if e.op == infrav1.OperationDrift && e.outcome == operation.Succeeded {
		p.recordDrift(e)
	}

	if told {
		return
	}
	switch e.outcome {
	case operation.Succeeded:
		p.event("JobSucceeded", "Job %s (%s) succeeded", e.job.Name, e.op)
	case operation.Interrupted:
		p.event("JobInterrupted", "Job %s (%s) was stopped from outside and is run again", e.job.Name, e.op)
	case operation.Deadline:
		p.event("JobDeadlineExceeded", "%s", p.explain(e))
	case operation.Blocked:
		p.event("DestructivePlanBlocked", "%s", p.explain(e))
	default:
		p.event("JobFailed", "%s", p.explain(e))
	}
}

// recordDrift says what a drift check found (B-682), with an event for each finding that is not that of the check before.
// What is done about it is reported only.
func (p *pass) recordDrift(e *ended) {
	if e.doc == nil || e.doc.Drift == nil || !e.doc.Drift.Detected {
		p.set(infrav1.DriftDetectedCondition, conditions.False(infrav1.NoDriftReason, ""))
		return
	}
	d := e.doc.Drift
	found := fmt.Sprintf("found drift: %d to create, %d to update, %d to replace, %d to delete; see status.lastRun.drift for the addresses",
		d.Create, d.Update, d.Replace, d.Delete)
	if was := conditions.Get(p.obj, infrav1.DriftDetectedCondition); was == nil || was.Status != metav1.ConditionTrue || !strings.HasSuffix(was.Message, found) {
		p.event("DriftDetected", "Job %s %s", e.job.Name, found)
	}
	p.set(infrav1.DriftDetectedCondition, conditions.True(infrav1.DriftReportedReason, "Job %s %s", e.job.Name, found))
}

// explain says why a Job did not succeed, and what to do where that is known.
func (p *pass) explain(e *ended) string {
	text := fmt.Sprintf("Job %s (%s)", e.job.Name, e.op)
	failure := (*infrav1.RunError)(nil)
	if e.doc != nil && e.doc.Error != nil {
		failure = &infrav1.RunError{Kind: e.doc.Error.Kind, Step: e.doc.Error.Step, Summary: e.doc.Error.Tail, Resources: e.doc.Error.Resources}
	}
	switch {
	case e.outcome == operation.PullFailed:
		return fmt.Sprintf("%s could not pull image %s: push it, or add an image pull secret to spec.jobs.imagePullSecrets", text, jobImage(e.job))
	case e.outcome == operation.Deadline && e.doc == nil && !e.started:
		return fmt.Sprintf("%s ran into its deadline of %d s and left no result: its pod may never have started, as when a Secret, the image or a node for"+
			" it is missing; the events of the pod and its log say what it waited for", text, deref(e.job.Spec.ActiveDeadlineSeconds))
	case e.outcome == operation.Deadline:
		return fmt.Sprintf("%s ran into its deadline of %d s: raise spec.jobs.activeDeadlineSeconds, or look in the Job's log for what takes so long",
			text, deref(e.job.Spec.ActiveDeadlineSeconds))
	case e.outcome == operation.Blocked:
		return p.explainBlocked(e, text)
	case failure == nil && e.op == infrav1.OperationApply:
		return text + " ended without a result, so whether it changed infrastructure is not known; an apply of the current inputs is due"
	case failure == nil:
		return text + " ended without a result: look at the Job's pod and its log"
	}
	if failure.Step != "" {
		text += " failed in step " + failure.Step
	} else {
		text += " failed"
	}
	if failure.Summary != "" {
		text += ": " + failure.Summary
	}
	if len(failure.Resources) > 0 {
		text += "; first resource: " + failure.Resources[0]
	}
	return text
}

// explainBlocked names what an apply would have deleted or replaced. There is no approval yet: only other inputs help.
func (p *pass) explainBlocked(e *ended, text string) string {
	text += " stopped before it deleted or replaced anything"
	if e.doc != nil && e.doc.Plan != nil {
		pl := e.doc.Plan
		text += fmt.Sprintf(": %d to replace, %d to delete", pl.Replace, pl.Delete)
		for i, r := range pl.Resources {
			if i == 10 {
				text += fmt.Sprintf(", and %d more", len(pl.Resources)-i)
				break
			}
			sep := ", "
			if i == 0 {
				sep = ": "
			}
			text += sep + r
		}
	}
	return text + "; change the inputs so that nothing is deleted; it is planned again in 10 minutes"
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
