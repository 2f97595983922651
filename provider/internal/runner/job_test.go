package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/result"
	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// job is the file system of a Job's pod, below a directory.
type job struct {
	t      *testing.T
	dir    string
	broker *memoryBroker
	o      Options
	env    []string
	log    bytes.Buffer
	stdout bytes.Buffer
}

// newJob makes a Job for a module of one or more files.
func newJob(t *testing.T, bin string, module map[string]string) *job {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"module", "config"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	j := &job{t: t, dir: dir, broker: startBroker(t)}
	runtimetest.Write(t, filepath.Join(dir, "module"), module)
	j.values(map[string]any{"name": "one"}, nil)
	j.o = Options{
		Op: infrav1.OperationApply, Bin: []string{bin}, Image: "registry.example/module:v1",
		Module: filepath.Join(dir, "module"), Providers: filepath.Join(dir, "providers"), Work: filepath.Join(dir, "work"),
		Config: filepath.Join(dir, "config"), Credentials: filepath.Join(dir, "credentials"),
		Result: filepath.Join(dir, "termination-log"), LockTimeout: time.Second, StopTimeout: time.Minute,
		Broker: j.broker.dir, Events: true,
	}
	j.env = []string{"PATH=" + os.Getenv("PATH"), "TF_IN_AUTOMATION=1", "TF_INPUT=0", "KUBE_NAMESPACE=team"}
	return j
}

// values writes the root module and its values, as the contract renders them: a variable each, a call, the outputs.
func (j *job) values(values map[string]any, sensitive []string) {
	j.t.Helper()
	variables, args := map[string]any{}, map[string]any{"source": "../../module"}
	for name := range values {
		v := map[string]any{"default": nil}
		if slices.Contains(sensitive, name) {
			v["sensitive"] = true
		}
		variables[name], args[name] = v, "${var."+name+"}"
	}
	j.write("config/main.tf.json", map[string]any{
		"terraform": map[string]any{"backend": map[string]any{"http": map[string]any{}}},
		"variable":  variables,
		"module":    map[string]any{"role": args},
		"output":    map[string]any{"id": map[string]any{"value": "${module.role.id}", "sensitive": true}},
	})
	j.write("config/terraform.tfvars.json", values)
}

func (j *job) write(name string, v any) {
	j.t.Helper()
	doc, err := json.Marshal(v)
	if err != nil {
		j.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(j.dir, name), doc, 0o644); err != nil {
		j.t.Fatal(err)
	}
}

// run runs an operation in a pod of its own, so with a work directory that is empty, and returns its result.
func (j *job) run(ctx context.Context, op infrav1.Operation, change func(*Options)) (*result.Document, error) {
	j.t.Helper()
	o := j.o
	o.Op = op
	if change != nil {
		change(&o)
	}
	if err := os.RemoveAll(o.Work); err != nil {
		j.t.Fatal(err)
	}
	j.log.Reset()
	err := Run(ctx, o, j.env, &j.stdout, &j.log)
	raw, rerr := os.ReadFile(o.Result)
	if rerr != nil {
		j.t.Fatalf("%v\n%s", rerr, j.log.String())
	}
	d, derr := result.Decode(raw)
	if derr != nil {
		j.t.Fatalf("%v: %s\n%s", derr, raw, j.log.String())
	}
	if (err == nil) != (d.Error == nil) {
		j.t.Errorf("the run returned %v, its result says %+v", err, d.Error)
	}
	return d, err
}

// must runs an operation that succeeds.
func (j *job) must(op infrav1.Operation, change func(*Options)) *result.Document {
	j.t.Helper()
	d, err := j.run(j.t.Context(), op, change)
	if err != nil {
		j.t.Fatalf("%s: %v\n%s", op, err, j.log.String())
	}
	return d
}

// fails runs an operation that fails in the given way.
func (j *job) fails(op infrav1.Operation, kind infrav1.RunErrorKind, change func(*Options), parts ...string) *result.Document {
	j.t.Helper()
	d, err := j.run(j.t.Context(), op, change)
	if err == nil {
		j.t.Fatalf("%s succeeded\n%s", op, j.log.String())
	}
	if d.Error.Kind != kind {
		j.t.Errorf("%s: kind %s, wanted %s: %s\n%s", op, d.Error.Kind, kind, d.Error.Tail, j.log.String())
	}
	for _, p := range parts {
		if !strings.Contains(d.Error.Tail, p) {
			j.t.Errorf("%s: %q is not in %q", op, p, d.Error.Tail)
		}
	}
	return d
}

func stepNames(d *result.Document) string {
	var names []string
	for _, s := range d.Steps {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}

// plainModule has a resource that is replaced when the name changes, and one that is updated.
const plainModule = `
variable "name" {}

resource "terraform_data" "a" {
  input            = var.name
  triggers_replace = var.name
}

resource "terraform_data" "b" {
  input = var.name
}

output "id" {
  value = terraform_data.a.id
}
`

func eachRuntime(t *testing.T, fn func(t *testing.T, bin string)) {
	t.Helper()
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) { fn(t, b.Path) })
}
