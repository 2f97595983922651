package module

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// maxStaticDepth bounds how many locals lead to one another.
const maxStaticDepth = 32

// staticString evaluates an expression that the runtimes evaluate before they
// load what it names: literals, variables by their default, locals made of
// these, and path.module. It returns false for anything else.
func (m *Module) staticString(e hcl.Expression) (string, bool) {
	val, ok := m.static(e, maxStaticDepth)
	if !ok {
		return "", false
	}
	val, err := convert.Convert(val, cty.String)
	if err != nil || val.IsNull() || !val.IsKnown() {
		return "", false
	}
	return val.AsString(), true
}

func (m *Module) static(e hcl.Expression, depth int) (cty.Value, bool) {
	if depth == 0 {
		return cty.NilVal, false
	}
	refs := e.Variables()
	scope := map[string]map[string]cty.Value{}
	for _, tr := range refs {
		if len(tr) < 2 {
			return cty.NilVal, false
		}
		step, ok := tr[1].(hcl.TraverseAttr)
		if !ok {
			return cty.NilVal, false
		}
		root := tr.RootName()
		val, ok := m.staticObject(root, step.Name, depth)
		if !ok {
			return cty.NilVal, false
		}
		if scope[root] == nil {
			scope[root] = map[string]cty.Value{}
		}
		scope[root][step.Name] = val
	}
	ctx := &hcl.EvalContext{Variables: make(map[string]cty.Value, len(scope))}
	for root, vals := range scope {
		ctx.Variables[root] = cty.ObjectVal(vals)
	}
	val, diags := e.Value(ctx)
	return val, !diags.HasErrors()
}

func (m *Module) staticObject(root, name string, depth int) (cty.Value, bool) {
	switch root {
	case "var":
		// A child's variables come from its caller, and a root's may be set
		// from outside, but a default that is there is the best guess at load
		// time, and what both runtimes take when nothing else is given.
		if v := m.Variable(name); v != nil && v.HasDefault && m.Dir == "." {
			return v.Default, true
		}
	case "local":
		if l := m.Local(name); l != nil {
			return m.static(l.Expr, depth-1)
		}
	case "path":
		if name == "module" {
			return cty.StringVal(m.Dir), true
		}
		if name == "root" {
			return cty.StringVal("."), true
		}
	}
	return cty.NilVal, false
}
