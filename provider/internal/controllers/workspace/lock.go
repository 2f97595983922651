package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/metrics"
	"github.com/captf-toolkit/captf/provider/internal/operation"
	"github.com/captf-toolkit/captf/provider/internal/state"
)

// stepLock looks at the lock of the state while no Job runs (B-431..B-436): one that a run of ours left behind is broken by
// the next run, one that somebody else holds is only reported. It keeps no Job from starting: the run waits for the lock.
func (p *pass) stepLock(ctx context.Context) (outcome, error) {
	if p.destroyed() {
		return outcome{}, nil
	}
	held, err := p.lockHeld(ctx)
	if err != nil {
		return outcome{}, err
	}
	if !held {
		return outcome{}, p.dropForceUnlock()
	}
	lock, err := p.States.Store.Lock(ctx, p.key)
	if err != nil || lock == nil {
		return outcome{}, err
	}
	verdict, err := p.judgeLock(ctx, lock)
	if err != nil {
		return outcome{}, err
	}
	switch verdict {
	case state.VerdictStale:
		p.staleLock = lock.ID
		return outcome{}, nil
	case state.VerdictLive:
		return outcome{requeue: operation.GateRequeue}, nil
	}
	asked := p.obj.GetAnnotations()[infrav1.AnnotationForceUnlock]
	if asked != "" && asked == lock.ID {
		return outcome{}, p.forceUnlock(ctx, lock.ID)
	}
	if !conditions.HasReason(p.before, infrav1.StateReadableCondition, infrav1.StateLockedReason) {
		metrics.StateUnreadable(p.Role.Kind(), infrav1.StateLockedReason)
	}
	if p.held == nil {
		message := lock.ForeignMessage(strings.ToLower(p.Role.Kind()), p.obj.GetNamespace(), p.obj.GetName())
		if asked != "" {
			message += fmt.Sprintf("; the annotation is there with the value %q, which is not the ID of that lock and counts for nothing", asked)
		}
		p.set(infrav1.StateReadableCondition, conditions.False(infrav1.StateLockedReason, "%s", message))
	}
	return outcome{requeue: operation.StateRequeue}, nil
}

// lockHeld tells from the cache whether the lock is held. A Lease that only a stock client ever wrote is not in the cache; a
// run that meets it waits for it.
func (p *pass) lockHeld(ctx context.Context) (bool, error) {
	lease := &coordinationv1.Lease{}
	err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.obj.GetNamespace(), Name: p.key.Lease()}, lease)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading lease %s/%s from the cache: %w", p.obj.GetNamespace(), p.key.Lease(), err)
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "") != "", nil
}

// judgeLock asks the pod that holds the lock, live.
func (p *pass) judgeLock(ctx context.Context, lock *state.Lock) (state.Verdict, error) {
	if lock.Holder == nil {
		return lock.Judge(p.now, false, state.PodUnknown), nil
	}
	pod := &corev1.Pod{}
	err := p.Live.Get(ctx, client.ObjectKey{Namespace: p.obj.GetNamespace(), Name: lock.Holder.Pod}, pod)
	if apierrors.IsNotFound(err) {
		pod, err = nil, nil
	}
	if err != nil {
		return "", fmt.Errorf("reading pod %s/%s, which holds the lock of the state: %w", p.obj.GetNamespace(), lock.Holder.Pod, err)
	}
	// A Job that was pruned is ours by its name, which names the object.
	own := slices.ContainsFunc(p.jobs, func(j *batchv1.Job) bool { return j.Name == lock.Holder.Job }) ||
		strings.HasPrefix(lock.Holder.Job, "captf-"+p.Role.ShortKind()+"-")
	return lock.Judge(p.now, own, state.PodStateOf(pod, lock.Holder.PodUID)), nil
}

// forceUnlock frees a foreign lock that a user named, and takes the request back (B-436).
func (p *pass) forceUnlock(ctx context.Context, id string) error {
	freed, err := p.States.Store.ForceUnlock(ctx, p.key, id)
	if err != nil {
		return fmt.Errorf("freeing the lock of the state of %s %s/%s: %w", p.Role.Kind(), p.obj.GetNamespace(), p.obj.GetName(), err)
	}
	if freed {
		metrics.ForceUnlocked(p.Role.Kind())
		p.did("ForceUnlocked", "the lock %s of the state was freed as the annotation %s asks", id, infrav1.AnnotationForceUnlock)
	}
	return p.dropForceUnlock()
}

// dropForceUnlock removes a request to free a lock that is free.
func (p *pass) dropForceUnlock() error {
	annotations := p.obj.GetAnnotations()
	delete(annotations, infrav1.AnnotationForceUnlock)
	p.obj.SetAnnotations(annotations)
	return nil
}
