package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/runner"
	"github.com/captf-toolkit/captf/sdk/report"
)

// addPageFlag adds --report.
func addPageFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "report", "", "file to write the result to as a page for a browser, beside the output (HTML, self-contained)")
	if err := cmd.MarkFlagFilename("report", "html"); err != nil {
		panic(err) // the flag is there
	}
}

// checkPage refuses, before anything runs, a file that could not be written at the end.
func checkPage(cmd *cobra.Command, file string) error {
	if !cmd.Flags().Changed("report") {
		return nil
	}
	if file == "" {
		return errors.New("parsing --report \"\": it names no file")
	}
	return checkFile("report", file)
}

// checkFile refuses a file that cannot be written.
func checkFile(flag, file string) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("parsing --%s %q: it exists and is no regular file", flag, file)
	}
	dir, err := os.Stat(filepath.Dir(file))
	if err != nil || !dir.IsDir() {
		return fmt.Errorf("parsing --%s %q: there is no directory %s", flag, file, filepath.Dir(file))
	}
	return nil
}

// writeReport writes a page and says where it is.
func writeReport(stderr io.Writer, file string, o report.HTMLOptions, results []*harness.Result) error {
	v := currentVersion()
	o.Generator, o.Date = "captf "+v.Version, time.Now().UTC().Format("2006-01-02 15:04 UTC")
	err := writeFile(file, func(w io.Writer) error { return report.HTML(w, o, results...) })
	if err != nil {
		return fmt.Errorf("writing the report %s: %w", file, err)
	}
	fmt.Fprintf(stderr, "The report is in %s.\n", file)
	return nil
}

// writeFile writes a file as a whole or not at all: a reader never finds half of it.
func writeFile(file string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

// notAgain are flags that say nothing about what is played, or are said anew.
var notAgain = map[string]bool{"report": true, "badge": true, "output": true, "all": true, "scenario": true, "scenario-file": true, "random": true, "seed": true, "no-progress": true, "questions": true, "control-plane": true, "strict": true, "allow-warning": true}

// playAgain writes the command line that plays a scenario again. Values that
// may be secrets are left out: a report is shown to others.
func playAgain(cmd *cobra.Command, args []string, o *harnessOrder, s harness.Scenario, set *runner.Set) string {
	which := []string{"--scenario", s.ID}
	switch {
	case s.File != "":
		which = []string{"--scenario-file", s.File}
	case o.random > 0:
		which = []string{"--random", "1"}
	}
	words := append([]string{"captf", "harness", "run", "--control-plane", o.plane.Name}, which...)
	words = append(words, "--seed", strconv.FormatUint(o.seedOf(s), 10))
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if notAgain[f.Name] {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			switch {
			case f.Value.Type() == "bool" && value == "true":
				words = append(words, "--"+f.Name)
				continue
			case f.Value.Type() == "bool":
				words = append(words, "--"+f.Name+"="+value)
				continue
			case f.Name == "var":
				value = openVariable(value, set)
			}
			words = append(words, "--"+f.Name, value)
		}
	})
	return quoteAll(append(words, args...))
}

func quoteAll(words []string) string {
	quoted := make([]string, 0, len(words))
	for _, word := range words {
		quoted = append(quoted, shellQuote(word))
	}
	return strings.Join(quoted, " ")
}

// openVariable hides the value of a variable that is a secret by its name, or
// by what a module says of it.
func openVariable(arg string, set *runner.Set) string {
	v, err := runner.ParseVariable(arg)
	if err != nil {
		return arg
	}
	if contract.MaybeSecretName(v.Name) || set != nil && set.Sensitive(v) {
		name, _, _ := strings.Cut(arg, "=")
		return name + "=HIDDEN"
	}
	return arg
}

// cannotRun reports a run that did not begin. Programs that read the result
// get one all the same.
func (r *harnessRun) cannotRun(err error) error {
	if _, wrong := errors.AsType[*runner.VariableError](err); wrong {
		return usage(err)
	}
	if r.output == "text" && r.page == "" {
		return err
	}
	result := r.broken(err)
	if r.output == "text" {
		return errors.Join(err, r.writePage([]*harness.Result{result}))
	}
	return errors.Join(err, r.report([]*harness.Result{result}))
}

// broken is the result of a run that did not begin.
func (r *harnessRun) broken(err error) *harness.Result {
	result := &harness.Result{
		Verdict: harness.VerdictError, Scenario: r.firstScenario(), ControlPlane: r.plane.Name, Seed: r.seed, Error: err.Error(),
		Modules: map[contract.Role]string{}, Kept: r.kept,
	}
	if r.binary != nil {
		result.Runtime = r.binary.String()
	}
	if r.modules != nil {
		for _, role := range r.modules.Roles() {
			result.Modules[role] = r.modules.Dir(role)
		}
	}
	return result
}

// report writes the results: those for standard output, and the page if one was asked for.
func (r *harnessRun) report(results []*harness.Result) error {
	return errors.Join(r.print(results), r.writePage(results))
}

// writePage writes the results as a page.
func (r *harnessRun) writePage(results []*harness.Result) error {
	if r.page == "" {
		return nil
	}
	return writeReport(r.stderr, r.page, report.HTMLOptions{}, results)
}

// print writes the results to standard output.
func (r *harnessRun) print(results []*harness.Result) error {
	switch r.output {
	case "json":
		return report.JSON(r.stdout, results...)
	case "junit":
		return report.JUnit(r.stdout, results...)
	}
	for n, result := range results {
		if n > 0 {
			fmt.Fprintln(r.stdout)
		}
		if err := report.Text(r.stdout, result, report.TextOptions{Colors: colourful(r.stdout), Questions: r.questions}); err != nil {
			return err
		}
	}
	return nil
}

// colourful tells that w is a terminal whose user did not turn colours off.
func colourful(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
