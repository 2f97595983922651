package contract

import (
	"fmt"
	"strings"
)

// outputsReasons maps the reasons of violations to the condition OutputsValid,
// in order of precedence (contract.md 15, B-650).
var outputsReasons = []struct {
	from   Reason
	status ConditionStatus
	reason string
}{
	{ReasonMissing, ConditionFalse, "OutputsMissing"},
	{ReasonInvalid, ConditionFalse, "OutputsInvalid"},
	{ReasonFailureDomainMismatch, ConditionFalse, "FailureDomainMismatch"},
	{ReasonProviderIDChanged, ConditionFalse, "ProviderIDChanged"},
	{ReasonPending, ConditionUnknown, "OutputsPending"},
	{ReasonTruncated, ConditionTrue, "InstancesTruncated"},
}

// OutputsValid returns the condition that the violations of an object's
// outputs stand for. The first reason in order of precedence wins; the message
// lists every problem, notices excepted.
func (vs Violations) OutputsValid() Condition {
	c := Condition{Status: ConditionTrue, Reason: "OutputsValid"}
	var listed Violations
	for _, row := range outputsReasons {
		found := vs.With(row.from)
		if len(found) > 0 && len(listed) == 0 {
			c.Status, c.Reason = row.status, row.reason
		}
		listed = append(listed, found...)
	}
	c.Message = listed.message()
	return c
}

// VariablesReady returns the condition DependenciesReady that the violations
// of MergeVariables stand for, false when there are none (B-054, B-055).
func (vs Violations) VariablesReady() (Condition, bool) {
	for _, row := range []struct {
		from   Reason
		reason string
	}{
		{ReasonMissing, "VariablesSourceNotFound"},
		{ReasonInvalid, "VariablesInvalid"},
	} {
		if found := vs.With(row.from); len(found) > 0 {
			return Condition{Status: ConditionFalse, Reason: row.reason, Message: found.message()}, true
		}
	}
	return Condition{}, false
}

// maxMessage is what Kubernetes accepts as the message of a condition, in bytes.
const maxMessage = 32768

// message joins the violations for a condition.
func (vs Violations) message() string {
	var b strings.Builder
	for i, v := range vs {
		text := v.Path + ": " + v.Message
		rest := fmt.Sprintf("; and %d more", len(vs)-i)
		if b.Len()+len("; ")+len(text)+len(rest) > maxMessage {
			b.WriteString(rest)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(text)
	}
	return b.String()
}
