package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Options say what to start. The zero value is etcd and kube-apiserver from PATH.
type Options struct {
	// Binaries finds the programs; nil is FromEnvironment("TESTENV").
	Binaries Finder
	// ControllerManager starts kube-controller-manager too: Jobs make pods, what has lost its owner is collected,
	// namespaces can be deleted, and every namespace gets its default service account and kube-root-ca.crt.
	ControllerManager bool
	// Controllers are those that it runs; nil is DefaultControllers.
	Controllers []string
	// APIServerFlags are added to those of kube-apiserver, and replace them; names are without dashes.
	APIServerFlags map[string]string
	// CRDs are files, or directories of files, with CustomResourceDefinitions to install.
	CRDs []string
	// Dir is where environments keep their files; empty is a directory of this user's below the system's for temporary
	// files.
	Dir string
	// StartTimeout bounds the start of each program; 0 is a minute.
	StartTimeout time.Duration
}

// DefaultControllers are the controllers of kube-controller-manager that Jobs need. Those that watch over nodes are
// left out: without kubelets they would evict everything.
func DefaultControllers() []string {
	return []string{
		"job-controller", "ttl-after-finished-controller", "garbage-collector-controller", "namespace-controller",
		"serviceaccount-controller", "serviceaccount-token-controller", "root-ca-certificate-publisher-controller",
		"pod-garbage-collector-controller", "clusterrole-aggregation-controller",
	}
}

// Environment is a running control plane.
type Environment struct {
	dir     string
	lock    *os.File
	guard   *guardian
	env     *envtest.Environment
	manager *controllerManager
	clients kubernetes.Interface

	mu       sync.Mutex
	webhooks []*envtest.WebhookInstallOptions
	stopped  bool
}

// Start starts a control plane and returns when it serves. Whoever calls it has to call Stop, after everything that
// talks to it has ended; a program that dies before is cleaned up after.
func Start(ctx context.Context, o Options) (*Environment, error) {
	if o.Binaries == nil {
		o.Binaries = FromEnvironment("TESTENV")
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = time.Minute
	}
	if o.Controllers == nil {
		o.Controllers = DefaultControllers()
	}
	programs := []string{Etcd, APIServer}
	if o.ControllerManager {
		programs = append(programs, ControllerManager)
	}
	paths := map[string]string{}
	for _, p := range programs {
		path, err := o.Binaries(ctx, p)
		if err != nil {
			return nil, err
		}
		paths[p] = path
	}
	at, err := base(o.Dir)
	if err != nil {
		return nil, err
	}
	sweep(at)
	e := &Environment{}
	if e.dir, e.lock, err = claim(at); err != nil {
		return nil, err
	}
	if err := e.start(ctx, o, paths); err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	return e, nil
}

func (e *Environment) start(ctx context.Context, o Options, paths map[string]string) (err error) {
	if e.guard, err = guard(e.dir); err != nil {
		return err
	}
	scripts, logs := map[string]string{}, map[string]*os.File{}
	for program, path := range paths {
		if scripts[program], err = wrapper(e.dir, program, path); err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(e.dir, program+".log"))
		if err != nil {
			return fmt.Errorf("making the log of %s: %w", program, err)
		}
		defer f.Close() // the process has its own by then
		logs[program] = f
	}
	for _, d := range []string{"etcd", "certs"} {
		if err := os.Mkdir(filepath.Join(e.dir, d), 0o700); err != nil {
			return fmt.Errorf("making the directory of the control plane: %w", err)
		}
	}
	server := &envtest.APIServer{
		Path: scripts[APIServer], CertDir: filepath.Join(e.dir, "certs"), Out: logs[APIServer], Err: logs[APIServer],
	}
	flags := server.Configure().
		// Without a default route there is no address to advertise, nor anybody to advertise it to.
		Set("advertise-address", "127.0.0.1").Set("endpoint-reconciler-type", "none").
		// Service accounts are admitted as in a cluster: automatically mounted tokens, and a default account that has
		// to exist.
		Disable("disable-admission-plugins")
	for name, value := range o.APIServerFlags {
		flags.Set(name, value)
	}
	no := false
	e.env = &envtest.Environment{
		ControlPlane: envtest.ControlPlane{
			APIServer: server,
			Etcd: &envtest.Etcd{
				Path: scripts[Etcd], DataDir: filepath.Join(e.dir, "etcd"), Out: logs[Etcd], Err: logs[Etcd],
			},
			KubectlPath: "kubectl", // never started; unset, it is looked for
		},
		UseExistingCluster:       &no,
		ControlPlaneStartTimeout: o.StartTimeout,
		ControlPlaneStopTimeout:  20 * time.Second,
	}
	if _, err := e.env.Start(); err != nil {
		return fmt.Errorf("starting the control plane: %w%s%s", err, tail(e.dir, Etcd), tail(e.dir, APIServer))
	}
	if e.clients, err = kubernetes.NewForConfig(e.env.Config); err != nil {
		return fmt.Errorf("making a client of the control plane: %w", err)
	}
	if err := os.WriteFile(e.CAFile(), e.env.Config.CAData, 0o600); err != nil {
		return fmt.Errorf("writing the certificate authority: %w", err)
	}
	if err := os.WriteFile(e.KubeconfigFile(), e.env.KubeConfig, 0o600); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	if o.ControllerManager {
		if e.manager, err = startControllerManager(ctx, e, scripts[ControllerManager], logs[ControllerManager], o); err != nil {
			return err
		}
	}
	if err := e.guard.watch(e.dir); err != nil {
		return err
	}
	if len(o.CRDs) > 0 {
		return e.InstallCRDs(ctx, CRDs{Paths: o.CRDs})
	}
	return nil
}

// Stop stops everything, those first that need the others, and removes all files. Calls after the first do nothing.
func (e *Environment) Stop() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopped {
		return nil
	}
	e.stopped = true
	var errs []error
	if e.manager != nil {
		errs = append(errs, e.manager.stop())
	}
	for _, w := range e.webhooks {
		errs = append(errs, w.Cleanup())
	}
	if e.env != nil {
		errs = append(errs, e.env.Stop())
	}
	killAll(e.dir) // if one of them did not stop
	if e.guard != nil {
		errs = append(errs, e.guard.release())
	}
	errs = append(errs, os.RemoveAll(e.dir), e.lock.Close())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stopping the control plane: %w", err)
	}
	return nil
}

// Config returns a new configuration for clients, of a user who may do everything.
func (e *Environment) Config() *rest.Config { return rest.CopyConfig(e.env.Config) }

// Clients returns typed clients of the same user.
func (e *Environment) Clients() kubernetes.Interface { return e.clients }

// Dir is the environment's directory, with the logs of its programs. It is removed by Stop.
func (e *Environment) Dir() string { return e.dir }

// KubeconfigFile is a file for kubectl and other programs, of the user of Config.
func (e *Environment) KubeconfigFile() string { return filepath.Join(e.dir, "kubeconfig") }

// CAFile is the certificate authority of the API server, in PEM.
func (e *Environment) CAFile() string { return filepath.Join(e.dir, "ca.crt") }

// LogFile is the log of one of the programs.
func (e *Environment) LogFile(program string) string { return filepath.Join(e.dir, program+".log") }

// Namespace makes a namespace with a new name that begins with prefix. With a controller manager it returns when the
// namespace has its default service account, without which no pod is admitted.
func (e *Environment) Namespace(ctx context.Context, prefix string) (string, error) {
	ns, err := e.clients.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("making a namespace: %w", err)
	}
	if e.manager == nil {
		return ns.Name, nil
	}
	if err := e.waitFor(ctx, ns.Name, "default"); err != nil {
		return "", fmt.Errorf("waiting for the service account of namespace %s: %w", ns.Name, err)
	}
	return ns.Name, nil
}

// waitFor watches until there is a service account.
func (e *Environment) waitFor(ctx context.Context, namespace, name string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	// A watch without a resource version begins with what is there.
	w, err := e.clients.CoreV1().ServiceAccounts(namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return err
	}
	defer w.Stop()
	for {
		select {
		case event, open := <-w.ResultChan():
			if !open {
				return errors.New("the watch ended")
			}
			if _, ok := event.Object.(*corev1.ServiceAccount); ok {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
