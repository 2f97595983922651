package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// DefaultGrace is how long an interrupted runtime may go on. It is longer than the
// slowest create of any cloud, because killing a runtime in the middle of one loses
// the object (design D7).
const DefaultGrace = 45 * time.Minute

// Deadlines of the steps where [WorkdirOptions] give none.
var defaultTimeouts = map[Step]time.Duration{
	StepInit:     10 * time.Minute,
	StepValidate: 2 * time.Minute,
	StepPlan:     30 * time.Minute,
	StepApply:    2 * time.Hour,
	StepRefresh:  30 * time.Minute,
	StepDestroy:  2 * time.Hour,
	StepShow:     2 * time.Minute,
	StepOutput:   2 * time.Minute,
	StepSchemas:  5 * time.Minute,
}

// WorkdirOptions say how a runtime is run in a directory. The zero value is useful.
type WorkdirOptions struct {
	// Env is added to the environment and wins over what this package sets.
	Env map[string]string
	// CLIConfig is the path of the runtime's CLI configuration; empty means none, so
	// that the user's own does not decide. See [Binary.UserCLIConfig].
	CLIConfig string
	// Secrets are replaced by [Redacted] wherever they would appear. Values of
	// environment variables that hold credentials by their name are added.
	Secrets []string
	// Timeouts replace the default deadlines of steps; negative means none.
	Timeouts map[Step]time.Duration
	// Grace is the time from the interrupt to the kill; zero means [DefaultGrace].
	Grace time.Duration
	// Force, when closed, ends a running grace period, for a user who asks twice.
	Force <-chan struct{}
	// Kill, when closed, kills a running step at once and without an interrupt, as the
	// death of its machine would. It is for tests and drills.
	Kill <-chan struct{}
	// Parallelism of plan, apply, refresh and destroy; zero is the runtime's own.
	Parallelism int
	// Events, if set, is called for every event as it happens, from another goroutine
	// than the caller's but never after the step returned. It must be quick.
	Events func(Step, Event)
	// LogDir is where raw logs go; empty means .captf/log in the directory.
	LogDir string
}

// Workdir is a directory with a root module that a runtime works in. Steps run one
// at a time; a second caller waits.
type Workdir struct {
	bin     *Binary
	dir     string // as given, for messages
	abs     string
	o       WorkdirOptions
	env     []string
	redact  *redactor
	logDir  string
	mu      sync.Mutex
	lastLog int
}

// Workdir opens a directory. The caller has written or will write the root module and
// its variables before the first step; state lives where the root's backend says.
func (b *Binary) Workdir(dir string, o WorkdirOptions) (*Workdir, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("opening working directory %s: %w", dir, err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return nil, fmt.Errorf("opening working directory: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("opening working directory %s: it is not a directory", dir)
	}
	cliConfig := os.DevNull
	if o.CLIConfig != "" {
		if cliConfig, err = filepath.Abs(o.CLIConfig); err != nil {
			return nil, fmt.Errorf("opening working directory %s: %w", dir, err)
		}
		if _, err := os.Stat(cliConfig); err != nil {
			return nil, fmt.Errorf("opening working directory %s: reading the CLI configuration: %w", dir, err)
		}
	}
	w := &Workdir{bin: b, dir: dir, abs: abs, o: o, logDir: filepath.Join(abs, ".captf", "log")}
	if o.LogDir != "" {
		if w.logDir, err = filepath.Abs(o.LogDir); err != nil {
			return nil, fmt.Errorf("opening working directory %s: %w", dir, err)
		}
	}
	w.o.Env = maps.Clone(o.Env)
	w.env = environment(os.Environ(), abs, cliConfig, w.o.Env)
	w.redact = newRedactor(append(environmentSecrets(w.env), o.Secrets...))
	return w, nil
}

// Dir is the directory, as given.
func (w *Workdir) Dir() string { return w.dir }

// Binary is the runtime of the directory.
func (w *Workdir) Binary() *Binary { return w.bin }

// InitOptions are the arguments of [Workdir.Init].
type InitOptions struct {
	// BackendConfig completes the root's backend: KEY=VALUE or a file.
	BackendConfig []string
	// PluginDir replaces all installation sources of providers.
	PluginDir string
	// Upgrade looks for newer providers and modules than the lock file has.
	Upgrade bool
	// Always runs init although nothing asks for it.
	Always bool
}

// Init prepares the directory. It is skipped, with Result.Skipped set and no process
// started, if the root needs none or if the last init of this package still holds:
// same runtime, arguments, lock file, and configuration of the root and of each module
// that it installed.
func (w *Workdir) Init(ctx context.Context, o InitOptions) (*Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !o.Always && !o.Upgrade {
		if w.needsNoInit(o) || w.initialised(o) {
			return &Result{Step: StepInit, Skipped: true, Started: time.Now()}, nil
		}
	}
	args := []string{"init", "-input=false", "-no-color"}
	mode := textMode
	if w.bin.atLeast(initJSON[w.bin.Kind]) {
		args = append(args, "-json")
		mode = streamMode
	}
	for _, c := range o.BackendConfig {
		args = append(args, "-backend-config="+c)
	}
	if o.PluginDir != "" {
		args = append(args, "-plugin-dir="+o.PluginDir)
	}
	if o.Upgrade {
		args = append(args, "-upgrade")
	}
	w.forgetInit()
	res, _, err := w.run(ctx, call{step: StepInit, args: args, mode: mode})
	if err == nil {
		w.rememberInit(o)
	}
	return res, err
}

// Validate checks the configuration without reading state or calling a provider's API.
func (w *Workdir) Validate(ctx context.Context) (*Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	res, _, err := w.run(ctx, call{step: StepValidate, args: []string{"validate", "-json"}, mode: validateMode})
	return res, err
}

// PlanOptions are the arguments of [Workdir.Plan].
type PlanOptions struct {
	// Out is where the plan is written, relative to the directory; empty writes none. A plan
	// file holds secrets in clear.
	Out string
	// Destroy plans the deletion of everything; RefreshOnly only what a refresh would
	// take over into the state.
	Destroy, RefreshOnly bool
	// NoRefresh trusts the state instead of reading each object.
	NoRefresh bool
	// Targets and Replace are resource addresses.
	Targets, Replace []string
	// VarFiles are read beside those that the runtime finds by itself.
	VarFiles []string
}

// Plan finds out what an apply would change. Result.Changed tells whether it is
// anything, Result.Planned what; how much those say is told at [Change].
func (w *Workdir) Plan(ctx context.Context, o PlanOptions) (*Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	args := w.operation("plan", o.Targets, o.Replace, o.VarFiles)
	args = append(args, "-detailed-exitcode")
	if o.Out != "" {
		args = append(args, "-out="+o.Out)
	}
	if o.Destroy {
		args = append(args, "-destroy")
	}
	if o.RefreshOnly {
		args = append(args, "-refresh-only")
	}
	if o.NoRefresh {
		args = append(args, "-refresh=false")
	}
	res, _, err := w.run(ctx, call{step: StepPlan, args: args, mode: streamMode, changedCode: 2})
	if res != nil {
		res.Changed = err == nil && res.ExitCode == 2
	}
	return res, err
}

// ApplyOptions are the arguments of [Workdir.Apply] and [Workdir.Destroy].
type ApplyOptions struct {
	// PlanFile applies a written plan as it is; all other options must be empty then.
	PlanFile string
	// NoRefresh trusts the state instead of reading each object.
	NoRefresh bool
	// Targets and Replace are resource addresses; Replace is not for Destroy.
	Targets, Replace []string
	// VarFiles are read beside those that the runtime finds by itself.
	VarFiles []string
}

// Apply makes the world as the configuration says, without asking.
func (w *Workdir) Apply(ctx context.Context, o ApplyOptions) (*Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o.PlanFile != "" && (o.NoRefresh || len(o.Targets)+len(o.Replace)+len(o.VarFiles) > 0) {
		return nil, fmt.Errorf("running apply in %s: a plan file takes no other options", w.dir)
	}
	args := append(w.operation("apply", o.Targets, o.Replace, o.VarFiles), "-auto-approve")
	if o.NoRefresh {
		args = append(args, "-refresh=false")
	}
	if o.PlanFile != "" {
		args = append(args, o.PlanFile)
	}
	res, _, err := w.run(ctx, call{step: StepApply, args: args, mode: streamMode})
	return res, err
}

// Refresh takes what it finds in the world over into the state and changes nothing else.
func (w *Workdir) Refresh(ctx context.Context) (*Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	args := append(w.operation("apply", nil, nil, nil), "-refresh-only", "-auto-approve")
	res, _, err := w.run(ctx, call{step: StepRefresh, args: args, mode: streamMode})
	return res, err
}

// Destroy deletes everything in the state, without asking.
func (w *Workdir) Destroy(ctx context.Context, o ApplyOptions) (*Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o.PlanFile != "" || len(o.Replace) > 0 {
		return nil, errors.New("running destroy: it takes neither a plan file nor addresses to replace")
	}
	args := append(w.operation("apply", o.Targets, nil, o.VarFiles), "-destroy", "-auto-approve")
	if o.NoRefresh {
		args = append(args, "-refresh=false")
	}
	res, _, err := w.run(ctx, call{step: StepDestroy, args: args, mode: streamMode})
	return res, err
}

// operation are the arguments that plan and apply share.
func (w *Workdir) operation(verb string, targets, replace, varFiles []string) []string {
	args := []string{verb, "-json", "-input=false"}
	if w.o.Parallelism > 0 {
		args = append(args, fmt.Sprintf("-parallelism=%d", w.o.Parallelism))
	}
	for flag, values := range map[string][]string{"-target=": targets, "-replace=": replace, "-var-file=": varFiles} {
		for _, v := range values {
			args = append(args, flag+v)
		}
	}
	slices.Sort(args[2:]) // one order, whatever the map's
	return args
}

// timeout of a step; zero is none.
func (w *Workdir) timeout(s Step) time.Duration {
	if t, ok := w.o.Timeouts[s]; ok && t != 0 {
		return max(0, t)
	}
	return defaultTimeouts[s]
}
