package move_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/captf-toolkit/captf/sdk/move"
)

// Annotations by which a case says something of the management cluster rather than of an object.
const (
	// absent takes an object away that every case starts with.
	absent = "test/absent"
	// unreadable lets nobody list or get objects like the one that carries it.
	unreadable = "test/unreadable"
)

// memory is a management cluster of a few files.
type memory struct {
	t       testing.TB
	objects []*unstructured.Unstructured
	// denied are the kinds that may not be read.
	denied denied
}

func (m *memory) List(_ context.Context, q move.Query, each func(*unstructured.Unstructured) error) error {
	if err := m.allowed(q); err != nil {
		return err
	}
	for _, o := range m.objects {
		if !serves(q, o) || q.Namespace != "" && o.GetNamespace() != q.Namespace {
			continue
		}
		if err := each(view(q, o)); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) Get(_ context.Context, q move.Query, name string) (*unstructured.Unstructured, error) {
	if err := m.allowed(q); err != nil {
		return nil, err
	}
	for _, o := range m.objects {
		if serves(q, o) && o.GetNamespace() == q.Namespace && o.GetName() == name {
			return view(q, o), nil
		}
	}
	return nil, nil
}

// allowed refuses what the cluster refuses, and holds the check to its promise about Secrets.
func (m *memory) allowed(q move.Query) error {
	m.t.Helper()
	if kind := q.Resource.Kind; (kind == "Secret" || kind == "ConfigMap") && !q.Metadata {
		m.t.Errorf("the content of %ss of namespace %q is read", kind, q.Namespace)
	}
	if m.denied[schema.GroupKind{Group: q.Resource.Group, Kind: q.Resource.Kind}] {
		return apierrors.NewForbidden(q.Resource.GVR().GroupResource(), "", errors.New("the case says so"))
	}
	return nil
}

func serves(q move.Query, o *unstructured.Unstructured) bool {
	gk := o.GroupVersionKind().GroupKind()
	return gk.Group == q.Resource.Group && gk.Kind == q.Resource.Kind
}

func view(q move.Query, o *unstructured.Unstructured) *unstructured.Unstructured {
	o = o.DeepCopy()
	if q.Metadata {
		for field := range o.Object {
			if field != "metadata" {
				delete(o.Object, field)
			}
		}
	}
	return o
}

// load adds the objects of files; one of the same kind and name is merged.
func (m *memory) load(objects ...*unstructured.Unstructured) {
	m.t.Helper()
	for _, o := range objects {
		if _, ok := o.GetAnnotations()[unreadable]; ok {
			m.denied[o.GroupVersionKind().GroupKind()] = true
			continue
		}
		i := -1
		for j, p := range m.objects {
			if p.GroupVersionKind().GroupKind() == o.GroupVersionKind().GroupKind() && p.GetNamespace() == o.GetNamespace() && p.GetName() == o.GetName() {
				i = j
			}
		}
		_, gone := o.GetAnnotations()[absent]
		switch {
		case gone && i < 0:
			m.t.Errorf("%s %s is not there to be taken away", o.GetKind(), o.GetName())
		case gone:
			m.objects = append(m.objects[:i:i], m.objects[i+1:]...)
		case i < 0:
			m.objects = append(m.objects, o.DeepCopy())
		default:
			m.objects[i] = merge(m.t, m.objects[i], o)
		}
	}
}

func merge(t testing.TB, into, from *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	a, err := into.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	b, err := from.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	out := &unstructured.Unstructured{}
	if a, err = jsonpatch.MergePatch(a, b); err == nil {
		err = out.UnmarshalJSON(a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// identify gives UIDs to objects and to references to them.
func (m *memory) identify(side string) {
	for _, o := range m.objects {
		if o.GetUID() == "" {
			o.SetUID(uid(side, o.GetKind(), o.GetNamespace(), o.GetName()))
		}
	}
	for _, o := range m.objects {
		refs := o.GetOwnerReferences()
		for i, ref := range refs {
			if ref.UID != "" {
				continue
			}
			refs[i].UID = uid(side, ref.Kind, o.GetNamespace(), ref.Name)
			for _, p := range m.objects {
				if p.GetKind() == ref.Kind && p.GetName() == ref.Name && (p.GetNamespace() == o.GetNamespace() || p.GetNamespace() == "") {
					refs[i].UID = p.GetUID()
				}
			}
		}
		if len(refs) > 0 {
			o.SetOwnerReferences(refs)
		}
	}
}

func uid(side, kind, namespace, name string) types.UID {
	return types.UID(fmt.Sprintf("%s-%s-%s-%s", side, kind, namespace, name))
}

// read reads the objects of a file; a file that does not exist has none.
func read(t testing.TB, path string) []*unstructured.Unstructured {
	t.Helper()
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []*unstructured.Unstructured
	for decoder := utilyaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if len(o.Object) > 0 {
			list = append(list, o)
		}
	}
}

// clusterAPI is the directory of Cluster API's module.
var clusterAPI = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	return strings.TrimSpace(string(out)), err
})

// providersOf are the directories with CRDs and the provider that each belongs to.
func providersOf(t testing.TB) map[string]string {
	t.Helper()
	capi, err := clusterAPI()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		filepath.Join(capi, "core/config/crd/bases"):                 "cluster-api",
		filepath.Join(capi, "bootstrap/kubeadm/config/crd/bases"):    "bootstrap-kubeadm",
		filepath.Join(capi, "controlplane/kubeadm/config/crd/bases"): "control-plane-kubeadm",
		"../../provider/config/crd/bases":                            "infrastructure-terraform",
	}
}

// installed labels a CRD as its provider's manifests and clusterctl do.
func installed(labels map[string]string, provider string) map[string]string {
	if labels == nil {
		labels = map[string]string{}
	}
	labels["cluster.x-k8s.io/provider"] = provider
	labels["clusterctl.cluster.x-k8s.io"] = ""
	if provider != "infrastructure-terraform" {
		labels["cluster.x-k8s.io/v1beta1"], labels["cluster.x-k8s.io/v1beta2"] = "v1beta1", "v1beta2"
	}
	return labels
}

// realCRDs are the CRDs of Cluster API and of this project's provider, as clusterctl installs them, without their schemas.
func realCRDs(t testing.TB) []*unstructured.Unstructured {
	t.Helper()
	capi, err := clusterAPI()
	if err != nil {
		t.Fatal(err)
	}
	list := read(t, filepath.Join(capi, "cmd/clusterctl/config/crd/bases/clusterctl.cluster.x-k8s.io_providers.yaml"))
	for dir, provider := range providersOf(t) {
		files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("there are no CRDs in %s: %v", dir, err)
		}
		for _, file := range files {
			for _, o := range read(t, file) {
				o.SetLabels(installed(o.GetLabels(), provider))
				list = append(list, o)
			}
		}
	}
	for _, o := range list {
		versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
		for _, v := range versions {
			delete(v.(map[string]any), "schema")
		}
		if err := unstructured.SetNestedSlice(o.Object, versions, "spec", "versions"); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

type denied map[schema.GroupKind]bool
