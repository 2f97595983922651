package lint

import (
	"slices"

	"github.com/captf-toolkit/captf/contract"
)

// Rule is one check.
type Rule struct {
	// ID names the check, such as "input/required". It is binding: people write
	// it in CI files.
	ID string
	// Severities lists the severities that the check can report, most severe first.
	Severities []Severity
	// Roles are the roles that the check is for; empty means all.
	Roles []contract.Role
	// Summary says in one sentence when the check fires.
	Summary string
	// Why says what goes wrong when the finding is ignored.
	Why string
	// Fix says what to do.
	Fix string
	// Bad is an example that fires, Good one that does not, both in HCL.
	Bad, Good string
	// Rules are the sources of the check, such as "lint.md 4.3" or "CP-003".
	Rules []string
	// Check looks at a module and reports what it finds. It is nil for checks
	// that the engine itself makes.
	Check func(*Context)
}

// For tells whether the check is made for modules of the role.
func (r Rule) For(role contract.Role) bool {
	return len(r.Roles) == 0 || slices.Contains(r.Roles, role)
}

// OnlyErrors tells that the check reports nothing but errors, so that there is
// nothing of it that can be allowed.
func (r Rule) OnlyErrors() bool {
	return !slices.ContainsFunc(r.Severities, func(s Severity) bool { return s != SeverityError })
}

// Find returns the rule with the given ID.
func Find(rules []Rule, id string) (Rule, bool) {
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}, false
	}
	return rules[i], true
}
