package rules

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/flow"
	"github.com/captf-toolkit/captf/sdk/module"
)

// place is a resource in one of the scopes that its module has.
type place struct {
	scope *flow.Scope
	res   *module.Resource
}

// dependencies tells which resources a resource waits for.
type dependencies struct {
	c      *lint.Context
	direct map[place][]place
	all    map[place]map[place]bool
}

func newDependencies(c *lint.Context) *dependencies {
	return &dependencies{c: c, direct: map[place][]place{}, all: map[place]map[place]bool{}}
}

// of returns all that a resource depends on, directly or through others, itself
// included.
func (d *dependencies) of(p place) map[place]bool {
	if found, ok := d.all[p]; ok {
		return found
	}
	found := map[place]bool{p: true}
	for queue := []place{p}; len(queue) > 0; queue = queue[1:] {
		for _, next := range d.directly(queue[0]) {
			if !found[next] {
				found[next] = true
				queue = append(queue, next)
			}
		}
	}
	d.all[p] = found
	return found
}

// directly returns what a resource refers to, be it in depends_on, and what the
// calls that lead to it wait for.
func (d *dependencies) directly(p place) []place {
	if found, ok := d.direct[p]; ok {
		return found
	}
	d.direct[p] = nil
	var found []place
	for _, expr := range expressions(p.res) {
		found = append(found, d.behind(p.scope, expr)...)
	}
	found = append(found, named(p.scope, p.res.DependsOn)...)
	for s := p.scope; s.Call != nil; s = s.Up {
		found = append(found, named(s.Up, s.Call.DependsOn)...)
		for _, a := range []*hcl.Attribute{s.Call.Count, s.Call.ForEach, s.Call.Enabled} {
			if a != nil {
				found = append(found, d.behind(s.Up, a.Expr)...)
			}
		}
	}
	d.direct[p] = found
	return found
}

// behind returns the resources that the value of an expression depends on.
func (d *dependencies) behind(s *flow.Scope, expr hcl.Expression) []place {
	var found []place
	for _, leaf := range d.c.Flow.Leaves(s, expr) {
		if r := leaf.Resource(); r != nil {
			found = append(found, place{leaf.Scope, r})
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

// named returns the resources that the addresses in depends_on name: of a call
// those are all in the called module.
func named(s *flow.Scope, addresses []hcl.Traversal) []place {
	var found []place
	for _, t := range addresses {
		leaf := flow.Leaf{Scope: s, Traversal: t}
		if r := leaf.Resource(); r != nil {
			found = append(found, place{s, r})
			continue
		}
		if t.RootName() != "module" || len(t) < 2 {
			continue
		}
		child := s.Child(s.Module.Call(flow.LastName(t[1:2])))
		if child == nil {
			continue
		}
		for _, inner := range scopes(child) {
			for _, r := range inner.Module.Resources {
				found = append(found, place{inner, r})
			}
		}
	}
	return found
}
