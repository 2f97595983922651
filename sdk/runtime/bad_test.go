package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/captf-toolkit/captf/sdk/runtime"
)

// mustFail unwraps the RunError and checks what its message says.
func mustFail(t *testing.T, err error, says ...string) *runtime.RunError {
	t.Helper()
	var re *runtime.RunError
	if !errors.As(err, &re) {
		t.Fatalf("got %v, want a RunError", err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
	if len(err.Error()) > 2000 || strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Errorf("the message is not one short line: %.300q", err)
	}
	return re
}

func TestBadRuns(t *testing.T) {
	for name, tc := range map[string]struct {
		says  []string
		check func(t *testing.T, re *runtime.RunError)
	}{
		"panics": {says: []string{": it crashed with exit code 2: panic: index out of range [1] with length 0 (log: "}},
		"killed": {says: []string{`ended by signal "killed"`}, check: func(t *testing.T, re *runtime.RunError) {
			if re.Signal != "killed" || re.ExitCode != -1 || re.Killed {
				t.Errorf("got %+v", re)
			}
		}},
		// Which of its two streams ends last is not fixed, and so is what is quoted of them.
		"garbage":        {says: []string{"exit code 1: ", "it printed ", " (log: "}},
		"silent-failure": {says: []string{"exit code 3"}},
		"text-error": {says: []string{"main.tf.json:7", "Invalid thing", "The thing (redacted) is not valid."},
			check: func(t *testing.T, re *runtime.RunError) {
				if len(re.Diagnostics) != 1 || re.Diagnostics[0].Line != 7 {
					t.Errorf("got %+v", re.Diagnostics)
				}
			}},
		"json-error":    {says: []string{"module/main.tf:3:5: module.role.terraform_data.x: bad (redacted): because of (redacted) (and 1 more error)"}},
		"prints-secret": {says: []string{"exit code 1", "something with (redacted) in it"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := fakeWorkdir(t, name, runtime.WorkdirOptions{Secrets: []string{"s3cr3t-value"}})
			res, err := w.Apply(t.Context(), runtime.ApplyOptions{})
			re := mustFail(t, err, append(tc.says, "apply in "+w.Dir())...)
			if tc.check != nil {
				tc.check(t, re)
			}
			if res == nil || res.ExitCode != re.ExitCode || res.Log == "" {
				t.Fatalf("got result %+v", res)
			}
			log, rerr := os.ReadFile(res.Log)
			if rerr != nil {
				t.Fatal(rerr)
			}
			everything := fmt.Sprintf("%s %+v %+v", log, res, re)
			for _, secret := range []string{"s3cr3t-value", "czNjcjN0LXZhbHVl"} {
				if strings.Contains(everything, secret) {
					t.Errorf("the secret %q is shown", secret)
				}
			}
		})
	}
}

func TestCrashIsNoChange(t *testing.T) {
	res, err := fakeWorkdir(t, "panics", runtime.WorkdirOptions{}).Plan(t.Context(), runtime.PlanOptions{})
	mustFail(t, err, "plan", "exit code 2", "index out of range")
	if res.Changed {
		t.Error("a crash was taken for a plan with changes")
	}
}

func TestInitWithoutJSON(t *testing.T) {
	_, err := fakeWorkdir(t, "old-init", runtime.WorkdirOptions{}).Init(t.Context(), runtime.InitOptions{})
	re := mustFail(t, err, "Terraform 1.5.7 init", "main.tf.json:4: Unreadable module directory: The directory could not be read.")
	if len(re.Diagnostics) != 1 {
		t.Errorf("got %+v", re.Diagnostics)
	}
}

func TestGarbageOfARunThatEndsWell(t *testing.T) {
	w := fakeWorkdir(t, "garbage-but-well", runtime.WorkdirOptions{})
	if _, err := w.Apply(t.Context(), runtime.ApplyOptions{}); err != nil {
		t.Errorf("lines that are no events are not the caller's trouble: %v", err)
	}
}

func TestBadDocuments(t *testing.T) {
	validate := func(w *runtime.Workdir) error { _, err := w.Validate(t.Context()); return err }
	show := func(w *runtime.Workdir) error { _, err := w.ShowState(t.Context()); return err }
	plan := func(w *runtime.Workdir) error { _, err := w.ShowPlan(t.Context(), "p"); return err }
	for name, tc := range map[string]struct {
		fake    string
		run     func(*runtime.Workdir) error
		garbage bool
	}{
		"validate, empty":  {"empty-document", validate, true},
		"validate, text":   {"document-is-text", validate, true},
		"validate, silent": {"silent-success", validate, true},
		"validate, fails":  {"document-fails", validate, false},
		"show, empty":      {"empty-document", show, true},
		"show, text":       {"document-is-text", show, true},
		"show, garbage":    {"garbage-but-well", show, true},
		"show, fails":      {"document-fails", show, false},
		"plan, text":       {"document-is-text", plan, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tc.run(fakeWorkdir(t, tc.fake, runtime.WorkdirOptions{}))
			mustFail(t, err)
			if errors.Is(err, runtime.ErrGarbage) != tc.garbage {
				t.Errorf("got %v", err)
			}
		})
	}
}

// onMessage returns an Events function that calls fn once for a message that begins so.
func onMessage(prefix string, fn func(rest string)) func(runtime.Step, runtime.Event) {
	var done atomic.Bool
	return func(_ runtime.Step, e runtime.Event) {
		if rest, ok := strings.CutPrefix(e.Message, prefix); ok && done.CompareAndSwap(false, true) {
			fn(rest)
		}
	}
}

func TestOneInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var interrupts atomic.Value
	w := fakeWorkdir(t, "stops-slowly", runtime.WorkdirOptions{Events: func(_ runtime.Step, e runtime.Event) {
		if e.Message == "ready" {
			cancel()
		}
		if n, ok := strings.CutPrefix(e.Message, "interrupts: "); ok {
			interrupts.Store(n)
		}
	}})
	_, err := w.Apply(ctx, runtime.ApplyOptions{})
	re := mustFail(t, err, "interrupted")
	if !re.Interrupted || re.Killed || re.Timeout || re.ExitCode != 1 {
		t.Errorf("got %+v", re)
	}
	if !errors.Is(err, runtime.ErrInterrupted) || !errors.Is(err, context.Canceled) || errors.Is(err, runtime.ErrTimeout) {
		t.Errorf("the error wraps too little or too much: %v", err)
	}
	if got := interrupts.Load(); got != "1" {
		t.Errorf("the runtime got %v interrupts, want 1", got)
	}
}

func TestDeadline(t *testing.T) {
	// The deadline must not pass before the fake has begun to ignore interrupts, however busy the machine.
	for timeout := 250 * time.Millisecond; ; timeout *= 4 {
		ready := false
		w := fakeWorkdir(t, "ignores-interrupt", runtime.WorkdirOptions{
			Timeouts: map[runtime.Step]time.Duration{runtime.StepPlan: timeout},
			Grace:    50 * time.Millisecond,
			Events:   onMessage("ready", func(string) { ready = true }),
		})
		_, err := w.Plan(t.Context(), runtime.PlanOptions{})
		if !ready && timeout < time.Minute {
			continue
		}
		re := mustFail(t, err, "plan", "not done after "+timeout.String(), "killed")
		if !re.Timeout || !re.Killed || re.Interrupted || re.Signal != "killed" {
			t.Errorf("got %+v", re)
		}
		if !errors.Is(err, runtime.ErrTimeout) || errors.Is(err, runtime.ErrInterrupted) {
			t.Errorf("got %v", err)
		}
		return
	}
}

func TestForce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	force := make(chan struct{})
	w := fakeWorkdir(t, "ignores-interrupt", runtime.WorkdirOptions{
		Force:  force,
		Events: onMessage("ready", func(string) { cancel(); close(force) }),
	})
	_, err := w.Destroy(ctx, runtime.ApplyOptions{})
	if re := mustFail(t, err, "destroy", "killed"); !re.Interrupted || !re.Killed {
		t.Errorf("got %+v", re)
	}
}

func TestForceAloneDoesNothing(t *testing.T) {
	force := make(chan struct{})
	close(force)
	w := fakeWorkdir(t, "silent-success", runtime.WorkdirOptions{Force: force})
	if _, err := w.Apply(t.Context(), runtime.ApplyOptions{}); err != nil {
		t.Error(err)
	}
}

func TestEndlessOutput(t *testing.T) {
	w := fakeWorkdir(t, "endless", runtime.WorkdirOptions{
		Timeouts: map[runtime.Step]time.Duration{runtime.StepApply: time.Second},
		Grace:    10 * time.Millisecond,
	})
	res, err := w.Apply(t.Context(), runtime.ApplyOptions{})
	mustFail(t, err, "not done after 1s")
	info, serr := os.Stat(res.Log)
	if serr != nil {
		t.Fatal(serr)
	}
	if info.Size() > 65<<20 {
		t.Errorf("the log has %d bytes", info.Size())
	}
}

func TestNothingLeftRunning(t *testing.T) {
	for _, name := range []string{"leaves-child", "leaves-daemon"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pid := 0
			w := fakeWorkdir(t, name, runtime.WorkdirOptions{Events: onMessage("child ", func(rest string) {
				if _, err := fmt.Sscan(rest, &pid); err != nil {
					t.Error(err)
				}
			})})
			// A process that left the group is its maker's wish, but must not hold us up.
			if _, err := w.Apply(t.Context(), runtime.ApplyOptions{}); err != nil {
				t.Fatal(err)
			}
			if pid == 0 {
				t.Fatal("the fake told no child")
			}
			daemon := name == "leaves-daemon"
			if got := alive(t, pid); got != daemon {
				t.Errorf("child alive: %t, want %t", got, daemon)
			}
			if p, err := os.FindProcess(pid); daemon && err == nil {
				_ = p.Kill()
			}
		})
	}
}

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := fakeWorkdir(t, "panics", runtime.WorkdirOptions{})
	res, err := w.Apply(ctx, runtime.ApplyOptions{})
	if re := mustFail(t, err, "interrupted"); !re.Interrupted || res != nil {
		t.Errorf("got %+v, %+v", re, res)
	}
}

func TestBinaryVanishes(t *testing.T) {
	path := fake(t, "panics")
	b, err := runtime.Find(t.Context(), runtime.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	w, err := b.Workdir(t.TempDir(), runtime.WorkdirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, err = w.Apply(t.Context(), runtime.ApplyOptions{})
	mustFail(t, err, "starting "+path)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestWorkdirRefuses(t *testing.T) {
	b, err := runtime.Find(t.Context(), runtime.Options{Path: fake(t, "panics")})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := dir + "/file"
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		dir  string
		o    runtime.WorkdirOptions
		says string
	}{
		"missing":       {dir: dir + "/none", says: "no such file"},
		"a file":        {dir: file, says: "not a directory"},
		"no CLI config": {dir: dir, o: runtime.WorkdirOptions{CLIConfig: dir + "/none"}, says: "CLI configuration"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := b.Workdir(tc.dir, tc.o); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v", err)
			}
		})
	}
	w, err := b.Workdir(dir, runtime.WorkdirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Apply(t.Context(), runtime.ApplyOptions{PlanFile: "p", Targets: []string{"x"}}); err == nil {
		t.Error("a plan file was taken with a target")
	}
	if _, err := w.Destroy(t.Context(), runtime.ApplyOptions{Replace: []string{"x"}}); err == nil {
		t.Error("destroy took an address to replace")
	}
}
