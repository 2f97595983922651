package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/test/e2e/management"
	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
	"github.com/captf-toolkit/captf/sdk/diagnose"
	"github.com/captf-toolkit/captf/sdk/move"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// another starts a second management cluster, which the cloud follows, too.
func another(t *testing.T) *management.Cluster {
	t.Helper()
	other, err := management.Start(t.Context(), shared.release, management.Options{
		Binaries: tools.Find, Images: shared.images, Progress: func(line string) { t.Log("the other one: " + line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	shared.cloud.Add(other.Client)
	t.Cleanup(func() {
		shared.cloud.Remove(other.Client)
		if err := other.Stop(); err != nil {
			t.Error(err)
		}
	})
	return other
}

// elsewhere is the same namespace of another management cluster, with an identity for it.
func (w *world) elsewhere(other *management.Cluster) *world {
	w.t.Helper()
	out := *w
	out.on, out.WithWatch = other, other.Client
	if err := other.Client.Create(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}); err != nil {
		w.t.Fatal(err)
	}
	out.jobs = out.watchJobs()
	out.identity()
	return &out
}

// runs are the Jobs that a move must not add to: applies and destroys of both sides.
func (w *world) runs(other *world) (applies, destroys int) {
	return w.jobs.total(infrav1.OperationApply) + other.jobs.total(infrav1.OperationApply),
		w.jobs.total(infrav1.OperationDestroy) + other.jobs.total(infrav1.OperationDestroy)
}

// moving moves the Cluster to another management cluster in some way, and waits until it is there as it was: nothing is left
// behind, nothing was applied but what was due anyway, nothing was destroyed, and the instances are the same.
func (w *world) moving(other *world, now want, due int, how func()) {
	w.t.Helper()
	applies, destroys := w.runs(other)
	booted, secrets := fmt.Sprint(w.booted()), w.secrets()
	how()
	w.await("nothing is left behind", func(ctx context.Context) (bool, string, error) {
		left, err := w.left(ctx)
		left = slices.DeleteFunc(left, func(o string) bool {
			return !slices.ContainsFunc([]string{"Secret", "Terraform", "Machine", "Cluster", "Kubeadm"}, func(kind string) bool { return strings.HasPrefix(o, kind) })
		})
		return len(left) == 0, strings.Join(left, ", "), err
	})
	other.awaitAvailable()
	other.awaitMachines(now)
	tc := other.terraformCluster()
	awaitObject(other, tc, "Ready, and nothing runs", func(tc *infrav1.TerraformCluster) (bool, string) {
		not := falsy(tc.Status.Conditions, infrav1.ReadyCondition, infrav1.InputsAppliedCondition, infrav1.StateReadableCondition)
		return not == "" && tc.Status.ActiveJob == nil, not
	})
	other.await("all TerraformMachines are Ready", func(ctx context.Context) (bool, string, error) {
		list := &infrav1.TerraformMachineList{}
		if err := other.List(ctx, list, inNamespace(w.ns)...); err != nil {
			return false, "", err
		}
		var not []string
		for i := range list.Items {
			if now := falsy(list.Items[i].Status.Conditions, infrav1.ReadyCondition); now != "" {
				not = append(not, list.Items[i].Name+": "+now)
			}
		}
		return len(list.Items) == now.controlPlanes+now.workers && len(not) == 0, fmt.Sprint(len(list.Items), " ", not), nil
	})
	if due > 0 {
		other.await("what was due is applied", func(context.Context) (bool, string, error) {
			a, _ := w.runs(other)
			return a >= applies+due, "", nil
		})
		other.awaitIdle()
	}
	if a, d := w.runs(other); a != applies+due || d != destroys {
		w.t.Errorf("%d applies and %d destroys were started by the move", a-applies-due, d-destroys)
	}
	if after := fmt.Sprint(other.booted()); after != booted {
		w.t.Errorf("the instances were %s and are %s", booted, after)
	}
	there := other.secrets()
	if lost := slices.DeleteFunc(secrets, func(name string) bool { return slices.Contains(there, name) }); len(lost) > 0 {
		w.t.Errorf("the Secrets %v did not move", lost)
	}
}

// secrets are the Secrets of the namespace that have to move: not those of a run, nor the copies of credentials, which are made
// again.
func (w *world) secrets() []string {
	w.t.Helper()
	list := &corev1.SecretList{}
	if err := w.List(w.t.Context(), list, inNamespace(w.ns)...); err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		s := &list.Items[i]
		ofRun := slices.ContainsFunc(s.OwnerReferences, func(r metav1.OwnerReference) bool { return r.Kind == "Job" })
		if !ofRun && s.Labels[infrav1.LabelMirrored] == "" {
			names = append(names, s.Name)
		}
	}
	if len(names) < 2*len(w.booted()) { // each instance has a state and bootstrap data, to say the least
		w.t.Fatalf("there are only the Secrets %v", names)
	}
	return names
}

// uninstalled removes the provider as a user does who needs it no more: nothing of it runs, and its CRDs stay.
func (w *world) uninstalled() {
	w.t.Helper()
	w.clusterctl("delete", "--infrastructure", management.Provider, "--kubeconfig", w.on.Env.KubeconfigFile())
	if version := w.installed(); version != "" {
		w.t.Errorf("clusterctl still knows of version %s", version)
	}
	w.shell(w, w.block("clusterctl.md", "kubectl delete clusterroles"))
	w.await("nothing of the provider is left", func(ctx context.Context) (bool, string, error) {
		var left []string
		for _, list := range []client.ObjectList{
			&appsv1.DeploymentList{}, &corev1.PodList{}, &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{},
			&admissionv1.ValidatingWebhookConfigurationList{}, &admissionv1.ValidatingAdmissionPolicyList{},
		} {
			if err := w.List(ctx, list, client.MatchingLabels{clusterv1.ProviderNameLabel: "infrastructure-" + management.Provider}); err != nil {
				return false, "", err
			}
			if err := meta.EachListItem(list, func(o runtime.Object) error {
				left = append(left, fmt.Sprintf("%T %s", o, o.(client.Object).GetName()))
				return nil
			}); err != nil {
				return false, "", err
			}
		}
		return len(left) == 0, strings.Join(left, ", "), nil
	})
	if err := w.List(w.t.Context(), &infrav1.TerraformClusterList{}); err != nil {
		w.t.Errorf("the CRDs are gone, too: %s", err)
	}
}

// move moves by clusterctl.
func (w *world) move(other *world) {
	w.t.Helper()
	w.say("clusterctl move\n%s", w.clusterctl("move", "--namespace", w.ns, "--kubeconfig", w.on.Env.KubeconfigFile(), "--to-kubeconfig", other.on.Env.KubeconfigFile()))
}

// killed moves by a clusterctl that reaches the two API servers under other addresses, and is killed when it stands at a gate.
// What is done meanwhile is done while it runs.
func (w *world) killed(at *gate, from, to string, meanwhile func()) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), *patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := shared.release.Run(ctx, w.variables(), "move", "--namespace", w.ns, "--kubeconfig", from, "--to-kubeconfig", to)
		ended <- err
	}()
	if meanwhile != nil {
		meanwhile()
	}
	select {
	case <-at.reached:
	case err := <-ended:
		w.t.Fatalf("clusterctl move ended too early: %v", err)
	}
	cancel()
	if err := <-ended; err == nil {
		w.t.Fatal("clusterctl move was not killed")
	}
	w.say("clusterctl move was killed")
}

// gate is an address of an API server at which the first of some requests and all after it are never answered.
type gate struct {
	kubeconfig string
	reached    chan struct{}
}

// gate opens one. It is asked about each request whether it is of those.
func (w *world) gate(closes func(*http.Request) bool) *gate {
	w.t.Helper()
	config := w.on.Env.Config()
	transport, err := rest.TransportFor(config)
	if err != nil {
		w.t.Fatal(err)
	}
	address, err := url.Parse(config.Host)
	if err != nil {
		w.t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(address) }, Transport: transport, FlushInterval: -1}
	g := &gate{kubeconfig: filepath.Join(w.t.TempDir(), "kubeconfig"), reached: make(chan struct{})}
	var mu sync.Mutex
	closed := false
	shut := func(q *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if !closed && closes(q) {
			closed = true
			close(g.reached)
		}
		return closed
	}
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, q *http.Request) {
		if !shut(q) {
			proxy.ServeHTTP(answer, q)
			return
		}
		_, _ = io.Copy(io.Discard, q.Body) // only then it is seen that the client is gone
		<-q.Context().Done()
	}))
	w.t.Cleanup(server.Close)
	text, err := testenv.Kubeconfig(&rest.Config{Host: server.URL})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(g.kubeconfig, text, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return g
}

// abandoned takes the lock of the TerraformCluster's state as an operator does with a stock binary, who walks away from the
// question whether to apply and whose machine dies then.
func (w *world) abandoned() {
	w.t.Helper()
	tc := w.terraformCluster()
	if err := w.Get(w.t.Context(), w.key(), tc); err != nil {
		w.t.Fatal(err)
	}
	dir := w.t.TempDir()
	backend := fmt.Sprintf("terraform {\n  backend \"kubernetes\" {\n    config_path   = %q\n    namespace     = %q\n    secret_suffix = %q\n  }\n}\n",
		w.on.Env.KubeconfigFile(), w.ns, tc.Status.StateSecretSuffix)
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(backend), 0o600); err != nil {
		w.t.Fatal(err)
	}
	tofu := runtimetest.OpenTofu(w.t).Path
	run := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(w.t.Context(), tofu, args...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "CHECKPOINT_DISABLE=1"}
		return cmd
	}
	if out, err := run("init", "-input=false").CombinedOutput(); err != nil {
		w.t.Fatalf("tofu init: %v\n%s", err, out)
	}
	apply := run("apply", "-refresh=false")
	questions, err := apply.StdinPipe() // stays open: nobody answers
	if err != nil {
		w.t.Fatal(err)
	}
	defer questions.Close()
	var out strings.Builder
	apply.Stdout, apply.Stderr = &out, &out
	if err := apply.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.await("tofu holds the lock", func(ctx context.Context) (bool, string, error) {
		holder, err := w.lockHolder(ctx)
		return holder != "", "", err
	})
	if err := apply.Process.Kill(); err != nil {
		w.t.Fatal(err)
	}
	if err := apply.Wait(); err == nil {
		w.t.Fatalf("tofu was not killed:\n%s", out.String())
	}
}

// lockHolder is who holds the lock of the TerraformCluster's state, empty if nobody does.
func (w *world) lockHolder(ctx context.Context) (string, error) {
	tc := w.terraformCluster()
	if err := w.Get(ctx, w.key(), tc); err != nil {
		return "", err
	}
	lease := &coordinationv1.Lease{}
	err := w.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "lock-tfstate-default-" + tc.Status.StateSecretSuffix}, lease)
	return deref(lease.Spec.HolderIdentity), client.IgnoreNotFound(err)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// TestMove moves a cluster to another management cluster, back, and there again: by a clusterctl that dies while it creates and
// is run again, by one that waits for a Job and dies while it deletes, and past a lock that a stock binary left. Nothing is
// applied that was applied before, and nothing is destroyed until the cluster is deleted.
func TestMove(t *testing.T) {
	w := start(t, "nomad")
	objects := w.generate("", "machinepool")
	w.set(objects, "TerraformMachinePool", int64(24*60*60), "spec", "membershipRefreshIntervalSeconds") // its Jobs would hold a move up
	cloud := newCloudAPI(t)
	variables := w.endpoint()
	variables["cloud"] = cloud.url
	w.set(objects, "TerraformCluster", variables, "spec", "variables")
	w.set(objects, "TerraformCluster", w.cloudImage(contract.RoleCluster), "spec", "source", "image")
	w.ask(objects, "-md-0", cloud)
	w.create(objects...)
	there := w.elsewhere(another(t))
	w.awaitAvailable()
	now := want{1, 1, 1, oldVersion}
	w.awaitMachines(now)
	w.movable(there.on)

	w.moving(there, now, 0, func() {
		creates := there.gate(func(q *http.Request) bool {
			return q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/terraformmachines")
		})
		w.killed(creates, w.on.Env.KubeconfigFile(), creates.kubeconfig, nil)
		r := w.unmovable(there.on, w.name, "move/cluster-paused")
		if !slices.ContainsFunc(r.Findings, func(f move.Finding) bool {
			return f.ID == "move/cluster-on-target" && f.Severity == move.SeverityWarning
		}) {
			t.Error("captf move check does not find the half that is there")
		}
		w.shell(there, r.Findings[0].Fix)
		w.move(there)
	})

	cloud.hold()
	change(there, there.deployment(), func(d *clusterv1.MachineDeployment) { d.Spec.Replicas = new(int32(2)) })
	there.await("a module waits for the cloud", func(context.Context) (bool, string, error) { return cloud.holds() > 0, "", nil })
	there.diagnosed(cause{diagnose.VerdictWorking, "job", "TerraformMachine", "-md-0-", "status.activeJob", "runs the module: apply"})
	there.unmovable(w.on, "-md-0-", "move/blocked", "move/job-running", "move/machine-without-node", "move/state-locked")
	cloud.release()
	now.workers = 2
	there.awaitMachines(now)
	there.movable(w.on)

	cloud.hold()
	change(there, there.terraformCluster(), func(tc *infrav1.TerraformCluster) {
		tc.Spec.Variables["failure_domains"] = jsonOf(there, []map[string]any{{"name": "fd1"}, {"name": "fd2"}})
	})
	there.await("the module waits for the cloud", func(context.Context) (bool, string, error) { return cloud.holds() > 0, "", nil })
	there.unmovable(w.on, there.name, "move/blocked", "move/job-running", "move/state-locked")
	const ofThePool = 1 // it gets the new failure domain, too, once nothing is paused
	there.moving(w, now, ofThePool, func() {
		var asked atomic.Int32
		deletes := there.gate(func(q *http.Request) bool {
			if q.Method == http.MethodGet && strings.HasSuffix(q.URL.Path, "/terraformclusters/"+there.name) {
				asked.Add(1)
			}
			return q.Method == http.MethodDelete && strings.Contains(q.URL.Path, "/machinesets/")
		})
		there.killed(deletes, deletes.kubeconfig, w.on.Env.KubeconfigFile(), func() {
			there.await("clusterctl waits for the Job", func(context.Context) (bool, string, error) { return asked.Load() > 0, "", nil })
			if holder, err := there.lockHolder(t.Context()); err != nil || holder == "" {
				t.Errorf("the Job holds no lock: %v", err)
			}
			if err := w.Get(t.Context(), w.key(), &clusterv1.Cluster{}); !apierrors.IsNotFound(err) {
				t.Errorf("clusterctl moves the Cluster while a Job runs: %v", err)
			}
			cloud.release()
		})
		there.unmovable(w.on, there.name, "move/interrupted")
		there.shell(w, strings.Replace(there.block("move.md", "delete-for-move"), "namespace=prod\n", "namespace="+w.ns+"\n", 1))
	})
	awaitObject(w, w.awaitAvailable(), "in two failure domains", func(c *clusterv1.Cluster) (bool, string) {
		return len(c.Status.FailureDomains) == 2, fmt.Sprint(c.Status.FailureDomains)
	})

	w.movable(there.on)
	w.abandoned()
	change(w, w.terraformCluster(), func(tc *infrav1.TerraformCluster) { tc.Annotations["test/look"] = "again" }) // sooner than it would
	awaitObject(w, w.terraformCluster(), "locked", func(tc *infrav1.TerraformCluster) (bool, string) {
		c := meta.FindStatusCondition(tc.Status.Conditions, infrav1.StateReadableCondition)
		return c != nil && c.Reason == infrav1.StateLockedReason, fmt.Sprint(c)
	})
	w.unmovable(there.on, w.name, "move/state-locked")
	w.moving(there, now, 0, func() { w.move(there) })
	if holder, err := there.lockHolder(t.Context()); err != nil || holder != "" {
		t.Errorf("the lock moved, too: %q, %v", holder, err)
	}
	there.deleteCluster()
	there.uninstalled()
}
