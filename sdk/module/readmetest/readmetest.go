// Package readmetest keeps the README of a module in step with what the module
// declares. It is for tests only.
//
// Not in this package: what a README has to say beside its tables.
package readmetest

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
	"github.com/captf-toolkit/captf/sdk/module"
)

// Assert asserts that the tables of dir/README.md say what the module in dir
// declares: those between the markers CONTRACT INPUTS, USER VARIABLES and
// OUTPUTS. With -update it writes them.
func Assert(t *testing.T, dir string, spec contract.RoleSpec) {
	t.Helper()
	tree, err := module.Load(dir, module.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := tree.Primary
	name := filepath.Join(dir, "README.md")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const header = "| Name | Type | Default | Description |\n| --- | --- | --- | --- |\n"
	inputs, users := header, header
	for _, in := range spec.Inputs {
		if v := m.Variable(in.Name); v != nil {
			inputs += row(t, dir, v)
		}
	}
	for _, v := range m.Variables {
		if _, ok := spec.Input(v.Name); !ok {
			users += row(t, dir, v)
		}
	}
	outputs := "| Name | Description |\n| --- | --- |\n"
	seen := map[string]bool{}
	for _, out := range spec.Outputs {
		if o := m.Output(out.Name); o != nil {
			outputs += fmt.Sprintf("| `%s` | %s |\n", o.Name, o.Description)
			seen[o.Name] = true
		}
	}
	for _, o := range m.Outputs {
		if !seen[o.Name] {
			outputs += fmt.Sprintf("| `%s` | %s |\n", o.Name, o.Description)
		}
	}
	for _, table := range []struct{ marker, rows string }{{"CONTRACT INPUTS", inputs}, {"USER VARIABLES", users}, {"OUTPUTS", outputs}} {
		text = fillIn(t, name, text, table.marker, table.rows)
	}
	golden.Assert(t, name, text)
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

func row(t *testing.T, dir string, v *module.Variable) string {
	t.Helper()
	def := "required"
	if v.HasDefault {
		def = "`" + source(t, dir, v, "default") + "`"
	}
	return fmt.Sprintf("| `%s` | `%s` | %s | %s |\n", v.Name, source(t, dir, v, "type"), def, v.Description)
}

var (
	opening = regexp.MustCompile(`([{\[])\n\s*`)
	closing = regexp.MustCompile(`,?\n\s*([}\]])`)
	between = regexp.MustCompile(`,?\n\s*`)
	aligned = regexp.MustCompile(`\s+=`)
)

// source returns the text of an argument of the variable on one line.
func source(t *testing.T, dir string, v *module.Variable, argument string) string {
	t.Helper()
	a, ok := v.Body.Attributes()[argument]
	if !ok {
		t.Fatalf("%s: variable %s has no %s", dir, v.Name, argument)
	}
	r := a.Expr.Range()
	file, err := os.ReadFile(filepath.Join(dir, r.Filename))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSpace(string(r.SliceBytes(file)))
	text = opening.ReplaceAllString(text, "$1 ")
	text = closing.ReplaceAllString(text, " $1")
	text = between.ReplaceAllString(text, ", ")
	return aligned.ReplaceAllString(text, " =")
}
