package runner

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// watch calls a function once, when a text was written.
type watch struct {
	mu   sync.Mutex
	text string
	then func()
	all  bytes.Buffer
}

func (w *watch) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all.Write(b)
	if w.then != nil && strings.Contains(w.all.String(), w.text) {
		go w.then()
		w.then = nil
	}
	return len(b), nil
}

const slowModule = `
terraform {
  required_providers {
    slow = {
      source  = "example.com/captf/slow"
      version = "1.0.0"
    }
  }
}

variable "pipes" {}
variable "token" {
  default = null
}

resource "slow_thing" "a" {
  pipes = var.pipes
  token = var.token
}

resource "slow_thing" "after" {
  pipes = slow_thing.a.id == "made" ? "" : ""
}

output "id" {
  value = slow_thing.a.id
}
`

// slowJob is a Job whose apply says that it has started and waits to be released, through pipes.
func slowJob(t *testing.T, bin string) (j *job, started, release func()) {
	t.Helper()
	j = newJob(t, bin, map[string]string{"main.tf": slowModule})
	installProvider(t, j.o.Providers)
	pipes := t.TempDir()
	for _, name := range []string{"started", "release"} {
		if err := syscall.Mkfifo(filepath.Join(pipes, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j.values(map[string]any{"pipes": pipes}, nil)
	started = func() {
		if _, err := os.ReadFile(filepath.Join(pipes, "started")); err != nil {
			t.Error(err)
		}
	}
	release = func() {
		if err := os.WriteFile(filepath.Join(pipes, "release"), []byte("go\n"), 0o600); err != nil {
			t.Error(err)
		}
	}
	return j, started, release
}

// TestStopDuringCreate: the resource in flight is finished and stored, the next one not begun, the lock freed (B-617). The
// provider comes from the image's mirror.
func TestStopDuringCreate(t *testing.T) {
	eachRuntime(t, func(t *testing.T, bin string) {
		j, started, release := slowJob(t, bin)
		ctx, stop := context.WithCancelCause(t.Context())
		defer stop(nil)
		w := &watch{text: "Interrupt received", then: release}
		go func() {
			started()
			stop(errStopped)
		}()
		err := Run(ctx, j.o, j.env, &j.stdout, w)
		d := j.broker.reported(t)
		if err == nil || d.Error == nil || d.Error.Kind != infrav1.RunErrorInterrupted || d.Error.Step != "apply" {
			t.Fatalf("got %v, %+v\n%s", err, d.Error, w.all.String())
		}
		if !d.Image.ProvidersMirror {
			t.Error("the mirror is not in the result")
		}
		s := j.broker.stateOf(t)
		if len(s.Resources) != 1 || s.Resources[0].Name != "a" || s.Resources[0].Instances[0].Status != "" ||
			s.Resources[0].Instances[0].Attributes["id"] != "made" {
			t.Errorf("state: %+v", s.Resources)
		}
		j.broker.free(t)
	})
}

// TestStopTimeout: a runtime that does not end is killed after the stop timeout, and its lock is freed.
func TestStopTimeout(t *testing.T) {
	bin := runtimetest.OpenTofu(t).Path
	j, started, _ := slowJob(t, bin)
	j.o.StopTimeout = 300 * time.Millisecond
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	go func() {
		started()
		stop(errStopped)
	}()
	if err := Run(ctx, j.o, j.env, &j.stdout, &j.log); err == nil {
		t.Fatal("it succeeded")
	}
	d := j.broker.reported(t)
	last := d.Steps[len(d.Steps)-1]
	if d.Error.Kind != infrav1.RunErrorInterrupted || last.Name != "apply" || last.Exit != 1 {
		t.Errorf("error %+v, last step %+v\n%s", d.Error, last, j.log.String())
	}
	j.broker.free(t)
}

// TestSignals sends real signals to a runner process: a second one changes nothing.
func TestSignals(t *testing.T) {
	j, started, release := slowJob(t, runtimetest.OpenTofu(t).Path)
	var w *watch
	cmd := exec.CommandContext(t.Context(), os.Args[0], "run", "--op=apply", "--bin="+j.o.Bin[0], "--module="+j.o.Module,
		"--providers="+j.o.Providers, "--workdir="+j.o.Work, "--config="+j.o.Config, "--broker="+j.o.Broker,
		"--result="+j.o.Result, "--stop-timeout=1m", "--events", "--job-name=job")
	cmd.Env = slices.Concat(j.env, []string{envRole + "=runner"})
	w = &watch{text: "Interrupt received", then: func() {
		for _, s := range []os.Signal{syscall.SIGTERM, os.Interrupt, syscall.SIGHUP} {
			if err := cmd.Process.Signal(s); err != nil {
				t.Error(err)
			}
		}
		release()
	}}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	started()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != ExitFailed {
		t.Errorf("ended with %v\n%s", err, w.all.String())
	}
	if d := j.broker.reported(t); d.Error.Kind != infrav1.RunErrorInterrupted {
		t.Errorf("%+v", d.Error)
	}
	if s := j.broker.stateOf(t); len(s.Resources) != 1 {
		t.Errorf("state: %+v", s.Resources)
	}
}

// TestRuntimeKilled: kill -9 of the runtime loses what was in flight, not the lock's freedom nor the result.
func TestRuntimeKilled(t *testing.T) {
	eachRuntime(t, func(t *testing.T, bin string) {
		j, started, _ := slowJob(t, bin)
		go func() {
			started()
			if pid := childOf(t, os.Getpid(), "apply"); pid > 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}()
		d := j.fails(infrav1.OperationApply, infrav1.RunErrorStep, nil, `signal "killed"`)
		if last := d.Steps[len(d.Steps)-1]; last.Exit != 1 || last.Name != "apply" {
			t.Errorf("last step: %+v", last)
		}
		j.broker.free(t)
	})
}

// childOf finds the child of a process that has the given argument.
func childOf(t *testing.T, parent int, arg string) int {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Error(err)
	}
	for _, path := range found {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		args, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if err != nil || len(fields) < 2 || fields[1] != strconv.Itoa(parent) || !strings.Contains(string(args), "\x00"+arg+"\x00") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		return pid
	}
	t.Errorf("no child of %d with argument %q", parent, arg)
	return 0
}

// TestFinalPostFails: the state that the broker did not take is pushed once it takes states again, the lock notwithstanding.
func TestFinalPostFails(t *testing.T) {
	eachRuntime(t, func(t *testing.T, bin string) {
		j := newJob(t, bin, map[string]string{"main.tf": plainModule})
		unlocks := 0
		j.broker.fault = func(w http.ResponseWriter, r *http.Request) bool {
			switch {
			case r.Method == http.MethodPost && r.URL.Path == "/state" && unlocks == 0:
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				return true
			case r.URL.Path == "/v1/problem":
				_, _ = w.Write([]byte(`{"message":"storing the state: it has more than 8 MiB"}`))
				return true
			case r.Method == "UNLOCK":
				if unlocks++; unlocks == 1 {
					w.WriteHeader(http.StatusForbidden) // the runtime leaves its lock behind
					return true
				}
			}
			return false
		}
		d := j.fails(infrav1.OperationApply, infrav1.RunErrorStep, nil)
		if got, want := stepNames(d), "init validate apply state-push"; got != want {
			t.Errorf("steps: %s, wanted %s\n%s", got, want, j.log.String())
		}
		if !strings.HasSuffix(d.Error.Tail, ": storing the state: it has more than 8 MiB") {
			t.Errorf("the error lacks the broker's reason: %s", d.Error.Tail)
		}
		if s := j.broker.stateOf(t); len(s.Resources) != 2 {
			t.Errorf("state: %+v", s.Resources)
		}
		if _, err := os.Stat(filepath.Join(j.o.Work, "root", erroredState)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file is still there: %v", err)
		}
		j.broker.free(t)
		j.must(infrav1.OperationRefresh, nil)
	})
}

// TestStopBeforeStart: a run that is stopped while it waits for the broker says so.
func TestStopBeforeStart(t *testing.T) {
	j := newJob(t, "/bin/true", map[string]string{"main.tf": plainModule})
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errStopped)
	d, err := j.run(ctx, infrav1.OperationApply, func(o *Options) { o.Broker = t.TempDir() })
	if err == nil || d.Error.Kind != infrav1.RunErrorInterrupted {
		t.Errorf("got %v, %+v", err, d.Error)
	}
}
