package runner_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/sdk/harness"
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

// TestInitFails: whatever makes init fail keeps the set from being played, with
// the place in the module as the user gave it.
func TestInitFails(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		parts []string
	}{
		"a module with a version that is no registry's": {
			files: map[string]string{
				"machine/main.tf": "module \"net\" {\n  source  = \"./net\"\n  version = \"1.0.0\"\n}\n", "machine/net/net.tf": "",
			},
			parts: []string{"initialising the machine module", "/machine/main.tf:2:13: Invalid registry module source address"},
		},
		"another version is asked for": {
			// OpenTofu heeds it in its own files only.
			files: map[string]string{
				"cluster/versions.tf": "terraform {\n  required_version = \">= 99.1\"\n}\n", "cluster/versions.tofu": "terraform {\n  required_version = \">= 99.1\"\n}\n",
			},
			parts: []string{"initialising the cluster module", "cluster/versions.t", ":2: required_version is \">= 99.1\", and the runtime is ", "--runtime"},
		},
		"a called module asks for another version": {
			files: map[string]string{
				"machine/main.tf": "module \"net\" {\n  source = \"./net\"\n}\n", "machine/net/net.tf": "terraform {\n  required_version = \"~> 0.12\"\n}\n",
				"machine/net/net.tofu": "terraform {\n  required_version = \"~> 0.12\"\n}\n",
			},
			parts: []string{"initialising the machine module", "machine/net/net.t", ":2: required_version is \"~> 0.12\""},
		},
		"a registry that does not answer": {
			files: map[string]string{"machine/main.tf": "module \"net\" {\n  source  = \"registry.invalid/a/b/c\"\n  version = \"1.0.0\"\n}\n"},
			parts: []string{"initialising the machine module", "machine/main.tf:1:1", "registry.invalid"},
		},
	}
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				dir := small(t, tt.files)
				set, err := runner.OpenSet(dir)
				if err != nil {
					t.Fatal(err)
				}
				_, err = runner.New(t.Context(), set, runner.Options{Binary: b, Scratch: t.TempDir(), Definition: versions.Default()})
				if err == nil {
					t.Fatal("it can be played")
				}
				for _, p := range tt.parts {
					if !strings.Contains(err.Error(), p) {
						t.Errorf("%q is not in: %v", p, err)
					}
				}
				if strings.Contains(err.Error(), "../") || strings.Contains(err.Error(), "module.role") {
					t.Errorf("the error names what no author knows: %v", err)
				}
			})
		}
	})
}

// TestHung: a run that is not done in time is the module's failure, and says
// what it was at.
func TestHung(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		r := openRunner(t, b, small(t, map[string]string{"machine/main.tf": `resource "terraform_data" "quick" {}
resource "terraform_data" "slow" {
  input = terraform_data.quick.id
  provisioner "local-exec" {
    command = "exec sleep 300"
  }
}
`}), func(o *runner.Options) { o.StepTimeout = 4 * time.Second })
		run, err := r.Apply(t.Context(), "m", machineInputs("m", nil, true))
		if err != nil {
			t.Fatal(err)
		}
		if !run.Failed || !slices.Equal(run.Hung, []string{"terraform_data.slow"}) {
			t.Fatalf("failed %t, hung at %v", run.Failed, run.Hung)
		}
		if d := run.Diagnostics[0]; !strings.Contains(d.Summary, "not done after 4s") || !strings.Contains(d.Detail, "terraform_data.slow") {
			t.Errorf("first diagnostic %+v", d)
		}
		if got := addresses(run.Resources); !slices.Equal(got, []string{"terraform_data.quick", "terraform_data.slow"}) {
			t.Errorf("resources %v", got)
		}
		if notes := r.Notes(); len(notes) > 0 {
			t.Errorf("an apply that ended in order is noted: %v", notes)
		}
		must(t)(r.Destroy(t.Context(), "m", machineInputs("m", nil, true)))
	})
}

// TestProtected: what is left of a protected object can be destroyed by hand
// with what is told of it, and a protected machine is a failure that leaves nothing.
func TestProtected(t *testing.T) {
	protect := "resource \"terraform_data\" \"x\" {\n  lifecycle {\n    prevent_destroy = true\n  }\n}\n"
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		dir := small(t, map[string]string{
			"machine/main.tf": protect, "cluster/main.tf": "module \"lb\" {\n  source = \"./lb\"\n}\n",
			"cluster/lb/a.tf": protect,
			// Read last: what the harness lifts must win even so.
			"cluster/lb/z_override.tf": protect,
		})
		r := openRunner(t, b, dir, nil)
		if got := r.Module(contract.RoleCluster).Protected; len(got) != 1 || got[0].Address != "module.lb.terraform_data.x" || !strings.HasSuffix(got[0].Range, "cluster/lb/z_override.tf:3") {
			t.Errorf("protected are %v", got)
		}
		must(t)(r.Apply(t.Context(), "c", clusterInputs()))
		left, err := r.Left()
		if err != nil || len(left) != 1 || left[0].First != "" {
			t.Fatalf("left %+v, %v", left, err)
		}
		c := exec.Command("sh", "-c", "cd "+left[0].Dir+" && "+left[0].Env+" "+b.Path+" apply -destroy -auto-approve -no-color")
		c.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.DevNull)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("destroying by hand: %v: %s", err, out)
		}
		must(t)(r.Apply(t.Context(), "c", clusterInputs()))
		must(t)(r.Destroy(t.Context(), "c", clusterInputs()))

		in := machineInputs("m", nil, true)
		must(t)(r.Apply(t.Context(), "m", in))
		run, err := r.Destroy(t.Context(), "m", in)
		if err != nil || !run.Failed || !harness.BlockedByPreventDestroy(run.Diagnostics[0]) || run.Diagnostics[0].Address != "" && run.Diagnostics[0].Address != "terraform_data.x" {
			t.Errorf("run %+v, %v", run, err)
		}
		if left, err := r.Left(); err != nil || len(left) > 0 {
			t.Errorf("left %+v, %v", left, err)
		}
	})
}

// TestProtectedWhereNoCopyWorks: then a person has to lift it.
func TestProtectedWhereNoCopyWorks(t *testing.T) {
	r := openRunner(t, runtimetest.OpenTofu(t), small(t, map[string]string{
		"cluster/main.tf": "resource \"terraform_data\" \"x\" {\n  lifecycle {\n    prevent_destroy = true\n  }\n}\nmodule \"shared\" {\n  source = \"../shared\"\n}\n",
		"shared/x.tf":     "",
	}), nil)
	must(t)(r.Apply(t.Context(), "c", clusterInputs()))
	run, err := r.Destroy(t.Context(), "c", clusterInputs())
	if err != nil || !run.Failed {
		t.Fatalf("run %+v, %v", run, err)
	}
	left, err := r.Left()
	if err != nil || len(left) != 1 || !strings.Contains(left[0].First, "lift prevent_destroy of terraform_data.x") || !strings.Contains(left[0].First, "cluster/main.tf:3") {
		t.Errorf("left %+v, %v", left, err)
	}
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
		// Who plays knows them too, since a module may hand them on.
		if got := r.Module(contract.RoleMachine).Secrets; !slices.Equal(got, []string{"hunter22-hunter22"}) {
			t.Errorf("secrets are %q", got)
		}
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
		"cluster/user.tf": "variable \"region\" {\n  type = string\n}\nvariable \"zones\" {\n  type    = list(string)\n  default = []\n}\n" + `variable "mode" {
  type    = string
  default = "open"
  validation {
    condition     = contains(["open", "closed"], var.mode)
    error_message = "mode must be open or closed."
  }
}
`,
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
		"unknown":              {args: []string{"region=eu", "sise=2"}, problems: []string{"variable sise: no module of the set declares it; declared are mode, policy, region, size, tags, zones"}},
		"unknown for a role":   {args: []string{"region=eu", "cluster.size=2"}, problems: []string{"variable size: the cluster module does not declare it; declared are mode, region, zones"}},
		"no such module":       {args: []string{"region=eu", "machinepool.size=2"}, problems: []string{"the set has no machinepool module"}},
		"of the contract":      {args: []string{"region=eu", "machine_name=x"}, problems: []string{"variable machine_name", "contract"}},
		"reserved":             {args: []string{"region=eu", "captf_tags={}"}, problems: []string{"captf_"}},
		"no number":            {args: []string{"region=eu", "size=big"}, problems: []string{"--var size: variable size of the machine module", "machine/user.tf:5", "a number", "a number is required"}},
		"broken JSON":          {args: []string{"region=eu", `cluster.zones=["s3cr3t"`}, problems: []string{"--var cluster.zones: variable zones of the cluster module", "must be JSON for a list of string", "it ends too early"}},
		"broken in the middle": {args: []string{"region=eu", `zones=["s3cr3t",,]`}, problems: []string{"it breaks at character 11"}},
		"no list":              {args: []string{"region=eu", "zones=12"}, problems: []string{"must be a list of string", "list of string required, but have number"}},
		"inside":               {args: []string{"region=eu", `zones=["a",["s3cr3t"]]`}, problems: []string{"must be a list of string: element 1: string required"}},
		"refused":              {args: []string{"region=eu", "cluster.mode=s3cr3t"}, problems: []string{"--var cluster.mode: the cluster module refuses the value of variable mode (", "cluster/user.tf:8", "mode must be open or closed."}},
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
				if strings.Contains(err.Error(), "s3cr3t") {
					t.Errorf("the error holds the value: %v", err)
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
