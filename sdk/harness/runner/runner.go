package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/module"
	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// DefaultParallel is how many runtime processes run at the same time.
const DefaultParallel = 8

// Options say how a set is run.
type Options struct {
	// Binary is the runtime; it must be set.
	Binary *runtime.Binary
	// Scratch is the directory for working directories, states and logs. It is
	// made if it does not exist. What is in it belongs to the runner.
	Scratch string
	// Definition is the contract version that the set is run by; it must be set.
	Definition contract.Definition
	// Variables are the user variables.
	Variables []Variable
	// Parallel is how many runtime processes may run at the same time; 0 means
	// [DefaultParallel].
	Parallel int
	// StepTimeout bounds one process; 0 leaves the defaults of sdk/runtime,
	// negative is no bound.
	StepTimeout time.Duration
	// Grace is the time from an interrupt to a kill; 0 leaves the default of sdk/runtime.
	Grace time.Duration
	// Force, when closed, ends running grace periods: the processes are killed, and
	// none is started any more.
	Force <-chan struct{}
	// CLIConfig is the path of the runtime's CLI configuration; "" means none.
	CLIConfig string
	// Env is added to the runtime's environment.
	Env map[string]string
	// Simulate replaces the providers of the set by simulated ones; nil leaves them.
	// [Runner.Close] ends them.
	Simulate *Simulation
}

// Runner runs the modules of a set. It implements [harness.Modules].
type Runner struct {
	o     Options
	set   *Set
	roles map[contract.Role]*roleDir
	slots chan struct{}
	clock clock
	// server serves the simulated providers; nil without them.
	server *simcloud.Server

	mu      sync.Mutex
	objects map[objectKey]*object
	// notes are what a person should know of runs that were killed.
	notes []harness.Note
	// pending are the faults that are to break the next runs of an object.
	pending map[objectKey][]*harness.Fault
	// made are the addresses of what is or was in the simulated cloud.
	made map[cloudKey]string
}

type objectKey struct {
	role contract.Role
	name string
}

var _ harness.Modules = (*Runner)(nil)

// New prepares a set for running: it reads what the harness needs to know of
// the modules, checks the variables, and initialises each role once. Problems
// with variables are a [VariableError].
func New(ctx context.Context, set *Set, o Options) (*Runner, error) {
	if o.Parallel <= 0 {
		o.Parallel = DefaultParallel
	}
	if err := os.MkdirAll(o.Scratch, 0o700); err != nil {
		return nil, fmt.Errorf("making the scratch directory: %w", err)
	}
	abs, err := filepath.Abs(o.Scratch)
	if err != nil {
		return nil, fmt.Errorf("making the scratch directory: %w", err)
	}
	// Paths from there to the modules are followed by the operating system.
	if o.Scratch, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, fmt.Errorf("making the scratch directory: %w", err)
	}
	r := &Runner{
		o: o, set: set, roles: map[contract.Role]*roleDir{}, objects: map[objectKey]*object{},
		slots: make(chan struct{}, o.Parallel), pending: map[objectKey][]*harness.Fault{}, made: map[cloudKey]string{},
	}
	user, err := assign(set, r.reader(), o.Definition, o.Variables)
	if err != nil {
		return nil, err
	}
	for _, role := range set.Roles() {
		if err := r.openRole(set.members[role], user[role]); err != nil {
			return nil, err
		}
	}
	if o.Simulate != nil {
		if err := r.simulate(); err != nil {
			return nil, err
		}
	}
	if err := r.initAll(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// reader is the runtime as the module reader names it.
func (r *Runner) reader() module.Runtime {
	if r.o.Binary.Kind == runtime.OpenTofu {
		return module.OpenTofu
	}
	return module.Terraform
}

func (r *Runner) openRole(m *member, user userVariables) error {
	view, err := m.view(r.reader())
	if err != nil {
		return err
	}
	info, err := m.describe(view, r.o.Binary)
	if err != nil {
		return err
	}
	d := &roleDir{
		r: r, member: m, info: info, user: user,
		dir: filepath.Join(r.o.Scratch, string(m.role)), declared: map[string]bool{}, builtin: !needsProviders(view), changes: changesOf(view),
	}
	d.info.Secrets = user.secrets
	for name := range info.Outputs {
		d.declared[name] = true
	}
	if d.source, err = sourcePath(d.initDir(), m.real); err != nil {
		return fmt.Errorf("opening the %s module: %w", m.role, err)
	}
	d.lifted.protected = protectedResources(view, m.place)
	for _, p := range d.lifted.protected {
		d.info.Protected = append(d.info.Protected, p.Protected)
	}
	d.fault.first, d.fault.ok = firstResource(view)
	d.fault.ok = d.fault.ok && !m.escapes(r.reader())
	r.roles[m.role] = d
	return nil
}

// sourcePath is the local source address of a module for a root in dir.
func sourcePath(dir, real string) (string, error) {
	rel, err := filepath.Rel(dir, real)
	if err != nil {
		return "", err
	}
	return filepath.ToSlash(rel), nil
}

// initAll initialises the roles: side by side, unless providers are installed,
// because the runtimes' plugin cache takes one writer at a time.
func (r *Runner) initAll(ctx context.Context) error {
	together := true
	for _, d := range r.roles {
		together = together && (d.builtin || r.server != nil)
	}
	var wg sync.WaitGroup
	roles := r.set.Roles()
	errs := make([]error, len(roles))
	for i, role := range roles {
		wg.Go(func() {
			errs[i] = r.roles[role].init(ctx)
		})
		if !together {
			wg.Wait()
			if errs[i] != nil {
				break
			}
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// needsProviders tells that the module or one below it uses a provider that is
// not built into the runtimes.
func needsProviders(view *module.Module) bool {
	needs := false
	walkCalls(view, func(_ string, m *module.Module) {
		needs = needs || len(m.RequiredProviders) > 0 || len(m.Providers) > 0 ||
			slices.ContainsFunc(m.Resources, func(r *module.Resource) bool { return !strings.HasPrefix(r.Type, "terraform_") }) ||
			slices.ContainsFunc(m.Calls, func(c *module.ModuleCall) bool { return c.Module == nil })
	})
	return needs
}

// initDir is the directory of a role in which init runs.
func (d *roleDir) initDir() string { return filepath.Join(d.dir, ".init") }

// init initialises the data directory that all objects of the role share. The
// directory that it runs in lies as deep as theirs, so the relative paths that
// the runtime notes down hold for all of them.
func (d *roleDir) init(ctx context.Context) error {
	o := &object{role: d, name: "init", dir: d.initDir()}
	// The provider versions that the module was tested with, if it says so.
	if err := copyFile(filepath.Join(d.member.real, lockFile), filepath.Join(o.dir, lockFile)); err != nil {
		return fmt.Errorf("initialising the %s module %s: %w", d.member.role, d.member.dir, err)
	}
	if err := o.init(ctx, d.plainRoot()); err != nil {
		return fmt.Errorf("initialising the %s module %s: %w", d.member.role, d.member.dir, d.explainInit(err))
	}
	view, err := d.member.view(d.r.reader())
	if err == nil {
		err = d.checkValidations(ctx, view)
	}
	if err != nil {
		return err
	}
	return d.lift(ctx)
}

// explainInit says of a module for another version of the runtime what it asks
// for; every other reason for which init fails is said by the runtime.
func (d *roleDir) explainInit(err error) error {
	re, ok := errors.AsType[*runtime.RunError](err)
	if !ok {
		return err
	}
	view, viewErr := d.member.view(d.r.reader())
	if viewErr != nil {
		return err
	}
	var unmet []string
	walkCalls(view, func(_ string, m *module.Module) {
		for _, c := range m.Versions {
			at := d.member.place(c.Range.Filename, c.Range.Start.Line)
			blamed := slices.ContainsFunc(re.Diagnostics, func(g runtime.Diagnostic) bool { return fmt.Sprintf("%s:%d", g.File, g.Line) == at })
			if c.Effective && blamed {
				unmet = append(unmet, fmt.Sprintf("%s: %s is %q, and the runtime is %s", at, c.Argument, c.Raw, d.r.o.Binary))
			}
		}
	})
	if len(unmet) == 0 {
		return err
	}
	return fmt.Errorf("%s: name another runtime with --runtime, or change the constraint", strings.Join(unmet, "; "))
}

func (o *object) init(ctx context.Context, rt root) error {
	w, err := o.prepare(sample(o.role.member.role), rt, nil)
	if err != nil {
		return err
	}
	err = o.role.r.process(ctx, func() (*runtime.Result, error) { return w.Init(ctx, runtime.InitOptions{}) })
	return o.readable(err)
}

// sample are inputs for the root that init reads. Init looks at no value, but
// OpenTofu wants to know those that a module's source is made of.
func sample(role contract.Role) contract.Inputs {
	name := contract.NamespacedName{Name: "init", Namespace: "default"}
	common := contract.CommonInputs{Cluster: name, Object: name}
	bootstrap := contract.Bootstrap{Data: []byte("#cloud-config\n")}
	switch role {
	case contract.RoleMachine:
		return &contract.MachineInputs{CommonInputs: common, MachineName: name.Name, Bootstrap: bootstrap}
	case contract.RoleMachinePool:
		return &contract.PoolInputs{CommonInputs: common, MachinePoolName: name.Name, Bootstrap: bootstrap}
	}
	return &contract.ClusterInputs{CommonInputs: common}
}

// process runs one runtime process when there is a slot for it.
func (r *Runner) process(ctx context.Context, run func() (*runtime.Result, error)) error {
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("waiting for other runs: %w", context.Cause(ctx))
	}
	defer func() { <-r.slots }()
	select {
	case <-r.o.Force:
		return errors.New("not started, because everything is stopped at once")
	default:
	}
	res, err := run()
	if res != nil {
		r.clock.add(res.Started, res.Duration)
	}
	return err
}

// Roles implements [harness.Modules].
func (r *Runner) Roles() []contract.Role { return r.set.Roles() }

// Module implements [harness.Modules].
func (r *Runner) Module(role contract.Role) harness.ModuleInfo {
	d := r.roles[role]
	if d == nil {
		return harness.ModuleInfo{Role: role}
	}
	return d.info
}

// Scratch is the scratch directory: absolute and without symbolic links.
func (r *Runner) Scratch() string { return r.o.Scratch }

// Busy is the real time during which at least one runtime process ran.
func (r *Runner) Busy() time.Duration { return r.clock.busy() }

// Runs is the number of module runs so far.
func (r *Runner) Runs() int {
	r.clock.mu.Lock()
	defer r.clock.mu.Unlock()
	return r.clock.runs
}

// object returns the object with the given name, new or known.
func (r *Runner) object(name string, in contract.Inputs) (*object, error) {
	d := r.roles[in.Role()]
	if d == nil {
		return nil, fmt.Errorf("running %s: the set has no %s module", name, in.Role())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := objectKey{in.Role(), name}
	o := r.objects[key]
	if o == nil {
		o = &object{role: d, name: name, dir: filepath.Join(d.dir, directoryName(name))}
		r.objects[key] = o
	}
	return o, nil
}

// operation is what one kind of run does with an opened directory.
type operation func(ctx context.Context, w *runtime.Workdir) (*runtime.Result, error)

// Apply implements [harness.Modules].
func (r *Runner) Apply(ctx context.Context, name string, in contract.Inputs) (*harness.Run, error) {
	return r.run(ctx, harness.OpApply, name, in, func(ctx context.Context, w *runtime.Workdir) (*runtime.Result, error) {
		return w.Apply(ctx, runtime.ApplyOptions{})
	})
}

// Plan implements [harness.Modules]. It always reads the infrastructure first:
// that nothing changed since the last run could only be assumed.
func (r *Runner) Plan(ctx context.Context, name string, in contract.Inputs) (*harness.Run, error) {
	return r.run(ctx, harness.OpPlan, name, in, func(ctx context.Context, w *runtime.Workdir) (*runtime.Result, error) {
		return w.Plan(ctx, runtime.PlanOptions{})
	})
}

// Refresh implements [harness.Modules].
func (r *Runner) Refresh(ctx context.Context, name string, in contract.Inputs) (*harness.Run, error) {
	return r.run(ctx, harness.OpRefresh, name, in, func(ctx context.Context, w *runtime.Workdir) (*runtime.Result, error) {
		return w.Refresh(ctx)
	})
}

// Destroy implements [harness.Modules].
func (r *Runner) Destroy(ctx context.Context, name string, in contract.Inputs) (*harness.Run, error) {
	o, err := r.object(name, in)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.destroy(ctx, in)
}

// PlanValues implements [harness.Modules].
func (r *Runner) PlanValues(ctx context.Context, name string, in contract.Inputs) (*harness.Run, error) {
	o, err := r.object(name, in)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(o.dir, planFile)
	defer os.Remove(file)
	var planned *runtime.Workdir
	run, err := r.run(ctx, harness.OpPlan, name, in, func(ctx context.Context, w *runtime.Workdir) (*runtime.Result, error) {
		planned = w
		return w.Plan(ctx, runtime.PlanOptions{Out: planFile})
	})
	if err != nil || run.Failed {
		return run, err
	}
	err = r.process(ctx, func() (*runtime.Result, error) {
		start := time.Now()
		plan, err := planned.ShowPlan(ctx, planFile)
		took := time.Since(start)
		if err == nil {
			run.Planned, err = plannedContent(plan)
			err = errors.Join(err, plannedOutputs(run, plan))
		}
		run.Took += took
		return &runtime.Result{Started: start, Duration: took}, err
	})
	if err != nil {
		return nil, fmt.Errorf("planning %s: %w", name, err)
	}
	return run, nil
}

// run prepares an object's directory, runs one operation and reads what came out.
func (r *Runner) run(ctx context.Context, op harness.Op, name string, in contract.Inputs, do operation) (*harness.Run, error) {
	o, err := r.object(name, in)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.run(ctx, op, in, o.role.plainRoot(), do)
}

func (o *object) run(ctx context.Context, op harness.Op, in contract.Inputs, rt root, do operation) (*harness.Run, error) {
	f := o.due(op)
	if f == nil {
		return o.runPlain(ctx, op, in, rt, do)
	}
	b, err := o.broken(*f)
	switch {
	case err != nil:
		return nil, err
	case o.role.r.server == nil:
		return b.plain(ctx, o, in, op, rt, do)
	}
	return o.perform(ctx, op, in, rt, do, b)
}

// runPlain runs an operation that no fault breaks.
func (o *object) runPlain(ctx context.Context, op harness.Op, in contract.Inputs, rt root, do operation) (*harness.Run, error) {
	return o.perform(ctx, op, in, rt, do, nil)
}

// perform runs an operation, which a fault of the simulated cloud breaks if b is set.
func (o *object) perform(ctx context.Context, op harness.Op, in contract.Inputs, rt root, do operation, b *broken) (*harness.Run, error) {
	r := o.role.r
	r.clock.countRun()
	if op == harness.OpApply || op == harness.OpDestroy || o.inputs == nil {
		o.inputs = in
	}
	var w *runtime.Workdir
	open := func(kill <-chan struct{}) (*runtime.Workdir, error) {
		var err error
		w, err = o.prepare(in, rt, kill)
		return w, err
	}
	if b == nil {
		if _, err := open(nil); err != nil {
			return nil, err
		}
	}
	var res *runtime.Result
	err := r.process(ctx, func() (*runtime.Result, error) {
		var err error
		if b != nil {
			res, err = b.simulated(ctx, o, open, do)
		} else {
			res, err = do(ctx, w)
		}
		return res, err
	})
	if w == nil {
		return nil, err
	}
	if res != nil && res.RescuedState != "" {
		err = errors.Join(err, o.adopt(res.RescuedState))
	}
	struck := b != nil && !b.hit.IsZero() && b.text != ""
	if !struck {
		o.noteKilled(op, err)
	}
	var late *runtime.RunError
	if re, ok := errors.AsType[*runtime.RunError](err); ok && re.Timeout {
		late = re
	}
	failed, fatal := failure(res, err)
	if struck && res != nil && ctx.Err() == nil {
		failed, fatal = true, nil
	}
	if fatal != nil {
		return nil, o.readable(fatal)
	}
	if !failed && !answered(op, res, filepath.Join(o.dir, stateFile)) {
		return nil, fmt.Errorf("running %s %s in %s: it ended well, but wrote no state and said nothing that can be read (log: %s)",
			r.o.Binary, op, o.dir, res.Log)
	}
	state, err := w.State()
	if err != nil {
		return nil, fmt.Errorf("reading what %s of %s left: %w", op, o.name, err)
	}
	run := &harness.Run{
		Op: op, Failed: failed, Took: res.Duration,
		Changes:     changes(res.Planned),
		Values:      contract.Values{Outputs: state.Values(), Declared: o.role.declared},
		Diagnostics: o.diagnostics(res.Diagnostics),
	}
	if late != nil {
		run.Hung = hung(res, late.After)
		run.Diagnostics = slices.Insert(run.Diagnostics, 0, hungDiagnostic(run.Hung, late))
	}
	for _, a := range res.Outputs {
		run.OutputsChanged = run.OutputsChanged || a != "" && a != runtime.NoOp
	}
	if run.Resources, err = resources(state); err != nil {
		return nil, fmt.Errorf("reading what %s of %s left: %w", op, o.name, err)
	}
	o.remember(run.Resources)
	if b == nil || !struck && b.fault.Kind != harness.FaultStateLost {
		return run, nil
	}
	if b.fault.Kind == harness.FaultHangs {
		run.Hung = hung(res, b.hit.Sub(res.Started))
	}
	return b.ended(o, run)
}
