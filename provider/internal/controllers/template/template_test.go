package template_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	stdlog "log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/captf-toolkit/captf/contract/versions"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/controllers/controllerstest"
	"github.com/captf-toolkit/captf/provider/internal/controllers/template"
	"github.com/captf-toolkit/captf/provider/internal/inspect"
	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

const (
	schema   = `{"type":"object","properties":{"size":{"type":"string"},"count_of":{"type":"number"}},"required":["size"],"additionalProperties":false}`
	capacity = `{"cpu":"4","memory":"16Gi"}`
	node     = `{"architecture":"arm64","operatingSystem":"linux"}`
	// canary is the value of each variable from a Secret. It must be in no condition and no event.
	canary = "canary-5b1e44"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(controllerstest.Produced(tools.Main(m, testenv.Options{CRDs: []string{"../../../config/crd/bases"}})))
}

// world is what one test works with: a namespace, a registry, and reconcilers that the test calls, with a clock that it moves.
type world struct {
	t         *testing.T
	namespace string
	api       client.Client
	clock     *clocktesting.FakeClock
	recorder  *events.FakeRecorder
	host      string
	machines  template.MachineReconciler
	clusters  template.ClusterReconciler

	mu sync.Mutex
	// live and wrote are requests of the reconcilers, asked those to the registry. The metadata of sources of variables is
	// read by another client, as a manager reads it from a cache.
	live, wrote, asked []string
	down               bool
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
	env := tools.Environment(t)
	w := &world{t: t, namespace: tools.Namespace(t), clock: clocktesting.NewFakeClock(time.Now()), recorder: events.NewFakeRecorder(100)}
	controllerstest.Watch(t, env.Config(), w.namespace)
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
	every := func(*http.Request) bool { return true }
	inside := registry.New(registry.Logger(stdlog.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		note(&w.asked, every)(r)
		w.mu.Lock()
		down := w.down
		w.mu.Unlock()
		if down {
			http.Error(rw, canary, http.StatusNotFound)
			return
		}
		inside.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	w.host = strings.TrimPrefix(server.URL, "http://")
	w.api = newClient(func(*http.Request) {})
	live := newClient(note(&w.live, every))
	for _, r := range []*template.Reconciler{&w.machines.Reconciler, &w.clusters.Reconciler} {
		r.Client = newClient(note(&w.wrote, func(r *http.Request) bool { return r.Method != http.MethodGet }))
		r.Live, r.Sources, r.Inspector = live, w.api, inspector(live, w.clock)
		r.Contract, r.Recorder, r.Clock = versions.Default(), w.recorder, w.clock
	}
	return w
}

func inspector(live client.Reader, clock *clocktesting.FakeClock) *inspect.Inspector {
	return inspect.New(inspect.Options{Live: live, Clock: clock, Egress: inspect.Egress{
		Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Proxy:    func(*http.Request) (*url.URL, error) { return nil, nil },
	}})
}

// close lets the registry answer nothing, or answer again.
func (w *world) close(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
}

// image pushes an image with labels and returns its reference.
func (w *world) image(tag string, labels map[string]string) string {
	w.t.Helper()
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: "amd64", Config: v1.Config{Labels: labels}})
	if err != nil {
		w.t.Fatal(err)
	}
	ref, err := name.ParseReference(w.host + "/set/machine:" + tag)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		w.t.Fatal(err)
	}
	return ref.String()
}

func (w *world) create(object client.Object) {
	w.t.Helper()
	if err := w.api.Create(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
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

func (w *world) machine(name, image string, change func(*infrav1.TerraformMachineTemplate)) *infrav1.TerraformMachineTemplate {
	w.t.Helper()
	m := &infrav1.TerraformMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	m.Spec.Template.Spec.Source.Image = image
	if change != nil {
		change(m)
	}
	w.create(m)
	return m
}

// pass reconciles a template once and returns when it wants to again, and the events. The template is read again.
func (w *world) pass(r reconcile.Reconciler, object client.Object) (time.Duration, []string) {
	w.t.Helper()
	w.mu.Lock()
	w.live, w.wrote, w.asked = nil, nil, nil
	w.mu.Unlock()
	result, err := r.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)})
	if err != nil {
		w.t.Fatal(err)
	}
	var told []string
	for done := false; !done; {
		select {
		case e := <-w.recorder.Events:
			words := strings.Fields(e)
			told = append(told, strings.Join(words[:2], " "))
			controllerstest.Shown(w.t, words[1])
			if strings.Contains(e, canary) {
				w.t.Errorf("an event says a secret: %s", e)
			}
		default:
			done = true
		}
	}
	if err := w.api.Get(w.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		w.t.Fatal(err)
	}
	if text, err := json.Marshal(object); err != nil || strings.Contains(string(text), canary) {
		w.t.Errorf("the template says a secret: %s, %v", text, err)
	}
	return result.RequeueAfter, told
}

// quiet checks that a pass with nothing to do asks and writes nothing.
func (w *world) quiet(what string, r reconcile.Reconciler, object client.Object) {
	w.t.Helper()
	_, told := w.pass(r, object)
	if len(w.live)+len(w.wrote)+len(w.asked)+len(told) > 0 {
		w.t.Errorf("%s, once more: reads %s, writes %s, asks %s, tells %s", what, w.live, w.wrote, w.asked, told)
	}
}

func reason(object interface{ GetConditions() []metav1.Condition }, kind string) string {
	for _, c := range object.GetConditions() {
		if c.Type == kind {
			return string(c.Status)[:1] + "/" + c.Reason
		}
	}
	return "none"
}

func TestCapacity(t *testing.T) {
	w := newWorld(t)
	given := corev1.ResourceList{"cpu": resource.MustParse("8")}
	cases := []struct {
		name   string
		labels map[string]string
		given  corev1.ResourceList
		want   string // Condition, capacity, nodeInfo, source.
		events string
	}{
		{"both labels", map[string]string{"io.captf.capacity": capacity, "io.captf.node-info": node}, nil, "T/CapacityResolved cpu=4,memory=16Gi arm64/linux Image", "Normal CapacityResolved"},
		{"no labels", nil, nil, "T/CapacityNotDeclared - - Image", ""},
		{"node only", map[string]string{"io.captf.node-info": node}, nil, "T/CapacityResolved - arm64/linux Image", "Normal CapacityResolved"},
		{"capacity invalid", map[string]string{"io.captf.capacity": `{"cpu":4}`, "io.captf.node-info": node}, nil, "F/CapacityLabelInvalid - arm64/linux Image", "Warning ConditionChanged,Normal CapacityResolved"},
		{"node invalid", map[string]string{"io.captf.capacity": capacity, "io.captf.node-info": "{}"}, nil, "F/CapacityLabelInvalid cpu=4,memory=16Gi - Image", "Warning ConditionChanged,Normal CapacityResolved"},
		{"spec replaces the label", map[string]string{"io.captf.capacity": capacity, "io.captf.node-info": node}, given, "T/CapacityResolved cpu=8 arm64/linux Spec", "Normal CapacityResolved"},
		{"spec replaces an invalid label", map[string]string{"io.captf.capacity": "?"}, given, "T/CapacityResolved cpu=8 - Spec", "Normal CapacityResolved"},
	}
	for n, c := range cases {
		m := w.machine(fmt.Sprintf("t%d", n), w.image(fmt.Sprintf("t%d", n), c.labels), func(m *infrav1.TerraformMachineTemplate) { m.Spec.Capacity = c.given })
		_, told := w.pass(&w.machines, m)
		if got := describe(m); got != c.want || strings.Join(told, ",") != c.events {
			t.Errorf("%s: %s and %s, not %s and %s", c.name, got, told, c.want, c.events)
		}
		if m.Status.CapacitySource.Image != m.Spec.Template.Spec.Source.Image || m.Status.ObservedGeneration != m.Generation {
			t.Errorf("%s: the status is %+v", c.name, m.Status)
		}
		w.clock.Step(24 * time.Hour)
		w.quiet(c.name, &w.machines, m)
	}

	// What is given can be changed and taken away; the image is read for its label only then.
	m := w.machine("changed", w.image("changed", map[string]string{"io.captf.capacity": capacity}), nil)
	w.pass(&w.machines, m)
	update(w, m, func(m *infrav1.TerraformMachineTemplate) { m.Spec.Capacity = given })
	w.pass(&w.machines, m)
	if got := describe(m); got != "T/CapacityResolved cpu=8 - Spec" {
		t.Errorf("given later: %s", got)
	}
	w.quiet("given later", &w.machines, m)
	update(w, m, func(m *infrav1.TerraformMachineTemplate) { m.Spec.Capacity = nil })
	w.pass(&w.machines, m)
	if got := describe(m); got != "T/CapacityResolved cpu=4,memory=16Gi - Image" {
		t.Errorf("taken away: %s", got)
	}
}

func describe(m *infrav1.TerraformMachineTemplate) string {
	capacity, node, from := []string{}, "-", "-"
	for _, name := range []corev1.ResourceName{"cpu", "memory"} {
		if q, ok := m.Status.Capacity[name]; ok {
			capacity = append(capacity, string(name)+"="+q.String())
		}
	}
	if len(capacity) == 0 {
		capacity = []string{"-"}
	}
	if m.Status.NodeInfo != nil {
		node = m.Status.NodeInfo.Architecture + "/" + m.Status.NodeInfo.OperatingSystem
	}
	if m.Status.CapacitySource != nil {
		from = string(m.Status.CapacitySource.Source)
	}
	return strings.Join([]string{reason(m, infrav1.CapacityResolvedCondition), strings.Join(capacity, ","), node, from}, " ")
}

// An image that cannot be read is tried again after 30 seconds, then twice as long each time, up to ten minutes; the event
// comes once (B-916).
func TestUnreadableImage(t *testing.T) {
	w := newWorld(t)
	ref := w.host + "/set/machine:late"
	given := w.machine("given", ref, func(m *infrav1.TerraformMachineTemplate) {
		m.Spec.Capacity = corev1.ResourceList{"cpu": resource.MustParse("8")}
	})
	plain := w.machine("plain", ref, nil)
	w.close(true)
	for n, seconds := range []int{30, 60, 120, 240, 480, 600, 600} {
		want := time.Duration(seconds) * time.Second
		for m, state := range map[*infrav1.TerraformMachineTemplate]string{
			plain: "F/ImageInspectFailed - - -", given: "T/CapacityResolved cpu=8 - Spec",
		} {
			again, told := w.pass(&w.machines, m)
			if got := describe(m); again != want || got != state || reason(m, infrav1.VariablesValidCondition) != "U/VariablesSchemaUnavailable" {
				t.Errorf("%s, try %d: %s again after %s, %s", m.Name, n, got, again, reason(m, infrav1.VariablesValidCondition))
			}
			if events := strings.Join(told, ","); strings.Contains(events, "ImageInspectFailed") != (n == 0) {
				t.Errorf("%s, try %d: events %s", m.Name, n, events)
			}
			// Being woken earlier changes nothing.
			w.clock.Step(time.Second)
			if again, _ := w.pass(&w.machines, m); again != want-time.Second || len(w.asked) > 0 {
				t.Errorf("%s, woken after try %d: again after %s, asks %s", m.Name, n, again, w.asked)
			}
			w.clock.Step(-time.Second)
		}
		w.clock.Step(want)
	}
	w.close(false)
	w.image("late", map[string]string{"io.captf.capacity": capacity, "io.captf.node-info": node})
	for m, state := range map[*infrav1.TerraformMachineTemplate]string{
		plain: "T/CapacityResolved cpu=4,memory=16Gi arm64/linux Image", given: "T/CapacityResolved cpu=8 arm64/linux Spec",
	} {
		again, _ := w.pass(&w.machines, m)
		if got := describe(m); got != state || again != 0 || reason(m, infrav1.VariablesValidCondition) != "T/VariablesSchemaNotDeclared" {
			t.Errorf("once it is there %s is %s, again after %s", m.Name, got, again)
		}
		w.quiet("once it is there", &w.machines, m)
	}
}

func TestVariables(t *testing.T) {
	w := newWorld(t)
	with := w.image("schema", map[string]string{"io.captf.variables-schema": schema})
	without := w.image("none", nil)
	invalid := w.image("invalid", map[string]string{"io.captf.variables-schema": `[]`})
	labelled := map[string]string{infrav1.LabelVariables: "true"}
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "size", Labels: labelled}, StringData: map[string]string{"size": canary}})
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "wrong", Labels: labelled}, StringData: map[string]string{"size": "x", "count_of": canary}})
	w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "reserved", Labels: labelled}, Data: map[string]string{"captf_x": "x"}})
	w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "unlabelled"}, Data: map[string]string{"size": "x"}})
	secret := func(name string) infrav1.VariablesSource {
		return infrav1.VariablesSource{SecretRef: &infrav1.VariablesSourceReference{Name: name}}
	}
	configMap := func(name string) infrav1.VariablesSource {
		return infrav1.VariablesSource{ConfigMapRef: &infrav1.VariablesSourceReference{Name: name}}
	}
	optional := configMap("missing")
	optional.Optional = new(true)
	cases := []struct {
		name   string
		image  string
		inline map[string]string
		from   []infrav1.VariablesSource
		want   string
		says   string
		again  time.Duration
	}{
		{"fit", with, map[string]string{"size": `"small"`}, nil, "T/VariablesValid", "", 0},
		{"from a Secret", with, nil, []infrav1.VariablesSource{secret("size"), optional}, "T/VariablesValid", "", 0},
		{"unknown", with, map[string]string{"size": `"small"`, "sise": `1`}, nil, "F/VariablesRejected", "sise", 0},
		{"required", with, nil, nil, "F/VariablesRejected", "size", 0},
		{"wrong type", with, map[string]string{"size": `"small"`, "count_of": `"many"`}, nil, "F/VariablesRejected", "count_of", 0},
		{"wrong type from a Secret", with, nil, []infrav1.VariablesSource{secret("wrong")}, "F/VariablesRejected", "count_of", 0},
		{"reserved key in a source", without, nil, []infrav1.VariablesSource{configMap("reserved")}, "F/VariablesRejected", "captf_x", 0},
		{"no schema", without, map[string]string{"anything": `[1]`}, nil, "T/VariablesSchemaNotDeclared", "", 0},
		{"missing source", with, map[string]string{"size": `"small"`}, []infrav1.VariablesSource{secret("missing")}, "U/VariablesSourcePending", "missing", 30 * time.Second},
		{"unlabelled source", with, map[string]string{"size": `"small"`}, []infrav1.VariablesSource{configMap("unlabelled")}, "U/VariablesSourcePending", "unlabelled", 30 * time.Second},
		{"invalid schema", invalid, nil, nil, "U/VariablesSchemaUnavailable", "label", 0},
	}
	for n, c := range cases {
		spec := infrav1.WorkspaceSpec{Source: infrav1.ModuleSource{Image: c.image}, VariablesFrom: c.from}
		for name, value := range c.inline {
			if spec.Variables == nil {
				spec.Variables = map[string]apiextensionsv1.JSON{}
			}
			spec.Variables[name] = apiextensionsv1.JSON{Raw: []byte(value)}
		}
		meta := metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("t%d", n)}
		m, k := &infrav1.TerraformMachineTemplate{ObjectMeta: meta}, &infrav1.TerraformClusterTemplate{ObjectMeta: meta}
		m.Spec.Template.Spec.WorkspaceSpec, k.Spec.Template.Spec.WorkspaceSpec = spec, spec
		w.create(m)
		w.create(k)
		for _, kind := range []struct {
			r      reconcile.Reconciler
			object interface {
				client.Object
				GetConditions() []metav1.Condition
			}
		}{{&w.machines, m}, {&w.clusters, k}} {
			again, told := w.pass(kind.r, kind.object)
			if got := reason(kind.object, infrav1.VariablesValidCondition); got != c.want || again != c.again {
				t.Errorf("%s: %T has %s, again after %s; not %s, after %s; %s", c.name, kind.object, got, again, c.want, c.again, told)
				continue
			}
			for _, condition := range kind.object.GetConditions() {
				if condition.Type == infrav1.VariablesValidCondition && !strings.Contains(condition.Message, c.says) {
					t.Errorf("%s: the message is %s", c.name, condition.Message)
				}
			}
			if c.want[0] != 'U' {
				w.quiet(c.name, kind.r, kind.object)
			}
		}
	}
}

// A source that changes is read again, though the template did not change.
func TestChangedSource(t *testing.T) {
	w := newWorld(t)
	source := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "variables"}, Data: map[string]string{"size": "x"}}
	w.create(source)
	m := w.machine("m", w.image("schema", map[string]string{"io.captf.variables-schema": schema}), func(m *infrav1.TerraformMachineTemplate) {
		m.Spec.Template.Spec.VariablesFrom = []infrav1.VariablesSource{{ConfigMapRef: &infrav1.VariablesSourceReference{Name: "variables"}}}
	})
	steps := []struct {
		change func(*corev1.ConfigMap)
		want   string
	}{
		{func(*corev1.ConfigMap) {}, "U/VariablesSourcePending"},
		{func(c *corev1.ConfigMap) { c.Labels = map[string]string{infrav1.LabelVariables: "true"} }, "T/VariablesValid"},
		{func(c *corev1.ConfigMap) { c.Data["sise"] = "x" }, "F/VariablesRejected"},
		{func(c *corev1.ConfigMap) { delete(c.Data, "sise") }, "T/VariablesValid"},
	}
	for _, s := range steps {
		update(w, source, s.change)
		w.pass(&w.machines, m)
		if got := reason(m, infrav1.VariablesValidCondition); got != s.want {
			t.Errorf("%s, not %s", got, s.want)
		}
	}
}

func TestPullSecretOfTheTemplate(t *testing.T) {
	w := newWorld(t)
	inside := registry.New(registry.Logger(stdlog.New(io.Discard, "", 0)))
	locked := false
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); locked && password != canary {
			rw.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		inside.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	w.host = strings.TrimPrefix(server.URL, "http://")
	ref := w.image("private", map[string]string{"io.captf.capacity": capacity})
	locked = true
	w.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "pull"}, Type: corev1.SecretTypeDockerConfigJson,
		StringData: map[string]string{corev1.DockerConfigJsonKey: `{"auths":{"` + w.host + `":{"username":"robot","password":"` + canary + `"}}}`},
	})
	m := w.machine("with", ref, func(m *infrav1.TerraformMachineTemplate) {
		m.Spec.Template.Spec.Jobs = &infrav1.JobPolicy{ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}}}
	})
	w.pass(&w.machines, m)
	if got := reason(m, infrav1.CapacityResolvedCondition); got != "T/CapacityResolved" {
		t.Errorf("with the pull secret: %s", got)
	}
	m = w.machine("without", ref, nil)
	w.pass(&w.machines, m)
	if got := reason(m, infrav1.CapacityResolvedCondition); got != "F/ImageInspectFailed" {
		t.Errorf("without it: %s", got)
	}
}

// Under a manager, a template is looked at when it appears and when a source of its variables does.
func TestWithManager(t *testing.T) {
	w := newWorld(t)
	env := tools.Environment(t)
	mgr, err := ctrl.NewManager(env.Config(), ctrl.Options{Scheme: scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	sources, err := cache.New(env.Config(), cache.Options{
		Scheme: scheme(), DefaultLabelSelector: labels.SelectorFromSet(labels.Set{infrav1.LabelVariables: "true"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := mgr.Add(sources); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*template.Reconciler{&w.machines.Reconciler, &w.clusters.Reconciler} {
		r.Client, r.Live, r.Sources, r.Recorder, r.Clock = mgr.GetClient(), mgr.GetAPIReader(), sources, mgr.GetEventRecorder("captf-manager"), nil
	}
	setup := template.Setup{Sources: sources, WatchFilter: "mine"}
	if err := w.machines.SetupWithManager(mgr, setup); err != nil {
		t.Fatal(err)
	}
	if err := w.clusters.SetupWithManager(mgr, setup); err != nil {
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
	ref := w.image("schema", map[string]string{"io.captf.variables-schema": schema})
	from := []infrav1.VariablesSource{{SecretRef: &infrav1.VariablesSourceReference{Name: "late"}}}
	mine := map[string]string{clusterv1.WatchLabel: "mine"}
	others := w.machine("others", ref, func(m *infrav1.TerraformMachineTemplate) { m.Spec.Template.Spec.VariablesFrom = from })
	m := w.machine("m", ref, func(m *infrav1.TerraformMachineTemplate) { m.Labels, m.Spec.Template.Spec.VariablesFrom = mine, from })
	k := &infrav1.TerraformClusterTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "k", Labels: mine}}
	k.Spec.Template.Spec.Source.Image, k.Spec.Template.Spec.VariablesFrom = ref, from
	w.create(k)
	objects := []interface {
		conditions.Object
		client.Object
	}{m, k}
	await := func(want string) {
		t.Helper()
		deadline := time.After(30 * time.Second)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for _, object := range objects {
			for {
				if err := w.api.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
					t.Fatal(err)
				}
				if reason(object, infrav1.VariablesValidCondition) == want {
					break
				}
				select {
				case <-deadline:
					t.Fatalf("%s does not become %s: %v", object.GetName(), want, object.GetConditions())
				case <-tick.C:
				}
			}
		}
	}
	await("U/VariablesSourcePending")
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "late", Labels: map[string]string{infrav1.LabelVariables: "true"}}, StringData: map[string]string{"size": canary}})
	await("T/VariablesValid")
	if err := w.api.Get(t.Context(), client.ObjectKeyFromObject(others), others); err != nil || len(others.Status.Conditions) > 0 {
		t.Errorf("a template without the filter's label has %v, %v", others.Status.Conditions, err)
	}
}
