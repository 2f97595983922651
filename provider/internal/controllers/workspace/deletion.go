package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/inputs"
	"github.com/captf-toolkit/captf/provider/internal/metrics"
	"github.com/captf-toolkit/captf/provider/internal/names"
	"github.com/captf-toolkit/captf/provider/internal/operation"
	"github.com/captf-toolkit/captf/provider/internal/state"
)

// stepDeletion keeps a cluster from being destroyed under its machines and pools (B-831).
func (p *pass) stepDeletion(ctx context.Context) (outcome, error) {
	if p.obj.GetDeletionTimestamp().IsZero() || p.Role != contract.RoleCluster {
		return outcome{}, nil
	}
	machines, pools, err := p.dependents(ctx)
	if err != nil {
		return outcome{}, err
	}
	if len(machines)+len(pools) == 0 {
		return outcome{conditions: []conditions.Condition{{Type: infrav1.DeletionBlockedCondition, Value: conditions.False(infrav1.NotBlockedReason, "")}}}, nil
	}
	var named []string
	if len(machines) > 0 {
		named = append(named, some("machines", machines))
	}
	if len(pools) > 0 {
		named = append(named, some("pools", pools))
	}
	return outcome{stop: true, requeue: operation.GateRequeue, conditions: []conditions.Condition{{
		Type: infrav1.DeletionBlockedCondition, Value: conditions.True(infrav1.DependentsExistReason, "waiting for %s to be deleted", strings.Join(named, " and ")),
	}}}, nil
}

// mustStay tells why a deleting object's infrastructure must not be destroyed: its policy says so, or it is not known
// (B-856). This release cannot let go of an object and keep its infrastructure, so the object stays.
func (p *pass) mustStay() *conditions.Value {
	policy, resolved := inputs.DeletionPolicy(p.obj, p.cluster())
	switch {
	case !resolved:
		v := conditions.True(infrav1.DeletionPolicyUnresolvedReason,
			"the TerraformCluster, whose deletionPolicy applies, is not found: set spec.deletionPolicy of this object to Destroy")
		return &v
	case policy == infrav1.DeletionPolicyRetain:
		v := conditions.True(infrav1.DeletingReason,
			"deletionPolicy is Retain, which this release does not carry out: nothing is destroyed; set spec.deletionPolicy to Destroy to destroy the infrastructure")
		return &v
	}
	return nil
}

// dependents are the names of the machines and pools of a cluster, read live and whatever the watch filter.
func (p *pass) dependents(ctx context.Context) (machines, pools []string, err error) {
	cluster := p.clusterName()
	if cluster == "" {
		return nil, nil, nil
	}
	of := []client.ListOption{client.InNamespace(p.obj.GetNamespace()), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster}}
	ml := &infrav1.TerraformMachineList{}
	if err := p.Live.List(ctx, ml, of...); err != nil {
		return nil, nil, fmt.Errorf("listing machines of cluster %s/%s: %w", p.obj.GetNamespace(), cluster, err)
	}
	for i := range ml.Items {
		machines = append(machines, ml.Items[i].Name)
	}
	pl := &infrav1.TerraformMachinePoolList{}
	if err := p.Live.List(ctx, pl, of...); err != nil {
		return nil, nil, fmt.Errorf("listing pools of cluster %s/%s: %w", p.obj.GetNamespace(), cluster, err)
	}
	for i := range pl.Items {
		pools = append(pools, pl.Items[i].Name)
	}
	return machines, pools, nil
}

// some names up to three of what there is.
func some(what string, of []string) string {
	const most = 3
	text := fmt.Sprintf("%d %s (%s", len(of), what, strings.Join(of[:min(most, len(of))], ", "))
	if n := len(of) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text + ")"
}

// finish removes everything that was kept for an object whose infrastructure is gone, or never was, and its finalizer
// (B-870..B-872). Every step may be repeated; what was decided from the cache is looked at once more, live.
func (p *pass) finish(ctx context.Context) (outcome, error) {
	putOff := outcome{stop: true, requeue: operation.LagRequeue}
	jobs, err := p.liveJobs(ctx)
	if err != nil {
		return outcome{}, err
	}
	if !p.knows(jobs) {
		return putOff, nil
	}
	if held, err := p.Leases.Get(ctx, p.obj.GetNamespace(), names.RunLease(p.key.Suffix)); err != nil || held != nil {
		return putOff, err
	}
	destroyed := p.destroyed()
	if out, ok, err := p.mayFinish(ctx, destroyed); err != nil || !ok {
		return out, err
	}
	if err := p.States.Store.Delete(ctx, p.key); err != nil && !errors.Is(err, state.ErrNotFound) {
		return outcome{}, fmt.Errorf("deleting the state of %s %s/%s: %w", p.Role.Kind(), p.obj.GetNamespace(), p.obj.GetName(), err)
	}
	if err := p.States.Store.DeleteLock(ctx, p.key); err != nil {
		return outcome{}, fmt.Errorf("deleting the lock of %s %s/%s: %w", p.Role.Kind(), p.obj.GetNamespace(), p.obj.GetName(), err)
	}
	if err := p.Records.Delete(ctx, p.owner()); err != nil {
		return outcome{}, err
	}
	if err := p.Leases.ReleaseAll(ctx, p.obj.GetNamespace(), p.Role.Kind(), p.obj.GetName()); err != nil {
		return outcome{}, err
	}
	events, err := p.Credentials.Release(ctx, p.obj)
	if err != nil {
		return outcome{}, err
	}
	p.events = append(p.events, events...)
	if destroyed {
		p.event("Destroyed", "the infrastructure was destroyed and what was kept for it is removed")
	}
	return p.letGo(ctx)
}

// mayFinish looks at the state live: an object that never had one must still have none, and one that was destroyed must have
// nothing left in it.
func (p *pass) mayFinish(ctx context.Context, destroyed bool) (outcome, bool, error) {
	now, err := p.States.fresh(ctx, p.key)
	if err != nil {
		return outcome{}, false, err
	}
	st, err := now.state, now.err
	var unreadable *state.Unreadable
	switch {
	case errors.Is(err, state.ErrNotFound):
		if destroyed {
			return outcome{}, true, nil
		}
		attempt, err := p.Records.Get(ctx, p.obj.GetNamespace(), p.owner().AttemptName())
		fresh := deref(attempt).UnconfirmedApply == "" && !deref(attempt).Applied
		return outcome{stop: true, requeue: operation.LagRequeue}, fresh && err == nil, err
	case errors.As(err, &unreadable):
		// Half of a deleted state cannot be read, and need not be: the destroy is on record.
		return outcome{stop: true, requeue: operation.LagRequeue}, destroyed, nil
	case !destroyed:
		p.States.Forget(p.key)
		return outcome{stop: true, requeue: operation.LagRequeue}, false, nil
	case st.Resources > 0:
		return outcome{stop: true, requeue: operation.StateRequeue, conditions: []conditions.Condition{{
			Type: infrav1.ApplyJobSucceededCondition, Value: conditions.False(infrav1.DestroyFailedReason,
				"a destroy succeeded, but the state has %d resources again: delete the finished destroy Job, so that they are destroyed too", st.Resources),
		}}}, false, nil
	}
	return outcome{}, true, nil
}

// letGo removes the finalizer, and then what the namespace needs no more.
func (p *pass) letGo(ctx context.Context) (outcome, error) {
	p.finished = nil // the Jobs go with the object
	if !controllerutil.RemoveFinalizer(p.obj, p.obj.Finalizer()) {
		return outcome{stop: true}, nil
	}
	if err := p.patchObject(ctx); err != nil {
		return outcome{}, err
	}
	p.gone = true
	p.event("FinalizerRemoved", "the finalizer was removed")
	metrics.Forget(p.Role.Kind(), p.obj.GetNamespace(), p.obj.GetName())
	p.States.Forget(p.key)
	return outcome{stop: true}, p.Credentials.SweepNamespace(ctx, p.obj.GetNamespace())
}
