package runner_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/sdk/harness/runner"
	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// TestFailures are modules that fail: a result and no error, with the place in
// the module as the user gave it.
func TestFailures(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		// summary and at are those of the first diagnostic; at is a suffix.
		summary, at string
		resources   []string
	}{
		"precondition": {
			files: map[string]string{"machine/main.tf": `resource "terraform_data" "x" {
  lifecycle {
    precondition {
      condition     = var.machine_name != "m"
      error_message = "not this one"
    }
  }
}
`},
			summary: "Resource precondition failed", at: "machine/main.tf:4:23",
		},
		"midway": {
			files: map[string]string{"machine/main.tf": `resource "terraform_data" "x" {}
resource "terraform_data" "y" {
  input = terraform_data.x.id
  lifecycle {
    postcondition {
      condition     = self.id == ""
      error_message = "too late"
    }
  }
}
`},
			summary: "Resource postcondition failed", at: "machine/main.tf:6:23",
			resources: []string{"terraform_data.x", "terraform_data.y"},
		},
		"an export that is not there": {
			files: map[string]string{"machine/main.tf": `resource "terraform_data" "x" {
  input = var.captf_cluster_outputs.lb.target_group
}
`},
			summary: "Unsupported attribute", at: "machine/main.tf:2:39",
		},
		"found by init": {
			files: map[string]string{
				"machine/main.tf": "module \"net\" {\n  source  = \"./net\"\n  version = \"1.0.0\"\n}\n", "machine/net/net.tf": "",
			},
			summary: "Invalid registry module source address", at: "machine/main.tf:2:13",
		},
		"nothing of that name": {
			files:   map[string]string{"machine/main.tf": "resource \"terraform_data\" \"x\" {\n  input = local.nothing\n}\n"},
			summary: "Reference to undeclared local value", at: "machine/main.tf:2:11",
		},
	}
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				r := openRunner(t, b, small(t, tt.files), nil)
				run, err := r.Apply(t.Context(), "m", machineInputs("m", json.RawMessage(`{"lb":{}}`), true))
				if err != nil {
					t.Fatal(err)
				}
				if !run.Failed || len(run.Diagnostics) == 0 {
					t.Fatalf("run %+v", run)
				}
				d := run.Diagnostics[0]
				if d.Severity != "error" || d.Summary != tt.summary || !strings.HasSuffix(d.Range, tt.at) {
					t.Errorf("first diagnostic %+v", d)
				}
				if got := addresses(run.Resources); !slices.Equal(got, tt.resources) {
					t.Errorf("resources %v, want %v", got, tt.resources)
				}
				if run.Values.Declared == nil {
					t.Error("a failed run does not tell which outputs are declared")
				}
			})
		}
	})
}

// TestUndeclared: what the module lacks of the contract is left out of the
// root, so that the run goes on and the harness can name it (harness.md H2).
func TestUndeclared(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		r := openRunner(t, b, small(t, map[string]string{
			"machine/variables.tf": variables("captf_contract", "machine_name"),
			"machine/outputs.tf":   outputs("provider_id", "var.machine_name", "failure_domain", "null", "extra", "1"),
		}), nil)
		run := must(t)(r.Apply(t.Context(), "m", machineInputs("m", nil, true)))
		want := map[string]bool{"provider_id": true, "failure_domain": true, "extra": true}
		if len(run.Values.Declared) != len(want) {
			t.Errorf("declared %v", run.Values.Declared)
		}
		for name := range want {
			if !run.Values.Declared[name] {
				t.Errorf("%s is not declared", name)
			}
		}
		// A null output is in no state; that it is declared, only the module tells.
		if string(run.Values.Outputs["provider_id"]) != `"m"` || len(run.Values.Outputs) != 1 {
			t.Errorf("outputs %s", run.Values.Outputs)
		}
		info := r.Module("machine")
		if info.Variables["bootstrap_data"] != "" || !strings.HasSuffix(info.Variables["machine_name"], "machine/variables.tf:5") {
			t.Errorf("variables %v", info.Variables)
		}
	})
}

// TestNoOutputs: a module without any output still runs.
func TestNoOutputs(t *testing.T) {
	r := openRunner(t, runtimetest.OpenTofu(t), small(t, map[string]string{"machine/outputs.tf": ""}), nil)
	must(t)(r.Apply(t.Context(), "m", machineInputs("m", nil, true)))
}

// TestSecrets: neither the payload nor a sensitive variable shows anywhere but
// where a runtime must have it.
func TestSecrets(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		dir := small(t, map[string]string{"machine/main.tf": `variable "password" {
  type      = string
  sensitive = true
}
resource "terraform_data" "x" {
  lifecycle {
    precondition {
      condition     = var.machine_name == ""
      error_message = "payload ${nonsensitive(base64decode(var.bootstrap_data))}, raw ${nonsensitive(var.bootstrap_data)}, password ${nonsensitive(var.password)}."
    }
  }
}
`})
		r := openRunner(t, b, dir, func(o *runner.Options) {
			o.Variables = []runner.Variable{{Name: "password", Value: "hunter22-hunter22"}}
		})
		in := machineInputs("m", nil, true)
		run, err := r.Apply(t.Context(), "m", in)
		if err != nil || !run.Failed {
			t.Fatalf("%+v %v", run, err)
		}
		text, err := json.Marshal(run.Diagnostics)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"a-very-secret-key", "YS12ZXJ5LXNlY3JldC", "hunter22"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%q shows in %s", secret, text)
			}
		}
		if !strings.Contains(string(text), runtime.Redacted) {
			t.Errorf("nothing was replaced in %s", text)
		}
		err = filepath.WalkDir(r.Scratch(), func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Base(path) == "terraform.tfvars.json" {
				return err
			}
			raw, err := os.ReadFile(path)
			if err == nil && (strings.Contains(string(raw), "a-very-secret-key") || strings.Contains(string(raw), "hunter22")) {
				t.Errorf("a secret shows in %s", path)
			}
			if info, err := e.Info(); err == nil && info.Mode().Perm()&0o077 != 0 && strings.HasSuffix(path, "tfvars.json") {
				t.Errorf("%s has mode %s", path, info.Mode())
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestVariables(t *testing.T) {
	dir := small(t, map[string]string{
		"cluster/user.tf": "variable \"region\" {\n  type = string\n}\nvariable \"zones\" {\n  type    = list(string)\n  default = []\n}\n",
		"machine/user.tf": `variable "region" {
  type    = string
  default = "nowhere"
}
variable "size" {
  type    = number
  default = 1
}
variable "policy" {
  type    = string
  default = ""
}
variable "tags" {
  default = {}
}
resource "terraform_data" "x" {
  input = { region = var.region, size = var.size, policy = var.policy, tags = var.tags }
}
`})
	tests := map[string]struct {
		args []string
		// input is what the machine's resource gets.
		input string
		// problems are parts of the error's lines.
		problems []string
	}{
		"one for all":          {args: []string{"region=eu"}, input: `{"policy":"","region":"eu","size":1,"tags":{}}`},
		"one for a role":       {args: []string{"region=eu", "machine.region=us"}, input: `{"policy":"","region":"us","size":1,"tags":{}}`},
		"the later one":        {args: []string{"region=eu", "region=us"}, input: `{"policy":"","region":"us","size":1,"tags":{}}`},
		"converted":            {args: []string{"region=1", "size=40", `policy={"a":1}`, `tags={"a":1}`}, input: `{"policy":"{\"a\":1}","region":"1","size":40,"tags":{"a":1}}`},
		"text where any":       {args: []string{"region=eu", "tags=a b"}, input: `{"policy":"","region":"eu","size":1,"tags":"a b"}`},
		"an equals sign in it": {args: []string{"region=eu", "policy=a=b"}, input: `{"policy":"a=b","region":"eu","size":1,"tags":{}}`},
		"list":                 {args: []string{"region=eu", `zones=["a"]`}, input: `{"policy":"","region":"eu","size":1,"tags":{}}`},
		"missing":              {problems: []string{"cluster module needs a value for variable region", "cluster/user.tf:1", "--var region=VALUE"}},
		"unknown":              {args: []string{"region=eu", "sise=2"}, problems: []string{"variable sise: no module of the set declares it; declared are policy, region, size, tags, zones"}},
		"unknown for a role":   {args: []string{"region=eu", "cluster.size=2"}, problems: []string{"variable size: the cluster module does not declare it; declared are region, zones"}},
		"no such module":       {args: []string{"region=eu", "machinepool.size=2"}, problems: []string{"the set has no machinepool module"}},
		"of the contract":      {args: []string{"region=eu", "machine_name=x"}, problems: []string{"variable machine_name", "contract"}},
		"reserved":             {args: []string{"region=eu", "captf_tags={}"}, problems: []string{"captf_"}},
		"a fraction":           {args: []string{"region=eu", "size=1.5"}, problems: []string{"variable size of the machine module"}},
	}
	b := runtimetest.OpenTofu(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			set, err := runner.OpenSet(dir)
			if err != nil {
				t.Fatal(err)
			}
			o := runner.Options{Binary: b, Scratch: t.TempDir(), Definition: versions.Default()}
			for _, arg := range tt.args {
				v, err := runner.ParseVariable(arg)
				if err != nil {
					t.Fatal(err)
				}
				o.Variables = append(o.Variables, v)
			}
			r, err := runner.New(t.Context(), set, o)
			if len(tt.problems) > 0 {
				if _, ok := errors.AsType[*runner.VariableError](err); !ok {
					t.Fatalf("error %v", err)
				}
				for _, p := range tt.problems {
					if !strings.Contains(err.Error(), p) {
						t.Errorf("%q is not in %q", p, err)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			run := must(t)(r.Apply(t.Context(), "m", machineInputs("m", nil, false)))
			raw, err := json.Marshal(run.Resources[0].Values["input"])
			if err != nil || string(raw) != tt.input {
				t.Errorf("input %s, want %s (%v)", raw, tt.input, err)
			}
		})
	}
}

func TestParseVariable(t *testing.T) {
	for arg, part := range map[string]string{
		"region": "NAME=VALUE", "=x": "no name", "node.size=1": "cluster, machine, machinepool", "machine.=x": "no name",
	} {
		if v, err := runner.ParseVariable(arg); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %+v, %v", arg, v, err)
		}
	}
}

func TestOpenSet(t *testing.T) {
	dir := small(t, nil)
	tests := map[string]struct {
		prepare func(t *testing.T) string
		parts   []string
	}{
		"missing":  {func(*testing.T) string { return filepath.Join(dir, "nowhere") }, []string{"nowhere", "no such file"}},
		"a file":   {func(*testing.T) string { return filepath.Join(dir, "cluster/outputs.tf") }, []string{"outputs.tf", "not a directory"}},
		"a module": {func(*testing.T) string { return filepath.Join(dir, "cluster") }, []string{"no directory cluster and no directory machine", "looks like a module itself", "--cluster"}},
		"empty":    {func(t *testing.T) string { return t.TempDir() }, []string{"no directories at all"}},
		"other names": {func(t *testing.T) string {
			d := t.TempDir()
			runtimetest.Write(t, d, map[string]string{"cluster/x.tf": "", "node/x.tf": ""})
			return d
		}, []string{"no directory machine;", "it has cluster, node", "--machine"}},
		"no module files": {func(t *testing.T) string {
			d := small(t, nil)
			for _, f := range []string{"variables.tf", "outputs.tf"} {
				if err := os.Remove(filepath.Join(d, "machine", f)); err != nil {
					t.Fatal(err)
				}
			}
			return d
		}, []string{"opening the machine module", "machine"}},
		"not to be parsed, both": {func(t *testing.T) string {
			return small(t, map[string]string{"cluster/x.tf": "resource {", "machine/y.tf": "\nvariable \"a\" {"})
		}, []string{"cluster/x.tf:1", "machine/y.tf:2"}},
		"a call that leads nowhere": {func(t *testing.T) string {
			return small(t, map[string]string{"machine/x.tf": "module \"net\" {\n  source = \"./nowhere\"\n}\n"})
		}, []string{"machine/x.tf:2", `module "net"`, "./nowhere"}},
		"a file named as a role": {func(t *testing.T) string {
			d := t.TempDir()
			runtimetest.Write(t, d, map[string]string{"cluster": "", "machine/x.tf": ""})
			return d
		}, []string{"cluster is not a directory"}},
		"declaration": {func(t *testing.T) string {
			return small(t, map[string]string{"machine/captf-harness.json": "{\n  \"membership\": {},\n  \"x\": 1\n}\n"})
		}, []string{`captf-harness.json:3:3: unknown key "x"`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := runner.OpenSet(tt.prepare(t))
			if err == nil {
				t.Fatal("it opened")
			}
			for _, p := range tt.parts {
				if !strings.Contains(err.Error(), p) {
					t.Errorf("%q is not in: %v", p, err)
				}
			}
		})
	}
}

// TestLinkedDirectories: links in the way to modules or scratch make no difference.
func TestLinkedDirectories(t *testing.T) {
	dir := small(t, map[string]string{"machine/main.tf": "resource \"terraform_data\" \"x\" {}\n"})
	base := t.TempDir()
	link := filepath.Join(base, "a", "b", "set")
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	scratch := filepath.Join(base, "scratch")
	if err := errors.Join(os.Symlink(dir, link), os.Symlink(t.TempDir(), scratch)); err != nil {
		t.Fatal(err)
	}
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		r := openRunner(t, b, link, func(o *runner.Options) { o.Scratch = filepath.Join(scratch, string(b.Kind)) })
		must(t)(r.Apply(t.Context(), "m", machineInputs("m", nil, false)))
		if got := r.Module("machine").Outputs["health"]; !strings.HasPrefix(got, link) {
			t.Errorf("the output is at %s, which is not as the set was given", got)
		}
	})
}

// TestUnreadableState: a state that cannot be read may hold anything.
func TestUnreadableState(t *testing.T) {
	r := openRunner(t, runtimetest.OpenTofu(t), small(t, nil), nil)
	must(t)(r.Apply(t.Context(), "m", machineInputs("m", nil, false)))
	path := filepath.Join(r.Scratch(), "machine", "m", "terraform.tfstate")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	left, err := r.Left()
	if err == nil || len(left) != 1 || left[0].Object != "TerraformMachine/m" {
		t.Errorf("a state that cannot be read counts as nothing: %v %v", left, err)
	}
}
