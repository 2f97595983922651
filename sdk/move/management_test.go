package move_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
	"github.com/captf-toolkit/captf/sdk/move"
	"github.com/captf-toolkit/captf/sdk/move/live"
)

// management is a management cluster that clusterctl set up: its CRDs, labelled as clusterctl does, and its inventory. No
// controllers run.
type management struct {
	crclient.Client
	env *testenv.Environment
}

// providerOfGroup is the provider that a group's CRDs belong to.
var providerOfGroup = map[string]string{
	"cluster.x-k8s.io": "cluster-api", "addons.cluster.x-k8s.io": "cluster-api", "ipam.cluster.x-k8s.io": "cluster-api", "runtime.cluster.x-k8s.io": "cluster-api",
	"bootstrap.cluster.x-k8s.io": "bootstrap-kubeadm", "controlplane.cluster.x-k8s.io": "control-plane-kubeadm",
	"infrastructure.cluster.x-k8s.io": "infrastructure-terraform",
}

// setUp makes a control plane a management cluster.
func setUp(t *testing.T, env *testenv.Environment) *management {
	t.Helper()
	ctx := t.Context()
	capi, err := clusterAPI()
	if err != nil {
		t.Fatal(err)
	}
	crds := testenv.CRDs{
		Paths: []string{filepath.Join(capi, "cmd/clusterctl/config/crd/bases/clusterctl.cluster.x-k8s.io_providers.yaml")},
		Edit: func(d *apiextensionsv1.CustomResourceDefinition) {
			if provider := providerOfGroup[d.Spec.Group]; provider != "" {
				d.Labels = installed(d.Labels, provider)
			}
		},
	}
	for dir := range providersOf(t) {
		crds.Paths = append(crds.Paths, dir)
	}
	if err := env.InstallCRDs(ctx, crds); err != nil {
		t.Fatal(err)
	}
	m := &management{env: env}
	if m.Client, err = crclient.New(env.Config(), crclient.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, o := range read(t, "testdata/base.yaml") {
		if o.GetKind() == "Provider" {
			m.create(t, o)
		}
	}
	return m
}

// requests are those that a reader made.
type requests struct {
	mu  sync.Mutex
	all []*http.Request
}

func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(q *http.Request) (*http.Response, error) {
		r.mu.Lock()
		r.all = append(r.all, q)
		r.mu.Unlock()
		return next.RoundTrip(q)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

// check holds the requests to the promise that nothing is changed and no secret read.
func (r *requests) check(t *testing.T) {
	t.Helper()
	if len(r.all) == 0 {
		t.Error("nothing was asked")
	}
	for _, q := range r.all {
		path := strings.Split(q.URL.Path, "/")
		bare := strings.Contains(q.Header.Get("Accept"), "as=PartialObjectMetadata")
		if secret := slices.Contains(path, "secrets") || slices.Contains(path, "configmaps"); q.Method != http.MethodGet || secret && !bare {
			t.Errorf("%s %s, Accept: %s", q.Method, q.URL.Path, q.Header.Get("Accept"))
		}
	}
}

// create makes an object, with its namespace, owners and status.
func (m *management) create(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	ctx := t.Context()
	o = o.DeepCopy()
	if m.has(t, move.Object{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}) {
		return // another test made it: what is outside of the namespace
	}
	if o.GetNamespace() != "" {
		ns := &unstructured.Unstructured{}
		ns.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
		ns.SetName(o.GetNamespace())
		if err := m.Create(ctx, ns); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	refs := o.GetOwnerReferences()
	for i, ref := range refs {
		if ref.UID != "" {
			continue
		}
		owner := &unstructured.Unstructured{}
		owner.SetAPIVersion(ref.APIVersion)
		owner.SetKind(ref.Kind)
		key := crclient.ObjectKey{Namespace: o.GetNamespace(), Name: ref.Name}
		if strings.HasSuffix(ref.Kind, "Identity") {
			key.Namespace = ""
		}
		if err := m.Get(ctx, key, owner); err != nil {
			t.Fatal(err)
		}
		refs[i].UID = owner.GetUID()
	}
	if len(refs) > 0 {
		o.SetOwnerReferences(refs)
	}
	status, ok := o.Object["status"]
	if err := m.Create(ctx, o); err != nil {
		t.Fatal(err)
	}
	if ok {
		o.Object["status"] = status
		if err := m.Status().Update(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
}

// load makes the objects of a file, in another namespace if one is given.
func (m *management) load(t *testing.T, file, namespace string) {
	t.Helper()
	for _, o := range read(t, filepath.Join("testdata/real", file+".yaml")) {
		if namespace != "" && o.GetNamespace() == file {
			o.SetNamespace(namespace)
		}
		m.create(t, o)
		owner := o.GetAnnotations()["test/owned-by"]
		if owner == "" {
			continue
		}
		defer m.own(t, o, owner)
	}
}

// own adds an owner of the same kind to an object.
func (m *management) own(t *testing.T, o *unstructured.Unstructured, by string) {
	t.Helper()
	object, owner := o.DeepCopy(), o.DeepCopy()
	if err := m.Get(t.Context(), crclient.ObjectKeyFromObject(o), object); err != nil {
		t.Fatal(err)
	}
	if err := m.Get(t.Context(), crclient.ObjectKey{Namespace: o.GetNamespace(), Name: by}, owner); err != nil {
		t.Fatal(err)
	}
	object.SetOwnerReferences(append(object.GetOwnerReferences(), metav1.OwnerReference{
		APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(),
	}))
	if err := m.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// clusterctl is the library of clusterctl, with no configuration of this user's. There is one: a second one writes the settings
// of the process that the first one reads.
var clusterctl = sync.OnceValues(func() (client.Client, error) {
	dir, err := os.MkdirTemp("", "captf-clusterctl-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is read once
	config := filepath.Join(dir, "clusterctl.yaml")
	if err := os.WriteFile(config, []byte("{}\n"), 0o600); err != nil {
		return nil, err
	}
	return client.New(context.Background(), config)
})

// moveByClusterctl moves as clusterctl does.
func moveByClusterctl(t *testing.T, options client.MoveOptions) error {
	t.Helper()
	c, err := clusterctl()
	if err != nil {
		t.Fatal(err)
	}
	return c.Move(t.Context(), options)
}

func (m *management) kubeconfig() client.Kubeconfig {
	return client.Kubeconfig(cluster.Kubeconfig{Path: m.env.KubeconfigFile()})
}

// toDirectory lets clusterctl write what it would move, and returns it as the report has it.
func (m *management) toDirectory(t *testing.T, namespace string) (names []string, err error) {
	t.Helper()
	dir := t.TempDir()
	if err := moveByClusterctl(t, client.MoveOptions{FromKubeconfig: m.kubeconfig(), Namespace: namespace, ToDirectory: dir}); err != nil {
		return nil, err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names, nil
}

// moves are the objects of a report as clusterctl names its files.
func moves(r *move.Report) []string {
	names := []string{}
	for _, o := range r.Moves {
		names = append(names, o.Kind+"_"+o.Namespace+"_"+o.Name)
	}
	slices.Sort(names)
	return names
}

// access is what a check is given, and the requests that it makes.
func (m *management) access(t *testing.T) (move.Access, *requests) {
	t.Helper()
	kept, config := &requests{}, m.env.Config()
	config.Wrap(kept.wrap)
	r, err := live.New(config, "test")
	if err != nil {
		t.Fatal(err)
	}
	return move.Access{Reader: r, Kubeconfig: m.env.KubeconfigFile()}, kept
}

// check checks a namespace.
func (m *management) check(t *testing.T, namespace string, to *management) *move.Report {
	t.Helper()
	o := move.Options{Namespace: namespace}
	var kept *requests
	o.Source, kept = m.access(t)
	defer kept.check(t)
	if to != nil {
		access, kept := to.access(t)
		defer kept.check(t)
		o.Target = &access
	}
	r, err := move.Check(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		allowed(t, f)
	}
	return r
}

// found are the findings of a report, by rule and name.
func found(r *move.Report, severities ...move.Severity) []string {
	list := []string{}
	for _, f := range r.Findings {
		if slices.Contains(severities, f.Severity) {
			list = append(list, f.ID+" "+f.Object.String())
		}
	}
	return list
}

// source is the management cluster that all tests share.
func source(t *testing.T) *management {
	t.Helper()
	sharedSource.Do(func() { sharedManagement = setUp(t, tools.Environment(t)) })
	if sharedManagement == nil {
		t.Fatal("the management cluster was not set up")
	}
	return sharedManagement
}

var (
	sharedSource     sync.Once
	sharedManagement *management
	targetEnv        *testenv.Environment
)

func stopTarget() error {
	if targetEnv == nil {
		return nil
	}
	return targetEnv.Stop()
}

// target is a second management cluster.
func target(t *testing.T) *management {
	t.Helper()
	env, err := testenv.Start(context.WithoutCancel(t.Context()), testenv.Options{Binaries: tools.Find})
	if err != nil {
		t.Fatal(err)
	}
	targetEnv = env
	return setUp(t, env)
}
