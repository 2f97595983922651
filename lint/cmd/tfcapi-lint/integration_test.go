package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The repository level files are used from other repositories, where nothing
// else would notice a flag that went away.
const repository = "../../.."

func TestPreCommitHooks(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, ".pre-commit-hooks.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct {
		ID, Entry, Language string
		Args                []string
		PassFilenames       *bool `yaml:"pass_filenames"`
	}
	if err := yaml.Unmarshal(text, &hooks); err != nil {
		t.Fatal(err)
	}
	if len(hooks) != 4 {
		t.Errorf("%d hooks", len(hooks))
	}
	for _, h := range hooks {
		if h.Language != "golang" || h.PassFilenames == nil || *h.PassFilenames {
			t.Errorf("%s: language %q, pass_filenames %v", h.ID, h.Language, h.PassFilenames)
		}
		words := strings.Fields(h.Entry)
		if words[0] != "tfcapi-lint" {
			t.Errorf("%s runs %q", h.ID, words[0])
		}
		dir := "testdata/clean"
		if len(h.Args) > 0 {
			dir = "testdata/tree"
		}
		var out, errs bytes.Buffer
		code := run(append(words[1:], dir), &out, &errs)
		if code != exitClean && code != exitFindings {
			t.Errorf("%s: exit code %d: %s", h.ID, code, errs.String())
		}
	}
}

// action is what counts of action.yml.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			Run string
			Env map[string]string
		}
	}
}

func readAction(t *testing.T) action {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, ".github/actions/tfcapi-lint/action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var a action
	if err := yaml.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestActionPassesInputsByEnvironmentOnly(t *testing.T) {
	a := readAction(t)
	script, err := os.ReadFile(filepath.Join(repository, ".github/actions/tfcapi-lint/run.sh"))
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Runs.Steps) != 1 {
		t.Fatalf("%d steps", len(a.Runs.Steps))
	}
	step := a.Runs.Steps[0]
	if strings.Contains(step.Run, "${{") {
		t.Errorf("an expression in the script: %s", step.Run)
	}
	for name := range a.Inputs {
		variable := "LINT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if step.Env[variable] != "${{ inputs."+name+" }}" {
			t.Errorf("the input %s is not in %s", name, variable)
		}
		if !bytes.Contains(script, []byte("${"+variable+":-}")) && !bytes.Contains(script, []byte("${"+variable+":-")) {
			t.Errorf("run.sh does not read %s", variable)
		}
	}
}

func TestActionScript(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	script, err := filepath.Abs(filepath.Join(repository, ".github/actions/tfcapi-lint/run.sh"))
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	for _, tc := range []struct {
		name string
		env  map[string]string
		code int
		want string
	}{
		{"clean", map[string]string{"TARGET": "clean", "ROLE": "machine", "STRICT": "true"}, exitClean, "0 error(s)"},
		{"findings", map[string]string{"TARGET": "findings", "ROLE": "machine"}, exitFindings, "::error file=findings/main.tf,line=2"},
		{"allowed", map[string]string{"TARGET": "tree/edge/node", "ROLE": "machine", "STRICT": "true", "ALLOW_WARNINGS": "input/type\n input/user-variable-default "}, exitClean, "(allowed: by --allow-warning)"},
		{"json", map[string]string{"TARGET": "clean", "ROLE": "machine", "JSON": "true"}, exitClean, `"findings": []`},
		{"recursive", map[string]string{"TARGET": "tree", "RECURSIVE": "true", "OUTPUT": "text"}, exitClean, "of 3 module(s)"},
		{"more flags", map[string]string{"TARGET": "clean", "ROLE": "machine", "ARGS": "--strict --contract v1alpha1"}, exitClean, "0 error(s)"},
		{"schema", map[string]string{"TARGET": "clean", "ROLE": "machine", "COMMAND": "schema"}, exitClean, `"disk_gib"`},
		{"output file", map[string]string{"TARGET": "findings", "ROLE": "machine", "OUTPUT": "sarif", "OUTPUT_FILE": filepath.Join(temp, "out.sarif")}, exitFindings, `"2.1.0"`},
		{"no target", map[string]string{"ROLE": "machine"}, exitUsage, "::error title=tfcapi-lint::the input target is missing"},
		{"unclear flag", map[string]string{"TARGET": "clean", "ROLE": "machine", "STRICT": "yes"}, exitUsage, "the input strict is true or false"},
		{"unknown command", map[string]string{"TARGET": "clean", "COMMAND": "rm"}, exitUsage, "the input command"},
		{"text that is no code", map[string]string{"TARGET": "$(touch " + filepath.Join(temp, "pwned") + ");`touch " + filepath.Join(temp, "pwned") + "`", "ROLE": "machine"}, exitUnreadable, ""},
		{"target that looks like a flag", map[string]string{"TARGET": "--list", "ROLE": "machine"}, exitUnreadable, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			outputs := filepath.Join(t.TempDir(), "outputs")
			cmd := exec.CommandContext(t.Context(), bash, script)
			cmd.Dir = "testdata"
			cmd.Env = append(os.Environ(), "RUNNER_TEMP="+temp, "GITHUB_OUTPUT="+outputs)
			for name, value := range tc.env {
				cmd.Env = append(cmd.Env, "LINT_"+name+"="+value)
			}
			out, err := cmd.CombinedOutput()
			code := 0
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if code != tc.code || !strings.Contains(string(out), tc.want) {
				t.Errorf("exit code %d, want %d with %q:\n%s", code, tc.code, tc.want, out)
			}
			if _, err := os.Stat(filepath.Join(temp, "pwned")); err == nil {
				t.Error("an input was run as code")
			}
			if code == exitUsage {
				return
			}
			text, err := os.ReadFile(outputs)
			if err != nil || !strings.Contains(string(text), "exit-code="+string(rune('0'+code))) {
				t.Errorf("outputs: %s %v", text, err)
			}
		})
	}
	if text, err := os.ReadFile(filepath.Join(temp, "out.sarif")); err != nil || !bytes.Contains(text, []byte("tfcapi-lint")) {
		t.Errorf("the output file: %v", err)
	}
}
