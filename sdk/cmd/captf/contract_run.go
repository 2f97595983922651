package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/lint/rules"
	"github.com/captf-toolkit/captf/sdk/conformance"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/runner"
	"github.com/captf-toolkit/captf/sdk/report"
)

// allPlanes is the value of --control-plane that means each of them.
const allPlanes = "all"

// contractFlags are the flags of captf contract test.
type contractFlags struct {
	harnessFlags
	badge         string
	strict        bool
	allowWarnings []string
}

func newContractTestCommand() *cobra.Command {
	var f contractFlags
	planes := controlPlanes()
	cmd := &cobra.Command{
		Use:   "test [flags] (SET_DIR | --cluster DIR --machine DIR [--machinepool DIR])",
		Short: "Lint a set of modules, play every scenario on it, and give one verdict",
		Long: `Lint a set of modules, play every scenario on it, and give one verdict.

Every module of the set is linted as tfcapi-lint does. Then each scenario of the
control plane that the set can play is played as captf harness run --all does: with
its faults, and with the probes that apply twice, break a create midway and destroy
in every state. What cannot be played is listed with the reason.

Modules are really run and create what they create, unless --simulate replaces their
providers by simulated ones.

Exit codes: ` + strconv.Itoa(exitOK) + ` everything passed; ` + strconv.Itoa(exitFailed) + ` a check or a scenario failed; ` + strconv.Itoa(exitError) + ` something could not
run, or was interrupted; ` + strconv.Itoa(exitUsage) + ` the command line is wrong.`,
		Example: `  # Everything, for both control planes, without a cloud
  captf contract test --simulate --control-plane all modules

  # In CI: a report for a browser, and a badge for the README
  captf contract test --simulate --report contract.html --badge contract.svg modules`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(fmt.Errorf("one directory is needed, but there are %d arguments", len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(f.checkGiven(cmd), f.check(cmd)); err != nil {
				return usage(err)
			}
			return f.run(cmd, args)
		},
	}
	flags := cmd.Flags()
	names := append(controlPlaneNames(planes), allPlanes)
	flags.StringVar(&f.controlPlane, "control-plane", planes[0].Name, "control plane to play: "+strings.Join(names, ", "))
	flags.StringSliceVar(&f.scenarios, "scenario", nil, "scenarios to play, by id (default all); see captf harness list")
	flags.BoolVar(&f.strict, "strict", false, "let warnings of the linter fail")
	flags.StringSliceVar(&f.allowWarnings, "allow-warning", nil, "ids of the linter's checks whose warnings are only noted")
	flags.StringVar(&f.badge, "badge", "", "file to write a badge to: FILE.svg is a picture, FILE.json what badge services read (shields.io endpoint)")
	addSetFlags(cmd, &f.harnessFlags)
	flags.StringVarP(&f.output, "output", "o", "text", "format of the result: text or json")
	complete(cmd, "control-plane", names...)
	completeForPlane(cmd, "scenario", scenarioIDs)
	complete(cmd, "output", "text", "json")
	if err := cmd.MarkFlagFilename("badge", "svg", "json"); err != nil {
		panic(err) // the flag is there
	}
	return cmd
}

// check refuses values of the flags that only this command has.
func (f *contractFlags) check(cmd *cobra.Command) error {
	if err := checkOutput(f.output, "text", "json"); err != nil {
		return err
	}
	for _, id := range f.allowWarnings {
		known := false
		for _, r := range rules.All() {
			known = known || r.ID == id
		}
		if !known {
			return fmt.Errorf("parsing --allow-warning %q: there is no such check; tfcapi-lint --list shows them", id)
		}
	}
	if !cmd.Flags().Changed("badge") {
		return nil
	}
	if ext := filepath.Ext(f.badge); ext != ".svg" && ext != ".json" {
		return fmt.Errorf("parsing --badge %q: its name must end in .svg or .json", f.badge)
	}
	return checkFile("badge", f.badge)
}

// orders are the command lines of the harness that the test consists of, one a control plane.
func (f *contractFlags) orders(cmd *cobra.Command, args []string) ([]*harnessOrder, error) {
	names := []string{f.controlPlane}
	if f.controlPlane == allPlanes {
		names = controlPlaneNames(controlPlanes())
	}
	var orders []*harnessOrder
	for _, name := range names {
		one := f.harnessFlags
		one.controlPlane, one.all = name, len(f.scenarios) == 0
		cp, err := findControlPlane(name)
		if err != nil {
			return nil, err
		}
		if len(names) > 1 {
			if len(cp.Registrations) == 0 {
				one.registrationMethod, one.registrationAddress = "", "" // they are for the other
			}
			one.scenarios = slices.DeleteFunc(slices.Clone(f.scenarios), func(id string) bool {
				return !slices.ContainsFunc(cp.Scenarios, func(s harness.Scenario) bool { return strings.EqualFold(s.ID, id) })
			})
			if len(f.scenarios) > 0 && len(one.scenarios) == 0 {
				continue
			}
		}
		order, err := one.order(args)
		if err != nil {
			return nil, err
		}
		order.again = func(s harness.Scenario, set *runner.Set) string { return playAgain(cmd, args, order, s, set) }
		orders = append(orders, order)
	}
	if len(orders) == 0 {
		return nil, fmt.Errorf("parsing --scenario %q: no control plane has it; see captf harness list", strings.Join(f.scenarios, ","))
	}
	return orders, nil
}

func (f *contractFlags) run(cmd *cobra.Command, args []string) error {
	orders, err := f.orders(cmd, args)
	if err != nil {
		return usage(err)
	}
	stderr := cmd.ErrOrStderr()
	test := &contractTest{contractFlags: f, stdout: cmd.OutOrStdout(), stderr: stderr, definition: orders[0].definition}
	current := &harnessRun{harnessOrder: orders[0], stderr: stderr}
	signals := watchInterrupts(cmd.Context(), func(n int) { current.tellInterrupt(n) })
	defer signals.stop()
	ctx := signals.ctx
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("not done within the %s of --timeout", f.timeout))
		defer cancel()
	}
	set, err := orders[0].set()
	if err != nil {
		return test.finish(err, current.broken(err))
	}
	test.lint(set)
	for _, order := range orders {
		r := &harnessRun{harnessOrder: order, stdout: test.stdout, stderr: stderr, signals: signals, quiet: true}
		if !f.noProgress {
			fmt.Fprintf(stderr, "Control plane %s: %d scenarios\n", order.plane.Name, len(order.scenarios))
		}
		if err := r.prepare(ctx); err != nil {
			return test.finish(err, r.broken(err))
		}
		results, err := r.playAll(ctx)
		test.results = append(test.results, results...)
		if none, ok := errors.AsType[*notBegunError](err); ok {
			if _, wrong := errors.AsType[*runner.VariableError](none); wrong {
				return usage(none.err)
			}
			return test.finish(none.err, r.broken(none.err))
		}
		if err != nil {
			return test.finish(err)
		}
	}
	return test.finish(nil)
}

// contractTest is the command at work.
type contractTest struct {
	*contractFlags
	stdout, stderr io.Writer
	definition     contract.Definition
	modules        map[contract.Role]string
	checks         []report.Check
	results        []*harness.Result
}

// lint lints every module of the set.
func (t *contractTest) lint(set *runner.Set) {
	t.modules = map[contract.Role]string{}
	for _, role := range set.Roles() {
		t.modules[role] = set.Dir(role)
		c := conformance.Lint(conformance.LintOptions{
			Definition: t.definition, Role: role, Dir: set.Dir(role), Strict: t.strict, AllowWarnings: t.allowWarnings,
		})
		t.checks = append(t.checks, c)
		if !t.noProgress {
			fmt.Fprintf(t.stderr, "%s: %s\n", c.Name, report.Line(c.Summary))
		}
	}
}

// finish writes the verdict on what was tested, and returns the exit code. The
// problem is what kept the rest from being tested, with the results that say so.
func (t *contractTest) finish(problem error, broken ...*harness.Result) error {
	r := conformance.New(t.definition.Version(), t.modules, t.checks, append(t.results, broken...))
	if len(t.scenarios) > 0 {
		r.Narrow()
	}
	var err error
	if t.output == "json" {
		err = r.JSON(t.stdout)
	} else if len(t.checks)+len(t.results) > 0 {
		err = r.Text(t.stdout, report.TextOptions{Colors: colourful(t.stdout)})
	}
	if err != nil {
		err = fmt.Errorf("writing the result: %w", err)
	}
	if err := errors.Join(err, t.writePage(r), t.writeBadge(r)); err != nil {
		return errors.Join(problem, err)
	}
	switch {
	case problem != nil:
		return problem
	case r.Verdict == harness.VerdictError:
		return exit(exitError)
	case r.Verdict == harness.VerdictFailed:
		return exit(exitFailed)
	}
	return nil
}

func (t *contractTest) writePage(r *conformance.Report) error {
	if t.page == "" {
		return nil
	}
	return writeReport(t.stderr, t.page, report.HTMLOptions{Title: "Contract " + r.Contract, Checks: r.Checks}, r.Runs)
}

func (t *contractTest) writeBadge(r *conformance.Report) error {
	if t.badge == "" {
		return nil
	}
	write := r.Badge().SVG
	if filepath.Ext(t.badge) == ".json" {
		write = r.Badge().Endpoint
	}
	if err := writeFile(t.badge, write); err != nil {
		return fmt.Errorf("writing the badge %s: %w", t.badge, err)
	}
	return nil
}
