package noop_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/rules"
	"github.com/captf-toolkit/captf/sdk/module"
)

// load reads a module with everything that the tests of this file compare.
func load(t *testing.T, role contract.Role) *module.Module {
	t.Helper()
	tree, err := module.Load(string(role), module.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tree.Primary
}

func TestLintsCleanUnderStrict(t *testing.T) {
	t.Parallel()
	for _, role := range contract.Roles() {
		report, err := lint.Run(lint.Options{Dir: string(role), Role: role, Contract: versions.Default(), Rules: rules.All()})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Findings {
			if f.Severity != lint.SeverityInfo {
				t.Errorf("%s: %+v", role, f)
			}
		}
	}
}

// TestDeclarationsFollowTheTables asserts that descriptions, defaults and
// sensitivity are those of the contract's tables.
func TestDeclarationsFollowTheTables(t *testing.T) {
	t.Parallel()
	for _, role := range contract.Roles() {
		m, spec := load(t, role), versions.Default().Spec(role)
		for _, in := range spec.Inputs {
			v := m.Variable(in.Name)
			switch {
			case v == nil:
				t.Errorf("%s: no variable %s", role, in.Name)
			case v.Description != sentence(in.Doc):
				t.Errorf("%s: variable %s is described as %q, the table says %q", role, in.Name, v.Description, sentence(in.Doc))
			case v.Sensitive != in.Sensitive || v.HasDefault != in.MayDefault:
				t.Errorf("%s: variable %s: sensitive %v, default %v", role, in.Name, v.Sensitive, v.HasDefault)
			}
		}
		for _, out := range spec.Outputs {
			o := m.Output(out.Name)
			switch {
			case o == nil:
				t.Errorf("%s: no output %s", role, out.Name)
			case o.Description != sentence(out.Doc):
				t.Errorf("%s: output %s is described as %q, the table says %q", role, out.Name, o.Description, sentence(out.Doc))
			}
		}
	}
}

func sentence(doc string) string {
	if i := strings.Index(doc, ". "); i >= 0 {
		return doc[:i+1]
	}
	return doc
}

// TestReadme asserts that the tables of the READMEs say what the modules declare.
// With -update it writes them.
func TestReadme(t *testing.T) {
	t.Parallel()
	for _, role := range contract.Roles() {
		m, spec := load(t, role), versions.Default().Spec(role)
		name := filepath.Join(string(role), "README.md")
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		inputs, users := variableTables(t, role, m, spec)
		outputs := "| Name | Description |\n| --- | --- |\n"
		for _, out := range spec.Outputs {
			outputs += fmt.Sprintf("| `%s` | %s |\n", out.Name, m.Output(out.Name).Description)
		}
		for marker, table := range map[string]string{"CONTRACT INPUTS": inputs, "USER VARIABLES": users, "OUTPUTS": outputs} {
			text = fillIn(t, name, text, marker, table)
		}
		golden.Assert(t, name, text)
	}
}

// fillIn puts content between the markers of the given name.
func fillIn(t *testing.T, name string, text []byte, marker, content string) []byte {
	t.Helper()
	begin, end := "<!-- BEGIN "+marker+" -->\n", "<!-- END "+marker+" -->\n"
	i, j := bytes.Index(text, []byte(begin)), bytes.Index(text, []byte(end))
	if i < 0 || j < i {
		t.Fatalf("%s has no markers for %s", name, marker)
	}
	return []byte(string(text[:i]) + begin + content + string(text[j:]))
}

// variableTables returns the table of the contract's inputs, in contract order,
// and that of all other variables.
func variableTables(t *testing.T, role contract.Role, m *module.Module, spec contract.RoleSpec) (inputs, users string) {
	t.Helper()
	inputs = "| Name | Type | Default | Description |\n| --- | --- | --- | --- |\n"
	users = inputs
	for _, in := range spec.Inputs {
		inputs += row(t, role, m.Variable(in.Name))
	}
	for _, v := range m.Variables {
		if _, ok := spec.Input(v.Name); !ok {
			users += row(t, role, v)
		}
	}
	return inputs, users
}

func row(t *testing.T, role contract.Role, v *module.Variable) string {
	t.Helper()
	def := "required"
	if v.HasDefault {
		def = "`" + source(t, role, v, "default") + "`"
	}
	return fmt.Sprintf("| `%s` | `%s` | %s | %s |\n", v.Name, source(t, role, v, "type"), def, v.Description)
}

var (
	opening = regexp.MustCompile(`([{\[])\n\s*`)
	closing = regexp.MustCompile(`,?\n\s*([}\]])`)
	between = regexp.MustCompile(`,?\n\s*`)
	aligned = regexp.MustCompile(`\s+=`)
)

// source returns the text of an argument of the variable on one line.
func source(t *testing.T, role contract.Role, v *module.Variable, argument string) string {
	t.Helper()
	a, ok := v.Body.Attributes()[argument]
	if !ok {
		t.Fatalf("%s: variable %s has no %s", role, v.Name, argument)
	}
	r := a.Expr.Range()
	file, err := os.ReadFile(filepath.Join(string(role), r.Filename))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSpace(string(r.SliceBytes(file)))
	text = opening.ReplaceAllString(text, "$1 ")
	text = closing.ReplaceAllString(text, " $1")
	text = between.ReplaceAllString(text, ", ")
	return aligned.ReplaceAllString(text, " =")
}
