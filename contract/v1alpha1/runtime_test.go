package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/v1alpha1"
	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// echoModule returns a module that is declared as the tables say, and tells
// what it was given in the message of its health.
func echoModule(spec contract.RoleSpec, vars []contract.Variable) string {
	var b strings.Builder
	var echo []string
	for _, in := range spec.Inputs {
		fmt.Fprintf(&b, "variable %q {\n  type = %s\n  sensitive = %t\n", in.Name, in.Shape.TypeExpr(), in.Sensitive)
		if in.MayDefault {
			b.WriteString("  default = null\n")
		}
		b.WriteString("}\n")
		echo = append(echo, in.Name)
	}
	for _, v := range vars {
		fmt.Fprintf(&b, "variable %q {}\n", v.Name)
		echo = append(echo, v.Name)
	}
	values := map[string]string{
		"provider_id": `"sim:///i-1"`, "addresses": "[]", "interruptible": "null", "provider_id_list": "[]",
		"replicas": "0", "instances": "[]", "exports": "null", "failure_domains": "null", "control_plane_endpoint": "null",
		"failure_domain": "var.failure_domain",
	}
	for _, out := range spec.Outputs {
		value := values[out.Name]
		if out.Name == "health" {
			var members []string
			for _, name := range echo {
				members = append(members, fmt.Sprintf("%q = var.%s", name, name))
			}
			value = "{ state = \"running\", healthy = true, message = jsonencode({ " + strings.Join(members, ", ") + " }) }"
		}
		fmt.Fprintf(&b, "output %q {\n  value = %s\n  sensitive = true\n}\n", out.Name, value)
	}
	return b.String()
}

// TestRenderOnRuntimes runs the generated root of every golden case on the real
// runtimes: the module gets exactly the values that were rendered, and what it
// leaves in the state decodes.
func TestRenderOnRuntimes(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the real runtimes two dozen times")
	}
	dirs, err := filepath.Glob(filepath.Join("testdata", "render", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("there are no cases: %v", err)
	}
	d := v1alpha1.Definition()
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		for _, dir := range dirs {
			t.Run(filepath.Base(dir), func(t *testing.T) {
				t.Parallel()
				in, vars := readCase(t, d, dir)
				rendered, vs := d.Render(in, vars, contract.RenderOptions{
					Backend: contract.Backend{Type: "local"}, ModuleSource: "./module",
				})
				if len(vs) > 0 {
					t.Fatal(vs)
				}
				root := t.TempDir()
				runtimetest.Write(t, root, map[string]string{
					"main.tf.json":          string(rendered.Root),
					"terraform.tfvars.json": string(rendered.Values),
					"module/main.tf":        echoModule(d.Spec(in.Role()), vars),
				})
				w := runtimetest.Workdir(t, b, root, runtime.WorkdirOptions{})
				if _, err := w.Init(t.Context(), runtime.InitOptions{}); err != nil {
					t.Fatal(err)
				}
				if _, err := w.Apply(t.Context(), runtime.ApplyOptions{}); err != nil {
					t.Fatal(err)
				}
				outputs, err := w.Outputs(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				decoded, vs := contract.Decode(d, in.Role(), contract.Values{Outputs: outputs}, in)
				if len(vs) > 0 {
					t.Fatal(vs)
				}
				if !decoded.Provisioned(true, vs) {
					t.Error("the object is not provisioned")
				}
				compareJSON(t, rendered.Values, []byte(decoded.Condition().Message))
			})
		}
	})
}

func readCase(t *testing.T, d contract.Definition, dir string) (contract.Inputs, []contract.Variable) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "request.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Role      contract.Role              `json:"role"`
		Inputs    map[string]json.RawMessage `json:"inputs"`
		Variables []contract.Variable        `json:"variables"`
	}
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	in, vs := d.DecodeInputs(r.Role, r.Inputs)
	if len(vs) > 0 {
		t.Fatal(vs)
	}
	return in, r.Variables
}

func compareJSON(t *testing.T, want, got []byte) {
	t.Helper()
	wantTree, broken := contract.ParseJSON("want", want)
	if broken != nil {
		t.Fatal(broken)
	}
	gotTree, broken := contract.ParseJSON("got", got)
	if broken != nil {
		t.Fatal(broken)
	}
	if diff := cmp.Diff(wantTree, gotTree); diff != "" {
		t.Errorf("what the module got (-rendered +got):\n%s", diff)
	}
}
