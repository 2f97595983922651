package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/test/e2e/management"
	"github.com/captf-toolkit/captf/provider/test/e2e/workload"
	"github.com/captf-toolkit/captf/provider/testenv"
)

// prefix begins the variables of the environment with the paths of programs.
const prefix = "CAPTF_DEMO"

// patience is how long a step may take at most: much longer than it does even when all is compiled, so that only a hang ends it.
const patience = 15 * time.Minute

// demo is what the steps share.
type demo struct {
	root, dir, captf string
	keep             bool
	began            time.Time

	mu            sync.Mutex // guards the writers
	out, progress io.Writer

	log        *os.File // what Cluster API says
	release    *management.Release
	management *management.Cluster
	server     *workload.Server
	cloud      *workload.Cloud
	env        []string
}

// part is a step of the story.
type part struct {
	name string
	do   func(context.Context) error
}

// show is the demo from start to end.
func (d *demo) show(ctx context.Context) (err error) {
	d.began = time.Now()
	defer func() { err = errors.Join(err, d.stop()) }()
	story := []part{
		{"making a release of the provider, and images of the no-op modules", d.makeRelease},
		{"starting a management cluster: clusterctl init with that release", d.start},
		{"an identity: what the modules may use as credentials", d.identity},
		{"a cluster: one control plane machine, one worker", d.create},
		{"what to look at", d.look},
	}
	ending := []part{
		{"a second worker, and a newer Kubernetes for the control plane", d.change},
		{"deleting the cluster", d.delete},
		{"nothing is left", d.left},
	}
	if !d.keep {
		return d.play(ctx, append(story, ending...))
	}
	if err := d.play(ctx, story); err != nil {
		return err
	}
	d.wait(ctx)
	return nil
}

// play plays parts of the story and tells how long each took.
func (d *demo) play(ctx context.Context, story []part) error {
	for _, p := range story {
		start := time.Now()
		d.tell("== %s", p.name)
		limited, cancel := context.WithTimeout(ctx, patience)
		err := p.do(limited)
		cancel()
		if ctx.Err() != nil {
			return errors.New("ended early")
		}
		if err != nil {
			d.tellLogs()
			return fmt.Errorf("%s: %w", p.name, err)
		}
		d.tell("== done in %.1fs: %s", time.Since(start).Seconds(), p.name)
	}
	if !d.keep {
		d.tell("from nothing to a cluster and back to nothing in %s", time.Since(d.began).Round(time.Second))
	}
	return nil
}

// makeRelease makes what a management cluster is made of. The module of the cluster gives an endpoint that is served here, as a
// cloud's module would give that of its load balancer.
func (d *demo) makeRelease(ctx context.Context) (err error) {
	if d.log, err = os.Create(filepath.Join(d.dir, "cluster-api.log")); err != nil {
		return fmt.Errorf("making a log: %w", err)
	}
	log := funcr.New(func(prefix, args string) {
		fmt.Fprintln(d.log, time.Now().Format("15:04:05.000"), prefix, args)
	}, funcr.Options{})
	ctrl.SetLogger(log)
	klog.SetLogger(log) // the clients' own words, such as that a watch was ended
	find := testenv.FromEnvironment(prefix)
	paths := map[string]string{"captf": d.captf}
	for _, program := range []string{"kubectl", "clusterctl", "opentofu"} {
		if paths[program], err = find(ctx, program); err != nil {
			return err
		}
	}
	if d.release, err = management.MakeRelease(ctx, management.ReleaseOptions{
		Root: d.root, Kubectl: paths["kubectl"], Clusterctl: paths["clusterctl"], Runtime: paths["opentofu"], Progress: d.note,
	}); err != nil {
		return err
	}
	if d.server, err = workload.NewServer(ctx); err != nil {
		return err
	}
	port, err := d.server.Reserve(ctx)
	if err != nil {
		return err
	}
	image, err := d.release.Module(ctx, contract.RoleCluster, map[string]string{"endpoint_override.tf": fmt.Sprintf(`
variable "endpoint_host" {
  default = %q
}

variable "endpoint_port" {
  default = %d
}
`, workload.Host, port)}, "demo/cluster:"+management.Version)
	if err != nil {
		return err
	}
	return d.desk(paths, map[string]string{
		"NAMESPACE": namespace, "TERRAFORM_IDENTITY_NAME": name,
		"TERRAFORM_CLUSTER_IMAGE":     image,
		"TERRAFORM_MACHINE_IMAGE":     d.release.Images[contract.RoleMachine],
		"TERRAFORM_MACHINEPOOL_IMAGE": d.release.Images[contract.RoleMachinePool],
	})
}

// desk lays out what a user has: programs on PATH, a configuration of clusterctl where it is looked for, the files of the
// release, and variables for the templates.
func (d *demo) desk(programs, variables map[string]string) error {
	links := map[string]string{
		"release": d.release.Dir, filepath.Join("config", "cluster-api", "clusterctl.yaml"): d.release.Config,
	}
	for _, program := range []string{"kubectl", "clusterctl", "captf"} {
		links[filepath.Join("bin", program)] = programs[program]
	}
	for link, to := range links {
		path := filepath.Join(d.dir, link)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("laying out programs and files: %w", err)
		}
		if err := os.Symlink(to, path); err != nil {
			return fmt.Errorf("laying out programs and files: %w", err)
		}
	}
	d.env = []string{
		"PATH=" + filepath.Join(d.dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
		"XDG_CONFIG_HOME=" + filepath.Join(d.dir, "config"), "CLUSTERCTL_DISABLE_VERSIONCHECK=true",
		"KUBECONFIG=" + filepath.Join(d.dir, "management.kubeconfig"),
	}
	for variable, value := range variables {
		d.env = append(d.env, variable+"="+value)
	}
	return d.writeEnv()
}

// start starts the management cluster, and the cloud in which machines come to life.
func (d *demo) start(ctx context.Context) (err error) {
	// It outlives the step.
	running := context.WithoutCancel(ctx)
	if d.management, err = management.Start(running, d.release, management.Options{
		Binaries: testenv.FromEnvironment(prefix), Images: filepath.Join(d.dir, "images"), Progress: d.note,
	}); err != nil {
		return err
	}
	if err := os.Symlink(d.management.Env.KubeconfigFile(), filepath.Join(d.dir, "management.kubeconfig")); err != nil {
		return fmt.Errorf("naming the kubeconfig: %w", err)
	}
	d.cloud = workload.Follow(running, d.server, d.management.Client)
	return d.run(ctx, "kubectl get providers -A")
}

// identity makes the namespace and an identity that it may use.
func (d *demo) identity(ctx context.Context) error {
	return d.run(ctx, identityCommands...)
}

// create makes the cluster, shows it half-way and when it is available.
func (d *demo) create(ctx context.Context) error {
	if err := d.run(ctx, createCommands...); err != nil {
		return err
	}
	if err := d.await(ctx, "the module of the first machine runs", func(ctx context.Context) (bool, error) {
		list := &infrav1.TerraformMachineList{}
		if err := d.management.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		for i := range list.Items {
			if list.Items[i].Status.ActiveJob != nil || list.Items[i].Spec.ProviderID != "" {
				return true, nil
			}
		}
		return false, nil
	}); err != nil {
		return err
	}
	if err := d.run(ctx, halfwayCommands...); err != nil {
		return err
	}
	if err := d.awaitAvailable(ctx); err != nil {
		return err
	}
	return d.run(ctx, doneCommands...)
}

// look shows what there is to look at.
func (d *demo) look(ctx context.Context) error {
	return d.run(ctx, lookCommands...)
}

// change scales the workers and upgrades the control plane in one step.
func (d *demo) change(ctx context.Context) error {
	if err := d.run(ctx, changeCommands...); err != nil {
		return err
	}
	if err := d.await(ctx, "the control plane is upgraded, and there are two workers", func(ctx context.Context) (bool, error) {
		kcp, md := &controlplanev1.KubeadmControlPlane{}, &clusterv1.MachineDeployment{}
		if err := d.management.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name + "-control-plane"}, kcp); err != nil {
			return false, err
		}
		if err := d.management.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name + "-md-0"}, md); err != nil {
			return false, err
		}
		versions := kcp.Status.Versions
		return len(versions) == 1 && versions[0].Version == management.NewKubernetes && is(kcp.Status.Replicas, 1) && is(kcp.Status.UpToDateReplicas, 1) &&
			is(md.Status.AvailableReplicas, 2), nil
	}); err != nil {
		return err
	}
	if err := d.awaitAvailable(ctx); err != nil {
		return err
	}
	return d.run(ctx, changedCommands...)
}

func is(n *int32, want int32) bool { return n != nil && *n == want }

// awaitAvailable waits until the Cluster is available, and as it should be in all that its summary says.
func (d *demo) awaitAvailable(ctx context.Context) error {
	return d.await(ctx, "the cluster is available", func(ctx context.Context) (bool, error) {
		cluster := &clusterv1.Cluster{}
		if err := d.management.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, cluster); err != nil {
			return false, err
		}
		return meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.AvailableCondition) &&
			meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ClusterWorkersAvailableCondition) &&
			meta.IsStatusConditionFalse(cluster.Status.Conditions, clusterv1.ClusterRollingOutCondition), nil
	})
}

// delete deletes the cluster and waits until it is gone.
func (d *demo) delete(ctx context.Context) error {
	if err := d.run(ctx, deleteCommands...); err != nil {
		return err
	}
	return d.await(ctx, "the cluster is gone", func(ctx context.Context) (bool, error) {
		err := d.management.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &clusterv1.Cluster{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// left looks that nothing is left in the namespace and in the cloud: what is garbage may still be collected.
func (d *demo) left(ctx context.Context) error {
	if err := d.await(ctx, "nothing is left", func(ctx context.Context) (bool, error) {
		found, err := d.shell(ctx, nothing+" -o name")
		key := types.NamespacedName{Namespace: namespace, Name: name}
		return strings.TrimSpace(found) == "" && d.cloud.Cluster(key) == nil && len(d.cloud.Booted(key)) == 0, err
	}); err != nil {
		return err
	}
	return d.run(ctx, leftCommands...)
}

// wait tells what to try, and waits until the user has seen enough.
func (d *demo) wait(ctx context.Context) {
	d.say("\neverything runs until Ctrl-C. In another shell:\n\n  cd %s && . ./env\n", d.dir)
	for _, t := range tries {
		d.say("  %-40s # %s", t.command, t.what)
	}
	d.say("\nthe kubeconfig is %s, Cluster API's log %s", filepath.Join(d.dir, "management.kubeconfig"), d.log.Name())
	<-ctx.Done()
	d.tell("ending")
}

// stop ends everything, those first that need the others.
func (d *demo) stop() error {
	var errs []error
	if d.cloud != nil {
		d.cloud.Stop()
	}
	if d.management != nil {
		errs = append(errs, d.management.Stop())
	}
	if d.server != nil {
		errs = append(errs, d.server.Close())
	}
	if d.release != nil {
		errs = append(errs, d.release.Close())
	}
	if d.log != nil {
		errs = append(errs, d.log.Close())
	}
	return errors.Join(errs...)
}
