// Package identity reconciles TerraformClusterIdentities (provider-api.md 9a): it says whether their Secrets exist and are
// complete, and which namespaces use them, brings rotated credentials to the mirrors, and removes mirrors that may not be any
// more. Identities have no finalizer: that one was deleted is noticed here by its absence, and by each of its users.
//
// Not in this package: how mirrors are kept (provider/internal/credentials), and who may create an identity (admission).
package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/credentials"
)

// Name is the name of the controller.
const Name = "terraformclusteridentity"

// Reconciler reconciles TerraformClusterIdentities.
type Reconciler struct {
	// Client writes, and reads from the manager's cache.
	Client client.Client
	// Credentials are those of the other controllers: what this one reads, they need not.
	Credentials *credentials.Credentials
	// Recorder emits events.
	Recorder events.EventRecorder
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock
}

// SetupWithManager adds the controller to a manager. It is woken by changes of an identity's spec, and by mirrors that
// appear, go, or get their first or lose their last user.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&infrav1.TerraformClusterIdentity{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(credentials.MirrorIdentity(mgr.GetCache())), builder.WithPredicates(credentials.MirrorChanged())).
		WithOptions(options).
		Complete(r)
}

// Reconcile does one pass. It reads the identity's Secret every five minutes while the identity is Ready, every 30 seconds
// while it is not (B-504); a pass in between reads nothing but the cache, and writes only what changed.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	identity := &infrav1.TerraformClusterIdentity{}
	if err := r.Client.Get(ctx, req.NamespacedName, identity); apierrors.IsNotFound(err) {
		removed, err := r.Credentials.RemoveMirrors(ctx, req.Name)
		r.tell(removed)
		return ctrl.Result{}, err
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading TerraformClusterIdentity %s: %w", req.Name, err)
	}
	before := identity.DeepCopy()
	state, syncErr := r.Credentials.SyncIdentity(ctx, identity)
	r.tell(state.Removed)
	if state.Ready.Reason != "" {
		conditions.Set(identity, infrav1.ReadyCondition, state.Ready, r.clock().Now())
	}
	if syncErr == nil && !slices.Equal(identity.Status.Namespaces, state.Namespaces) {
		identity.Status.Namespaces = state.Namespaces
	}
	if !equality.Semantic.DeepEqual(before.Status, identity.Status) {
		if err := r.Client.Status().Patch(ctx, identity, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, errors.Join(syncErr, fmt.Errorf("writing the status of TerraformClusterIdentity %s: %w", req.Name, err))
		}
		for _, e := range conditions.Transitions(before.Status.Conditions, identity.Status.Conditions) {
			r.Recorder.Eventf(identity, nil, e.Type, e.Reason, e.Action, "%s", e.Note)
		}
	}
	if syncErr != nil {
		return ctrl.Result{}, syncErr
	}
	return ctrl.Result{RequeueAfter: state.RequeueAfter}, nil
}

// tell emits on a user of each removed mirror what became of it.
func (r *Reconciler) tell(removed []credentials.RemovedMirror) {
	for _, mirror := range removed {
		if mirror.User != nil {
			r.Recorder.Eventf(mirror.User, nil, mirror.Event.Type, mirror.Event.Reason, mirror.Event.Action, "%s", mirror.Event.Note)
		}
	}
}

func (r *Reconciler) clock() clock.PassiveClock {
	if r.Clock == nil {
		return clock.RealClock{}
	}
	return r.Clock
}
