package flow

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/captf-toolkit/captf/sdk/module"
)

// Leaf is a reference that an expression ends at, once locals, outputs of local
// modules and the arguments of their variables are followed.
type Leaf struct {
	// Scope is where the reference stands.
	Scope *Scope
	// Traversal is the reference: to a variable, a resource or a data source.
	Traversal hcl.Traversal
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

// Leaves returns the references that the value of an expression depends on. A
// sensitive variable of a called module is a leaf and followed as well.
func (a *Analyzer) Leaves(s *Scope, expr hcl.Expression) []Leaf {
	w := leafWalk{seen: map[leafKey]bool{}}
	w.expr(s.own(), expr, leafState{}, nil)
	return w.leaves
}

type leafState struct{ unmarked, conditional bool }

type leafKey struct {
	scope      *Scope
	root, name string
	state      leafState
}

type leafWalk struct {
	leaves []Leaf
	seen   map[leafKey]bool
}

// unmarking are the functions whose result tells nothing of a sensitive argument.
var unmarking = map[string]bool{"nonsensitive": true, "issensitive": true, "can": true}

func (w *leafWalk) expr(s *Scope, expr hcl.Expression, st leafState, bound map[string]bool) {
	switch e := expr.(type) {
	case nil:
	case *hclsyntax.ScopeTraversalExpr:
		if !bound[e.Traversal.RootName()] {
			w.reference(s, e.Traversal, st)
		}
	case *hclsyntax.FunctionCallExpr:
		st.unmarked = st.unmarked || unmarking[FunctionName(e)]
		for _, arg := range e.Args {
			w.expr(s, arg, st, bound)
		}
	case *hclsyntax.ConditionalExpr:
		w.expr(s, e.Condition, st, bound)
		st.conditional = true
		w.expr(s, e.TrueResult, st, bound)
		w.expr(s, e.FalseResult, st, bound)
	case *hclsyntax.ForExpr:
		w.expr(s, e.CollExpr, st, bound)
		inner := map[string]bool{e.ValVar: true}
		if e.KeyVar != "" {
			inner[e.KeyVar] = true
		}
		for name := range bound {
			inner[name] = true
		}
		for _, part := range []hclsyntax.Expression{e.KeyExpr, e.ValExpr, e.CondExpr} {
			if part != nil {
				w.expr(s, part, st, inner)
			}
		}
	case hclsyntax.Expression:
		w.children(s, e, st, bound)
	default: // JSON syntax
		for _, t := range expr.Variables() {
			w.reference(s, t, st)
		}
	}
}

// children walks the parts of an expression that has no rule of its own.
func (w *leafWalk) children(s *Scope, e hclsyntax.Expression, st leafState, bound map[string]bool) {
	switch e := e.(type) {
	case *hclsyntax.ObjectConsKeyExpr:
		if hcl.ExprAsKeyword(e.Wrapped) == "" || e.ForceNonLiteral {
			w.expr(s, e.Wrapped, st, bound)
		}
		return
	case *hclsyntax.ParenthesesExpr:
		w.expr(s, e.Expression, st, bound)
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

func (w *leafWalk) reference(s *Scope, t hcl.Traversal, st leafState) {
	name := attrName(t, 1)
	key := leafKey{s, t.RootName(), t.RootName() + "." + name + "." + attrName(t, 2), st}
	switch t.RootName() {
	case "local":
		if w.visit(key) {
			if l := s.Module.Local(name); l != nil {
				w.expr(s, l.Expr, st, nil)
			}
		}
		return
	case "module":
		w.moduleOutput(s, t, st, key)
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
				w.leaves = append(w.leaves, Leaf{s, t, st.unmarked, st.conditional})
			}
			if arg, ok := s.Call.Args[name]; ok && w.visit(key) {
				w.expr(s.Up, arg.Expr, st, nil)
			}
			return
		}
	}
	w.leaves = append(w.leaves, Leaf{s, t, st.unmarked, st.conditional})
}

func (w *leafWalk) moduleOutput(s *Scope, t hcl.Traversal, st leafState, key leafKey) {
	child := s.Child(s.Module.Call(attrName(t, 1)))
	if child == nil || !w.visit(key) {
		return
	}
	for i := 2; i < len(t); i++ {
		if step, ok := t[i].(hcl.TraverseAttr); ok {
			if out := child.Module.Output(step.Name); out != nil && out.Value != nil {
				w.expr(child, out.Value, st, nil)
			}
			return
		}
	}
	for _, out := range child.Module.Outputs { // the whole module
		if out.Value != nil {
			w.expr(child, out.Value, st, nil)
		}
	}
}

func (w *leafWalk) visit(key leafKey) bool {
	if w.seen[key] {
		return false
	}
	w.seen[key] = true
	return true
}
