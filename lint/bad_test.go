package lint_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/format"
	"github.com/captf-toolkit/captf/lint/rules"
	"github.com/captf-toolkit/captf/sdk/module"
)

// A case is a folder testdata/bad/<name> with a module that cannot be read, and
// places.txt with the file, line and column of each problem.
func TestUnreadableModules(t *testing.T) {
	dirs, err := filepath.Glob("testdata/bad/*/module")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no case: %v", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(filepath.Dir(dir)), func(t *testing.T) {
			for _, role := range contract.Roles() {
				report, err := lint.Run(options(dir, role))
				if err == nil {
					t.Fatalf("%s: read without an error, findings %v", role, ids(report))
				}
				var load *module.LoadError
				if !errors.As(err, &load) {
					t.Fatalf("not a load error: %v", err)
				}
				// The wording is the loader's business; here it counts that each
				// problem has a place and a text.
				var places strings.Builder
				for _, p := range load.Problems {
					fmt.Fprintln(&places, strings.TrimPrefix(filepath.ToSlash(load.Place(p)), filepath.ToSlash(dir)))
					if module.Message(p) == "" {
						t.Errorf("%s: no message", load.Place(p))
					}
				}
				golden.Assert(t, filepath.Join(filepath.Dir(dir), "places.txt"), []byte(places.String()))
			}
		})
	}
}

// loadFails runs the linter on a directory that it must refuse with a text.
func loadFails(t *testing.T, dir, text string) {
	t.Helper()
	report, err := lint.Run(options(dir, contract.RoleMachine))
	if err == nil {
		t.Fatalf("read without an error, findings %v", ids(report))
	}
	if !strings.Contains(err.Error(), text) {
		t.Errorf("error %q does not say %q", err, text)
	}
}

func TestBadDirectories(t *testing.T) {
	t.Run("empty", func(t *testing.T) { loadFails(t, t.TempDir(), "") })
	t.Run("missing", func(t *testing.T) { loadFails(t, filepath.Join(t.TempDir(), "nowhere"), "nowhere") })
	t.Run("a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "main.tf")
		writeFile(t, file, "variable \"a\" {}\n")
		loadFails(t, file, "directory")
	})
	t.Run("a directory named as a file", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "main.tf"), 0o755); err != nil {
			t.Fatal(err)
		}
		loadFails(t, dir, "")
	})
	t.Run("link to nowhere", func(t *testing.T) {
		dir := t.TempDir()
		symlink(t, "nowhere.tf", filepath.Join(dir, "main.tf"))
		loadFails(t, dir, "main.tf")
	})
	t.Run("link to itself", func(t *testing.T) {
		dir := t.TempDir()
		symlink(t, "main.tf", filepath.Join(dir, "main.tf"))
		loadFails(t, dir, "main.tf")
	})
	t.Run("a pipe", func(t *testing.T) {
		dir := t.TempDir()
		if err := syscall.Mkfifo(filepath.Join(dir, "main.tf"), 0o644); err != nil {
			t.Skip(err)
		}
		loadFails(t, dir, "main.tf")
	})
	t.Run("no permission", func(t *testing.T) {
		if os.Getuid() == 0 {
			t.Skip("root may read everything")
		}
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "main.tf"), "variable \"a\" {}\n")
		if err := os.Chmod(filepath.Join(dir, "main.tf"), 0); err != nil {
			t.Fatal(err)
		}
		loadFails(t, dir, "main.tf")
	})
	t.Run("a huge file", func(t *testing.T) {
		dir := t.TempDir()
		f, err := os.Create(filepath.Join(dir, "main.tf"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := f.Truncate(module.DefaultMaxFileBytes + 1); err != nil {
			t.Fatal(err)
		}
		loadFails(t, dir, "main.tf")
	})
}

func symlink(t *testing.T, target, link string) {
	t.Helper()
	if err := os.Symlink(target, link); err != nil {
		t.Skip("no symbolic links here")
	}
}

func TestLinkOutOfTheModuleIsAFinding(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "shared.tf")
	writeFile(t, outside, "variable \"captf_secret\" {}\n")
	dir := copyGood(t, contract.RoleMachine)
	symlink(t, outside, filepath.Join(dir, "shared.tf"))
	expect(t, dir, contract.RoleMachine, []string{"error module/source-escape"})

	dir = copyGood(t, contract.RoleMachine)
	symlink(t, filepath.Dir(outside), filepath.Join(dir, "lib"))
	apply(t, dir, edit{file: "call.tf", new: "module \"lib\" {\n  source = \"./lib\"\n}\n"})
	expect(t, dir, contract.RoleMachine, []string{"error module/source-escape"})
}

// TestLinkedFileHidesDeclarations: the runtimes follow a link that leads out, so
// nothing is known to be missing.
func TestLinkedFileHidesDeclarations(t *testing.T) {
	for _, role := range contract.Roles() {
		t.Run(string(role), func(t *testing.T) {
			base := t.TempDir()
			dir := filepath.Join(base, "module")
			if err := os.CopyFS(dir, os.DirFS(goodDir(role))); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(dir, "main.tf"), filepath.Join(base, "shared.tf")); err != nil {
				t.Fatal(err)
			}
			symlink(t, "../shared.tf", filepath.Join(dir, "main.tf"))
			more := "locals {\n  a = 1\n}\n"
			if role == contract.RoleMachinePool {
				more = "variable \"autoscaling\" {\n  type = object({ enabled = bool, min = number, max = number })\n}\n\nlocals {\n  used = var.autoscaling\n}\n"
			}
			writeFile(t, filepath.Join(dir, "more.tf"), more)
			expect(t, dir, role, []string{"error module/source-escape"})
		})
	}
}

func TestLinkLoopOfCalledModules(t *testing.T) {
	dir := copyGood(t, contract.RoleMachine)
	symlink(t, ".", filepath.Join(dir, "again"))
	apply(t, dir, edit{file: "call.tf", new: "module \"again\" {\n  source = \"./again\"\n}\n"})
	expect(t, dir, contract.RoleMachine, []string{"error module/source-escape"})
}

func TestByteOrderMarkAndLineEnds(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "main.tf"), "\xef\xbb\xbf# comment\r\n\r\nvariable \"size\" {\r\n\ttype = number\r\n}\r\n")
	report := run(t, dir, contract.RoleMachine)
	for _, f := range report.Findings {
		if f.ID != "input/user-variable-default" {
			continue
		}
		if f.Line != 3 || f.Column != 1 || f.Source != `variable "size" {` {
			t.Errorf("at %d:%d, source %q", f.Line, f.Column, f.Source)
		}
		return
	}
	t.Errorf("not found: %+v", report.Findings)
}

func TestColumnsBehindCombiningCharacters(t *testing.T) {
	dir := t.TempDir()
	// An e with a combining accent, and a character of two UTF-16 code units.
	writeFile(t, filepath.Join(dir, "main.tf"), "\xef\xbb\xbf/* e\u0301\U0001f600 */ variable \"size\" {\n  type = number\n}\n")
	report := run(t, dir, contract.RoleMachine)
	i := slices.IndexFunc(report.Findings, func(f lint.Finding) bool { return f.ID == "input/user-variable-default" })
	if i < 0 {
		t.Fatalf("not found: %+v", report.Findings)
	}
	f := report.Findings[i]
	if f.Column != 10 || f.EndColumn != 25 || f.UTF16Column != 12 || f.UTF16EndColumn != 27 {
		t.Errorf("columns %d to %d, in UTF-16 %d to %d", f.Column, f.EndColumn, f.UTF16Column, f.UTF16EndColumn)
	}
	var text, sarif bytes.Buffer
	result := format.Result{Modules: []format.Module{{Path: ".", Report: report}}}
	if err := errors.Join(format.Text(&text, result, format.Options{}), format.SARIF(&sarif, result, format.Options{})); err != nil {
		t.Fatal(err)
	}
	marked := "    /* e\u0301\U0001f600 */ variable \"size\" {\n" + strings.Repeat(" ", 4+9) + strings.Repeat("^", len(`variable "size"`)) + "\n"
	if !strings.Contains(text.String(), marked) {
		t.Errorf("not marked as %q:\n%s", marked, &text)
	}
	if !strings.Contains(sarif.String(), `"startColumn": 12`) || !strings.Contains(sarif.String(), `"utf16CodeUnits"`) {
		t.Errorf("columns in SARIF:\n%s", &sarif)
	}
}

func TestTwoThousandVariables(t *testing.T) {
	dir := copyGood(t, contract.RoleMachine)
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "variable \"v%d\" {\n  type = map(object({ a = string, b = optional(list(number), [%d]) }))\n}\n\nlocals {\n  l%d = var.v%d\n}\n\n", i, i, i, i)
	}
	writeFile(t, filepath.Join(dir, "many.tf"), b.String())
	report := run(t, dir, contract.RoleMachine)
	if s := report.Summary(); s.Warning != 2000 || s.Error != 0 {
		t.Errorf("summary is %+v", s)
	}
}

// TestDeepExpressions makes sure that hostile nesting ends, with an answer.
func TestDeepExpressions(t *testing.T) {
	for name, value := range map[string]string{
		"parentheses":  strings.Repeat("(", 300) + "1" + strings.Repeat(")", 300),
		"conditionals": strings.Repeat("var.a ? null : ", 300) + "null",
		"lists":        strings.Repeat("[", 300) + strings.Repeat("]", 300),
		"doubling":     "local.l40",
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyGood(t, contract.RoleCluster)
			var b strings.Builder
			b.WriteString("variable \"a\" {\n  type    = bool\n  default = true\n}\n\nlocals {\n  l0 = var.a ? 1 : \"x\"\n")
			for i := range 40 {
				fmt.Fprintf(&b, "  l%d = var.a ? [local.l%d, local.l%d] : { a = local.l%d }\n", i+1, i, i, i)
			}
			fmt.Fprintf(&b, "}\n\noutput \"deep\" {\n  value = %s\n}\n", value)
			writeFile(t, filepath.Join(dir, "deep.tf"), b.String())
			apply(t, dir, edit{old: "weight  = 10", new: "weight  = " + value})
			run(t, dir, contract.RoleCluster)
		})
	}
}

func TestSelfReference(t *testing.T) {
	dir := copyGood(t, contract.RoleCluster)
	writeFile(t, filepath.Join(dir, "self.tf"), "locals {\n  a = local.b\n  b = { x = local.a }\n}\n")
	apply(t, dir, edit{old: "weight  = 10", new: "weight  = local.a"})
	expect(t, dir, contract.RoleCluster, nil)
}

// TestHostilePaths: locals whose references grow with each step still end.
func TestHostilePaths(t *testing.T) {
	dir := copyGood(t, contract.RoleMachinePool)
	var b strings.Builder
	b.WriteString("locals {\n  a = local.a.x.y\n  b = true ? local.b.x : local.b.y\n  p0 = { x = 1 }\n")
	for i := range 60 {
		fmt.Fprintf(&b, "  p%d = [local.p%d.x, local.p%d.y, local.p%d]\n", i+1, i, i, i)
		fmt.Fprintf(&b, "  q%d = true ? local.q%d.x : local.q%d.y\n", i, i+1, i+1)
	}
	b.WriteString("}\n\nresource \"terraform_data\" \"hostile\" {\n  for_each         = local.q0\n  triggers_replace = [local.a, local.b, local.p60.x, local.q0.x]\n}\n")
	writeFile(t, filepath.Join(dir, "hostile.tf"), b.String())
	expect(t, dir, contract.RoleMachinePool, nil)
}

func TestUnknownRoleIsAnError(t *testing.T) {
	for _, role := range []contract.Role{"", "node"} {
		if _, err := lint.Run(lint.Options{Dir: goodDir(contract.RoleMachine), Role: role, Contract: versions.Default(), Rules: rules.All()}); err == nil {
			t.Errorf("role %q was accepted", role)
		}
	}
}

// FuzzLintModule checks that no text makes the linter panic, that text which
// does not parse is never called clean, and that two runs agree.
func FuzzLintModule(f *testing.F) {
	seeds, err := filepath.Glob("testdata/cases/*/*/*/*.tf*")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seed: %v", err)
	}
	for _, path := range seeds {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), strings.HasSuffix(path, ".json"), uint8(len(text)))
	}
	for _, dir := range []string{"testdata/bad/*/module/main.tf", "testdata/good/*/main.tf"} {
		more, err := filepath.Glob(dir)
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range more {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text), false, uint8(0))
		}
	}
	f.Fuzz(func(t *testing.T, text string, isJSON bool, pick uint8) {
		dir := t.TempDir()
		name := "main.tf"
		if isJSON {
			name = "main.tf.json"
		}
		writeFile(t, filepath.Join(dir, name), text)
		role := contract.Roles()[int(pick)%len(contract.Roles())]
		first, err := lint.Run(options(dir, role))
		if err != nil {
			return
		}
		if !isJSON && !parses(text) {
			t.Fatalf("text that does not parse was read, findings %v", ids(first))
		}
		second, err := lint.Run(options(dir, role))
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(first.Findings) != fmt.Sprint(second.Findings) {
			t.Errorf("two runs differ:\n%v\n%v", first.Findings, second.Findings)
		}
		for _, f := range first.Findings {
			checkSeverity(t, f)
			if !f.WholeModule() && (f.Line < 1 || f.Column < 1 || f.EndLine < f.Line) {
				t.Errorf("position of %+v", f)
			}
		}
	})
}

func parses(text string) bool {
	_, diags := hclsyntax.ParseConfig([]byte(text), "main.tf", hcl.InitialPos)
	return !diags.HasErrors()
}

// TestCallsThatMultiply lints modules that call the next one twice each: one more
// doubles the ways to the last, and a check that walked them all would not end.
func TestCallsThatMultiply(t *testing.T) {
	dir := t.TempDir()
	const modules = 30
	for i := range modules {
		at, next := filepath.Join(dir, fmt.Sprintf("m%d", i)), fmt.Sprintf("../m%d", i+1)
		if i == 0 {
			at, next = dir, "./m1"
		}
		text := `resource "aws_instance" "node" {}

resource "aws_lb_target_group_attachment" "api" {
  target_id = aws_instance.node.id
}

resource "kubernetes_labels" "node" {}
`
		if i+1 < modules {
			text += fmt.Sprintf("\nmodule \"a\" {\n  source = %[1]q\n}\n\nmodule \"b\" {\n  source     = %[1]q\n  depends_on = [module.a]\n}\n", next)
		}
		writeFile(t, filepath.Join(at, "main.tf"), text)
	}
	for _, role := range contract.Roles() {
		if report := run(t, dir, role); len(report.Findings) == 0 {
			t.Errorf("%s: nothing is found", role)
		}
	}
}
