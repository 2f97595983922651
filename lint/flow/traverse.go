package flow

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/captf-toolkit/captf/sdk/module"
)

// traversal evaluates a reference such as local.name or var.object.attribute.
func (a *Analyzer) traversal(s *Scope, t hcl.Traversal, depth int) Value {
	r := t.SourceRange()
	root := t.RootName()
	if v, ok := s.vars[root]; ok {
		return follow(v, t[1:])
	}
	name := attrName(t, 1)
	if name == "" {
		return unknown(r)
	}
	switch root {
	case "var":
		return follow(a.variable(s.own(), name, r, depth), t[2:])
	case "local":
		return follow(a.local(s.own(), name, r, depth), t[2:])
	case "module":
		return a.moduleOutput(s.own(), t, depth)
	case "path", "terraform", "tofu":
		return typed(cty.String, r)
	case "count":
		return typed(cty.Number, r)
	case "each", "self", "data", "ephemeral":
		return unknown(r)
	}
	return a.resource(s.own(), t, depth)
}

func (a *Analyzer) variable(s *Scope, name string, r hcl.Range, depth int) Value {
	v := s.Module.Variable(name)
	switch {
	case v == nil:
		return unknown(r)
	case s.Call == nil:
		return a.rootVariable(v, r)
	}
	value := null(v.DefRange)
	if v.HasDefault {
		value = FromCty(v.Default, v.RangeOf("default"))
	}
	if arg, ok := s.Call.Args[name]; ok {
		given := a.eval(s.Up, arg.Expr, depth)
		if v.Nullable || given.Kind != Null {
			value = given
		}
	} else if !v.HasDefault {
		return unknown(r)
	}
	return value.converted(v.Type, v.TypeDefaults)
}

func (a *Analyzer) local(s *Scope, name string, r hcl.Range, depth int) Value {
	if v, ok := s.locals[name]; ok {
		if v == nil { // a local that refers to itself; the runtimes refuse it
			return unknown(r)
		}
		return *v
	}
	l := s.Module.Local(name)
	if l == nil || l.Expr == nil {
		return unknown(r)
	}
	s.locals[name] = nil
	v := a.eval(s, l.Expr, depth)
	if a.steps > maxSteps {
		delete(s.locals, name)
		return unknown(r)
	}
	s.locals[name] = &v
	return v
}

// moduleOutput evaluates module.NAME.OUTPUT, or one of its instances.
func (a *Analyzer) moduleOutput(s *Scope, t hcl.Traversal, depth int) Value {
	r := t.SourceRange()
	call := s.Module.Call(attrName(t, 1))
	child := s.Child(call)
	if child == nil || depth > maxDepth {
		return unknown(r)
	}
	rest, ok := skipInstance(t[2:], call.Count != nil || call.ForEach != nil)
	if !ok || len(rest) == 0 {
		return unknown(r)
	}
	step, ok := rest[0].(hcl.TraverseAttr)
	if !ok {
		return unknown(r)
	}
	out := child.Module.Output(step.Name)
	if out == nil || out.Value == nil {
		return unknown(r)
	}
	return follow(a.eval(child, out.Value, depth), rest[1:])
}

// resource evaluates what is known of a resource: terraform_data hands its
// input through.
func (a *Analyzer) resource(s *Scope, t hcl.Traversal, depth int) Value {
	r := t.SourceRange()
	res := s.Module.Resource(t.RootName() + "." + attrName(t, 1))
	if res == nil || res.Type != "terraform_data" || res.Mode != module.Managed {
		return unknown(r)
	}
	rest, ok := skipInstance(t[2:], res.Count != nil || res.ForEach != nil)
	if !ok || len(rest) == 0 {
		return unknown(r)
	}
	step, ok := rest[0].(hcl.TraverseAttr)
	if !ok {
		return unknown(r)
	}
	switch step.Name {
	case "id":
		return typed(cty.String, r)
	case "input", "output":
	default:
		return unknown(r)
	}
	if IgnoresChanges(res, "input") {
		return unknown(r)
	}
	input := res.Body.Attributes()["input"]
	if input == nil {
		return null(res.DefRange)
	}
	return follow(a.eval(s, input.Expr, depth), rest[1:])
}

// IgnoresChanges tells that the resource ignores changes of the argument.
func IgnoresChanges(res *module.Resource, argument string) bool {
	return res.Lifecycle.IgnoreAll || slices.ContainsFunc(res.Lifecycle.IgnoreChanges, func(t hcl.Traversal) bool {
		return FirstName(t) == argument
	})
}

// FirstName returns the name that a traversal, absolute or relative, starts with.
func FirstName(t hcl.Traversal) string {
	if len(t) == 0 {
		return ""
	}
	switch step := t[0].(type) {
	case hcl.TraverseRoot:
		return step.Name
	case hcl.TraverseAttr:
		return step.Name
	}
	return ""
}

// LastName returns the last attribute name, or string index, of a traversal.
func LastName(t hcl.Traversal) string {
	for _, step := range slices.Backward(t) {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			return step.Name
		case hcl.TraverseAttr:
			return step.Name
		case hcl.TraverseIndex:
			if step.Key.Type() == cty.String && step.Key.IsKnown() && !step.Key.IsNull() {
				return step.Key.AsString()
			}
		}
	}
	return ""
}

// skipInstance drops the index of a repeated block; ok is false when the
// traversal is about all instances.
func skipInstance(t hcl.Traversal, repeated bool) (rest hcl.Traversal, ok bool) {
	if !repeated {
		return t, true
	}
	if len(t) == 0 {
		return nil, false
	}
	if _, isIndex := t[0].(hcl.TraverseIndex); !isIndex {
		return nil, false
	}
	return t[1:], true
}

func attrName(t hcl.Traversal, i int) string {
	if i >= len(t) {
		return ""
	}
	if a, ok := t[i].(hcl.TraverseAttr); ok {
		return a.Name
	}
	return ""
}

// follow takes the steps of a traversal from a value.
func follow(v Value, steps hcl.Traversal) Value {
	for _, step := range steps {
		r := step.SourceRange()
		switch step := step.(type) {
		case hcl.TraverseAttr:
			v = v.each(func(v Value) Value { return attribute(v, step.Name, r) })
		case hcl.TraverseIndex:
			v = index(v, known(step.Key, r), r)
		default:
			return unknown(r)
		}
	}
	return v
}

func attribute(v Value, name string, r hcl.Range) Value {
	switch v.Kind {
	case Object:
		if a, ok := v.Attributes[name]; ok {
			return a
		}
	case Map:
		return *v.Item
	case Typed:
		switch {
		case v.Type.IsObjectType() && v.Type.HasAttribute(name):
			return typed(v.Type.AttributeType(name), r)
		case v.Type.IsMapType():
			return typed(v.Type.ElementType(), r)
		}
	}
	return unknown(r)
}

func index(v, key Value, r hcl.Range) Value {
	return v.each(func(v Value) Value {
		if key.Kind == Known && key.Known.Type() == cty.String {
			return attribute(v, key.Known.AsString(), r)
		}
		if v.Kind == Tuple && key.Kind == Known && key.Known.Type() == cty.Number {
			if i, acc := key.Known.AsBigFloat().Int64(); acc == 0 && i >= 0 && i < int64(len(v.Items)) {
				return v.Items[i]
			}
			return unknown(r)
		}
		return v.element()
	})
}
