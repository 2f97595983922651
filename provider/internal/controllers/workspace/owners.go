package workspace

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/inputs"
)

// stepOwners finds the owner and the Cluster. What is missing is a gate for new work only, so that a finished Job is never
// left unrecorded for it (B-022).
func (p *pass) stepOwners(ctx context.Context) (outcome, error) {
	owners, err := inputs.ResolveOwners(ctx, p.Client, p.obj)
	if err != nil {
		return outcome{}, err
	}
	p.owners = owners
	conditions.Initialize(p.obj, p.now)
	deleting := conditions.False(infrav1.NotDeletingReason, "")
	if !p.obj.GetDeletionTimestamp().IsZero() {
		deleting = conditions.True(infrav1.DeletingReason, "")
		if conditions.HasReason(p.obj, infrav1.DependenciesReadyCondition, ownerReasons...) {
			p.set(infrav1.DependenciesReadyCondition, conditions.True(infrav1.DependenciesReadyReason, "the object is being deleted, which needs no owner"))
		}
	}
	p.set(infrav1.DeletingCondition, deleting)
	return outcome{}, nil
}

// ownerReasons say that an object lacks its owner, which one that is being deleted does not need.
var ownerReasons = []string{
	infrav1.WaitingForOwnerReason, infrav1.WaitingForOwnerMachineReason, infrav1.WaitingForOwnerMachinePoolReason,
	infrav1.OwnerNotFoundReason, infrav1.OwnerMismatchReason,
}

// stepPaused ends the pass of a paused object: its Jobs are recorded, and nothing else is done (B-028, B-039).
func (p *pass) stepPaused(context.Context) (outcome, error) {
	out := outcome{conditions: p.pausedConditions(), stop: p.owners.Paused(p.obj)}
	if out.stop && !p.obj.GetDeletionTimestamp().IsZero() {
		out.conditions = append(out.conditions, conditions.Condition{Type: infrav1.DeletingCondition,
			Value: conditions.True(infrav1.DeletingReason, "waiting until the object and its Cluster are not paused any more")})
	}
	return out, nil
}

func (p *pass) pausedConditions() []conditions.Condition {
	v := conditions.False(infrav1.NotPausedReason, "")
	if p.owners.Paused(p.obj) {
		v = conditions.True(infrav1.PausedReason, "the object or its Cluster is paused")
	}
	return []conditions.Condition{{Type: infrav1.PausedCondition, Value: v}}
}

// stepExternal leaves objects of an externally managed cluster alone (B-048): the live TerraformCluster is not touched, and
// a deleting object is only let go. Machines and pools of such a cluster live on, with its status for inputs.
func (p *pass) stepExternal(context.Context) (outcome, error) {
	if !p.owners.ExternallyManaged {
		return outcome{}, nil
	}
	if p.obj.GetDeletionTimestamp().IsZero() {
		return outcome{stop: p.Role == contract.RoleCluster}, nil
	}
	if !controllerutil.RemoveFinalizer(p.obj, p.obj.Finalizer()) {
		return outcome{stop: true}, nil
	}
	p.event("ExternallyManagedReleased", "the cluster is managed externally, so its infrastructure is left alone")
	return outcome{stop: true}, nil
}

// stepFinalizer stores the finalizer before anything is created for the object (B-029).
func (p *pass) stepFinalizer(ctx context.Context) (outcome, error) {
	if !p.obj.GetDeletionTimestamp().IsZero() {
		return outcome{stop: !controllerutil.ContainsFinalizer(p.obj, p.obj.Finalizer())}, nil
	}
	if !controllerutil.AddFinalizer(p.obj, p.obj.Finalizer()) {
		return outcome{}, nil
	}
	return outcome{}, p.patchObject(ctx)
}
