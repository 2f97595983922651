package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/images/smoke"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// envCaptf makes the test binary the command itself, for tests that need a
// process of its own: signals, and what is left behind.
const envCaptf = "CAPTF_TEST_MAIN"

func TestMain(m *testing.M) {
	smoke.Init()
	if os.Getenv(envCaptf) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

const noop = "../../../modules/noop"

// tiny is the smallest set that lives; files are added or replace its own.
func tiny(t testing.TB, files map[string]string) string {
	t.Helper()
	variables := func(names ...string) string {
		var b strings.Builder
		for _, n := range names {
			fmt.Fprintf(&b, "variable %q {\n  default = null\n}\n", n)
		}
		return b.String()
	}
	all := map[string]string{
		"cluster/main.tf": variables("captf_contract", "captf_cluster", "captf_object", "captf_tags",
			"control_plane_endpoint", "kubernetes_version", "control_plane_initialized", "cluster_network") + `
resource "terraform_data" "network" {
  input = var.captf_tags
}
output "control_plane_endpoint" {
  value = { host = "203.0.113.1", port = 6443 }
}
output "failure_domains" {
  value = null
}
output "exports" {
  value = { network_id = terraform_data.network.id }
}
output "health" {
  value = { state = "running", healthy = true }
}
`,
		"machine/main.tf": variables("captf_contract", "captf_cluster", "captf_object", "captf_tags", "captf_cluster_outputs",
			"machine_name", "bootstrap_data", "bootstrap_format", "failure_domain", "kubernetes_version", "control_plane") + `
output "provider_id" {
  value = "tiny:///${terraform_data.instance.input}"
}
output "addresses" {
  value = [{ type = "InternalIP", address = "192.0.2.1" }]
}
output "failure_domain" {
  value = var.failure_domain
}
output "interruptible" {
  value = false
}
output "health" {
  value = { state = "running", healthy = true }
}
`,
		"machine/instance.tf": "resource \"terraform_data\" \"instance\" {\n  input = var.machine_name\n}\n",
	}
	maps.Copy(all, files)
	dir := t.TempDir()
	runtimetest.Write(t, dir, all)
	return dir
}

// fake writes a runtime: a shell script that is a good OpenTofu until the case
// in its body says otherwise. $real is OpenTofu.
func fake(t testing.TB, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tofu")
	script := "#!/bin/sh\nreal=" + runtimetest.OpenTofu(t).Path + "\ncase \"$1\" in\n" + body + "\nversion) echo 'OpenTofu v1.12.6'; exit 0 ;;\nesac\nexec \"$real\" \"$@\"\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// scratchDir makes an empty directory the one for temporary files.
func scratchDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	return dir
}

func checkEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("left in the directory for temporary files: %v %v", entries, err)
	}
}

// checkNamed checks that everything in dir that a text names is there to be
// read, and that nothing is kept for nothing. A run that was kept for an error
// holds no resources.
func checkNamed(t *testing.T, dir, text string) {
	t.Helper()
	named := false
	for _, field := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t\n\"'()", c) }) {
		if path := strings.TrimRight(field, ":;,."); strings.HasPrefix(path, dir+"/") {
			named = true
			if _, err := os.Stat(path); err != nil {
				t.Errorf("what is named is not there: %v", err)
			}
		}
	}
	if !named {
		checkEmpty(t, dir)
	}
}

// TestHarnessLife plays everything on OpenTofu, and the beginning on Terraform:
// that both run the same life is tested with the simulation.
func TestHarnessLife(t *testing.T) {
	for n, b := range runtimetest.Binaries(t) {
		scenario := []string{"life", "K2"}[n]
		t.Run(string(b.Kind), func(t *testing.T) {
			tmp := scratchDir(t)
			code, stdout, stderr := captf(t, "harness", "run", "--runtime", b.Path, "--scenario", scenario, "--output", "json", noop)
			if code != exitOK {
				t.Fatalf("exit %d\n%s\n%s", code, stdout, stderr)
			}
			var r harness.Result
			if err := json.Unmarshal([]byte(stdout), &r); err != nil {
				t.Fatal(err)
			}
			if r.Verdict != harness.VerdictPassed || r.Scenario != scenario || r.Runtime != b.String() || len(r.Left) > 0 || r.Kept != "" {
				t.Errorf("result %+v", r)
			}
			// One line a step; how long objects waited at gates is known only afterwards, and not told while it is played.
			told := 0
			for _, s := range r.Steps {
				if s.Gate == "" {
					told++
				}
			}
			if lines := strings.Count(stderr, "\n"); lines != told || lines == 0 {
				t.Errorf("%d lines for %d steps:\n%s", lines, told, stderr)
			}
			if r.Timing.Runtime <= 0 || r.Timing.Runtime > r.Timing.Total {
				t.Errorf("timing %+v", r.Timing)
			}
			checkEmpty(t, tmp)
		})
	}
}

func TestHarnessScenarios(t *testing.T) {
	tofu := runtimetest.OpenTofu(t).Path
	tmp := scratchDir(t)
	dir := tiny(t, nil)
	code, stdout, stderr := captf(t, "harness", "run", "--runtime", tofu, "--scenario", "k1,K11", "-o", "json", "--no-progress",
		"--cluster", filepath.Join(dir, "cluster"), "--machine", filepath.Join(dir, "machine"), "--user-endpoint", "[2001:db8::1]:443", "--seed", "7")
	var list []harness.Result
	if err := json.Unmarshal([]byte(stdout), &list); err != nil {
		t.Fatalf("exit %d: %v: %s %s", code, err, stdout, stderr)
	}
	if len(list) != 2 || list[0].Scenario != "K1" || list[1].Scenario != "K11" || list[1].Seed != 7 || stderr != "" {
		t.Errorf("%d results, stderr %q", len(list), stderr)
	}
	checkEmpty(t, tmp)
}

// TestHarnessRKE2: the second control plane is played with the registration method that is asked for.
func TestHarnessRKE2(t *testing.T) {
	code, stdout, stderr := captf(t, "harness", "run", "--runtime", runtimetest.OpenTofu(t).Path, "--control-plane", "rke2", "--scenario", "R10",
		"--registration-method", "external-only-ips", "-o", "json", "--no-progress", tiny(t, nil))
	var r harness.Result
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("exit %d: %v: %s", code, err, stderr)
	}
	at := slices.IndexFunc(r.Requirements, func(q harness.Requirement) bool { return q.ID == "CP-043" })
	if code != exitFailed || r.ControlPlane != "rke2" || at < 0 || r.Requirements[at].Status != harness.StatusFailed || !strings.Contains(r.Requirements[at].Reason, "external-only-ips needs an ExternalIP") {
		t.Errorf("exit %d, control plane %s: %s", code, r.ControlPlane, stdout)
	}
}

// TestHarnessFails: what a module does wrong is exit code 1, and named.
func TestHarnessFails(t *testing.T) {
	tofu := runtimetest.OpenTofu(t).Path
	without := tiny(t, nil)
	main := filepath.Join(without, "machine", "main.tf")
	text, err := os.ReadFile(main)
	if err != nil {
		t.Fatal(err)
	}
	cut := strings.Replace(string(text), "output \"provider_id\" {\n  value = \"tiny:///${terraform_data.instance.input}\"\n}\n", "", 1)
	if cut == string(text) {
		t.Fatal("the output was not found")
	}
	if err := os.WriteFile(main, []byte(cut), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		dir   string
		args  []string
		parts []string
	}{
		"an output is missing": {dir: without, parts: []string{"FAILED", "contract/provider_id", "provider_id"}},
		"an output has the wrong shape": {
			dir:   tiny(t, map[string]string{"cluster/outputs_override.tf": "output \"health\" {\n  value = \"fine\"\n}\n"}),
			parts: []string{"FAILED", "contract/health"},
		},
		"an apply fails": {
			dir: tiny(t, map[string]string{"machine/instance.tf": `resource "terraform_data" "instance" {
  input = var.machine_name
  lifecycle {
    precondition {
      condition     = var.machine_name == ""
      error_message = "no machine today"
    }
  }
}
`}),
			parts: []string{"FAILED", "no machine today", "machine/instance.tf:5:23"},
		},
		"an apply hangs": {
			dir:   tiny(t, map[string]string{"machine/instance.tf": "resource \"terraform_data\" \"instance\" {\n  input = var.machine_name\n  provisioner \"local-exec\" {\n    command = \"exec sleep 300\"\n  }\n}\n"}),
			args:  []string{"--step-timeout", "5s"},
			parts: []string{"FAILED", "module/apply", "not done after 5s, and interrupted: it was still at work on terraform_data.instance", "raise --step-timeout"},
		},
		"a machine is protected": {
			dir:   tiny(t, map[string]string{"machine/instance.tf": "resource \"terraform_data\" \"instance\" {\n  input = var.machine_name\n  lifecycle {\n    prevent_destroy = true\n  }\n}\n"}),
			parts: []string{"FAILED", "CP-039", "remove prevent_destroy of terraform_data.instance", "machine/instance.tf:4"},
		},
		"as JUnit":    {dir: without, args: []string{"-o", "junit"}, parts: []string{"<?xml", `<testcase name="contract/provider_id`, "<failure"}},
		"no progress": {dir: without, args: []string{"--no-progress"}, parts: []string{"FAILED"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tmp := scratchDir(t)
			code, stdout, stderr := captf(t, append([]string{"harness", "run", "--runtime", tofu, "--scenario", "K1", tt.dir}, tt.args...)...)
			if code != exitFailed || strings.Contains(stderr, "Error:") {
				t.Errorf("exit %d, stderr %s", code, stderr)
			}
			for _, p := range tt.parts {
				if !strings.Contains(stdout, p) {
					t.Errorf("%q is not in the result:\n%s", p, stdout)
				}
			}
			checkEmpty(t, tmp)
		})
	}
}

func TestHarnessUsage(t *testing.T) {
	set := tiny(t, map[string]string{
		"machine/user.tf": "variable \"size\" {\n  type = string\n}\n",
		"cluster/user.tf": `variable "zones" {
  type    = list(string)
  default = []
}
variable "mode" {
  default = "open"
  validation {
    condition     = var.mode == "open"
    error_message = "mode must be open."
  }
}
`,
	})
	tofu := runtimetest.OpenTofu(t).Path
	tests := map[string]struct {
		args  []string
		parts []string
	}{
		"no modules":                      {nil, []string{"SET_DIR", "--cluster DIR"}},
		"only one role":                   {[]string{"--cluster", "x"}, []string{"--machine DIR"}},
		"both ways":                       {[]string{"--cluster", "x", "--machine", "y", "z"}, []string{"not both"}},
		"two sets":                        {[]string{"a", "b"}, []string{"there are 2 arguments"}},
		"empty name":                      {[]string{""}, []string{"empty string"}},
		"control plane":                   {[]string{"--control-plane", "k3s", "x"}, []string{`"k3s"`, "kcp"}},
		"scenario":                        {[]string{"--scenario", "K99", "x"}, []string{`"K99"`, "life", "K10"}},
		"scenario of rke2":                {[]string{"--scenario", "R1", "x"}, []string{`"R1"`, "it is one of --control-plane rke2"}},
		"scenario nearly":                 {[]string{"--scenario", "fault-kiled", "x"}, []string{"the nearest is fault-killed;"}},
		"all and one":                     {[]string{"--all", "--scenario", "K1", "x"}, []string{"exclude each other"}},
		"output":                          {[]string{"-o", "yaml", "x"}, []string{"text, json, junit"}},
		"interrupt":                       {[]string{"--on-interrupt", "panic", "x"}, []string{"destroy or keep"}},
		"endpoint":                        {[]string{"--user-endpoint", "example.com", "x"}, []string{"HOST:PORT"}},
		"endpoint port":                   {[]string{"--user-endpoint", "example.com:0", "x"}, []string{"1 to 65535"}},
		"endpoint port words":             {[]string{"--user-endpoint", "example.com:https", "x"}, []string{"1 to 65535"}},
		"variable":                        {[]string{"--var", "size", "x"}, []string{"NAME=VALUE"}},
		"allow":                           {[]string{"--allow", "CP-999", "x"}, []string{"CP-999", "the nearest is CP-0"}},
		"allow nonsense":                  {[]string{"--allow", "contract/nonsense", "x"}, []string{`"contract/nonsense"`, "the nearest is contract/", "module/apply"}},
		"allow module":                    {[]string{"--allow", "module/x", "x"}, []string{`"module/x"`}},
		"allow lower case":                {[]string{"--allow", "cp-042", "x"}, []string{"the nearest is CP-042;"}},
		"runtime empty":                   {[]string{"--runtime", "", "x"}, []string{`--runtime ""`}},
		"seed negative":                   {[]string{"--seed", "-1", "x"}, []string{`parsing --seed "-1": it must be a whole number that is not negative`}},
		"timeout words":                   {[]string{"--timeout", "long", "x"}, []string{`parsing --timeout "long": it must be a duration`}},
		"allow nothing":                   {[]string{"--allow", "", "x"}, []string{`--allow ""`}},
		"no scenario":                     {[]string{"--scenario", "", "x"}, []string{`--scenario ""`}},
		"registration of kcp":             {[]string{"--registration-method", "address", "x"}, []string{`"address"`, "kcp has none"}},
		"registration unknown":            {[]string{"--control-plane", "rke2", "--registration-method", "internal", "x"}, []string{`"internal"`, "internal-first"}},
		"registration empty":              {[]string{"--control-plane", "rke2", "--registration-method", "", "x"}, []string{`--registration-method ""`}},
		"registration without a host":     {[]string{"--control-plane", "rke2", "--registration-method", "address", "x"}, []string{"--registration-address HOST"}},
		"registration host in vain":       {[]string{"--control-plane", "rke2", "--registration-address", "a.example.com", "x"}, []string{"takes a host"}},
		"registration host with a port":   {[]string{"--control-plane", "rke2", "--registration-method", "address", "--registration-address", "a:9345", "x"}, []string{`"a:9345"`, "port"}},
		"registration against a scenario": {[]string{"--control-plane", "rke2", "--registration-method", "internal-first", "--scenario", "R3-external-only-ips", "x"}, []string{"R3-external-only-ips", "external-only-ips"}},
		"scenario of another plane":       {[]string{"--control-plane", "rke2", "--scenario", "life", "x"}, []string{`"life"`, "rke2-life"}},
		"timeout":                         {[]string{"--timeout", "-1s", "x"}, []string{"negative"}},
		"contract":                        {[]string{"--contract", "v9", "x"}, []string{"v1alpha1"}},
		"required variable":               {[]string{set}, []string{"machine module needs a value for variable size", "machine/user.tf:1", "--var size=VALUE"}},
		"variable's type":                 {[]string{"--var", "size=1", "--var", `cluster.zones=["a"`, set}, []string{"--var cluster.zones: variable zones of the cluster module", "cluster/user.tf:1", "it ends too early"}},
		"variable refused":                {[]string{"--var", "size=1", "--var", "mode=shut", set}, []string{"--var mode: the cluster module refuses the value of variable mode", "cluster/user.tf:5", "mode must be open"}},
		"unknown variable":                {[]string{"--var", "size=1", "--var", "zone=a", set}, []string{"no module of the set declares it; declared are mode, size, zones"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tmp := scratchDir(t)
			code, stdout, stderr := captf(t, append([]string{"harness", "run", "--runtime", tofu}, tt.args...)...)
			if code != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "Error: ") {
				t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			for _, p := range tt.parts {
				if !strings.Contains(stderr, p) {
					t.Errorf("%q is not in %q", p, stderr)
				}
			}
			checkEmpty(t, tmp)
		})
	}
}

func TestHarnessList(t *testing.T) {
	code, stdout, _ := captf(t, "harness", "list")
	for _, p := range []string{"CONTROL PLANE", "kcp", "life", "(default)", "K10", "rke2", "rke2-life", "R10"} {
		if code != exitOK || !strings.Contains(stdout, p) {
			t.Errorf("exit %d, %q is not in %s", code, p, stdout)
		}
	}
	code, stdout, _ = captf(t, "harness", "list", "-o", "json")
	var list []listedScenario
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != exitOK || len(list) < 8 || !list[0].Default || list[1].Default {
		t.Errorf("exit %d: %v: %s", code, err, stdout)
	}
	if code, _, stderr := captf(t, "harness", "list", "-o", "xml"); code != exitUsage {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// TestHarnessCannotRun: what keeps the runtime or the modules from being run is
// exit code 2, with a message that says what, and a result for programs.
func TestHarnessCannotRun(t *testing.T) {
	link := func(t *testing.T) string {
		dir := tiny(t, nil)
		file := filepath.Join(dir, "machine", "loop.tf")
		if err := os.Symlink("loop.tf", file); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	empty := func(t *testing.T) string { return tiny(t, nil) }
	apply := func(script string) func(t *testing.T) string {
		return func(t *testing.T) string { return fake(t, "apply) "+script+" ;;") }
	}
	const lost = "what it was creating may exist although no state records it"
	tests := map[string]struct {
		set     func(t *testing.T) string
		runtime func(t *testing.T) string
		args    []string
		parts   []string
		// notes are parts of notes in the result.
		notes []string
	}{
		"runtime is missing":        {runtime: func(*testing.T) string { return "./no-such-tofu" }, parts: []string{"finding a runtime: ./no-such-tofu", "no such file"}},
		"runtime is not on PATH":    {runtime: func(*testing.T) string { return "no-such-tofu" }, parts: []string{"no such command on PATH"}},
		"runtime is no program":     {runtime: func(t *testing.T) string { return filepath.Join(tiny(t, nil), "cluster", "main.tf") }, parts: []string{"not executable"}},
		"runtime is a directory":    {runtime: func(t *testing.T) string { return t.TempDir() + "/" }, parts: []string{"is a directory"}},
		"runtime is too old":        {runtime: func(t *testing.T) string { return fake(t, "version) echo 'Terraform v1.4.7'; exit 0 ;;") }, parts: []string{"Terraform 1.4.7 is too old", "1.5.0 or newer"}},
		"runtime is something else": {runtime: func(t *testing.T) string { return fake(t, "version) echo 'Pulumi v3'; exit 0 ;;") }, parts: []string{"did not answer as OpenTofu or Terraform", "Pulumi"}},
		"runtime does not answer":   {runtime: func(t *testing.T) string { return fake(t, "version) exec sleep 300 ;;") }, args: []string{"--step-timeout", "200ms"}, parts: []string{"did not answer", "200ms", "or give a longer --step-timeout"}},
		"runtime crashes at once":   {runtime: func(t *testing.T) string { return fake(t, "version) kill -SEGV $$ ;;") }, parts: []string{"ended by signal"}},

		"init crashes":         {runtime: func(t *testing.T) string { return fake(t, "init) echo 'panic: oh no' >&2; exit 2 ;;") }, parts: []string{"initialising the cluster module", "exit code 2", "oh no"}},
		"apply crashes":        {runtime: apply("echo 'panic: index out of range' >&2; exit 2"), parts: []string{"apply", "TerraformCluster/demo", "exit code 2", "index out of range"}},
		"apply is silent":      {runtime: apply("exit 1"), parts: []string{"apply", "exit code 1"}},
		"apply is killed":      {runtime: apply("kill -KILL $$"), parts: []string{"apply", `ended by signal "killed"`}, notes: []string{lost}},
		"apply hangs":          {runtime: apply("trap '' INT; exec sleep 300"), args: []string{"--step-timeout", "2s", "--grace", "100ms"}, parts: []string{"apply", "not done after 2s", "it was killed", "(log: ", "Working directories and logs are kept in"}, notes: []string{lost}},
		"apply is garbage":     {runtime: apply("head -c 100000 /dev/urandom; echo; echo '{\"@level\":'; exit 1"), parts: []string{"apply", "exit code 1"}},
		"garbage, and well":    {runtime: apply("head -c 1000 /dev/urandom | base64; exit 0"), parts: []string{"apply", "wrote no state", "(log: "}},
		"plan is garbage":      {runtime: func(t *testing.T) string { return fake(t, "plan) echo hello; exit 0 ;;") }, parts: []string{"plan", "said nothing that can be read"}},
		"the state is garbage": {runtime: apply("echo '{\"version\":' > terraform.tfstate; exit 0"), parts: []string{"apply", "terraform.tfstate", "reading state"}},
		"the disk is full": {
			runtime: apply(`echo '{"@level":"error","@message":"x","diagnostic":{"severity":"error","summary":"Failed to write state","detail":"write terraform.tfstate: no space left on device"},"type":"diagnostic"}'; exit 1`),
			parts:   []string{"apply", "no space left on device"},
		},

		"version is not met": {
			set: func(t *testing.T) string {
				v := "terraform {\n  required_version = \"< 1.0\"\n}\n"
				return tiny(t, map[string]string{"cluster/versions.tf": v, "cluster/versions.tofu": v})
			},
			parts: []string{"initialising the cluster module", `required_version is "< 1.0", and the runtime is OpenTofu`},
		},
		"registry is not there": {
			set: func(t *testing.T) string {
				return tiny(t, map[string]string{"machine/net.tf": "module \"net\" {\n  source  = \"registry.invalid/a/b/c\"\n  version = \"1.0.0\"\n}\n"})
			},
			parts: []string{"initialising the machine module", "registry.invalid", "machine/net.tf:1:1"},
		},
		"provider with a built-in schema": {
			set: func(t *testing.T) string {
				return tiny(t, map[string]string{"machine/versions.tf": "terraform {\n  required_providers {\n    aws = {\n      source  = \"hashicorp/aws\"\n      version = \"99999.0.0\"\n    }\n  }\n}\n"})
			},
			parts: []string{"initialising the machine module", "with --simulate the set is played without its providers"},
		},

		"no such set":      {set: func(*testing.T) string { return "no-such-set" }, parts: []string{"no-such-set", "no such file or directory"}},
		"no machine":       {set: func(t *testing.T) string { d := tiny(t, nil); _ = os.RemoveAll(filepath.Join(d, "machine")); return d }, parts: []string{"it has no directory machine", "it has cluster"}},
		"a module, no set": {set: func(t *testing.T) string { return filepath.Join(tiny(t, nil), "machine") }, parts: []string{"looks like a module itself"}},
		"not to be parsed": {set: func(t *testing.T) string { return tiny(t, map[string]string{"machine/x.tf": "\nresource \"a\" {"}) }, parts: []string{"opening the machine module", "machine/x.tf:2"}},
		"not to be read":   {set: link, parts: []string{"opening the machine module", "loop.tf"}},
		"no file in it": {set: func(t *testing.T) string {
			d := tiny(t, nil)
			_ = os.Remove(filepath.Join(d, "cluster", "main.tf"))
			return d
		}, parts: []string{"opening the cluster module", "cluster"}},
		"declaration broken": {set: func(t *testing.T) string {
			return tiny(t, map[string]string{"machine/captf-harness.json": "{\n\"membership\": 1}"})
		}, parts: []string{"captf-harness.json:2:15: an object is expected here, not a number"}},
		"declared resource": {
			set: func(t *testing.T) string {
				return tiny(t, map[string]string{"machine/captf-harness.json": `{"membership":{"pattern":"A","attachments":[{"listener":"api","address":"terraform_data.x"}]}}`})
			},
			parts: []string{"no resource terraform_data.x; it has terraform_data.instance"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.set == nil {
				tt.set = empty
			}
			binary := runtimetest.OpenTofu(t).Path
			if tt.runtime != nil {
				binary = tt.runtime(t)
			}
			set := tt.set(t)
			tmp := scratchDir(t)
			args := append([]string{"harness", "run", "--runtime", binary, "--scenario", "K1", "-o", "json", set}, tt.args...)
			code, stdout, stderr := captf(t, args...)
			if code != exitError || !strings.Contains(stderr, "Error: ") || strings.Contains(stderr, "goroutine ") {
				t.Errorf("exit %d, stderr %s", code, stderr)
			}
			for _, p := range tt.parts {
				if !strings.Contains(stderr, p) {
					t.Errorf("%q is not in %s", p, stderr)
				}
			}
			var r harness.Result
			if err := json.Unmarshal([]byte(stdout), &r); err != nil {
				t.Fatalf("%v: %s", err, stdout)
			}
			if r.Verdict != harness.VerdictError || r.Error == "" || r.ControlPlane != "kcp" {
				t.Errorf("result %s", stdout)
			}
			for _, n := range tt.notes {
				if !slices.ContainsFunc(r.Notes, func(note harness.Note) bool { return strings.Contains(note.Message, n) }) || !strings.Contains(stderr, n) {
					t.Errorf("%q is not noted: %+v, %s", n, r.Notes, stderr)
				}
			}
			if name != "the state is garbage" {
				checkNamed(t, tmp, stderr)
				return
			}
			// What cannot be read may hold anything: it is kept.
			if len(r.Left) != 1 || !strings.HasPrefix(r.Kept, tmp) {
				t.Errorf("left %v, kept %q", r.Left, r.Kept)
			}
		})
	}
}

// TestHarnessTemporary: a directory for temporary files that is none is named, once.
func TestHarnessTemporary(t *testing.T) {
	binary, set := runtimetest.OpenTofu(t).Path, tiny(t, nil)
	dir := filepath.Join(t.TempDir(), "nowhere")
	t.Setenv("TMPDIR", dir)
	code, _, stderr := captf(t, "harness", "run", "--runtime", binary, set)
	if code != exitError || !strings.Contains(stderr, "making the scratch directory in "+dir) || !strings.Contains(stderr, "set TMPDIR") || strings.Contains(stderr, "finding a runtime") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// TestHarnessCannotDestroy: what stays is said with the reason, and with a
// command that works once the reason is gone.
func TestHarnessCannotDestroy(t *testing.T) {
	tmp := scratchDir(t)
	flag := filepath.Join(t.TempDir(), "stuck")
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	set := tiny(t, map[string]string{"cluster/stuck.tf": fmt.Sprintf(`resource "terraform_data" "stuck" {
  lifecycle {
    prevent_destroy = true
  }
  provisioner "local-exec" {
    when    = destroy
    command = "test ! -e %s"
  }
}
`, flag)})
	code, stdout, stderr := captf(t, "harness", "run", "--runtime", runtimetest.OpenTofu(t).Path, "--scenario", "K1", "-o", "json", set)
	var r harness.Result
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("exit %d: %v: %s", code, err, stderr)
	}
	if code != exitFailed || len(r.Left) != 1 || !strings.HasPrefix(r.Kept, tmp) || len(r.Notes) != 1 || !strings.Contains(r.Notes[0].Message, "TerraformCluster/demo could not be destroyed: ") {
		t.Errorf("exit %d, left %v, kept %q, notes %+v", code, r.Left, r.Kept, r.Notes)
	}
	if !strings.Contains(stderr, "It could not be destroyed: ") || !strings.Contains(stderr, "local-exec provisioner error") {
		t.Errorf("the reason is not told: %s", stderr)
	}
	if err := os.Remove(flag); err != nil {
		t.Fatal(err)
	}
	destroyByHand(t, stderr)
	checkNoResources(t, r.Kept)
}

// TestHarnessQuestions: the questions for a person are only listed on request.
func TestHarnessQuestions(t *testing.T) {
	set, binary := tiny(t, nil), runtimetest.OpenTofu(t).Path
	const question = "can the first control-plane node reach the endpoint"
	for _, args := range [][]string{nil, {"--questions"}} {
		_, stdout, _ := captf(t, append([]string{"harness", "run", "--runtime", binary, "--scenario", "K1", set}, args...)...)
		if strings.Contains(stdout, question) != (args != nil) || !strings.Contains(stdout, "to be checked by a person") {
			t.Errorf("with %v:\n%s", args, stdout)
		}
	}
}

// TestHarnessKeep: states and logs stay, and where they are is said.
func TestHarnessKeep(t *testing.T) {
	tmp := scratchDir(t)
	code, stdout, stderr := captf(t, "harness", "run", "--runtime", runtimetest.OpenTofu(t).Path, "--scenario", "K1", "--keep", "-o", "json", tiny(t, nil))
	var r harness.Result
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("exit %d: %v: %s", code, err, stderr)
	}
	if !strings.HasPrefix(r.Kept, tmp) || len(r.Left) > 0 {
		t.Errorf("kept %q, left %v", r.Kept, r.Left)
	}
	logs, err := filepath.Glob(filepath.Join(r.Kept, "cluster", "*", ".captf", "log", "*.log"))
	if err != nil || len(logs) < 3 {
		t.Errorf("logs %v %v", logs, err)
	}
	checkNoResources(t, r.Kept)
}
