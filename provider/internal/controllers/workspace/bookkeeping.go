package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/job"
	"github.com/captf-toolkit/captf/provider/internal/lease"
	"github.com/captf-toolkit/captf/provider/internal/metrics"
	"github.com/captf-toolkit/captf/provider/internal/names"
	"github.com/captf-toolkit/captf/provider/internal/operation"
	"github.com/captf-toolkit/captf/provider/internal/record"
	"github.com/captf-toolkit/captf/provider/internal/result"
	"github.com/captf-toolkit/captf/provider/internal/state"
)

// ended is a finished Job with what its run left.
type ended struct {
	job      *batchv1.Job
	op       infrav1.Operation
	outcome  operation.Outcome
	finished time.Time
	// doc is the result, nil if the run left none.
	doc *result.Document
	// started tells that the container with the module ran; podGone that there is no pod to ask.
	started, podGone bool
	// startedAt is when it did, if the node says so.
	startedAt time.Time
	// digest of the image that ran, "" if the node does not say.
	digest string
}

// stepBookkeeping records every finished Job that is not recorded yet, oldest first (B-060). Each record is complete before
// the Job is marked, and repeating it changes nothing, so a crash anywhere in between costs at most an event or a count.
func (p *pass) stepBookkeeping(ctx context.Context) (outcome, error) {
	for _, j := range p.unrecorded() {
		e, err := p.readEnd(ctx, j)
		if err != nil {
			return outcome{}, err
		}
		if err := p.record(ctx, e); err != nil {
			return outcome{}, err
		}
		p.finished = append(p.finished, j)
	}
	if len(p.finished) > 0 {
		if _, err := p.stepMarks(ctx); err != nil {
			return outcome{}, err
		}
	}
	p.obj.WorkspaceStatus().ActiveJob = nil
	annotations := p.obj.GetAnnotations()
	delete(annotations, infrav1.AnnotationBlockMove)
	p.obj.SetAnnotations(annotations)
	return outcome{}, p.prune(ctx)
}

// unrecorded are the finished Jobs to record, in the order in which they ended.
func (p *pass) unrecorded() []*batchv1.Job {
	var jobs []*batchv1.Job
	for _, j := range p.jobs {
		if _, done := p.recorded.Get(j.UID); done || j.Annotations[infrav1.AnnotationBookkept] != "" || !lease.Finished(j) {
			continue
		}
		jobs = append(jobs, j)
	}
	slices.SortStableFunc(jobs, func(a, b *batchv1.Job) int { return finishedAt(a).Compare(finishedAt(b)) })
	return jobs
}

// readEnd reads what a finished Job left: its pod's termination message, or the copy that the broker kept in the per-run
// Secret if the pod is gone (B-061). What of it later passes need is noted on the Job, in memory until the marks are stored.
func (p *pass) readEnd(ctx context.Context, j *batchv1.Job) (*ended, error) {
	e := &ended{job: j, op: jobOperation(j), finished: finishedAt(j)}
	pods, err := p.pods(ctx, j)
	if err != nil {
		return nil, err
	}
	e.podGone = len(pods) == 0
	var raw []byte
	for i := range pods {
		for _, c := range pods[i].Status.ContainerStatuses {
			if c.Name != operation.SourceContainer {
				continue
			}
			if t := c.State.Terminated; t != nil {
				e.started = true
				e.startedAt = t.StartedAt.Time
				raw = []byte(t.Message)
			}
			e.started = e.started || c.State.Running != nil
			e.digest = job.Digest(c.ImageID)
		}
	}
	if len(raw) == 0 {
		if raw, err = p.Records.Result(ctx, j.Namespace, j.Name); err != nil {
			return nil, err
		}
	}
	doc, err := result.Decode(raw)
	switch {
	case err == nil && doc.Op == e.op:
		e.doc = doc
	case err != nil && !errors.Is(err, result.ErrEmpty):
		p.event("ResultUnreadable", "the result of Job %s cannot be read: %s", j.Name, err)
	}
	if e.doc != nil {
		note(j, e.doc)
	}
	e.outcome, _ = operation.OutcomeOf(j)
	return e, nil
}

// note copies facts of a result to the Job's annotations, which later passes read instead of the pod (B-065).
func note(j *batchv1.Job, doc *result.Document) {
	if doc.Error != nil {
		switch doc.Error.Kind {
		case infrav1.RunErrorInterrupted:
			setAnnotation(j, infrav1.AnnotationInterrupted, "true")
		case infrav1.RunErrorBlocked:
			setAnnotation(j, infrav1.AnnotationDestructivePlanBlocked, "true")
		case infrav1.RunErrorPlanChanged:
			setAnnotation(j, infrav1.AnnotationPlanChanged, "true")
		}
	}
	if doc.Plan != nil && doc.Plan.Hash != "" {
		setAnnotation(j, infrav1.AnnotationPlanHash, doc.Plan.Hash)
	}
}

// record stores everything that the end of a Job means (B-062..B-064). What must not be lost comes first, then what frees
// the way for the next Job, then what only tells.
func (p *pass) record(ctx context.Context, e *ended) error {
	switch {
	case e.op == infrav1.OperationApply && e.outcome == operation.Succeeded:
		if err := p.recordSuccess(ctx, e); err != nil {
			return err
		}
	case e.op == infrav1.OperationApply:
		if err := p.recordFailure(ctx, e); err != nil {
			return err
		}
	}
	if err := p.Records.DeleteRun(ctx, e.job.Namespace, e.job.Name); err != nil {
		return err
	}
	if err := p.releaseLeases(ctx, e.job.Name); err != nil {
		return err
	}
	// A pass that stored the status and died before it marked the Job has told all of it (B-066).
	told := deref(p.obj.WorkspaceStatus().LastRun).Job == e.job.Name
	p.recordStatus(e)
	p.recordConditions(e, told)
	if !told {
		p.sampled = e
		p.count(e)
	}
	return nil
}

// recordSuccess makes the run's inputs the newest success and puts their hash on the state, which is what tells later
// passes that nothing is left to apply (B-063, B-370, B-412).
func (p *pass) recordSuccess(ctx context.Context, e *ended) error {
	run, err := p.Records.Get(ctx, e.job.Namespace, names.RunSecret(e.job.Name))
	if err != nil {
		return err
	}
	if run == nil {
		attempt, err := p.Records.Get(ctx, e.job.Namespace, p.owner().AttemptName())
		if err != nil {
			return err
		}
		if attempt != nil && attempt.Job == e.job.Name {
			run = attempt
		}
	}
	applied, err := p.Records.Get(ctx, e.job.Namespace, p.owner().AppliedName())
	if err != nil {
		return err
	}
	switch {
	case run != nil:
		r := record.Record{
			Job: e.job.Name, InputsHash: run.InputsHash, Image: run.Image, ImageDigest: e.digest,
			Identity: run.Identity, IdentityKind: run.IdentityKind, Root: run.Root, Values: run.Values,
		}
		if err := p.Records.WriteApplied(ctx, p.owner(), r); err != nil {
			return err
		}
		p.tellDigest(e, applied)
	case applied == nil || applied.Job != e.job.Name:
		p.event("AppliedInputsUnknown", "Job %s succeeded, but its inputs are gone; the record of the last success keeps older ones", e.job.Name)
	}
	if err := p.Records.Mark(ctx, p.owner(), true, func(r *record.Record) {
		r.Applied = true
		r.Unpullable = nil
		if r.Job == e.job.Name {
			r.MayHaveApplied = false
		}
		r.UnconfirmedApply = "" // whatever that apply did, this one applied over it (B-204)
	}); err != nil {
		return err
	}
	adopted, err := p.States.Store.Adopt(ctx, p.key, p.ownerReference(), state.Marks{
		InputsHash: new(e.job.Annotations[infrav1.AnnotationInputsHash]), Image: new(jobImage(e.job)), Settled: true,
	})
	if errors.Is(err, state.ErrNotFound) {
		return nil // the state step says what that means
	}
	if err != nil {
		return fmt.Errorf("adopting the state of %s %s/%s: %w", p.Role.Kind(), p.obj.GetNamespace(), p.obj.GetName(), err)
	}
	if adopted {
		p.did("StateAdopted", "the state is the result of Job %s", e.job.Name)
	}
	p.States.Forget(p.key)
	return nil
}

// tellDigest says which digest ran, if that is news (B-371).
func (p *pass) tellDigest(e *ended, before *record.Record) {
	switch {
	case e.digest == "" && (before == nil || before.Image != jobImage(e.job) || before.ImageDigest == ""):
		p.event("DigestUnknown", "the node did not report the digest of image %s, so it is not pinned", jobImage(e.job))
	case e.digest != "" && (before == nil || before.ImageDigest != e.digest):
		p.event("DigestPinned", "image %s is pinned to %s", jobImage(e.job), e.digest)
	}
}

// recordFailure notes what an apply that did not succeed may have done (B-067, B-200, B-368).
func (p *pass) recordFailure(ctx context.Context, e *ended) error {
	if e.outcome == operation.Blocked || e.outcome == operation.PlanChanged {
		return nil
	}
	neverRan, err := p.neverRan(ctx, e)
	if err != nil {
		return err
	}
	noResult := e.doc == nil && (e.started || e.podGone && !neverRan)
	applied := noResult || e.doc != nil && slices.ContainsFunc(e.doc.Steps, func(s result.Step) bool { return s.Name == "apply" })
	if !applied {
		return nil
	}
	return p.Records.Mark(ctx, p.owner(), true, func(r *record.Record) {
		if r.Job == e.job.Name || r.Job == "" {
			r.MayHaveApplied = true
		}
		if noResult {
			r.UnconfirmedApply = e.job.Name
		}
	})
}

// neverRan tells that the module of a Job did nothing that is not known, though there is no pod to ask: the Job controller took
// the pod away at the deadline, there is no result, and no run of the Job holds the lock, as one does that was killed.
func (p *pass) neverRan(ctx context.Context, e *ended) (bool, error) {
	if e.outcome != operation.PullFailed && e.outcome != operation.Deadline || e.started {
		return false, nil
	}
	locked, err := p.leftLock(ctx, e.job)
	return !locked, err
}

// recordStatus copies the result to the status, if the Job is the newest that ended.
func (p *pass) recordStatus(e *ended) {
	status := p.obj.WorkspaceStatus()
	run := &infrav1.LastRun{Job: e.job.Name, Operation: e.op}
	source := &infrav1.SourceStatus{Image: jobImage(e.job), ImageDigest: e.digest}
	if e.doc != nil {
		source.RuntimeVersion = e.doc.Runtime.Version
		for _, s := range e.doc.Steps {
			run.Steps = append(run.Steps, infrav1.RunStep{
				Name: s.Name, ExitCode: new(s.Exit), DurationMilliseconds: new(int64(s.Seconds * 1000)),
			})
		}
		if d := e.doc.Drift; d != nil && d.Detected {
			run.Drift = &infrav1.DriftStatus{
				Create: new(d.Create), Update: new(d.Update), Replace: new(d.Replace), Delete: new(d.Delete), Resources: d.Resources,
			}
		}
		if f := e.doc.Error; f != nil {
			run.Error = &infrav1.RunError{Kind: f.Kind, Step: f.Step, Summary: f.Tail, Resources: f.Resources}
		}
	}
	status.LastRun, status.Source = run, source
	if e.outcome != operation.Succeeded {
		return
	}
	switch e.op {
	case infrav1.OperationDrift:
		status.LastDriftCheck = new(metav1.NewTime(e.finished))
		status.LastRefresh = status.LastDriftCheck
	case infrav1.OperationRefresh:
		status.LastRefresh = new(metav1.NewTime(e.finished))
	case infrav1.OperationApply:
		status.PendingRefreshes = 0
	}
}

// count counts the Job's end in the metrics (B-064).
func (p *pass) count(e *ended) {
	j := metrics.Job{
		Kind: p.Role.Kind(), Operation: string(e.op), Result: e.outcome.Result(),
		Duration: e.finished.Sub(e.job.CreationTimestamp.Time),
	}
	if !e.startedAt.IsZero() {
		j.Queued = new(e.startedAt.Sub(e.job.CreationTimestamp.Time))
	}
	if e.doc != nil {
		for _, s := range e.doc.Steps {
			j.Steps = append(j.Steps, metrics.Step{Name: s.Name, Duration: time.Duration(s.Seconds * float64(time.Second))})
		}
		if c := e.doc.Changes; c != nil {
			j.Changes = map[string]int32{"create": c.Add, "update": c.Change, "delete": c.Destroy, "import": c.Import}
		}
		if d := e.doc.Drift; d != nil {
			j.Drift = map[string]int32{"create": d.Create, "update": d.Update, "replace": d.Replace, "delete": d.Delete}
		}
		if f := e.doc.Error; f != nil {
			j.ErrorKind, j.ErrorStep = string(f.Kind), f.Step
		}
	}
	if e.outcome == operation.Deadline {
		j.ErrorKind = "deadline"
	}
	if e.outcome == operation.Succeeded {
		failures, _ := operation.Failures(p.runsBefore(e.job), e.op)
		j.Attempts = failures + 1
	}
	metrics.JobEnded(j)
}

// runsBefore are the runs that ended before the Job did.
func (p *pass) runsBefore(j *batchv1.Job) []operation.Run {
	return slices.DeleteFunc(p.runs(), func(r operation.Run) bool { return r.Job == j.Name })
}

// runs are the finished Jobs as the choice sees them.
func (p *pass) runs() []operation.Run { return operation.RunsOf(p.jobs) }

// markRecorded stores on each recorded Job what was noted, and that it is recorded. It runs after the status is stored
// (B-066).
func (p *pass) markRecorded(ctx context.Context) error {
	for _, j := range p.finished {
		marked := j.DeepCopy()
		base := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: j.Namespace, Name: j.Name, UID: j.UID}}
		setAnnotation(marked, infrav1.AnnotationBookkept, "true")
		change := base.DeepCopy()
		change.Annotations = maps.Clone(marked.Annotations)
		err := p.Client.Patch(ctx, change, client.MergeFrom(base))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("marking job %s/%s as recorded: %w", j.Namespace, j.Name, err)
		}
		p.recorded.Add(j.UID, struct{}{})
	}
	return nil
}

// prune deletes old recorded Jobs beyond the limits of the policy (B-150..B-152).
func (p *pass) prune(ctx context.Context) error {
	for _, name := range job.Prune(p.runs(), p.settings()) {
		for _, j := range p.jobs {
			if j.Name != name || !j.DeletionTimestamp.IsZero() {
				continue
			}
			if err := p.deleteJob(ctx, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// finishedAt is when a Job ended.
func finishedAt(j *batchv1.Job) time.Time {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}
