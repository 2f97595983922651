// Package controllerstest is test support: it installs the kinds of Cluster API and of the provider into a test control
// plane, runs the controllers against it, and makes the objects that Cluster API would make around the provider's.
package controllerstest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/controllers"
	"github.com/captf-toolkit/captf/provider/internal/controllers/workspace"
	"github.com/captf-toolkit/captf/provider/internal/names"
)

// CRDs are the directories with the definitions of Cluster API's kinds and ours.
func CRDs(ctx context.Context) ([]string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	if err != nil {
		return nil, fmt.Errorf("finding cluster-api: %w", err)
	}
	root, err := moduleDir(ctx)
	if err != nil {
		return nil, err
	}
	core := filepath.Join(strings.TrimSpace(string(out)), "core", "config", "crd", "bases")
	paths := []string{filepath.Join(root, "provider", "config", "crd", "bases")}
	for _, kind := range []string{"clusters", "machines", "machinepools", "machinedeployments", "machinesets"} {
		paths = append(paths, filepath.Join(core, "cluster.x-k8s.io_"+kind+".yaml"))
	}
	return paths, nil
}

// moduleDir is the directory of this module.
func moduleDir(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Client is an uncached client with every kind.
func Client(t testing.TB, cfg *rest.Config) client.WithWatch {
	t.Helper()
	scheme, err := controllers.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Options are those of the controllers in tests, of one namespace.
func Options(namespace string) controllers.Options {
	return controllers.Options{
		Namespace: namespace, SyncPeriod: 10 * time.Minute,
		Concurrency: map[contract.Role]int{contract.RoleCluster: 4, contract.RoleMachine: 10, contract.RoleMachinePool: 4},
		Workspace: workspace.Options{
			RunnerImage: "registry.test/captf:test", StateBackups: 2, DriftInterval: 30 * time.Minute, MaxActiveJobs: 200, ClusterMaxActiveJobs: 20,
			ClusterOperationGate: true, RunnerEvents: true,
		},
	}
}

// Start runs the controllers until the test ends, or until the returned function is called.
func Start(t testing.TB, cfg *rest.Config, o controllers.Options) (stop func()) {
	t.Helper()
	Watch(t, cfg, o.Namespace)
	scheme, err := controllers.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(rest.CopyConfig(cfg), ctrl.Options{
		Scheme: scheme, Cache: controllers.CacheOptions(o),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := controllers.Add(ctx, mgr, o); err != nil {
		cancel()
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the manager ended with: %s", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// StartKeeping is Start, and returns the reconcilers, to be called by the test.
func StartKeeping(t testing.TB, cfg *rest.Config, o controllers.Options) map[contract.Role]*workspace.Reconciler {
	t.Helper()
	kept := map[contract.Role]*workspace.Reconciler{}
	o.Keep = func(role contract.Role, r *workspace.Reconciler) { kept[role] = r }
	Start(t, cfg, o)
	return kept
}

// Clock is the real time, later by what it is advanced, until it is stopped.
type Clock struct {
	mu      sync.Mutex
	ahead   time.Duration
	stopped time.Time
}

// Advance sets the clock forward. What waits by a timer is not woken: touch the object.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// Stop lets the clock stand still, so that nothing becomes due.
func (c *Clock) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = time.Now()
}

// Now is the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped.IsZero() {
		return c.stopped
	}
	return time.Now().Add(c.ahead)
}

// Since is the time since t.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Prepare makes what every namespace needs: the runner's ClusterRole and an identity with its Secret.
func Prepare(ctx context.Context, t testing.TB, c client.Client, namespace string) {
	t.Helper()
	Create(ctx, t, c, runnerRole(ctx, t))
	Create(ctx, t, c, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloud"}, StringData: map[string]string{"CLOUD_TOKEN": Canary},
	})
	Create(ctx, t, c, &infrav1.TerraformClusterIdentity{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: infrav1.TerraformClusterIdentitySpec{
			SecretRef:         &infrav1.IdentitySecretReference{Namespace: namespace, Name: "cloud"},
			AllowedNamespaces: &infrav1.AllowedNamespaces{List: []string{namespace}},
		},
	})
}

// runnerRole is the runner's ClusterRole as a release has it.
func runnerRole(ctx context.Context, t testing.TB) *rbacv1.ClusterRole {
	t.Helper()
	root, err := moduleDir(ctx)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "provider", "config", "rbac", "runner_role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(text, role); err != nil {
		t.Fatal(err)
	}
	role.Name = names.ClusterRole
	return role
}

// TellEvents logs the events of a namespace in order if the test fails.
func TellEvents(t testing.TB, c client.Client, namespace string) {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		list := &eventsv1.EventList{}
		if err := c.List(context.Background(), list, client.InNamespace(namespace)); err != nil {
			t.Log(err)
		}
		slices.SortFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
		for _, e := range list.Items {
			t.Logf("%s %s/%s %s: %s", e.EventTime.Format("05.000"), e.Regarding.Kind, e.Regarding.Name, e.Reason, e.Note)
		}
	})
}

// Canary is a secret: it must turn up nowhere but in Secrets.
const Canary = "canary-0b5a5b7e-never-shown"

// Create creates an object; one that exists is fine.
func Create(ctx context.Context, t testing.TB, c client.Client, obj client.Object) {
	t.Helper()
	if err := c.Create(ctx, obj); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("creating %T %s: %s", obj, obj.GetName(), err)
	}
}

func infraRef(kind, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: kind, Name: name}
}

func workspaceSpec(image, identity string) infrav1.WorkspaceSpec {
	return infrav1.WorkspaceSpec{
		Source:      infrav1.ModuleSource{Image: image},
		IdentityRef: &infrav1.IdentityReference{Name: identity},
	}
}

func owned(namespace, name, cluster string, owner client.Object, kind string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: clusterv1.GroupVersion.String(), Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: new(true),
		}},
	}
}

// Images are the module images of a test.
type Images struct{ Cluster, Machine, MachinePool string }

// TestImages name images that nobody pulls.
var TestImages = Images{"registry.test/cluster:v1", "registry.test/machine:v1", "registry.test/pool:v1"}

// Cluster makes a Cluster and its TerraformCluster, as a user and Cluster API would.
func Cluster(ctx context.Context, t testing.TB, c client.Client, namespace, name string, images Images) *infrav1.TerraformCluster {
	t.Helper()
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       clusterv1.ClusterSpec{InfrastructureRef: infraRef("TerraformCluster", name)},
	}
	Create(ctx, t, c, cluster)
	tc := &infrav1.TerraformCluster{
		ObjectMeta: owned(namespace, name, name, cluster, "Cluster"),
		Spec:       infrav1.TerraformClusterSpec{WorkspaceSpec: workspaceSpec(images.Cluster, namespace)},
	}
	Create(ctx, t, c, tc)
	return tc
}

// InfrastructureProvisioned says on the Cluster that its infrastructure is provisioned, as Cluster API does.
func InfrastructureProvisioned(ctx context.Context, t testing.TB, c client.Client, namespace, name string) {
	t.Helper()
	cluster := &clusterv1.Cluster{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cluster); err != nil {
		t.Fatal(err)
	}
	base := cluster.DeepCopy()
	cluster.Status.Initialization.InfrastructureProvisioned = new(true)
	if err := c.Status().Patch(ctx, cluster, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
}

// bootstrap makes the bootstrap Secret of a Machine or MachinePool.
func bootstrap(ctx context.Context, t testing.TB, c client.Client, namespace, name string) clusterv1.Bootstrap {
	t.Helper()
	Create(ctx, t, c, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-bootstrap"},
		Data:       map[string][]byte{"value": []byte("#cloud-config\n# " + Canary + "\n"), "format": []byte("cloud-config")},
	})
	return clusterv1.Bootstrap{DataSecretName: new(name + "-bootstrap")}
}

// Machine makes a Machine with bootstrap data and its TerraformMachine, changed by the functions.
func Machine(
	ctx context.Context, t testing.TB, c client.Client, namespace, cluster, name string, controlPlane bool, images Images,
	with ...func(*clusterv1.Machine, *infrav1.TerraformMachine),
) *infrav1.TerraformMachine {
	t.Helper()
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}},
		Spec: clusterv1.MachineSpec{
			ClusterName: cluster, Version: "v1.36.0", Bootstrap: bootstrap(ctx, t, c, namespace, name), InfrastructureRef: infraRef("TerraformMachine", name),
		},
	}
	if controlPlane {
		machine.Labels[clusterv1.MachineControlPlaneLabel] = ""
	}
	tm := &infrav1.TerraformMachine{Spec: infrav1.TerraformMachineSpec{WorkspaceSpec: workspaceSpec(images.Machine, namespace)}}
	for _, change := range with {
		change(machine, tm)
	}
	Create(ctx, t, c, machine)
	tm.ObjectMeta = owned(namespace, name, cluster, machine, "Machine")
	Create(ctx, t, c, tm)
	return tm
}

// MachinePool makes a MachinePool with bootstrap data and its TerraformMachinePool.
func MachinePool(ctx context.Context, t testing.TB, c client.Client, namespace, cluster, name string, replicas int32, images Images) *infrav1.TerraformMachinePool {
	t.Helper()
	pool := &clusterv1.MachinePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}},
		Spec: clusterv1.MachinePoolSpec{
			ClusterName: cluster, Replicas: new(replicas),
			Template: clusterv1.MachineTemplateSpec{Spec: clusterv1.MachineSpec{
				ClusterName: cluster, Version: "v1.36.0", Bootstrap: bootstrap(ctx, t, c, namespace, name), InfrastructureRef: infraRef("TerraformMachinePool", name),
			}},
		},
	}
	Create(ctx, t, c, pool)
	tp := &infrav1.TerraformMachinePool{
		ObjectMeta: owned(namespace, name, cluster, pool, "MachinePool"),
		Spec:       infrav1.TerraformMachinePoolSpec{WorkspaceSpec: workspaceSpec(images.MachinePool, namespace)},
	}
	Create(ctx, t, c, tp)
	return tp
}

// Await reads an object until it is as it should be, and fails the test with what it is instead.
func Await[T client.Object](ctx context.Context, t testing.TB, c client.Client, obj T, what string, ok func(T) bool) T {
	t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	for {
		err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if err == nil && ok(obj) {
			return obj
		}
		select {
		case <-deadline.C:
			t.Fatalf("%T %s is not %s:\n%s", obj, obj.GetName(), what, describe(obj, err))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Patience is how long Await waits: much longer than it takes, so that only a hang fails.
const Patience = 4 * time.Minute

// AwaitGone waits until an object is gone.
func AwaitGone(ctx context.Context, t testing.TB, c client.Client, obj client.Object) {
	t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	for {
		err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if apierrors.IsNotFound(err) {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("%T %s is not gone:\n%s", obj, obj.GetName(), describe(obj, err))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// describe shows the conditions of an object.
func describe(obj client.Object, err error) string {
	if err != nil {
		return err.Error()
	}
	with, ok := obj.(interface{ GetConditions() []metav1.Condition })
	if !ok {
		return ""
	}
	var b strings.Builder
	for _, c := range with.GetConditions() {
		fmt.Fprintf(&b, "  %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	if w, ok := obj.(infrav1.Workspace); ok {
		fmt.Fprintf(&b, "  activeJob: %+v\n", w.WorkspaceStatus().ActiveJob)
	}
	return b.String()
}

// IsReady tells that the condition Ready is True.
func IsReady[T interface{ GetConditions() []metav1.Condition }](obj T) bool {
	for _, c := range obj.GetConditions() {
		if c.Type == infrav1.ReadyCondition {
			return c.Status == metav1.ConditionTrue
		}
	}
	return false
}

// AwaitNone waits until a list is empty.
func AwaitNone(ctx context.Context, t testing.TB, c client.Client, list client.ObjectList, opts ...client.ListOption) {
	t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	for {
		if err := c.List(ctx, list, opts...); err != nil {
			t.Fatal(err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			t.Fatal(err)
		}
		if len(items) == 0 {
			return
		}
		select {
		case <-deadline.C:
			var left []string
			for _, i := range items {
				if o, ok := i.(client.Object); ok {
					left = append(left, o.GetName())
				}
			}
			t.Fatalf("%T is not empty: %s", list, strings.Join(left, ", "))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Applied tells that the current inputs are applied.
func Applied[T interface{ GetConditions() []metav1.Condition }](obj T) bool {
	for _, c := range obj.GetConditions() {
		if c.Type == infrav1.InputsAppliedCondition {
			return c.Status == metav1.ConditionTrue
		}
	}
	return false
}
