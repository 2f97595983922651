package noop_test

import (
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/rules"
	"github.com/captf-toolkit/captf/sdk/module"
	"github.com/captf-toolkit/captf/sdk/module/readmetest"
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
		readmetest.Assert(t, string(role), versions.Default().Spec(role))
	}
}
