package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/contract/versions"
)

// captf runs a command line and returns its exit code and what it printed.
func captf(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestUsage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"unknown command", []string{"lint"}, `captf has no command "lint"`},
		{"help about nothing", []string{"help", "nope"}, `captf has no command "nope": there are`},
		{"help about no subcommand", []string{"help", "harness", "nope"}, `captf harness has no command "nope": there are diff, list, run`},
		{"help about a leaf", []string{"help", "version", "nope"}, `captf version has no command "nope"`},
		{"unknown flag", []string{"scaffold", "--force", "d"}, "unknown flag: --force"},
		{"no directory", []string{"scaffold", "--set"}, "one directory is needed"},
		{"two directories", []string{"scaffold", "--set", "a", "b"}, "there are 2 arguments"},
		{"empty directory name", []string{"scaffold", "--set", ""}, "empty string"},
		{"no role", []string{"scaffold", "d"}, "one of --role, --set and --update is needed"},
		{"unknown role", []string{"scaffold", "--role", "network", "d"}, "cluster, machine, machinepool"},
		{"role and set", []string{"scaffold", "--role", "machine", "--set", "d"}, "exclude each other"},
		{"unknown contract", []string{"scaffold", "--set", "--contract", "v9", "d"}, "supported are v1alpha1"},
		{"unknown runtime", []string{"scaffold", "--set", "--runtime", "pulumi", "d"}, "tofu or terraform"},
		{"bad provider", []string{"scaffold", "--set", "--provider", "aws@6.25.0", "d"}, "the namespace is missing"},
		{"bad version", []string{"scaffold", "--set", "--provider", "hashicorp/aws@6", "d"}, "no exact version"},
		{"bad output", []string{"scaffold", "--set", "--output", "xml", "d"}, "text, json"},
		{"version with argument", []string{"version", "now"}, "no argument"},
		{"version with bad output", []string{"version", "-o", "xml"}, "text, json"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := captf(t, test.args...)
			if code != exitUsage || stdout != "" {
				t.Errorf("exit %d, stdout %q", code, stdout)
			}
			if !strings.HasPrefix(stderr, "Error: ") || !strings.Contains(stderr, test.want) || !strings.Contains(stderr, "--help") {
				t.Errorf("stderr is %q, want %q", stderr, test.want)
			}
		})
	}
	if _, err := os.Stat("d"); err == nil {
		t.Error("a wrong command line wrote something")
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--help"}, {"scaffold", "--help"}, {"help"}, {"help", "harness", "run"}} {
		code, stdout, stderr := captf(t, args...)
		if code != exitOK || stderr != "" || !strings.Contains(stdout, "Usage:") {
			t.Errorf("captf %v: exit %d, %q, %q", args, code, stdout, stderr)
		}
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, stdout, _ := captf(t, "completion", shell); code != exitOK || !strings.Contains(stdout, "captf") {
			t.Errorf("completion for %s: exit %d", shell, code)
		}
	}
	if _, stdout, _ := captf(t, "__complete", "scaffold", "--role", ""); !strings.HasPrefix(stdout, "cluster\nmachine\nmachinepool\n") {
		t.Errorf("roles complete to %q", stdout)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	code, stdout, _ := captf(t, "version", "--output", "json")
	var got versionInfo
	if err := json.Unmarshal([]byte(stdout), &got); code != exitOK || err != nil {
		t.Fatalf("exit %d, %v", code, err)
	}
	if got.Version == "" {
		t.Error("the version is empty")
	}
	if diff := cmp.Diff(versions.Names(), got.Contract); diff != "" {
		t.Errorf("contract versions (-want +got):\n%s", diff)
	}
	for _, args := range [][]string{{"version"}, {"--version"}} {
		if code, stdout, _ := captf(t, args...); code != exitOK || stdout != "captf "+got.Version+"\n" {
			t.Errorf("captf %v: exit %d, %q", args, code, stdout)
		}
	}
}

// TestScaffold plays an author's use of captf scaffold.
func TestScaffold(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "set")

	code, dry, _ := captf(t, "scaffold", "--set", "--dry-run", dir)
	if _, err := os.Stat(dir); code != exitOK || err == nil {
		t.Fatalf("a dry run exits with %d and wrote something", code)
	}
	code, stdout, stderr := captf(t, "scaffold", "--set", dir)
	if code != exitOK || stdout != dry {
		t.Errorf("exit %d; the dry run said\n%s, the run\n%s", code, dry, stdout)
	}
	if !strings.Contains(stderr, "README.md says what to do next") {
		t.Errorf("stderr is %q", stderr)
	}
	golden.Assert(t, "testdata/scaffold-set.txt", []byte(stdout))

	if code, stdout, stderr = captf(t, "scaffold", "--set", dir); code != exitError || stdout != "" || !strings.Contains(stderr, "--update") {
		t.Errorf("again: exit %d, %q, %q", code, stdout, stderr)
	}
	if code, _, stderr = captf(t, "scaffold", "--set", "--dry-run", dir); code != exitError || !strings.Contains(stderr, "--update") {
		t.Errorf("again, dry: exit %d, %q", code, stderr)
	}
	if code, _, stderr = captf(t, "scaffold", "--update", "--role", "machine", dir); code != exitError || !strings.Contains(stderr, "scaffolded for a set") {
		t.Errorf("another role: exit %d, %q", code, stderr)
	}
}

// TestScaffoldUpdate updates a scaffold whose file the author edited.
func TestScaffoldUpdate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "module")
	if code, _, stderr := captf(t, "scaffold", "--role", "machine", dir); code != exitOK {
		t.Fatal(stderr)
	}
	mine := filepath.Join(dir, "versions.tf")
	if err := os.WriteFile(mine, []byte("# mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"scaffold", "--update", "--provider", "hashicorp/aws@6.25.0", dir}
	code, dry, _ := captf(t, append(args, "--dry-run")...)
	if code != exitFailed {
		t.Errorf("a dry run with a conflict exits with %d", code)
	}
	if _, err := os.Stat(mine + ".new"); err == nil {
		t.Error("a dry run wrote something")
	}
	code, stdout, stderr := captf(t, args...)
	if code != exitFailed || stdout != dry {
		t.Errorf("exit %d; the dry run said\n%s, the run\n%s", code, dry, stdout)
	}
	for _, want := range []string{"conflict   versions.tf (see versions.tf.new)\n--- a/versions.tf\n", "\n-# mine\n", "create     providers.tf\n--- /dev/null\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("stdout lacks %q:\n%s", want, stdout)
		}
	}
	if !strings.Contains(stderr, "merge versions.tf.new into it") {
		t.Errorf("stderr is %q", stderr)
	}
	if got, err := os.ReadFile(mine); err != nil || string(got) != "# mine\n" {
		t.Errorf("the author's file holds %q, %v", got, err)
	}
	again, _, stderr := captf(t, "scaffold", "--update", dir)
	if again != exitFailed || !strings.Contains(stderr, "merge versions.tf.new into it") {
		t.Errorf("a second update before the merge: exit %d, %q", again, stderr)
	}
	if err := os.Remove(mine + ".new"); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ = captf(t, "scaffold", "--update", "--output", "json", dir)
	var result scaffoldResult
	if err := json.Unmarshal([]byte(stdout), &result); code != exitOK || err != nil {
		t.Fatalf("exit %d, %v", code, err)
	}
	if result.Provider == nil || result.Provider.String() != "hashicorp/aws@6.25.0" || result.Contract != "v1alpha1" || len(result.Roles) != 1 {
		t.Errorf("result is %+v", result)
	}
	for _, f := range result.Files {
		if f.Action != "unchanged" && f.Path != "versions.tf" {
			t.Errorf("a second update did %+v", f)
		}
	}
}
