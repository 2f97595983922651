package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the command's flags.
type options struct {
	run      string
	timeout  time.Duration
	race     bool
	floors   bool
	packages []string
}

// parse reads the command line.
func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("gotest", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.run, "run", "", "run only the tests that match this expression; the coverage floors are then not checked")
	flags.DurationVar(&o.timeout, "timeout", 40*time.Minute, "time after which the tests of one package are stopped")
	flags.BoolVar(&o.race, "race", true, "run with the race detector, which needs a C compiler")
	flags.BoolVar(&o.floors, "floors", true, "fail when a package's coverage is below its floor")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.packages = flags.Args()
	if len(o.packages) == 0 {
		return o, errors.New("no packages given; ./... are all of them")
	}
	if o.run != "" {
		o.floors = false
	}
	return o, nil
}

// goTestArgs is the go command's argument list. Each statement counts as covered that any of the tests executes, in
// whatever package they are: many of our tests are folders of cases that run through several packages. A hundred binaries are
// linked without what only debuggers read, which costs a third of the time, and vet has a step of its own.
func (o options) goTestArgs(ci bool, profile string) []string {
	args := []string{"test", "-json", "-vet=off", "-ldflags=-w", "-timeout", o.timeout.String()}
	if o.floors {
		args = append(args, "-coverpkg", strings.Join(o.packages, ","), "-coverprofile", profile)
	}
	if o.race {
		args = append(args, "-race")
	}
	if ci { // a build server may not believe a cached result
		args = append(args, "-count=1")
	}
	if o.run != "" {
		args = append(args, "-run", o.run)
	}
	if slices.Contains(o.packages, everything) {
		for _, pkg := range slowest {
			args = append(args, "./"+pkg)
		}
	}
	return append(args, o.packages...)
}

// everything is the pattern of a whole run.
const everything = "./..."

// plain are tests that try very many inputs of one kind. The race detector makes them ten times as slow and sees the same
// goroutines each time, so it is shown a share of the inputs; they run once more without it, and try all.
var plain = []struct{ pkg, run string }{
	{"sdk/harness", "^(TestRandomStories|TestInvariants)$"},
}

// plainArgs are the argument lists of go test for the plain tests of what is run; none where the first run has no race
// detector, or only the tests that somebody asked for.
func (o options) plainArgs(ci bool) [][]string {
	var all [][]string
	for _, p := range plain {
		if !o.race || o.run != "" || !o.whole() && !slices.Contains(o.packages, "./"+p.pkg) {
			continue
		}
		once := o
		once.race, once.floors, once.run, once.packages = false, false, p.run, []string{"./" + p.pkg}
		all = append(all, once.goTestArgs(ci, ""))
	}
	return all
}

// slowest are packages whose tests take minutes, the longest first. They are begun first: begun in their turn, the last of them
// would be waited for while a core has nothing to do.
var slowest = []string{"sdk/harness", "provider/internal/realtest", "provider/internal/controllers", "sdk/cmd/captf", "docs", "images/smoke", "sdk/move"}

// run is the command: it starts go test, reads its events and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "gotest: %v\n", err)
		return exitUsage
	}

	// On an interrupt go test is told, and what is known by then is still reported.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	module, err := modulePath(ctx)
	if err != nil {
		fmt.Fprintf(stderr, "gotest: %v\n", err)
		return exitError
	}
	tmp, err := os.MkdirTemp("", "gotest-")
	if err != nil {
		fmt.Fprintf(stderr, "gotest: %v\n", err)
		return exitError
	}
	defer os.RemoveAll(tmp)
	profile := filepath.Join(tmp, "profile")
	ci := os.Getenv("CI") != ""
	r := newReport(stdout, module)
	readErr, waitErr := goTest(ctx, r, o.goTestArgs(ci, profile), stderr)
	if readErr == nil && waitErr != nil && ctx.Err() == nil && o.whole() {
		readErr, waitErr = o.again(ctx, r, waitErr, stderr)
	}
	for _, args := range o.plainArgs(ci) {
		if readErr != nil || waitErr != nil || ctx.Err() != nil {
			break
		}
		fmt.Fprintf(stdout, "\nwithout the race detector: go %s\n", strings.Join(args, " "))
		readErr, waitErr = goTest(ctx, r, args, stderr)
	}

	var cov coverage
	var covErr error
	if o.floors && r.failed == 0 && waitErr == nil {
		cov, covErr = readCoverage(profile, module)
	}
	below := cov.judge(stdout, slices.Contains(o.packages, everything))
	r.summary(below)

	var exit *exec.ExitError
	switch {
	case readErr != nil:
		fmt.Fprintf(stderr, "gotest: reading the events of go test: %v\n", readErr)
		return exitError
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "gotest: interrupted")
		return exitError
	case waitErr != nil && !errors.As(waitErr, &exit):
		fmt.Fprintf(stderr, "gotest: running go test: %v\n", waitErr)
		return exitError
	case waitErr != nil && r.failed == 0:
		// Nothing failed that was reported: the packages could not even be listed.
		fmt.Fprintf(stderr, "gotest: go test ended with %v before running a test\n", waitErr)
		return exitError
	case covErr != nil:
		fmt.Fprintf(stderr, "gotest: %v\n", covErr)
		return exitError
	case r.failed > 0 || len(below) > 0:
		return exitFailed
	}
	return exitOK
}

// whole tells that all tests of the module are run.
func (o options) whole() bool { return o.run == "" && slices.Contains(o.packages, everything) }

// again runs few failed tests once more, by themselves: many of ours wait for real processes, which a busy build server may
// starve. It returns the error of the first run unless all of them pass. That they failed is told at the end.
func (o options) again(ctx context.Context, r *report, first error, stderr io.Writer) (readErr, waitErr error) {
	once := o
	once.floors = false
	tests := r.again()
	for _, pkg := range sortedKeys(tests) {
		once.run, once.packages = "^("+strings.Join(tests[pkg], "|")+")$", []string{pkg}
		args := once.goTestArgs(true, "")
		fmt.Fprintf(r.out, "\nonce more: go %s\n", strings.Join(args, " "))
		second := newReport(r.out, r.module)
		if readErr, waitErr = goTest(ctx, second, args, stderr); readErr != nil {
			return readErr, waitErr
		}
		if waitErr == nil && second.passed > 0 {
			r.passedAgain(pkg, tests[pkg])
		}
	}
	if r.failed > 0 {
		return nil, first
	}
	return nil, nil
}

// goTest runs go test to its end. The errors are those of reading its events and of the command.
func goTest(ctx context.Context, r *report, args []string, stderr io.Writer) (readErr, waitErr error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	cmd.Stderr = stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting go test: %w", err)
	}
	return r.read(events), cmd.Wait()
}

// modulePath is the path of the module in the working directory.
func modulePath(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m").Output()
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
