package credentials

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/names"
)

// IdentityUsers maps a TerraformClusterIdentity to the objects of a role that resolve to it (B-505). Use it with
// predicate.GenerationChangedPredicate, which lets creation, deletion and changes of the spec through, and no others.
func IdentityUsers(reader client.Reader, role contract.Role) handler.MapFunc {
	return func(ctx context.Context, identity client.Object) []reconcile.Request {
		w, err := listWorkspaces(ctx, reader, "")
		if err != nil {
			log.FromContext(ctx).Error(err, "Looking for the users of an identity", "identity", identity.GetName())
			return nil
		}
		var out []reconcile.Request
		for object, cluster := range w.all() {
			if object.Role() == role && uses(object, cluster, identity.GetName()) {
				out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)})
			}
		}
		return out
	}
}

// IdentityUser returns an object of any namespace that resolves to the identity, nil if there is none. One that is being
// deleted counts, because its infrastructure is destroyed with the same credentials (B-503).
func IdentityUser(ctx context.Context, reader client.Reader, identity string) (infrav1.Workspace, error) {
	w, err := listWorkspaces(ctx, reader, "")
	if err != nil {
		return nil, err
	}
	for object, cluster := range w.all() {
		if uses(object, cluster, identity) {
			return object, nil
		}
	}
	return nil, nil
}

// uses tells that an object resolves to the identity.
func uses(object infrav1.Workspace, cluster *infrav1.TerraformCluster, identity string) bool {
	ref := IdentityRef(object, cluster)
	return ref != nil && ref.Kind == infrav1.IdentityKindClusterIdentity && ref.Name == identity
}

// MirrorIdentity maps a mirror to its identity. Use it with MirrorChanged, on the metadata of Secrets.
//
// A mirror that has no annotation any more is mapped by its name: clusterctl move replaces all annotations of what it deletes at
// the source.
func MirrorIdentity(cache client.Reader) handler.MapFunc {
	return func(ctx context.Context, mirror client.Object) []reconcile.Request {
		if name := mirror.GetAnnotations()[infrav1.AnnotationIdentity]; name != "" {
			return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: name}}}
		}
		identities := &infrav1.TerraformClusterIdentityList{}
		if err := cache.List(ctx, identities, client.UnsafeDisableDeepCopy); err != nil {
			log.FromContext(ctx).Error(err, "listing identities failed", "mirror", client.ObjectKeyFromObject(mirror))
			return nil
		}
		for i := range identities.Items {
			if name := identities.Items[i].Name; names.Mirror(name) == mirror.GetName() {
				return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: name}}}
			}
		}
		return nil
	}
}

// MirrorChanged lets through what the status of an identity may depend on: that a mirror appears or goes, or gets its first
// or loses its last owner.
func MirrorChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return mirrored(e.Object) },
		DeleteFunc:  func(e event.DeleteEvent) bool { return mirrored(e.Object) },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, is := mirrored(e.ObjectOld), mirrored(e.ObjectNew)
			return was != is || is && (len(e.ObjectOld.GetOwnerReferences()) == 0) != (len(e.ObjectNew.GetOwnerReferences()) == 0)
		},
	}
}

func mirrored(object metav1.Object) bool { return object.GetLabels()[infrav1.LabelMirrored] == yes }
