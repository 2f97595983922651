package fix

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/captf-toolkit/captf/lint/flow"
	"github.com/captf-toolkit/captf/sdk/module"
)

// maxLocals is how many locals are followed from one to the next.
const maxLocals = 32

// listFunctions return a list, and fail rather than return null.
var listFunctions = []string{
	"coalescelist", "compact", "concat", "distinct", "fileset", "flatten", "formatlist", "keys", "matchkeys", "reverse",
	"setintersection", "setsubtract", "setunion", "slice", "split", "values",
}

// passFunctions return a list if every argument is one, and null if one is.
var passFunctions = []string{"nonsensitive", "sensitive", "tolist", "toset", "try"}

// sortable says why an output cannot be wrapped in sort() without a change of
// what the module does; "" if it can. An expression that is not certainly a list
// may be null, which sort() does not take, or hide a mistake that sort() would
// cover up.
func (p *planner) sortable(a *flow.Analyzer, o *module.Output, expr hclsyntax.Expression) string {
	v := a.Output(o)
	if v.MayBeNull() {
		return "the list may be null, which sort() does not take; sort it where it is not null"
	}
	if !holdsStrings(v) {
		return "it is not a list of strings; make it one first"
	}
	if !p.certainList(expr, 0) {
		return "it is not certain that the expression is a list, and never null, which sort() does not take; wrap it by hand where it is"
	}
	return ""
}

// certainList tells that an expression is a list, set or tuple, and never null.
func (p *planner) certainList(expr hclsyntax.Expression, depth int) bool {
	switch e := expr.(type) {
	case *hclsyntax.ParenthesesExpr:
		return p.certainList(e.Expression, depth)
	case *hclsyntax.TupleConsExpr:
		return !slices.ContainsFunc(e.Exprs, p.nullableVariable)
	case *hclsyntax.ForExpr:
		return e.KeyExpr == nil
	case *hclsyntax.SplatExpr:
		return true
	case *hclsyntax.ConditionalExpr:
		return p.certainList(e.TrueResult, depth) && p.certainList(e.FalseResult, depth)
	case *hclsyntax.FunctionCallExpr:
		switch {
		case e.Name == "sort" || slices.Contains(listFunctions, e.Name):
			return true
		case !slices.Contains(passFunctions, e.Name) || len(e.Args) == 0:
			return false
		}
		return !slices.ContainsFunc(e.Args, func(arg hclsyntax.Expression) bool { return !p.certainList(arg, depth) })
	case *hclsyntax.ScopeTraversalExpr:
		return p.certainReference(e, depth)
	}
	return false
}

// certainReference is certainList for a local, or for a variable that takes no
// null.
func (p *planner) certainReference(e *hclsyntax.ScopeTraversalExpr, depth int) bool {
	if len(e.Traversal) != 2 || depth > maxLocals {
		return false
	}
	name := flow.LastName(e.Traversal)
	switch e.Traversal.RootName() {
	case "local":
		for _, l := range p.root.Locals {
			if expr, ok := l.Expr.(hclsyntax.Expression); ok && l.Name == name {
				return p.certainList(expr, depth+1)
			}
		}
	case "var":
		v := p.root.Variable(name)
		return v != nil && v.HasType && !v.Nullable && (v.Type.IsListType() || v.Type.IsSetType())
	}
	return false
}

// nullableVariable tells that an expression is a variable that may be null.
func (p *planner) nullableVariable(expr hclsyntax.Expression) bool {
	e, ok := expr.(*hclsyntax.ScopeTraversalExpr)
	if !ok || e.Traversal.RootName() != "var" || len(e.Traversal) != 2 {
		return false
	}
	v := p.root.Variable(flow.LastName(e.Traversal))
	return v == nil || v.Nullable && v.HasDefault && v.Default != cty.NilVal && v.Default.IsNull()
}

// holdsStrings tells that a value can be a list of strings, as far as is known.
func holdsStrings(v flow.Value) bool {
	for _, one := range v.Each() {
		switch one.Kind {
		case flow.Unknown:
		case flow.Typed:
			if t := one.Type; !(t.IsListType() || t.IsSetType()) || t.ElementType() != cty.String && t.ElementType() != cty.DynamicPseudoType {
				return false
			}
		case flow.List:
			if one.Item != nil && !isString(*one.Item) {
				return false
			}
		case flow.Tuple:
			if slices.ContainsFunc(one.Items, func(item flow.Value) bool { return !isString(item) }) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// isString tells that a value can be a string, as far as is known, and no null
// that is written.
func isString(v flow.Value) bool {
	return !slices.ContainsFunc(v.Each(), func(one flow.Value) bool {
		switch one.Kind {
		case flow.Unknown:
			return false
		case flow.Typed:
			return one.Type != cty.String
		case flow.Known:
			return one.Known.Type() != cty.String
		}
		return true
	})
}
