package capi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	kcpconversion "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/conversion"
	coreconversion "sigs.k8s.io/cluster-api/core/webhooks/conversion"
	"sigs.k8s.io/cluster-api/feature"
	utilcontract "sigs.k8s.io/cluster-api/util/contract"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/captf-toolkit/captf/provider/testenv"
)

// Options say how to run Cluster API.
type Options struct {
	// Env is a control plane into which clusterctl has installed the releases of WriteRepository, and Serving is where their
	// webhooks are called.
	Env     *testenv.Environment
	Serving testenv.Serving
	// Gates are changes of Cluster API's feature gates, over those of DefaultGates. They are the process's.
	Gates map[string]bool
}

// DefaultGates are the feature gates that differ from Cluster API's own: clusters of a class are to be tested, and the pause
// of a second between two reconciliations of an object makes tests slow.
//
// That gate is also the one which lets a reconciliation wait for its cache (reconcilerWrapper of Cluster API's util/controller).
// Without it a MachineSet may, very rarely and on a busy machine, take the KubeadmConfig of a Machine that it has just made for an
// orphan: the Machine waits for "KubeadmConfig does not exist" then. That is Cluster API without its guard, no fault of the provider.
func DefaultGates() map[string]bool {
	return map[string]bool{"MachinePool": true, "ClusterTopology": true, "ReconcilerRateLimiting": false}
}

// Controllers is a running Cluster API.
type Controllers struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
	mu     sync.Mutex
	errs   []error
}

// provider is one of Cluster API's managers.
type provider struct {
	namespace, account string
	cache              func(name string) cache.Options
	client             func() client.Options
	clusterCache       clustercache.Options
	secrets            func(ctrl.Manager) (client.Client, error)
	add                func(context.Context, ctrl.Manager, client.Client, clustercache.ClusterCache) error
}

const (
	// syncPeriod is between two looks at everything, that of Cluster API.
	syncPeriod = 10 * time.Minute
	// retry is between two tries to connect to a workload cluster, where Cluster API takes half a minute.
	retry = time.Second
	// workers are the reconciliations of a kind at a time.
	workers = 10
	// startTimeout is how long a start may take on a busy machine.
	startTimeout = 5 * time.Minute
)

func concurrency() controller.Options { return controller.Options{MaxConcurrentReconciles: workers} }

// Start starts all controllers and returns when the webhooks are served. They run until Stop.
func Start(ctx context.Context, o Options) (*Controllers, error) {
	gates := DefaultGates()
	maps.Copy(gates, o.Gates)
	if err := feature.MutableGates.SetFromMap(gates); err != nil {
		return nil, fmt.Errorf("starting Cluster API: %w", err)
	}
	server := webhook.NewServer(webhook.Options{Host: o.Serving.Host, Port: o.Serving.Port, CertDir: o.Serving.CertDir})
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &Controllers{cancel: cancel}
	var managers []ctrl.Manager
	for i, p := range all() {
		var own webhook.Server
		if i == 0 {
			own = server
		}
		m, err := p.manager(running, o, own)
		if err != nil {
			cancel()
			return nil, fmt.Errorf("starting Cluster API: %s: %w", p.account, err)
		}
		managers = append(managers, m)
	}
	for _, m := range managers {
		c.wg.Go(func() {
			if err := m.Start(running); err != nil {
				c.mu.Lock()
				c.errs = append(c.errs, err)
				c.mu.Unlock()
				cancel()
			}
		})
	}
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, startTimeout, true, func(context.Context) (bool, error) {
		return server.StartedChecker()(nil) == nil, running.Err()
	}); err != nil {
		return nil, errors.Join(fmt.Errorf("starting Cluster API: waiting for its webhooks: %w", err), c.Stop())
	}
	return c, nil
}

// Stop ends all controllers and returns what one of them ended with before.
func (c *Controllers) Stop() error {
	c.cancel()
	c.wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := errors.Join(c.errs...); err != nil {
		return fmt.Errorf("running Cluster API: %w", err)
	}
	return nil
}

// manager makes a manager with the controllers of a provider.
func (p provider) manager(ctx context.Context, o Options, server webhook.Server) (ctrl.Manager, error) {
	cfg, err := o.Env.ServiceAccountConfig(ctx, p.namespace, p.account)
	if err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Burst = 100, 200 // as Cluster API has it
	cfg.UserAgent = p.account
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Cache: p.cache(p.informers()), Client: p.client(), WebhookServer: server,
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		// The names of controllers are unique in a process, and Cluster API is started more than once in this one.
		Controller: config.Controller{SkipNameValidation: new(true), UsePriorityQueue: new(true), CacheSyncTimeout: startTimeout},
	})
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	secrets, err := p.secrets(mgr)
	if err != nil {
		return nil, fmt.Errorf("making the client of Secrets: %w", err)
	}
	of := p.clusterCache
	of.SecretClient = secrets
	clusters, err := clustercache.SetupWithManager(ctx, mgr, of, concurrency())
	if err != nil {
		return nil, fmt.Errorf("making the cache of clusters: %w", err)
	}
	if impatient, ok := clusters.(interface{ SetConnectionCreationRetryInterval(time.Duration) }); ok {
		impatient.SetConnectionCreationRetryInterval(retry)
	}
	return mgr, p.add(ctx, mgr, secrets, clusters)
}

// starts counts the managers that were made.
var starts atomic.Int64

// informers is a name for a manager's informers, which have to be other ones for each in a process.
func (p provider) informers() string { return p.account + "-" + strconv.FormatInt(starts.Add(1), 10) }

// setAPIVersions tells the conversions which version of a kind to write into references, as the managers do. It is the
// process's; with several control planes that have the same kinds any of them may be asked.
func setAPIVersions(c client.Reader) {
	get := func(ctx context.Context, kind schema.GroupKind) (string, error) { return apiVersion(ctx, c, kind) }
	coreconversion.SetAPIVersionGetter(get)
	kcpconversion.SetAPIVersionGetter(get)
}

// apiVersion is the version of a kind that keeps the newest contract, by the labels of its definition.
func apiVersion(ctx context.Context, c client.Reader, kind schema.GroupKind) (string, error) {
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	if err := c.Get(ctx, client.ObjectKey{Name: utilcontract.CalculateCRDName(kind.Group, kind.Kind)}, crd); err != nil {
		return "", fmt.Errorf("reading the definition of %s: %w", kind, err)
	}
	for _, contract := range []string{"v1beta2", "v1beta1"} {
		if versions := crd.Labels["cluster.x-k8s.io/"+contract]; versions != "" {
			return schema.GroupVersion{Group: kind.Group, Version: versions[strings.LastIndex(versions, "_")+1:]}.String(), nil
		}
	}
	return "", fmt.Errorf("reading the definition of %s: its labels name no contract", kind)
}
