package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/kubelet"
	"github.com/captf-toolkit/captf/provider/testenv/registry"
)

// prefix begins the variables of the environment with the paths of programs.
const prefix = "CAPTF_DEMO"

// Where the provider runs, and where the examples are.
const (
	system    = "captf-system"
	namespace = "demo"
)

// patience is how long a step may take at most: much longer than it does even when all is compiled, so that only a hang ends it.
const patience = 15 * time.Minute

// demo is what the steps share.
type demo struct {
	dir  string
	keep bool

	mu  sync.Mutex // guards out
	out io.Writer

	env      *testenv.Environment
	node     *kubelet.Kubelet
	registry *registry.Registry
	client   client.WithWatch

	kubectl    string
	components string // file with what a release installs
	images     map[contract.Role]string
}

// run is the demo from start to end.
func (d *demo) run(ctx context.Context) (err error) {
	begun := time.Now()
	defer func() { err = errors.Join(err, d.stop()) }()
	for _, s := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"starting etcd, kube-apiserver, kube-controller-manager, a registry and a node that runs pods", d.start},
		{"making a release: programs, their image, manifests", d.release},
		{"building and pushing the images of the no-op modules", d.modules},
		{"installing the kinds of Cluster API, and the provider as its release has it", d.install},
		{"waiting for the manager to be ready", d.awaitManager},
		{"a cluster: its TerraformCluster goes Ready", d.cluster},
		{"machines and a pool go Ready", d.machines},
	} {
		if err := d.step(ctx, s.name, s.do); err != nil {
			return err
		}
	}
	if err := d.look(ctx); err != nil {
		return err
	}
	if d.keep {
		d.wait(ctx)
	}
	for _, s := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"deleting everything at once: the cluster waits for its machines and pool", d.deleteAll},
		{"looking for what is left", d.left},
	} {
		if err := d.step(ctx, s.name, s.do); err != nil {
			return err
		}
	}
	d.say("\nfrom nothing to Ready and back to nothing in %s", time.Since(begun).Round(time.Second))
	return nil
}

// step runs a step and tells how long it took.
func (d *demo) step(ctx context.Context, name string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	start := time.Now()
	d.say("\n== %s", name)
	if err := do(ctx); err != nil {
		d.tellManager()
		return fmt.Errorf("%s: %w", name, err)
	}
	d.say("== done in %.1fs", time.Since(start).Seconds())
	return nil
}

// say prints a line.
func (d *demo) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Fprintf(d.out, format+"\n", args...)
}

// start starts what takes the place of a cluster.
func (d *demo) start(ctx context.Context) (err error) {
	log.SetLogger(logr.Discard()) // what the libraries log is no part of the show
	find := testenv.FromEnvironment(prefix)
	if d.kubectl, err = find(ctx, "kubectl"); err != nil {
		return err
	}
	// A Deployment needs two controllers more than Jobs do.
	controllers := append(testenv.DefaultControllers(), "deployment-controller", "replicaset-controller")
	if d.env, err = testenv.Start(ctx, testenv.Options{Binaries: find, ControllerManager: true, Controllers: controllers}); err != nil {
		return err
	}
	// They outlive the step, and end in stop.
	if d.registry, err = registry.Start(context.WithoutCancel(ctx), registry.Options{}); err != nil {
		return err
	}
	d.say("a registry listens on %s", d.registry.Host())
	// The manager and the broker find their token where a cluster has it, which only a root of their own allows.
	if d.node, err = kubelet.Start(context.WithoutCancel(ctx), kubelet.Options{Config: d.env.Config(), Isolation: kubelet.IsolateStrictly}); err != nil {
		return err
	}
	d.say("the node: %s", d.node.Isolation())
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	d.client, err = client.NewWithWatch(d.env.Config(), client.Options{Scheme: scheme})
	return err
}

// stop ends everything, those first that need the others.
func (d *demo) stop() error {
	var errs []error
	if d.node != nil {
		errs = append(errs, d.node.Stop())
	}
	if d.registry != nil {
		errs = append(errs, d.registry.Close())
	}
	if d.env != nil {
		errs = append(errs, d.env.Stop())
	}
	return errors.Join(errs...)
}

// run1 runs a program and returns its standard output.
func run1(ctx context.Context, stdin string, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("running %s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, errs.String())
	}
	return string(out), nil
}

// kube runs kubectl as a user who may do everything.
func (d *demo) kube(ctx context.Context, stdin string, args ...string) (string, error) {
	return run1(ctx, stdin, d.kubectl, append([]string{"--kubeconfig", d.env.KubeconfigFile()}, args...)...)
}

// show runs kubectl and prints the command with its output.
func (d *demo) show(ctx context.Context, args ...string) error {
	out, err := d.kube(ctx, "", args...)
	if err != nil {
		return err
	}
	if out == "" {
		out = "(nothing)\n"
	}
	d.say("\n$ kubectl %s\n%s", strings.Join(args, " "), strings.TrimRight(out, "\n"))
	return nil
}

// wait lets the user look around.
func (d *demo) wait(ctx context.Context) {
	d.say("\nlook around, and press Enter to go on:\n  export KUBECONFIG=%s\n  %s -n %s get terraformmachines", d.env.KubeconfigFile(), d.kubectl, namespace)
	entered := make(chan struct{})
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		close(entered)
	}()
	select {
	case <-entered:
	case <-ctx.Done():
	}
}
