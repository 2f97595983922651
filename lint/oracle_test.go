package lint_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// declaredTypes are types that a module may declare for contract inputs, and
// what input/type says; "" is nothing.
var declaredTypes = []struct {
	role     contract.Role
	input    string
	typ      string
	severity lint.Severity
}{
	{contract.RoleMachine, "machine_name", "string", ""},
	{contract.RoleMachine, "machine_name", "any", ""},
	{contract.RoleMachine, "machine_name", "number", lint.SeverityError},
	{contract.RoleMachine, "machine_name", "list(string)", lint.SeverityError},
	{contract.RoleMachine, "control_plane", "string", lint.SeverityWarning},
	{contract.RoleMachine, "control_plane", "number", lint.SeverityError},
	{contract.RoleMachinePool, "replicas", "string", lint.SeverityWarning},
	{contract.RoleMachinePool, "replicas", "bool", lint.SeverityError},
	{contract.RoleMachine, "captf_cluster", "object({ name = string })", ""},
	{contract.RoleMachine, "captf_cluster", "object({ name = string, uid = optional(string) })", ""},
	{contract.RoleMachine, "captf_cluster", "object({ name = string, uid = string })", lint.SeverityError},
	{contract.RoleMachine, "captf_cluster", "map(string)", lint.SeverityWarning},
	{contract.RoleMachine, "captf_cluster", "map(any)", lint.SeverityWarning},
	{contract.RoleMachine, "captf_cluster", "map(number)", lint.SeverityError},
	{contract.RoleMachine, "captf_cluster", "list(string)", lint.SeverityError},
	{contract.RoleMachine, "captf_cluster", "string", lint.SeverityError},
	{contract.RoleMachine, "captf_tags", "map(any)", ""},
	{contract.RoleMachine, "captf_tags", "map(number)", lint.SeverityError},
	{contract.RoleMachine, "captf_tags", "object({})", lint.SeverityWarning},
	{contract.RoleMachine, "captf_tags", "object({ owner = string })", lint.SeverityError},
	{contract.RoleMachinePool, "autoscaling", "map(any)", lint.SeverityError},
	{contract.RoleMachinePool, "autoscaling", "map(string)", lint.SeverityWarning},
	{contract.RoleMachinePool, "autoscaling", "map(number)", lint.SeverityError},
	{contract.RoleMachinePool, "failure_domains", "list(any)", ""},
	{contract.RoleMachinePool, "failure_domains", "set(string)", lint.SeverityWarning},
	{contract.RoleMachinePool, "failure_domains", "tuple([string])", lint.SeverityError},
	{contract.RoleMachinePool, "failure_domains", "map(string)", lint.SeverityError},
	{contract.RoleMachinePool, "node_labels", "object({})", lint.SeverityWarning},
	{contract.RoleMachinePool, "node_labels", "map(number)", lint.SeverityError},
	{contract.RoleCluster, "cluster_network", "map(any)", lint.SeverityError},
	{contract.RoleCluster, "cluster_network", "map(string)", lint.SeverityError},
	{contract.RoleCluster, "cluster_network", "object({ pods = set(string) })", lint.SeverityWarning},
	{contract.RoleCluster, "cluster_network", "object({ pods = list(string), mtu = number })", lint.SeverityError},
	{contract.RoleCluster, "control_plane_endpoint", "map(any)", lint.SeverityWarning},
	{contract.RoleCluster, "control_plane_endpoint", "map(string)", lint.SeverityWarning},
	{contract.RoleMachine, "captf_cluster_outputs", "map(string)", lint.SeverityWarning},
}

// values are what the generated root passes, without types: the least friendly
// ones that the contract allows.
var values = map[string]string{
	"machine_name": `"node-1"`, "control_plane": "true", "replicas": "3",
	"captf_cluster":          `{ name = "a", namespace = "b" }`,
	"captf_tags":             `{ "captf.io/cluster" = "a", "captf.io/template" = "" }`,
	"autoscaling":            `{ enabled = false, min = 0, max = 0 }`,
	"failure_domains":        `["a", "b"]`,
	"node_labels":            `{ "example.com/role" = "x" }`,
	"cluster_network":        `{ pods = ["10.0.0.0/8"], services = [], service_domain = null, api_server_port = 6443 }`,
	"control_plane_endpoint": `{ host = "a", port = 6443 }`,
	"captf_cluster_outputs":  `{ network = "x" }`,
}

// TestTypesAgreeWithTheRuntimes plans a call for every row: a type that is an
// error must fail there, and all others must not.
func TestTypesAgreeWithTheRuntimes(t *testing.T) {
	for i, row := range declaredTypes {
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "main.tf"), declaration(row.input, row.typ))
		var got lint.Severity
		for _, f := range run(t, dir, row.role).Findings {
			if f.ID == "input/type" {
				got = f.Severity
			}
		}
		if got != row.severity {
			t.Errorf("row %d: %s as %s is %q, want %q", i, row.input, row.typ, got, row.severity)
		}
	}
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		dir := t.TempDir()
		for i, row := range declaredTypes {
			name := fmt.Sprintf("row%d", i)
			writeFile(t, filepath.Join(dir, name, "main.tf"), declaration(row.input, row.typ))
			// Through a variable without a type, as the generated root does it.
			writeFile(t, filepath.Join(dir, name+".tf"), fmt.Sprintf(
				"variable %q {\n  default = %s\n}\n\nmodule %q {\n  source = \"./%s\"\n  %s = var.%s\n}\n",
				name, values[row.input], name, name, row.input, name))
		}
		failed := planFailures(t, b, dir)
		for i, row := range declaredTypes {
			want := row.severity == lint.SeverityError
			if got := failed[fmt.Sprintf("row%d", i)]; got != want {
				t.Errorf("row %d: %s as %s: the runtime fails: %v, input/type says %q", i, row.input, row.typ, got, row.severity)
			}
		}
	})
}

func declaration(name, typ string) string {
	return fmt.Sprintf("variable %q {\n  type = %s\n}\n\noutput \"x\" {\n  value = var.%s\n}\n", name, typ, name)
}

// planFailures plans a root and returns the modules, by name, in which an error
// lies, or in the file of the same name that calls them.
func planFailures(t *testing.T, b *runtime.Binary, dir string) map[string]bool {
	t.Helper()
	config := filepath.Join(t.TempDir(), "cli.tfrc")
	writeFile(t, config, "")
	command := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), b.Path, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+config, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1")
		out, err := cmd.Output()
		return string(out), err
	}
	if out, err := command("get", "-no-color"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, _ := command("plan", "-json", "-input=false")
	failed := map[string]bool{}
	for line := range strings.Lines(out) {
		var msg struct {
			Diagnostic *struct {
				Severity string
				Summary  string
				Range    *struct{ Filename string }
			}
		}
		if err := json.NewDecoder(bytes.NewReader([]byte(line))).Decode(&msg); err != nil || msg.Diagnostic == nil || msg.Diagnostic.Severity != "error" {
			continue
		}
		if msg.Diagnostic.Range == nil {
			t.Fatalf("an error without a place: %s", msg.Diagnostic.Summary)
		}
		// OpenTofu points at the variable, Terraform at the argument.
		place, _, _ := strings.Cut(filepath.ToSlash(msg.Diagnostic.Range.Filename), "/")
		failed[strings.TrimSuffix(place, ".tf")] = true
	}
	return failed
}

// TestEphemeralAndNullableAgreeWithTheRuntimes checks the two checks whose
// errors say that a run fails for certain.
func TestEphemeralAndNullableAgreeWithTheRuntimes(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		for name, files := range map[string][2]string{
			"nullable": {
				"variable \"a\" {\n  type     = string\n  nullable = false\n}\n",
				"variable \"a\" {\n  default = null\n}\n\nmodule \"m\" {\n  source = \"./nullable\"\n  a      = var.a\n}\n",
			},
			"ephemeral": {
				"output \"x\" {\n  value     = \"x\"\n  ephemeral = true\n}\n",
				"module \"m\" {\n  source = \"./ephemeral\"\n}\n\noutput \"x\" {\n  value     = module.m.x\n  sensitive = true\n}\n",
			},
		} {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, name, "main.tf"), files[0])
			writeFile(t, filepath.Join(dir, name+".tf"), files[1])
			if !planFailures(t, b, dir)[name] {
				t.Errorf("the run with the %s module does not fail", name)
			}
		}
	})
}
