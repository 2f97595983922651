package flow

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

func (a *Analyzer) eval(s *Scope, expr hcl.Expression, depth int) Value {
	return a.evalUnbounded(s, expr, depth).bounded()
}

func (a *Analyzer) evalUnbounded(s *Scope, expr hcl.Expression, depth int) Value {
	if expr == nil {
		return Value{}
	}
	a.steps++
	if depth > maxDepth || a.steps > maxSteps {
		return unknown(expr.Range())
	}
	depth++
	switch e := expr.(type) {
	case *hclsyntax.LiteralValueExpr:
		return FromCty(e.Val, e.Range())
	case *hclsyntax.ParenthesesExpr:
		return a.eval(s, e.Expression, depth)
	case *hclsyntax.TemplateWrapExpr:
		return a.eval(s, e.Wrapped, depth)
	case *hclsyntax.TemplateExpr:
		return a.template(s, e, depth)
	case *hclsyntax.ObjectConsExpr:
		return a.objectCons(s, e, depth)
	case *hclsyntax.TupleConsExpr:
		items := make([]Value, 0, len(e.Exprs))
		for _, item := range e.Exprs {
			items = append(items, a.eval(s, item, depth))
		}
		return tuple(items, e.Range())
	case *hclsyntax.ConditionalExpr:
		return a.conditional(s, e, depth)
	case *hclsyntax.ForExpr:
		return a.forExpr(s, e, depth)
	case *hclsyntax.ScopeTraversalExpr:
		return a.traversal(s, e.Traversal, depth)
	case *hclsyntax.RelativeTraversalExpr:
		return follow(a.eval(s, e.Source, depth), e.Traversal)
	case *hclsyntax.IndexExpr:
		return index(a.eval(s, e.Collection, depth), a.eval(s, e.Key, depth), e.Range())
	case *hclsyntax.SplatExpr:
		return a.splat(s, e, depth)
	case *hclsyntax.FunctionCallExpr:
		return a.call(s, e, depth)
	case *hclsyntax.BinaryOpExpr:
		return operation(e.Op, e.Range(), a.eval(s, e.LHS, depth), a.eval(s, e.RHS, depth))
	case *hclsyntax.UnaryOpExpr:
		return operation(e.Op, e.Range(), a.eval(s, e.Val, depth))
	case hclsyntax.Expression:
		return unknown(expr.Range())
	default:
		return a.json(s, expr, depth)
	}
}

// template joins the parts of a string template if all are known.
func (a *Analyzer) template(s *Scope, e *hclsyntax.TemplateExpr, depth int) Value {
	text := ""
	for _, part := range e.Parts {
		v := a.eval(s, part, depth)
		if v.Kind == Known {
			v = v.converted(cty.String, nil)
		}
		if v.Kind != Known {
			return typed(cty.String, e.Range())
		}
		text += v.Known.AsString()
		if len(text) > maxSize*textPerValue {
			return typed(cty.String, e.Range())
		}
	}
	return known(cty.StringVal(text), e.Range())
}

func (a *Analyzer) objectCons(s *Scope, e *hclsyntax.ObjectConsExpr, depth int) Value {
	out := object(map[string]Value{}, e.Range())
	for _, item := range e.Items {
		v := a.eval(s, item.ValueExpr, depth)
		key, ok := a.objectKey(s, item.KeyExpr, depth)
		if !ok {
			out.Open = true
			continue
		}
		out.Attributes[key] = v
	}
	if out.Open { // a computed key may be the same as one that is known
		out.open()
	}
	return out
}

func (a *Analyzer) objectKey(s *Scope, expr hcl.Expression, depth int) (string, bool) {
	if k, ok := expr.(*hclsyntax.ObjectConsKeyExpr); ok {
		if word := hcl.ExprAsKeyword(k.Wrapped); word != "" && !k.ForceNonLiteral {
			return word, true
		}
		expr = k.Wrapped
	}
	v := a.eval(s, expr, depth)
	if v.Kind != Known {
		return "", false
	}
	v = v.converted(cty.String, nil)
	if v.Kind != Known {
		return "", false
	}
	return v.Known.AsString(), true
}

func (a *Analyzer) conditional(s *Scope, e *hclsyntax.ConditionalExpr, depth int) Value {
	cond := a.eval(s, e.Condition, depth)
	if cond.Kind == Known && cond.Known.Type() == cty.Bool {
		if cond.Known.True() {
			return a.eval(s, e.TrueResult, depth)
		}
		return a.eval(s, e.FalseResult, depth)
	}
	return union(e.Range(), unified(a.eval(s, e.TrueResult, depth), a.eval(s, e.FalseResult, depth))...)
}

func (a *Analyzer) forExpr(s *Scope, e *hclsyntax.ForExpr, depth int) Value {
	coll := a.eval(s, e.CollExpr, depth)
	if v, ok := a.forKnown(s, e, coll, depth); ok {
		return v
	}
	vars := map[string]Value{e.ValVar: coll.element()}
	if e.KeyVar != "" {
		vars[e.KeyVar] = unknown(e.CollExpr.Range())
	}
	inner := s.with(vars)
	item := a.eval(inner, e.ValExpr, depth)
	out := list(item, e.Range())
	switch {
	case e.KeyExpr != nil && e.Group:
		out = mapOf(list(item, e.Range()), e.Range())
	case e.KeyExpr != nil:
		out = mapOf(item, e.Range())
	}
	out.Conditional = e.CondExpr != nil || coll.mayBeEmpty()
	return out
}

// forKnown runs a for expression over a collection whose items are all known.
func (a *Analyzer) forKnown(s *Scope, e *hclsyntax.ForExpr, coll Value, depth int) (Value, bool) {
	type pair struct{ key, value Value }
	var pairs []pair
	switch {
	case e.Group || len(coll.Items) > maxAlternatives || len(coll.Attributes) > maxAlternatives:
		return Value{}, false
	case coll.Kind == Tuple:
		for i, item := range coll.Items {
			pairs = append(pairs, pair{known(cty.NumberIntVal(int64(i)), item.Range), item})
		}
	case coll.Kind == Object && !coll.Open:
		for _, name := range sortedKeys(coll.Attributes) {
			pairs = append(pairs, pair{known(cty.StringVal(name), e.CollExpr.Range()), coll.Attributes[name]})
		}
	default:
		return Value{}, false
	}
	var items []Value
	attrs := map[string]Value{}
	for _, p := range pairs {
		vars := map[string]Value{e.ValVar: p.value}
		if e.KeyVar != "" {
			vars[e.KeyVar] = p.key
		}
		inner := s.with(vars)
		if e.CondExpr != nil {
			cond := a.eval(inner, e.CondExpr, depth)
			if cond.Kind != Known || cond.Known.Type() != cty.Bool {
				return Value{}, false
			}
			if cond.Known.False() {
				continue
			}
		}
		v := a.eval(inner, e.ValExpr, depth)
		if e.KeyExpr == nil {
			items = append(items, v)
			continue
		}
		key := a.eval(inner, e.KeyExpr, depth).converted(cty.String, nil)
		if key.Kind != Known {
			return Value{}, false
		}
		attrs[key.Known.AsString()] = v
	}
	if e.KeyExpr == nil {
		return tuple(items, e.Range()), true
	}
	return object(attrs, e.Range()), true
}

func (a *Analyzer) splat(s *Scope, e *hclsyntax.SplatExpr, depth int) Value {
	src := a.eval(s, e.Source, depth)
	// The body starts at an anonymous symbol; only plain attribute paths are followed.
	rel, isPath := e.Each.(*hclsyntax.RelativeTraversalExpr)
	_, isSelf := e.Each.(*hclsyntax.AnonSymbolExpr)
	each := func(item Value) Value {
		switch {
		case isSelf:
			return item
		case isPath:
			if _, ok := rel.Source.(*hclsyntax.AnonSymbolExpr); ok {
				return follow(item, rel.Traversal)
			}
		}
		return unknown(e.Range())
	}
	switch src.Kind {
	case Tuple:
		items := make([]Value, 0, len(src.Items))
		for _, item := range src.Items {
			items = append(items, each(item))
		}
		return tuple(items, e.Range())
	case List:
		out := list(each(*src.Item), e.Range())
		out.Conditional = src.Conditional
		return out
	case Null:
		return tuple(nil, e.Range())
	case Known, Object, Map:
		return tuple([]Value{each(src)}, e.Range())
	case Typed:
		if src.Type.IsListType() || src.Type.IsSetType() {
			return listOf(each(src.element()), true, e.Range())
		}
	}
	return listOf(unknown(e.Range()), true, e.Range())
}

// operation computes an operator on known values, else gives its type.
func operation(op *hclsyntax.Operation, r hcl.Range, operands ...Value) Value {
	args := make([]cty.Value, 0, len(operands))
	for i, v := range operands {
		if v.Kind != Known && v.Kind != Null {
			return typed(op.Type, r)
		}
		if v.Kind == Null {
			// Only equality takes a null; the others fail at run time.
			if op != hclsyntax.OpEqual && op != hclsyntax.OpNotEqual {
				return typed(op.Type, r)
			}
			args = append(args, cty.NullVal(cty.DynamicPseudoType))
			continue
		}
		want := op.Impl.Params()[i].Type
		c := v.converted(want, nil)
		if c.Kind != Known {
			return typed(op.Type, r)
		}
		args = append(args, c.Known)
	}
	out, err := op.Impl.Call(args)
	if err != nil || !out.IsKnown() || out.IsNull() {
		return typed(op.Type, r)
	}
	return known(out, r)
}
