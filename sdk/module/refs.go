package module

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// OwnerKind is the kind of declaration that an expression belongs to.
type OwnerKind string

// The kinds of owner.
const (
	OwnerVariable OwnerKind = "variable"
	OwnerLocal    OwnerKind = "local"
	OwnerOutput   OwnerKind = "output"
	OwnerResource OwnerKind = "resource"
	OwnerCall     OwnerKind = "module"
	OwnerProvider OwnerKind = "provider"
	OwnerCheck    OwnerKind = "check"
	OwnerSettings OwnerKind = "terraform"
	OwnerImport   OwnerKind = "import"
)

// Owner is the declaration that an expression belongs to. Of the pointers, the
// one that Kind tells is set.
type Owner struct {
	Kind     OwnerKind
	Variable *Variable
	Local    *Local
	Output   *Output
	Resource *Resource
	Call     *ModuleCall
	Provider *Provider
	Check    *Check
	// Path names the nested blocks and the argument, outermost first, such as
	// ["value"], ["depends_on"], ["lifecycle", "precondition", "condition"] or,
	// for a module call, the callee's variable.
	Path []string
}

// Argument returns the first element of the path: the argument or nested block
// directly inside the declaration.
func (o Owner) Argument() string {
	if len(o.Path) == 0 {
		return ""
	}
	return o.Path[0]
}

// Reference is one place where an expression refers to a named object.
type Reference struct {
	// Traversal is the path that is followed, starting with the root name, such
	// as var, local, module, or a resource type.
	Traversal hcl.Traversal
	// Expr is the whole expression of the argument.
	Expr  hcl.Expression
	Owner Owner
}

// Range returns where the reference stands.
func (r Reference) Range() hcl.Range { return r.Traversal.SourceRange() }

// Name returns the second part of the traversal if it is an attribute: the
// variable's name in var.name.
func (r Reference) Name() string {
	if len(r.Traversal) < 2 {
		return ""
	}
	if a, ok := r.Traversal[1].(hcl.TraverseAttr); ok {
		return a.Name
	}
	return ""
}

// Is tells whether the reference starts with root.name, such as "var" and
// "captf_tags".
func (r Reference) Is(root, name string) bool {
	return r.Traversal.RootName() == root && r.Name() == name
}

// References returns every reference in the module, in the order of the lists
// of declarations. Left out are what only look like references: types, relative
// paths in ignore_changes, provider configurations, the iterators of dynamic
// blocks, and addresses in moved, removed and import blocks. It is computed on
// each call.
func (m *Module) References() []Reference {
	c := &collector{}
	for _, v := range m.Variables {
		c.owner = Owner{Kind: OwnerVariable, Variable: v}
		c.conditions(v.Validations)
	}
	for _, l := range m.Locals {
		c.owner = Owner{Kind: OwnerLocal, Local: l}
		c.expr(l.Expr, l.Name)
	}
	for _, o := range m.Outputs {
		c.owner = Owner{Kind: OwnerOutput, Output: o}
		c.expr(o.Value, "value")
		c.traversals(o.Attr("depends_on"), o.DependsOn)
		c.conditions(o.Preconditions)
	}
	for _, r := range m.Resources {
		c.owner = Owner{Kind: OwnerResource, Resource: r}
		c.resource(r)
	}
	for _, mc := range m.Calls {
		c.owner = Owner{Kind: OwnerCall, Call: mc}
		c.attrs(mc.Attr("source"), mc.Version, mc.Count, mc.ForEach)
		c.attr(mc.Enabled, "lifecycle")
		c.traversals(mc.Attr("depends_on"), mc.DependsOn)
		c.body(mc.Body)
	}
	for _, p := range m.Providers {
		c.owner = Owner{Kind: OwnerProvider, Provider: p}
		c.attrs(p.Attr("for_each"))
		c.body(p.Body)
	}
	for _, ch := range m.Checks {
		c.owner = Owner{Kind: OwnerCheck, Check: ch}
		c.conditions(ch.Asserts)
	}
	for _, list := range [][]*Block{m.Backends, m.Clouds, m.Settings} {
		for _, b := range list {
			if b.Type == "terraform" || b.Type == "language" {
				continue
			}
			c.owner = Owner{Kind: OwnerSettings}
			c.body(b.Body, b.Type)
		}
	}
	for _, b := range m.Imports {
		c.owner = Owner{Kind: OwnerImport}
		c.attrs(b.Attr("id"), b.Attr("identity"), b.Attr("for_each"))
	}
	return c.out
}

// collector gathers the references of one owner after the other.
type collector struct {
	owner Owner
	out   []Reference
}

func (c *collector) add(tr hcl.Traversal, e hcl.Expression, path []string) {
	owner := c.owner
	owner.Path = path
	c.out = append(c.out, Reference{Traversal: tr, Expr: e, Owner: owner})
}

func (c *collector) expr(e hcl.Expression, path ...string) {
	c.scoped(e, nil, path)
}

// scoped collects from an expression inside dynamic blocks, whose iterators are
// no references.
func (c *collector) scoped(e hcl.Expression, iterators map[string]bool, path []string) {
	if e == nil {
		return
	}
	for _, tr := range e.Variables() {
		if !iterators[tr.RootName()] {
			c.add(tr, e, path)
		}
	}
}

func (c *collector) attr(a *hcl.Attribute, path ...string) {
	if a != nil {
		c.expr(a.Expr, append(path, a.Name)...)
	}
}

func (c *collector) attrs(list ...*hcl.Attribute) {
	for _, a := range list {
		c.attr(a)
	}
}

// traversals adds the references of a depends_on argument.
func (c *collector) traversals(a *hcl.Attribute, list []hcl.Traversal) {
	for _, tr := range list {
		c.add(tr, a.Expr, []string{a.Name})
	}
}

func (c *collector) conditions(list []*Condition, path ...string) {
	for _, cond := range list {
		at := slices.Concat(path, []string{cond.Type})
		c.expr(cond.Condition, append(at[:len(at):len(at)], "condition")...)
		c.expr(cond.ErrorMessage, append(at[:len(at):len(at)], "error_message")...)
	}
}

func (c *collector) resource(r *Resource) {
	c.attrs(r.Count, r.ForEach)
	c.traversals(r.Attr("depends_on"), r.DependsOn)
	c.body(r.Body)
	lc := &r.Lifecycle
	c.attr(lc.Attributes["prevent_destroy"], "lifecycle")
	c.attr(lc.Attributes["destroy"], "lifecycle")
	c.attr(r.Enabled, "lifecycle")
	for _, e := range lc.ReplaceTriggeredBy {
		c.expr(e, "lifecycle", "replace_triggered_by")
	}
	c.conditions(lc.Preconditions, "lifecycle")
	c.conditions(lc.Postconditions, "lifecycle")
	for _, p := range r.Provisioners {
		c.body(p.Body, "provisioner")
		if p.Connection != nil {
			c.body(p.Connection.Body, "provisioner", "connection")
		}
	}
	if r.Connection != nil {
		c.body(r.Connection.Body, "connection")
	}
}

func (c *collector) body(b Body, path ...string) { c.scopedBody(b, nil, path) }

func (c *collector) scopedBody(b Body, iterators map[string]bool, path []string) {
	for _, a := range sortedAttributes(b.Attributes()) {
		c.scoped(a.Expr, iterators, append(path[:len(path):len(path)], a.Name))
	}
	for _, nb := range b.Blocks() {
		if nb.Type == "dynamic" && len(nb.Labels) == 1 {
			c.dynamic(nb, iterators, path)
			continue
		}
		c.scopedBody(nb.Body, iterators, append(path[:len(path):len(path)], nb.Type))
	}
}

// dynamic collects from a dynamic block under the name of the blocks it makes.
func (c *collector) dynamic(b *Block, iterators map[string]bool, path []string) {
	path = append(path[:len(path):len(path)], b.Labels[0])
	inner := map[string]bool{b.Labels[0]: true}
	attrs := b.Body.Attributes()
	if a := attrs["iterator"]; a != nil {
		delete(inner, b.Labels[0])
		inner[hcl.ExprAsKeyword(a.Expr)] = true
	}
	for name := range iterators {
		inner[name] = true
	}
	for _, a := range sortedAttributes(attrs) {
		switch a.Name {
		case "iterator":
		case "labels":
			c.scoped(a.Expr, inner, path)
		default:
			c.scoped(a.Expr, iterators, path)
		}
	}
	for _, content := range b.Body.Blocks() {
		c.scopedBody(content.Body, inner, path)
	}
}
