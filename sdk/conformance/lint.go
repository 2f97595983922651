package conformance

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/rules"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/report"
)

// LintOptions say how a module is linted.
type LintOptions struct {
	// Definition is the contract version.
	Definition contract.Definition
	// Role is the role that the module is to play.
	Role contract.Role
	// Dir is the module's directory.
	Dir string
	// Strict lets warnings fail.
	Strict bool
	// AllowWarnings are ids of checks whose warnings are only noted.
	AllowWarnings []string
}

// Lint makes every check of the linter on one module. A module that cannot be
// read is a check that could not run, so that the others are still made.
func Lint(o LintOptions) report.Check {
	out := report.Check{Name: "lint of the " + string(o.Role) + " module"}
	options := lint.Options{Dir: o.Dir, Role: o.Role, Contract: o.Definition, Rules: rules.All()}
	for _, id := range o.AllowWarnings {
		options.Allow = append(options.Allow, lint.Allowance{ID: id, Reason: "allowed"})
	}
	r, err := lint.Run(options)
	if err != nil {
		out.Verdict, out.Summary = harness.VerdictError, "the module cannot be read: "+strings.Join(strings.Fields(err.Error()), " ")
		return out
	}
	counts := map[lint.Severity]int{}
	for _, f := range r.Findings {
		counts[f.Severity]++
		place := path.Join(filepath.ToSlash(o.Dir), f.File)
		if f.Line > 0 {
			place = fmt.Sprintf("%s:%d:%d", place, f.Line, f.Column)
		}
		out.Findings = append(out.Findings, report.CheckFinding{ID: f.ID, Severity: string(f.Severity), Message: f.Message, Place: place, Remedy: f.Remedy})
	}
	out.Verdict = harness.VerdictPassed
	if counts[lint.SeverityError] > 0 || o.Strict && counts[lint.SeverityWarning] > 0 {
		out.Verdict = harness.VerdictFailed
	}
	out.Summary = fmt.Sprintf("%s in %s", found(counts), o.Dir)
	return out
}

// found counts findings in words.
func found(counts map[lint.Severity]int) string {
	var parts []string
	for _, s := range lint.Severities() {
		switch n := counts[s]; {
		case n == 1:
			parts = append(parts, "1 "+string(s))
		case n > 1 && s == lint.SeverityInfo:
			parts = append(parts, fmt.Sprintf("%d infos", n))
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", n, s))
		}
	}
	if len(parts) == 0 {
		return "no findings"
	}
	return strings.Join(parts, ", ")
}
