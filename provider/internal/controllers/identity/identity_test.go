package identity_test

import (
	"context"
	"fmt"
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
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/controllers/controllerstest"
	"github.com/captf-toolkit/captf/provider/internal/controllers/identity"
	"github.com/captf-toolkit/captf/provider/internal/credentials"
	"github.com/captf-toolkit/captf/provider/internal/names"
	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(controllerstest.Produced(tools.Main(m, testenv.Options{})))
}

var install = sync.OnceValue(func() error {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	if err != nil {
		return fmt.Errorf("finding the CRDs of Cluster API: %w", err)
	}
	return env.InstallCRDs(context.Background(), testenv.CRDs{Paths: []string{
		"../../../config/crd/bases", filepath.Join(strings.TrimSpace(string(out)), "core/config/crd/bases"),
	}})
})

var env *testenv.Environment

// world is what one test works with. Its reconciler is called by the test, with a clock that the test moves.
type world struct {
	t        *testing.T
	api      client.Client
	clock    *clocktesting.FakeClock
	recorder *events.FakeRecorder
	creds    *credentials.Credentials
	identity.Reconciler

	mu   sync.Mutex
	read []string
	// wrote are the requests of the reconciler that change something.
	wrote []string
}

type counting struct {
	base http.RoundTripper
	seen func(*http.Request)
}

func (c counting) RoundTrip(req *http.Request) (*http.Response, error) {
	c.seen(req)
	return c.base.RoundTrip(req)
}

func scheme() *runtime.Scheme {
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
	env = tools.Environment(t)
	if err := install(); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Now()), recorder: events.NewFakeRecorder(100)}
	newClient := func(seen func(*http.Request)) client.Client {
		config := env.Config()
		config.Wrap(func(base http.RoundTripper) http.RoundTripper { return counting{base, seen} })
		c, err := client.New(config, client.Options{Scheme: scheme()})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	note := func(list *[]string, ok func(*http.Request) bool) func(*http.Request) {
		return func(r *http.Request) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if ok(r) {
				*list = append(*list, r.Method+" "+r.URL.Path)
			}
		}
	}
	w.api = newClient(func(*http.Request) {})
	writes := newClient(note(&w.wrote, func(r *http.Request) bool { return r.Method != http.MethodGet }))
	live := newClient(note(&w.read, func(*http.Request) bool { return true }))
	w.creds = credentials.New(credentials.Options{Client: writes, Live: live, Clock: w.clock})
	w.Reconciler = identity.Reconciler{Client: writes, Credentials: w.creds, Recorder: w.recorder, Clock: w.clock}
	return w
}

func (w *world) create(object client.Object) {
	w.t.Helper()
	if err := w.api.Create(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
	if object.GetNamespace() == "" {
		w.t.Cleanup(func() { _ = w.api.Delete(context.Background(), object) })
	}
}

func update[T client.Object](w *world, object T, change func(T)) {
	w.t.Helper()
	if err := w.api.Get(w.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		w.t.Fatal(err)
	}
	change(object)
	if err := w.api.Update(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

// pass reconciles once, and returns after how long it wants to again, and the events.
func (w *world) pass(name string) (time.Duration, []string) {
	w.t.Helper()
	w.mu.Lock()
	w.read, w.wrote = nil, nil
	w.mu.Unlock()
	result, err := w.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: name}})
	if err != nil {
		w.t.Fatal(err)
	}
	var told []string
	for {
		select {
		case e := <-w.recorder.Events:
			words := strings.Fields(e)
			told = append(told, strings.Join(words[:2], " "))
			controllerstest.Shown(w.t, words[1])
			continue
		default:
		}
		return result.RequeueAfter.Round(time.Second), told
	}
}

func (w *world) get(name string) *infrav1.TerraformClusterIdentity {
	w.t.Helper()
	i := &infrav1.TerraformClusterIdentity{}
	if err := w.api.Get(w.t.Context(), client.ObjectKey{Name: name}, i); err != nil {
		w.t.Fatal(err)
	}
	return i
}

func (w *world) newIdentity(namespace string, allowed *infrav1.AllowedNamespaces, required ...string) *infrav1.TerraformClusterIdentity {
	w.t.Helper()
	i := &infrav1.TerraformClusterIdentity{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-id"},
		Spec: infrav1.TerraformClusterIdentitySpec{
			SecretRef: &infrav1.IdentitySecretReference{Namespace: namespace, Name: "source"}, RequiredKeys: required, AllowedNamespaces: allowed,
		},
	}
	w.create(i)
	return i
}

func (w *world) source(namespace string, data map[string]string) *corev1.Secret {
	w.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "source"}, StringData: data}
	w.create(s)
	return s
}

// user makes a TerraformCluster that uses an identity, with its mirror.
func (w *world) user(namespace, identity string) *infrav1.TerraformCluster {
	w.t.Helper()
	c := &infrav1.TerraformCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "c"}}
	c.Spec.Source.Image, c.Spec.IdentityRef = "registry.example/cluster:1", &infrav1.IdentityReference{Name: identity}
	w.create(c)
	if got, err := w.creds.Ensure(w.t.Context(), credentials.Request{Object: c}); err != nil || !got.Ready() {
		w.t.Fatalf("%+v, %v", got, err)
	}
	return c
}

// mirrored returns what the mirror of an identity holds, nothing without one.
func (w *world) mirrored(namespace, identity string) string {
	w.t.Helper()
	s := &corev1.Secret{}
	err := w.api.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: names.Mirror(identity)}, s)
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	return string(s.Data["token"])
}

// An identity is Ready when its Secret is there and complete; the Secret is read every five minutes then, every 30 seconds
// before (B-504).
func TestReadiness(t *testing.T) {
	w := newWorld(t)
	namespace := tools.Namespace(t)
	controllerstest.Watch(t, env.Config(), namespace)
	i := w.newIdentity(namespace, nil, "token", "region")
	var source *corev1.Secret
	steps := []struct {
		name   string
		change func()
		after  time.Duration
		reason string
		events []string
		again  time.Duration
	}{
		{"no Secret", func() {}, 0, "SecretNotFound", []string{"Warning IdentitySecretNotFound"}, 30 * time.Second},
		{"a key is missing", func() { source = w.source(namespace, map[string]string{"token": "x"}) }, 30 * time.Second, "CredentialsIncomplete", []string{"Warning IdentitySecretNotFound"}, 30 * time.Second},
		{"complete", func() { update(w, source, func(s *corev1.Secret) { s.Data["region"] = nil }) }, 30 * time.Second, "SecretFound", []string{"Normal IdentitySecretFound"}, 5 * time.Minute},
		{"not needed any more", func() { update(w, source, func(s *corev1.Secret) { delete(s.Data, "region") }) }, time.Minute, "SecretFound", nil, 4 * time.Minute},
		{"seen after five minutes", func() {}, 4 * time.Minute, "CredentialsIncomplete", []string{"Warning IdentitySecretNotFound"}, 30 * time.Second},
		{"required no more", func() {
			update(w, i, func(i *infrav1.TerraformClusterIdentity) { i.Spec.RequiredKeys = []string{"token"} })
		}, time.Second, "SecretFound", []string{"Normal IdentitySecretFound"}, 5*time.Minute - time.Second},
	}
	for _, s := range steps {
		s.change()
		w.clock.Step(s.after)
		again, told := w.pass(i.Name)
		now := w.get(i.Name)
		ready := conditions.Get(now, infrav1.ReadyCondition)
		if ready == nil || ready.Reason != s.reason || ready.ObservedGeneration != now.Generation || (ready.Status == metav1.ConditionTrue) != (s.reason == "SecretFound") {
			t.Errorf("%s: Ready is %+v", s.name, ready)
		}
		if diff := cmp.Diff(s.events, told); diff != "" {
			t.Errorf("%s: events %s", s.name, diff)
		}
		if again != s.again {
			t.Errorf("%s: again after %s, not %s", s.name, again, s.again)
		}
		if again, told := w.pass(i.Name); again != s.again || len(told) > 0 || len(w.wrote) > 0 {
			t.Errorf("%s, once more: %s, %s, %s", s.name, again, told, w.wrote)
		}
	}
	if len(w.read) > 0 {
		t.Errorf("a pass with nothing to do reads %s", w.read)
	}
}

func TestMirrorsFollowTheIdentity(t *testing.T) {
	w := newWorld(t)
	a, b := tools.Namespace(t), tools.Namespace(t)
	source := w.source(a, map[string]string{"token": "old"})
	i := w.newIdentity(a, &infrav1.AllowedNamespaces{List: []string{a, b}})
	want := func(what string, namespaces []string, values ...string) {
		t.Helper()
		slices.Sort(namespaces)
		if diff := cmp.Diff(namespaces, w.get(i.Name).Status.Namespaces); diff != "" {
			t.Errorf("%s: the namespaces are %s", what, diff)
		}
		for n, namespace := range []string{a, b} {
			if got := w.mirrored(namespace, i.Name); got != values[n] {
				t.Errorf("%s: mirror %d has %q, not %q", what, n, got, values[n])
			}
		}
	}
	w.pass(i.Name)
	want("without users", nil, "", "")
	first, second := w.user(a, i.Name), w.user(b, i.Name)
	w.pass(i.Name)
	want("with users", []string{a, b}, "old", "old")

	update(w, source, func(s *corev1.Secret) { s.Data["token"] = []byte("new") })
	w.pass(i.Name)
	want("before it is read again", []string{a, b}, "old", "old")
	w.clock.Step(5 * time.Minute)
	w.pass(i.Name)
	want("rotated", []string{a, b}, "new", "new")

	update(w, i, func(i *infrav1.TerraformClusterIdentity) { i.Spec.AllowedNamespaces.List = []string{a} })
	_, told := w.pass(i.Name)
	want("revoked", []string{a}, "new", "")
	if diff := cmp.Diff([]string{"Normal MirrorRemoved"}, told); diff != "" {
		t.Error(diff)
	}
	// A mirror whose users are gone counts no more.
	if err := w.api.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	w.pass(i.Name)
	want("without its user", nil, "new", "")

	if err := w.api.Delete(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	_, told = w.pass(i.Name)
	if w.mirrored(a, i.Name) != "" || len(told) != 1 {
		t.Errorf("the mirror outlives the identity; events %v", told)
	}
	if _, told = w.pass(i.Name); len(told) > 0 || len(w.wrote) > 0 {
		t.Errorf("a second pass without identity: %v, %v", told, w.wrote)
	}
	_ = second
}

// An owner that an early version put on the operator's Secret is taken off, or it would go with the identity.
func TestLegacyOwner(t *testing.T) {
	w := newWorld(t)
	namespace := tools.Namespace(t)
	source := w.source(namespace, map[string]string{"token": "x"})
	i := w.newIdentity(namespace, nil)
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "mine", UID: "kept"}
	update(w, source, func(s *corev1.Secret) {
		s.OwnerReferences = []metav1.OwnerReference{other, {APIVersion: infrav1.GroupVersion.String(), Kind: "TerraformClusterIdentity", Name: i.Name, UID: i.UID}}
	})
	w.pass(i.Name)
	if err := w.api.Get(t.Context(), client.ObjectKeyFromObject(source), source); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]metav1.OwnerReference{other}, source.OwnerReferences); diff != "" {
		t.Error(diff)
	}
	if string(source.Data["token"]) != "x" {
		t.Error("the Secret lost its data")
	}
	if w.pass(i.Name); len(w.wrote) > 0 {
		t.Errorf("again: %s", w.wrote)
	}
}

// Under a manager, mirrors and the end of an identity wake the controller.
func TestWithManager(t *testing.T) {
	w := newWorld(t)
	namespace := tools.Namespace(t)
	controllerstest.Watch(t, env.Config(), namespace)
	w.source(namespace, map[string]string{"token": "x"})
	mgr, err := ctrl.NewManager(env.Config(), ctrl.Options{
		Scheme: scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.Discard(),
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.Secret{}: {Label: labels.SelectorFromSet(labels.Set{infrav1.LabelManaged: "true"})}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	creds := credentials.New(credentials.Options{Client: mgr.GetClient(), Live: mgr.GetAPIReader()})
	r := &identity.Reconciler{Client: mgr.GetClient(), Credentials: creds, Recorder: mgr.GetEventRecorder("captf-manager")}
	if err := r.SetupWithManager(mgr, controller.Options{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	i := w.newIdentity(namespace, &infrav1.AllowedNamespaces{List: []string{namespace}})
	w.eventually("Ready", func() bool { return meta.IsStatusConditionTrue(w.get(i.Name).GetConditions(), infrav1.ReadyCondition) })
	user := w.user(namespace, i.Name)
	w.eventually("in the status", func() bool { return slices.Equal(w.get(i.Name).Status.Namespaces, []string{namespace}) })
	if _, err := w.creds.Release(t.Context(), user); err != nil {
		t.Fatal(err)
	}
	w.eventually("out of the status", func() bool { return len(w.get(i.Name).Status.Namespaces) == 0 })
	if _, err := w.creds.Ensure(t.Context(), credentials.Request{Object: user}); err != nil {
		t.Fatal(err)
	}
	w.eventually("in the status again", func() bool { return slices.Equal(w.get(i.Name).Status.Namespaces, []string{namespace}) })
	if err := w.api.Delete(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	w.eventually("without mirror", func() bool {
		err := w.api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: names.Mirror(i.Name)}, &corev1.Secret{})
		return apierrors.IsNotFound(err)
	})
}

func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			w.t.Fatalf("the identity is not %s", what)
		case <-tick.C:
		}
	}
}
