package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/test/e2e/fidelity"
	"github.com/captf-toolkit/captf/provider/test/e2e/management"
	"github.com/captf-toolkit/captf/provider/test/e2e/workload"
	"github.com/captf-toolkit/captf/provider/testenv/deploy"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// patience is how long anything may take: much longer than it does on a slow machine, and than any wait between two tries of the
// provider or of Cluster API, so that only a hang fails.
var patience = flag.Duration("patience", 12*time.Minute, "how long to wait for anything")

// shared is what the tests have in common.
var shared struct {
	sync.Once
	release *management.Release
	cluster *management.Cluster
	server  *workload.Server
	cloud   *workload.Cloud
	images  string
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// stop ends what the tests have in common, those first that need the others.
func stop() error {
	var errs []error
	if shared.cloud != nil {
		shared.cloud.Stop()
	}
	if shared.cluster != nil {
		errs = append(errs, shared.cluster.Stop())
	}
	if shared.server != nil {
		errs = append(errs, shared.server.Close())
	}
	if shared.release != nil {
		errs = append(errs, shared.release.Close())
	}
	if shared.images != "" {
		errs = append(errs, os.RemoveAll(shared.images))
	}
	return errors.Join(errs...)
}

// capiLog keeps the end of what Cluster API logs.
var capiLog ring

// ring keeps the last lines.
type ring struct {
	mu    sync.Mutex
	lines []string
}

func (r *ring) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, time.Now().Format("15:04:05.000 ")+line)
	if len(r.lines) > 4000 {
		r.lines = slices.Clone(r.lines[2000:])
	}
}

// about returns the last lines that hold a word.
func (r *ring) about(word string, most int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, l := range r.lines {
		if strings.Contains(l, word) {
			out = append(out, l)
		}
	}
	return strings.Join(out[max(0, len(out)-most):], "\n")
}

// repository is the directory of the product's module.
func repository() (string, error) { return filepath.Abs(filepath.Join("..", "..", "..")) }

// begin starts what the tests have in common, once.
func begin(t testing.TB) {
	t.Helper()
	runtime := runtimetest.OpenTofu(t)
	shared.Do(func() {
		ctrl.SetLogger(funcr.New(func(prefix, args string) { capiLog.add(prefix + " " + args) }, funcr.Options{}))
		ctx := context.WithoutCancel(t.Context()) // it outlives this test
		shared.err = func() (err error) {
			root, err := repository()
			if err != nil {
				return err
			}
			kubectl, err := tools.Find(ctx, "kubectl")
			if err != nil {
				return err
			}
			clusterctl, err := tools.Find(ctx, "clusterctl")
			if err != nil {
				return err
			}
			began := time.Now()
			say := func(line string) { t.Logf("%6.1fs %s", time.Since(began).Seconds(), line) }
			if shared.images, err = os.MkdirTemp("", "captf-e2e-images-"); err != nil { //nolint:usetesting // it outlives this test
				return err
			}
			if shared.release, err = management.MakeRelease(ctx, management.ReleaseOptions{
				Root: root, Kubectl: kubectl, Clusterctl: clusterctl, Runtime: runtime.Path, Progress: say,
			}); err != nil {
				return err
			}
			if shared.cluster, err = management.Start(ctx, shared.release, management.Options{
				Binaries: tools.Find, Images: shared.images, Progress: say,
			}); err != nil {
				return err
			}
			if shared.server, err = workload.NewServer(ctx); err != nil {
				return err
			}
			shared.cloud = workload.Follow(ctx, shared.server, shared.cluster.Client)
			return nil
		}()
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
}

// world is a namespace of the management cluster, with an identity that it may use.
type world struct {
	client.WithWatch
	t  testing.TB
	on *management.Cluster
	ns string
	// name is the Cluster's.
	name  string
	began time.Time
	jobs  *jobWatch
	// seen is what happens to the objects of the namespace.
	seen *fidelity.Recorder
}

// start makes a world for a Cluster.
func start(t testing.TB, name string) *world {
	t.Helper()
	begin(t)
	ns, err := shared.cluster.Env.Namespace(t.Context(), "e2e")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{WithWatch: shared.cluster.Client, t: t, on: shared.cluster, ns: ns, name: name, began: time.Now()}
	t.Cleanup(func() {
		if t.Failed() {
			w.tell()
		}
	})
	w.jobs = w.watchJobs()
	w.observe()
	w.identity()
	return w
}

// identity makes an identity that the namespace may use, by the template of the release.
func (w *world) identity() {
	w.t.Helper()
	objects := w.decode(w.clusterctl("generate", "yaml", "--from", filepath.Join(shared.release.Dir, "identity.yaml")))
	w.create(objects...)
	w.t.Cleanup(func() { // it belongs to no namespace, and may go once it knows that nobody uses it
		ctx := context.WithoutCancel(w.t.Context())
		for _, o := range of(objects, "TerraformClusterIdentity") {
			var err error
			if wait.PollUntilContextTimeout(ctx, 250*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
				err = client.IgnoreNotFound(w.Delete(ctx, o))
				return err == nil, nil
			}) != nil && !w.t.Failed() { // what a failed test leaves may use it
				w.t.Error(err)
			}
		}
	})
}

// key is the Cluster's.
func (w *world) key() types.NamespacedName {
	return types.NamespacedName{Namespace: w.ns, Name: w.name}
}

// variables are those of the templates.
func (w *world) variables() map[string]string {
	return map[string]string{
		"NAMESPACE": w.ns, "TERRAFORM_IDENTITY_NAME": w.ns,
		"TERRAFORM_CLUSTER_IMAGE":     shared.release.Images[contract.RoleCluster],
		"TERRAFORM_MACHINE_IMAGE":     shared.release.Images[contract.RoleMachine],
		"TERRAFORM_MACHINEPOOL_IMAGE": shared.release.Images[contract.RoleMachinePool],
	}
}

// Versions of Kubernetes in the tests.
const oldVersion, newVersion = management.OldKubernetes, management.NewKubernetes

// generate returns the objects that clusterctl generates of flavours of the release. What several have is there once.
func (w *world) generate(flavours ...string) []*unstructured.Unstructured {
	w.t.Helper()
	var out []*unstructured.Unstructured
	seen := map[string]bool{}
	for _, flavour := range flavours {
		for _, o := range w.decode(w.clusterctl("generate", "cluster", w.name, "--kubeconfig", w.on.Env.KubeconfigFile(),
			"--infrastructure", management.Provider+":"+management.Version, "--flavor", flavour, "--target-namespace", w.ns,
			"--kubernetes-version", oldVersion, "--control-plane-machine-count", "1", "--worker-machine-count", "1")) {
			if id := o.GetKind() + "/" + o.GetName(); !seen[id] {
				seen[id] = true
				out = append(out, o)
			}
		}
	}
	return out
}

// clusterctl runs clusterctl with the variables of the templates.
func (w *world) clusterctl(args ...string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), *patience)
	defer cancel()
	out, err := shared.release.Run(ctx, w.variables(), args...)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) decode(text string) []*unstructured.Unstructured {
	w.t.Helper()
	objects, err := deploy.Decode([]byte(text))
	if err != nil {
		w.t.Fatal(err)
	}
	return objects
}

// of returns the objects of a kind.
func of(objects []*unstructured.Unstructured, kind string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return o.GetKind() != kind })
}

// set sets a field of all objects of a kind.
func (w *world) set(objects []*unstructured.Unstructured, kind string, value any, path ...string) {
	w.t.Helper()
	found := of(objects, kind)
	if len(found) == 0 {
		w.t.Fatalf("there is no %s", kind)
	}
	for _, o := range found {
		if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
			w.t.Fatal(err)
		}
	}
}

// create creates objects as a user does with kubectl.
func (w *world) create(objects ...*unstructured.Unstructured) {
	w.t.Helper()
	for _, o := range objects {
		if o.GetNamespace() == "" && o.GetKind() != "TerraformClusterIdentity" {
			o.SetNamespace(w.ns)
		}
		w.retried("creating "+o.GetKind()+" "+o.GetName(), func(ctx context.Context) error { return w.Create(ctx, o) })
	}
}

// endpoint reserves an endpoint, and returns the variables that let the no-op cluster module return it.
func (w *world) endpoint() map[string]any {
	w.t.Helper()
	port, err := shared.server.Reserve(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return map[string]any{"endpoint_host": workload.Host, "endpoint_port": int64(port)}
}

// await waits until something is true. What it is instead is logged whenever it changes.
func (w *world) await(what string, look func(context.Context) (done bool, now string, err error)) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), *patience)
	defer cancel()
	said := ""
	for {
		done, now, err := look(ctx)
		if err != nil {
			now = "error: " + err.Error()
		}
		if done && err == nil {
			w.say("%s", what)
			return
		}
		if now != said {
			said = now
			w.say("  %s: %s", what, now)
		}
		select {
		case <-time.After(250 * time.Millisecond):
		case <-ctx.Done():
			w.t.Fatalf("waited in vain: %s: %s", what, said)
		}
	}
}

func (w *world) say(format string, args ...any) {
	w.t.Helper()
	w.t.Logf("%6.1fs "+format, append([]any{time.Since(w.began).Seconds()}, args...)...)
}

// awaitObject waits until an object is as it should be.
func awaitObject[T client.Object](w *world, obj T, what string, look func(T) (done bool, now string)) {
	w.t.Helper()
	w.await(fmt.Sprintf("%s %s is %s", kindOf(obj), obj.GetName(), what), func(ctx context.Context) (bool, string, error) {
		if err := w.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return false, "", err
		}
		done, now := look(obj)
		return done, now, nil
	})
}

// kindOf is the kind of an object.
func kindOf(obj client.Object) string {
	name := fmt.Sprintf("%T", obj)
	return name[strings.LastIndex(name, ".")+1:]
}

// retried repeats what a user would repeat: an API server or a webhook that does not answer in time.
func (w *world) retried(what string, try func(context.Context) error) {
	w.t.Helper()
	busy := func(err error) bool {
		return apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
	}
	patient := wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Steps: 9} // for two minutes
	if err := retry.OnError(patient, busy, func() error { return try(w.t.Context()) }); err != nil {
		w.t.Fatalf("%s: %s", what, err)
	}
}

// change patches an object.
func change[T client.Object](w *world, obj T, do func(T)) {
	w.t.Helper()
	w.retried("changing "+kindOf(obj)+" "+obj.GetName(), func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		base, ok := obj.DeepCopyObject().(client.Object)
		if !ok {
			return fmt.Errorf("%T is no object", obj)
		}
		do(obj)
		return w.Patch(ctx, obj, client.MergeFrom(base))
	})
}

// remove deletes an object.
func (w *world) remove(obj client.Object, opts ...client.DeleteOption) {
	w.t.Helper()
	w.retried("deleting "+kindOf(obj)+" "+obj.GetName(), func(ctx context.Context) error {
		return client.IgnoreNotFound(w.Delete(ctx, obj, opts...))
	})
}

// falsy says which conditions of an object are not what they are when all is well.
func falsy(conditions []metav1.Condition, wanted ...string) string {
	var out []string
	for _, name := range wanted {
		c := meta.FindStatusCondition(conditions, name)
		if c == nil {
			out = append(out, name+" is not there")
		} else if c.Status != metav1.ConditionTrue {
			out = append(out, fmt.Sprintf("%s=%s %s: %s", name, c.Status, c.Reason, c.Message))
		}
	}
	return strings.Join(out, "; ")
}

// awaitAvailable waits until the Cluster is available.
func (w *world) awaitAvailable() *clusterv1.Cluster {
	w.t.Helper()
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: w.name}}
	awaitObject(w, cluster, "Available", func(c *clusterv1.Cluster) (bool, string) {
		now := falsy(c.Status.Conditions, clusterv1.AvailableCondition)
		if waiting := shared.cloud.Waiting(w.key()); len(waiting) > 0 {
			now += " | " + strings.Join(waiting, "; ")
		}
		return falsy(c.Status.Conditions, clusterv1.AvailableCondition) == "", now
	})
	return cluster
}

// jobWatch counts the Jobs of a namespace, also of those that are gone.
type jobWatch struct {
	mu   sync.Mutex
	seen map[string]map[infrav1.Operation]map[string]bool
}

// watchJobs counts Jobs until the test ends.
func (w *world) watchJobs() *jobWatch {
	w.t.Helper()
	events, err := w.Watch(w.t.Context(), &batchv1.JobList{}, client.InNamespace(w.ns))
	if err != nil {
		w.t.Fatal(err)
	}
	j := &jobWatch{seen: map[string]map[infrav1.Operation]map[string]bool{}}
	t := w.t
	go func() {
		defer events.Stop()
		for {
			e, open := <-events.ResultChan()
			if !open {
				if t.Context().Err() == nil {
					t.Error("the watch of the Jobs ended")
				}
				return
			}
			if job, ok := e.Object.(*batchv1.Job); ok {
				j.add(job)
			}
		}
	}()
	return j
}

func (j *jobWatch) add(job *batchv1.Job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	owner := job.Labels[infrav1.LabelOwnerKind] + "/" + job.Labels[infrav1.LabelOwnerName]
	op := infrav1.Operation(job.Labels[infrav1.LabelOperation])
	if j.seen[owner] == nil {
		j.seen[owner] = map[infrav1.Operation]map[string]bool{}
	}
	if j.seen[owner][op] == nil {
		j.seen[owner][op] = map[string]bool{}
	}
	j.seen[owner][op][job.Name] = true
}

// count returns how many Jobs of an operation an object had, ever.
func (j *jobWatch) count(kind, name string, op infrav1.Operation) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for owner, of := range j.seen {
		if strings.EqualFold(owner, kind+"/"+name) {
			n += len(of[op])
		}
	}
	return n
}

// total returns how many Jobs of an operation there were, ever.
func (j *jobWatch) total(op infrav1.Operation) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for _, of := range j.seen {
		n += len(of[op])
	}
	return n
}

// changes returns how many Jobs there were, ever, that change something: those that only look are made all the time.
func (j *jobWatch) changes() int {
	return j.total(infrav1.OperationApply) + j.total(infrav1.OperationDestroy)
}

// awaitIdle waits until no Job runs.
func (w *world) awaitIdle() {
	w.t.Helper()
	w.await("no Job runs", func(ctx context.Context) (bool, string, error) {
		jobs := &batchv1.JobList{}
		if err := w.List(ctx, jobs, inNamespace(w.ns)...); err != nil {
			return false, "", err
		}
		var running []string
		for i := range jobs.Items {
			ended := func(c batchv1.JobCondition) bool { // one that says that it will end comes before
				return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
			}
			if !slices.ContainsFunc(jobs.Items[i].Status.Conditions, ended) {
				running = append(running, jobs.Items[i].Name)
			}
		}
		return len(running) == 0, strings.Join(running, ", "), nil
	})
}

func inNamespace(ns string) []client.ListOption { return []client.ListOption{client.InNamespace(ns)} }

// deleteCluster deletes the Cluster and waits until it is gone and nothing is left: objects, what runs made, and what was in
// the cloud.
func (w *world) deleteCluster() {
	w.t.Helper()
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: w.name}}
	w.remove(cluster)
	w.say("the Cluster is deleted")
	w.await("the Cluster is gone", func(ctx context.Context) (bool, string, error) {
		err := w.Get(ctx, w.key(), cluster)
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		c := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.DeletingCondition)
		if c == nil {
			return false, "", err
		}
		return false, c.Message, err
	})
	w.empty()
}

// empty waits until nothing is left of a Cluster that is gone.
func (w *world) empty() {
	w.t.Helper()
	w.await("nothing is left", func(ctx context.Context) (bool, string, error) {
		left, err := w.left(ctx)
		return len(left) == 0, strings.Join(left, ", "), err
	})
	if shared.cloud.Cluster(w.key()) != nil || len(shared.cloud.Booted(w.key())) > 0 {
		w.await("the cloud is empty", func(context.Context) (bool, string, error) {
			return shared.cloud.Cluster(w.key()) == nil && len(shared.cloud.Booted(w.key())) == 0, "", nil
		})
	}
}

// kinds are those of which nothing may be left in a namespace when a Cluster is gone.
func (w *world) kinds(ctx context.Context) ([]schema.GroupVersionKind, error) {
	out := []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Secret"), corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
		batchv1.SchemeGroupVersion.WithKind("Job"), rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
		{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
	}
	lists, err := w.on.Env.Clients().Discovery().ServerPreferredNamespacedResources()
	if err != nil {
		return nil, err
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if strings.HasSuffix(gv.Group, "cluster.x-k8s.io") && !strings.Contains(r.Name, "/") {
				out = append(out, gv.WithKind(r.Kind))
			}
		}
	}
	return out, ctx.Err()
}

// left lists what is in the namespace besides what every namespace has, and what was made before the Cluster: templates of a
// class stay.
func (w *world) left(ctx context.Context) ([]string, error) {
	kinds, err := w.kinds(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := w.List(ctx, list, client.InNamespace(w.ns)); err != nil {
			return nil, fmt.Errorf("listing %s: %w", kind, err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			if kind.Kind == "ServiceAccount" && o.GetName() == "default" || o.GetLabels()[keep] != "" {
				continue
			}
			out = append(out, kind.Kind+" "+o.GetName())
		}
	}
	return out, nil
}

// keep is a label of what outlives the Cluster.
const keep = "e2e.captf.io/keep"

// tell logs what there is, after a failure.
func (w *world) tell() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	kinds, err := w.kinds(ctx)
	if err != nil {
		w.t.Log(err)
	}
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := w.List(ctx, list, client.InNamespace(w.ns)); err != nil {
			w.t.Log(err)
			continue
		}
		for i := range list.Items {
			o := &list.Items[i]
			line := kind.Kind + " " + o.GetName()
			if o.GetDeletionTimestamp() != nil {
				line += " is being deleted"
			}
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			for _, c := range conditions {
				raw, _ := json.Marshal(c)
				var condition metav1.Condition
				_ = json.Unmarshal(raw, &condition)
				line += fmt.Sprintf("\n    %s=%s %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message)
			}
			w.t.Log(line)
		}
	}
	w.t.Logf("the cloud has %v and waits: %v", shared.cloud.Booted(w.key()), shared.cloud.Waiting(w.key()))
	_ = w.on.Node.AllLogs(func(container string, text []byte) error {
		if strings.HasPrefix(container, w.ns+"/") && strings.Contains(string(text), "rror") {
			w.t.Logf("%s:\n%s", container, text[max(0, len(text)-4000):])
		}
		return nil
	})
	w.t.Logf("Cluster API's log:\n%s", capiLog.about(w.ns, 100))
	w.t.Logf("the manager's log:\n%s", w.on.ManagerLog(100))
}
