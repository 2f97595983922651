package flow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/captf-toolkit/captf/sdk/module"
)

// Leaf is a reference that an expression ends at, once locals, outputs of local
// modules and the arguments of their variables are followed.
type Leaf struct {
	// Scope is where the reference stands.
	Scope *Scope
	// Traversal is the reference: to a variable, a resource or a data source.
	Traversal hcl.Traversal
	// Rest are the steps that are taken from the reference further on: in a
	// module with the local r = null_resource.a, the leaf of local.r.id is
	// null_resource.a, and its rest is the attribute id.
	Rest hcl.Traversal
	// Unmarked tells that the value went through nonsensitive() or a function
	// that tells nothing of it.
	Unmarked bool
	// Conditional tells that the value is used on one branch only.
	Conditional bool
}

// Variable returns the variable that the leaf refers to, or nil. It is a
// variable of the root module, or one of a called module whose own declaration
// ends the search.
func (l Leaf) Variable() *module.Variable {
	if l.Traversal.RootName() != "var" {
		return nil
	}
	return l.Scope.Module.Variable(attrName(l.Traversal, 1))
}

// Resource returns the resource or data source that the leaf refers to, or nil.
func (l Leaf) Resource() *module.Resource {
	t := l.Traversal
	if mode := t.RootName(); mode == "data" || mode == "ephemeral" {
		return l.Scope.Module.Resource(mode + "." + attrName(t, 1) + "." + attrName(t, 2))
	}
	return l.Scope.Module.Resource(t.RootName() + "." + attrName(t, 1))
}

// Path is the reference together with the steps that are taken from it.
func (l Leaf) Path() hcl.Traversal { return slices.Concat(l.Traversal, l.Rest) }

// Leaves returns the references that the value of an expression depends on. A
// sensitive variable of a called module is a leaf and followed as well.
func (a *Analyzer) Leaves(s *Scope, expr hcl.Expression) []Leaf {
	return a.PartLeaves(s, expr, nil)
}

// PartLeaves is Leaves for the part of a value that the steps lead to.
func (a *Analyzer) PartLeaves(s *Scope, expr hcl.Expression, steps hcl.Traversal) []Leaf {
	w := leafWalk{seen: map[leafKey]bool{}}
	w.part(s.own(), expr, steps, leafState{}, nil)
	return w.leaves
}

// InstanceLeaves returns the references whose values decide which instances a
// count or for_each makes: of a map its keys count, not its values. What only
// goes into a comparison with a constant, or into a length, is left out.
func (a *Analyzer) InstanceLeaves(s *Scope, expr hcl.Expression) []Leaf {
	w := leafWalk{seen: map[leafKey]bool{}}
	w.expr(s.own(), expr, leafState{keys: true, sizing: true}, nil)
	return w.leaves
}

// leafState is how a reference was reached: keys tells that only the keys of a
// map count, sizing that comparisons and lengths do not.
type leafState struct{ unmarked, conditional, keys, sizing bool }

// values is the state in which the whole value counts.
func (st leafState) values() leafState {
	st.keys = false
	return st
}

type leafKey struct {
	scope *Scope
	path  string
	state leafState
}

type leafWalk struct {
	leaves []Leaf
	seen   map[leafKey]bool
}

// maxPaths bounds the references that are followed with the steps from them, and
// maxPathSteps those steps; beyond that a reference is about the whole value.
const (
	maxPaths     = 5_000
	maxPathSteps = 16
)

// unmarking are the functions whose result tells nothing of a sensitive argument.
var unmarking = map[string]bool{"nonsensitive": true, "issensitive": true, "can": true}

func (w *leafWalk) expr(s *Scope, expr hcl.Expression, st leafState, bound map[string]bool) {
	w.part(s, expr, nil, st, bound)
}

// part walks what the steps lead to; where that cannot be told apart it is all of
// the expression.
func (w *leafWalk) part(s *Scope, expr hcl.Expression, steps hcl.Traversal, st leafState, bound map[string]bool) {
	if pairs, ok := mapLiteral(expr); ok && (len(steps) > 0 || st.keys) {
		w.literal(s, pairs, steps, st, bound)
		return
	}
	switch e := expr.(type) {
	case nil:
	case *hclsyntax.ScopeTraversalExpr:
		if !bound[e.Traversal.RootName()] {
			w.reference(s, e.Traversal, steps, st)
		}
	case *hclsyntax.ParenthesesExpr:
		w.part(s, e.Expression, steps, st, bound)
	case *hclsyntax.RelativeTraversalExpr:
		w.part(s, e.Source, slices.Concat(e.Traversal, steps), st, bound)
	case *hclsyntax.BinaryOpExpr:
		if !st.sizing || !comparesConstant(e) {
			w.children(s, e, st.values(), bound)
		}
	case *hclsyntax.FunctionCallExpr:
		w.call(s, e, steps, st, bound)
	case *hclsyntax.ConditionalExpr:
		w.expr(s, e.Condition, st.values(), bound)
		st.conditional = true
		w.part(s, e.TrueResult, steps, st, bound)
		w.part(s, e.FalseResult, steps, st, bound)
	case *hclsyntax.ForExpr:
		if st.keys && e.KeyExpr != nil && !uses(e.KeyExpr, e.ValVar) && !uses(e.CondExpr, e.ValVar) {
			w.expr(s, e.CollExpr, st, bound)
		} else {
			w.expr(s, e.CollExpr, st.values(), bound)
		}
		inner := map[string]bool{e.ValVar: true}
		if e.KeyVar != "" {
			inner[e.KeyVar] = true
		}
		for name := range bound {
			inner[name] = true
		}
		for _, part := range []hclsyntax.Expression{e.KeyExpr, e.ValExpr, e.CondExpr} {
			if part != nil && (part != e.ValExpr || e.KeyExpr == nil || !st.keys) {
				w.expr(s, part, st.values(), inner)
			}
		}
	case hclsyntax.Expression:
		w.children(s, e, st.values(), bound)
	default: // JSON syntax
		for _, t := range expr.Variables() {
			w.reference(s, t, nil, st.values())
		}
	}
}

// literal walks an object that is written out: the attribute that the steps lead
// to, or the keys.
func (w *leafWalk) literal(s *Scope, pairs []hcl.KeyValuePair, steps hcl.Traversal, st leafState, bound map[string]bool) {
	if len(steps) == 0 {
		for _, p := range pairs {
			w.expr(s, p.Key, st.values(), bound)
		}
		return
	}
	name, named := stepName(steps[0])
	for _, p := range pairs {
		key, known := literalKey(p.Key)
		switch {
		case named && known && key == name:
			w.part(s, p.Value, steps[1:], st, bound)
		case !named || !known:
			w.expr(s, p.Key, st.values(), bound)
			w.part(s, p.Value, steps[1:], st, bound)
		}
	}
}

// passing are the functions that hand on an argument, or a part of it, as it is.
var passing = map[string]bool{
	"nonsensitive": true, "sensitive": true, "merge": true, "tomap": true, "try": true, "coalesce": true,
}

// sizes are the functions whose result a new text as argument does not change.
var sizes = map[string]bool{"length": true, "can": true, "issensitive": true}

func (w *leafWalk) call(s *Scope, e *hclsyntax.FunctionCallExpr, steps hcl.Traversal, st leafState, bound map[string]bool) {
	name, args := FunctionName(e), e.Args
	st.unmarked = st.unmarked || unmarking[name]
	switch {
	case st.sizing && sizes[name]:
		return
	case st.keys && len(steps) == 0 && name == "zipmap" && len(args) == 2:
		args = args[:1]
	}
	if !passing[name] || e.ExpandFinal {
		steps, st = nil, st.values()
	}
	for _, arg := range args {
		w.part(s, arg, steps, st, bound)
	}
}

// mapLiteral returns the pairs of an object that is written out, in either syntax.
func mapLiteral(expr hcl.Expression) ([]hcl.KeyValuePair, bool) {
	if native, ok := expr.(hclsyntax.Expression); ok {
		if _, ok := native.(*hclsyntax.ObjectConsExpr); !ok {
			return nil, false
		}
	}
	if expr == nil {
		return nil, false
	}
	pairs, diags := hcl.ExprMap(expr)
	return pairs, !diags.HasErrors()
}

// literalKey returns the key of an object if it is written out.
func literalKey(key hcl.Expression) (string, bool) {
	if len(key.Variables()) > 0 {
		return "", false
	}
	v, diags := key.Value(nil)
	if diags.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return "", false
	}
	return v.AsString(), true
}

// stepName returns the attribute that a step leads to, if it has a name.
func stepName(step hcl.Traverser) (string, bool) {
	switch step := step.(type) {
	case hcl.TraverseAttr:
		return step.Name, true
	case hcl.TraverseIndex:
		if k := step.Key; k.Type() == cty.String && k.IsKnown() && !k.IsNull() {
			return k.AsString(), true
		}
	}
	return "", false
}

// comparesConstant tells that an operator compares something with what is
// written out, or with null.
func comparesConstant(e *hclsyntax.BinaryOpExpr) bool {
	return e.Op.Type == cty.Bool && e.Op != hclsyntax.OpLogicalAnd && e.Op != hclsyntax.OpLogicalOr &&
		(len(e.LHS.Variables()) == 0 || len(e.RHS.Variables()) == 0)
}

// uses tells that an expression, which may be missing, mentions a name.
func uses(expr hclsyntax.Expression, name string) bool {
	return expr != nil && slices.ContainsFunc(expr.Variables(), func(t hcl.Traversal) bool { return t.RootName() == name })
}

// children walks the parts of an expression that has no rule of its own.
func (w *leafWalk) children(s *Scope, e hclsyntax.Expression, st leafState, bound map[string]bool) {
	if key, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		if hcl.ExprAsKeyword(key.Wrapped) == "" || key.ForceNonLiteral {
			w.expr(s, key.Wrapped, st, bound)
		}
		return
	}
	v := &childVisitor{top: e}
	_ = hclsyntax.Walk(e, v)
	for _, child := range v.children {
		w.expr(s, child, st, bound)
	}
}

// childVisitor collects the direct children of an expression.
type childVisitor struct {
	top      hclsyntax.Node
	depth    int
	children []hclsyntax.Expression
}

func (v *childVisitor) Enter(n hclsyntax.Node) hcl.Diagnostics {
	if v.depth == 1 {
		if e, ok := n.(hclsyntax.Expression); ok {
			v.children = append(v.children, e)
		}
	}
	v.depth++
	return nil
}

func (v *childVisitor) Exit(hclsyntax.Node) hcl.Diagnostics {
	v.depth--
	return nil
}

// reference follows a reference, and the steps that are taken from it.
func (w *leafWalk) reference(s *Scope, t, steps hcl.Traversal, st leafState) {
	name := attrName(t, 1)
	if len(w.seen) > maxPaths || len(t)+len(steps) > maxPathSteps {
		t, steps = t[:min(len(t), maxPathSteps)], nil
	}
	key := leafKey{s, PathText(slices.Concat(t, steps)), st}
	var rest hcl.Traversal
	if len(w.seen) <= maxPaths {
		rest = slices.Concat(t[min(2, len(t)):], steps)
	}
	switch t.RootName() {
	case "local":
		if w.visit(key) {
			if l := s.Module.Local(name); l != nil {
				w.part(s, l.Expr, rest, st, nil)
			}
		}
		return
	case "module":
		w.moduleOutput(s, t, steps, st, key)
		return
	case "each", "count", "self", "path", "terraform", "tofu":
		return
	case "var":
		v := s.Module.Variable(name)
		if v == nil {
			return
		}
		if s.Call != nil {
			if v.Sensitive {
				w.leaf(s, t, steps, st)
			}
			if arg, ok := s.Call.Args[name]; ok && w.visit(key) {
				w.part(s.Up, arg.Expr, rest, st, nil)
			}
			return
		}
	}
	w.leaf(s, t, steps, st)
}

// leaf adds a leaf. Of one that is a map by itself nothing is known of its keys.
func (w *leafWalk) leaf(s *Scope, t, steps hcl.Traversal, st leafState) {
	if !st.keys {
		w.leaves = append(w.leaves, Leaf{Scope: s, Traversal: t, Rest: steps, Unmarked: st.unmarked, Conditional: st.conditional})
	}
}

func (w *leafWalk) moduleOutput(s *Scope, t, steps hcl.Traversal, st leafState, key leafKey) {
	child := s.Child(s.Module.Call(attrName(t, 1)))
	if child == nil || !w.visit(key) {
		return
	}
	path := slices.Concat(t, steps)
	for i := 2; i < len(path); i++ {
		if step, ok := path[i].(hcl.TraverseAttr); ok {
			if out := child.Module.Output(step.Name); out != nil && out.Value != nil {
				w.part(child, out.Value, path[i+1:], st, nil)
			}
			return
		}
	}
	for _, out := range child.Module.Outputs { // the whole module
		if out.Value != nil {
			w.expr(child, out.Value, st.values(), nil)
		}
	}
}

// PathText writes a traversal so that different ones have different texts.
func PathText(t hcl.Traversal) string {
	var b strings.Builder
	for _, step := range t {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			b.WriteString(step.Name)
		case hcl.TraverseAttr:
			b.WriteString("." + step.Name)
		case hcl.TraverseIndex:
			fmt.Fprintf(&b, "[%#v]", step.Key)
		default:
			b.WriteString("[*]")
		}
	}
	return b.String()
}

func (w *leafWalk) visit(key leafKey) bool {
	if w.seen[key] {
		return false
	}
	w.seen[key] = true
	return true
}
