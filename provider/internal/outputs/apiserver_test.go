package outputs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/outputs"
	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

func TestMain(m *testing.M) { os.Exit(tools.Main(m, testenv.Options{})) }

// TestAPIServerTakesCases writes what each case changes to a real API server, in the order of B-654, and looks at what was
// stored: our schemas take it, and reading it back and projecting once more changes nothing.
func TestAPIServerTakesCases(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts an API server")
	}
	env := tools.Environment(t)
	err := env.InstallCRDs(t.Context(), testenv.CRDs{Paths: []string{filepath.Join("..", "..", "config", "crd", "bases")}})
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(env.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob(filepath.Join("testdata", "cases", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("there are no cases (%v)", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join(dir, "case.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			var tc testCase
			if err := yaml.UnmarshalStrict(raw, &tc); err != nil {
				t.Fatal(err)
			}
			obj := object(t, tc.Object)
			obj.SetNamespace(tools.Namespace(t))
			obj.SetGeneration(0)
			obj.Workspace().Source.Image = "registry.example/module:1"
			obj.Workspace().IdentityRef = &infrav1.IdentityReference{Name: "cloud"}
			stored := obj.DeepCopyObject().(infrav1.Workspace)
			if err := c.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
			if stored = withStatus(stored, obj); stored.WorkspaceStatus().Initialization != nil {
				if err := c.Status().Update(t.Context(), stored); err != nil {
					t.Fatal(err)
				}
				obj = stored
			}
			for i, r := range tc.Readings {
				write(t, c, obj, r, start.Add(time.Duration(i)*time.Minute))
				r.Sample = outputs.SampleNone
				version := obj.GetResourceVersion()
				write(t, c, obj, r, later)
				if obj.GetResourceVersion() != version {
					t.Errorf("looking at reading %d once more writes", i)
				}
			}
		})
	}
}

// withStatus returns the object as it is stored with the status that the case starts from.
func withStatus(from, stored infrav1.Workspace) infrav1.Workspace {
	from.SetResourceVersion(stored.GetResourceVersion())
	from.SetUID(stored.GetUID())
	return from
}

// write projects a reading and writes its changes: spec first, then status. Nothing is sent when nothing changes.
func write(t *testing.T, c client.Client, obj infrav1.Workspace, r reading, now time.Time) {
	t.Helper()
	plan, err := outputs.Project(obj, r.of(t, obj))
	if err != nil {
		t.Fatal(err)
	}
	if plan.ChangesSpec() {
		before := obj.DeepCopyObject().(infrav1.Workspace)
		plan.ApplySpec(obj)
		if err := c.Patch(t.Context(), obj, client.MergeFrom(before)); err != nil {
			t.Fatalf("writing the spec: %v", err)
		}
	}
	before := obj.DeepCopyObject().(infrav1.Workspace)
	plan.ApplyStatus(obj, now)
	if _, err := conditions.SetReady(obj, now); err != nil {
		t.Fatal(err)
	}
	if cmp.Diff(before, obj) == "" {
		return
	}
	wanted := obj.DeepCopyObject().(infrav1.Workspace)
	if err := c.Status().Patch(t.Context(), obj, client.MergeFrom(before)); err != nil {
		t.Fatalf("writing the status: %v", err)
	}
	fresh := obj.DeepCopyObject().(infrav1.Workspace)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), fresh); err != nil {
		t.Fatal(err)
	}
	for _, o := range []infrav1.Workspace{wanted, fresh} { // what the API server counts
		o.SetResourceVersion("")
		o.SetGeneration(0)
		o.SetManagedFields(nil)
		o.GetObjectKind().SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(""))
	}
	if diff := cmp.Diff(tidy(t, wanted), tidy(t, fresh)); diff != "" {
		t.Errorf("what is stored is not what was written (-written +stored):\n%s", diff)
	}
}

// tidy returns the object as YAML, so that an empty list and none are the same.
func tidy(t *testing.T, obj infrav1.Workspace) string {
	t.Helper()
	return strings.TrimSpace(marshal(t, obj))
}
