package flow

import (
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/module"
)

// Analyzer answers questions about the expressions of one module and the local
// modules it calls. It is not safe for concurrent use.
type Analyzer struct {
	root *Scope
	spec contract.RoleSpec
	// steps counts evaluated expressions, so that hostile text ends.
	steps int
}

// maxDepth and maxSteps bound an evaluation; beyond them everything is unknown.
const (
	maxDepth = 200
	maxSteps = 200_000
)

// New returns an analyzer of a root module that plays the role of the spec.
func New(root *module.Module, spec contract.RoleSpec) *Analyzer {
	return &Analyzer{root: newScope(root, nil, nil), spec: spec}
}

// Root returns the scope of the root module.
func (a *Analyzer) Root() *Scope { return a.root }

// Scope is one module together with the calls that lead to it: a module that is
// called twice has two scopes, since its variables differ.
type Scope struct {
	// Module is the module whose names the scope has.
	Module *module.Module
	// Call is the call that leads here, Up the scope of the caller; both are
	// nil for the root module.
	Call *module.ModuleCall
	Up   *Scope

	children map[string]*Scope
	locals   map[string]*Value
	vars     map[string]Value // variables of a for expression
	base     *Scope           // the module's own scope, for one inside a for expression
}

func newScope(m *module.Module, call *module.ModuleCall, up *Scope) *Scope {
	return &Scope{
		Module: m, Call: call, Up: up,
		children: map[string]*Scope{}, locals: map[string]*Value{},
	}
}

// Child returns the scope of a called module, nil when it cannot be read.
func (s *Scope) Child(call *module.ModuleCall) *Scope {
	if s.base != nil {
		s = s.base
	}
	if call == nil || call.Module == nil {
		return nil
	}
	c, ok := s.children[call.Name]
	if !ok {
		c = newScope(call.Module, call, s)
		s.children[call.Name] = c
	}
	return c
}

// with returns the scope inside a for expression.
func (s *Scope) with(vars map[string]Value) *Scope {
	base := s.base
	if base == nil {
		base = s
	}
	inner := *s
	inner.base = base
	inner.vars = make(map[string]Value, len(s.vars)+len(vars))
	maps.Copy(inner.vars, s.vars)
	maps.Copy(inner.vars, vars)
	return &inner
}

// own returns the scope of the module itself, outside any for expression.
func (s *Scope) own() *Scope {
	if s.base != nil {
		return s.base
	}
	return s
}

// Eval returns what an expression of the scope's module can evaluate to.
func (a *Analyzer) Eval(s *Scope, expr hcl.Expression) Value {
	a.steps = 0
	return a.eval(s, expr, 0)
}

// Output returns what an output of the root module can evaluate to.
func (a *Analyzer) Output(o *module.Output) Value {
	if o.Value == nil {
		return null(o.DefRange)
	}
	return a.Eval(a.root, o.Value)
}

// rootVariable returns what a variable of the root module holds: its type, never
// a value. A contract input whose declaration cannot take its values has the
// contract's type, so that one mistake is not reported twice. The range is that of
// the reference: what does not fit is written there, not in the declaration.
func (a *Analyzer) rootVariable(v *module.Variable, r hcl.Range) Value {
	declared := v.Type.WithoutOptionalAttributesDeep()
	in, ok := a.spec.Input(v.Name)
	if !ok {
		if !v.HasType {
			return unknown(r)
		}
		return typed(declared, r)
	}
	t := in.Shape.Type().WithoutOptionalAttributesDeep()
	if v.HasType && !declared.HasDynamicTypes() && convert.GetConversionUnsafe(t, declared) != nil {
		t = declared
	}
	return typed(t, r)
}
