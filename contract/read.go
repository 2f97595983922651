package contract

import "fmt"

// Read returns the value of this output, as consumers see it: null resolved by
// the row's null rule, defaults filled in, unknown attributes dropped, a long
// list cut. It is nil when the output is null, or when there is a violation
// that blocks or waits. The value is made of what ParseJSON yields.
func (o Output) Read(values Values) (any, Violations) {
	path := "outputs." + o.Name
	raw, present := values.Outputs[o.Name]
	if !present && values.Declared != nil && !values.Declared[o.Name] {
		return nil, Violations{{
			Path: path, Rule: RuleDeclared, Reason: ReasonMissing,
			Message: fmt.Sprintf("is not declared by the module; add output %q: %s", o.Name, o.Shape.describe()),
		}}
	}
	var value any
	if present {
		var broken *Violation
		if value, broken = ParseJSON(path, raw); broken != nil {
			return nil, Violations{*broken}
		}
	}
	if value == nil || o.EmptyIsNull && value == "" {
		return o.readNull(path)
	}
	vs := o.Shape.Validate(path, value)
	if len(vs.Blocking()) > 0 {
		o.advise(vs)
		return nil, vs
	}
	if items, ok := value.([]any); ok && o.Shape.Truncate > 0 && len(items) > o.Shape.Truncate {
		vs = append(vs, Violation{
			Path: path, Rule: RuleTruncated, Reason: ReasonTruncated,
			Message: fmt.Sprintf("has %d items; the first %d are kept", len(items), o.Shape.Truncate),
		})
	}
	return o.Shape.Complete(value), vs
}

func (o Output) readNull(path string) (any, Violations) {
	switch o.Null {
	case NullAllowed:
		return nil, nil
	case NullDefault:
		return o.NullValue, nil
	case NullPending:
		return nil, Violations{{
			Path: path, Rule: RulePending, Reason: ReasonPending,
			Message: "is null, so it is waited for; it needs " + o.Shape.describe(),
		}}
	default:
		return nil, Violations{{
			Path: path, Rule: RuleNull, Reason: ReasonInvalid,
			Message: "is null; it needs " + o.Shape.describe(),
		}}
	}
}

// advise says in the violations of a half-set object that null is the way to
// leave it open: a module that knows one half only tends to emit the other as
// null or "".
func (o Output) advise(vs Violations) {
	if o.Shape.Kind != KindObject || o.Null != NullAllowed {
		return
	}
	for i := range vs {
		switch vs[i].Rule {
		case RuleNull, RuleRequired, RuleMinLength, RuleMinimum:
			vs[i].Message += "; while it is not known, emit null for the whole output"
		}
	}
}
