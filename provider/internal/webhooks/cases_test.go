package webhooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

// testCase is a request and what becomes of it; testdata/README.md describes the fields.
type testCase struct {
	Kind      string
	Operation string
	User      string
	DryRun    bool
	// Propagation is what becomes of what the object owns when it is deleted, "" as the API server decides.
	Propagation metav1.DeletionPropagation
	Given       []map[string]any
	Old         map[string]any
	Deleting    bool
	Object      map[string]any
	Want        string
}

// TestCases sends the requests of testdata/cases to a real API server with the real webhooks. Each folder is a rule and
// has requests that keep it and requests that break it.
func TestCases(t *testing.T) {
	config := server(t)
	apply(t, config, readObjects(t, "testdata/rbac.yaml"))
	awaitPolicy(t, config)
	rules := map[string][]string{}
	err := filepath.WalkDir("testdata/cases", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".yaml" {
			rule := filepath.Dir(path)
			rules[rule] = append(rules[rule], path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		outcomes := map[string]bool{}
		for _, path := range rules[rule] {
			name := strings.TrimSuffix(strings.TrimPrefix(path, "testdata/cases/"), ".yaml")
			t.Run(name, func(t *testing.T) {
				c := readCase(t, path)
				outcomes[c.Want] = true
				run(t, config, path, c)
			})
		}
		for _, want := range []string{"allowed", "denied"} {
			if !outcomes[want] && filepath.Base(rule) != "warnings" && !filtered() {
				t.Errorf("%s has no case that is %s", rule, want)
			}
		}
	}
}

// awaitPolicy installs what the API server refuses by itself, as a release has it, and waits until it does.
func awaitPolicy(t *testing.T, config *rest.Config) {
	t.Helper()
	apply(t, config, readObjects(t, "../../config/policy/foreground-deletion.yaml"))
	setUp := as(t, config, fixture, nil)
	object := create(t, setUp, tools.Namespace(t), readBase(t, "TerraformCluster"))
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		err = setUp.Delete(t.Context(), object, client.DryRunAll, client.PropagationPolicy(metav1.DeletePropagationForeground))
		if apierrors.IsForbidden(err) {
			return
		}
	}
	t.Fatalf("the policy has no effect: %v", err)
}

// filtered tells that some cases were left out by -run.
func filtered() bool {
	return strings.Contains(flag.Lookup("test.run").Value.String(), "/") || flag.Lookup("test.skip").Value.String() != ""
}

func run(t *testing.T, config *rest.Config, path string, c testCase) {
	namespace := tools.Namespace(t)
	place := strings.NewReplacer("${namespace}", namespace)
	setUp := as(t, config, fixture, nil)
	c.Given = fill(t, place, c.Given)
	for _, given := range c.Given {
		object := create(t, setUp, namespace, given)
		place = strings.NewReplacer("${namespace}", namespace, "${uid}", string(object.GetUID()))
	}
	base := readBase(t, c.Kind)
	object := &unstructured.Unstructured{Object: fill(t, place, merge(t, base, c.Old))}
	if c.Operation == "create" {
		object.Object = fill(t, place, merge(t, base, c.Object))
		scope(t, setUp, object, namespace)
	} else {
		if c.Deleting {
			object.SetFinalizers([]string{"test.captf.io/hold"})
		}
		object = create(t, setUp, namespace, object.Object)
		if c.Deleting {
			if err := setUp.Delete(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			if err := setUp.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				t.Fatal(err)
			}
		}
	}
	warned := &warnings{}
	user := as(t, config, c.User, warned)
	err := request(t, user, c, fill(t, place, c.Object), object)
	var got bytes.Buffer
	outcome := "allowed"
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		outcome = "denied"
		fmt.Fprintf(&got, "%d %s: %s\n", status.Status().Code, status.Status().Reason, wrap(err.Error()))
	case err != nil:
		t.Fatal(err)
	default:
		fmt.Fprintln(&got, "allowed")
	}
	for _, text := range warned.all() {
		fmt.Fprintf(&got, "warning: %s\n", text)
	}
	if outcome != c.Want {
		t.Errorf("the request is %s, and should be %s:\n%s", outcome, c.Want, got.String())
	}
	clean := strings.ReplaceAll(got.String(), namespace, "${namespace}")
	golden.Assert(t, strings.TrimSuffix(path, ".yaml")+".golden", []byte(clean))
}

// wrap puts each of several violations on a line.
func wrap(message string) string {
	return strings.NewReplacer(": [", ":\n  [", ", spec", ",\n   spec", ", metadata", ",\n   metadata").Replace(message)
}

func request(t *testing.T, user client.Client, c testCase, patch map[string]any, object *unstructured.Unstructured) error {
	t.Helper()
	switch c.Operation {
	case "create":
		var opts []client.CreateOption
		if c.DryRun {
			opts = append(opts, client.DryRunAll)
		}
		return user.Create(t.Context(), object, opts...)
	case "update":
		changed := &unstructured.Unstructured{Object: merge(t, object.Object, patch)}
		var opts []client.UpdateOption
		if c.DryRun {
			opts = append(opts, client.DryRunAll)
		}
		return user.Update(t.Context(), changed, opts...)
	case "status":
		changed := &unstructured.Unstructured{Object: merge(t, object.Object, patch)}
		return user.Status().Update(t.Context(), changed)
	default:
		var opts []client.DeleteOption
		if c.DryRun {
			opts = append(opts, client.DryRunAll)
		}
		if c.Propagation != "" {
			opts = append(opts, client.PropagationPolicy(c.Propagation))
		}
		return user.Delete(t.Context(), object, opts...)
	}
}

func readCase(t *testing.T, path string) testCase {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := testCase{Operation: "create", User: "editor"}
	if err := yaml.UnmarshalStrict(raw, &c); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if !slices.Contains([]string{"create", "update", "status", "delete"}, c.Operation) {
		t.Fatalf("%s: there is no operation %q", path, c.Operation)
	}
	if c.Want != "allowed" && c.Want != "denied" {
		t.Fatalf("%s: want is %q; it must be allowed or denied", path, c.Want)
	}
	return c
}

func readBase(t *testing.T, kind string) map[string]any {
	t.Helper()
	objects := readObjects(t, filepath.Join("testdata/base", strings.ToLower(kind)+".yaml"))
	if len(objects) != 1 || objects[0]["kind"] != kind {
		t.Fatalf("the base of kind %q is not one object of that kind", kind)
	}
	return objects[0]
}

func readObjects(t *testing.T, path string) []map[string]any {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), len(raw)+1)
	for decoder.Decode(new(json.RawMessage)) == nil { // counts the documents
		out = append(out, nil)
	}
	decoder = utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), len(raw)+1)
	for i := range out {
		if err := decoder.Decode(&out[i]); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return out
}

// merge lays a JSON merge patch over an object.
func merge(t *testing.T, base, patch map[string]any) map[string]any {
	t.Helper()
	a, errA := json.Marshal(base)
	b, errB := json.Marshal(patch)
	if patch == nil {
		b = []byte("{}")
	}
	merged, err := jsonpatch.MergePatch(a, b)
	if err := errors.Join(errA, errB, err); err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(merged, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// fill replaces ${namespace}, and ${uid} of the last given object.
func fill[T any](t *testing.T, place *strings.Replacer, in T) T {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out T
	if err := json.Unmarshal([]byte(place.Replace(string(raw))), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// scope puts a namespaced object into the namespace.
func scope(t *testing.T, c client.Client, object *unstructured.Unstructured, namespace string) {
	t.Helper()
	gvk := object.GroupVersionKind()
	mapping, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		t.Fatal(err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && object.GetNamespace() == "" {
		object.SetNamespace(namespace)
	}
}

// create makes an object with its status, for as long as the test.
func create(t *testing.T, c client.Client, namespace string, content map[string]any) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: content}
	scope(t, c, object, namespace)
	status, hasStatus := content["status"]
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatalf("making %s %s: %v", object.GetKind(), object.GetName(), err)
	}
	t.Cleanup(func() { remove(t, c, object) })
	if hasStatus {
		object.Object["status"] = status
		if err := c.Status().Update(t.Context(), object); err != nil {
			t.Fatalf("writing the status of %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	return object
}

// remove deletes an object whatever holds it.
func remove(t *testing.T, c client.Client, object *unstructured.Unstructured) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	for _, err := range []error{c.Patch(ctx, object.DeepCopy(), patch), c.Delete(ctx, object.DeepCopy())} {
		if client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	}
}

func apply(t *testing.T, config *rest.Config, objects []map[string]any) {
	t.Helper()
	c := as(t, config, "", nil)
	for _, content := range objects {
		if err := c.Create(t.Context(), &unstructured.Unstructured{Object: content}); err != nil {
			t.Fatal(err)
		}
	}
}

// as is a client of a user; warnings that the API server sends go to handler.
func as(t *testing.T, config *rest.Config, user string, handler *warnings) client.Client {
	t.Helper()
	config = rest.CopyConfig(config)
	if user != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated", "cases"}}
	}
	config.WarningHandler = rest.NoWarnings{}
	if handler != nil {
		config.WarningHandler = handler
	}
	c, err := client.New(config, client.Options{Scheme: scheme(), Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// warnings keeps what the API server warns about.
type warnings struct {
	mu   sync.Mutex
	text []string
}

func (w *warnings) HandleWarningHeader(code int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if code == 299 {
		w.text = append(w.text, text)
	}
}

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.text)
}

// schemas stands for a registry: images named by testdata/schemas have the schema of the file, a registry that does not
// answer is slow, all others have none.
type schemas struct{}

func (schemas) VariablesSchema(ctx context.Context, _ string, _ []corev1.LocalObjectReference, ref string) (*image.Schema, string, error) {
	_, rest, _ := strings.Cut(ref, "/schemas/")
	name, _, _ := strings.Cut(rest, ":")
	switch name {
	case "":
		return nil, "", nil
	case "slow":
		<-ctx.Done()
		return nil, "", ctx.Err()
	}
	raw, err := os.ReadFile(filepath.Join("testdata/schemas", name+".json"))
	if err != nil {
		return nil, "", err
	}
	schema, broken := image.ParseSchema(string(raw))
	if len(broken) > 0 {
		return nil, "", broken
	}
	return schema, "", nil
}
