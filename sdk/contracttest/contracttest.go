package contracttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/conformance"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/runner"
	"github.com/captf-toolkit/captf/sdk/report"
	"github.com/captf-toolkit/captf/sdk/runtime"
)

// lastSteps is how much of the story a failing scenario logs.
const lastSteps = 60

// forCleanUp is how long before the deadline of go test a scenario is
// interrupted, so that what it made is destroyed.
const forCleanUp = 30 * time.Second

// TestModule tests a set of modules against the contract: a subtest
// lint/ROLE for each module, and one CONTROL_PLANE/SCENARIO for each scenario. A
// scenario that the set cannot play is skipped with the reason, unless it was
// asked for by name. A failure names the requirement, why it fails and what to
// do. It returns the verdict over all that ran.
func TestModule(t *testing.T, o Options) *conformance.Report {
	t.Helper()
	s := &suite{}
	order, err := o.understand()
	if err != nil {
		t.Fatalf("contracttest: %v", err)
	}
	s.order = order
	t.Run("lint", s.lint)
	for _, cp := range order.planes {
		t.Run(cp.Name, func(t *testing.T) { s.plane(t, cp) })
	}
	verdict := conformance.New(order.definition.Version(), order.Modules, s.checks, s.results)
	if order.chosen {
		verdict.Narrow()
	}
	t.Logf("contract %s: %s", verdict.Contract, verdict.Summary)
	if o.Report != "" {
		if err := writePage(o.Report, verdict); err != nil {
			t.Errorf("writing the report %s: %v", o.Report, err)
		}
	}
	return verdict
}

// suite is one call of TestModule.
type suite struct {
	*order
	set     *runner.Set
	binary  *runtime.Binary
	checks  []report.Check
	results []*harness.Result
}

// lint lints every module.
func (s *suite) lint(t *testing.T) {
	for _, role := range contract.Roles() {
		dir, ok := s.Modules[role]
		if !ok {
			continue
		}
		t.Run(string(role), func(t *testing.T) {
			c := conformance.Lint(conformance.LintOptions{Definition: s.definition, Role: role, Dir: dir, Strict: s.Strict, AllowWarnings: s.AllowWarnings})
			s.checks = append(s.checks, c)
			for _, f := range c.Findings {
				t.Logf("%s: %s: %s (%s)\n\twhat to do: %s", f.Place, f.Severity, f.Message, f.ID, f.Remedy)
			}
			if c.Verdict != harness.VerdictPassed {
				t.Errorf("%s: %s", c.Name, c.Summary)
			}
		})
	}
}

// plane plays the scenarios of a control plane.
func (s *suite) plane(t *testing.T, cp *harness.ControlPlane) {
	if s.Modules[contract.RoleCluster] == "" || s.Modules[contract.RoleMachine] == "" {
		t.Skip("no cluster can live on this set: it needs a cluster and a machine module")
	}
	if s.set == nil {
		var err error
		if s.set, err = runner.OpenDirs(s.Modules); err != nil {
			t.Fatal(err)
		}
		if s.binary, err = runtime.Find(t.Context(), runtime.Options{Path: s.Runtime, Timeout: s.StepTimeout}); err != nil {
			t.Fatal(err)
		}
	}
	for n, one := range s.scenarios[cp.Name] {
		t.Run(one.ID, func(t *testing.T) {
			if testing.Short() && !s.chosen && n > 0 {
				t.Skip("only the first scenario is played with -short")
			}
			s.play(t, cp, one)
		})
	}
}

// play plays one scenario.
func (s *suite) play(t *testing.T, cp *harness.ControlPlane, one harness.Scenario) {
	ctx := t.Context()
	if deadline, ok := t.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, deadline.Add(-forCleanUp), errors.New("the deadline of go test (-timeout) is near"))
		defer cancel()
	}
	// Not t.TempDir: what could not be destroyed must outlive the test.
	scratch, err := os.MkdirTemp("", "captf-contracttest-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	kept := false
	defer func() {
		if !kept {
			if err := os.RemoveAll(scratch); err != nil {
				t.Errorf("removing the scratch directory: %v", err)
			}
		}
	}()
	start := time.Now()
	run, err := runner.New(ctx, s.set, runner.Options{
		Binary: s.binary, Scratch: filepath.Join(scratch, "run"), Definition: s.definition, Variables: s.variables, StepTimeout: s.StepTimeout,
		CLIConfig: s.binary.UserCLIConfig(), Env: s.Env, Simulate: s.simulation,
	})
	if err != nil {
		t.Fatalf("preparing the modules: %v", err)
	}
	defer func() {
		if err := run.Close(); err != nil {
			t.Errorf("ending the simulated providers: %v", err)
		}
	}()
	if err := harness.Playable(one, run); err != nil {
		why, cannot := errors.AsType[*harness.CannotPlayError](err)
		if !cannot || s.chosen {
			t.Fatalf("the scenario cannot be played: %v", err)
		}
		s.leftOut(cp, one, why.Reason)
		t.Skipf("not played: %s", why.Reason)
	}
	result, err := harness.Play(ctx, harness.Config{
		Modules: run, Definition: s.definition, ControlPlane: cp, Scenario: one, Seed: s.Seed, Allow: s.Allow, Runtime: s.binary.String(),
	})
	result.Timing = harness.Timing{Total: time.Since(start).Seconds(), Runtime: run.Busy().Seconds(), Runs: run.Runs()}
	result.Simulated = run.Simulated()
	result.Notes = append(result.Notes, run.Notes()...)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		result.Verdict, result.Error = harness.VerdictError, err.Error()
	}
	s.results = append(s.results, result)
	judge(t, result)
	left, err := run.Left()
	if err != nil {
		t.Errorf("looking for what is left: %v", err)
	}
	for _, l := range left {
		kept = true
		t.Errorf("%s still exists; to destroy it:\n\tcd %q && %s %q apply -destroy", l.Object, l.Dir, l.Env, s.binary.Path)
	}
}

// leftOut notes a scenario that was not played in a result, as the command does.
func (s *suite) leftOut(cp *harness.ControlPlane, one harness.Scenario, reason string) {
	at := slices.IndexFunc(s.results, func(r *harness.Result) bool { return r.ControlPlane == cp.Name })
	if at < 0 {
		return // the log of the skipped subtest says it
	}
	s.results[at].NotPlayed = append(s.results[at].NotPlayed, harness.NotPlayed{Scenario: one.ID, Title: one.Title, Reason: reason})
}

// judge fails the test with what a person needs to go on.
func judge(t *testing.T, r *harness.Result) {
	t.Helper()
	for _, n := range r.Notes {
		t.Logf("note: %s", report.Line(strings.TrimSpace(n.Place+" "+n.Message)))
	}
	if r.Verdict == harness.VerdictPassed {
		t.Log(report.Sentence(r))
		return
	}
	var story strings.Builder
	lines := report.NewStory(&story, false)
	for _, step := range r.Steps[max(0, len(r.Steps)-lastSteps):] {
		lines.Step(step)
	}
	t.Logf("the end of the story:\n%s", story.String())
	for _, q := range r.Requirements {
		if q.Status != harness.StatusFailed {
			continue
		}
		text := fmt.Sprintf("%s (%s, %s): %s\n\twhy: %s", q.ID, q.Level, q.Role, q.Title, report.Line(q.Reason))
		for _, e := range q.Evidence[:min(len(q.Evidence), 5)] {
			text += "\n\tseen: " + report.Line(e)
		}
		t.Errorf("%s\n\twhat to do: %s", text, report.Line(q.Remedy))
	}
	t.Errorf("%s (seed %d, %s)", report.Sentence(r), r.Seed, report.Line(r.Runtime))
}

// writePage writes the verdict as a page.
func writePage(file string, r *conformance.Report) (err error) {
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	write := func(w io.Writer) error { return r.HTML(w, report.HTMLOptions{Generator: "contracttest"}) }
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
