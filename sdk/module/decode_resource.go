package module

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
)

func (d *decoder) resource(b *hcl.Block, mode Mode) *Resource {
	s, fixed := resourceSchema, resourceFixed
	if mode == Data {
		s, fixed = dataSchema, dataFixed
	}
	content, rest := d.partial(string(mode), b.Body, s)
	attrs := content.Attributes
	r := &Resource{
		Mode:      mode,
		Type:      b.Labels[0],
		Name:      b.Labels[1],
		Count:     attrs["count"],
		ForEach:   attrs["for_each"],
		DependsOn: d.traversals(attrs["depends_on"]),
	}
	d.checkName(b, 0, b.Type+" type")
	d.checkName(b, 1, b.Type+" name")
	if a := attrs["provider"]; a != nil {
		r.Provider = d.providerRef(a.Expr)
	}
	bodies := []hcl.Body{rest}
	var lifecycle, connection, escape *hcl.Block
	for _, inner := range content.Blocks {
		switch {
		case inner.Type == "lifecycle":
			if d.once(&lifecycle, inner) {
				d.lifecycle(r, inner)
			}
		case inner.Type == "_":
			if d.once(&escape, inner) {
				bodies = append(bodies, inner.Body)
			}
		case inner.Type == "locals":
			d.reserved(inner, b.Type)
		case mode != Managed:
			d.fail(inner.DefRange, "Unsupported block", "only resource blocks have %q; remove it", inner.Type)
		case inner.Type == "connection":
			if d.once(&connection, inner) {
				r.Connection = newBlock(inner, nil, newBody(nil, inner.Body))
			}
		case inner.Type == "provisioner":
			if p := d.provisioner(inner); p != nil {
				r.Provisioners = append(r.Provisioners, p)
			}
		}
	}
	d.single(r.Count, r.ForEach, r.Enabled)
	if r.Connection != nil {
		for _, p := range r.Provisioners {
			if p.Destroy {
				d.onlySelf(r.Connection.Body)
				break
			}
		}
	}
	r.Block = *newBlock(b, attrs, newBody(fixed, bodies...))
	return r
}

func (d *decoder) reserved(inner *hcl.Block, in string) {
	d.fail(inner.TypeRange, "Reserved block type", "%q inside a %s block is reserved by the runtimes; remove it", inner.Type, in)
}

func (d *decoder) lifecycle(r *Resource, b *hcl.Block) {
	content := d.content("lifecycle", b.Body, lifecycleSchema)
	attrs := content.Attributes
	lc := &r.Lifecycle
	lc.DefRange = b.DefRange
	lc.Attributes = attrs
	if lc.Attributes == nil {
		lc.Attributes = hcl.Attributes{}
	}
	r.Enabled = attrs["enabled"]
	if r.Mode != Managed {
		for _, a := range sortedAttributes(attrs) {
			if a.Name != "enabled" {
				d.fail(a.NameRange, "Unsupported lifecycle argument", "only resource blocks have %q; remove it", a.Name)
			}
		}
	} else {
		d.managedLifecycle(lc, attrs)
	}
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "precondition", "postcondition":
			c := d.condition(inner)
			d.noSelfReference(r, inner.Type, c)
			if inner.Type == "precondition" {
				lc.Preconditions = append(lc.Preconditions, c)
			} else {
				lc.Postconditions = append(lc.Postconditions, c)
			}
		}
	}
}

func (d *decoder) managedLifecycle(lc *Lifecycle, attrs hcl.Attributes) {
	lc.CreateBeforeDestroy = d.flag(attrs, "create_before_destroy", false)
	if a := attrs["prevent_destroy"]; a != nil {
		lc.PreventDestroy = a
		if isConstant(a.Expr) {
			d.flag(attrs, a.Name, false)
		} else {
			d.feature("prevent-destroy-expression", a.Expr.Range())
		}
	}
	if a := attrs["replace_triggered_by"]; a != nil {
		lc.ReplaceTriggeredBy = d.triggers(a)
	}
	if a := attrs["ignore_changes"]; a != nil {
		d.ignoreChanges(lc, a)
	}
}

func (d *decoder) ignoreChanges(lc *Lifecycle, a *hcl.Attribute) {
	if hcl.ExprAsKeyword(a.Expr) == "all" {
		lc.IgnoreAll = true
		return
	}
	exprs, diags := hcl.ExprList(a.Expr)
	d.diags = append(d.diags, diags...)
	for _, e := range exprs {
		if val, diags := e.Value(nil); !diags.HasErrors() && val.Type() == cty.String && !val.IsNull() && val.IsKnown() && val.AsString() == "*" {
			d.fail(e.Range(), "Invalid wildcard", "write ignore_changes = all")
			continue
		}
		tr, diags := hcl.RelTraversalForExpr(d.unquote(e))
		d.diags = append(d.diags, diags...)
		if len(tr) > 0 {
			lc.IgnoreChanges = append(lc.IgnoreChanges, tr)
		}
	}
}

// triggers decodes replace_triggered_by.
func (d *decoder) triggers(a *hcl.Attribute) []hcl.Expression {
	exprs, diags := hcl.ExprList(a.Expr)
	d.diags = append(d.diags, diags...)
	out := make([]hcl.Expression, 0, len(exprs))
	for _, e := range exprs {
		if hcljson.IsJSONExpression(e) {
			parsed, ok := d.jsonExpression(e)
			if !ok {
				continue
			}
			e = parsed
		}
		out = append(out, e)
		d.checkTrigger(e)
	}
	return out
}

// checkTrigger applies the rule for elements of replace_triggered_by.
func (d *decoder) checkTrigger(e hcl.Expression) {
	objects := 0
	for _, tr := range e.Variables() {
		switch tr.RootName() {
		case "count", "each":
		case "var", "local", "module", "path", "self", "terraform", "tofu", "output":
			d.fail(e.Range(), "Invalid trigger", "replace_triggered_by takes resources, count.index and each.key only; for another value name a terraform_data resource that holds it")
			return
		default:
			objects++
		}
	}
	if objects != 1 {
		d.fail(e.Range(), "Invalid trigger", "each element of replace_triggered_by names exactly one resource or an argument of it")
	}
}

// jsonExpression parses a string in JSON syntax that holds an expression.
func (d *decoder) jsonExpression(e hcl.Expression) (hcl.Expression, bool) {
	if d.deepExpression(e) {
		return nil, false
	}
	val, diags := e.Value(nil)
	d.diags = append(d.diags, diags...)
	if diags.HasErrors() {
		return nil, false
	}
	if val.Type() != cty.String || val.IsNull() || !val.IsKnown() {
		d.fail(e.Range(), "Unsuitable value", "write a string that holds a reference")
		return nil, false
	}
	parsed, diags := hclsyntax.ParseExpression([]byte(val.AsString()), e.Range().Filename, e.Range().Start)
	d.diags = append(d.diags, diags...)
	return parsed, !diags.HasErrors()
}

// noSelfReference reports a condition that refers to its own resource.
func (d *decoder) noSelfReference(r *Resource, typ string, c *Condition) {
	path := []string{r.Type, r.Name}
	switch r.Mode {
	case Data:
		path = []string{"data", r.Type, r.Name}
	case Ephemeral:
		path = []string{"ephemeral", r.Type, r.Name}
	}
	for _, e := range []hcl.Expression{c.Condition, c.ErrorMessage} {
		if e == nil {
			continue
		}
		for _, tr := range e.Variables() {
			if refersTo(tr, path...) {
				d.fail(e.Range(), "Invalid reference in "+typ, "%s cannot refer to itself by its address; use self in a postcondition", r.Address())
				break
			}
		}
	}
}

// removedProvisioners lists those that both runtimes dropped.
var removedProvisioners = map[string]bool{"chef": true, "habitat": true, "puppet": true, "salt-masterless": true}

func (d *decoder) provisioner(b *hcl.Block) *Provisioner {
	content, rest := d.partial("provisioner", b.Body, provisionerSchema)
	p := &Provisioner{Type: b.Labels[0]}
	if removedProvisioners[p.Type] {
		d.fail(b.LabelRanges[0], "Removed provisioner", "neither runtime has the %q provisioner any more; remove it", p.Type)
		return nil
	}
	p.Destroy = d.keyword(content.Attributes["when"], "create", "destroy") == "destroy"
	p.Continue = d.keyword(content.Attributes["on_failure"], "fail", "continue") == "continue"
	bodies := []hcl.Body{rest}
	var escape, connection *hcl.Block
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "_":
			if d.once(&escape, inner) {
				bodies = append(bodies, inner.Body)
			}
		case "connection":
			if d.once(&connection, inner) {
				p.Connection = newBlock(inner, nil, newBody(nil, inner.Body))
			}
		default:
			d.reserved(inner, "provisioner")
		}
	}
	p.Block = *newBlock(b, content.Attributes, newBody(provisionerFixed, bodies...))
	if p.Destroy {
		d.onlySelf(newBody(provisionerFixed, rest))
		if p.Connection != nil {
			d.onlySelf(p.Connection.Body)
		}
	}
	return p
}

// keyword decodes an argument that takes one of a few bare words; the first is
// the default.
func (d *decoder) keyword(a *hcl.Attribute, words ...string) string {
	if a == nil {
		return words[0]
	}
	got := hcl.ExprAsKeyword(d.unquote(a.Expr))
	for _, w := range words {
		if got == w {
			return w
		}
	}
	d.fail(a.Expr.Range(), "Invalid keyword", "%s is one of %q", a.Name, words)
	return words[0]
}

// onlySelf applies the rule that what runs on destroy refers to nothing else.
func (d *decoder) onlySelf(body Body) {
	for _, a := range sortedAttributes(body.Attributes()) {
		for _, tr := range a.Expr.Variables() {
			if !selfReference(tr) {
				d.fail(a.Expr.Range(), "Invalid reference in a destroy provisioner",
					"what runs on destroy can refer to self, count.index and each.key only")
			}
		}
	}
}

func selfReference(tr hcl.Traversal) bool {
	switch tr.RootName() {
	case "self", "path", "terraform", "tofu":
		return true
	case "count":
		return len(tr) == 2 && refersTo(tr, "count", "index")
	case "each":
		return len(tr) == 2 && refersTo(tr, "each", "key")
	}
	return false
}

// providerRef decodes a reference to a provider configuration; nil if invalid.
func (d *decoder) providerRef(e hcl.Expression) *ProviderRef {
	ref := &ProviderRef{Range: e.Range()}
	if hcljson.IsJSONExpression(e) {
		parsed, ok := d.jsonExpression(e)
		if !ok {
			return nil
		}
		e = parsed
	}
	if index, ok := e.(*hclsyntax.IndexExpr); ok {
		ref.Key = index.Key
		e = index.Collection
	}
	tr, diags := hcl.AbsTraversalForExpr(d.unquote(e))
	if diags.HasErrors() || len(tr) == 0 || len(tr) > 3 || (ref.Key != nil && len(tr) > 2) {
		d.fail(e.Range(), "Invalid provider reference", "write a provider's local name, or name.alias, without quotes")
		return nil
	}
	ref.Name = tr.RootName()
	if !d.providerName(ref.Name, tr[0].SourceRange()) {
		return nil
	}
	if len(tr) > 1 {
		alias, ok := tr[1].(hcl.TraverseAttr)
		if !ok {
			d.fail(tr[1].SourceRange(), "Invalid provider reference", "the provider's name stands alone or is followed by a period and an alias")
			return nil
		}
		ref.Alias = alias.Name
	}
	if len(tr) > 2 {
		key, ok := tr[2].(hcl.TraverseIndex)
		if !ok {
			d.fail(tr[2].SourceRange(), "Invalid provider reference", "only an instance key in brackets can follow the alias")
			return nil
		}
		ref.Key = hcl.StaticExpr(key.Key, tr.SourceRange())
	}
	if ref.Key != nil {
		if ref.Alias == "" {
			d.fail(ref.Range, "Invalid provider reference", "an instance key needs an alias: name.alias[key]")
			return nil
		}
		d.feature("provider.for_each", ref.Range)
	}
	return ref
}
