package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// TestHarnessReport: a page is written beside the JSON of the same run, with
// the command that plays it again and without a value that may be a secret.
func TestHarnessReport(t *testing.T) {
	dir := tiny(t, map[string]string{
		"machine/more.tf": "variable \"size\" {\n  default = \"s\"\n}\nvariable \"api_token\" {\n  default = null\n}\nvariable \"user\" {\n  default   = null\n  sensitive = true\n}\n",
	})
	file := filepath.Join(t.TempDir(), "run it.html")
	code, out, errOut := captf(t, "harness", "run", "--runtime", runtimetest.OpenTofu(t).Path, "--scenario", "K1", "-o", "json", "--no-progress", "--report", file,
		"--var", "size=a b", "--var", "api_token=hush-1234", "--var", "machine.user=hush-5678", "--seed", "7", dir)
	if code == exitError || code == exitUsage {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	var result harness.Result
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(errOut, "The report is in "+file) {
		t.Errorf("standard error does not name the file: %q", errOut)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"harness run --control-plane kcp --scenario K1 --seed 7", "--var &#39;size=a b&#39; --var api_token=HIDDEN --var machine.user=HIDDEN", "CP-001", "TerraformCluster"} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the page does not hold %q; the command is %q", want, result.Command)
		}
	}
	if strings.Contains(string(raw), "hush-") || strings.Contains(out, "hush-") {
		t.Error("a report holds the value of a secret variable")
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the page: %v %v", entries, err)
	}
}

// TestHarnessReportOfNothing: a run that cannot begin is a page too.
func TestHarnessReportOfNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.html")
	code, _, errOut := captf(t, "harness", "run", "--report", file, filepath.Join(t.TempDir(), "none"))
	if code != exitError {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	raw, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(raw), "It could not run: opening module set") {
		t.Errorf("the page: %v %.80s", err, raw)
	}
}

// TestHarnessReportUsage: a file that cannot be written is found before anything runs.
func TestHarnessReportUsage(t *testing.T) {
	dir := t.TempDir()
	for file, want := range map[string]string{
		"":                                 "it names no file",
		dir:                                "is no regular file",
		filepath.Join(dir, "no", "a.html"): "there is no directory",
	} {
		code, _, errOut := captf(t, "harness", "run", "--report", file, noop)
		if code != exitUsage || !strings.Contains(errOut, want) {
			t.Errorf("%q: exit code %d, %s", file, code, errOut)
		}
	}
}
