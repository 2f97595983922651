package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/flow"
)

// limitRules are the rules of contract violations that are about sizes; all
// others are about the shape.
var limitRules = []string{
	contract.RuleMinLength, contract.RuleMaxLength, contract.RuleMinimum, contract.RuleMaximum,
	contract.RuleMinItems, contract.RuleMaxItems, contract.RuleUnique,
}

// mismatch is one place where an output's value breaks its shape.
type mismatch struct {
	at      hcl.Range
	path    string
	rule    string
	message string
	// certain tells that every run meets it; else it lies on one branch only.
	certain bool
}

// outputMismatches checks what an output can evaluate to against its row.
func outputMismatches(c *lint.Context, row contract.Output) []mismatch {
	o := c.Root.Output(row.Name)
	if o == nil {
		return nil
	}
	v := c.Flow.Output(o)
	if empty := alwaysEmpty(v); v.AlwaysNull() || row.EmptyIsNull && empty {
		m := mismatch{at: o.RangeOf("value"), path: row.Name, rule: contract.RuleNull, certain: true}
		switch {
		case row.Null == contract.NullInvalid:
			m.message = "is null, which is not a value of this output"
		case row.Null == contract.NullPending:
			m.message = "can only be null, which means not known yet, so the object is never provisioned"
		default:
			return nil
		}
		if empty {
			m.message = strings.Replace(m.message, "null", `"", which is read as null`, 1)
		}
		return []mismatch{m}
	}
	row.Shape.Nullable = row.Null != contract.NullInvalid
	if row.EmptyIsNull {
		row.Shape.MinLength = 0
	}
	found := append(compare(v, row.Shape, row.Name), alwaysPending(v, row)...)
	for i := range found {
		// A literal is pointed at where it is written; what is inherited from a
		// declaration elsewhere, at the output.
		if found[i].at.Filename == "" {
			found[i].at = o.RangeOf("value")
		}
	}
	return found
}

// alwaysEmpty tells that a value can only be the empty string.
func alwaysEmpty(v flow.Value) bool {
	return v.Kind == flow.Known && v.Known.RawEquals(cty.StringVal(""))
}

// alwaysPending finds a health whose state is pending on every branch: as long
// as it is, the object is not provisioned (contract.md 8).
func alwaysPending(v flow.Value, row contract.Output) []mismatch {
	if row.Name != outHealth {
		return nil
	}
	var at hcl.Range
	for _, alt := range v.Each() {
		state, ok := alt.Attributes["state"]
		if !ok {
			return nil
		}
		for _, s := range state.Each() {
			if s.Kind != flow.Known || s.Known.Type() != cty.String || s.Known.AsString() != string(contract.HealthPending) {
				return nil
			}
			at = s.Range
		}
	}
	return []mismatch{{
		at: at, path: row.Name + ".state", rule: contract.RulePending, certain: true,
		message: fmt.Sprintf("can only be %q, and as long as it is, the object is not provisioned", contract.HealthPending),
	}}
}

// compare checks a value against a shape. It reports only what is certain as
// soon as the place is reached.
func compare(v flow.Value, s contract.Shape, path string) []mismatch {
	if s.Kind == contract.KindAny {
		return nil
	}
	switch v.Kind {
	case flow.Union:
		return compareUnion(v, s, path)
	case flow.Null:
		return validate(v, s, path, nil)
	case flow.Known:
		return validate(v, s, path, plain(v.Known))
	case flow.Typed:
		return onlyType(validate(v, s, path, sample(v.Type)))
	case flow.Object:
		return compareObject(v, s, path)
	case flow.Map:
		if s.Kind == contract.KindMap {
			return uncertainIf(v.Conditional, compare(*v.Item, *s.Elem, path+"[*]"))
		}
		return onlyType(validate(v, s, path, map[string]any{}))
	case flow.Tuple:
		return compareTuple(v, s, path)
	case flow.List:
		if s.Kind == contract.KindList {
			return uncertainIf(v.Conditional, compare(*v.Item, *s.Elem, path+"[*]"))
		}
		return onlyType(validate(v, s, path, []any{}))
	}
	return nil
}

// compareUnion checks every alternative; what only some of them break is not certain.
func compareUnion(v flow.Value, s contract.Shape, path string) []mismatch {
	var all []mismatch
	broken := true
	for _, alt := range v.Alternatives {
		found := compare(alt, s, path)
		broken = broken && slices.ContainsFunc(found, func(m mismatch) bool { return m.certain })
		all = append(all, found...)
	}
	return uncertainIf(!broken, all)
}

func uncertainIf(cond bool, found []mismatch) []mismatch {
	if cond {
		for i := range found {
			found[i].certain = false
		}
	}
	return found
}

func compareObject(v flow.Value, s contract.Shape, path string) []mismatch {
	switch s.Kind {
	case contract.KindMap:
		var all []mismatch
		for _, name := range sortedNames(v.Attributes) {
			all = append(all, compare(v.Attributes[name], *s.Elem, join(path, name))...)
		}
		return all
	case contract.KindObject:
	default:
		return onlyType(validate(v, s, path, map[string]any{}))
	}
	var all []mismatch
	for _, a := range s.Attributes {
		at := join(path, a.Name)
		value, ok := v.Attributes[a.Name]
		switch {
		case ok && value.Kind == flow.Null && a.Optional:
		case ok:
			shape := a.Shape
			shape.Nullable = shape.Nullable || a.Optional
			all = append(all, compare(value, shape, at)...)
		case !a.Optional && !v.Open:
			all = append(all, mismatch{
				at: v.Range, path: at, rule: contract.RuleRequired, certain: true,
				message: "is missing; add it: " + firstSentence(a.Doc),
			})
		}
	}
	return all
}

func compareTuple(v flow.Value, s contract.Shape, path string) []mismatch {
	if s.Kind != contract.KindList {
		return onlyType(validate(v, s, path, []any{}))
	}
	counted := s
	counted.Elem = &contract.Shape{Kind: contract.KindAny}
	counted.UniqueBy = ""
	all := validate(v, counted, path, make([]any, len(v.Items)))
	for i := range all {
		switch all[i].rule {
		case contract.RuleMinItems:
			all[i].message = fmt.Sprintf("has %d items, but needs at least %d", len(v.Items), s.MinLength)
		case contract.RuleMaxItems:
			all[i].message = fmt.Sprintf("has %d items, but may have at most %d", len(v.Items), s.MaxLength)
		}
	}
	seen := map[string]int{}
	for i, item := range v.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		all = append(all, compare(item, *s.Elem, at)...)
		key := item.Attributes[s.UniqueBy]
		if s.UniqueBy == "" || key.Kind != flow.Known || key.Known.Type() != cty.String {
			continue
		}
		name := key.Known.AsString()
		if first, taken := seen[name]; taken {
			all = append(all, mismatch{
				at: key.Range, path: join(at, s.UniqueBy), rule: contract.RuleUnique, certain: true,
				message: fmt.Sprintf("is the same as that of item %d; it must differ between the items", first),
			})
			continue
		}
		seen[name] = i
	}
	return all
}

// validate lets the contract judge a value that is known.
func validate(v flow.Value, s contract.Shape, path string, value any) []mismatch {
	var all []mismatch
	for _, violation := range s.Validate(path, value).With(contract.ReasonInvalid) {
		all = append(all, mismatch{
			at: v.Range, path: violation.Path, rule: violation.Rule, message: violation.Message, certain: true,
		})
	}
	return all
}

// onlyType keeps what holds for every value of a type.
func onlyType(found []mismatch) []mismatch {
	return slices.DeleteFunc(found, func(m mismatch) bool { return m.rule != contract.RuleType })
}

// plain returns a primitive as the contract reads it from a state.
func plain(v cty.Value) any {
	switch v.Type() {
	case cty.String:
		return v.AsString()
	case cty.Bool:
		return v.True()
	default:
		return json.Number(v.AsBigFloat().Text('f', -1))
	}
}

// sample returns some value of a type, to learn whether the type fits at all.
func sample(t cty.Type) any {
	switch {
	case t == cty.String:
		return "sample"
	case t == cty.Number:
		return json.Number("1")
	case t == cty.Bool:
		return true
	case t.IsListType(), t.IsSetType(), t.IsTupleType():
		return []any{}
	default:
		return map[string]any{}
	}
}

func join(path, name string) string {
	if contract.ValidVariableName(name) {
		return path + "." + name
	}
	return fmt.Sprintf("%s[%q]", path, name)
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

var outputShape = lint.Rule{
	ID:         "output/shape",
	Severities: errorOrInfo,
	Summary:    "The value of a contract output has another shape than the contract: a missing attribute, another type, a word that is none of the allowed ones, a null that is none, or a health that is always pending. An error if every run meets it, else an info.",
	Why:        "The controller decodes outputs by their shape, writes nothing when one does not fit, and the object stays unprovisioned.",
	Fix:        "Emit the shape of the contract. Numbers and strings are told apart: a port is 6443, not \"6443\".",
	Bad: `output "health" {
  value = {
    state = "ready"
  }
}`,
	Good: `output "health" {
  value = {
    state   = "running"
    healthy = true
  }
}`,
	Rules: []string{"lint.md 8 G1", "CP-004", "contract.md 5"},
	Check: func(c *lint.Context) { reportMismatches(c, false) },
}

var outputLimits = lint.Rule{
	ID:         "output/limits",
	Severities: errorOrInfo,
	Summary:    "A literal in a contract output is outside its limits: a port, the length of a text, the number of items, a name used twice. An error if every run meets it, else an info.",
	Why:        "The value would break a field of the Kubernetes object; the controller writes nothing and the object stays unprovisioned.",
	Fix:        "Stay inside the limits of the contract.",
	Bad: `output "control_plane_endpoint" {
  value = {
    host = "api.example.com"
    port = 70000
  }
}`,
	Good: `output "control_plane_endpoint" {
  value = {
    host = "api.example.com"
    port = 6443
  }
}`,
	Rules: []string{"lint.md 8 G2", "CP-004", "contract.md 16"},
	Check: func(c *lint.Context) { reportMismatches(c, true) },
}

func reportMismatches(c *lint.Context, limits bool) {
	for _, row := range c.Spec.Outputs {
		for _, m := range outputMismatches(c, row) {
			if slices.Contains(limitRules, m.rule) != limits {
				continue
			}
			p := lint.Problem{
				Severity: lint.SeverityError, At: m.at, Remedy: "emit what the contract asks for: " + firstSentence(row.Doc),
				Message: fmt.Sprintf("output %s %s", m.path, strings.TrimSuffix(m.message, ".")),
			}
			if !m.certain {
				p.Severity = lint.SeverityInfo
				p.Message += "; some runs may meet this"
			}
			c.Report(p)
		}
	}
}
