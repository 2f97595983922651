package inputs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/contract/versions"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/inputs"
)

// canary is the value of secrets in the cases; no gate may tell it.
const canary = "CANARY"

// testCase is what case.yaml says about a case.
type testCase struct {
	// Doc says what the case shows, with the rules that it is about.
	Doc string `json:"doc"`
	// Base names the files of testdata/base that the case starts from; objects.yaml holds merge patches of their objects, and
	// further objects. Remove takes some away, as Kind/name.
	Base   []string `json:"base"`
	Remove []string `json:"remove"`
	// Object is the object whose inputs are built, as Kind/name.
	Object string `json:"object"`
	// Exports and FailureDomains are what the state of the cluster holds, ExportsError why it cannot be read.
	Exports        json.RawMessage `json:"exports"`
	FailureDomains []string        `json:"failureDomains"`
	ExportsError   string          `json:"exportsError"`
	// Schema is the variables schema of the image.
	Schema json.RawMessage `json:"schema"`
	// RecordedInitialized tells that a former apply was given control_plane_initialized = true.
	RecordedInitialized bool `json:"recordedInitialized"`
	// Repeat makes the bootstrap data that often as long.
	Repeat int `json:"repeat"`
}

// result is what want.yaml holds.
type result struct {
	Owners    map[string]string          `json:"owners,omitempty"`
	Gate      *gate                      `json:"gate,omitempty"`
	Inputs    map[string]json.RawMessage `json:"inputs,omitempty"`
	Variables []variable                 `json:"variables,omitempty"`
	PoolSize  *contract.PoolSize         `json:"poolSize,omitempty"`
	// TooLarge is the size of inputs that are not rendered.
	TooLarge int `json:"tooLarge,omitempty"`
}

type gate struct {
	Condition string `json:"condition"`
	Message   string `json:"message"`
	OfOwner   bool   `json:"ofOwner,omitempty"`
}

type variable struct {
	Name      string          `json:"name"`
	Value     json.RawMessage `json:"value"`
	Sensitive bool            `json:"sensitive,omitempty"`
}

// TestCases builds the inputs of each folder of testdata/cases and compares them with its want.yaml.
func TestCases(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join("testdata", "cases", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("there are no cases (%v)", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var c testCase
			read(t, filepath.Join(dir, "case.yaml"), &c)
			objects := load(t, dir, c)
			obj := pick(t, objects, c.Object)
			reader := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build()
			got := build(t, c, reader, obj)
			out, err := yaml.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			golden.Assert(t, filepath.Join(dir, "want.yaml"), out)
			if got.Gate != nil && strings.Contains(got.Gate.Message, canary) {
				t.Errorf("the gate tells a secret: %s", got.Gate.Message)
			}
		})
	}
}

func build(t *testing.T, c testCase, reader client.Reader, obj infrav1.Workspace) result {
	t.Helper()
	owners, err := inputs.ResolveOwners(t.Context(), reader, obj)
	if err != nil {
		t.Fatal(err)
	}
	builder := &inputs.Builder{Live: reader, Outputs: cluster{c}, Contract: versions.Default()}
	req := inputs.Request{Object: obj, Owners: owners}
	if len(c.Schema) > 0 {
		schema, vs := image.ParseSchema(string(c.Schema))
		if len(vs) > 0 {
			t.Fatal(vs)
		}
		req.Schema = schema
	}
	if c.RecordedInitialized {
		req.Recorded = recorded(t)
	}
	built, err := builder.Build(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return describe(t, owners, built)
}

// recorded returns files in which control_plane_initialized is true.
func recorded(t *testing.T) inputs.Files {
	t.Helper()
	in := &contract.ClusterInputs{
		CommonInputs: contract.CommonInputs{
			Cluster: contract.NamespacedName{Name: "prod", Namespace: "fleet"}, Object: contract.NamespacedName{Name: "prod", Namespace: "fleet"},
		},
		ControlPlaneInitialized: true,
	}
	rendered, vs := versions.Default().Render(in, nil, contract.RenderOptions{})
	if len(vs) > 0 {
		t.Fatal(vs)
	}
	return inputs.Files{Root: rendered.Root, Values: rendered.Values}
}

func describe(t *testing.T, owners *inputs.Owners, built *inputs.Result) result {
	t.Helper()
	out := result{Owners: map[string]string{}, PoolSize: built.PoolSize}
	name := func(key string, obj client.Object, there bool) {
		if there {
			out.Owners[key] = obj.GetName()
		}
	}
	name("cluster", owners.Cluster, owners.Cluster != nil)
	name("machine", owners.Machine, owners.Machine != nil)
	name("machinePool", owners.MachinePool, owners.MachinePool != nil)
	name("terraformCluster", owners.TerraformCluster, owners.TerraformCluster != nil)
	if owners.ControlPlaneOwner != nil {
		out.Owners["controlPlane"] = owners.ControlPlaneOwner.Kind + "/" + owners.ControlPlaneOwner.Name
	}
	if owners.ExternallyManaged {
		out.Owners["externallyManaged"] = "true"
	}
	ready := inputs.DependenciesReady(built.Gate)
	if g := built.Gate; g != nil {
		out.Gate = &gate{Condition: g.Type + "=" + string(g.Status) + "/" + g.Reason, Message: g.Message, OfOwner: g.OfOwner}
		if g.Type == ready.Type && ready.Value != g.Value {
			t.Errorf("DependenciesReady is %+v", ready)
		}
	} else if ready.Reason != infrav1.DependenciesReadyReason {
		t.Errorf("DependenciesReady is %+v without a gate", ready)
	}
	if built.Gate != nil && built.Rendered != nil {
		t.Error("there are files behind a gate")
	}
	if built.Rendered == nil {
		out.TooLarge = built.Bytes
		if built.Bytes > 0 && !strings.Contains(built.Gate.Message, fmt.Sprintf("%d bytes", built.Bytes)) {
			t.Errorf("measured %d bytes, and the gate says: %s", built.Bytes, built.Gate.Message)
		}
		return out
	}
	values, vs := versions.Default().InputValues(built.Inputs)
	if len(vs) > 0 {
		t.Fatal(vs)
	}
	out.Inputs = values
	for _, v := range built.Variables {
		out.Variables = append(out.Variables, variable(v))
	}
	if built.Bytes != built.Rendered.Size() || built.Rendered.Hash == "" {
		t.Errorf("%d bytes, hash %q", built.Bytes, built.Rendered.Hash)
	}
	again, err := inputs.Rehash(versions.Default(), built.Inputs.Role(), inputs.Files{Root: built.Rendered.Root, Values: built.Rendered.Values})
	if err != nil || again.Inputs != built.Rendered.Hash || again.Approval != built.Rendered.ApprovalHash {
		t.Errorf("hashing the files anew gives %+v, %v; want %s", again, err, built.Rendered.Hash)
	}
	return out
}

// cluster is the state of a case's cluster.
type cluster struct{ c testCase }

func (f cluster) Exports(context.Context, *infrav1.TerraformCluster) (json.RawMessage, []string, error) {
	if f.c.ExportsError != "" {
		return nil, nil, errors.New(f.c.ExportsError)
	}
	return f.c.Exports, f.c.FailureDomains, nil
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(raw, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// load returns the objects of a case: those of its bases with its own merged over them.
func load(t *testing.T, dir string, c testCase) []client.Object {
	t.Helper()
	var order []string
	merged := map[string]map[string]any{}
	paths := []string{}
	for _, base := range c.Base {
		paths = append(paths, filepath.Join("testdata", "base", base+".yaml"))
	}
	if own := filepath.Join(dir, "objects.yaml"); exists(own) {
		paths = append(paths, own)
	}
	for _, path := range paths {
		for _, doc := range documents(t, path) {
			meta, _ := doc["metadata"].(map[string]any)
			id := doc["kind"].(string) + "/" + meta["name"].(string)
			if merged[id] == nil {
				order, merged[id] = append(order, id), map[string]any{}
			}
			merge(merged[id], doc)
		}
	}
	decode := serializer.NewCodecFactory(scheme(t), serializer.EnableStrict).UniversalDeserializer()
	var out []client.Object
	for _, id := range order {
		if slices.Contains(c.Remove, id) {
			continue
		}
		raw, err := json.Marshal(merged[id])
		if err != nil {
			t.Fatal(err)
		}
		raw = bytes.ReplaceAll(raw, []byte(`"REPEATED"`), []byte(`"`+strings.Repeat("QUFB", c.Repeat)+`"`))
		obj, _, err := decode.Decode(raw, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		out = append(out, obj.(client.Object))
	}
	return out
}

// documents returns the YAML documents of a file.
func documents(t *testing.T, path string) []map[string]any {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for text := range bytes.SplitSeq(raw, []byte("\n---\n")) {
		var doc map[string]any
		if err := yaml.Unmarshal(text, &doc); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if doc != nil {
			out = append(out, doc)
		}
	}
	return out
}

// merge is a JSON merge patch.
func merge(into, patch map[string]any) {
	for key, value := range patch {
		members, isObject := value.(map[string]any)
		old, wasObject := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isObject && wasObject:
			merge(old, members)
		default:
			into[key] = value
		}
	}
}

func pick(t *testing.T, objects []client.Object, id string) infrav1.Workspace {
	t.Helper()
	for _, obj := range objects {
		if w, ok := obj.(infrav1.Workspace); ok && w.Role().Kind()+"/"+w.GetName() == id {
			return w
		}
	}
	t.Fatalf("there is no %s", id)
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
