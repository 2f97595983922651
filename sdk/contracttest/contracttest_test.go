package contracttest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/contracttest"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

const noop = "../../modules/noop"

// envSet is the set on which TestOther is to be tried, in a process of its own.
const envSet = "CAPTF_CONTRACTTEST_SET"

// TestNoop: the no-op modules pass, and the verdict says what was tested.
func TestNoop(t *testing.T) {
	page := filepath.Join(t.TempDir(), "contract.html")
	r := contracttest.TestModule(t, contracttest.Options{Dir: noop, Runtime: runtimetest.OpenTofu(t).Path, Scenarios: []string{"K1"}, Strict: true, Report: page})
	if r.Verdict != harness.VerdictPassed || r.Scenarios.Passed != 1 || !r.Partial || len(r.Checks) < 4 {
		t.Errorf("%s: %s %+v", r.Verdict, r.Summary, r.Scenarios)
	}
	raw, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(raw), "lint of the machinepool module") {
		t.Errorf("the page: %v, %d bytes", err, len(raw))
	}
}

// TestLintOnly: one module alone is linted, and what cannot be played is skipped.
func TestLintOnly(t *testing.T) {
	r := contracttest.TestModule(t, contracttest.Options{Modules: map[contract.Role]string{contract.RoleMachine: filepath.Join(noop, "machine")}})
	if len(r.Checks) != 1 || len(r.Runs) != 0 {
		t.Errorf("%d checks, %d runs", len(r.Checks), len(r.Runs))
	}
}

// TestOther is no test by itself: TestFailures runs it on sets that fail.
func TestOther(t *testing.T) {
	set := os.Getenv(envSet)
	if set == "" {
		t.Skip("it is run by TestFailures")
	}
	contracttest.TestModule(t, contracttest.Options{Dir: set, Runtime: runtimetest.OpenTofu(t).Path, Scenarios: []string{"K1"}, ControlPlanes: strings.Split(os.Getenv(envSet+"_PLANES"), ",")})
}

// TestFailures: a set that breaks the contract fails, and says which
// requirement, why and what to do; options that mean nothing are refused.
func TestFailures(t *testing.T) {
	broken := t.TempDir()
	if err := os.CopyFS(broken, os.DirFS(noop)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(broken, "machine", "outputs_override.tf")
	if err := os.WriteFile(file, []byte("output \"provider_id\" {\n  value = \"same for all\"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		set, planes string
		want        []string
	}{
		{broken, "kcp", []string{"--- FAIL: TestOther/kcp/K1", "CP-040 (MUST, machine)", "what to do:", "--- PASS: TestOther/lint/cluster"}},
		{noop, "kubeadm", []string{`there is no control plane "kubeadm": it is one of kcp, rke2`}},
		{t.TempDir(), "kcp", []string{"it has none of the directories"}},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestOther$", "-test.v")
		cmd.Env = append(os.Environ(), envSet+"="+c.set, envSet+"_PLANES="+c.planes)
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%s %s: no failure\n%s", c.set, c.planes, out)
		}
		for _, want := range c.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s %s: the log has no %q:\n%s", c.set, c.planes, want, out)
			}
		}
	}
}
