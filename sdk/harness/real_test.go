package harness_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/runner"
	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// noop is the set of modules that the cases change.
const noop = "../../modules/noop"

// realModules runs the modules in dir on a real runtime.
func realModules(t testing.TB, binary *runtime.Binary, dir string) harness.Modules {
	t.Helper()
	set, err := runner.OpenSet(dir)
	if err != nil {
		t.Fatalf("opening %s: %v", dir, err)
	}
	r, err := runner.New(context.Background(), set, runner.Options{
		Binary: binary, Scratch: t.TempDir(), Definition: versions.Default(), Parallel: 2,
	})
	if err != nil {
		t.Fatalf("preparing %s: %v", dir, err)
	}
	return r
}

// The whole life of a cluster on every runtime that is found.
func TestLifeOnRealRuntimes(t *testing.T) {
	for _, binary := range runtimetest.Binaries(t) {
		t.Run(string(binary.Kind), func(t *testing.T) {
			result, err := harness.Play(context.Background(), config(t, realModules(t, binary, noop), "life", 1))
			if err != nil {
				t.Fatalf("playing: %v", err)
			}
			if result.Verdict != harness.VerdictPassed || len(result.Left) > 0 {
				t.Errorf("verdict is %s, left are %v\n%s", result.Verdict, result.Left, story(result))
			}
		})
	}
}

// The whole life of a cluster under RKE2: the set is the same.
func TestRKE2LifeOnOpenTofu(t *testing.T) {
	result, err := harness.Play(context.Background(), configRKE2(t, realModules(t, runtimetest.OpenTofu(t), noop), "rke2-life", 1))
	if err != nil {
		t.Fatalf("playing: %v", err)
	}
	if result.Verdict != harness.VerdictPassed || len(result.Left) > 0 {
		t.Errorf("verdict is %s, left are %v\n%s", result.Verdict, result.Left, story(result))
	}
}

// realCase is a folder of testdata/cases: files that are laid over the no-op
// modules, and what the harness must say about the result.
type realCase struct {
	// Scenario is K1 unless the case needs more; create adds workers and a pool.
	Scenario string `json:"scenario"`
	// ControlPlane is kcp unless the case needs another. Scenarios of rke2 are
	// played with one control-plane machine and nothing else.
	ControlPlane string `json:"controlPlane"`
	// Registration is the registration method, "" for the default.
	Registration string `json:"registration"`
	// Probes tells that the probes run too: those of the roles that the folder changes.
	Probes bool `json:"probes"`
	// Failed are the requirements that fail, and no others.
	Failed []string `json:"failed"`
	// Gate is where the run stalls, "" when it does not.
	Gate string `json:"gate"`
	// Says are texts that the failures, or the notes of a pass, hold.
	Says []string `json:"says"`
	// Output is the output that is blamed for the stall.
	Output string `json:"output"`
	// Notes are parts of what the notes say, one each.
	Notes []string `json:"notes"`
}

// stuck are the requirements whose failure means that something cannot be destroyed.
var stuck = map[string]bool{"CP-025": true, "CP-038": true, "CP-039": true}

// TestCases plays each folder of testdata/cases on real OpenTofu.
func TestCases(t *testing.T) {
	binary := runtimetest.OpenTofu(t)
	folders, err := filepath.Glob("testdata/cases/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("reading the cases: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			want := realCase{Scenario: "K1"}
			raw, err := os.ReadFile(filepath.Join(folder, "want.json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatalf("reading %s: %v", folder, err)
			}
			var changed, played []contract.Role
			for _, role := range contract.Roles() {
				if _, err := os.Stat(filepath.Join(folder, string(role))); err == nil {
					changed = append(changed, role)
				}
				// Where the story makes no pool, the set has no module for one: init would be all that runs of it.
				if role != contract.RoleMachinePool || want.Scenario == "create" {
					played = append(played, role)
				}
			}
			dir := t.TempDir()
			overlay(t, noop, dir, played)
			overlay(t, folder, dir, contract.Roles())
			modules := realModules(t, binary, dir)
			cfg := config(t, modules, "K1", 1)
			if want.ControlPlane == "rke2" {
				cfg = configRKE2(t, modules, want.Scenario, 1)
				cfg.Registration = want.Registration
				cfg.Scenario.Steps = []harness.Step{harness.StepCreateControlPlane, harness.StepDelete}
			}
			if want.Scenario == "create" {
				cfg.Scenario.Steps = []harness.Step{harness.StepCreate, harness.StepDelete}
			}
			cfg.Scenario.Probes = want.Probes
			// The probes of the modules that are as they were say here what they say in TestLifeOnRealRuntimes, with
			// seventy processes a case. That a fault fails no probe of another role is what TestFaults shows.
			cfg.ProbeOnly(changed...)
			result, err := harness.Play(context.Background(), cfg)
			if err != nil {
				t.Fatalf("playing: %v", err)
			}
			got := realCase{Scenario: want.Scenario, Probes: want.Probes}
			for _, q := range result.Requirements {
				if q.Status == harness.StatusFailed {
					got.Failed = append(got.Failed, q.ID)
				}
			}
			if result.Stalled != nil {
				got.Gate, got.Output = result.Stalled.Gate, result.Stalled.Output
			}
			if !slices.EqualFunc(result.Notes, want.Notes, func(n harness.Note, part string) bool { return strings.Contains(n.Message, part) && n.Place != "" }) {
				t.Errorf("notes are %+v, want %q", result.Notes, want.Notes)
			}
			if !slices.Equal(got.Failed, want.Failed) || (result.Verdict == harness.VerdictPassed) != (len(want.Failed) == 0) || got.Gate != want.Gate || got.Output != want.Output {
				t.Errorf("got %+v, want %+v\n%s", got, want, story(result))
			}
			said := ""
			for _, n := range result.Notes {
				said += n.Place + ": " + n.Message + "\n"
			}
			for _, q := range result.Requirements {
				if q.Status == harness.StatusFailed {
					said += "\n" + q.Reason + "\n" + q.Remedy + "\n" + strings.Join(q.Evidence, "\n")
				}
			}
			for _, text := range want.Says {
				if !strings.Contains(said, text) {
					t.Errorf("%q is not in %s", text, said)
				}
			}
			for _, text := range []string{"module.role.", "../"} {
				if strings.Contains(said, text) {
					t.Errorf("%q, which no author knows, is in %s", text, said)
				}
			}
			if len(result.Left) > 0 && !slices.ContainsFunc(want.Failed, func(id string) bool { return stuck[id] }) {
				t.Errorf("left behind: %v", result.Left)
			}
		})
	}
}

// overlay copies the directories of the given roles, where a set has them, over another.
func overlay(t *testing.T, from, to string, roles []contract.Role) {
	t.Helper()
	for _, role := range roles {
		root := filepath.Join(from, string(role))
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(from, path)
			if err != nil {
				return err
			}
			if d.IsDir() {
				return os.MkdirAll(filepath.Join(to, rel), 0o750)
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(to, rel), content, 0o600)
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatalf("laying %s over: %v", from, err)
		}
	}
}

// BenchmarkBarOverhead compares the whole time of a life on real OpenTofu with
// the time during which at least one runtime process ran (design D11: the
// harness adds at most 10 %). It plays without probes, which would run while
// the story waits and so hide what the harness itself takes.
func BenchmarkBarOverhead(b *testing.B) {
	binary := runtimetest.OpenTofu(b)
	var total, bare float64
	for b.Loop() {
		cfg := config(b, realModules(b, binary, noop), "life", 1)
		cfg.Scenario.Probes = false
		result, err := harness.Play(context.Background(), cfg)
		if err != nil || result.Verdict != harness.VerdictPassed {
			b.Fatalf("verdict %s, error %v", result.Verdict, err)
		}
		total += result.Timing.Total
		bare += result.Timing.Runtime
		b.ReportMetric(float64(result.Timing.Runs), "runs/life")
	}
	b.ReportMetric((total-bare)/bare*100, "%overhead")
}
