package runner_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// small makes a set in a temporary directory; files are added to the smallest
// modules that work, or replace theirs.
func small(t testing.TB, files map[string]string) string {
	t.Helper()
	all := map[string]string{
		"cluster/variables.tf": variables("captf_contract", "captf_cluster", "captf_object", "captf_tags",
			"control_plane_endpoint", "kubernetes_version", "control_plane_initialized", "cluster_network"),
		"cluster/outputs.tf": outputs("control_plane_endpoint", `{ host = "203.0.113.1", port = 6443 }`, "failure_domains", "null",
			"exports", `{ lb = { id = "lb-1" } }`, "health", `{ state = "running", healthy = true }`),
		"machine/variables.tf": variables("captf_contract", "captf_cluster", "captf_object", "captf_tags", "captf_cluster_outputs",
			"machine_name", "bootstrap_data", "bootstrap_format", "failure_domain", "kubernetes_version", "control_plane"),
		"machine/outputs.tf": outputs("provider_id", `"small:///${var.machine_name}"`, "addresses", "[]",
			"failure_domain", "var.failure_domain", "interruptible", "false", "health", `{ state = "running", healthy = true }`),
	}
	maps.Copy(all, files)
	dir := t.TempDir()
	runtimetest.Write(t, dir, all)
	return dir
}

func variables(names ...string) string {
	var b strings.Builder
	for _, n := range names {
		b.WriteString("variable \"" + n + "\" {\n  default = null\n  sensitive = " + map[bool]string{true: "true", false: "false"}[n == "bootstrap_data"] + "\n}\n")
	}
	return b.String()
}

func outputs(pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		b.WriteString("output \"" + pairs[i] + "\" {\n  value = " + pairs[i+1] + "\n}\n")
	}
	return b.String()
}

func TestPartialApply(t *testing.T) {
	nested := map[string]string{
		"machine/net/net.tf": "resource \"terraform_data\" \"port\" {}\noutput \"id\" {\n  value = terraform_data.port.id\n}\n",
	}
	tests := map[string]struct {
		files map[string]string
		// left are the resources after the broken apply.
		left []string
		none bool
		// both tells that the case runs on both runtimes.
		both bool
	}{
		"first of a chain": {
			both: true,
			files: map[string]string{"machine/main.tf": `
				resource "terraform_data" "a_last" { input = local.middle }
				locals { middle = terraform_data.middle.id }
				resource "terraform_data" "middle" { input = terraform_data.z_first.id }
				resource "terraform_data" "z_first" { input = var.machine_name }`},
			left: []string{"terraform_data.z_first"},
		},
		"not one that may be absent": {
			files: map[string]string{"machine/main.tf": `
				resource "terraform_data" "maybe" {
					count = var.control_plane ? 1 : 0
				}
				resource "terraform_data" "sure" { input = 1 }`},
			left: []string{"terraform_data.sure"},
		},
		"only in a local module": {
			files: map[string]string{"machine/main.tf": "module \"net\" {\n  source = \"./net\"\n}\n", "machine/net/net.tf": nested["machine/net/net.tf"]},
			left:  []string{"module.net.terraform_data.port"},
		},
		"its needs come along": {
			both: true,
			files: map[string]string{"machine/main.tf": `
				module "net" { source = "./net" }
				resource "terraform_data" "instance" { input = module.net.id }`, "machine/net/net.tf": nested["machine/net/net.tf"]},
			left: []string{"module.net.terraform_data.port", "terraform_data.instance"},
		},
		"nothing to break after": {none: true},
		"calls a module outside": {
			files: map[string]string{"machine/main.tf": "resource \"terraform_data\" \"x\" {}\nmodule \"net\" {\n  source = \"../shared\"\n}\n",
				"shared/net.tf": nested["machine/net/net.tf"]},
			none: true,
		},
	}
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		for name, tt := range tests {
			if b.Kind == runtime.Terraform && !tt.both {
				continue // where the fault goes is found without a runtime
			}
			t.Run(name, func(t *testing.T) {
				r := openRunner(t, b, small(t, tt.files), nil)
				in := machineInputs("m", json.RawMessage(`{}`), true)
				run, ok, err := r.PartialApply(t.Context(), "m", in)
				if err != nil {
					t.Fatal(err)
				}
				if tt.none {
					if ok {
						t.Fatalf("it went ahead: %+v", run)
					}
					return
				}
				if !ok || !run.Failed {
					t.Fatalf("ok %t, run %+v", ok, run)
				}
				if got := addresses(run.Resources); !slices.Equal(got, tt.left) {
					t.Errorf("left behind: %v, want %v", got, tt.left)
				}
				if !strings.Contains(run.Diagnostics[0].Detail, "on purpose") {
					t.Errorf("the first diagnostic is %+v", run.Diagnostics[0])
				}
				// The module itself takes over what was left, both ways.
				run = must(t)(r.Destroy(t.Context(), "m", in))
				if len(run.Resources) != 0 {
					t.Errorf("left after destroy: %v", addresses(run.Resources))
				}
				if _, _, err := r.PartialApply(t.Context(), "m", in); err != nil {
					t.Fatal(err)
				}
				must(t)(r.Apply(t.Context(), "m", in))
			})
		}
	})
}

// TestPartialApplyCopies looks at what of a module's directory is copied.
func TestPartialApplyCopies(t *testing.T) {
	dir := small(t, map[string]string{
		"machine/main.tf":                "resource \"terraform_data\" \"x\" {\n  input = file(\"${path.module}/linked.txt\")\n}\n",
		"machine/text.txt":               "hello",
		"machine/.terraform/old":         "x",
		"machine/.git/config":            "x",
		"machine/terraform.tfstate":      "{}",
		"machine/terraform.tfstate.bak":  "{}",
		"machine/scripts/boot.sh":        "#!/bin/sh\n",
		"machine/templates/cloud.tftpl":  "x",
		"machine/tests/some.tftest.hcl":  "",
		"outside/secret.txt":             "secret",
		"machine/.terraform.lock.hcl":    "# versions that were tested\n",
		"machine/captf-harness.json":     `{"membership":{"pattern":"C"}}`,
		"machine/templates/.hidden.yaml": "x",
	})
	if err := os.Chmod(filepath.Join(dir, "machine/scripts/boot.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("text.txt", filepath.Join(dir, "machine/linked.txt")); err != nil {
		t.Fatal(err)
	}
	b := runtimetest.OpenTofu(t)
	r := openRunner(t, b, dir, nil)
	in := machineInputs("m", nil, false)
	run, ok, err := r.PartialApply(t.Context(), "m", in)
	if err != nil || !ok || len(run.Resources) != 1 {
		t.Fatalf("%+v %t %v", run, ok, err)
	}
	var got []string
	root := filepath.Join(r.Scratch(), "machine", ".fault", "module")
	err = filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(root, path)
			got = append(got, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{".terraform.lock.hcl", "captf-harness.json", "captf_fault.tf.json", "linked.txt", "main.tf", "outputs.tf",
		"scripts/boot.sh", "templates/.hidden.yaml", "templates/cloud.tftpl", "tests/some.tftest.hcl", "text.txt", "variables.tf"}
	if !slices.Equal(got, want) {
		t.Errorf("copied %q, want %q", got, want)
	}
	// The module's own lock file is what every root starts from.
	if lock, err := os.ReadFile(filepath.Join(r.Scratch(), "machine", "m", ".terraform.lock.hcl")); err != nil || !strings.Contains(string(lock), "versions that were tested") {
		t.Errorf("lock file of an object: %q %v", lock, err)
	}
	if info, err := os.Stat(filepath.Join(root, "scripts/boot.sh")); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("the script lost its permission: %v %v", info, err)
	}

	// A link that leads outside makes a module that works nowhere else.
	if err := os.Symlink("../outside/secret.txt", filepath.Join(dir, "machine/escape.txt")); err != nil {
		t.Fatal(err)
	}
	r = openRunner(t, b, dir, nil)
	if run, ok, err := r.PartialApply(t.Context(), "m", in); ok || err != nil {
		t.Errorf("with a link outside: %+v %t %v", run, ok, err)
	}
}

func TestNothingIsLeftInTheModule(t *testing.T) {
	dir := small(t, map[string]string{"machine/main.tf": "resource \"terraform_data\" \"x\" {}\n"})
	before := files(t, dir)
	r := openRunner(t, runtimetest.OpenTofu(t), dir, nil)
	in := machineInputs("m", nil, false)
	if _, _, err := r.PartialApply(t.Context(), "m", in); err != nil {
		t.Fatal(err)
	}
	must(t)(r.Apply(t.Context(), "m", in))
	must(t)(r.Apply(t.Context(), "c", &contract.ClusterInputs{CommonInputs: common("c")}))
	if after := files(t, dir); !slices.Equal(before, after) {
		t.Errorf("before %v, after %v", before, after)
	}
}

func files(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		out = append(out, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
