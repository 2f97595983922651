package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/captf-toolkit/captf/contract/golden"
)

// stamp makes the version in reports the same everywhere.
func stamp(t *testing.T) {
	t.Helper()
	old := version
	version = "v0.0.0-test"
	t.Cleanup(func() { version = old })
}

// cli runs a command line in testdata.
func cli(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Chdir("testdata")
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestCommandLines(t *testing.T) {
	stamp(t)
	for _, tc := range []struct {
		name, args string
		code       int
	}{
		{"no-arguments", "", exitUsage},
		{"help", "--help", exitClean},
		{"module-help", "module --help", exitClean},
		{"version", "version", exitClean},
		{"version-flag", "--version", exitClean},
		{"version-flag-unknown-form", "--version=long", exitUsage},
		{"explain", "--explain output/provider-id-list-shape", exitClean},
		{"explain-after-module", "module --explain input/type", exitClean},
		{"explain-unknown", "--explain output/provider-ids", exitUsage},
		{"explain-near", "--explain provider-id-list-shape", exitUsage},
		{"list", "--list", exitClean},
		{"help-command", "help module", exitClean},
		{"help-unknown-command", "help nope", exitUsage},
		{"flag-is-no-boolean", "module --strict=maybe --role machine clean", exitUsage},
		{"allowed-without-id", "module --allow-warning= --role machine clean", exitUsage},
		{"allowed-list-with-gap", "module --allow-warning input/type,,input/default --role machine clean", exitUsage},
		{"unknown-command", "modules", exitUsage},
		{"unknown-flag", "module --roles machine clean", exitUsage},
		{"no-directory", "module --role machine", exitUsage},
		{"two-directories", "module --role machine clean findings", exitUsage},
		{"no-role", "module clean", exitUsage},
		{"unknown-role", "module --role node clean", exitUsage},
		{"unknown-contract", "module --role machine --contract v2 clean", exitUsage},
		{"unknown-format", "module --role machine --output xml clean", exitUsage},
		{"two-formats", "module --role machine --json --output sarif clean", exitUsage},
		{"unknown-allowed", "module --role machine --allow-warning input/typ clean", exitUsage},
		{"role-and-recursive", "module --role machine --recursive tree", exitUsage},
		{"diff-without-fix", "module --role machine --diff clean", exitUsage},
		{"config-allows-an-error", "module --role machine --config allows-error.yaml clean", exitUsage},
		{"config-missing", "module --role machine --config none.yaml clean", exitUsage},

		{"clean-text", "module --role machine clean", exitClean},
		{"clean-flags-last", "module clean --strict --role machine", exitClean},
		{"clean-json", "module --role machine --json clean", exitClean},
		{"clean-sarif", "module --role machine -o sarif clean", exitClean},
		{"clean-github", "module --role machine --output github clean", exitClean},
		{"clean-junit", "module --role machine --output junit clean", exitClean},

		{"findings-text", "module --role machine findings", exitFindings},
		{"findings-json", "module --role machine --output json findings", exitFindings},
		{"findings-sarif", "module --role machine --output sarif findings", exitFindings},
		{"findings-github", "module --role machine --output github findings", exitFindings},
		{"findings-junit", "module --role machine --output junit findings", exitFindings},

		{"warnings-are-fine", "module --role machine tree/edge/node", exitClean},
		{"warnings-strict", "module --strict --role machine tree/edge/node", exitFindings},
		{"warnings-allowed", "module --strict --role machine --allow-warning input/type,input/user-variable-default tree/edge/node", exitClean},
		{"warnings-allowed-repeated", "module --strict --role machine --allow-warning input/type --allow-warning input/user-variable-default tree/edge/node", exitClean},
		{"errors-cannot-be-allowed", "module --role machine --allow-warning input/required findings", exitFindings},
		{"secrets-are-masked", "module --role machine secret", exitFindings},

		{"unreadable-text", "module --role machine unreadable", exitUnreadable},
		{"unreadable-json", "module --role machine --json unreadable", exitUnreadable},
		{"unreadable-sarif", "module --role machine --output sarif unreadable", exitUnreadable},
		{"unreadable-github", "module --role machine --output github unreadable", exitUnreadable},
		{"unreadable-junit", "module --role machine --output junit unreadable", exitUnreadable},
		{"missing-directory", "module --role machine nowhere", exitUnreadable},
		{"missing-directory-json", "module --role machine --json nowhere", exitUnreadable},
		{"not-a-directory", "module --role machine clean/main.tf", exitUnreadable},

		{"recursive-text", "module --recursive tree", exitClean},
		{"recursive-json", "module --recursive --json tree", exitClean},
		{"recursive-sarif", "module --recursive --output sarif tree", exitClean},
		{"recursive-github", "module --recursive --output github tree", exitClean},
		{"recursive-junit", "module --recursive --output junit tree", exitClean},
		{"recursive-with-unreadable", "module --recursive tree/old", exitUnreadable},
		{"recursive-with-unreadable-json", "module --recursive --json tree/old", exitUnreadable},
		{"recursive-without-modules", "module --recursive clean/tags", exitUnreadable},
		{"recursive-other-config", "module --recursive --config other.yaml tree", exitFindings},

		{"fix-diff", "module --role machine --fix --diff findings", exitFindings},

		{"schema", "schema --role machine findings", exitClean},
		{"schema-no-role", "schema findings", exitUsage},
		{"schema-unreadable", "schema --role machine unreadable", exitUnreadable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := cli(t, strings.Fields(tc.args)...)
			if code != tc.code {
				t.Errorf("exit code is %d, want %d", code, tc.code)
			}
			t.Chdir("..")
			text := fmt.Sprintf("$ tfcapi-lint %s\n--- exit code %d\n--- stdout\n%s--- stderr\n%s", tc.args, code, stdout, stderr)
			golden.Assert(t, filepath.Join("testdata", "golden", tc.name+".txt"), []byte(text))
			if strings.Contains(text, "hunter2") {
				t.Error("a secret is printed")
			}
		})
	}
}

// fullDisk takes a few bytes and then no more.
type fullDisk struct{ room int }

func (d *fullDisk) Write(p []byte) (int, error) {
	n := min(len(p), d.room)
	d.room -= n
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func TestResultThatCannotBeWritten(t *testing.T) {
	t.Chdir("testdata")
	for _, args := range []string{
		"--help", "--version", "--version=raw", "version", "version --json", "--list", "--explain input/type", "module --list",
		"schema --role machine clean", "module --role machine clean", "module --role machine --json findings",
		"module --role machine --output sarif clean", "module --role machine --output github findings",
		"module --role machine --output junit clean", "module --role machine --fix --diff findings",
	} {
		t.Run(args, func(t *testing.T) {
			var errs bytes.Buffer
			if code := run(strings.Fields(args), &fullDisk{room: 3}, &errs); code != exitUnreadable {
				t.Errorf("exit code is %d, want %d", code, exitUnreadable)
			}
			if !strings.Contains(errs.String(), "writing to standard output: no space left on device") {
				t.Errorf("stderr is %q", errs.String())
			}
		})
	}
}

func TestVersionJSON(t *testing.T) {
	stamp(t)
	code, stdout, stderr := cli(t, "version", "--json")
	if code != exitClean || stderr != "" {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"version", "commit", "date", "contract"} {
		if _, ok := got[key]; !ok {
			t.Errorf("no key %q in %s", key, stdout)
		}
	}
	if list, ok := got["contract"].([]any); !ok || len(list) == 0 || list[0] != "v1alpha1" {
		t.Errorf("contract is %v", got["contract"])
	}
}

func TestRawVersionHasTheBuild(t *testing.T) {
	code, stdout, _ := cli(t, "--version=raw")
	if code != exitClean || !strings.Contains(stdout, "go1.") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}

func TestFixEditsAndChecksAgain(t *testing.T) {
	dir := t.TempDir()
	const before = "# The module.\nvariable \"bootstrap_data\" {\n  type = string # opaque\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := run([]string{"module", "--role", "machine", "--fix", dir}, &out, &errs)
	if code != exitFindings { // outputs are missing, which nothing can invent
		t.Errorf("exit code is %d", code)
	}
	if strings.Contains(out.String(), "input/required") || strings.Contains(out.String(), "input/sensitive") {
		t.Errorf("still found:\n%s", out.String())
	}
	if !strings.Contains(errs.String(), "mark bootstrap_data as sensitive") {
		t.Errorf("not told what was done: %s", errs.String())
	}
	after, err := os.ReadFile(filepath.Join(dir, "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(after), "# The module.\nvariable \"bootstrap_data\" {\n  type      = string # opaque\n  sensitive = true\n}\n") {
		t.Errorf("main.tf is now:\n%s", after)
	}
}

func TestFixLeavesWhatIsAllowed(t *testing.T) {
	const before = "variable \"bootstrap_data\" {\n  type = string\n}\n"
	config := filepath.Join(t.TempDir(), "lint.yaml")
	if err := os.WriteFile(config, []byte("allow-warnings:\n  - {id: input/sensitive, reason: it is no secret here}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, allow := range [][]string{{"--allow-warning", "input/sensitive"}, {"--config", config}} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(before), 0o644); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		run(append([]string{"module", "--role", "machine", "--fix", dir}, allow...), &out, &errs)
		after, err := os.ReadFile(filepath.Join(dir, "main.tf"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(after), before) || !strings.Contains(string(after), `variable "machine_name"`) {
			t.Errorf("%v: main.tf is now:\n%s\n%s", allow, after, &errs)
		}
	}
}

// However a directory is named, every path of the output leads there from the
// working directory.
func TestPathsLeadThereFromTheWorkingDirectory(t *testing.T) {
	t.Chdir("testdata")
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ dir, from, file string }{
		{filepath.Join(wd, "findings"), ".", "findings/main.tf"},
		{".", "findings", "main.tf"},
		{"../findings", "clean", "../findings/main.tf"},
		{filepath.Join(wd, "unreadable"), ".", "unreadable/main.tf"},
		{filepath.Join(wd, "unreadable"), "clean", filepath.ToSlash(wd) + "/unreadable/main.tf"},
	} {
		t.Chdir(filepath.Join(wd, tc.from))
		for _, format := range []string{"text", "github", "junit"} {
			var out bytes.Buffer
			run([]string{"module", "--role", "machine", "--output", format, tc.dir}, &out, &out)
			found := regexp.MustCompile(`[^\s=:<>"\[]*main\.tf`).FindAllString(out.String(), -1)
			if len(found) == 0 {
				t.Errorf("%s, %s: no file in\n%s", tc.dir, format, &out)
			}
			for _, file := range found {
				if file != tc.file {
					t.Errorf("%s, %s: names %s, want %s", tc.dir, format, file, tc.file)
				}
			}
		}
	}
}

func TestSchemaNamesUnreadableFilesFromTheWorkingDirectory(t *testing.T) {
	t.Chdir("testdata")
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := run([]string{"schema", "--role", "machine", filepath.Join(wd, "unreadable")}, &out, &errs)
	if code != exitUnreadable || !strings.HasPrefix(errs.String(), "tfcapi-lint: unreadable/main.tf:1:14: ") {
		t.Errorf("exit code %d, %s", code, &errs)
	}
}

func TestSchemaTooLargeForItsLabel(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "variable \"some_rather_long_name_%04d\" {\n  type    = string\n  default = null\n}\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "variables.tf"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := run([]string{"schema", "--role", "machine", dir}, &out, &errs)
	if code != exitFindings || out.Len() > 0 || !strings.Contains(errs.String(), "32768") {
		t.Errorf("exit code %d, stdout %d bytes, stderr %s", code, out.Len(), errs.String())
	}
}

func TestCompletion(t *testing.T) {
	for args, want := range map[string]string{
		"module --role ":          "machinepool",
		"module --output ":        "sarif",
		"module --allow-warning ": "input/tags-unused",
		"schema --contract ":      "v1alpha1",
		"--explain ":              "output/health",
	} {
		words := append([]string{"__complete"}, strings.Split(args, " ")...)
		if _, stdout, _ := cli(t, words...); !strings.Contains(stdout, want) {
			t.Errorf("%q completes to %s", args, stdout)
		}
		t.Chdir("..")
	}
}
