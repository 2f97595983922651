package workspace

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/job"
	"github.com/captf-toolkit/captf/provider/internal/lease"
	"github.com/captf-toolkit/captf/provider/internal/names"
	"github.com/captf-toolkit/captf/provider/internal/operation"
	"github.com/captf-toolkit/captf/provider/internal/record"
)

// ownerIndex finds Jobs by the UID of the object that controls them.
const ownerIndex = "captf.controller-uid"

// stuckAfter is how old a Job is whose pods wait for a Secret that nobody will write (B-027, B-975).
const stuckAfter = time.Minute

// stepJobs lists the object's Jobs from the cache (B-023).
func (p *pass) stepJobs(ctx context.Context) (outcome, error) {
	list := &batchv1.JobList{}
	if err := p.Client.List(ctx, list, client.InNamespace(p.obj.GetNamespace()), client.MatchingFields{ownerIndex: string(p.obj.GetUID())}); err != nil {
		return outcome{}, fmt.Errorf("listing jobs of %s %s/%s: %w", p.Role.Kind(), p.obj.GetNamespace(), p.obj.GetName(), err)
	}
	p.takeJobs(list.Items)
	return outcome{}, nil
}

// takeJobs sorts the object's Jobs by age. A Job that is being deleted and never ran to an end counts as running until it
// is gone: its pod may still write.
func (p *pass) takeJobs(jobs []batchv1.Job) {
	p.jobs, p.active = nil, nil
	for i := range jobs {
		job := jobs[i].DeepCopy()
		p.jobs = append(p.jobs, job)
		if !lease.Finished(job) {
			p.active = job
		}
	}
	slices.SortFunc(p.jobs, func(a, b *batchv1.Job) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
}

// liveJobs lists the object's Jobs from the API server.
func (p *pass) liveJobs(ctx context.Context) ([]batchv1.Job, error) {
	list := &batchv1.JobList{}
	if err := p.Live.List(ctx, list, client.InNamespace(p.obj.GetNamespace()), client.MatchingLabels(job.Selector(job.ObjectOf(p.obj)))); err != nil {
		return nil, fmt.Errorf("listing jobs of %s %s/%s: %w", p.Role.Kind(), p.obj.GetNamespace(), p.obj.GetName(), err)
	}
	return slices.DeleteFunc(list.Items, func(j batchv1.Job) bool { return !metav1.IsControlledBy(&j, p.obj) }), nil
}

// stepLag looks whether the cache lags behind what is known to exist, and whether a Job has vanished (B-238..B-242, B-200).
func (p *pass) stepLag(ctx context.Context) (outcome, error) {
	status := p.obj.WorkspaceStatus()
	if status.ActiveJob != nil && !slices.ContainsFunc(p.jobs, func(j *batchv1.Job) bool { return j.Name == status.ActiveJob.Name }) {
		job, err := p.liveJob(ctx, status.ActiveJob.Name)
		if err != nil {
			return outcome{}, err
		}
		if job != nil {
			return lagging, nil
		}
		return outcome{}, p.vanished(ctx, status.ActiveJob)
	}
	_, blocked := p.obj.GetAnnotations()[infrav1.AnnotationBlockMove]
	if !blocked && status.ActiveJob == nil && p.obj.GetDeletionTimestamp().IsZero() {
		return outcome{}, nil
	}
	if p.active != nil {
		return outcome{}, nil
	}
	held, err := p.Leases.Get(ctx, p.obj.GetNamespace(), names.RunLease(p.key.Suffix))
	if err != nil || held == nil {
		return outcome{}, err
	}
	holder := ptr.Deref(held.Spec.HolderIdentity, "")
	if slices.ContainsFunc(p.jobs, func(j *batchv1.Job) bool { return j.Name == holder }) {
		return outcome{}, nil
	}
	job, err := p.liveJob(ctx, holder)
	if err != nil {
		return outcome{}, err
	}
	if job != nil && metav1.IsControlledBy(job, p.obj) {
		return lagging, nil
	}
	return outcome{}, nil
}

var lagging = outcome{stop: true, requeue: operation.LagRequeue}

// liveJob reads a Job, nil if there is none.
func (p *pass) liveJob(ctx context.Context, name string) (*batchv1.Job, error) {
	job := &batchv1.Job{}
	err := p.Live.Get(ctx, client.ObjectKey{Namespace: p.obj.GetNamespace(), Name: name}, job)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading job %s/%s: %w", p.obj.GetNamespace(), name, err)
	}
	return job, nil
}

// vanished records that a Job is gone without a trace: an apply may have changed infrastructure, and its outcome is not
// known (B-200, B-368). A Job that we deleted ourselves cleared status.activeJob first.
func (p *pass) vanished(ctx context.Context, active *infrav1.ActiveJob) error {
	if active.Operation == infrav1.OperationApply {
		if err := p.unconfirmed(ctx, active.Name); err != nil {
			return err
		}
		p.set(infrav1.ApplyJobSucceededCondition, conditions.False(infrav1.ApplyFailedReason,
			"Job %s vanished before its result was read, so whether it changed infrastructure is not known; an apply of the current inputs is due", active.Name))
		p.event("JobFailed", "Job %s (apply) vanished before its result was read", active.Name)
	}
	p.obj.WorkspaceStatus().ActiveJob = nil
	return nil
}

// unconfirmed notes that an apply may have changed infrastructure, and that nothing tells whether it did.
func (p *pass) unconfirmed(ctx context.Context, job string) error {
	return p.Records.Mark(ctx, p.owner(), true, func(r *record.Record) {
		r.UnconfirmedApply = job
		r.MayHaveApplied = true
	})
}

// stepActive deals with a Job that runs. Nothing else is looked at meanwhile, so that no two operations of one object
// overlap (B-025).
func (p *pass) stepActive(ctx context.Context) (outcome, error) {
	if p.active == nil {
		return outcome{}, nil
	}
	job := p.active
	if job.DeletionTimestamp.IsZero() {
		if deleted, err := p.deleteStuck(ctx, job); err != nil || deleted {
			return outcome{stop: true, requeue: operation.LagRequeue}, err
		}
		if err := p.adopt(ctx, job); err != nil {
			return outcome{}, err
		}
	}
	p.running(job)
	if job.DeletionTimestamp.IsZero() {
		if err := p.watchStart(ctx, job); err != nil {
			return outcome{}, err
		}
	}
	return outcome{stop: true, requeue: operation.ActiveJobRequeue, conditions: p.pausedConditions()}, nil
}

// running says on the object that a Job runs. Conditions that its end decides keep their values, except that a drift check
// says that it runs (B-010).
func (p *pass) running(job *batchv1.Job) {
	op, status := jobOperation(job), p.obj.WorkspaceStatus()
	status.ActiveJob = &infrav1.ActiveJob{
		Name: job.Name, Operation: op, Attempt: jobAttempt(job), StartTime: new(job.CreationTimestamp),
	}
	setAnnotation(p.obj, infrav1.AnnotationBlockMove, "")
	switch op {
	case infrav1.OperationApply:
		if !provisioned(p.obj) {
			p.set(infrav1.InfrastructureHealthyCondition, conditions.False(infrav1.ProvisioningReason, "Job %s applies the module", job.Name))
		}
		if p.obj.GetDeletionTimestamp().IsZero() {
			p.set(infrav1.InputsAppliedCondition, conditions.False(infrav1.ApplyRunningReason, "Job %s applies the inputs", job.Name))
		}
	case infrav1.OperationRefresh, infrav1.OperationDrift:
		if !p.saysWhy(job) {
			p.set(infrav1.DriftJobSucceededCondition, p.whileRunning(job))
		}
	}
	last := conditions.Get(p.obj, infrav1.ApplyJobSucceededCondition)
	if last == nil || slices.Contains(waitReasons, last.Reason) || last.Reason == infrav1.JobNotStartedReason && !p.saysWhy(job) {
		p.set(infrav1.ApplyJobSucceededCondition, p.lastApply())
	}
}

// whileRunning is the condition of an operation while its Job runs.
func (p *pass) whileRunning(job *batchv1.Job) conditions.Value {
	if operationCondition(jobOperation(job)) == infrav1.DriftJobSucceededCondition {
		return conditions.Unknown(infrav1.DriftJobRunningReason, "Job %s runs", job.Name)
	}
	return p.lastApply()
}

// waitReasons say what a Job waits for, or why it is not created: what is over once it is there.
var waitReasons = []string{
	infrav1.InputsTooLargeReason, infrav1.JobPolicyInvalidReason, infrav1.IdentityNotAllowedReason,
	infrav1.WaitingForClusterOperationReason, infrav1.WaitingForMachineOperationsReason, infrav1.WaitingForRunLeaseReason, infrav1.WaitingForJobSlotReason,
}

// lastApply is how the newest apply ended, as far as it is still known.
func (p *pass) lastApply() conditions.Value {
	applies := operation.NewestFirst(p.runs(), infrav1.OperationApply)
	switch {
	case len(applies) > 0 && applies[0].Outcome != operation.Succeeded:
		return conditions.False(infrav1.ApplyFailedReason, "Job %s (apply) did not succeed", applies[0].Job)
	case len(applies) > 0 || provisioned(p.obj):
		return conditions.True(infrav1.ApplySucceededReason, "")
	}
	return conditions.Unknown(infrav1.NoApplyYetReason, "no apply has finished yet")
}

// deleteStuck deletes a Job whose pods wait for the per-run Secret that nobody will write any more: the manager died between
// the two, and the inputs are others by now (B-027). It is no failed attempt.
func (p *pass) deleteStuck(ctx context.Context, job *batchv1.Job) (bool, error) {
	if p.now.Sub(job.CreationTimestamp.Time) < stuckAfter {
		return false, nil
	}
	there, err := p.hasSecret(ctx, names.RunSecret(job.Name))
	if err != nil || there {
		return false, err
	}
	pods, err := p.pods(ctx, job)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Status.Phase != corev1.PodPending }) {
		return false, nil
	}
	// It could have been written a moment ago.
	if secret, err := p.Records.Get(ctx, job.Namespace, names.RunSecret(job.Name)); err != nil || secret != nil {
		return false, err
	}
	if err := p.deleteJob(ctx, job); err != nil {
		return false, err
	}
	p.obj.WorkspaceStatus().ActiveJob = nil
	p.did("StuckJobDeleted", "Job %s was deleted: its inputs were never written, so it could not start", job.Name)
	return true, p.releaseLeases(ctx, job.Name)
}

// deleteJob deletes a Job and its pods. The precondition keeps one of the same name that came since.
func (p *pass) deleteJob(ctx context.Context, job *batchv1.Job) error {
	return p.deleteJobIf(ctx, job, client.Preconditions{UID: &job.UID})
}

func (p *pass) deleteJobIf(ctx context.Context, job *batchv1.Job, only client.Preconditions) error {
	err := p.Client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground), only)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting job %s/%s: %w", job.Namespace, job.Name, err)
	}
	return nil
}

// pods are those of a Job, read live.
func (p *pass) pods(ctx context.Context, job *batchv1.Job) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := p.Live.List(ctx, list, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name}); err != nil {
		return nil, fmt.Errorf("listing pods of job %s/%s: %w", job.Namespace, job.Name, err)
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, job) }), nil
}

// hasSecret tells from cached metadata whether a Secret of ours exists.
func (p *pass) hasSecret(ctx context.Context, name string) (bool, error) {
	meta, err := p.secretMeta(ctx, name)
	return meta != nil, err
}

// secretMeta reads the cached metadata of a Secret of ours, nil if there is none.
func (p *pass) secretMeta(ctx context.Context, name string) (*metav1.PartialObjectMetadata, error) {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.obj.GetNamespace(), Name: name}, meta)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading secret %s/%s from the cache: %w", p.obj.GetNamespace(), name, err)
	}
	return meta, nil
}

// releaseLeases gives the Leases of a Job back.
func (p *pass) releaseLeases(ctx context.Context, job string) error {
	if cluster := p.clusterName(); cluster != "" {
		if err := p.Leases.Release(ctx, p.obj.GetNamespace(), names.ClusterLease(p.obj.GetNamespace(), cluster), job); err != nil {
			return err
		}
	}
	return p.Leases.Release(ctx, p.obj.GetNamespace(), names.RunLease(p.key.Suffix), job)
}

func setAnnotation(obj client.Object, key, value string) {
	a := obj.GetAnnotations()
	if have, ok := a[key]; ok && have == value {
		return
	}
	if a == nil {
		a = map[string]string{}
	}
	a[key] = value
	obj.SetAnnotations(a)
}
