package requirements_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/rules"
	"github.com/captf-toolkit/captf/sdk/harness/requirements"
)

// TestRowsAreComplete holds each row to what a report needs of it.
func TestRowsAreComplete(t *testing.T) {
	last := ""
	for _, r := range requirements.All() {
		if r.ID <= last {
			t.Errorf("%s is behind %s", r.ID, last)
		}
		last = r.ID
		if r.Title == "" || len(r.Roles) == 0 || len(r.Ways) == 0 {
			t.Errorf("%s has no title, roles or ways", r.ID)
		}
		if !r.Checked() && r.Question == "" {
			t.Errorf("%s: no harness judges it, and no person is asked", r.ID)
		}
	}
}

// TestLintChecksExist ties the rows to the checks of the linter: a row that a linter
// can see names a check, the check is made for modules of its roles, and says that it
// is about the row.
func TestLintChecksExist(t *testing.T) {
	for _, r := range requirements.All() {
		if slices.Contains(r.Ways, requirements.WayLint) && len(r.Lint) == 0 {
			t.Errorf("%s can be seen by a linter, but names no check", r.ID)
		}
		for _, id := range r.Lint {
			rule, ok := lint.Find(rules.All(), id)
			if !ok {
				t.Errorf("%s names the check %q, which does not exist", r.ID, id)
				continue
			}
			if !slices.Contains(rule.Rules, r.ID) {
				t.Errorf("%s names the check %s, which does not cite it", r.ID, id)
			}
			if !slices.ContainsFunc(r.Roles, rule.For) {
				t.Errorf("%s names the check %s, which is not made for %v", r.ID, id, r.Roles)
			}
		}
	}
}

// TestControlPlaneChecksHaveRows holds the other direction: a check of the group cp
// is about a row that exists and names it.
func TestControlPlaneChecksHaveRows(t *testing.T) {
	for _, rule := range rules.All() {
		named := slices.ContainsFunc(requirements.All(), func(r requirements.Row) bool { return slices.Contains(r.Lint, rule.ID) })
		if strings.HasPrefix(rule.ID, "cp/") && !named {
			t.Errorf("no row names the check %s", rule.ID)
		}
		for _, source := range rule.Rules {
			if !strings.HasPrefix(source, "CP-") {
				continue
			}
			if _, ok := requirements.Get(source); !ok {
				t.Errorf("%s cites %s, which does not exist", rule.ID, source)
			}
		}
	}
}
