package realtest_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/controllers/controllerstest"
	"github.com/captf-toolkit/captf/provider/internal/inspect"
	"github.com/captf-toolkit/captf/provider/internal/names"
	"github.com/captf-toolkit/captf/provider/internal/realtest"
	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/kubelet"
	"github.com/captf-toolkit/captf/provider/testenv/registry"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// node is what the tests share beside the control plane: who runs pods, and the images.
var node struct {
	sync.Once
	kubelet *kubelet.Kubelet
	images  *realtest.Images
	runner  registry.Pushed
	base    registry.Pushed
	noop    controllerstest.Images
	dir     string
	err     error
}

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	crds, err := controllerstest.CRDs(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	keepLog()
	code := tools.Main(m, testenv.Options{ControllerManager: true, CRDs: crds}, func() error {
		if node.kubelet == nil {
			return nil
		}
		return node.kubelet.Stop()
	})
	if node.images != nil {
		_ = node.images.Registry.Close()
	}
	if node.dir != "" {
		_ = os.RemoveAll(node.dir)
	}
	return controllerstest.Produced(code)
}

// startNode builds the images and starts the kubelet, once.
func startNode(t testing.TB) {
	t.Helper()
	tofu := runtimetest.OpenTofu(t)
	env := tools.Environment(t)
	node.Do(func() {
		ctx := context.WithoutCancel(t.Context())
		node.err = func() (err error) {
			if node.dir, err = os.MkdirTemp("", "captf-real-"); err != nil { //nolint:usetesting // it outlives this test
				return err
			}
			root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
			if err != nil {
				return err
			}
			r, err := registry.Start(ctx, registry.Options{})
			if err != nil {
				return err
			}
			node.images = &realtest.Images{
				Registry: r, Root: strings.TrimSpace(string(root)), Runtime: tofu.Path, Progress: func(line string) { t.Log(line) },
			}
			if node.runner, err = node.images.Runner(ctx, "captf/runner:test"); err != nil {
				return err
			}
			if node.base, err = node.images.Base(ctx, "captf/base:test"); err != nil {
				return err
			}
			noop, err := node.images.Noop(ctx, node.base, "v1")
			if err != nil {
				return err
			}
			node.noop = controllerstest.Images{
				Cluster: noop[contract.RoleCluster].Tag, Machine: noop[contract.RoleMachine].Tag, MachinePool: noop[contract.RoleMachinePool].Tag,
			}
			node.kubelet, err = kubelet.Start(ctx, kubelet.Options{Config: env.Config()})
			return err
		}()
		node.images.Progress = nil // the test that built them ends
	})
	if node.err != nil {
		t.Fatal(node.err)
	}
}

// world is a namespace with running controllers.
type world struct {
	client.WithWatch
	t     testing.TB
	ns    string
	clock *shifted
}

// noContext is for what outlives the test that needs it first.
var noContext = context.Background()

// processOf is a process of a container.
type processOf = kubelet.Process

// start makes a namespace and runs the controllers in it.
func start(t testing.TB) *world {
	t.Helper()
	startNode(t)
	env := tools.Environment(t)
	w := &world{t: t, ns: tools.Namespace(t), clock: &shifted{}, WithWatch: controllerstest.Client(t, env.Config())}
	controllerstest.Prepare(t.Context(), t, w, w.ns)
	controllerstest.TellEvents(t, w, w.ns)
	w.tellLogs()
	o := controllerstest.Options(w.ns)
	o.Workspace.RunnerImage, o.Clock = node.runner.Tag, w.clock
	o.Inspector = inspect.New(inspect.Options{
		Live: w, UserAgent: "captf-test", Egress: inspect.Egress{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	})
	controllerstest.Start(t, env.Config(), o)
	return w
}

// tellLogs shows what the containers of the namespace wrote if the test fails.
func (w *world) tellLogs() {
	w.t.Cleanup(func() {
		if !w.t.Failed() {
			return
		}
		_ = node.kubelet.AllLogs(func(container string, text []byte) error {
			if strings.HasPrefix(container, w.ns+"/") {
				w.t.Logf("%s:\n%s", container, text)
			}
			return nil
		})
	})
}

// cluster makes a cluster and waits until it is Ready, then says so as Cluster API does.
func (w *world) cluster(name string) *infrav1.TerraformCluster {
	w.t.Helper()
	tc := controllerstest.Cluster(w.t.Context(), w.t, w, w.ns, name, node.noop)
	controllerstest.Await(w.t.Context(), w.t, w, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
	controllerstest.InfrastructureProvisioned(w.t.Context(), w.t, w, w.ns, name)
	return tc
}

// delete deletes objects and waits until they are gone.
func (w *world) delete(objects ...client.Object) {
	w.t.Helper()
	for _, obj := range objects {
		if err := client.IgnoreNotFound(w.Delete(w.t.Context(), obj)); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, obj := range objects {
		controllerstest.AwaitGone(w.t.Context(), w.t, w, obj)
	}
}

// nothingLeft looks for what the provider, or a run, made in the namespace.
func (w *world) nothingLeft() {
	w.t.Helper()
	ctx := w.t.Context()
	managed := client.MatchingLabels{infrav1.LabelManaged: "true"}
	for _, list := range []client.ObjectList{
		&corev1.SecretList{}, &coordinationv1.LeaseList{}, &batchv1.JobList{}, &corev1.ServiceAccountList{}, &rbacv1.RoleBindingList{},
	} {
		controllerstest.AwaitNone(ctx, w.t, w, list, client.InNamespace(w.ns), managed)
	}
	controllerstest.AwaitNone(ctx, w.t, w, &corev1.PodList{}, client.InNamespace(w.ns))
	// What has no label of ours but a name: states, locks and the account of the runs.
	secrets, leases := &corev1.SecretList{}, &coordinationv1.LeaseList{}
	for _, list := range []client.ObjectList{secrets, leases} {
		if err := w.List(ctx, list, client.InNamespace(w.ns)); err != nil {
			w.t.Fatal(err)
		}
	}
	for i := range secrets.Items {
		if name := secrets.Items[i].Name; strings.HasPrefix(name, "tfstate-") || strings.HasPrefix(name, "captf-") {
			w.t.Errorf("Secret %s is left", name)
		}
	}
	for i := range leases.Items {
		w.t.Errorf("Lease %s is left", leases.Items[i].Name)
	}
	for _, obj := range []client.Object{&corev1.ServiceAccount{}, &rbacv1.RoleBinding{}} {
		obj.SetNamespace(w.ns)
		obj.SetName(names.ServiceAccount)
		controllerstest.AwaitGone(ctx, w.t, w, obj)
	}
}

// jobs returns the Jobs of an object's operation by the name of the object.
func (w *world) jobs(object string, op infrav1.Operation) []batchv1.Job {
	w.t.Helper()
	list := &batchv1.JobList{}
	if err := w.List(w.t.Context(), list, client.InNamespace(w.ns), client.MatchingLabels{
		infrav1.LabelOwnerName: object, infrav1.LabelOperation: string(op),
	}); err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

// newest is when the last of some Jobs was made.
func newest(jobs []batchv1.Job) (t time.Time) {
	for i := range jobs {
		if c := jobs[i].CreationTimestamp.Time; c.After(t) {
			t = c
		}
	}
	return t
}
