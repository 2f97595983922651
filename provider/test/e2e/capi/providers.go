package capi

import (
	"context"
	"time"

	"go.uber.org/zap"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	addonsv1beta1 "sigs.k8s.io/cluster-api/api/addons/v1beta1" //nolint:staticcheck // webhooks convert from it as long as it is served
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1" //nolint:staticcheck // webhooks convert from it as long as it is served
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1" //nolint:staticcheck // webhooks convert from it as long as it is served
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1" //nolint:staticcheck // webhooks convert from it as long as it is served
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1alpha1 "sigs.k8s.io/cluster-api/api/ipam/v1alpha1" //nolint:staticcheck // webhooks convert from it as long as it is served
	ipamv1beta1 "sigs.k8s.io/cluster-api/api/ipam/v1beta1"   //nolint:staticcheck // webhooks convert from it as long as it is served
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	runtimev1alpha1 "sigs.k8s.io/cluster-api/api/runtime/v1alpha1" //nolint:staticcheck // webhooks convert from it as long as it is served
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/reconcilers/kubeadmconfig"
	bootstrapsetup "sigs.k8s.io/cluster-api/bootstrap/kubeadm/setup"
	bootstrapadmission "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/admission"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/reconcilers/kubeadmcontrolplane"
	kcpsetup "sigs.k8s.io/cluster-api/controlplane/kubeadm/setup"
	kcpadmission "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/admission"
	"sigs.k8s.io/cluster-api/core/reconcilers/cluster"
	"sigs.k8s.io/cluster-api/core/reconcilers/clusterclass"
	"sigs.k8s.io/cluster-api/core/reconcilers/clusterresourceset"
	"sigs.k8s.io/cluster-api/core/reconcilers/clusterresourcesetbinding"
	"sigs.k8s.io/cluster-api/core/reconcilers/machine"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinehealthcheck"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinepool"
	"sigs.k8s.io/cluster-api/core/reconcilers/machineset"
	topologycluster "sigs.k8s.io/cluster-api/core/reconcilers/topology/cluster"
	topologymachinedeployment "sigs.k8s.io/cluster-api/core/reconcilers/topology/machinedeployment"
	topologymachineset "sigs.k8s.io/cluster-api/core/reconcilers/topology/machineset"
	coresetup "sigs.k8s.io/cluster-api/core/setup"
	coreadmission "sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/util/index"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// scheme has every kind of Cluster API in every version: webhooks convert between them.
var scheme = runtime.NewScheme()

func init() {
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, storagev1.AddToScheme,
		clusterv1.AddToScheme, clusterv1beta1.AddToScheme, addonsv1.AddToScheme, addonsv1beta1.AddToScheme,
		runtimev1.AddToScheme, runtimev1alpha1.AddToScheme, ipamv1.AddToScheme, ipamv1beta1.AddToScheme, ipamv1alpha1.AddToScheme,
		bootstrapv1.AddToScheme, bootstrapv1beta1.AddToScheme, controlplanev1.AddToScheme, controlplanev1beta1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
}

// Defaults of Cluster API's flags, but for the tokens, which live for 15 minutes there.
const (
	connectionGrace = 50 * time.Second
	conditionsGrace = 5 * time.Minute
	tokenTTL        = 2 * time.Hour // a renewal would be one more apply of each pool
	etcdDialTimeout = 10 * time.Second
	etcdCallTimeout = 15 * time.Second
	kcpTimeout      = 3 * time.Minute
	remoteQPS       = 20
	remoteBurst     = 30
)

// all are the providers; the first one's manager serves the webhooks of all.
func all() []provider {
	const core, bootstrap, kcp = "capi-manager", "capi-kubeadm-bootstrap-manager", "capi-kubeadm-control-plane-manager"
	return []provider{
		{
			namespace: "capi-system", account: core,
			cache:   func(name string) cache.Options { return coresetup.ManagerCacheOptions(scheme, name, "", syncPeriod) },
			client:  coresetup.ManagerClientOptions,
			secrets: coresetup.CreateSecretCachingClient, add: addCore,
			clusterCache: clustercache.Options{Cache: coresetup.ClusterCacheCacheOptions(), Client: coresetup.ClusterCacheClientOptions(core, remoteQPS, remoteBurst)},
		},
		{
			namespace: "capi-kubeadm-bootstrap-system", account: bootstrap,
			cache: func(name string) cache.Options {
				return bootstrapsetup.ManagerCacheOptions(scheme, name, "", syncPeriod)
			},
			client:  bootstrapsetup.ManagerClientOptions,
			secrets: bootstrapsetup.CreateSecretCachingClient, add: addBootstrap,
			clusterCache: clustercache.Options{Cache: bootstrapsetup.ClusterCacheCacheOptions(), Client: bootstrapsetup.ClusterCacheClientOptions(bootstrap, remoteQPS, remoteBurst)},
		},
		{
			namespace: "capi-kubeadm-control-plane-system", account: kcp,
			cache:   func(name string) cache.Options { return kcpsetup.ManagerCacheOptions(scheme, name, "", syncPeriod) },
			client:  kcpsetup.ManagerClientOptions,
			secrets: kcpsetup.CreateSecretCachingClient, add: addControlPlane,
			clusterCache: clustercache.Options{Cache: kcpsetup.ClusterCacheCacheOptions(), Client: kcpsetup.ClusterCacheClientOptions(kcp, remoteQPS, remoteBurst)},
		},
	}
}

// reconciler is what most of Cluster API's reconcilers are.
type reconciler interface {
	SetupWithManager(context.Context, ctrl.Manager, controller.Options) error
}

func addCore(ctx context.Context, mgr ctrl.Manager, _ client.Client, clusters clustercache.ClusterCache) error {
	if err := index.AddDefaultIndexes(ctx, mgr); err != nil {
		return err
	}
	// Secrets that belong to no cluster are seen by their metadata only.
	period := syncPeriod
	secrets, err := cache.New(mgr.GetConfig(), cache.Options{
		Scheme: scheme, Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(), SyncPeriod: &period,
		DefaultTransform: cache.TransformStripManagedFields(),
	})
	if err != nil {
		return err
	}
	if err := mgr.Add(secrets); err != nil {
		return err
	}
	c, live := mgr.GetClient(), mgr.GetAPIReader()
	setAPIVersions(c)
	for _, r := range []reconciler{
		&clusterclass.Reconciler{Client: c},
		&topologycluster.Reconciler{Client: c, APIReader: live, ClusterCache: clusters},
		&topologymachinedeployment.Reconciler{Client: c, APIReader: live},
		&topologymachineset.Reconciler{Client: c, APIReader: live},
		&cluster.Reconciler{Client: c, APIReader: live, ClusterCache: clusters, RemoteConnectionGracePeriod: connectionGrace},
		&machine.Reconciler{Client: c, APIReader: live, ClusterCache: clusters, RemoteConditionsGracePeriod: conditionsGrace},
		&machineset.Reconciler{Client: c, APIReader: live, ClusterCache: clusters, PreflightChecks: sets.New(clusterv1.MachineSetPreflightCheckAll)},
		&machinedeployment.Reconciler{Client: c, APIReader: live},
		&machinepool.Reconciler{Client: c, APIReader: live, ClusterCache: clusters},
		&clusterresourcesetbinding.Reconciler{Client: c},
		&machinehealthcheck.Reconciler{Client: c, ClusterCache: clusters},
	} {
		if err := r.SetupWithManager(ctx, mgr, concurrency()); err != nil {
			return err
		}
	}
	if err := (&clusterresourceset.Reconciler{Client: c, ClusterCache: clusters}).SetupWithManager(ctx, mgr, concurrency(), secrets); err != nil {
		return err
	}
	return addWebhooks(mgr, clusters)
}

func addBootstrap(ctx context.Context, mgr ctrl.Manager, secrets client.Client, clusters clustercache.ClusterCache) error {
	return (&kubeadmconfig.Reconciler{
		Client: mgr.GetClient(), SecretCachingClient: secrets, APIReader: mgr.GetAPIReader(), ClusterCache: clusters, TokenTTL: tokenTTL,
	}).SetupWithManager(ctx, mgr, concurrency())
}

func addControlPlane(ctx context.Context, mgr ctrl.Manager, secrets client.Client, clusters clustercache.ClusterCache) error {
	return (&kubeadmcontrolplane.Reconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), SecretCachingClient: secrets, ClusterCache: clusters,
		EtcdDialTimeout: etcdDialTimeout, EtcdCallTimeout: etcdCallTimeout, EtcdLogger: zap.NewNop(), RemoteConditionsGracePeriod: conditionsGrace,
	}).SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: workers, ReconciliationTimeout: kcpTimeout})
}

// addWebhooks adds the webhooks of all providers to the server of a manager.
func addWebhooks(mgr ctrl.Manager, clusters clustercache.ClusterCache) error {
	c, live := mgr.GetClient(), mgr.GetAPIReader()
	for _, w := range []interface {
		SetupWebhookWithManager(ctrl.Manager) error
	}{
		&coreadmission.ClusterClass{Client: c}, &coreadmission.Cluster{Client: c, ClusterCacheReader: clusters}, &coreadmission.Machine{},
		&coreadmission.MachineSet{}, &coreadmission.MachineDeployment{}, &coreadmission.MachineDrainRule{},
		&coreadmission.MachinePool{}, &coreadmission.ClusterResourceSet{}, &coreadmission.ClusterResourceSetBinding{},
		&coreadmission.MachineHealthCheck{}, &coreadmission.ExtensionConfig{}, &coreadmission.IPAddress{Client: live}, &coreadmission.IPAddressClaim{},
		&bootstrapadmission.KubeadmConfig{}, &bootstrapadmission.KubeadmConfigTemplate{},
		&kcpadmission.KubeadmControlPlane{}, &kcpadmission.ScaleValidator{Client: c}, &kcpadmission.KubeadmControlPlaneTemplate{},
	} {
		if err := w.SetupWebhookWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}
