package workspace

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/credentials"
	"github.com/captf-toolkit/captf/provider/internal/lease"
	"github.com/captf-toolkit/captf/provider/internal/metrics"
)

// Sizes of what a Reconciler remembers. All of it can be read again; forgetting costs reads.
const (
	rememberedJobs    = 10_000
	rememberedRecords = 10_000
)

// secretKind is what the caches hold of Secrets: metadata only.
func secretKind() *metav1.PartialObjectMetadata {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return meta
}

// Indexes are the indexes that the reconcilers of all roles read by: of each kind, the keys by name.
func Indexes() map[client.Object]map[string]client.IndexerFunc {
	indexes := map[client.Object]map[string]client.IndexerFunc{
		&batchv1.Job{}: {ownerIndex: controllerUID, activeIndex: activeKeys},
		secretKind():   {stateIndex: stateKeys},
	}
	for _, k := range kinds {
		indexes[k.object()] = map[string]client.IndexerFunc{sourceIndex: variableSources}
	}
	return indexes
}

// Index adds the indexes. It is called once for a manager, before any of the reconcilers is set up.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	for object, by := range Indexes() {
		for name, keys := range by {
			if err := indexer.IndexField(ctx, object, name, keys); err != nil {
				return fmt.Errorf("indexing %T by %s: %w", object, name, err)
			}
		}
	}
	return nil
}

// CountActiveJobs counts the Jobs that have not ended, from the cache, for the gauge captf_jobs_active.
func CountActiveJobs(reader client.Reader) func() map[metrics.ActiveJob]int {
	return func() map[metrics.ActiveJob]int {
		counts := map[metrics.ActiveJob]int{}
		list := &batchv1.JobList{}
		if err := reader.List(context.Background(), list, client.MatchingFields{activeIndex: "all"}, client.UnsafeDisableDeepCopy); err != nil {
			return counts // the cache has not started, or has ended
		}
		for i := range list.Items {
			l := list.Items[i].Labels
			counts[metrics.ActiveJob{Kind: l[infrav1.LabelOwnerKind], Operation: l[infrav1.LabelOperation]}]++
		}
		return counts
	}
}

// sourceIndex finds objects by the sources of their variables.
const sourceIndex = "captf.variables-source"

func controllerUID(obj client.Object) []string {
	if ref := metav1.GetControllerOf(obj); ref != nil {
		return []string{string(ref.UID)}
	}
	return nil
}

func variableSources(obj client.Object) []string {
	w, ok := obj.(infrav1.Workspace)
	if !ok {
		return nil
	}
	var keys []string
	for _, s := range w.Workspace().VariablesFrom {
		if s.ConfigMapRef != nil {
			keys = append(keys, "ConfigMap/"+s.ConfigMapRef.Name)
		}
		if s.SecretRef != nil {
			keys = append(keys, "Secret/"+s.SecretRef.Name)
		}
	}
	return keys
}

// SetupWithManager adds the reconciler to a manager. The sources are further ones: those of variables live in a cache of
// their own.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, more ...source.Source) error {
	r.init()
	b := ctrl.NewControllerManagedBy(mgr).
		For(r.kind().object(), builder.WithPredicates(r.relevant())).
		Owns(&batchv1.Job{}, builder.WithPredicates(jobMoved)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.ofSecret), builder.WithPredicates(secretMoved)).
		Watches(&coordinationv1.Lease{}, handler.EnqueueRequestsFromMapFunc(r.ofLease), builder.WithPredicates(goes)).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.ofCluster), builder.WithPredicates(clusterMoved)).
		Watches(&infrav1.TerraformClusterIdentity{}, handler.EnqueueRequestsFromMapFunc(credentials.IdentityUsers(r.Client, r.Role)), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: max(1, r.Options.Concurrency)})
	switch r.Role {
	case contract.RoleCluster:
		b = b.Watches(&infrav1.TerraformMachine{}, handler.EnqueueRequestsFromMapFunc(r.ofMember), builder.WithPredicates(goes)).
			Watches(&infrav1.TerraformMachinePool{}, handler.EnqueueRequestsFromMapFunc(r.ofMember), builder.WithPredicates(goes))
	case contract.RoleMachine:
		b = b.Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.ofMachine), builder.WithPredicates(ownerMoved)).
			Watches(&infrav1.TerraformCluster{}, handler.EnqueueRequestsFromMapFunc(r.ofTerraformCluster), builder.WithPredicates(terraformClusterMoved))
	case contract.RoleMachinePool:
		b = b.Watches(&clusterv1.MachinePool{}, handler.EnqueueRequestsFromMapFunc(r.ofMachinePool), builder.WithPredicates(ownerMoved)).
			Watches(&infrav1.TerraformCluster{}, handler.EnqueueRequestsFromMapFunc(r.ofTerraformCluster), builder.WithPredicates(terraformClusterMoved))
	}
	for _, s := range more {
		b = b.WatchesRawSource(s)
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("setting up the controller of %s: %w", r.Role.Kind(), err)
	}
	return nil
}

// init makes what the reconciler remembers things in.
func (r *Reconciler) init() {
	r.recorded = lru.New(rememberedJobs)
	r.tended = lru.New(rememberedRecords)
	r.files = lru.New(rememberedRecords / 100)
	r.given = lru.New(rememberedRecords)
}

// relevant leaves out updates of the object that come from our own status patches: what a pass stored, it knows.
func (r *Reconciler) relevant() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		return before.GetResourceVersion() == after.GetResourceVersion() || // a resync
			before.GetGeneration() != after.GetGeneration() ||
			before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
			!sameMap(before.GetLabels(), after.GetLabels()) || !sameMap(before.GetAnnotations(), after.GetAnnotations()) ||
			!sameOwners(before.GetOwnerReferences(), after.GetOwnerReferences())
	}}
}

func sameMap(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

func sameOwners(a, b []metav1.OwnerReference) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].UID != b[i].UID || a[i].Name != b[i].Name {
			return false
		}
	}
	return true
}

// jobMoved lets through what a pass acts on: a Job that appears, starts, ends or goes.
var jobMoved = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok1 := e.ObjectOld.(*batchv1.Job)
	after, ok2 := e.ObjectNew.(*batchv1.Job)
	return !ok1 || !ok2 || lease.Finished(before) != lease.Finished(after) ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
}}

// secretMoved leaves out updates, but for other owners: the broker writes state while a Job runs, which ends with the Job.
var secretMoved = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return !sameOwners(e.ObjectOld.GetOwnerReferences(), e.ObjectNew.GetOwnerReferences())
}}

// goes lets through the end of an object only.
var goes = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false }, UpdateFunc: func(event.UpdateEvent) bool { return false },
}

// ownerMoved leaves out what Cluster API only reports on Machines and MachinePools.
var ownerMoved = predicate.Or[client.Object](
	predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{},
)

// clusterMoved lets through what inputs, gates and pausing depend on.
var clusterMoved = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok1 := e.ObjectOld.(*clusterv1.Cluster)
	after, ok2 := e.ObjectNew.(*clusterv1.Cluster)
	return !ok1 || !ok2 || before.Generation != after.Generation || !sameMap(before.Annotations, after.Annotations) ||
		deref(before.Status.Initialization.InfrastructureProvisioned) != deref(after.Status.Initialization.InfrastructureProvisioned) ||
		deref(before.Status.Initialization.ControlPlaneInitialized) != deref(after.Status.Initialization.ControlPlaneInitialized)
}}

// terraformClusterMoved lets through what machines and pools take from their cluster: defaults, exports, failure domains.
var terraformClusterMoved = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok1 := e.ObjectOld.(*infrav1.TerraformCluster)
	after, ok2 := e.ObjectNew.(*infrav1.TerraformCluster)
	return !ok1 || !ok2 || before.Generation != after.Generation || !sameMap(before.Annotations, after.Annotations) ||
		before.Status.ObservedStateSerial != after.Status.ObservedStateSerial || provisioned(before) != provisioned(after)
}}

// ofSecret maps a Secret of ours to its object: its state, records and mirrors.
func (r *Reconciler) ofSecret(_ context.Context, obj client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, ref := range obj.GetOwnerReferences() {
		if ref.Kind == r.Role.Kind() {
			requests = append(requests, request(obj.GetNamespace(), ref.Name))
		}
	}
	labels := obj.GetLabels()
	if len(requests) == 0 && labels[infrav1.LabelOwnerKind] == r.Role.Kind() {
		requests = append(requests, request(obj.GetNamespace(), labels[infrav1.LabelOwnerName]))
	}
	return requests
}

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}
}

// ofCluster maps a Cluster to its objects of the role.
func (r *Reconciler) ofCluster(ctx context.Context, obj client.Object) []reconcile.Request {
	cluster, ok := obj.(*clusterv1.Cluster)
	if !ok {
		return nil
	}
	if r.Role == contract.RoleCluster {
		ref := cluster.Spec.InfrastructureRef
		if ref.Kind != r.Role.Kind() || ref.APIGroup != infrav1.GroupVersion.Group {
			return nil
		}
		return []reconcile.Request{request(cluster.Namespace, ref.Name)}
	}
	return r.members(ctx, cluster.Namespace, cluster.Name)
}

// ofTerraformCluster maps a TerraformCluster to its machines or pools.
func (r *Reconciler) ofTerraformCluster(ctx context.Context, obj client.Object) []reconcile.Request {
	name := obj.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" {
		return nil
	}
	return r.members(ctx, obj.GetNamespace(), name)
}

func (r *Reconciler) members(ctx context.Context, namespace, cluster string) []reconcile.Request {
	return r.list(ctx, client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster})
}

// ofMember maps a machine or pool to the TerraformCluster that waits for it to go.
func (r *Reconciler) ofMember(ctx context.Context, obj client.Object) []reconcile.Request {
	name := obj.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" {
		return nil
	}
	return r.members(ctx, obj.GetNamespace(), name)
}

// ofLease maps a Lease that was given back to the objects that wait for it (B-221): that of a cluster's operation to its
// machines and pools, that of a machine's or pool's to its cluster.
func (r *Reconciler) ofLease(ctx context.Context, obj client.Object) []reconcile.Request {
	l := obj.GetLabels()
	cluster := l[clusterv1.ClusterNameLabel]
	ofCluster := l[infrav1.LabelOwnerKind] == contract.RoleCluster.Kind()
	if cluster == "" || ofCluster == (r.Role == contract.RoleCluster) || ofCluster && l[infrav1.LabelLease] != string(lease.KindCluster) {
		return nil
	}
	reason := infrav1.WaitingForMachineOperationsReason
	if ofCluster {
		reason = infrav1.WaitingForClusterOperationReason
	}
	var requests []reconcile.Request
	r.each(ctx, func(w infrav1.Workspace) {
		if conditions.HasReason(w, infrav1.ApplyJobSucceededCondition, reason) {
			requests = append(requests, request(w.GetNamespace(), w.GetName()))
		}
	}, client.InNamespace(obj.GetNamespace()), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster})
	return requests
}

// ofMachine maps a Machine to its TerraformMachine.
func (r *Reconciler) ofMachine(_ context.Context, obj client.Object) []reconcile.Request {
	m, ok := obj.(*clusterv1.Machine)
	if !ok || m.Spec.InfrastructureRef.Kind != r.Role.Kind() || m.Spec.InfrastructureRef.APIGroup != infrav1.GroupVersion.Group {
		return nil
	}
	return []reconcile.Request{request(m.Namespace, m.Spec.InfrastructureRef.Name)}
}

// ofMachinePool maps a MachinePool to its TerraformMachinePool.
func (r *Reconciler) ofMachinePool(_ context.Context, obj client.Object) []reconcile.Request {
	m, ok := obj.(*clusterv1.MachinePool)
	if !ok {
		return nil
	}
	ref := m.Spec.Template.Spec.InfrastructureRef
	if ref.Kind != r.Role.Kind() || ref.APIGroup != infrav1.GroupVersion.Group {
		return nil
	}
	return []reconcile.Request{request(m.Namespace, ref.Name)}
}

// OfSource maps a labelled source of variables to its users (B-320).
func (r *Reconciler) OfSource(kind string) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		return r.list(ctx, client.InNamespace(obj.GetNamespace()), client.MatchingFields{sourceIndex: kind + "/" + obj.GetName()})
	}
}

// list returns requests for the objects that a list finds. One that fails finds nothing: the objects are looked at again by
// the resync.
func (r *Reconciler) list(ctx context.Context, opts ...client.ListOption) []reconcile.Request {
	var requests []reconcile.Request
	r.each(ctx, func(w infrav1.Workspace) { requests = append(requests, request(w.GetNamespace(), w.GetName())) }, opts...)
	return requests
}

func (r *Reconciler) each(ctx context.Context, do func(infrav1.Workspace), opts ...client.ListOption) {
	list := r.kind().list()
	if err := r.Client.List(ctx, list, opts...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing objects to reconcile", "kind", r.Role.Kind())
		return
	}
	switch l := list.(type) {
	case *infrav1.TerraformClusterList:
		for i := range l.Items {
			do(&l.Items[i])
		}
	case *infrav1.TerraformMachineList:
		for i := range l.Items {
			do(&l.Items[i])
		}
	case *infrav1.TerraformMachinePoolList:
		for i := range l.Items {
			do(&l.Items[i])
		}
	}
}
