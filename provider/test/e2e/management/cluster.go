package management

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/test/e2e/capi"
	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/deploy"
	"github.com/captf-toolkit/captf/provider/testenv/kubelet"
)

// Namespace is that of the provider.
const Namespace = "captf-system"

// patience is how long a step may take: much longer than it does, so that only a hang ends it.
const patience = 10 * time.Minute

// Cluster is a running management cluster.
type Cluster struct {
	// Client is that of a user who may do everything. It has no cache.
	Client client.WithWatch
	Env    *testenv.Environment
	Node   *kubelet.Kubelet
	CAPI   *capi.Controllers

	release *Release
	serving testenv.Serving // of Cluster API
}

// Options say how to run a management cluster.
type Options struct {
	// Binaries finds the programs of the control plane.
	Binaries testenv.Finder
	// Images keeps unpacked images, also for other clusters; empty is a directory of its own.
	Images string
	// Progress gets a line for each step; nil is silent.
	Progress func(line string)
}

// Start starts a management cluster and returns when the provider is ready. Whoever calls it has to call Stop.
func Start(ctx context.Context, r *Release, o Options) (_ *Cluster, err error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	c := &Cluster{release: r}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	// A Deployment needs two controllers more than Jobs do.
	controllers := append(testenv.DefaultControllers(), "deployment-controller", "replicaset-controller")
	if c.Env, err = testenv.Start(ctx, testenv.Options{
		Binaries: o.Binaries, ControllerManager: true, Controllers: controllers, StartTimeout: patience,
	}); err != nil {
		return nil, err
	}
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	if c.Client, err = client.NewWithWatch(c.Env.Config(), client.Options{Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	o.Progress("the control plane runs")
	if err := c.init(ctx); err != nil {
		return nil, err
	}
	o.Progress("clusterctl has installed everything")
	// The manager and the broker find their token where a cluster has it, which only a root of their own allows.
	if c.Node, err = kubelet.Start(ctx, kubelet.Options{Config: c.Env.Config(), Isolation: kubelet.IsolateStrictly, Images: o.Images}); err != nil {
		return nil, err
	}
	o.Progress("a node runs: " + c.Node.Isolation().String())
	if err := c.StartCAPI(ctx); err != nil {
		return nil, err
	}
	o.Progress("Cluster API runs")
	if err := c.provider(ctx); err != nil {
		return nil, err
	}
	o.Progress("the provider runs")
	return c, nil
}

// init installs Cluster API and the provider by clusterctl. Cluster API's pods are not run: its controllers run in this
// process.
func (c *Cluster) init(ctx context.Context) error {
	if err := c.Env.InstallCRDs(ctx, testenv.CRDs{Objects: deploy.CertManager()}); err != nil {
		return err
	}
	if _, err := c.release.Run(ctx, nil, "init", "--kubeconfig", c.Env.KubeconfigFile(), "--core", "cluster-api:"+c.release.CAPI,
		"--bootstrap", "kubeadm:"+c.release.CAPI, "--control-plane", "kubeadm:"+c.release.CAPI, "--infrastructure", Provider+":"+Version); err != nil {
		return err
	}
	// There is no node yet, and when there is one nothing of this must start as it is.
	everything, err := deploy.Installed(ctx, c.Env, append(capi.Namespaces(), Namespace)...)
	if err != nil {
		return err
	}
	if err := c.stopped(ctx, everything); err != nil {
		return err
	}
	manifests, err := deploy.Installed(ctx, c.Env, capi.Namespaces()...)
	if err != nil {
		return err
	}
	if c.serving, err = manifests.Install(ctx, c.Env); err != nil {
		return fmt.Errorf("fitting Cluster API to this machine: %w", err)
	}
	return nil
}

// stopped leaves Deployments without a pod.
func (c *Cluster) stopped(ctx context.Context, m *deploy.Manifests) error {
	for _, d := range m.Deployments {
		base := d.DeepCopy()
		d.Spec.Replicas = new(int32(0))
		if err := c.Client.Patch(ctx, d, client.MergeFrom(base)); err != nil {
			return fmt.Errorf("scaling Deployment %s: %w", d.Name, err)
		}
		if err := c.has(ctx, client.ObjectKeyFromObject(d), 0); err != nil {
			return err
		}
	}
	return nil
}

// Scheme has the kinds of Kubernetes, Cluster API and the provider.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clusterv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1.AddToScheme, infrav1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("making a scheme: %w", err)
		}
	}
	return scheme, nil
}

// StartCAPI starts Cluster API, which was installed; after StopCAPI once more.
func (c *Cluster) StartCAPI(ctx context.Context) (err error) {
	c.CAPI, err = capi.Start(ctx, capi.Options{Env: c.Env, Serving: c.serving})
	return err
}

// StopCAPI ends Cluster API's controllers and webhooks.
func (c *Cluster) StopCAPI() error {
	if c.CAPI == nil {
		return nil
	}
	running := c.CAPI
	c.CAPI = nil
	return running.Stop()
}

// provider fits the provider, which was installed, to this machine, and waits until it is available.
func (c *Cluster) provider(ctx context.Context) error {
	manifests, err := deploy.Installed(ctx, c.Env, Namespace)
	if err != nil {
		return err
	}
	serving, err := manifests.Install(ctx, c.Env)
	if err != nil {
		return fmt.Errorf("fitting the provider to this machine: %w", err)
	}
	for _, d := range manifests.Deployments {
		base := d.DeepCopy()
		// A registry on loopback is one that the manager must be allowed to ask about images.
		if err := deploy.OnLoopback(ctx, d, serving, "--image-inspect-allowed-networks=127.0.0.0/8"); err != nil {
			return err
		}
		if err := c.Client.Patch(ctx, d, client.MergeFrom(base)); err != nil {
			return fmt.Errorf("changing Deployment %s: %w", d.Name, err)
		}
		if err := c.has(ctx, client.ObjectKeyFromObject(d), 1); err != nil {
			return errors.Join(err, errors.New(c.ManagerLog(100)))
		}
	}
	return nil
}

// has waits until a Deployment has a number of pods, all of them as it is now and available.
func (c *Cluster) has(ctx context.Context, key types.NamespacedName, pods int32) error {
	d := &appsv1.Deployment{}
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		err := c.Client.Get(ctx, key, d)
		return err == nil && d.Status.AvailableReplicas == pods && d.Status.UpdatedReplicas == pods && d.Status.Replicas == pods &&
			d.Status.ObservedGeneration >= d.Generation, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for Deployment %s to have %d pods: %w", key, pods, err)
	}
	return nil
}

// ManagerLog returns the last lines of the log of the provider's manager.
func (c *Cluster) ManagerLog(lines int) string {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	pods := &corev1.PodList{}
	if err := c.Client.List(ctx, pods, client.InNamespace(Namespace)); err != nil {
		return err.Error()
	}
	var out []string
	for i := range pods.Items {
		text, err := c.Node.Logs(client.ObjectKeyFromObject(&pods.Items[i]), "manager")
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		all := strings.Split(strings.TrimSpace(string(text)), "\n")
		out = append(out, all[max(0, len(all)-lines):]...)
	}
	return strings.Join(out, "\n")
}

// Stop ends everything, those first that need the others.
func (c *Cluster) Stop() error {
	err := c.StopCAPI()
	if c.Node != nil {
		err = errors.Join(err, c.Node.Stop())
	}
	if c.Env != nil {
		err = errors.Join(err, c.Env.Stop())
	}
	return err
}
