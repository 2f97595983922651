package flow

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// json evaluates an expression in JSON syntax: lists and objects as such, and
// strings as the templates that they are.
func (a *Analyzer) json(s *Scope, expr hcl.Expression, depth int) Value {
	if items, diags := hcl.ExprList(expr); !diags.HasErrors() {
		out := make([]Value, 0, len(items))
		for _, item := range items {
			out = append(out, a.eval(s, item, depth))
		}
		return tuple(out, expr.Range())
	}
	if pairs, diags := hcl.ExprMap(expr); !diags.HasErrors() {
		return a.jsonObject(s, pairs, expr.Range(), depth)
	}
	v, diags := expr.Value(nil) // without a context, strings are not interpreted
	if diags.HasErrors() {
		return unknown(expr.Range())
	}
	if v.Type() != cty.String || v.IsNull() || !v.IsKnown() {
		return FromCty(v, expr.Range())
	}
	t := jsonTemplate(v.AsString(), expr.Range())
	if t == nil {
		return unknown(expr.Range())
	}
	out := a.eval(s, t, depth)
	out.Range = expr.Range()
	return out
}

func (a *Analyzer) jsonObject(s *Scope, pairs []hcl.KeyValuePair, r hcl.Range, depth int) Value {
	out := object(map[string]Value{}, r)
	for _, p := range pairs {
		v := a.eval(s, p.Value, depth)
		key := a.eval(s, p.Key, depth)
		if key.Kind != Known || key.Known.Type() != cty.String {
			out.Open = true
			continue
		}
		out.Attributes[key.Known.AsString()] = v
	}
	if out.Open { // a computed key may be the same as one that is known
		out.open()
	}
	return out
}

// jsonTemplate parses the text of a JSON string as both runtimes do; nil when
// it is no template.
func jsonTemplate(text string, r hcl.Range) hclsyntax.Expression {
	start := r.Start
	start.Byte++ // the quote
	start.Column++
	t, diags := hclsyntax.ParseTemplate([]byte(text), r.Filename, start)
	if diags.HasErrors() {
		return nil
	}
	return t
}
