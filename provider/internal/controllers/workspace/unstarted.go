package workspace

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/job"
	"github.com/captf-toolkit/captf/provider/internal/lease"
	"github.com/captf-toolkit/captf/provider/internal/names"
	"github.com/captf-toolkit/captf/provider/internal/operation"
	"github.com/captf-toolkit/captf/provider/internal/record"
	"github.com/captf-toolkit/captf/provider/internal/result"
)

// watchStart looks what keeps the pod of a running Job from starting (B-172..B-176). A Job that may run another image, one that
// is not wanted any more as it is, and one that its cluster waits for, is withdrawn, and a later pass creates it again; else the Job is left to its
// deadline, and the object says what is the matter.
func (p *pass) watchStart(ctx context.Context, j *batchv1.Job) error {
	if deref(j.Spec.Suspend) {
		if j.Annotations[infrav1.AnnotationWithdrawn] != "" {
			return p.withdraw(ctx, j)
		}
		// Whoever suspended it has a reason, and may have stopped a run that changed something.
		p.set(operationCondition(jobOperation(j)), conditions.False(infrav1.JobNotStartedReason,
			"Job %s is suspended, and not by the provider: let it go on with kubectl patch job -n %s %s -p '{\"spec\":{\"suspend\":false}}'",
			j.Name, j.Namespace, j.Name))
		return nil
	}
	if deref(j.Status.Ready) > 0 || j.Status.Failed > 0 || j.Status.Succeeded > 0 {
		return p.started(ctx, j)
	}
	age, superseded := p.now.Sub(job.Begun(j)), p.superseded(j)
	deleting := superseded && !p.obj.GetDeletionTimestamp().IsZero()
	switch {
	case deleting && age < stuckAfter: // it may be about to start
		p.again(stuckAfter - age)
		return nil
	case !superseded && age < job.PullPatience:
		p.again(job.PullPatience - age)
		return nil
	}
	pods, err := p.pods(ctx, j)
	if err != nil {
		return err
	}
	start := job.FindStart(j, pods, p.now)
	switch {
	case start.Started:
		return p.started(ctx, j)
	case deleting, superseded && (start.Failing || start.After <= 0):
		return p.withdraw(ctx, j)
	case start.After > 0:
		p.again(start.After)
		return nil
	case start.Unpullable && len(job.DecodeImages(j.Annotations[infrav1.AnnotationImageFallbacks])) > 0 && p.attempt != nil:
		return p.fallBack(ctx, j, jobImage(j))
	}
	if waits, err := p.clusterWaits(ctx, j); err != nil || waits {
		if err == nil {
			err = p.withdraw(ctx, j)
		}
		return err
	}
	if !start.Unpullable {
		p.set(operationCondition(jobOperation(j)), conditions.False(infrav1.JobNotStartedReason, "Job %s does not start: %s", j.Name, start.Waits))
		return nil
	}
	p.set(operationCondition(jobOperation(j)), conditions.False(infrav1.ImagePullFailedReason,
		"Job %s cannot pull image %s: push it, or add an image pull secret to spec.jobs.imagePullSecrets", j.Name, jobImage(j)))
	if j.Annotations[infrav1.AnnotationImagePullFailed] != "" {
		return nil
	}
	return p.annotateJob(ctx, j, infrav1.AnnotationImagePullFailed, "true")
}

// clusterWaits tells that the cluster waits for a Job of its machine or pool. The cluster keeps its Lease meanwhile, so that all its
// other machines and pools wait as well: they must not do so for a Job that does not start. It is created again after the cluster's.
func (p *pass) clusterWaits(ctx context.Context, j *batchv1.Job) (bool, error) {
	cluster := p.clusterName()
	if p.Role == contract.RoleCluster || cluster == "" || !p.Options.ClusterOperationGate || !lease.Gated(jobOperation(j)) {
		return false, nil
	}
	held, err := p.Leases.Get(ctx, j.Namespace, names.ClusterLease(j.Namespace, cluster))
	return held != nil, err
}

// started takes back what was said of a Job that has started after all.
func (p *pass) started(ctx context.Context, j *batchv1.Job) error {
	if p.saysWhy(j) {
		p.set(operationCondition(jobOperation(j)), p.whileRunning(j))
	}
	if j.Annotations[infrav1.AnnotationImagePullFailed] == "" {
		return nil
	}
	return p.annotateJob(ctx, j, infrav1.AnnotationImagePullFailed, "")
}

// saysWhy tells that an earlier pass said of this very Job why it does not start. That an image cannot be pulled may also be
// how the one before ended.
func (p *pass) saysWhy(j *batchv1.Job) bool {
	last := conditions.Get(p.before, operationCondition(jobOperation(j)))
	if last == nil || deref(p.before.WorkspaceStatus().ActiveJob).Name != j.Name {
		return false
	}
	return last.Reason == infrav1.JobNotStartedReason ||
		last.Reason == infrav1.ImagePullFailedReason && j.Annotations[infrav1.AnnotationImagePullFailed] != ""
}

// superseded tells that a Job is not wanted any more as it is: its object is being deleted, or it was made from another spec
// (B-175).
func (p *pass) superseded(j *batchv1.Job) bool {
	if jobOperation(j) != infrav1.OperationDestroy && !p.obj.GetDeletionTimestamp().IsZero() {
		return true
	}
	of := j.Annotations[infrav1.AnnotationGeneration]
	return of != "" && of != p.generation()
}

// generation identifies the specs that a Job is made from now (infrav1.AnnotationGeneration).
func (p *pass) generation() string {
	own := strconv.FormatInt(p.read, 10)
	if tc := p.cluster(); tc != nil && p.Role != contract.RoleCluster {
		return own + "." + strconv.FormatInt(tc.Generation, 10)
	}
	return own
}

// withdraw ends a Job whose module never ran. It is suspended, which removes its pods, and deleted once none is left: until
// then it could start after all, and the Job counts as running.
func (p *pass) withdraw(ctx context.Context, j *batchv1.Job) error {
	p.again(operation.LagRequeue)
	if !deref(j.Spec.Suspend) {
		change := j.DeepCopy()
		change.Spec.Suspend = new(true)
		setAnnotation(change, infrav1.AnnotationWithdrawn, "true")
		if err := p.Client.Patch(ctx, change, client.MergeFrom(j)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("suspending job %s/%s: %w", j.Namespace, j.Name, err)
		}
		return nil
	}
	// The Job controller must have seen it, or it could make another pod.
	if !slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobSuspended && c.Status == corev1.ConditionTrue
	}) {
		return nil
	}
	pods, err := p.pods(ctx, j)
	if err != nil || len(pods) > 0 {
		return err
	}
	if ran, err := p.ranAfterAll(ctx, j); err != nil {
		return err
	} else if ran && jobOperation(j) == infrav1.OperationApply {
		if err := p.unconfirmed(ctx, j.Name); err != nil {
			return err
		}
	}
	p.takeBack(j)
	// The status lets go of the Job first, so that its end is no vanished apply.
	p.obj.WorkspaceStatus().ActiveJob = nil
	if err := p.patchStatus(ctx); err != nil {
		return err
	}
	// If anything of it changed, somebody may have let it go on: then it is looked at once more.
	if err := p.deleteJobIf(ctx, j, client.Preconditions{UID: &j.UID, ResourceVersion: &j.ResourceVersion}); err != nil {
		return err
	}
	p.States.Forget(p.key)
	return p.releaseLeases(ctx, j.Name)
}

// takeBack ends what was said of a Job that did not start, and is none any more.
func (p *pass) takeBack(j *batchv1.Job) {
	condition := operationCondition(jobOperation(j))
	if !conditions.HasReason(p.obj, condition, infrav1.JobNotStartedReason, infrav1.ImagePullFailedReason) {
		return
	}
	v := p.lastApply()
	if condition == infrav1.DriftJobSucceededCondition {
		v = conditions.Unknown(infrav1.DriftNotCheckedReason, "Job %s was withdrawn before it started", j.Name)
	}
	p.set(condition, v)
}

// ranAfterAll tells that a run of a Job began before it was withdrawn: it left the lock of the state, or a result.
func (p *pass) ranAfterAll(ctx context.Context, j *batchv1.Job) (bool, error) {
	if locked, err := p.leftLock(ctx, j); err != nil || locked {
		return locked, err
	}
	said, err := p.Records.Result(ctx, j.Namespace, j.Name)
	if err != nil {
		return false, fmt.Errorf("reading the result of job %s/%s: %w", j.Namespace, j.Name, err)
	}
	doc, err := result.Decode(said)
	return err == nil && slices.ContainsFunc(doc.Steps, func(s result.Step) bool { return s.Name == string(infrav1.OperationApply) }), nil
}

// leftLock tells that a run of a Job took the lock of the state, which is the first that a run does, and did not give it back.
func (p *pass) leftLock(ctx context.Context, j *batchv1.Job) (bool, error) {
	lock, err := p.States.Store.Lock(ctx, p.key)
	if err != nil {
		return false, fmt.Errorf("reading the lock of the state of %s %s/%s: %w", p.Role.Kind(), p.obj.GetNamespace(), p.obj.GetName(), err)
	}
	return lock != nil && lock.Holder != nil && lock.Holder.Job == j.Name, nil
}

// fallBack notes that an image cannot be pulled and withdraws its Job.
func (p *pass) fallBack(ctx context.Context, j *batchv1.Job, ran string) error {
	if err := p.Records.Mark(ctx, p.owner(), false, func(r *record.Record) { r.Unpullable = job.NoteUnpullable(r.Unpullable, ran) }); err != nil {
		return err
	}
	if err := p.withdraw(ctx, j); err != nil {
		return err
	}
	p.did("ImagePullFallback", "image %s cannot be pulled; Job %s is created again with the next one", ran, j.Name)
	return nil
}

func (p *pass) annotateJob(ctx context.Context, j *batchv1.Job, key, value string) error {
	base := j.DeepCopy()
	if setAnnotation(j, key, value); value == "" {
		delete(j.Annotations, key)
	}
	if err := p.Client.Patch(ctx, j.DeepCopy(), client.MergeFrom(base)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("annotating job %s/%s: %w", j.Namespace, j.Name, err)
	}
	return nil
}
