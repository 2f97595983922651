package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

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
				if signal.Ignored(s) {
					t.Skipf("%s is ignored here, as under nohup, and so it is by captf", name)
				}
				p := slow(t, tiny(t, map[string]string{"machine/instance.tf": slowMachine}), b.Path)
				p.signal(t, s)
				code := p.end(t)
				stderr := p.stderr.String()
				if code != exitError || !strings.Contains(stderr, "then what exists is destroyed") || !strings.Contains(stderr, "Error: interrupted") || !strings.Contains(stderr, "nothing is left") {
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
			if code != exitError || !strings.Contains(stderr, "what exists is kept") || !strings.Contains(stderr, "TerraformCluster/demo still exists (1 resource)") {
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
		command, ok := strings.CutPrefix(strings.TrimSpace(l), "cd ")
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
	if strings.Contains(stderr, "destroys what is left") {
		t.Errorf("the story tells of a destroy that is not done:\n%s", stderr)
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

// TestHarnessTimeoutAtOnce: so is one that does not even come to its first apply.
func TestHarnessTimeoutAtOnce(t *testing.T) {
	tmp := scratchDir(t)
	code, _, stderr := captf(t, "harness", "run", "--runtime", fake(t, "init) exec sleep 300 ;;"), "--scenario", "K1", "--timeout", "2s", tiny(t, nil))
	if code != exitError || !strings.Contains(stderr, "not done within the 2s of --timeout") {
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
