package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// envCaptf makes the test binary the command itself, for tests that need a
// process of its own: signals, and what is left behind.
const envCaptf = "CAPTF_TEST_MAIN"

func TestMain(m *testing.M) {
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
			// One line a step.
			if lines := strings.Count(stderr, "\n"); lines != len(r.Steps) || lines == 0 {
				t.Errorf("%d lines for %d steps:\n%s", lines, len(r.Steps), stderr)
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
	set := tiny(t, map[string]string{"machine/user.tf": "variable \"size\" {\n  type = string\n}\n"})
	tofu := runtimetest.OpenTofu(t).Path
	tests := map[string]struct {
		args  []string
		parts []string
	}{
		"no modules":          {nil, []string{"SET_DIR", "--cluster DIR"}},
		"only one role":       {[]string{"--cluster", "x"}, []string{"--machine DIR"}},
		"both ways":           {[]string{"--cluster", "x", "--machine", "y", "z"}, []string{"not both"}},
		"two sets":            {[]string{"a", "b"}, []string{"there are 2 arguments"}},
		"empty name":          {[]string{""}, []string{"empty string"}},
		"control plane":       {[]string{"--control-plane", "k3s", "x"}, []string{`"k3s"`, "kcp"}},
		"scenario":            {[]string{"--scenario", "K99", "x"}, []string{`"K99"`, "life", "K10"}},
		"all and one":         {[]string{"--all", "--scenario", "K1", "x"}, []string{"exclude each other"}},
		"output":              {[]string{"-o", "yaml", "x"}, []string{"text, json, junit"}},
		"interrupt":           {[]string{"--on-interrupt", "panic", "x"}, []string{"destroy or keep"}},
		"endpoint":            {[]string{"--user-endpoint", "example.com", "x"}, []string{"HOST:PORT"}},
		"endpoint port":       {[]string{"--user-endpoint", "example.com:0", "x"}, []string{"1 to 65535"}},
		"endpoint port words": {[]string{"--user-endpoint", "example.com:https", "x"}, []string{"1 to 65535"}},
		"variable":            {[]string{"--var", "size", "x"}, []string{"NAME=VALUE"}},
		"allow":               {[]string{"--allow", "CP-999", "x"}, []string{"CP-999", "CP-023"}},
		"timeout":             {[]string{"--timeout", "-1s", "x"}, []string{"negative"}},
		"contract":            {[]string{"--contract", "v9", "x"}, []string{"v1alpha1"}},
		"required variable":   {[]string{set}, []string{"machine module needs a value for variable size", "machine/user.tf:1", "--var size=VALUE"}},
		"unknown variable":    {[]string{"--var", "size=1", "--var", "zone=a", set}, []string{"no module of the set declares it; declared are size"}},
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
	for _, p := range []string{"CONTROL PLANE", "kcp", "life", "(default)", "K10"} {
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
	tests := map[string]struct {
		set     func(t *testing.T) string
		runtime func(t *testing.T) string
		args    []string
		parts   []string
	}{
		"runtime is missing":        {runtime: func(*testing.T) string { return "./no-such-tofu" }, parts: []string{"finding a runtime: ./no-such-tofu", "no such file"}},
		"runtime is not on PATH":    {runtime: func(*testing.T) string { return "no-such-tofu" }, parts: []string{"no such command on PATH"}},
		"runtime is no program":     {runtime: func(t *testing.T) string { return filepath.Join(tiny(t, nil), "cluster", "main.tf") }, parts: []string{"not executable"}},
		"runtime is a directory":    {runtime: func(t *testing.T) string { return t.TempDir() + "/" }, parts: []string{"is a directory"}},
		"runtime is too old":        {runtime: func(t *testing.T) string { return fake(t, "version) echo 'Terraform v1.4.7'; exit 0 ;;") }, parts: []string{"Terraform 1.4.7 is too old", "1.5.0 or newer"}},
		"runtime is something else": {runtime: func(t *testing.T) string { return fake(t, "version) echo 'Pulumi v3'; exit 0 ;;") }, parts: []string{"did not answer as OpenTofu or Terraform", "Pulumi"}},
		"runtime does not answer":   {runtime: func(t *testing.T) string { return fake(t, "version) exec sleep 300 ;;") }, args: []string{"--step-timeout", "200ms"}, parts: []string{"did not answer", "200ms"}},
		"runtime crashes at once":   {runtime: func(t *testing.T) string { return fake(t, "version) kill -SEGV $$ ;;") }, parts: []string{"ended by signal"}},

		"init crashes":         {runtime: func(t *testing.T) string { return fake(t, "init) echo 'panic: oh no' >&2; exit 2 ;;") }, parts: []string{"initialising the cluster module", "exit code 2", "oh no"}},
		"apply crashes":        {runtime: apply("echo 'panic: index out of range' >&2; exit 2"), parts: []string{"apply", "TerraformCluster/demo", "exit code 2", "index out of range"}},
		"apply is silent":      {runtime: apply("exit 1"), parts: []string{"apply", "exit code 1"}},
		"apply is killed":      {runtime: apply("kill -KILL $$"), parts: []string{"apply", `ended by signal "killed"`}},
		"apply hangs":          {runtime: apply("trap '' INT; exec sleep 300"), args: []string{"--step-timeout", "2s", "--grace", "100ms"}, parts: []string{"apply", "not done after 2s", "it was killed"}},
		"apply is garbage":     {runtime: apply("head -c 100000 /dev/urandom; echo; echo '{\"@level\":'; exit 1"), parts: []string{"apply", "exit code 1"}},
		"the state is garbage": {runtime: apply("echo '{\"version\":' > terraform.tfstate; exit 0"), parts: []string{"apply", "terraform.tfstate", "reading state"}},
		"the disk is full": {
			runtime: apply(`echo '{"@level":"error","@message":"x","diagnostic":{"severity":"error","summary":"Failed to write state","detail":"write terraform.tfstate: no space left on device"},"type":"diagnostic"}'; exit 1`),
			parts:   []string{"apply", "no space left on device"},
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
			if name != "the state is garbage" {
				checkEmpty(t, tmp)
				return
			}
			// What cannot be read may hold anything: it is kept.
			if len(r.Left) != 1 || !strings.HasPrefix(r.Kept, tmp) {
				t.Errorf("left %v, kept %q", r.Left, r.Kept)
			}
		})
	}
}

// process is the command in a process of its own.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	tmp            string
	// pids are what runs when the test may interrupt: the runtime and, last, its child.
	pids []int
}

// slow starts a run whose first machine does not come into being, and waits
// until it is at it. In the module's or the runtime's script, a line with
// process ids must be written to $FIFO.
func slow(t *testing.T, set, binary string, args ...string) *process {
	t.Helper()
	p := &process{tmp: t.TempDir()}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.Command(self, append([]string{"harness", "run", "--runtime", binary, "--scenario", "K1", set}, args...)...)
	p.cmd.Env = append(os.Environ(), envCaptf+"=1", "TMPDIR="+p.tmp, "FIFO="+fifo)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	f, err := os.Open(fifo) // waits for the writer
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, p.stderr.String())
	}
	for field := range strings.FieldsSeq(line) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		p.pids = append(p.pids, pid)
	}
	return p
}

// end waits for the command and returns its exit code. Nothing that it started
// may be left.
func (p *process) end(t *testing.T) int {
	t.Helper()
	err := p.cmd.Wait()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		t.Fatal(err)
	}
	for _, pid := range p.pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is still there: %v", pid, err)
		}
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// slowMachine makes an instance with a provisioner that does not end.
const slowMachine = `resource "terraform_data" "instance" {
  input = var.machine_name
  provisioner "local-exec" {
    command = "echo $PPID $$ > $FIFO; exec sleep 300"
  }
}
`

func TestHarnessInterrupt(t *testing.T) {
	signals := map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGHUP": syscall.SIGHUP}
	for n, b := range runtimetest.Binaries(t) {
		for name, s := range signals {
			if n > 0 && s != syscall.SIGTERM {
				continue // what we do with a signal does not depend on the runtime
			}
			t.Run(string(b.Kind)+" "+name+" destroys", func(t *testing.T) {
				p := slow(t, tiny(t, map[string]string{"machine/instance.tf": slowMachine}), b.Path)
				p.signal(t, s)
				code := p.end(t)
				stderr := p.stderr.String()
				if code != exitError || !strings.Contains(stderr, "then what exists is destroyed") || !strings.Contains(stderr, "Error: interrupted") {
					t.Errorf("exit %d\n%s", code, stderr)
				}
				checkEmpty(t, p.tmp)
			})
		}
		t.Run(string(b.Kind)+" keeps", func(t *testing.T) {
			p := slow(t, tiny(t, map[string]string{"machine/instance.tf": slowMachine}), b.Path, "--on-interrupt", "keep", "-o", "json")
			p.signal(t, syscall.SIGINT)
			code := p.end(t)
			stderr := p.stderr.String()
			if code != exitError || !strings.Contains(stderr, "what exists is kept") || !strings.Contains(stderr, "TerraformCluster/demo still exists (1 resources)") {
				t.Errorf("exit %d\n%s", code, stderr)
			}
			var r harness.Result
			if err := json.Unmarshal(p.stdout.Bytes(), &r); err != nil {
				t.Fatalf("%v: %s", err, p.stdout.String())
			}
			// The machine is there too, tainted: its provisioner was stopped.
			if r.Verdict != harness.VerdictError || len(r.Left) != 2 || !strings.HasPrefix(r.Kept, p.tmp) {
				t.Errorf("left %v, kept %q", r.Left, r.Kept)
			}
			destroyByHand(t, stderr)
			checkNoResources(t, r.Kept)
		})
	}
}

// destroyByHand runs the commands that a run told.
func destroyByHand(t *testing.T, stderr string) {
	t.Helper()
	commands := 0
	for l := range strings.Lines(stderr) {
		command, ok := strings.CutPrefix(l, "  cd ")
		if !ok {
			continue
		}
		commands++
		c := exec.Command("sh", "-c", "cd "+strings.TrimSpace(command)+" -auto-approve")
		c.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.DevNull, "FIFO="+os.DevNull)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", command, err, out)
		}
	}
	if commands == 0 {
		t.Errorf("no command is told in %s", stderr)
	}
}

// checkNoResources looks into every state of a kept run.
func checkNoResources(t *testing.T, dir string) {
	t.Helper()
	states := 0
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "terraform.tfstate" || strings.Contains(path, ".terraform") {
			return err
		}
		states++
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s, err := runtime.DecodeState(raw)
		if err == nil && len(s.Resources) > 0 {
			t.Errorf("%s holds %v", path, s.Resources)
		}
		return err
	})
	if err != nil || states == 0 {
		t.Errorf("%d states in %s: %v", states, dir, err)
	}
}

// TestHarnessInterruptTwice: a second signal ends a runtime that does not heed
// the first, and keeps what there is.
func TestHarnessInterruptTwice(t *testing.T) {
	script := `apply) case "$PWD" in */machine/*) trap 'echo stopping > "$FIFO.2"' INT; echo $$ > "$FIFO"; while :; do sleep 1; done ;; esac ;;`
	p := slow(t, tiny(t, nil), fake(t, script))
	second := ""
	for _, kv := range p.cmd.Env {
		if f, ok := strings.CutPrefix(kv, "FIFO="); ok {
			second = f + ".2"
		}
	}
	if err := syscall.Mkfifo(second, 0o600); err != nil {
		t.Fatal(err)
	}
	p.signal(t, syscall.SIGINT)
	f, err := os.Open(second) // the runtime has got the interrupt, and goes on
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(f)
	_ = f.Close()
	p.signal(t, syscall.SIGINT)
	code := p.end(t)
	stderr := p.stderr.String()
	if code != exitError || !strings.Contains(stderr, "stopped at once") || !strings.Contains(stderr, "TerraformCluster/demo still exists") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	if !strings.Contains(p.stdout.String(), p.tmp) {
		t.Errorf("the result does not say where the state is:\n%s", p.stdout.String())
	}
}

// TestHarnessTimeout: a run that takes too long is interrupted and cleaned up.
func TestHarnessTimeout(t *testing.T) {
	t.Setenv("FIFO", os.DevNull)
	tmp := scratchDir(t)
	code, _, stderr := captf(t, "harness", "run", "--runtime", runtimetest.OpenTofu(t).Path, "--scenario", "K1", "--timeout", "3s",
		tiny(t, map[string]string{"machine/instance.tf": slowMachine}))
	if code != exitError || !strings.Contains(stderr, "not done within the 3s of --timeout") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	checkEmpty(t, tmp)
}

// TestHarnessBrokenPipe: a reader of the story that goes away, as head does,
// ends nothing.
func TestHarnessBrokenPipe(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	cmd := exec.Command(self, "harness", "run", "--runtime", runtimetest.OpenTofu(t).Path, "--scenario", "K1", "-o", "json", tiny(t, nil))
	cmd.Env = append(os.Environ(), envCaptf+"=1", "TMPDIR="+tmp)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReaderSize(pipe, 16).ReadSlice('\n')
	_ = pipe.Close()
	if len(line) == 0 {
		t.Error(err)
	}
	_ = cmd.Wait()
	var r harness.Result
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("%s: %v: %s", cmd.ProcessState, err, stdout.String())
	}
	if code := cmd.ProcessState.ExitCode(); code > exitFailed || r.Verdict == harness.VerdictError {
		t.Errorf("exit %d, %s %s", code, r.Verdict, r.Error)
	}
	checkEmpty(t, tmp)
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
