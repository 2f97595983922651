package credentials_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/credentials"
	"github.com/captf-toolkit/captf/provider/internal/names"
	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

// canary is the value of every credential of these tests. It must be in no condition, event or error.
const canary = "canary-3f9c1d"

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(tools.Main(m, testenv.Options{}))
}

var install struct {
	sync.Once
	err error
}

// world is what one test works with: a namespace, and Credentials with a cache and a clock of their own.
type world struct {
	t         *testing.T
	namespace string
	// api reads and writes past everything that is tested.
	api    client.Client
	client client.Client
	live   client.Reader
	clock  *clocktesting.FakeClock
	*credentials.Credentials
	requests *requests
}

// requests counts what reaches the API server but the watches and lists of informers.
type requests struct {
	mu   sync.Mutex
	seen []string
}

func (r *requests) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}

type counting struct {
	*requests
	base http.RoundTripper
}

func (c counting) RoundTrip(req *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.seen = append(c.seen, req.Method+" "+req.URL.Path)
	c.mu.Unlock()
	return c.base.RoundTrip(req)
}

func testScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}

func newWorld(t *testing.T) *world {
	t.Helper()
	env := tools.Environment(t)
	install.Do(func() {
		var out []byte
		if out, install.err = exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output(); install.err != nil {
			return
		}
		install.err = env.InstallCRDs(t.Context(), testenv.CRDs{Paths: []string{
			"../../config/crd/bases", filepath.Join(strings.TrimSpace(string(out)), "core/config/crd/bases"),
		}})
	})
	if install.err != nil {
		t.Fatal(install.err)
	}
	w := &world{t: t, namespace: tools.Namespace(t), clock: clocktesting.NewFakeClock(time.Now()), requests: &requests{}}
	w.api = must(client.New(env.Config(), client.Options{Scheme: testScheme()}))(t)

	informers := startCache(t, env)
	config := env.Config()
	config.Wrap(func(base http.RoundTripper) http.RoundTripper { return counting{w.requests, base} })
	w.client = must(client.New(config, client.Options{Scheme: testScheme(), Cache: &client.CacheOptions{Reader: informers}}))(t)
	w.live = must(client.New(config, client.Options{Scheme: testScheme()}))(t)
	w.reset()
	return w
}

// startCache starts a cache that is configured as the manager's. It ends before the API server does.
func startCache(t *testing.T, env *testenv.Environment) cache.Cache {
	t.Helper()
	by := map[client.Object]cache.ByObject{
		&corev1.Secret{}: {Label: labels.SelectorFromSet(labels.Set{infrav1.LabelManaged: "true"})},
	}
	maps.Copy(by, credentials.Cached())
	informers := must(cache.New(env.Config(), cache.Options{Scheme: testScheme(), ByObject: by}))(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- informers.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	if !informers.WaitForCacheSync(t.Context()) {
		t.Fatal("the cache did not start")
	}
	return informers
}

// reset makes Credentials that remember nothing, as after a restart of the manager.
func (w *world) reset() {
	w.Credentials = credentials.New(credentials.Options{Client: w.client, Live: w.live, Clock: w.clock, SyncPeriod: 10 * time.Minute})
}

func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// create makes an object, with the namespace of the test if it has none and needs one.
func create[T client.Object](w *world, object T) T {
	w.t.Helper()
	if err := w.api.Create(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
	if object.GetNamespace() == "" {
		w.t.Cleanup(func() { _ = w.api.Delete(context.Background(), object) })
	}
	w.settle()
	return object
}

// settle waits until the cache holds what the API server does.
func (w *world) settle() {
	w.t.Helper()
	secrets := func() client.ObjectList {
		l := &metav1.PartialObjectMetadataList{}
		l.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
		return l
	}
	kinds := map[string]struct {
		list    func() client.ObjectList
		managed bool
	}{
		"secrets":         {secrets, true},
		"serviceaccounts": {func() client.ObjectList { return &corev1.ServiceAccountList{} }, true},
		"rolebindings":    {func() client.ObjectList { return &rbacv1.RoleBindingList{} }, true},
		"jobs":            {func() client.ObjectList { return &batchv1.JobList{} }, false},
		"identities":      {func() client.ObjectList { return &infrav1.TerraformClusterIdentityList{} }, false},
		"clusters":        {func() client.ObjectList { return &infrav1.TerraformClusterList{} }, false},
		"machines":        {func() client.ObjectList { return &infrav1.TerraformMachineList{} }, false},
		"pools":           {func() client.ObjectList { return &infrav1.TerraformMachinePoolList{} }, false},
		"owners":          {func() client.ObjectList { return &clusterv1.ClusterList{} }, false},
	}
	for name, kind := range kinds {
		versions := func(reader client.Reader) map[string]string {
			list := kind.list()
			var options []client.ListOption
			if kind.managed {
				options = append(options, client.MatchingLabels{infrav1.LabelManaged: "true"})
			}
			if name != "identities" {
				options = append(options, client.InNamespace(w.namespace))
			}
			if err := reader.List(context.Background(), list, options...); err != nil {
				w.t.Fatal(err)
			}
			out := map[string]string{}
			_ = meta.EachListItem(list, func(o runtime.Object) error {
				m, _ := meta.Accessor(o)
				out[m.GetName()] = m.GetResourceVersion()
				return nil
			})
			return out
		}
		w.eventually(func() error {
			if is, should := versions(w.client), versions(w.api); !maps.Equal(is, should) {
				return fmt.Errorf("the cache has the %s %v, not %v", name, is, should)
			}
			return nil
		})
	}
	w.requests.take()
}

func (w *world) eventually(f func() error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			w.t.Fatalf("in vain: %v", err)
		case <-tick.C:
		}
	}
}

// update changes an object in the API server.
func update[T client.Object](w *world, object T, change func(T)) {
	w.t.Helper()
	if err := w.api.Get(w.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		w.t.Fatal(err)
	}
	change(object)
	if err := w.api.Update(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
	w.settle()
}

func (w *world) remove(object client.Object) {
	w.t.Helper()
	if err := w.api.Delete(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
	w.settle()
}

func (w *world) source(data map[string]string) *corev1.Secret {
	w.t.Helper()
	return create(w, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "source"}, StringData: data,
	})
}

// identity makes one whose Secret is source.
func (w *world) identity(allowed *infrav1.AllowedNamespaces, required ...string) *infrav1.TerraformClusterIdentity {
	w.t.Helper()
	return create(w, &infrav1.TerraformClusterIdentity{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-id"},
		Spec: infrav1.TerraformClusterIdentitySpec{
			SecretRef:    &infrav1.IdentitySecretReference{Namespace: w.namespace, Name: "source"},
			RequiredKeys: required, AllowedNamespaces: allowed,
		},
	})
}

func (w *world) here() *infrav1.AllowedNamespaces {
	return &infrav1.AllowedNamespaces{List: []string{w.namespace}}
}

// cluster makes a TerraformCluster and the Cluster that owns it.
func (w *world) cluster(name string, change func(*infrav1.TerraformClusterSpec)) *infrav1.TerraformCluster {
	w.t.Helper()
	c := &infrav1.TerraformCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: name}}}
	c.Spec.Source.Image = "registry.example/cluster:1"
	c.Spec.IdentityRef = &infrav1.IdentityReference{Name: w.namespace + "-id"}
	if change != nil {
		change(&c.Spec)
	}
	create(w, &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupVersion.Group, Kind: "TerraformCluster", Name: name,
		}},
	})
	return create(w, c)
}

func (w *world) machine(name, cluster string, change func(*infrav1.TerraformMachineSpec)) *infrav1.TerraformMachine {
	w.t.Helper()
	m := &infrav1.TerraformMachine{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}}}
	m.Spec.Source.Image = "registry.example/machine:1"
	if change != nil {
		change(&m.Spec)
	}
	return create(w, m)
}

// ensure runs a pass and checks what holds for every one.
func (w *world) ensure(req credentials.Request) credentials.Result {
	w.t.Helper()
	result, err := w.Ensure(w.t.Context(), req)
	if err != nil {
		w.t.Fatal(err)
	}
	if text := fmt.Sprint(result); strings.Contains(text, canary) {
		w.t.Errorf("a credential is in the result: %s", text)
	}
	conditions.SetAll(req.Object, result.Conditions, w.clock.Now())
	return result
}

// reasons are those of the three conditions, with their status's first letter.
func reasons(result credentials.Result) string {
	var out []string
	for _, c := range result.Conditions {
		out = append(out, string(c.Status)[:1]+"/"+c.Reason)
	}
	return strings.Join(out, " ")
}

func (w *world) want(got credentials.Result, want string) {
	w.t.Helper()
	if diff := cmp.Diff(want, reasons(got)); diff != "" {
		w.t.Errorf("conditions (-want +got):\n%s\n%+v", diff, got.Conditions)
	}
}

const ready = "T/IdentityAllowed T/Mirrored T/RBACReady"

func (w *world) mirror() *corev1.Secret {
	w.t.Helper()
	secret := &corev1.Secret{}
	err := w.api.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: names.Mirror(w.namespace + "-id")}, secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return secret
}

func owners(object client.Object) []string {
	var out []string
	for _, ref := range object.GetOwnerReferences() {
		out = append(out, ref.Kind+"/"+ref.Name)
	}
	slices.Sort(out)
	return out
}

func events(result credentials.Result) []string {
	var out []string
	for _, e := range result.Events {
		out = append(out, e.Type+" "+e.Reason)
	}
	return out
}
