package fix_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/fix"
	"github.com/captf-toolkit/captf/lint/rules"
	"github.com/captf-toolkit/captf/sdk/module"
)

// A case is a folder testdata/<name> with a module in before/, a file role, and
// want.diff with what is done and what is skipped.
func TestPlan(t *testing.T) {
	dirs, err := filepath.Glob("testdata/*/role")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no case: %v", err)
	}
	for _, roleFile := range dirs {
		dir := filepath.Dir(roleFile)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			text, err := os.ReadFile(roleFile)
			if err != nil {
				t.Fatal(err)
			}
			role := contract.Role(strings.TrimSpace(string(text)))
			work := t.TempDir()
			if err := os.CopyFS(work, os.DirFS(filepath.Join(dir, "before"))); err != nil {
				t.Fatal(err)
			}
			plan := makePlan(t, work, role)
			var b strings.Builder
			for _, c := range plan.Changes {
				for _, done := range c.Done {
					b.WriteString("done: " + c.File + ": " + done + "\n")
				}
			}
			for _, s := range plan.Skipped {
				b.WriteString("skipped: " + s + "\n")
			}
			golden.Assert(t, filepath.Join(dir, "want.diff"), []byte(b.String()+plan.Diff("")))

			if err := plan.Apply(work); err != nil {
				t.Fatal(err)
			}
			again := makePlan(t, work, role)
			if len(again.Changes) > 0 {
				t.Errorf("a second run changes more: %s", again.Diff(""))
			}
			checkGone(t, work, role, plan)
		})
	}
}

// checkGone fails if a finding is left that the plan was to end.
func checkGone(t *testing.T, dir string, role contract.Role, plan *fix.Plan) {
	t.Helper()
	report, err := lint.Run(lint.Options{Dir: dir, Role: role, Contract: versions.Default(), Rules: rules.All()})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		if len(plan.Skipped) > 0 {
			break
		}
		if f.Allowed != "" {
			continue // accepted by a comment, which stays
		}
		switch f.ID {
		case "input/required", "input/tags-declared", "input/sensitive", "input/type", "input/default":
			t.Errorf("%s %s:%d %s", f.ID, f.File, f.Line, f.Message)
		case "output/provider-id-list-shape":
			if strings.Contains(f.Message, "order") {
				t.Errorf("%s:%d %s", f.File, f.Line, f.Message)
			}
		}
	}
}

func makePlan(t *testing.T, dir string, role contract.Role) *fix.Plan {
	t.Helper()
	tree, err := module.Load(dir, module.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := fix.For(tree, lint.Options{Role: role, Contract: versions.Default(), Rules: rules.All()})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestBytesOutsideTheEditStay(t *testing.T) {
	const before = "\xef\xbb\xbf# comment\r\nvariable \"bootstrap_data\" {\r\n  type = string # inline\r\n}\r\n"
	dir := t.TempDir()
	path := filepath.Join(dir, "main.tf")
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := makePlan(t, dir, contract.RoleMachine)
	if err := plan.Apply(dir); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(after)
	if !strings.HasPrefix(text, "\xef\xbb\xbf# comment\r\n") || strings.Count(text, "\n") != strings.Count(text, "\r\n") {
		t.Errorf("byte order mark or line ends are gone: %q", text)
	}
	if !strings.Contains(text, "string # inline\r\n  sensitive = true\r\n") {
		t.Errorf("the comment moved: %q", text)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v", info.Mode())
	}
}

func TestApplyRefusesWhatChanged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "main.tf")
	if err := os.WriteFile(path, []byte("variable \"bootstrap_data\" {\n  type = string\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	plan := makePlan(t, dir, contract.RoleMachine)
	const other = "# edited\n"
	if err := os.WriteFile(path, []byte(other), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(dir); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Fatalf("error is %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != other {
		t.Errorf("the file was written: %q", got)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}

func TestApplyRefusesAFileThatWasNotRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte("output \"x\" {\n  value = 1\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	plan := makePlan(t, dir, contract.RoleMachine)
	if err := os.Symlink("/nowhere", filepath.Join(dir, "variables.tf")); err != nil {
		t.Skip("no symbolic links here")
	}
	if err := plan.Apply(dir); err == nil {
		t.Error("a link was overwritten")
	}
}

func TestApplyRefusesAReadOnlyFile(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"a.tf": "variable \"machine_name\" {\n  type = string\n}\n\nvariable \"captf_contract\" {\n  type = string\n}\n",
		"b.tf": "variable \"bootstrap_data\" {\n  type = string\n}\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "b.tf"), 0o444); err != nil {
		t.Fatal(err)
	}
	plan := makePlan(t, dir, contract.RoleMachine)
	if len(plan.Changes) != 2 {
		t.Fatalf("%d files change, want 2", len(plan.Changes))
	}
	err := plan.Apply(dir)
	if err == nil || !strings.Contains(err.Error(), "b.tf: the file is read-only (mode 0444), make it writable first; nothing was written") {
		t.Fatalf("error is %v", err)
	}
	for name, text := range files {
		if got, _ := os.ReadFile(filepath.Join(dir, name)); string(got) != text {
			t.Errorf("%s was written: %s", name, got)
		}
	}
}

// TestLinkThatLeadsOut: the runtimes follow the link, so a second declaration
// of what the file declares would break the module.
func TestLinkThatLeadsOut(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "module")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"shared.tf":      "variable \"machine_name\" {\n  type = string\n}\n",
		"module/main.tf": "variable \"bootstrap_data\" {\n  type = string\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../shared.tf", filepath.Join(dir, "variables.tf")); err != nil {
		t.Skip("no symbolic links here")
	}
	plan := makePlan(t, dir, contract.RoleMachine)
	if len(plan.Changes) != 1 || strings.Join(plan.Changes[0].Done, ", ") != "mark bootstrap_data as sensitive" {
		t.Errorf("changes: %+v", plan.Changes)
	}
	if len(plan.Skipped) != 1 || !strings.Contains(plan.Skipped[0], "variables.tf leads out of the module directory") {
		t.Errorf("skipped: %q", plan.Skipped)
	}
}

func TestLinksKeepTheirTarget(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "shared.txt")
	if err := os.WriteFile(target, []byte("variable \"bootstrap_data\" {\n  type = string\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("shared.txt", filepath.Join(dir, "variables.tf")); err != nil {
		t.Skip("no symbolic links here")
	}
	if err := makePlan(t, dir, contract.RoleMachine).Apply(dir); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(filepath.Join(dir, "variables.tf")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v %v", info, err)
	}
	if text, _ := os.ReadFile(target); !strings.Contains(string(text), "sensitive = true") {
		t.Errorf("the target was not edited: %s", text)
	}
}
