package workspace

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/credentials"
	"github.com/captf-toolkit/captf/provider/internal/inputs"
	"github.com/captf-toolkit/captf/provider/internal/metrics"
	"github.com/captf-toolkit/captf/provider/internal/operation"
	"github.com/captf-toolkit/captf/provider/internal/record"
	"github.com/captf-toolkit/captf/provider/internal/state"
)

// outcome is what a step found.
type outcome struct {
	// conditions to set.
	conditions []conditions.Condition
	// events to emit once everything is stored.
	events []conditions.Event
	// requeue asks for another pass after that time; 0 does not.
	requeue time.Duration
	// stop ends the pass.
	stop bool
}

// pass is one look at one object. Steps read and write it in the order of the list in steps.go; a field is filled by the
// step that its comment names.
type pass struct {
	*Reconciler
	now time.Time
	// obj is changed by the steps, before is what it was.
	obj, before infrav1.Workspace
	// read is the generation of the spec that the pass works with: that of obj, unless somebody else wrote another one during
	// the pass.
	read int64
	// seen are the conditions that the pass began with.
	seen []metav1.Condition
	key  state.Key

	// owners, by stepOwners.
	owners *inputs.Owners

	// jobs are the object's Jobs, newest last, by stepJobs.
	jobs []*batchv1.Job
	// active is the Job that runs.
	active *batchv1.Job
	// finished are Jobs that this pass recorded, to be marked so once the status is stored.
	finished []*batchv1.Job
	// attempt and applied are the marks of the records, from cached metadata, by stepMarks.
	attempt, applied *record.Record

	// credentials of the object, by stepCredentials.
	credentials *credentials.Result
	// state of the object, nil if there is none or it cannot be read, by stepState. held says why no Job may run.
	state *state.State
	held  *conditions.Value
	// everApplied tells that an apply of the object ever succeeded (B-480).
	everApplied bool
	// rendered are the current inputs, nil if they cannot be built, by stepInputs.
	rendered *contract.Rendered
	// gate is the condition that says why there are none, by stepInputs.
	gate string
	// staleLock is a lock that a run of ours left behind, for the next run to break, by stepLock.
	staleLock string
	// pending and converging tell that the infrastructure is still changing, by stepOutputs.
	pending, converging bool
	// sampled is the newest Job that this pass recorded, nil if it recorded none.
	sampled *ended
	// decision is what to do, by stepChoose.
	decision operation.Decision

	// events tell what the pass found, once that is stored: a pass that cannot store it is repeated and finds it again. deeds
	// tell what it did, whether anything is stored or not: no later pass does it again.
	events, deeds []conditions.Event
	requeue       time.Duration
	// gone tells that the finalizer was removed.
	gone bool
}

func (r *Reconciler) pass(obj infrav1.Workspace) *pass {
	return &pass{
		Reconciler: r,
		now:        r.Clock.Now(),
		obj:        obj,
		before:     obj.DeepCopyObject().(infrav1.Workspace),
		seen:       slices.Clone(obj.GetConditions()),
		read:       obj.GetGeneration(),
		key:        state.KeyFor(r.Role, obj.GetNamespace(), obj.GetName()),
	}
}

// conflictRequeue is when a pass is repeated that was built on an old version: a cache catches up within that.
const conflictRequeue = 500 * time.Millisecond

// run runs the steps and stores what they found, also if one failed.
func (p *pass) run(ctx context.Context) (ctrl.Result, error) {
	var failed error
	for _, step := range steps {
		out, err := step.run(p, ctx)
		p.apply(out)
		if err != nil {
			failed = err
			break
		}
		if out.stop {
			break
		}
	}
	p.emit(p.deeds)
	if err := p.close(ctx); err != nil && failed == nil {
		failed = err
	}
	switch {
	case apierrors.IsConflict(failed):
		// The pass saw an old version of the object, or somebody else wrote it meanwhile. Nothing that it found is lost: the
		// next pass finds it again.
		ctrl.LoggerFrom(ctx).V(4).Info("the object changed during the pass, which is repeated", "cause", failed.Error())
		return ctrl.Result{RequeueAfter: conflictRequeue}, nil
	case failed != nil:
		return ctrl.Result{}, failed
	}
	return ctrl.Result{RequeueAfter: p.requeue}, nil
}

// apply takes in what a step found.
func (p *pass) apply(out outcome) {
	conditions.SetAll(p.obj, out.conditions, p.now)
	p.events = append(p.events, out.events...)
	p.again(out.requeue)
}

// again asks for another pass after d, if none is due sooner.
func (p *pass) again(d time.Duration) {
	if d > 0 && (p.requeue == 0 || d < p.requeue) {
		p.requeue = d
	}
}

// set sets a condition.
func (p *pass) set(conditionType string, v conditions.Value) {
	conditions.Set(p.obj, conditionType, v, p.now)
}

// did emits an event of something that was done.
func (p *pass) did(reason, note string, args ...any) {
	p.deeds = append(p.deeds, conditions.NewEvent(reason, fmt.Sprintf(note, args...)))
}

// event emits an event of something that was found, once it is stored.
func (p *pass) event(reason, note string, args ...any) {
	p.events = append(p.events, conditions.NewEvent(reason, fmt.Sprintf(note, args...)))
}

// close stores what the pass found: first metadata and spec, then status, then the marks of recorded Jobs (B-021, B-066,
// B-654). Without a change nothing is written.
func (p *pass) close(ctx context.Context) error {
	if p.gone {
		p.emit(p.events)
		return nil
	}
	p.explainDeletion()
	if _, err := conditions.SetReady(p.obj, p.now); err != nil {
		return err
	}
	conditions.Settle(p.obj, p.seen)
	p.obj.WorkspaceStatus().ObservedGeneration = p.read
	p.measure()
	if err := p.patchObject(ctx); err != nil {
		return err
	}
	if err := p.patchStatus(ctx); err != nil {
		return err
	}
	if err := p.markRecorded(ctx); err != nil {
		return err
	}
	p.emit(append(p.events, conditions.Transitions(p.seen, p.obj.GetConditions())...))
	return nil
}

// measure sets the object's gauges.
func (p *pass) measure() {
	g := metrics.Object(p.Role.Kind(), p.obj.GetNamespace(), p.obj.GetName())
	status := func(conditionType string) metav1.ConditionStatus {
		return deref(conditions.Get(p.obj, conditionType)).Status
	}
	g.Ready(status(infrav1.ReadyCondition))
	g.Healthy(status(infrav1.InfrastructureHealthyCondition))
	g.Drift(status(infrav1.DriftDetectedCondition) == metav1.ConditionTrue)
	if m, ok := p.obj.(*infrav1.TerraformMachine); ok {
		g.UnhealthySamples(int(m.Status.UnhealthySamples))
	}
	for _, op := range []infrav1.Operation{infrav1.OperationApply, infrav1.OperationRefresh, infrav1.OperationDrift, infrav1.OperationDestroy} {
		if !p.scheduled(op) {
			g.LastSuccess(string(op), time.Time{}) // nobody is to be told that it has not been done for long
		} else if runs := operation.NewestFirst(p.runs(), op); len(runs) > 0 {
			if i := slices.IndexFunc(runs, func(r operation.Run) bool { return r.Outcome == operation.Succeeded }); i >= 0 {
				g.LastSuccess(string(op), runs[i].Finished)
			}
		}
	}
}

// scheduled tells that an operation is done whenever it is due. Checks are not while the object is paused or deleted, and may be
// turned off.
func (p *pass) scheduled(op infrav1.Operation) bool {
	every := operation.IntervalsOf(p.obj, p.cluster(), p.Options.DriftInterval)
	interval, check := map[infrav1.Operation]time.Duration{
		infrav1.OperationDrift:   every.Drift,
		infrav1.OperationRefresh: max(every.HealthCheck, every.Membership),
	}[op]
	return !check || interval > 0 && p.obj.GetDeletionTimestamp().IsZero() && (p.owners == nil || !p.owners.Paused(p.obj))
}

// patchObject stores changes of metadata and spec.
func (p *pass) patchObject(ctx context.Context) error {
	if equality.Semantic.DeepEqual(p.before.GetAnnotations(), p.obj.GetAnnotations()) &&
		equality.Semantic.DeepEqual(p.before.GetFinalizers(), p.obj.GetFinalizers()) &&
		equality.Semantic.DeepEqual(specOf(p.before), specOf(p.obj)) {
		return nil
	}
	base := p.before
	if equality.Semantic.DeepEqual(p.before.GetFinalizers(), p.obj.GetFinalizers()) {
		return p.patch(ctx, client.MergeFrom(base))
	}
	// A merge patch replaces the whole list of finalizers, so it must not be built on an old one.
	return p.patch(ctx, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
}

func (p *pass) patch(ctx context.Context, patch client.Patch) error {
	patched := p.obj.DeepCopyObject().(infrav1.Workspace)
	known := p.obj.GetGeneration() == p.read
	err := p.Client.Patch(ctx, patched, patch)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("patching %s %s/%s: %w", p.Role.Kind(), p.obj.GetNamespace(), p.obj.GetName(), err)
	}
	// The answer carries the stored status; what this pass found is not stored yet.
	copyStatus(p.before, patched)
	copyStatus(patched, p.obj)
	if known && equality.Semantic.DeepEqual(specOf(p.obj), specOf(patched)) {
		p.read = patched.GetGeneration() // of what we stored, if of anything new
	}
	p.obj = patched
	before := patched.DeepCopyObject().(infrav1.Workspace)
	copyStatus(before, p.before)
	p.before = before
	return nil
}

// patchStatus stores changes of the status. A merge patch replaces the whole list of conditions, so one that is built on an
// old version would bring old conditions back; it is refused instead.
func (p *pass) patchStatus(ctx context.Context) error {
	if equality.Semantic.DeepEqual(statusOf(p.before), statusOf(p.obj)) {
		return nil
	}
	patched := p.obj.DeepCopyObject().(infrav1.Workspace)
	err := p.Client.Status().Patch(ctx, patched, client.MergeFromWithOptions(p.before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("patching the status of %s %s/%s: %w", p.Role.Kind(), p.obj.GetNamespace(), p.obj.GetName(), err)
	}
	p.obj, p.before = patched, patched.DeepCopyObject().(infrav1.Workspace)
	return nil
}

// explainDeletion says what a deletion waits for, where no step has said so.
func (p *pass) explainDeletion() {
	deleting := conditions.Get(p.obj, infrav1.DeletingCondition)
	if deleting == nil || deleting.Status != metav1.ConditionTrue || deleting.Message != "" {
		return
	}
	var message string
	blocked, last := conditions.Get(p.obj, infrav1.DeletionBlockedCondition), conditions.Get(p.obj, infrav1.ApplyJobSucceededCondition)
	switch active := p.obj.WorkspaceStatus().ActiveJob; {
	case active != nil:
		message = fmt.Sprintf("waiting for Job %s (%s)", active.Name, active.Operation)
	case blocked != nil && blocked.Status == metav1.ConditionTrue:
		message = blocked.Message
	case p.held != nil:
		message = fmt.Sprintf("nothing is destroyed while %s is False with reason %s", infrav1.StateReadableCondition, p.held.Reason)
	case last != nil && last.Status != metav1.ConditionTrue && p.decision.Operation == infrav1.OperationDestroy:
		message = fmt.Sprintf("the destroy waits: %s is %s with reason %s", infrav1.ApplyJobSucceededCondition, last.Status, last.Reason)
	default:
		return
	}
	p.set(infrav1.DeletingCondition, conditions.True(infrav1.DeletingReason, "%s", message))
}

func (p *pass) emit(events []conditions.Event) {
	for _, e := range events {
		p.Recorder.Eventf(p.regarding(), nil, e.Type, e.Reason, e.Action, "%s", e.Note)
	}
}

// regarding is the object as events refer to it; what was read through the cache has no kind set.
func (p *pass) regarding() runtime.Object {
	return &corev1.ObjectReference{
		APIVersion: infrav1.GroupVersion.String(), Kind: p.Role.Kind(),
		Namespace: p.obj.GetNamespace(), Name: p.obj.GetName(), UID: p.obj.GetUID(), ResourceVersion: p.obj.GetResourceVersion(),
	}
}

func specOf(obj infrav1.Workspace) any {
	switch o := obj.(type) {
	case *infrav1.TerraformCluster:
		return o.Spec
	case *infrav1.TerraformMachine:
		return o.Spec
	case *infrav1.TerraformMachinePool:
		return o.Spec
	}
	return nil
}

func statusOf(obj infrav1.Workspace) any {
	switch o := obj.(type) {
	case *infrav1.TerraformCluster:
		return o.Status
	case *infrav1.TerraformMachine:
		return o.Status
	case *infrav1.TerraformMachinePool:
		return o.Status
	}
	return nil
}

// copyStatus copies the status of from into to, which is of the same kind.
func copyStatus(to, from infrav1.Workspace) {
	switch o := to.(type) {
	case *infrav1.TerraformCluster:
		from.(*infrav1.TerraformCluster).Status.DeepCopyInto(&o.Status)
	case *infrav1.TerraformMachine:
		from.(*infrav1.TerraformMachine).Status.DeepCopyInto(&o.Status)
	case *infrav1.TerraformMachinePool:
		from.(*infrav1.TerraformMachinePool).Status.DeepCopyInto(&o.Status)
	}
}
