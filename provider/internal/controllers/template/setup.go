package template

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// Names of the controllers.
const (
	ClusterName = "terraformclustertemplate"
	MachineName = "terraformmachinetemplate"
)

// Setup is how a controller is added to a manager.
type Setup struct {
	// Options of the controller.
	Options controller.Options
	// WatchFilter is the manager's --watch-filter.
	WatchFilter string
	// Sources is the cache of sources of variables. Its changes wake templates; nil leaves that to retries.
	Sources cache.Cache
}

// SetupWithManager adds the controller to a manager.
func (r *ClusterReconciler) SetupWithManager(mgr ctrl.Manager, s Setup) error {
	return r.setup(mgr, s, ClusterName, &infrav1.TerraformClusterTemplate{}, &infrav1.TerraformClusterTemplateList{}, r)
}

// SetupWithManager adds the controller to a manager.
func (r *MachineReconciler) SetupWithManager(mgr ctrl.Manager, s Setup) error {
	return r.setup(mgr, s, MachineName, &infrav1.TerraformMachineTemplate{}, &infrav1.TerraformMachineTemplateList{}, r)
}

func (r *Reconciler) setup(mgr ctrl.Manager, s Setup, name string, kind client.Object, list client.ObjectList, reconciler reconcile.Reconciler) error {
	b := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(kind, builder.WithPredicates(
			predicates.ResourceHasFilterLabel(mgr.GetScheme(), mgr.GetLogger(), s.WatchFilter),
			predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}),
		)).
		WithOptions(s.Options)
	if s.Sources != nil {
		for _, of := range []string{"ConfigMap", "Secret"} {
			object := &metav1.PartialObjectMetadata{}
			object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(of))
			b = b.WatchesRawSource(source.Kind(s.Sources, object, handler.TypedEnqueueRequestsFromMapFunc(r.users(list, of, s.WatchFilter))))
		}
	}
	return b.Complete(reconciler)
}

// users maps a source of variables to the templates of its namespace that name it.
func (r *Reconciler) users(empty client.ObjectList, kind, filter string) handler.TypedMapFunc[*metav1.PartialObjectMetadata, reconcile.Request] {
	return func(ctx context.Context, source *metav1.PartialObjectMetadata) []reconcile.Request {
		var out []reconcile.Request
		err := r.each(ctx, empty, source.Namespace, func(template client.Object) {
			if filter != "" && template.GetLabels()[clusterv1.WatchLabel] != filter {
				return
			}
			for _, entry := range variablesFrom(template) {
				if kind == "Secret" && entry.SecretRef != nil && entry.SecretRef.Name == source.Name ||
					kind == "ConfigMap" && entry.ConfigMapRef != nil && entry.ConfigMapRef.Name == source.Name {
					out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(template)})
					return
				}
			}
		})
		if err != nil {
			log.FromContext(ctx).Error(err, "Looking for the templates that use a source of variables")
		}
		return out
	}
}

func variablesFrom(template client.Object) []infrav1.VariablesSource {
	switch t := template.(type) {
	case *infrav1.TerraformClusterTemplate:
		return t.Spec.Template.Spec.VariablesFrom
	case *infrav1.TerraformMachineTemplate:
		return t.Spec.Template.Spec.VariablesFrom
	}
	return nil
}

// each calls f with every template of a namespace, or of all.
func (r *Reconciler) each(ctx context.Context, empty client.ObjectList, namespace string, f func(client.Object)) error {
	list := empty.DeepCopyObject().(client.ObjectList)
	if err := r.Client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing templates: %w", err)
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		f(item.(client.Object))
		return nil
	})
}

// prune forgets what is known of templates that are gone. It is called when one was found to be.
func (r *Reconciler) prune(ctx context.Context, empty client.ObjectList) error {
	exist := map[types.UID]bool{}
	if err := r.each(ctx, empty, "", func(template client.Object) { exist[template.GetUID()] = true }); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid := range r.seen {
		if !exist[uid] {
			delete(r.seen, uid)
		}
	}
	return nil
}
