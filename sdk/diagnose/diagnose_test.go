package diagnose_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	reflector "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/sdk/diagnose"
)

// caseObjects reads the objects of a case by its name.
func caseObjects(t *testing.T, name string) *objects {
	t.Helper()
	objs, _ := readCase(t, filepath.Join("testdata", "cases", name))
	return objs
}

// TestReadErrors: what may not be read is noted, what is broken ends it, and who misspells a name is helped.
func TestReadErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		change    func(*objects)
		cluster   string
		want      string
		noCluster bool
	}{
		{"another name", nil, "staging", "reading Cluster shop/staging: there is no such Cluster: there are prod", true},
		{"an empty namespace", func(o *objects) { o.list = nil }, "prod", "the namespace has none", true},
		{"clusters are forbidden", func(o *objects) { o.forbidden = "Cluster" }, "prod", "forbidden", false},
		{"machines cannot be read", func(o *objects) { o.fails = "Machine" }, "prod", "listing Machines of Cluster prod: the server is on fire", false},
		{"infrastructure cannot be read", func(o *objects) { o.fails = "TerraformCluster" }, "prod", "reading TerraformCluster prod: the server is on fire", false},
		{"events cannot be read", func(o *objects) { o.fails = "Event" }, "prod", "listing events in namespace shop: the server is on fire", false},
		{"jobs cannot be read", func(o *objects) { o.fails = "Job" }, "prod", "reading Job", false},
		{"pods cannot be read", func(o *objects) { o.fails = "Pod" }, "prod", "reading pods of Job", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			objs := caseObjects(t, "job-running")
			if c.change != nil {
				c.change(objs)
			}
			_, err := diagnose.Read(t.Context(), objs, "shop", c.cluster)
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, diagnose.ErrNoCluster) != c.noCluster {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestForbidden goes on without what may not be read, and says so.
func TestForbidden(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"MachineHealthCheck", "Event", "Job", "Pod", "TerraformMachine", "KubeadmConfig", "TerraformClusterIdentity"} {
		objs := caseObjects(t, "job-running")
		objs.forbidden = kind
		d := diagnosis(t, objs)
		var text bytes.Buffer
		if err := d.Text(&text, diagnose.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if len(d.Unread) != 1 || !strings.Contains(strings.ToLower(d.Unread[0]), strings.ToLower(kind[:3])) || !strings.Contains(text.String(), "not looked at: ") {
			t.Errorf("%s: not read: %v", kind, d.Unread)
		}
		if d.Verdict == diagnose.VerdictHealthy {
			t.Errorf("%s: the cluster waits for a Job and is said to be healthy", kind)
		}
	}
}

// TestNoSecret: a reference to a Secret is never followed, whoever wrote it.
func TestNoSecret(t *testing.T) {
	t.Parallel()
	objs := caseObjects(t, "healthy")
	for _, obj := range objs.list {
		if obj.GetKind() == "Cluster" {
			if err := unstructured.SetNestedField(obj.Object, map[string]any{"apiGroup": "", "kind": "Secret", "name": "prod-kubeconfig"}, "spec", "infrastructureRef"); err != nil {
				t.Fatal(err)
			}
		}
	}
	d := diagnosis(t, objs)
	if objs.asked["Secret"] {
		t.Error("the Secret was asked for")
	}
	if got(d) != "stuck exists Secret/prod-kubeconfig" {
		t.Errorf("got %s", got(d))
	}
}

// TestCommands repeats how the cluster was chosen.
func TestCommands(t *testing.T) {
	t.Parallel()
	read, err := diagnose.Read(t.Context(), caseObjects(t, "node-never-joined"), "shop", "prod")
	if err != nil {
		t.Fatal(err)
	}
	d := diagnose.New(read, diagnose.Options{Now: now, Kubectl: "kubectl --context eu", Clusterctl: "clusterctl --kubeconfig-context eu"})
	if first := d.Problems[0].Commands[0]; !strings.HasPrefix(first, "clusterctl --kubeconfig-context eu get kubeconfig -n shop prod > ") {
		t.Errorf("the command is %q", first)
	}
	for _, p := range d.Problems {
		for _, c := range p.Commands {
			if strings.HasPrefix(c, "kubectl ") && !strings.HasPrefix(c, "kubectl --context eu ") && !strings.HasPrefix(c, "kubectl --kubeconfig prod.kubeconfig ") {
				t.Errorf("the command %q does not say which cluster it is for", c)
			}
		}
	}
}

// TestAnyObjects leaves objects and parts of them out: nothing panics, every object that does not stand well belongs to a
// problem, and every problem says what to do.
func TestAnyObjects(t *testing.T) {
	t.Parallel()
	dirs := caseDirs(t)
	rapid.Check(t, func(r *rapid.T) {
		whole, _ := readCase(t, rapid.SampledFrom(dirs).Draw(r, "case"))
		objs := &objects{}
		for _, obj := range whole.list {
			if obj.GetKind() != "Cluster" && rapid.IntRange(0, 5).Draw(r, "leave out") == 0 {
				continue
			}
			for _, path := range [][]string{{"status"}, {"spec"}, {"status", "conditions"}, {"status", "initialization"}, {"metadata", "ownerReferences"}, {"metadata", "creationTimestamp"}, {"spec", "bootstrap"}, {"status", "lastRun"}} {
				switch rapid.IntRange(0, 20).Draw(r, "change") {
				case 0:
					unstructured.RemoveNestedField(obj.Object, path...)
				case 1:
					if path[0] != "metadata" { // the API server keeps that in shape
						_ = unstructured.SetNestedField(obj.Object, "a text", path...) // what holds it may be gone
					}
				}
			}
			objs.list = append(objs.list, obj)
		}
		d := diagnosis(t, objs)
		if (d.Verdict == diagnose.VerdictHealthy) != (len(d.Problems) == 0) {
			r.Errorf("the verdict is %s, with %d problems", d.Verdict, len(d.Problems))
		}
		for i, p := range d.Problems {
			if p.Message == "" || p.Action == "" || p.Gate == "" || p.Object.Name == "" {
				r.Errorf("something is not said: %+v", p)
			}
			if i > 0 && p.State == diagnose.StateStuck && d.Problems[i-1].State == diagnose.StateWorking {
				r.Errorf("what is stuck comes after what is under way: %+v", p)
			}
		}
		for _, o := range d.Objects {
			if o.State != diagnose.StateOK && o.State != diagnose.StateNote && (o.Problem < 1 || o.Problem > len(d.Problems)) {
				r.Errorf("%v is %s because of problem %d of %d", o.Reference, o.State, o.Problem, len(d.Problems))
			}
		}
		if err := errors.Join(d.Text(io.Discard, diagnose.TextOptions{Colors: true}), d.Tree(io.Discard, diagnose.TextOptions{Colors: true}), d.JSON(io.Discard)); err != nil {
			r.Error(err)
		}
	})
}

// TestHostileText: what objects say cannot write to a terminal.
func TestHostileText(t *testing.T) {
	t.Parallel()
	objs := caseObjects(t, "module-apply-failed")
	for _, obj := range objs.list {
		if obj.GetKind() != "TerraformMachine" {
			continue
		}
		list, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			c.(map[string]any)["message"] = "a\x1b[2J\r\nb\x07\u202ec\u2028d"
		}
		if err := unstructured.SetNestedSlice(obj.Object, list, "status", "conditions"); err != nil {
			t.Fatal(err)
		}
	}
	d := diagnosis(t, objs)
	for name, write := range map[string]func(io.Writer, diagnose.TextOptions) error{"text": d.Text, "tree": d.Tree} {
		var b bytes.Buffer
		if err := write(&b, diagnose.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, c := range b.String() {
			if c != '\n' && (unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) || c == '\u2028') {
				t.Errorf("%s holds %U", name, c)
				break
			}
		}
	}
}

// brokenWriter cannot be written to.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("the pipe is gone") }

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	d := diagnosis(t, caseObjects(t, "healthy"))
	for name, err := range map[string]error{
		"text": d.Text(brokenWriter{}, diagnose.TextOptions{}), "tree": d.Tree(brokenWriter{}, diagnose.TextOptions{}), "json": d.JSON(brokenWriter{}),
	} {
		if err == nil {
			t.Errorf("%s: an error of writing is not reported", name)
		}
	}
}

// schemaPath is the checked-in schema of the JSON form.
const schemaPath = "../../docs/reference/diagnosis.schema.json"

// TestSchema generates the schema from the Go types and their comments, and validates the cases with it.
func TestSchema(t *testing.T) {
	t.Parallel()
	golden.Assert(t, schemaPath, generateSchema(t))
	schema, err := jsonschema.NewCompiler().Compile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	validate := func(raw []byte) error {
		t.Helper()
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(doc)
	}
	for _, dir := range caseDirs(t) {
		objs, _ := readCase(t, dir)
		var b bytes.Buffer
		if err := diagnosis(t, objs).JSON(&b); err != nil {
			t.Fatal(err)
		}
		raw := b.Bytes()
		if err := validate(raw); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
		if broken := strings.Replace(string(raw), `"verdict": "`, `"verdict": "un`, 1); validate([]byte(broken)) == nil {
			t.Errorf("%s: the schema accepts any verdict", dir)
		}
	}
}

// BenchmarkLarge judges a cluster of a thousand workers that all fail.
func BenchmarkLarge(b *testing.B) {
	few, _ := readCase(b, filepath.Join("testdata", "cases", "module-three-machines-fail"))
	objs := &objects{}
	for _, obj := range few.list {
		if obj.GetName() != "prod-w1" {
			objs.list = append(objs.list, obj)
			continue
		}
		for i := range 1000 {
			clone := obj.DeepCopy()
			text, err := clone.MarshalJSON()
			if err != nil {
				b.Fatal(err)
			}
			if err := clone.UnmarshalJSON(bytes.ReplaceAll(text, []byte("prod-w1"), fmt.Appendf(nil, "prod-many-%d", i))); err != nil {
				b.Fatal(err)
			}
			objs.list = append(objs.list, *clone)
		}
	}
	for b.Loop() {
		read, err := diagnose.Read(b.Context(), objs, "shop", "prod")
		if err != nil {
			b.Fatal(err)
		}
		if d := diagnose.New(read, diagnose.Options{Now: now}); len(d.Problems) != 1 || len(d.Problems[0].Also) < 1000 {
			b.Fatalf("%d problems", len(d.Problems))
		}
	}
}

func generateSchema(t *testing.T) []byte {
	t.Helper()
	enums := map[reflect.Type][]any{
		reflect.TypeFor[diagnose.Verdict](): {diagnose.VerdictHealthy, diagnose.VerdictWorking, diagnose.VerdictStuck},
		reflect.TypeFor[diagnose.State]():   {diagnose.StateOK, diagnose.StateNote, diagnose.StateWorking, diagnose.StateWaiting, diagnose.StateStuck},
	}
	r := reflector.Reflector{ExpandedStruct: true, Anonymous: true, Mapper: func(typ reflect.Type) *reflector.Schema {
		if values, ok := enums[typ]; ok {
			return &reflector.Schema{Type: "string", Enum: values}
		}
		return nil
	}}
	if err := r.AddGoComments("github.com/captf-toolkit/captf/sdk/diagnose", ".", reflector.WithFullComment()); err != nil {
		t.Fatal(err)
	}
	for key, text := range r.CommentMap {
		r.CommentMap[key] = strings.Join(strings.Fields(text), " ")
	}
	s := r.Reflect(&diagnose.Diagnosis{})
	s.ID, s.Title = "urn:captf:diagnosis", "Diagnosis of captf diagnose"
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(raw, '\n')
}

// TestPage holds the page on diagnosing to what there is.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/diagnosing.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	_, gates, _ := strings.Cut(string(page), "\n## The gates\n")
	gates, _, _ = strings.Cut(gates, "\n## ")
	for line := range strings.Lines(gates) {
		if id, rest, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` | "); ok && strings.HasPrefix(line, "| `") {
			title, _, _ := strings.Cut(rest, " | ")
			rows = append(rows, id+": "+title)
		}
	}
	var want []string
	for _, g := range diagnose.Gates() {
		want = append(want, g.ID+": "+g.Title)
	}
	if !slices.Equal(rows, want) {
		t.Errorf("the gates on the page are\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}
