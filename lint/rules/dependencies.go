package rules

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/flow"
	"github.com/captf-toolkit/captf/sdk/module"
)

// place is a resource in one of the scopes that its module has. Without a resource
// it stands for all resources in the scope, or, with call, for what the call that
// leads to the scope waits for.
type place struct {
	scope *flow.Scope
	res   *module.Resource
	call  bool
}

// dependencies tells which resources a resource waits for.
type dependencies struct {
	c      *lint.Context
	scopes map[*flow.Scope]bool
	direct map[place][]place
}

func newDependencies(c *lint.Context, all []*flow.Scope) *dependencies {
	d := &dependencies{c: c, scopes: map[*flow.Scope]bool{}, direct: map[place][]place{}}
	for _, s := range all {
		d.scopes[s] = true
	}
	return d
}

// nearest looks through all that a resource depends on, directly or through others,
// for the first that is wanted. Answers are kept in known, so that each resource is
// looked at once. Resources in a cycle, which the runtimes refuse, may not be found.
func (d *dependencies) nearest(p place, known map[place]*place, wanted func(place) bool) *place {
	if found, ok := known[p]; ok {
		return found
	}
	known[p] = nil
	for _, next := range d.directly(p) {
		if next == p {
			continue
		}
		found := &next
		if !wanted(next) {
			found = d.nearest(next, known, wanted)
		}
		if found != nil {
			known[p] = found
			return found
		}
	}
	return nil
}

// directly returns what a resource refers to, be it in depends_on, and what the
// calls that lead to it wait for.
func (d *dependencies) directly(p place) []place {
	found, ok := d.direct[p]
	switch {
	case ok:
		return found
	case p.call:
		found = d.ofCall(p.scope)
	case p.res == nil:
		found = d.within(p.scope)
	default:
		for _, expr := range expressions(p.res) {
			found = append(found, d.behind(p.scope, expr)...)
		}
		found = append(found, d.named(p.scope, p.res.DependsOn)...)
		if p.scope.Call != nil {
			found = append(found, place{scope: p.scope, call: true})
		}
	}
	d.direct[p] = found
	return found
}

// ofCall returns what the call that leads to a scope waits for.
func (d *dependencies) ofCall(s *flow.Scope) []place {
	found := d.named(s.Up, s.Call.DependsOn)
	for _, a := range []*hcl.Attribute{s.Call.Count, s.Call.ForEach, s.Call.Enabled} {
		if a != nil {
			found = append(found, d.behind(s.Up, a.Expr)...)
		}
	}
	if s.Up.Call != nil {
		found = append(found, place{scope: s.Up, call: true})
	}
	return found
}

// within returns the resources in a scope, and the scopes of the calls in it.
func (d *dependencies) within(s *flow.Scope) []place {
	var found []place
	for _, r := range s.Module.Resources {
		found = append(found, place{scope: s, res: r})
	}
	for _, call := range s.Module.Calls {
		if child := s.Child(call); child != nil && d.scopes[child] {
			found = append(found, place{scope: child})
		}
	}
	return found
}

// behind returns the resources that the value of an expression depends on.
func (d *dependencies) behind(s *flow.Scope, expr hcl.Expression) []place {
	var found []place
	for _, leaf := range d.c.Flow.Leaves(s, expr) {
		if r := leaf.Resource(); r != nil {
			found = append(found, place{scope: leaf.Scope, res: r})
		}
	}
	return found
}

// expressions returns the expressions of a resource whose references order it
// behind others.
func expressions(r *module.Resource) []hcl.Expression {
	var out []hcl.Expression
	add := func(a *hcl.Attribute) {
		if a != nil {
			out = append(out, a.Expr)
		}
	}
	walk := func(b module.Body) { b.Walk(func(_ []string, a *hcl.Attribute) { add(a) }) }
	walk(r.Body)
	add(r.Count)
	add(r.ForEach)
	add(r.Enabled)
	for _, p := range r.Provisioners {
		walk(p.Body)
	}
	for _, condition := range r.Lifecycle.Preconditions {
		out = append(out, condition.Condition)
	}
	return append(out, r.Lifecycle.ReplaceTriggeredBy...)
}

// named returns the resources, and the scopes of calls, that the addresses in
// depends_on name.
func (d *dependencies) named(s *flow.Scope, addresses []hcl.Traversal) []place {
	var found []place
	for _, t := range addresses {
		leaf := flow.Leaf{Scope: s, Traversal: t}
		if r := leaf.Resource(); r != nil {
			found = append(found, place{scope: s, res: r})
			continue
		}
		if t.RootName() != "module" || len(t) < 2 {
			continue
		}
		if child := s.Child(s.Module.Call(flow.LastName(t[1:2]))); child != nil && d.scopes[child] {
			found = append(found, place{scope: child})
		}
	}
	return found
}
