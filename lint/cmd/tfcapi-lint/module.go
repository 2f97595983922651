package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/config"
	"github.com/captf-toolkit/captf/lint/format"
	"github.com/captf-toolkit/captf/lint/rules"
	"github.com/captf-toolkit/captf/sdk/module"
)

func editDistance(a, b string) int { return levenshtein.Distance(a, b, nil) }

// moduleFlags are the flags of the module command.
type moduleFlags struct {
	report
	recursive, fix, diff bool
	config               string
}

func newModule() *cobra.Command {
	var o moduleFlags
	var explain string
	var list bool
	cmd := &cobra.Command{
		Use:   "module --role ROLE DIR",
		Short: "Check a module directory, or with --recursive all modules of a tree",
		Long: `Checks a module directory against the contract.

With --recursive all modules below the directory are checked: those listed in its
` + config.FileName + `, and every directory named cluster, machine or machinepool
that holds module files.

A finding can be ignored in place, with a reason:

  # tfcapi-lint:ignore input/user-variable-default every cluster must choose a region

Warnings and infos can be ignored, errors cannot.`,
		Example: `  tfcapi-lint module --role machine --strict ./modules/machine
  tfcapi-lint module ./modules/machine --role machine --allow-warning input/user-variable-default
  tfcapi-lint module --recursive --output sarif . > lint.sarif
  tfcapi-lint module --role machinepool --fix --diff ./modules/machinepool`,
		Args: func(cmd *cobra.Command, args []string) error {
			if explain != "" || list {
				return nil
			}
			return oneDir(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case explain != "":
				return explainRule(cmd.OutOrStdout(), explain)
			case list:
				return listRules(cmd.OutOrStdout())
			}
			return o.run(args[0], cmd.Flags().Changed("contract"), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.report.flags(cmd)
	cmd.ValidArgsFunction = completeDirs
	f := cmd.Flags()
	f.BoolVar(&o.recursive, "recursive", false, "check all modules below the directory")
	f.BoolVar(&o.fix, "fix", false, "edit the module where that is safe, then check it: declare missing inputs, add sensitive = true, add sort()")
	f.BoolVar(&o.diff, "diff", false, "with --fix: print what would be edited as a diff instead of the report, and write nothing")
	f.StringVar(&o.config, "config", "", "configuration `file`; with --recursive the default is "+config.FileName+" in the directory")
	f.StringVar(&explain, "explain", "", "explain the check with this `ID`")
	f.BoolVar(&list, "list", false, "list all checks")
	must(cmd.RegisterFlagCompletionFunc("explain", completeIDs))
	return cmd
}

// plan is a checked command line.
type plan struct {
	targets  []config.Target
	contract contract.Definition
	format   format.Format
	allow    []lint.Allowance
	rules    []lint.Rule
	// notes are about the command line and do not stop the run.
	notes []string
}

func (o *moduleFlags) run(dir string, contractGiven bool, stdout, stderr io.Writer) error {
	p, err := o.plan(dir, contractGiven)
	if err != nil {
		return err
	}
	for _, note := range p.notes {
		fmt.Fprintf(stderr, "tfcapi-lint: %s\n", note)
	}
	if o.fix {
		if err := p.fix(stdout, stderr, o.diff); err != nil {
			return err
		}
	}
	result := p.check(o.recursive)
	printProblems(stderr, result)
	if o.diff {
		return exit(exitCode(result))
	}
	if !o.recursive && result.Modules[0].Report == nil && p.format.Name == "text" {
		return exit(exitUnreadable) // standard error has said all there is
	}
	if err := p.format.Write(stdout, result, format.Options{Color: colourful(stdout)}); err != nil {
		return unreadable(fmt.Errorf("writing the report: %w", err))
	}
	return exit(exitCode(result))
}

// plan checks the command line and finds the modules.
func (o *moduleFlags) plan(dir string, contractGiven bool) (*plan, error) {
	if o.diff && !o.fix {
		return nil, usage(errors.New("--diff goes with --fix"))
	}
	p := &plan{rules: rules.All()}
	var err error
	if p.format, err = o.pickFormat(); err != nil {
		return nil, err
	}
	if p.contract, err = o.parseContract(); err != nil {
		return nil, err
	}
	if p.allow, p.notes, err = o.allowances(); err != nil {
		return nil, err
	}
	var role contract.Role
	switch {
	case o.recursive && o.role != "":
		return nil, usage(fmt.Errorf("--role and --recursive exclude each other: the role of each module comes from its directory's name or %s", config.FileName))
	case !o.recursive:
		if role, err = o.parseRole(); err != nil {
			return nil, err
		}
	}
	cfg, err := o.readConfig(dir)
	if err != nil {
		return nil, usage(err)
	}
	if cfg.Contract != "" && !contractGiven {
		if p.contract, err = versions.Get(cfg.Contract); err != nil {
			return nil, usage(fmt.Errorf("%s: %w", config.FileName, err))
		}
	}
	if !o.recursive {
		p.targets = []config.Target{{Path: ".", Dir: dir, Role: role, Strict: cfg.Strict, Allow: cfg.Allow}}
	} else if p.targets, err = cfg.Targets(dir); err != nil {
		return nil, unreadable(err)
	}
	if len(p.targets) == 0 {
		return nil, unreadable(fmt.Errorf("looking for modules: below %s is no directory with module files named %s, and no %s that lists others",
			dir, contract.RoleNames(), config.FileName))
	}
	for i := range p.targets {
		p.targets[i].Strict = p.targets[i].Strict || o.strict
	}
	return p, nil
}

// readConfig reads the file given, or, in a recursive run, that of the tree.
func (o *moduleFlags) readConfig(dir string) (config.Config, error) {
	if o.config != "" {
		return config.Load(o.config, allowable)
	}
	if !o.recursive {
		return config.Default(), nil
	}
	cfg, err := config.Load(filepath.Join(dir, config.FileName), allowable)
	if errors.Is(err, os.ErrNotExist) {
		return config.Default(), nil
	}
	return cfg, err
}

// allowable says why the configuration cannot allow the findings of a check.
func allowable(id string) error {
	switch r, ok := lint.Find(rules.All(), id); {
	case !ok:
		return fmt.Errorf("there is no check %q; `tfcapi-lint --list` lists them", id)
	case r.OnlyErrors():
		return fmt.Errorf("the check %s reports only errors, and errors cannot be allowed; remove the entry", id)
	}
	return nil
}

// check makes the checks, several modules at a time, and reports in order.
func (p *plan) check(recursive bool) format.Result {
	result := format.Result{
		Modules: make([]format.Module, len(p.targets)), Recursive: recursive,
		Rules: p.rules, Version: currentVersion().Version,
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, t := range p.targets {
		g.Go(func() error {
			result.Modules[i] = p.checkOne(t)
			return nil
		})
	}
	_ = g.Wait() // what went wrong is in the results
	return result
}

func (p *plan) checkOne(t config.Target) format.Module {
	m := format.Module{Path: displayPath(t.Dir), Name: t.Path, Role: string(t.Role), Strict: t.Strict}
	m.Report, m.Err = lint.Run(p.options(t))
	m.Problems = problemsOf(m.Err)
	return m
}

// options are those of the check of one module.
func (p *plan) options(t config.Target) lint.Options {
	allow := slices.Clone(p.allow)
	for _, a := range t.Allow {
		allow = append(allow, lint.Allowance{ID: a.ID, Reason: a.Reason})
	}
	return lint.Options{Dir: t.Dir, Role: t.Role, Contract: p.contract, Rules: p.rules, Allow: allow}
}

// problemsOf returns the parts of a load error that have a place.
func problemsOf(err error) []format.Problem {
	var load *module.LoadError
	if !errors.As(err, &load) {
		return nil
	}
	var out []format.Problem
	for _, d := range load.Problems {
		p := format.Problem{Message: module.Message(d)}
		if at := d.Subject; at != nil {
			p.File, p.Line, p.Column, p.UTF16Column = at.Filename, at.Start.Line, at.Start.Column, at.Start.Column
			if f := fileOf(load, at); f != nil {
				p.Source, p.UTF16Column = lint.Mask(string(f.Line(p.Line)), false), f.UTF16Column(at.Start)
			}
		}
		out = append(out, p)
	}
	return out
}

// fileOf returns the file in which a problem lies, nil if it was not read.
func fileOf(e *module.LoadError, at *hcl.Range) *module.File {
	for _, f := range e.Files {
		if f.Name == at.Filename {
			return f
		}
	}
	return nil
}

// displayPath is how reports call a directory: relative to the working
// directory if it lies below, with forward slashes.
func displayPath(dir string) string {
	dir = filepath.Clean(dir)
	if filepath.IsAbs(dir) {
		if wd, err := os.Getwd(); err == nil {
			if rel, err := filepath.Rel(wd, dir); err == nil && filepath.IsLocal(rel) {
				dir = rel
			}
		}
	}
	return filepath.ToSlash(dir)
}

// printProblems says why modules cannot be read, with the source lines.
func printProblems(w io.Writer, r format.Result) {
	for _, m := range r.Modules {
		if m.Err == nil {
			continue
		}
		fmt.Fprintf(w, "tfcapi-lint: the module in %s cannot be read:\n", m.Path)
		if len(m.Problems) == 0 {
			fmt.Fprintln(w, m.Err)
			continue
		}
		for i, p := range m.Problems {
			if i == format.MaxProblems {
				fmt.Fprintf(w, "and %d more problems\n", len(m.Problems)-i)
				break
			}
			fmt.Fprintf(w, "%s: %s\n%s", m.Place(p), p.Message, format.Excerpt(p.Source, p.UTF16Column))
		}
	}
}

func exitCode(r format.Result) int {
	code := exitClean
	for _, m := range r.Modules {
		switch {
		case m.Report == nil:
			return exitUnreadable
		case m.Report.Summary().Failed(m.Strict):
			code = exitFindings
		}
	}
	return code
}

// colourful tells that w is a terminal whose user did not turn colours off.
func colourful(w io.Writer) bool {
	if r, ok := w.(*results); ok {
		w = r.w
	}
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
