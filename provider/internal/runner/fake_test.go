package runner

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// fakes are runtimes that misbehave (B-994), by role. They answer the version as the real ones do.
var fakes = map[string]func(args []string) int{
	"garbage": only("plan", func() int {
		os.Stdout.Write([]byte("{\"@level\":\"info\",\"@message\":3,\"type\":[]}\n\xff\xfe\x00{{{{\n"))
		return 2 // as a Go program that crashed
	}),
	"silent": only("apply", func() int { return 7 }),
	"text": only("apply", func() int {
		fmt.Fprintln(os.Stderr, "╷\n│ \x1b[31mError: \x1b[0mInvalid CLI configuration\n│ \n│   on /etc/x.tfrc line 3:\n│ It is broken.\n╵")
		return 1
	}),
	"endless": only("apply", func() int {
		signal.Ignore(os.Interrupt)
		w := bufio.NewWriter(os.Stdout)
		for range 200_000 {
			_, _ = w.WriteString("{\"@level\":\"info\",\"@message\":\"all work and no play\"}\n")
		}
		_, _ = w.WriteString("{\"@level\":\"error\",\"@message\":\"Error\",\"type\":\"diagnostic\",\"diagnostic\":{\"severity\":\"error\",\"summary\":\"" +
			strings.Repeat("long ", 20_000) + "\",\"detail\":\"\"}}\n")
		for i := range 500 {
			fmt.Fprintf(w, "{\"@level\":\"error\",\"@message\":\"E\",\"type\":\"diagnostic\",\"diagnostic\":{\"severity\":\"error\",\"summary\":\"no %d\",\"detail\":\"%s\",\"address\":\"a.b[%d]\"}}\n",
				i, strings.Repeat("why ", 300), i)
		}
		_ = w.Flush()
		return 1
	}),
	"prints-state": only("apply", func() int {
		fmt.Println(`{"@level":"error","@message":"Error saving state","state":{"version":4,"serial":1,"lineage":"x","canary":"state-canary"}}`)
		return 1
	}),
	"only-good":  only("nothing", nil),
	"show-fails": only("show", func() int { return 0 }),
	// Counts interrupts for a while, so that a second one would be seen.
	"counts": only("apply", func() int {
		c := make(chan os.Signal, 8)
		signal.Notify(c, os.Interrupt, syscall.SIGTERM)
		fmt.Println(`{"@level":"info","@message":"ready"}`)
		<-c
		n := 1
		for limit := time.After(300 * time.Millisecond); ; {
			select {
			case <-c:
				n++
				continue
			case <-limit:
			}
			break
		}
		fmt.Fprintf(os.Stderr, "Error: interrupts: %d\n", n)
		return 1
	}),
}

// only makes a fake that misbehaves in one command and does well in all others.
func only(command string, misbehave func() int) func(args []string) int {
	return func(args []string) int {
		switch {
		case slices.Contains(args, command):
			return misbehave()
		case slices.Contains(args, "version"):
			fmt.Println(`{"terraform_version":"1.12.6"}`)
		case slices.Contains(args, "validate"):
			fmt.Println(`{"format_version":"1.0","valid":true,"diagnostics":[]}`)
		case slices.Contains(args, "plan"):
			fmt.Println(`{"@level":"info","@message":"Plan","type":"change_summary","changes":{"add":1,"operation":"plan"}}`)
			return 2
		}
		return 0
	}
}

func fakeJob(t *testing.T, role string) *job {
	t.Helper()
	bin := program(t, filepath.Join(t.TempDir(), "tofu"), role)
	return newJob(t, bin, map[string]string{"main.tf": plainModule})
}

// TestFakes: what a runtime says badly is told well, and never in more than there is room for.
func TestFakes(t *testing.T) {
	for _, tt := range []struct {
		role  string
		parts []string
		o     func(*Options)
	}{
		{"garbage", []string{"plan ended with exit code 2"}, func(o *Options) { o.GuardDeletes = true }},
		{"silent", []string{"apply ended with exit code 7 and said nothing"}, nil},
		{"text", []string{"Invalid CLI configuration: It is broken.", "/etc/x.tfrc:3"}, nil},
		{"endless", []string{"long long", "and 500 more errors"}, nil},
		{"prints-state", []string{"the state could be stored nowhere"}, nil},
		{"show-fails", []string{"the answer is empty"}, func(o *Options) { o.GuardDeletes = true }},
	} {
		t.Run(tt.role, func(t *testing.T) {
			j := fakeJob(t, tt.role)
			d := j.fails(infrav1.OperationApply, infrav1.RunErrorStep, tt.o, tt.parts...)
			if len(d.Error.Tail) > 512 || len(d.Error.Resources) > 10 {
				t.Errorf("too much: %+v", d.Error)
			}
			if strings.Contains(j.told(), "state-canary") {
				t.Error("the state is told")
			}
		})
	}
}

// TestOneInterrupt: a runtime gets one interrupt, not two: a second makes it drop what it is making.
func TestOneInterrupt(t *testing.T) {
	j := fakeJob(t, "counts")
	ctx, stop := notify()
	defer stop()
	w := &watch{text: "apply: ready", then: func() {
		for range 3 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		}
	}}
	err := Run(ctx, j.o, j.env, &j.stdout, w)
	d := j.broker.reported(t)
	if err == nil || d.Error.Kind != infrav1.RunErrorInterrupted || !strings.Contains(d.Error.Tail, "interrupts: 1") {
		t.Errorf("got %v, %+v\n%s", err, d.Error, w.all.String())
	}
}

func TestLayout(t *testing.T) {
	bin := program(t, filepath.Join(t.TempDir(), "tofu"), "silent")
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		module map[string]string
		o      func(*Options)
		want   string
	}{
		"no module":            {nil, func(o *Options) { o.Module += "x" }, "does not exist"},
		"no file":              {map[string]string{"README.md": "", "sub/main.tf": ""}, nil, "has no .tf"},
		"no runtime":           {map[string]string{"main.tofu": ""}, func(o *Options) { o.Bin = []string{"/no/runtime"} }, "/no/runtime does not exist"},
		"runtime may not run":  {map[string]string{"main.tf.json": "{}"}, func(o *Options) { o.Bin = []string{plain} }, "not executable"},
		"runtime is directory": {map[string]string{"main.tf": ""}, func(o *Options) { o.Bin = []string{t.TempDir()} }, "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, bin, tt.module)
			d := j.fails(infrav1.OperationApply, infrav1.RunErrorImageLayout, tt.o, tt.want)
			if len(d.Steps) != 0 {
				t.Errorf("steps were run: %+v", d.Steps)
			}
		})
	}
}

func TestPrepareFails(t *testing.T) {
	j := fakeJob(t, "silent")
	if err := os.Remove(filepath.Join(j.o.Config, "terraform.tfvars.json")); err != nil {
		t.Fatal(err)
	}
	d := j.fails(infrav1.OperationApply, infrav1.RunErrorStep, nil, "has no terraform.tfvars.json")
	if d.Error.Step != stepPrepare {
		t.Errorf("step %q", d.Error.Step)
	}
	// Without a broker a run that is to be judged needs a key.
	j = fakeJob(t, "silent")
	noBroker := func(o *Options) { o.Broker, o.Events, o.PlanKeyFile = "", false, filepath.Join(j.dir, "key") }
	d = j.fails(infrav1.OperationPlan, infrav1.RunErrorStep, noBroker, "reading the plan key")
	if len(d.Steps) != 0 {
		t.Errorf("steps were run: %+v", d.Steps)
	}
	if err := os.WriteFile(filepath.Join(j.dir, "key"), testKey[:31], 0o600); err != nil {
		t.Fatal(err)
	}
	j.fails(infrav1.OperationPlan, infrav1.RunErrorStep, noBroker, "fewer than 32")
}

// TestPanic: a bug of the runner is told too.
func TestPanic(t *testing.T) {
	j := fakeJob(t, "silent")
	defer func(old []action) { sequences[infrav1.OperationRefresh] = old }(sequences[infrav1.OperationRefresh])
	sequences[infrav1.OperationRefresh] = []action{func(*run) error { panic("a bug") }}
	j.fails(infrav1.OperationRefresh, infrav1.RunErrorStep, nil, "a bug")
	if j.broker.reported(t).Error == nil {
		t.Error("the broker does not know")
	}
}

// TestFullDisk: neither a full work directory nor a full result hides what happened.
func TestFullDisk(t *testing.T) {
	j := fakeJob(t, "only-good")
	j.o.Result = "/dev/full"
	if err := Run(t.Context(), withOp(j.o, infrav1.OperationRefresh), j.env, &j.stdout, &j.log); err == nil ||
		!strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v", err)
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16k"); err != nil {
		t.Logf("mounting a small file system: %v", err)
		return
	}
	defer func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }()
	// Filled to the last page: how much of its size a small file system gives differs between kernels.
	if err := os.WriteFile(filepath.Join(dir, "big"), make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the file system: %v", err)
	}
	j = fakeJob(t, "only-good")
	d := func() string {
		o := withOp(j.o, infrav1.OperationRefresh)
		o.Work = dir
		err := Run(t.Context(), o, j.env, &j.stdout, &j.log)
		if err == nil {
			return ""
		}
		return err.Error()
	}()
	if !strings.Contains(d, "no space left on device") || j.broker.reported(t).Error.Step != stepPrepare {
		t.Errorf("got %q", d)
	}
}

func withOp(o Options, op infrav1.Operation) Options {
	o.Op = op
	return o
}

// TestPaused: what is paused is not run, and the run may be repeated (B-896).
func TestPaused(t *testing.T) {
	j := fakeJob(t, "silent")
	j.broker.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/start" {
			return false
		}
		http.Error(w, "Cluster prod is paused", http.StatusConflict)
		return true
	}
	d := j.fails(infrav1.OperationApply, infrav1.RunErrorInterrupted, nil, "Cluster prod is paused, so that nothing was run")
	if len(d.Steps) != 0 {
		t.Errorf("it went as far as %+v", d.Steps)
	}
	for _, request := range j.broker.requests {
		if strings.Contains(request, "/state") {
			t.Errorf("the state was asked for: %s", request)
		}
	}
}
