package diagnose_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/sdk/diagnose"
	"github.com/captf-toolkit/captf/sdk/diagnose/diagnosetest"
)

// now is the time of all cases.
var now = time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)

// objects is a Reader of the objects of a file. Kinds of Cluster API and of Kubernetes are served, and those that there are
// objects of.
type objects struct {
	list      []unstructured.Unstructured
	forbidden string // a kind
	fails     string // a kind
	asked     map[string]bool
}

func (o *objects) List(_ context.Context, group, kind, namespace, selector string) ([]unstructured.Unstructured, error) {
	if o.asked == nil {
		o.asked = map[string]bool{}
	}
	o.asked[kind] = true
	switch kind {
	case o.forbidden:
		return nil, apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: strings.ToLower(kind) + "s"}, "", errors.New("no"))
	case o.fails:
		return nil, errors.New("the server is on fire")
	}
	match, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	served := strings.HasSuffix(group, "cluster.x-k8s.io") && !strings.HasPrefix(kind, "AWS") && !strings.HasPrefix(kind, "Docker") || group == "batch" || group == "events.k8s.io" || group == ""
	var out []unstructured.Unstructured
	for _, obj := range o.list {
		if gvk := obj.GroupVersionKind(); gvk.Group != group || gvk.Kind != kind {
			continue
		}
		served = true
		if (namespace == "" || obj.GetNamespace() == namespace) && match.Matches(labels.Set(obj.GetLabels())) {
			out = append(out, obj)
		}
	}
	if !served {
		return nil, &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: group, Kind: kind}}
	}
	return out, nil
}

// readCase reads the objects of a case, and what its first line expects.
func readCase(t testing.TB, dir string) (objs *objects, expect string) {
	t.Helper()
	c, err := diagnosetest.Read(filepath.Dir(dir), filepath.Base(dir))
	if err != nil {
		t.Fatal(err)
	}
	return &objects{list: c.Objects}, c.Expect
}

// got is a diagnosis as the first line of a case expects it.
func got(d *diagnose.Diagnosis) string {
	list := append(slices.Clone(d.Problems), d.Notes...)
	if len(list) == 0 {
		return string(d.Verdict)
	}
	return fmt.Sprintf("%s %s %s/%s", d.Verdict, list[0].Gate, list[0].Object.Kind, list[0].Object.Name)
}

func caseDirs(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join("testdata", "cases", "*"))
	if err != nil || len(dirs) < 30 {
		t.Fatalf("%d cases, %v", len(dirs), err)
	}
	return dirs
}

func diagnosis(t *testing.T, r diagnose.Reader) *diagnose.Diagnosis {
	t.Helper()
	read, err := diagnose.Read(t.Context(), r, "shop", "prod")
	if err != nil {
		t.Fatal(err)
	}
	return diagnose.New(read, diagnose.Options{Now: now})
}

// TestCases plays each folder of objects: the first line says by hand what must come out, the golden files how it reads.
func TestCases(t *testing.T) {
	t.Parallel()
	for _, dir := range caseDirs(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			objs, expect := readCase(t, dir)
			d := diagnosis(t, objs)
			if got := got(d); got != expect {
				t.Errorf("got %q, want %q", got, expect)
			}
			var text, tree, json bytes.Buffer
			if err := errors.Join(d.Text(&text, diagnose.TextOptions{}), d.Tree(&tree, diagnose.TextOptions{}), d.JSON(&json)); err != nil {
				t.Fatal(err)
			}
			golden.Assert(t, filepath.Join(dir, "want.txt"), text.Bytes())
			golden.Assert(t, filepath.Join(dir, "want-tree.txt"), tree.Bytes())
			if want := filepath.Join(dir, "want.json"); exists(want) { // a few show the form, and all fit its schema
				golden.Assert(t, want, json.Bytes())
			}
			if objs.asked["Secret"] {
				t.Error("Secrets were asked for")
			}
			for _, p := range append(slices.Clone(d.Problems), d.Notes...) {
				if p.Message == "" || p.Action == "" || p.Object.Kind == "" || p.Field == "" {
					t.Errorf("something is not said: %+v", p)
				}
			}
		})
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestEachGate asks for a case that stands at each gate, and for one that passes it.
func TestEachGate(t *testing.T) {
	t.Parallel()
	shut, healthy := map[string]bool{}, 0
	for _, dir := range caseDirs(t) {
		_, expect := readCase(t, dir)
		words := strings.Fields(expect)
		if words[0] == "healthy" {
			healthy++
		}
		if len(words) > 1 {
			shut[words[1]] = true
		}
	}
	for _, g := range diagnose.Gates() {
		if !shut[g.ID] {
			t.Errorf("no case stands at the gate %s", g.ID)
		}
		delete(shut, g.ID)
	}
	if len(shut) > 0 || healthy == 0 {
		t.Errorf("gates %v do not exist; %d cases are healthy", shut, healthy)
	}
}
