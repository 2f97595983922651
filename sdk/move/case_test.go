package move_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/sdk/move"
)

// A testCase is a folder of testdata/cases. It has source.yaml, laid over testdata/base.yaml; target.yaml, laid over its
// CRDs, Providers and Namespaces, if there is a target; a file cluster with a name if the check is limited; and want.txt.
type testCase struct{ dir string }

func cases(t *testing.T) []testCase {
	t.Helper()
	dirs, err := filepath.Glob("testdata/cases/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("there are no cases: %v", err)
	}
	var list []testCase
	for _, dir := range dirs {
		list = append(list, testCase{dir})
	}
	return list
}

// crdsOnce reads the CRDs once.
var crdsOnce struct {
	sync.Once
	crds []*unstructured.Unstructured
}

// options read the files of a case.
func (c testCase) options(t *testing.T) move.Options {
	t.Helper()
	crdsOnce.Do(func() { crdsOnce.crds = realCRDs(t) })
	base := read(t, "testdata/base.yaml")
	source := &memory{t: t, denied: denied{}}
	source.load(crdsOnce.crds...)
	source.load(base...)
	source.load(read(t, filepath.Join(c.dir, "source.yaml"))...)
	source.identify("source")
	o := move.Options{Source: move.Access{Reader: source}, Namespace: "default"}
	if name, err := os.ReadFile(filepath.Join(c.dir, "cluster")); err == nil {
		o.Cluster = strings.TrimSpace(string(name))
	}
	if _, err := os.Stat(filepath.Join(c.dir, "target.yaml")); err != nil {
		return o
	}
	target := &memory{t: t, denied: denied{}}
	target.load(crdsOnce.crds...)
	for _, b := range base {
		if b.GetKind() == "Provider" || b.GetKind() == "Namespace" {
			target.load(b)
		}
	}
	target.load(read(t, filepath.Join(c.dir, "target.yaml"))...)
	target.identify("target")
	o.Target = &move.Access{Reader: target, Kubeconfig: "target.kubeconfig"}
	return o
}

// TestCases checks all cases. Every rule has one.
func TestCases(t *testing.T) {
	found := map[string]bool{}
	for _, c := range cases(t) {
		t.Run(filepath.Base(c.dir), func(t *testing.T) {
			var out bytes.Buffer
			r, err := move.Check(t.Context(), c.options(t))
			if err != nil {
				out.WriteString("Error: " + err.Error() + "\n")
			} else {
				if err := r.WriteText(&out); err != nil {
					t.Fatal(err)
				}
				for _, f := range r.Findings {
					found[f.ID] = true
					allowed(t, f)
				}
			}
			golden.Assert(t, filepath.Join(c.dir, "want.txt"), out.Bytes())
		})
	}
	for _, r := range move.Rules() {
		if !found[r.ID] && !t.Failed() {
			t.Errorf("no case finds %s", r.ID)
		}
	}
}

// allowed holds a finding against its rule.
func allowed(t *testing.T, f move.Finding) {
	t.Helper()
	rules := move.Rules()
	i := slices.IndexFunc(rules, func(r move.Rule) bool { return r.ID == f.ID })
	if i < 0 || !slices.Contains(rules[i].Severities, f.Severity) {
		t.Errorf("%s may not have the severity %s", f.ID, f.Severity)
	}
	if f.What == "" || f.Why == "" || f.Fix == "" || f.Object.Name == "" || f.Object.Kind == "" {
		t.Errorf("something is missing: %+v", f)
	}
}

// TestNoCluster names the Clusters that there are.
func TestNoCluster(t *testing.T) {
	o := testCase{"testdata/cases/ready"}.options(t)
	o.Cluster = "test"
	_, err := move.Check(t.Context(), o)
	if e, ok := errors.AsType[*move.NoClusterError](err); !ok || e.Error() != "looking for Cluster test in namespace default: there are prod" {
		t.Errorf("%v", err)
	}
}

// TestSame: a check of the same objects says the same, in the same order.
func TestSame(t *testing.T) {
	for _, name := range []string{"limited", "strangers", "kinds", "owner-left-behind", "unowned-template"} {
		c := testCase{filepath.Join("testdata/cases", name)}
		var first []byte
		for range 5 {
			var out bytes.Buffer
			r, err := move.Check(t.Context(), c.options(t))
			if err != nil {
				continue
			}
			if err := r.WriteJSON(&out); err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = out.Bytes()
			}
			if !bytes.Equal(first, out.Bytes()) {
				t.Errorf("%s: the second time it is\n%s\ninstead of\n%s", c.dir, out.Bytes(), first)
			}
		}
	}
}

// TestProgress says what was read.
func TestProgress(t *testing.T) {
	o := testCase{"testdata/cases/ready"}.options(t)
	var lines []string
	o.Progress = func(line string) { lines = append(lines, line) }
	if _, err := move.Check(t.Context(), o); err != nil || len(lines) != 2 || !strings.HasPrefix(lines[0], "source: read ") || !strings.HasPrefix(lines[1], "target: read ") {
		t.Errorf("%q, %v", lines, err)
	}
}

// TestWriteError: a report that cannot be written is an error.
func TestWriteError(t *testing.T) {
	r, err := move.Check(t.Context(), testCase{"testdata/cases/ready"}.options(t))
	if err != nil {
		t.Fatal(err)
	}
	reader, writer := io.Pipe()
	reader.Close()
	if r.WriteText(writer) == nil || r.WriteJSON(writer) == nil {
		t.Error("an error of writing is not reported")
	}
}

// TestPage: what the page about moving shows is what the check prints.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/move.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/cases/not-ready-target/want.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(page, want) {
		t.Errorf("docs/move.md does not show the report of the case not-ready-target:\n%s", want)
	}
}
