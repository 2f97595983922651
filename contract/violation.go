package contract

import (
	"fmt"
	"slices"
	"strings"
)

// Reason classifies a Violation. The order of precedence of the reasons is
// that of the OutputsValid condition (contract.md 15).
type Reason string

// The reasons, in order of precedence.
const (
	// ReasonMissing: an output is not declared by the module, or a required input is absent.
	ReasonMissing Reason = "Missing"
	// ReasonInvalid: a value has the wrong shape or is outside its limits.
	ReasonInvalid Reason = "Invalid"
	// ReasonFailureDomainMismatch: the output differs from the failure domain that was asked for.
	ReasonFailureDomainMismatch Reason = "FailureDomainMismatch"
	// ReasonProviderIDChanged: a machine's provider id differs from the one it had.
	ReasonProviderIDChanged Reason = "ProviderIDChanged"
	// ReasonPending: a value is not known yet.
	ReasonPending Reason = "Pending"
	// ReasonTruncated: a list is longer than what is kept of it.
	ReasonTruncated Reason = "Truncated"
	// ReasonNotice: the value is accepted, but a module should not emit it.
	ReasonNotice Reason = "Notice"
)

var reasonOrder = []Reason{
	ReasonMissing, ReasonInvalid, ReasonFailureDomainMismatch, ReasonProviderIDChanged,
	ReasonPending, ReasonTruncated, ReasonNotice,
}

// Reasons returns every reason, in order of precedence.
func Reasons() []Reason { return slices.Clone(reasonOrder) }

// Violation is one place where a value breaks a rule of the contract.
type Violation struct {
	// Path is the place, such as outputs.failure_domains[1].name.
	Path string `json:"path"`
	// Rule names the rule in short, such as "maxLength" or "declared".
	Rule string `json:"rule"`
	// Reason classifies the violation.
	Reason Reason `json:"reason"`
	// Message says what is wrong and what to do. It never holds the value of a
	// sensitive input.
	Message string `json:"message"`
}

// String returns the violation on one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s: %s (%s)", v.Path, v.Message, v.Reason)
}

// Violations is a list of violations, sorted by precedence of reason, then path.
type Violations []Violation

// Sort orders the violations by precedence of reason, then path, then rule.
func (vs Violations) Sort() {
	slices.SortStableFunc(vs, func(a, b Violation) int {
		if d := slices.Index(reasonOrder, a.Reason) - slices.Index(reasonOrder, b.Reason); d != 0 {
			return d
		}
		if d := comparePaths(a.Path, b.Path); d != 0 {
			return d
		}
		return strings.Compare(a.Rule, b.Rule)
	})
}

// With returns the violations that have one of the reasons.
func (vs Violations) With(reasons ...Reason) Violations {
	var out Violations
	for _, v := range vs {
		if slices.Contains(reasons, v.Reason) {
			out = append(out, v)
		}
	}
	return out
}

// Under returns the violations at the path or below it.
func (vs Violations) Under(path string) Violations {
	var out Violations
	for _, v := range vs {
		rest, ok := strings.CutPrefix(v.Path, path)
		if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			out = append(out, v)
		}
	}
	return out
}

// Has tells that one of the violations breaks the rule.
func (vs Violations) Has(rule string) bool {
	return slices.ContainsFunc(vs, func(v Violation) bool { return v.Rule == rule })
}

// Blocking returns the violations because of which nothing may be written:
// all but pending values, truncation and notices.
func (vs Violations) Blocking() Violations {
	return vs.With(ReasonMissing, ReasonInvalid, ReasonFailureDomainMismatch, ReasonProviderIDChanged)
}

// Error joins the violations, one a line; it makes the list usable as an error
// where a caller wants one.
func (vs Violations) Error() string {
	lines := make([]string, 0, len(vs))
	for _, v := range vs {
		lines = append(lines, v.String())
	}
	return strings.Join(lines, "\n")
}
