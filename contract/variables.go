package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits on the user variables of one object (contract.md 16).
const (
	// MaxInlineVariables is the number of keys that spec.variables may hold; it
	// holds at least one when it is set.
	MaxInlineVariables = 256
	// MaxVariableSources is the number of entries that spec.variablesFrom may have.
	MaxVariableSources = 16
)

// ValidVariableName tells that name has the syntax of a user variable's name: an
// ASCII letter or _, and then letters, digits, _ and - (contract.md 7, B-313).
func ValidVariableName(name string) bool {
	for i, c := range []byte(name) {
		switch {
		case c == '_', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && (c == '-' || '0' <= c && c <= '9'):
		default:
			return false
		}
	}
	return name != ""
}

// metaArguments have a meaning of their own in a module call, or as a block of
// a module, so no variable can have their name (contract.md 7).
var metaArguments = []string{
	"source", "version", "providers", "count", "for_each", "depends_on", "lifecycle", "locals",
}

// MetaArguments returns the names that no variable can have because they mean
// something else in a module call.
func MetaArguments() []string { return slices.Clone(metaArguments) }

// CheckVariableName returns what keeps name from being a user variable of the
// role, nil when nothing does (contract.md 7). Only the inputs of the object's
// own role are reserved: a cluster may set machine_name.
func CheckVariableName(spec RoleSpec, name string) *Violation {
	var message string
	_, input := spec.Input(name)
	switch {
	case !ValidVariableName(name):
		message = "is not a valid name; it must start with a letter or _ and go on with letters, digits, _ and -"
	case strings.HasPrefix(name, ReservedPrefix):
		message = fmt.Sprintf("starts with %s, which is reserved for the contract; use another name", ReservedPrefix)
	case input:
		message = fmt.Sprintf("is an input of the contract for the role %s, which the controller sets; use another name", spec.Role)
	case slices.Contains(metaArguments, name):
		message = "has a meaning of its own in a module call; use another name"
	default:
		return nil
	}
	return &Violation{Path: child("variables", name), Rule: RuleName, Reason: ReasonInvalid, Message: message}
}

// ParseVariables checks merged user variables, their names and their values,
// and returns the values as trees made of what ParseJSON yields, by name. A
// number must be whole, because it could not be hashed otherwise (B-348). The
// messages name the variable, never its value.
func ParseVariables(spec RoleSpec, vars []Variable) (map[string]any, Violations) {
	if len(vars) == 0 {
		return nil, nil
	}
	var vs Violations
	values := make(map[string]any, len(vars))
	for _, v := range vars {
		if broken := CheckVariableName(spec, v.Name); broken != nil {
			vs = append(vs, *broken)
			continue
		}
		path := child("variables", v.Name)
		if _, twice := values[v.Name]; twice {
			vs = append(vs, Violation{
				Path: path, Rule: RuleDuplicate, Reason: ReasonInvalid, Message: "is given twice; merge the sources first",
			})
			continue
		}
		value, found := parseVariable(path, v.Value, v.Sensitive)
		values[v.Name] = value
		vs = append(vs, found...)
	}
	vs.Sort()
	return values, vs
}

// anyVariable is the shape of a user variable.
var anyVariable = Shape{Kind: KindAny, IntegersOnly: true}

// parseVariable parses and checks one value. A path into a sensitive value is
// cut, because keys are part of the value.
func parseVariable(path string, raw json.RawMessage, sensitive bool) (any, Violations) {
	value, broken := ParseJSON(path, raw)
	var vs Violations
	if broken != nil {
		vs = Violations{*broken}
	} else {
		vs = anyVariable.Validate(path, value)
	}
	if sensitive && len(vs) > 0 {
		vs = vs[:1]
		vs[0].Path = path
	}
	return value, vs
}

// VariableFormat says how the values of a source become variables.
type VariableFormat string

// The formats of a source.
const (
	// FormatString passes every value as a string; the module's type converts it.
	FormatString VariableFormat = "String"
	// FormatJSON reads every value as JSON.
	FormatJSON VariableFormat = "JSON"
)

// VariableSource is one entry of spec.variablesFrom with what was found for it.
type VariableSource struct {
	// Name is the source for messages, such as Secret/dns.
	Name string
	// Format is how values are read; "" is FormatString.
	Format VariableFormat
	// Secret tells that the source is a Secret, so its values are sensitive.
	Secret bool
	// Optional tells that an absent source contributes nothing.
	Optional bool
	// Found tells that the source exists and carries the label
	// captf.io/variables=true; one without the label counts as absent (B-312).
	Found bool
	// Data holds data and binaryData of the source.
	Data map[string][]byte
}

// InlineVariables reads spec.variables: a JSON object with 1 to
// MaxInlineVariables keys; nothing, or null, sets no variables.
func InlineVariables(raw json.RawMessage) (map[string]json.RawMessage, Violations) {
	const path = "variables"
	if len(raw) == 0 {
		return nil, nil
	}
	value, broken := ParseJSON(path, raw)
	if broken != nil {
		return nil, Violations{*broken}
	}
	if value == nil {
		return nil, nil
	}
	members, ok := value.(map[string]any)
	refuse := func(rule, format string, args ...any) (map[string]json.RawMessage, Violations) {
		return nil, Violations{{Path: path, Rule: rule, Reason: ReasonInvalid, Message: fmt.Sprintf(format, args...)}}
	}
	switch {
	case !ok:
		return refuse(RuleType, "is %s; it must be an object with a key for each variable", typeName(value))
	case len(members) == 0:
		return refuse(RuleMinItems, "is empty; leave it out, or set a variable")
	case len(members) > MaxInlineVariables:
		return refuse(RuleMaxItems, "has %d keys; at most %d are allowed: group values in objects, or use variablesFrom",
			len(members), MaxInlineVariables)
	}
	out := map[string]json.RawMessage{}
	// The object is valid JSON, so it splits.
	if err := json.Unmarshal(raw, &out); err != nil {
		return refuse(RuleJSON, "is not valid JSON")
	}
	return out, nil
}

// MergeVariables merges the sources in order, later over earlier, and the
// inline variables over all of them; a variable is sensitive exactly when the
// winning value came from a Secret (B-310, B-315). The result is sorted by
// name. A violation with ReasonMissing stands for
// DependenciesReady=False/VariablesSourceNotFound, one with ReasonInvalid for
// VariablesInvalid; then there is no result. No message holds a value.
func MergeVariables(spec RoleSpec, sources []VariableSource, inline map[string]json.RawMessage) ([]Variable, Violations) {
	var vs Violations
	if len(sources) > MaxVariableSources {
		vs = append(vs, Violation{
			Path: "variablesFrom", Rule: RuleMaxItems, Reason: ReasonInvalid,
			Message: fmt.Sprintf("has %d entries; at most %d are allowed: merge some of them", len(sources), MaxVariableSources),
		})
	}
	merged := map[string]Variable{}
	for i, source := range sources {
		vs = append(vs, source.mergeInto(merged, spec, fmt.Sprintf("variablesFrom[%d]", i))...)
	}
	for _, name := range slices.Sorted(maps.Keys(inline)) {
		if broken := CheckVariableName(spec, name); broken != nil {
			vs = append(vs, *broken)
			continue
		}
		_, found := parseVariable(child("variables", name), inline[name], false)
		vs = append(vs, found...)
		merged[name] = Variable{Name: name, Value: inline[name]}
	}
	if len(vs) > 0 {
		vs.Sort()
		return nil, vs
	}
	out := make([]Variable, 0, len(merged))
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		out = append(out, merged[name])
	}
	return out, nil
}

func (s VariableSource) mergeInto(merged map[string]Variable, spec RoleSpec, path string) Violations {
	if !s.Found {
		if s.Optional {
			return nil
		}
		return Violations{{
			Path: path, Rule: RuleSource, Reason: ReasonMissing,
			Message: fmt.Sprintf("%s does not exist or lacks the label captf.io/variables=true; create and label it, or mark the entry optional", s.Name),
		}}
	}
	if s.Format != "" && s.Format != FormatString && s.Format != FormatJSON {
		return Violations{{
			Path: path, Rule: RuleSource, Reason: ReasonInvalid,
			Message: fmt.Sprintf("has the format %s; it must be %s or %s", quote(string(s.Format)), FormatString, FormatJSON),
		}}
	}
	var vs Violations
	for _, name := range slices.Sorted(maps.Keys(s.Data)) {
		at := child(path, name)
		if broken := CheckVariableName(spec, name); broken != nil {
			broken.Path = at
			broken.Message += " (key in " + s.Name + ")"
			vs = append(vs, *broken)
			continue
		}
		value, found := s.value(at, s.Data[name])
		vs = append(vs, found...)
		merged[name] = Variable{Name: name, Value: value, Sensitive: s.Secret}
	}
	return vs
}

// value returns one value of the source as JSON.
func (s VariableSource) value(path string, data []byte) (json.RawMessage, Violations) {
	if s.Format == FormatJSON {
		_, found := parseVariable(path, data, s.Secret)
		return data, found
	}
	if !utf8.Valid(data) {
		return nil, Violations{{
			Path: path, Rule: RuleUTF8, Reason: ReasonInvalid,
			Message: "is not UTF-8 in " + s.Name + "; use text, or encode bytes as base64",
		}}
	}
	raw, broken := CanonicalJSON(path, string(data))
	if broken != nil {
		return nil, Violations{*broken}
	}
	return raw, nil
}
