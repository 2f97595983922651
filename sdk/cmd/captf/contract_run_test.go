package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/sdk/conformance"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// TestContractTest: one verdict over lint and scenarios of both control planes,
// with a page and a badge beside it.
func TestContractTest(t *testing.T) {
	dir := t.TempDir()
	page, badge := filepath.Join(dir, "c.html"), filepath.Join(dir, "c.svg")
	code, out, errOut := captf(t, "contract", "test", "--runtime", runtimetest.OpenTofu(t).Path, "--control-plane", "all", "--scenario", "K1,R1", "--strict",
		"--report", page, "--badge", badge, "-o", "json", noop)
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	var r conformance.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if r.Verdict != harness.VerdictPassed || r.Scenarios.Passed < 2 || len(r.ControlPlanes) != 2 || len(r.Modules) != 3 {
		t.Errorf("%s: %s %v %+v", r.Verdict, r.Summary, r.ControlPlanes, r.Scenarios)
	}
	for file, want := range map[string]string{page: "lint of the cluster module", badge: "CAPTF v1alpha1: kcp, rke2"} {
		raw, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(raw), want) {
			t.Errorf("%s: %v, it does not hold %q", file, err, want)
		}
	}
	for _, want := range []string{"lint of the machine module: no findings", "kcp/K1: All", "rke2/R1: All"} {
		if !strings.Contains(errOut, want) {
			t.Errorf("progress has no %q:\n%s", want, errOut)
		}
	}
}

// TestContractTestFails: findings of the linter fail the test, and the
// scenarios are played all the same.
func TestContractTestFails(t *testing.T) {
	badge := filepath.Join(t.TempDir(), "c.json")
	code, out, errOut := captf(t, "contract", "test", "--runtime", runtimetest.OpenTofu(t).Path, "--scenario", "K1", "--no-progress", "--strict", "--badge", badge, tiny(t, nil))
	if code != exitFailed {
		t.Fatalf("exit code %d: %s%s", code, out, errOut)
	}
	for _, want := range []string{"FAILED  lint of the cluster module", "input/type", "kcp/K1:", "FAILED  contract v1alpha1"} {
		if !strings.Contains(out, want) {
			t.Errorf("the result has no %q:\n%s", want, out)
		}
	}
	raw, err := os.ReadFile(badge)
	if err != nil || !strings.Contains(string(raw), `"message": "failing"`) {
		t.Errorf("the badge: %v %s", err, raw)
	}
}

func TestContractTestUsage(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitUsage, "either SET_DIR is needed"},
		{[]string{"--control-plane", "kubeadm", noop}, exitUsage, "it is one of kcp, rke2"},
		{[]string{"--scenario", "K99", noop}, exitUsage, "K99"},
		{[]string{"--control-plane", "all", "--scenario", "K99", noop}, exitUsage, "no control plane has it"},
		{[]string{"-o", "junit", noop}, exitUsage, "it is one of text, json"},
		{[]string{"--badge", "b.png", noop}, exitUsage, "must end in .svg or .json"},
		{[]string{"--badge", filepath.Join(dir, "none", "b.svg"), noop}, exitUsage, "there is no directory"},
		{[]string{"--allow-warning", "input/nope", noop}, exitUsage, "there is no such check"},
		{[]string{"--report", "", noop}, exitUsage, "it names no file"},
		{[]string{filepath.Join(dir, "none")}, exitError, "opening module set"},
		{[]string{"a", "b"}, exitUsage, "there are 2 arguments"},
	} {
		code, out, errOut := captf(t, append([]string{"contract", "test"}, c.args...)...)
		if code != c.code || !strings.Contains(errOut, c.want) {
			t.Errorf("%v: exit code %d, want %d with %q\n%s%s", c.args, code, c.code, c.want, out, errOut)
		}
	}
}
