package runtime_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// slowModule creates one resource at once and then one that never gets ready; its
// provisioner writes its process id and says "ready".
const slowModule = `variable "name" {}
variable "token" {}

resource "terraform_data" "fast" {
  input = var.name
}

resource "terraform_data" "slow" {
  input = terraform_data.fast.id

  provisioner "local-exec" {
    command = "echo $$ > ${path.root}/pid; echo ready; sleep 300 & echo $! > ${path.root}/child; wait"
  }
}

output "id" {
  value = terraform_data.slow.id
}

output "nothing" {
  value = null
}
`

// onReady calls fn once when the slow provisioner runs.
func onReady(fn func()) func(runtime.Step, runtime.Event) {
	return onMessage("module.role.terraform_data.slow: (local-exec): ready", func(string) { fn() })
}

// gone checks that the provisioner and its child have ended.
func gone(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"pid", "child"} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // ended before it had one
		}
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
		if err != nil {
			continue // killed between creating the file and writing it
		}
		if alive(t, pid) {
			t.Errorf("the provisioner's %s %d still runs", name, pid)
		}
	}
}

func TestInterruptDuringCreate(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := set(t, b, slowModule, runtime.WorkdirOptions{Events: onReady(cancel)})
		mustInit(t, w)
		res, err := w.Apply(ctx, runtime.ApplyOptions{})
		re := mustFail(t, err, "apply", "interrupted", "module.role.terraform_data.slow", "main.tf:")
		if !re.Interrupted || re.Killed || re.Signal != "" || !errors.Is(err, context.Canceled) {
			t.Errorf("got %+v", re)
		}
		if res == nil || len(res.Resources) == 0 {
			t.Errorf("result: %+v", res)
		}
		gone(t, w.Dir())

		// What was made is in the state, the object in flight as tainted; a destroy ends it.
		st, err := w.State()
		if err != nil {
			t.Fatal(err)
		}
		if len(st.Resources) != 2 || st.Resources[0].Name != "fast" || st.Resources[0].Tainted || !st.Resources[1].Tainted {
			t.Errorf("state: %+v", st.Resources)
		}
		if _, err := w.Destroy(t.Context(), runtime.ApplyOptions{}); err != nil {
			t.Errorf("destroying after an interrupt: %v", err)
		}
	})
}

func TestDeadlineDuringCreate(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		t.Parallel()
		w := set(t, b, slowModule, runtime.WorkdirOptions{
			Timeouts: map[runtime.Step]time.Duration{runtime.StepApply: 3 * time.Second},
		})
		mustInit(t, w)
		_, err := w.Apply(t.Context(), runtime.ApplyOptions{})
		re := mustFail(t, err, "not done after 3s, interrupted")
		if !re.Timeout || re.Killed || re.Interrupted || !errors.Is(err, runtime.ErrTimeout) {
			t.Errorf("got %+v", re)
		}
		gone(t, w.Dir())
	})
}

func TestKillDuringCreate(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		force := make(chan struct{})
		close(force) // the interrupt is followed by the kill at once
		w := set(t, b, slowModule, runtime.WorkdirOptions{Force: force, Events: onReady(cancel)})
		mustInit(t, w)
		_, err := w.Apply(ctx, runtime.ApplyOptions{})
		re := mustFail(t, err, "apply", "did not stop in time, so it was killed")
		if !re.Killed || re.Signal != "killed" || re.ExitCode != -1 {
			t.Errorf("got %+v", re)
		}
		gone(t, w.Dir())

		// The state may be lost, but nothing is in the way of the next run.
		if _, err := w.State(); err != nil {
			t.Errorf("reading what is left: %v", err)
		}
		if _, err := w.Destroy(t.Context(), runtime.ApplyOptions{}); err != nil {
			t.Errorf("destroying after a kill: %v", err)
		}
	})
}

// killableHarness is a user of the package in a process of its own: it applies, says
// when the slow create has begun, and waits.
func killableHarness(dir string) int {
	ctx := context.Background()
	b, err := runtime.Find(ctx, runtime.Options{})
	if err != nil {
		return 1
	}
	w, err := b.Workdir(dir, runtime.WorkdirOptions{Events: onReady(func() { _, _ = os.Stdout.WriteString("ready\n") })})
	if err != nil {
		return 1
	}
	if _, err := w.Apply(ctx, runtime.ApplyOptions{}); err != nil {
		return 1
	}
	return 0
}

func TestCallerIsKilled(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		t.Parallel()
		// The slow create waits until somebody opens the gate.
		module := strings.Replace(slowModule, "sleep 300 & echo $! > ${path.root}/child; wait", "cat ${path.root}/gate", 1)
		w := set(t, b, module, runtime.WorkdirOptions{})
		gate := filepath.Join(w.Dir(), "gate")
		if err := syscall.Mkfifo(gate, 0o600); err != nil {
			t.Fatal(err)
		}
		mustInit(t, w)
		wait := killCaller(t, b, w.Dir())
		if err := os.WriteFile(gate, []byte("go on\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		wait()

		// The runtime finished what it did and stored it.
		st, err := w.State()
		if err != nil {
			t.Fatal(err)
		}
		if len(st.Resources) != 2 || st.Resources[1].Tainted || len(st.Outputs) != 1 {
			t.Errorf("state: %+v", st)
		}
		if _, err := w.Destroy(t.Context(), runtime.ApplyOptions{}); err != nil {
			t.Errorf("destroying after the caller was killed: %v", err)
		}
	})
}
