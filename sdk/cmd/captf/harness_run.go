package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agext/levenshtein"
	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/runner"
	"github.com/captf-toolkit/captf/sdk/report"
	"github.com/captf-toolkit/captf/sdk/runtime"
)

// What becomes of what exists when a run is interrupted.
const (
	interruptDestroy = "destroy"
	interruptKeep    = "keep"
)

// harnessFlags are the flags of captf harness run.
type harnessFlags struct {
	controlPlane, runtime, output, onInterrupt, userEndpoint, contract string
	cluster, machine, machinePool                                      string
	scenarios, scenarioFiles, variables, allow                         []string
	random                                                             int
	registrationMethod, registrationAddress, page                      string
	all, keep, noProgress, questions                                   bool
	seed                                                               uint64
	timeout, stepTimeout, grace                                        time.Duration
	simulateFlags
}

func newHarnessRunCommand() *cobra.Command {
	var f harnessFlags
	cmd := &cobra.Command{
		Use:   "run [flags] (SET_DIR | --cluster DIR --machine DIR [--machinepool DIR])",
		Short: "Play a cluster's life on a set of modules, on a real runtime",
		Long: `Play a cluster's life on a set of modules, on a real runtime.

What Cluster API and a control-plane provider do around a cluster is played in
virtual time; the modules are really run by OpenTofu or Terraform, with states in a
temporary directory. Modules that create things in a cloud really create them, unless
--simulate.

SET_DIR holds a module in each of the directories cluster, machine and, if the set
has pools, machinepool. The story goes to standard error as it is played, the
result to standard output. With several scenarios the JSON result is a list.

A value of --var is for every module of the set that declares the variable, or for
one role as ROLE.NAME=VALUE. Values of variables that are no strings may be JSON.

An interrupt (Ctrl-C, SIGTERM) lets running module runs stop in order and destroys
what exists, unless --on-interrupt keep. A second one stops everything at once and
keeps the states; where they are is said at the end.

Exit codes: ` + strconv.Itoa(exitOK) + ` every requirement that applies holds; ` + strconv.Itoa(exitFailed) + ` a requirement failed or the run stalled;
` + strconv.Itoa(exitError) + ` it could not run, or was interrupted; ` + strconv.Itoa(exitUsage) + ` the command line is wrong.`,
		Example: `  # A whole life on the modules in ./modules/{cluster,machine,machinepool}
  captf harness run modules

  # Two scenarios with another runtime, as JUnit
  captf harness run --runtime terraform --scenario K1,K4 --output junit modules

  # The same modules under RKE2, with nodes that join at addresses of machines
  captf harness run --control-plane rke2 --registration-method internal-only-ips modules

  # Modules for a cloud, without one
  captf harness run --simulate --all modules

  # Modules that need variables, kept for a look
  captf harness run --var region=eu-west-1 --var machine.size=large --keep modules`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(fmt.Errorf("one directory is needed, but there are %d arguments", len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.checkGiven(cmd); err != nil {
				return usage(err)
			}
			return runHarness(cmd, f, args)
		},
	}
	flags := cmd.Flags()
	planes := controlPlanes()
	flags.StringVar(&f.controlPlane, "control-plane", planes[0].Name, "control plane to play: "+strings.Join(controlPlaneNames(planes), ", "))
	flags.StringSliceVar(&f.scenarios, "scenario", nil, "scenarios to play, by id (default "+defaultScenarios(planes)+"); see captf harness list")
	flags.BoolVar(&f.all, "all", false, "play every scenario of the control plane that can be played; the others are listed with the reason")
	addScenarioFlags(cmd, &f)
	addSetFlags(cmd, &f)
	flags.StringVar(&f.userEndpoint, "user-endpoint", "", "control-plane endpoint that the user provides, as HOST:PORT")
	flags.BoolVar(&f.questions, "questions", false, "list the questions that a person has to answer, instead of only counting them (text output)")
	flags.StringVarP(&f.output, "output", "o", "text", "format of the result: text, json or junit")
	complete(cmd, "control-plane", controlPlaneNames(planes)...)
	completeForPlane(cmd, "scenario", scenarioIDs)
	complete(cmd, "output", "text", "json", "junit")
	return cmd
}

// addSetFlags adds the flags that say which modules are played, with what and for how long.
func addSetFlags(cmd *cobra.Command, f *harnessFlags) {
	flags := cmd.Flags()
	flags.StringVar(&f.runtime, "runtime", "", "path or name of the OpenTofu or Terraform binary (default $"+runtime.EnvRuntime+", then tofu, then terraform)")
	flags.StringVar(&f.contract, "contract", "", "contract version: "+strings.Join(versions.Names(), ", ")+" (default "+versions.Default().Version()+")")
	flags.StringVar(&f.cluster, "cluster", "", "directory of the cluster module, instead of SET_DIR")
	flags.StringVar(&f.machine, "machine", "", "directory of the machine module, instead of SET_DIR")
	flags.StringVar(&f.machinePool, "machinepool", "", "directory of the machinepool module, instead of SET_DIR")
	flags.StringArrayVar(&f.variables, "var", nil, "user variable as NAME=VALUE or ROLE.NAME=VALUE; may be repeated")
	addRegistrationFlags(cmd, f)
	addSimulateFlags(cmd, &f.simulateFlags)
	flags.StringSliceVar(&f.allow, "allow", nil, "ids of requirements whose failure is only noted")
	flags.Uint64Var(&f.seed, "seed", 1, "number that decides everything random; the same seed gives the same story")
	flags.DurationVar(&f.timeout, "timeout", 0, "real time after which the run is interrupted, such as 30m (default none)")
	flags.DurationVar(&f.stepTimeout, "step-timeout", 0, "real time that one run of the runtime may take (default 2h for an apply or destroy)")
	flags.DurationVar(&f.grace, "grace", runtime.DefaultGrace, "real time that an interrupted run of the runtime gets to stop in order, before it is killed")
	flags.BoolVar(&f.keep, "keep", false, "keep working directories, states and logs, and destroy nothing that the story leaves")
	flags.StringVar(&f.onInterrupt, "on-interrupt", interruptDestroy, "what becomes of what exists when the run is interrupted: destroy or keep")
	flags.BoolVar(&f.noProgress, "no-progress", false, "do not write the story to standard error")
	addPageFlag(cmd, &f.page)
	complete(cmd, "on-interrupt", interruptDestroy, interruptKeep)
}

// checkGiven refuses flags that are given without a value, and files that could not be written.
func (f *harnessFlags) checkGiven(cmd *cobra.Command) error {
	// A list that is given and empty is a script's mistake, not a wish for the default.
	for name, list := range map[string][]string{"scenario": f.scenarios, "allow": f.allow} {
		if cmd.Flags().Changed(name) && len(list) == 0 {
			return fmt.Errorf("parsing --%s \"\": it names nothing", name)
		}
	}
	for name, text := range map[string]string{"registration-method": f.registrationMethod, "registration-address": f.registrationAddress} {
		if cmd.Flags().Changed(name) && text == "" {
			return fmt.Errorf("parsing --%s \"\": it names nothing", name)
		}
	}
	if cmd.Flags().Changed("runtime") && f.runtime == "" {
		return errors.New("parsing --runtime \"\": it names no binary; leave the flag out to search $" + runtime.EnvRuntime + ", tofu and terraform")
	}
	return checkPage(cmd, f.page)
}

func controlPlaneNames(planes []*harness.ControlPlane) []string {
	names := make([]string, 0, len(planes))
	for _, cp := range planes {
		names = append(names, cp.Name)
	}
	return names
}

// harnessOrder is a command line that was understood.
type harnessOrder struct {
	harnessFlags
	plane      *harness.ControlPlane
	scenarios  []harness.Scenario
	definition contract.Definition
	variables  []runner.Variable
	endpoint   *contract.Endpoint
	simulated  *runner.Simulation
	// set opens the modules.
	set func() (*runner.Set, error)
	// again writes the command line that plays one scenario again.
	again func(s harness.Scenario, set *runner.Set) string
	// seeds are those of random scenarios, by id.
	seeds map[string]uint64
}

// order understands the flags. Every error is one of usage.
func (f harnessFlags) order(args []string) (*harnessOrder, error) {
	o := &harnessOrder{harnessFlags: f}
	var err error
	if err := checkOutput(f.output, "text", "json", "junit"); err != nil {
		return nil, err
	}
	if f.onInterrupt != interruptDestroy && f.onInterrupt != interruptKeep {
		return nil, fmt.Errorf("parsing --on-interrupt %q: it is %s or %s", f.onInterrupt, interruptDestroy, interruptKeep)
	}
	if f.timeout < 0 || f.stepTimeout < 0 || f.grace <= 0 {
		return nil, errors.New("a timeout cannot be negative, and a grace period not zero either")
	}
	if o.plane, err = findControlPlane(f.controlPlane); err != nil {
		return nil, err
	}
	if o.scenarios, err = f.chooseScenarios(o.plane); err != nil {
		return nil, err
	}
	if o.definition = versions.Default(); f.contract != "" {
		if o.definition, err = versions.Get(f.contract); err != nil {
			return nil, err
		}
	}
	for _, arg := range f.variables {
		v, err := runner.ParseVariable(arg)
		if err != nil {
			return nil, err
		}
		o.variables = append(o.variables, v)
	}
	if f.userEndpoint != "" {
		if o.endpoint, err = parseEndpoint(f.userEndpoint); err != nil {
			return nil, err
		}
	}
	if err := f.checkRegistration(o.plane, o.scenarios); err != nil {
		return nil, err
	}
	for _, id := range f.allow {
		if err := checkRequirement(o.definition, id); err != nil {
			return nil, err
		}
	}
	if o.simulated, err = f.simulation(); err != nil {
		return nil, err
	}
	o.set, err = f.modules(args)
	return o, err
}

// modules tells where the set is: in one directory, or in one for each role.
func (f harnessFlags) modules(args []string) (func() (*runner.Set, error), error) {
	dirs := map[contract.Role]string{}
	for role, dir := range map[contract.Role]string{
		contract.RoleCluster: f.cluster, contract.RoleMachine: f.machine, contract.RoleMachinePool: f.machinePool,
	} {
		if dir != "" {
			dirs[role] = dir
		}
	}
	switch {
	case len(args) == 1 && len(dirs) > 0:
		return nil, errors.New("give either SET_DIR or a directory for each role, not both")
	case len(args) == 1 && args[0] == "":
		return nil, errors.New("the directory is an empty string")
	case len(args) == 1:
		return func() (*runner.Set, error) { return runner.OpenSet(args[0]) }, nil
	case dirs[contract.RoleCluster] == "" || dirs[contract.RoleMachine] == "":
		return nil, errors.New("either SET_DIR is needed, or at least --cluster DIR and --machine DIR")
	}
	return func() (*runner.Set, error) { return runner.OpenDirs(dirs) }, nil
}

// parseEndpoint reads HOST:PORT.
func parseEndpoint(text string) (*contract.Endpoint, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" {
		return nil, fmt.Errorf("parsing --user-endpoint %q: it must be HOST:PORT", text)
	}
	n, err := strconv.ParseInt(port, 10, 64)
	if err != nil || n < 1 || n > 65535 {
		return nil, fmt.Errorf("parsing --user-endpoint %q: the port must be a number from 1 to 65535", text)
	}
	return &contract.Endpoint{Host: host, Port: n}, nil
}

// checkRequirement refuses an id that no result can have.
func checkRequirement(def contract.Definition, id string) error {
	known := harness.ResultIDs(def)
	if slices.Contains(known, id) {
		return nil
	}
	return fmt.Errorf("parsing --allow %q: there is no such requirement; the nearest is %s; ids are those of a result: CP-NNN, contract/INPUT_OR_OUTPUT, module/apply, module/destroy and module/stalled", id, nearest(id, known))
}

// nearest returns the word that is most like the wrong one.
func nearest(wrong string, words []string) string {
	distance := func(w string) int { return levenshtein.Distance(strings.ToLower(wrong), strings.ToLower(w), nil) }
	return slices.MinFunc(words, func(a, b string) int { return cmp.Compare(distance(a), distance(b)) })
}

// harnessRun is the command at work.
type harnessRun struct {
	*harnessOrder
	stdout, stderr io.Writer
	binary         *runtime.Binary
	modules        *runner.Set
	// scratch is the directory of the whole run.
	scratch string
	// kept is the directory that is left for the sake of an error.
	kept string
	// quiet tells that progress is a line a scenario, rather than its story.
	quiet bool
	// notPlayed are the scenarios that were left out.
	notPlayed []harness.NotPlayed
	signals   *interrupts
}

func runHarness(cmd *cobra.Command, f harnessFlags, args []string) error {
	order, err := f.order(args)
	if err != nil {
		return usage(err)
	}
	order.again = func(s harness.Scenario, set *runner.Set) string { return playAgain(cmd, args, order, s, set) }
	r := &harnessRun{harnessOrder: order, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
	r.signals = watchInterrupts(cmd.Context(), r.tellInterrupt)
	defer r.signals.stop()
	ctx := r.signals.ctx
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("not done within the %s of --timeout", f.timeout))
		defer cancel()
	}
	if err := r.prepare(ctx); err != nil {
		return r.cannotRun(err)
	}
	if err := r.addRandom(); err != nil {
		return r.cannotRun(errors.Join(err, r.removeScratch()))
	}
	results, problem := r.playAll(ctx)
	if none, ok := errors.AsType[*notBegunError](problem); ok {
		return r.cannotRun(none.err)
	}
	if err := r.report(results); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return verdict(results, problem)
}

// notBegunError tells that a scenario could not begin, so that it has no result.
type notBegunError struct{ err error }

func (e *notBegunError) Error() string { return e.err.Error() }

func (e *notBegunError) Unwrap() error { return e.err }

// playAll plays the scenarios until one cannot run, and removes what they need
// no more. The error of one that cannot even begin is a [notBegunError].
func (r *harnessRun) playAll(ctx context.Context) (results []*harness.Result, problem error) {
	for _, s := range r.scenarios {
		result, err := r.play(ctx, s)
		if why, cannot := errors.AsType[*harness.CannotPlayError](err); cannot && r.mayLeaveOut() {
			r.leaveOut(s, why)
			continue
		}
		if err != nil && result == nil {
			return results, &notBegunError{errors.Join(err, r.removeScratch())}
		}
		results = append(results, result)
		if r.quiet && !r.noProgress {
			took := time.Duration(result.Timing.Total * float64(time.Second)).Round(100 * time.Millisecond)
			fmt.Fprintf(r.stderr, "%s/%s: %s (%s)\n", result.ControlPlane, result.Scenario, report.Sentence(result), took)
		}
		r.tellRandom(s, result)
		if err != nil {
			problem = err
			break
		}
	}
	if len(results) > 0 {
		results[0].NotPlayed = r.notPlayed
	}
	return results, errors.Join(problem, r.removeScratch(), r.nothingPlayed(results))
}

// verdict turns results into the exit code.
func verdict(results []*harness.Result, problem error) error {
	if problem != nil {
		return problem
	}
	for _, result := range results {
		if result.Verdict == harness.VerdictFailed {
			return exit(exitFailed)
		}
	}
	return nil
}

// prepare finds everything that the run needs.
func (r *harnessRun) prepare(ctx context.Context) error {
	var err error
	if r.modules, err = r.set(); err != nil {
		return err
	}
	if r.scratch, err = os.MkdirTemp("", "captf-harness-"); err != nil {
		return fmt.Errorf("making the scratch directory in %s: %w: set TMPDIR to a directory that can be written to", os.TempDir(), err)
	}
	// As errors name it.
	if real, err := filepath.EvalSymlinks(r.scratch); err == nil {
		r.scratch = real
	}
	if r.binary, err = runtime.Find(ctx, runtime.Options{Path: r.runtime, Timeout: r.stepTimeout}); err != nil {
		if fe, ok := errors.AsType[*runtime.FindError](err); ok && fe.Reason == runtime.Hung && r.stepTimeout > 0 {
			err = fmt.Errorf("%w, or give a longer --step-timeout than %s", err, r.stepTimeout)
		}
		return errors.Join(err, r.removeScratch())
	}
	return nil
}

// tellInterrupt says what a signal leads to.
func (r *harnessRun) tellInterrupt(n int) {
	switch {
	case n > 1:
		fmt.Fprintln(r.stderr, "Interrupted again: everything is stopped at once, and what exists is kept.")
	case r.keep || r.onInterrupt == interruptKeep:
		fmt.Fprintln(r.stderr, "Interrupted: module runs are asked to stop, and what exists is kept. Interrupt again to stop at once.")
	default:
		fmt.Fprintln(r.stderr, "Interrupted: module runs are asked to stop, then what exists is destroyed. Interrupt again to stop at once and keep it.")
	}
}

// play plays one scenario. The result is nil only if it could not begin.
func (r *harnessRun) play(ctx context.Context, s harness.Scenario) (*harness.Result, error) {
	start := time.Now()
	scratch := filepath.Join(r.scratch, s.ID)
	run, err := runner.New(ctx, r.modules, runner.Options{
		Binary: r.binary, Scratch: scratch, Definition: r.definition, Variables: r.harnessOrder.variables,
		StepTimeout: r.stepTimeout, Grace: r.grace, Force: r.signals.force, CLIConfig: r.binary.UserCLIConfig(),
		Simulate: r.simulated,
	})
	if err != nil {
		if ctx.Err() != nil {
			err = broken(ctx, placeless(err, scratch))
		} else {
			err = r.offerSimulation(err)
		}
		if names(err, scratch) {
			r.tellKept(scratch)
			return nil, err
		}
		return nil, errors.Join(err, os.RemoveAll(scratch)) // nothing was created yet
	}
	defer run.Close()
	if err := harness.Playable(s, run); err != nil {
		return nil, errors.Join(fmt.Errorf("playing the scenario %s: %w", s.ID, err), os.RemoveAll(scratch))
	}
	config := harness.Config{
		Modules: run, Definition: r.definition, ControlPlane: r.plane, Scenario: s, Seed: r.seedOf(s), UserEndpoint: r.endpoint,
		Registration: r.registrationMethod, RegistrationAddress: r.registrationAddress,
		Allow: r.allow, Keep: r.keep, KeepOnInterrupt: r.onInterrupt == interruptKeep, Runtime: r.binary.String(),
		Force: r.signals.force,
	}
	if !r.noProgress && !r.quiet {
		if len(r.scenarios) > 1 {
			fmt.Fprintf(r.stderr, "Scenario %s: %s\n", s.ID, s.Title)
		}
		config.Story = report.NewStory(r.stderr, colourful(r.stderr)).Step
	}
	result, err := harness.Play(ctx, config)
	if ctx.Err() != nil && len(run.Notes()) == 0 {
		// An interrupted run tells nothing in its log, so it is not kept for that.
		err = placeless(err, scratch)
	}
	result.Timing = harness.Timing{Total: time.Since(start).Seconds(), Runtime: run.Busy().Seconds(), Runs: run.Runs()}
	result.Command, result.ScenarioFile = r.again(s, r.modules), s.File
	result.Simulated = run.Simulated()
	left, leftErr := run.Left()
	result.Left = nil
	for _, l := range left {
		result.Left = append(result.Left, l.Object)
	}
	result.Notes = append(result.Notes, run.Notes()...)
	for _, n := range run.Notes() {
		fmt.Fprintf(r.stderr, "Warning: %s.\n", n.Message)
	}
	if errors.Is(context.Cause(ctx), errInterrupted) && len(left) == 0 && leftErr == nil && len(run.Notes()) == 0 {
		fmt.Fprintln(r.stderr, "What the run made is destroyed; nothing is left.")
	}
	if r.keep || len(left) > 0 || names(err, scratch) {
		result.Kept = scratch
		r.tellLeft(left, result)
		if !r.keep && len(left) == 0 {
			r.tellKept(scratch)
		}
		leftErr = errors.Join(leftErr, r.keepCloud(run, result))
	} else if rmErr := os.RemoveAll(scratch); rmErr != nil {
		leftErr = errors.Join(leftErr, fmt.Errorf("removing the scratch directory: %w", rmErr))
	}
	if err = errors.Join(broken(ctx, err), leftErr); err != nil {
		result.Verdict, result.Error = harness.VerdictError, err.Error()
	}
	return result, err
}

// broken names the reason for which a run was broken off before what the
// runtime said about it.
func broken(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("%w: %w", context.Cause(ctx), err)
}

// names tells that an error names something in the directory, such as a log:
// then it must be there to be read.
func names(err error, dir string) bool {
	return err != nil && dir != "" && strings.Contains(err.Error(), dir+string(filepath.Separator))
}

// placeless leaves out of an error where in the directory it happened, and
// where its log is.
func placeless(err error, dir string) error {
	if !names(err, dir) {
		return err
	}
	inside := regexp.QuoteMeta(dir + string(filepath.Separator))
	place := regexp.MustCompile(` in ` + inside + `[^\s:]*| \(log: ` + inside + `[^\s)]*\)`)
	return &quietError{text: place.ReplaceAllString(err.Error(), ""), err: err}
}

// quietError is an error with another text.
type quietError struct {
	text string
	err  error
}

func (e *quietError) Error() string { return e.text }

func (e *quietError) Unwrap() error { return e.err }

// tellKept says that a directory is left for a look at what an error names.
func (r *harnessRun) tellKept(dir string) {
	r.kept = dir
	fmt.Fprintf(r.stderr, "Working directories and logs are kept in %s; the states there hold no resource.\n", dir)
}

// tellLeft says how to destroy by hand what still exists, and why it was not.
func (r *harnessRun) tellLeft(left []runner.Leftover, result *harness.Result) {
	full := false
	for _, l := range left {
		resources := strconv.Itoa(l.Resources) + " resources"
		if l.Resources == 1 {
			resources = "1 resource"
		}
		fmt.Fprintf(r.stderr, "%s still exists (%s).\n", l.Object, resources)
		for _, n := range result.Notes {
			if why, ok := strings.CutPrefix(n.Message, l.Object+" could not be destroyed: "); ok {
				if n.Place != "" {
					why = n.Place + ": " + why
				}
				fmt.Fprintf(r.stderr, "  It could not be destroyed: %s\n", why)
				full = full || strings.Contains(why, noSpace)
			}
		}
		if l.First != "" {
			fmt.Fprintf(r.stderr, "  Before it can be destroyed: %s.\n", l.First)
		}
		fmt.Fprintf(r.stderr, "  To destroy it:\n    cd %s && %s %s apply -destroy\n", shellQuote(l.Dir), l.Env, shellQuote(r.binary.Path))
	}
	if len(left) > 0 && (full || strings.Contains(result.Error, noSpace)) {
		fmt.Fprintf(r.stderr, "The disk is full: make room in the file system of %s first, or the runtime can store no state there.\n", shellQuote(result.Kept))
	}
}

// noSpace is how the operating system says that a disk is full.
const noSpace = "no space left on device"

// shellQuote quotes a path for a shell, if it needs that.
func shellQuote(s string) string {
	if s != "" && strings.IndexFunc(s, func(c rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-", c)
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// removeScratch removes the directory of the whole run unless something is kept in it.
func (r *harnessRun) removeScratch() error {
	if r.scratch == "" {
		return nil
	}
	entries, err := os.ReadDir(r.scratch)
	if err == nil && len(entries) == 0 {
		err = os.Remove(r.scratch)
	}
	if err != nil {
		return fmt.Errorf("removing the scratch directory: %w", err)
	}
	return nil
}
