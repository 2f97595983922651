// Package controllers puts the controllers of all kinds into one manager, with the caches, indexes and memories that they
// share.
//
// Not in this package: what a controller does (its subpackages), flags and servers (provider/internal/manager) and admission
// (provider/internal/webhooks).
package controllers

import (
	"context"
	"fmt"
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/controllers/identity"
	"github.com/captf-toolkit/captf/provider/internal/controllers/template"
	"github.com/captf-toolkit/captf/provider/internal/controllers/workspace"
	"github.com/captf-toolkit/captf/provider/internal/credentials"
	"github.com/captf-toolkit/captf/provider/internal/inputs"
	"github.com/captf-toolkit/captf/provider/internal/inspect"
	"github.com/captf-toolkit/captf/provider/internal/lease"
	"github.com/captf-toolkit/captf/provider/internal/metrics"
	"github.com/captf-toolkit/captf/provider/internal/record"
	"github.com/captf-toolkit/captf/provider/internal/state"
)

// Options are what the controllers need to know.
type Options struct {
	// Workspace are those of the controllers of objects that run modules; their Concurrency is not used.
	Workspace workspace.Options
	// Concurrency is how many objects of a role are reconciled at once.
	Concurrency map[contract.Role]int
	// SyncPeriod is how often everything is looked at again.
	SyncPeriod time.Duration
	// Namespace limits what is watched; "" is every namespace.
	Namespace string
	// TemplateConcurrency is how many templates of a kind are.
	TemplateConcurrency int
	// Inspector reads module images; nil leaves what they declare unread.
	Inspector *inspect.Inspector
	// Keep, if set, is given each reconciler that is added: tests call them.
	Keep func(contract.Role, *workspace.Reconciler)
	// Clock tells the time; nil is the real one.
	Clock clock.PassiveClock
	// Wrap, if set, stands between the controllers and the API server: tests count and break requests with it.
	Wrap func(client.Client) client.Client
	// WrapReader does the same for reads that go past the caches.
	WrapReader func(client.Reader) client.Reader
}

// Scheme holds every kind that a manager reads or writes.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return scheme, nil
}

// managed selects what the provider made itself (B-003).
var managed = labels.SelectorFromSet(labels.Set{infrav1.LabelManaged: "true"})

// CacheOptions are those of the manager's cache (provider-ops.md 1.4): of Secrets, Leases and Jobs it holds only what is
// ours, of Secrets no data, and of nothing the managed fields.
func CacheOptions(o Options) cache.Options {
	c := cache.Options{
		SyncPeriod:       &o.SyncPeriod,
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}:        {Label: managed},
			&coordinationv1.Lease{}: {Label: managed},
			&batchv1.Job{}:          {Label: managed},
		},
	}
	maps.Copy(c.ByObject, credentials.Cached())
	if o.Namespace != "" {
		c.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
	}
	return c
}

// variablesCache holds the metadata of labelled sources of variables. It is a cache of its own, since a Secret that carries
// both labels would otherwise need a selector that no cache has.
func variablesCache(mgr ctrl.Manager, o Options) (cache.Cache, error) {
	c := cache.Options{
		Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), SyncPeriod: &o.SyncPeriod,
		DefaultLabelSelector: labels.SelectorFromSet(labels.Set{infrav1.LabelVariables: "true"}),
		DefaultTransform:     cache.TransformStripManagedFields(),
	}
	if o.Namespace != "" {
		c.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
	}
	variables, err := cache.New(mgr.GetConfig(), c)
	if err != nil {
		return nil, fmt.Errorf("making the cache of variables: %w", err)
	}
	return variables, mgr.Add(variables)
}

// Add adds the controllers to a manager.
func Add(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	c, live := mgr.GetClient(), mgr.GetAPIReader()
	if o.Wrap != nil {
		c = o.Wrap(c)
	}
	if o.WrapReader != nil {
		live = o.WrapReader(live)
	}
	variables, err := variablesCache(mgr, o)
	if err != nil {
		return err
	}
	if err := workspace.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	metrics.ActiveJobs(workspace.CountActiveJobs(mgr.GetClient()))
	states := &workspace.States{Store: &state.Store{Writer: c, Live: live, Clock: o.Clock}, Metas: c}
	shared := workspace.Reconciler{
		Client: c, Live: live, Clock: o.Clock, States: states, Inspector: o.Inspector,
		Recorder:    mgr.GetEventRecorder("captf-manager"),
		Leases:      &lease.Store{Writer: c, Live: live, Clock: o.Clock},
		Records:     &record.Store{Writer: c, Live: live},
		Credentials: credentials.New(credentials.Options{Client: c, Live: live, Clock: o.Clock, SyncPeriod: o.SyncPeriod}),
		Inputs: &inputs.Builder{
			Live: workspace.NewGlance(live, variables, o.Clock), Outputs: workspace.Exports{States: states}, Contract: versions.Default(),
		},
	}
	for _, role := range contract.Roles() {
		r := shared
		r.Role, r.Options = role, o.Workspace
		r.Options.Concurrency = o.Concurrency[role]
		if err := r.SetupWithManager(mgr, variableSources(variables, &r)...); err != nil {
			return err
		}
		if o.Keep != nil {
			o.Keep(role, &r)
		}
	}
	return addOthers(mgr, o, &shared, variables)
}

// addOthers adds the controllers of identities and templates, and the sweep of what is left over.
func addOthers(mgr ctrl.Manager, o Options, shared *workspace.Reconciler, variables cache.Cache) error {
	ids := &identity.Reconciler{Client: shared.Client, Credentials: shared.Credentials, Recorder: shared.Recorder, Clock: o.Clock}
	if err := ids.SetupWithManager(mgr, controller.Options{}); err != nil {
		return fmt.Errorf("setting up the controller of identities: %w", err)
	}
	if o.Inspector != nil {
		setup := template.Setup{
			Options: controller.Options{MaxConcurrentReconciles: max(1, o.TemplateConcurrency)}, WatchFilter: o.Workspace.WatchFilter, Sources: variables,
		}
		clusters, machines := &template.ClusterReconciler{}, &template.MachineReconciler{}
		for _, r := range []*template.Reconciler{&clusters.Reconciler, &machines.Reconciler} {
			r.Client, r.Live, r.Sources, r.Inspector = shared.Client, shared.Live, variables, o.Inspector
			r.Contract, r.Recorder, r.Clock = versions.Default(), shared.Recorder, o.Clock
		}
		if err := clusters.SetupWithManager(mgr, setup); err != nil {
			return fmt.Errorf("setting up the controller of cluster templates: %w", err)
		}
		if err := machines.SetupWithManager(mgr, setup); err != nil {
			return fmt.Errorf("setting up the controller of machine templates: %w", err)
		}
	}
	return mgr.Add(&credentials.Sweeper{Credentials: shared.Credentials, Namespace: o.Namespace})
}

// variableSources wake the users of a source of variables when it changes.
func variableSources(variables cache.Cache, r *workspace.Reconciler) []source.Source {
	var sources []source.Source
	for _, kind := range []string{"ConfigMap", "Secret"} {
		meta := &metav1.PartialObjectMetadata{}
		meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
		sources = append(sources, source.Kind[client.Object](variables, meta, handler.EnqueueRequestsFromMapFunc(r.OfSource(kind))))
	}
	return sources
}
