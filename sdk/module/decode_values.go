package module

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

func (d *decoder) variable(b *hcl.Block) *Variable {
	content := d.content("variable", b.Body, variableSchema)
	attrs := content.Attributes
	v := &Variable{
		Block: *newBlock(b, attrs, newBody(nil, b.Body)),
		Name:  b.Labels[0],
		Type:  cty.DynamicPseudoType,
	}
	d.checkName(b, 0, "variable name")
	if moduleFixed[v.Name] && v.Name != "_" {
		d.fail(b.LabelRanges[0], "Reserved variable name",
			"%q has a meaning of its own in module blocks, so that no caller could set it; choose another name", v.Name)
	}
	v.Description = d.text(attrs, "description")
	v.Sensitive = d.flag(attrs, "sensitive", false)
	v.Ephemeral = d.flag(attrs, "ephemeral", false)
	v.Nullable = d.flag(attrs, "nullable", true)
	v.Deprecated = d.deprecation(attrs)
	d.flag(attrs, "const", false)
	if a := attrs["type"]; a != nil {
		v.HasType = true
		v.Type, v.TypeDefaults = d.typeConstraint(a)
	}
	d.defaultValue(v)
	for _, inner := range content.Blocks {
		c := d.condition(inner)
		v.Validations = append(v.Validations, c)
		d.checkValidation(v.Name, c)
	}
	return v
}

// defaultValue evaluates the default of a variable whose type is known.
func (d *decoder) defaultValue(v *Variable) {
	a := v.Attributes["default"]
	if a == nil {
		return
	}
	v.HasDefault = true
	v.Default = cty.DynamicVal
	val, ok := d.value(a)
	if !ok {
		return
	}
	// In an override file the type may stand in the base, so that conversion
	// waits for the merge.
	if v.HasType || !d.override {
		converted, err := convertDefault(val, v.Type, v.TypeDefaults)
		if err != nil {
			d.fail(a.Expr.Range(), "Invalid default value", "the default of variable %q does not fit its type: %s", v.Name, err)
			return
		}
		val = converted
	}
	if val.IsNull() && !v.Nullable {
		d.fail(a.Expr.Range(), "Invalid default value",
			"variable %q has nullable = false, so that its default cannot be null; remove one of both", v.Name)
	}
	v.Default = val
}

func convertDefault(val cty.Value, typ cty.Type, defaults *typeexpr.Defaults) (cty.Value, error) {
	if defaults != nil && !val.IsNull() {
		val = defaults.Apply(val)
	}
	return convert.Convert(val, typ)
}

// typeConstraint decodes the type argument of a variable.
func (d *decoder) typeConstraint(a *hcl.Attribute) (cty.Type, *typeexpr.Defaults) {
	if isQuoted(a.Expr) {
		d.fail(a.Expr.Range(), "Quoted type",
			"a type in quotes is the syntax of Terraform 0.11; remove the quotes, and write list(string) for \"list\" and map(string) for \"map\"")
		return cty.DynamicPseudoType, nil
	}
	if d.deepExpression(a.Expr) {
		return cty.DynamicPseudoType, nil
	}
	// Without an element type these mean "any".
	switch hcl.ExprAsKeyword(a.Expr) {
	case "list":
		return cty.List(cty.DynamicPseudoType), nil
	case "map":
		return cty.Map(cty.DynamicPseudoType), nil
	}
	typ, defaults, diags := typeexpr.TypeConstraintWithDefaults(a.Expr)
	d.diags = append(d.diags, diags...)
	if diags.HasErrors() {
		return cty.DynamicPseudoType, nil
	}
	if hasOptional(typ) {
		d.feature("optional", a.Expr.Range())
	}
	return typ, defaults
}

func hasOptional(typ cty.Type) bool {
	switch {
	case typ.IsObjectType():
		if len(typ.OptionalAttributes()) > 0 {
			return true
		}
		for _, t := range typ.AttributeTypes() {
			if hasOptional(t) {
				return true
			}
		}
	case typ.IsCollectionType():
		return hasOptional(typ.ElementType())
	case typ.IsTupleType():
		if slices.ContainsFunc(typ.TupleElementTypes(), hasOptional) {
			return true
		}
	}
	return false
}

// checkValidation applies the rule that a validation checks its own variable.
func (d *decoder) checkValidation(name string, c *Condition) {
	if c.Condition == nil {
		return
	}
	refs := c.Condition.Variables()
	if len(refs) == 0 {
		return // was reported as constant
	}
	own, other := false, false
	for _, tr := range refs {
		if refersTo(tr, "var", name) {
			own = true
		} else {
			other = true
		}
	}
	if !own {
		d.fail(c.Condition.Range(), "Validation of something else",
			"the condition does not refer to var.%s, which it is to check", name)
	}
	if other {
		d.feature("validation-reference", c.Condition.Range())
	}
}

// refersTo tells whether a traversal starts with the given names.
func refersTo(tr hcl.Traversal, names ...string) bool {
	if len(tr) < len(names) || tr.IsRelative() || tr.RootName() != names[0] {
		return false
	}
	for i, n := range names[1:] {
		step, ok := tr[i+1].(hcl.TraverseAttr)
		if !ok || step.Name != n {
			return false
		}
	}
	return true
}

func (d *decoder) output(b *hcl.Block) *Output {
	s := outputSchema
	if d.override {
		s = outputOverrideSchema
	}
	content := d.content("output", b.Body, s)
	attrs := content.Attributes
	o := &Output{
		Block: *newBlock(b, attrs, newBody(nil, b.Body)),
		Name:  b.Labels[0],
	}
	d.checkName(b, 0, "output name")
	o.Description = d.text(attrs, "description")
	o.Sensitive = d.flag(attrs, "sensitive", false)
	o.Ephemeral = d.flag(attrs, "ephemeral", false)
	o.Deprecated = d.deprecation(attrs)
	o.DependsOn = d.traversals(attrs["depends_on"])
	if a := attrs["value"]; a != nil {
		o.Value = a.Expr
	}
	if a := attrs["type"]; a != nil {
		d.typeConstraint(a)
	}
	for _, inner := range content.Blocks {
		if inner.Type == "postcondition" {
			d.fail(inner.TypeRange, "Misplaced postcondition", "outputs have preconditions only; rename it")
			continue
		}
		o.Preconditions = append(o.Preconditions, d.condition(inner))
	}
	return o
}

func (d *decoder) localValues(b *hcl.Block) []*Local {
	attrs, diags := b.Body.JustAttributes()
	d.diags = append(d.diags, diags...)
	out := make([]*Local, 0, len(attrs))
	for _, a := range sortedAttributes(attrs) {
		if !hclsyntax.ValidIdentifier(a.Name) {
			d.fail(a.NameRange, "Invalid local value name", "%q is not a name; %s", a.Name, nameRule)
		}
		out = append(out, &Local{Name: a.Name, Expr: a.Expr, Range: a.Range, NameRange: a.NameRange})
	}
	return out
}

func (d *decoder) check(b *hcl.Block) {
	if d.override {
		d.fail(b.DefRange, "Override of a check block", "override files cannot hold check blocks; move it into another file")
		return
	}
	content := d.content("check", b.Body, checkSchema)
	c := &Check{Block: *newBlock(b, nil, newBody(checkFixed, b.Body)), Name: b.Labels[0]}
	d.checkName(b, 0, "check name")
	var seen *hcl.Block
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "data":
			if !d.once(&seen, inner) {
				continue
			}
			r := d.resource(inner, Data)
			r.InCheck = c
			for _, a := range []*hcl.Attribute{r.Count, r.ForEach} {
				if a != nil {
					d.fail(a.NameRange, "Unsupported argument", "a data block inside a check block cannot repeat; remove %q", a.Name)
				}
			}
			if r.Lifecycle.Attributes != nil {
				d.fail(r.Lifecycle.DefRange, "Unsupported block", "a data block inside a check block has no lifecycle; remove that block")
			}
			c.Data = r
			d.out.resources = append(d.out.resources, r)
		case "assert":
			c.Asserts = append(c.Asserts, d.condition(inner))
		}
	}
	if len(c.Asserts) == 0 {
		d.fail(b.DefRange, "Check without an assertion", "add at least one assert block")
	}
	d.out.checks = append(d.out.checks, c)
}
