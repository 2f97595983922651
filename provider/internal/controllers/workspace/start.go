package workspace

import (
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/job"
	"github.com/captf-toolkit/captf/provider/internal/lease"
	"github.com/captf-toolkit/captf/provider/internal/metrics"
	"github.com/captf-toolkit/captf/provider/internal/names"
	"github.com/captf-toolkit/captf/provider/internal/operation"
	"github.com/captf-toolkit/captf/provider/internal/record"
)

// activeIndex finds the Jobs that have not finished: all of them, and those of one cluster.
const activeIndex = "captf.active"

// activeKeys are the values of a Job in activeIndex.
func activeKeys(obj client.Object) []string {
	j, ok := obj.(*batchv1.Job)
	if !ok || lease.Finished(j) || j.Labels[infrav1.LabelManaged] != "true" {
		return nil
	}
	return []string{"all", "cluster/" + j.Namespace + "/" + j.Labels[infrav1.LabelCluster]}
}

// stepStart starts the Job that was chosen (B-036, B-137). Everything before the Job can be repeated; the Job's name follows
// from the decision, so that a pass that is repeated after a crash finds it.
func (p *pass) stepStart(ctx context.Context) (outcome, error) {
	op := p.decision.Operation
	settings := p.settings()
	if err := settings.Check(); err != nil && job.Checked(op) {
		return p.refuse(infrav1.ApplyJobSucceededCondition, conditions.False(infrav1.JobPolicyInvalidReason, "%s", err), operation.RetryMax)
	}
	if out, full, err := p.waitForSlot(ctx, op); err != nil || full {
		return out, err
	}
	files, v, err := p.prepare(ctx, op)
	if err != nil {
		return outcome{}, err
	}
	if v != nil {
		return p.refuse(v.Type, v.Value, operation.RetryMax)
	}
	ready, out, err := p.readyCredentials(ctx, op, files)
	if err != nil || !ready {
		return out, err
	}
	return p.launch(ctx, p.jobSpec(files, settings), files)
}

// refuse says why a Job does not start.
func (p *pass) refuse(conditionType string, v conditions.Value, again time.Duration) (outcome, error) {
	return outcome{stop: true, requeue: again, conditions: []conditions.Condition{{Type: conditionType, Value: v}}}, nil
}

// wait says that a Job waits, and counts the wait once (B-221).
func (p *pass) wait(op infrav1.Operation, reason, metric string, again time.Duration, message string, args ...any) (outcome, error) {
	if !conditions.HasReason(p.before, operationCondition(op), reason) {
		metrics.Waited(p.Role.Kind(), metric)
	}
	return p.refuse(operationCondition(op), conditions.Unknown(reason, message, args...), again)
}

// waitForSlot looks whether another Job may run, overall and in the cluster (B-228..B-231). Counts come from the cache: the
// limits are soft.
func (p *pass) waitForSlot(ctx context.Context, op infrav1.Operation) (outcome, bool, error) {
	limits := []struct {
		key, what string
		limit     int
	}{{"all", "the manager's limit", p.Options.MaxActiveJobs}}
	if cluster := p.clusterName(); cluster != "" {
		limit := p.Options.ClusterMaxActiveJobs
		if tc := p.cluster(); tc != nil && tc.Spec.MaxActiveJobs > 0 {
			limit = int(tc.Spec.MaxActiveJobs)
		}
		limits = append(limits, struct {
			key, what string
			limit     int
		}{"cluster/" + p.obj.GetNamespace() + "/" + names.LabelValue(cluster), "the limit of cluster " + cluster, limit})
	}
	for _, l := range limits {
		if l.limit <= 0 {
			continue
		}
		list := &batchv1.JobList{}
		if err := p.Client.List(ctx, list, client.MatchingFields{activeIndex: l.key}, client.UnsafeDisableDeepCopy); err != nil {
			return outcome{}, false, fmt.Errorf("counting running jobs: %w", err)
		}
		if (operation.Slots{Active: len(list.Items), Limit: l.limit}).Free(op) {
			continue
		}
		again := operation.SlotRequeue + operation.Jitter(p.obj.GetUID(), operation.SlotRequeue)
		out, err := p.wait(op, infrav1.WaitingForJobSlotReason, "job_slot", again, "waiting for a free Job: %s is %d", l.what, l.limit)
		return out, true, err
	}
	return outcome{}, false, nil
}

// files are what a Job runs: the inputs of one record, and the image and credentials that go with them.
type files struct {
	record record.Record
	image  job.Image
	// identity is that of the record; empty for the object's own.
	identity infrav1.IdentityReference
}

// prepare takes the files of an operation: an apply runs the current inputs, a destroy a record, and a check of mutable
// objects the current inputs if they can be built (B-375..B-380). The condition says why there are none.
func (p *pass) prepare(ctx context.Context, op infrav1.Operation) (*files, *conditions.Condition, error) {
	current := op == infrav1.OperationApply || p.mutable() && op != infrav1.OperationDestroy
	if current && p.rendered != nil {
		return p.currentFiles(op), nil, nil
	}
	attempt, err := p.Records.Get(ctx, p.obj.GetNamespace(), p.owner().AttemptName())
	if err != nil {
		return nil, nil, err
	}
	applied, err := p.Records.Get(ctx, p.obj.GetNamespace(), p.owner().AppliedName())
	if err != nil {
		return nil, nil, err
	}
	hash := ""
	if p.state != nil {
		hash = p.state.InputsHash
	}
	r := record.ForState(attempt, applied, hash)
	if r == nil {
		return p.withoutRecord(ctx, op)
	}
	if op == infrav1.OperationDestroy && hash != "" && r.InputsHash != hash {
		p.event("DestroyInputsMismatch", "the destroy runs with the inputs of Job %s, whose hash is %s; the state has %s", r.Job, r.InputsHash, hash)
	}
	var unpullable []string
	if attempt != nil {
		unpullable = attempt.Unpullable
	}
	f := &files{
		record:   *r,
		image:    job.ChooseImage(op, p.obj.Workspace().Source.Image, job.ImageRecord{Image: r.Image, Digest: r.ImageDigest}, unpullable),
		identity: infrav1.IdentityReference{Kind: r.IdentityKind, Name: r.Identity},
	}
	return f, nil, nil
}

// withoutRecord renders current inputs for an object whose records are gone, if it may change (B-378).
func (p *pass) withoutRecord(ctx context.Context, op infrav1.Operation) (*files, *conditions.Condition, error) {
	if p.mutable() {
		if p.rendered == nil {
			if _, err := p.collect(ctx); err != nil {
				return nil, nil, err
			}
		}
		if p.rendered != nil {
			return p.currentFiles(op), nil, nil
		}
	}
	if op == infrav1.OperationDestroy {
		return nil, &conditions.Condition{Type: infrav1.ApplyJobSucceededCondition, Value: conditions.False(infrav1.DestroyFailedReason,
			"there is no record of the inputs to destroy with: Secrets %s and %s are gone; put one of them back from a copy",
			p.owner().AppliedName(), p.owner().AttemptName())}, nil
	}
	return nil, &conditions.Condition{Type: infrav1.DriftJobSucceededCondition, Value: conditions.Unknown(infrav1.DurableInputsMissingReason,
		"there is no record of the inputs to check with: Secrets %s and %s are gone", p.owner().AppliedName(), p.owner().AttemptName())}, nil
}

// currentFiles are the current inputs.
func (p *pass) currentFiles(op infrav1.Operation) *files {
	spec := p.obj.Workspace().Source.Image
	marks := job.ImageRecord{}
	if p.applied != nil {
		marks = job.ImageRecord{Image: p.applied.Image, Digest: p.applied.ImageDigest}
	}
	var unpullable []string
	if p.attempt != nil {
		unpullable = p.attempt.Unpullable
	}
	return &files{
		record: record.Record{InputsHash: p.rendered.Hash, Image: spec, Root: p.rendered.Root, Values: p.rendered.Values},
		image:  job.ChooseImage(op, spec, marks, unpullable),
	}
}

// jobSpec describes the Job.
func (p *pass) jobSpec(f *files, settings job.Settings) job.Spec {
	d := p.decision
	spec := job.Spec{
		Object: job.ObjectOf(p.obj), Cluster: p.clusterName(),
		Operation: d.Operation, Attempt: d.Attempt, InputsHash: d.InputsHash, Tick: d.Tick,
		Image: f.image, PullPolicy: p.obj.Workspace().Source.ImagePullPolicy, RunnerImage: p.Options.RunnerImage,
		Settings: settings, CredentialsSecret: p.credentials.SecretName,
		Backups: p.Options.StateBackups, Events: p.Options.RunnerEvents, ForceUnlock: p.staleLock,
		GuardDeletes: d.Operation == infrav1.OperationApply && p.Role == contract.RoleCluster,
	}
	if d.Operation == infrav1.OperationApply {
		spec.AfterFailedApply = d.Reason == operation.LastApplyFailed
		if p.attempt != nil {
			spec.AfterUnconfirmedApply = p.attempt.UnconfirmedApply
		}
	}
	return spec
}

// launch takes the Leases, reads once more, live, what the decision came from, and creates the Job with what it needs.
func (p *pass) launch(ctx context.Context, spec job.Spec, f *files) (outcome, error) {
	op, name := spec.Operation, spec.Name()
	if out, held, err := p.takeLeases(ctx, op, name, time.Duration(spec.Settings.ActiveDeadlineSeconds)*time.Second); err != nil || !held {
		return out, err
	}
	if fresh, err := p.recheck(ctx); err != nil || !fresh {
		if err == nil {
			err = p.releaseLeases(ctx, name)
		}
		return outcome{stop: true, requeue: operation.LagRequeue}, err
	}
	if job.NeedsPlanKey(p.Role, op) {
		if _, err := p.Records.EnsurePlanKey(ctx, p.owner()); err != nil {
			return outcome{}, err
		}
	}
	setAnnotation(p.obj, infrav1.AnnotationBlockMove, "")
	if err := p.patchObject(ctx); err != nil {
		return outcome{}, err
	}
	if p.obj.GetGeneration() != p.read { // somebody changed the spec since it was read
		return outcome{stop: true, requeue: operation.LagRequeue}, p.releaseLeases(ctx, name)
	}
	if paused, err := p.pausedMeanwhile(ctx); err != nil || paused {
		if err == nil {
			err = p.releaseLeases(ctx, name)
		}
		return outcome{stop: true, requeue: operation.LagRequeue}, err
	}
	spec.Generation = p.generation() // after the patch, which may have stored a spec
	j := job.Build(spec)
	if out, created, err := p.create(ctx, j); err != nil || !created {
		return out, err
	}
	f.record.Job = name
	f.record.Identity, f.record.IdentityKind = p.credentials.Identity.Name, p.credentials.Identity.Kind
	if err := p.equip(ctx, j, f.record); err != nil {
		return outcome{}, err
	}
	p.tellStart(spec)
	p.running(j)
	return outcome{stop: true, requeue: operation.ActiveJobRequeue}, nil
}

// tellStart emits the events of a Job that was started.
func (p *pass) tellStart(spec job.Spec) {
	p.did("JobCreated", "Job %s (%s, attempt %d) runs image %s: %s", spec.Name(), spec.Operation, spec.Attempt, spec.Image.Run, p.decision.Reason)
	if p.decision.Reason == operation.InputsChanged {
		metrics.InputsChanged(p.Role.Kind())
		if p.state.InputsHash == spec.InputsHash {
			p.did("InputsChanged", "the image changed from %s to %s", p.state.Image, spec.Image.Run)
		} else {
			p.did("InputsChanged", "the inputs changed from %s to %s", p.state.InputsHash, spec.InputsHash)
		}
	}
	if spec.ForceUnlock != "" {
		metrics.ForceUnlocked(p.Role.Kind())
		p.did("ForceUnlocked", "Job %s breaks the stale lock %s of the state", spec.Name(), spec.ForceUnlock)
	}
	if spec.Operation != infrav1.OperationApply && !spec.Image.Pinned {
		p.did("DigestUnknown", "Job %s runs image %s by its reference: no digest is recorded", spec.Name(), spec.Image.Run)
	}
	if dropped := spec.Settings.DroppedEnv; len(dropped) > 0 {
		p.did("EnvironmentDropped", "variables that a module must not have are left out: %s", strings.Join(dropped, ", "))
	}
}

// equip writes what a Job needs to start and to be repeated: its inputs, and for an apply the record of the attempt.
func (p *pass) equip(ctx context.Context, j *batchv1.Job, r record.Record) error {
	ref := metav1.OwnerReference{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job", Name: j.Name, UID: j.UID}
	if err := p.Records.CreateRun(ctx, p.owner(), ref, r); err != nil {
		return err
	}
	if jobOperation(j) != infrav1.OperationApply {
		return nil
	}
	return p.Records.WriteAttempt(ctx, p.owner(), r)
}

// adopt completes a running Job that a manager died over before it could equip it (B-907, B-908). What it cannot complete,
// since the inputs are others by now, is deleted as stuck.
func (p *pass) adopt(ctx context.Context, j *batchv1.Job) error {
	there, err := p.hasSecret(ctx, names.RunSecret(j.Name))
	if err != nil {
		return err
	}
	op := jobOperation(j)
	if there && (op != infrav1.OperationApply || p.attempt != nil && p.attempt.Job == j.Name) {
		return nil
	}
	run, err := p.Records.Get(ctx, j.Namespace, names.RunSecret(j.Name))
	if err != nil {
		return err
	}
	if run != nil {
		return p.equip(ctx, j, *run)
	}
	if _, err := p.stepState(ctx); err != nil {
		return err
	}
	if op == infrav1.OperationApply || p.mutable() {
		if _, err := p.collect(ctx); err != nil {
			return err
		}
	}
	f, missing, err := p.prepare(ctx, op)
	if err != nil || missing != nil {
		return err
	}
	if hash := j.Annotations[infrav1.AnnotationInputsHash]; op == infrav1.OperationApply && hash != f.record.InputsHash {
		return nil
	}
	if f.record.Identity == "" {
		if _, _, err := p.readyCredentials(ctx, op, f); err != nil {
			return err
		}
		if p.credentials == nil {
			return nil
		}
		f.record.Identity, f.record.IdentityKind = p.credentials.Identity.Name, p.credentials.Identity.Kind
	}
	f.record.Job = j.Name
	return p.equip(ctx, j, f.record)
}

// takeLeases takes the run Lease and, between a cluster and its members, sees to it that only one side works (B-217..B-220).
// A machine or pool that finds its cluster at work gives its Lease back, so that the two never wait for each other.
func (p *pass) takeLeases(ctx context.Context, op infrav1.Operation, holder string, deadline time.Duration) (outcome, bool, error) {
	ns, cluster := p.obj.GetNamespace(), p.clusterName()
	request := lease.Request{
		Namespace: ns, Name: names.RunLease(p.key.Suffix), Kind: lease.KindRun, Holder: holder, Operation: op,
		OwnerKind: p.Role.Kind(), OwnerName: p.obj.GetName(), Cluster: cluster, Deadline: deadline,
	}
	taken, err := p.Leases.Acquire(ctx, request)
	if err != nil {
		return outcome{}, false, err
	}
	if !taken.Held {
		out, err := p.waitForLease(op, taken)
		return out, false, err
	}
	if !p.Options.ClusterOperationGate || cluster == "" || !lease.Gated(op) {
		return outcome{}, true, nil
	}
	if p.Role != contract.RoleCluster {
		held, err := p.Leases.Get(ctx, ns, names.ClusterLease(ns, cluster))
		if err != nil || held == nil {
			return outcome{}, err == nil, err
		}
		if err := p.Leases.Release(ctx, ns, request.Name, holder); err != nil {
			return outcome{}, false, err
		}
		out, err := p.wait(op, infrav1.WaitingForClusterOperationReason, "cluster_operation", operation.GateRequeue,
			"waiting for Job %s of the cluster", deref(held.Spec.HolderIdentity))
		return out, false, err
	}
	request.Name, request.Kind = names.ClusterLease(ns, cluster), lease.KindCluster
	if taken, err = p.Leases.Acquire(ctx, request); err != nil {
		return outcome{}, false, err
	}
	if !taken.Held {
		out, err := p.waitForLease(op, taken)
		return out, false, err
	}
	members, err := p.Leases.Members(ctx, ns, cluster)
	if err != nil || len(members) == 0 {
		return outcome{}, err == nil, err
	}
	var holders []string
	for i, m := range members {
		if i == 5 {
			break
		}
		holders = append(holders, deref(m.Spec.HolderIdentity))
	}
	out, err := p.wait(op, infrav1.WaitingForMachineOperationsReason, "machine_operations", operation.GateRequeue,
		"waiting for %d Jobs of machines and pools: %s", len(members), strings.Join(holders, ", "))
	return out, false, err
}

func (p *pass) waitForLease(op infrav1.Operation, taken lease.Taken) (outcome, error) {
	if taken.By == "" {
		return p.wait(op, infrav1.WaitingForRunLeaseReason, "run_lease", operation.LagRequeue, "another manager took the lease at the same moment")
	}
	return p.wait(op, infrav1.WaitingForRunLeaseReason, "run_lease", operation.GateRequeue, "waiting for Job %s, which holds the lease", taken.By)
}

// recheck reads live what the decision came from, now that nobody else can start a Job of the object: the object, its Jobs,
// its state, and the marks of its records. If any of it is not as the cache had it, the decision may be wrong and the pass is
// repeated.
func (p *pass) recheck(ctx context.Context) (bool, error) {
	live := p.kind().object()
	if err := p.Live.Get(ctx, client.ObjectKeyFromObject(p.obj), live); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if live.GetUID() != p.obj.GetUID() || live.GetGeneration() != p.obj.GetGeneration() ||
		live.GetDeletionTimestamp().IsZero() != p.obj.GetDeletionTimestamp().IsZero() {
		return false, nil
	}
	jobs, err := p.liveJobs(ctx)
	if err != nil {
		return false, err
	}
	if !p.knows(jobs) {
		return false, nil
	}
	attempt, err := p.Records.Get(ctx, p.obj.GetNamespace(), p.owner().AttemptName())
	if err != nil {
		return false, err
	}
	if deref(attempt).UnconfirmedApply != deref(p.attempt).UnconfirmedApply || deref(attempt).Applied != deref(p.attempt).Applied {
		return false, nil
	}
	now, err := p.States.fresh(ctx, p.key)
	if err != nil {
		return false, err
	}
	same := (now.err == nil) == (p.state != nil) && deref(now.state).Digest == deref(p.state).Digest && deref(now.state).InputsHash == deref(p.state).InputsHash
	if !same {
		p.States.Forget(p.key)
	}
	return same, nil
}

// pausedMeanwhile tells, live, that the Cluster has been paused since the pass began. As block-move is stored by then, a move
// that looks for it from now on waits for the Job, and one that has looked and paused the Cluster gets none (B-890).
func (p *pass) pausedMeanwhile(ctx context.Context) (bool, error) {
	if p.owners.Cluster == nil {
		return false, nil
	}
	live := &clusterv1.Cluster{}
	err := p.Live.Get(ctx, client.ObjectKeyFromObject(p.owners.Cluster), live)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading cluster %s/%s: %w", p.owners.Cluster.Namespace, p.owners.Cluster.Name, err)
	}
	owners := *p.owners
	owners.Cluster = live
	return owners.Paused(p.obj), nil
}

// knows tells that every live Job is one that the pass has seen in its present state: none runs, none is new, none ended since.
func (p *pass) knows(live []batchv1.Job) bool {
	seen := map[string]bool{}
	for _, j := range p.jobs {
		seen[string(j.UID)] = lease.Finished(j)
	}
	for i := range live {
		if !lease.Finished(&live[i]) || !seen[string(live[i].UID)] {
			return false
		}
	}
	return true
}

// create creates the Job. If one of that name exists, it is adopted if it is ours and runs; a finished one of ours makes the
// next pass count on; somebody else's is deleted once it has finished (B-138..B-142).
func (p *pass) create(ctx context.Context, j *batchv1.Job) (outcome, bool, error) {
	deferred := outcome{stop: true, requeue: operation.LagRequeue}
	name := j.Name
	err := p.Client.Create(ctx, j)
	switch {
	case err == nil:
		return outcome{}, true, nil
	case apierrors.IsAlreadyExists(err):
		existing, err := p.liveJob(ctx, name)
		if err != nil || existing == nil {
			return deferred, false, err
		}
		switch {
		case metav1.IsControlledBy(existing, p.obj) && !lease.Finished(existing):
			*j = *existing
			return outcome{}, true, nil
		case !metav1.IsControlledBy(existing, p.obj) && lease.Finished(existing):
			return deferred, false, p.deleteJob(ctx, existing)
		}
		return deferred, false, nil
	case !rejected(err):
		return outcome{}, false, fmt.Errorf("creating job %s/%s: %w", j.Namespace, name, err)
	}
	// The answer proves that there is no Job, unless an earlier try of ours made one.
	if existing, err := p.liveJob(ctx, name); err != nil || existing != nil {
		return deferred, false, err
	}
	if err := p.releaseLeases(ctx, name); err != nil {
		return outcome{}, false, err
	}
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return outcome{stop: true, requeue: operation.StateRequeue}, false, nil
	}
	op := p.decision.Operation
	p.set(operationCondition(op), conditions.False(reasons[op][operation.Failed], "Job %s was refused; correct spec.jobs, or what refuses it: %s", name, err))
	p.event("JobFailed", "Job %s (%s) was refused: %s", name, op, err)
	return outcome{}, false, fmt.Errorf("creating job %s/%s: %w", j.Namespace, name, err)
}

// rejected tells that an answer proves that nothing was created (B-141).
func rejected(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
