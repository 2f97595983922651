package module

import (
	version "github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

func (d *decoder) terraform(b *hcl.Block) {
	content := d.content("terraform", b.Body, terraformSchema)
	attrs := content.Attributes
	d.out.settings = append(d.out.settings, newBlock(b, attrs, newBody(nil, b.Body)))
	if a := attrs["required_version"]; a != nil {
		d.runtimeVersion(a)
	}
	if a := attrs["experiments"]; a != nil {
		if list, diags := hcl.ExprList(a.Expr); diags.HasErrors() || len(list) > 0 {
			d.feature("experiments", a.Range)
		}
	}
	if a := attrs["language"]; a != nil && hcl.ExprAsKeyword(a.Expr) != "TF2021" {
		d.feature("language-edition", a.Range)
	}
	for _, inner := range content.Blocks {
		block := newBlock(inner, nil, newBody(nil, inner.Body))
		switch inner.Type {
		case "backend":
			d.out.backends = append(d.out.backends, block)
		case "cloud":
			d.out.clouds = append(d.out.clouds, block)
		case "required_providers":
			d.requiredProviders(inner, block)
		default: // provider_meta, encryption
			if inner.Type == "provider_meta" {
				d.providerMeta(inner)
			}
			d.out.settings = append(d.out.settings, block)
		}
	}
}

func (d *decoder) providerMeta(b *hcl.Block) {
	attrs, diags := b.Body.JustAttributes()
	d.diags = append(d.diags, diags...)
	for _, a := range sortedAttributes(attrs) {
		_, diags := a.Expr.Value(nil)
		d.diags = append(d.diags, diags...)
	}
	d.providerName(b.Labels[0], b.DefRange)
}

// language decodes OpenTofu's block of that name.
func (d *decoder) language(b *hcl.Block) {
	if d.override {
		d.fail(b.DefRange, "Override of a language block", "override files cannot hold language blocks; move it into another file")
		return
	}
	content := d.content("language", b.Body, languageSchema)
	d.out.settings = append(d.out.settings, newBlock(b, content.Attributes, newBody(nil, b.Body)))
	if a := content.Attributes["edition"]; a != nil && hcl.ExprAsKeyword(a.Expr) != "tofu2024" {
		d.fail(a.Expr.Range(), "Unknown language edition", "the only edition is tofu2024, which is the default; remove the argument")
	}
	if a := content.Attributes["experiments"]; a != nil {
		list, diags := hcl.ExprList(a.Expr)
		d.diags = append(d.diags, diags...)
		for _, e := range list {
			d.fail(e.Range(), "Unknown experiment", "OpenTofu has no language experiment of this name; remove it")
		}
	}
	var seen *hcl.Block
	for _, inner := range content.Blocks {
		cw, _ := d.partial("compatible_with", inner.Body, compatibleWithSchema)
		a := cw.Attributes["opentofu"]
		if a == nil || !d.once(&seen, inner) {
			continue
		}
		d.runtimeVersion(a)
	}
}

// runtimeVersion decodes a constraint on the runtime's own version.
func (d *decoder) runtimeVersion(a *hcl.Attribute) {
	raw, constraints, ok := d.constraint(a)
	if !ok {
		return
	}
	for _, c := range constraints {
		if c.Prerelease() {
			d.fail(a.Expr.Range(), "Invalid version constraint", "%s names a prerelease, which the runtimes refuse here; remove that part", c)
		}
	}
	d.out.versions = append(d.out.versions, &VersionConstraint{
		Raw: raw, Constraints: constraints, Argument: a.Name, Range: a.Range,
	})
}

func (d *decoder) constraint(a *hcl.Attribute) (string, version.Constraints, bool) {
	val, ok := d.constant(a, cty.String)
	if !ok {
		return "", nil, false
	}
	return d.parseConstraint(val.AsString(), a.Expr.Range())
}

func (d *decoder) parseConstraint(raw string, at hcl.Range) (string, version.Constraints, bool) {
	c, err := version.NewConstraint(raw)
	if err != nil {
		d.fail(at, "Invalid version constraint", "%q is not a version constraint; write for example \">= 1.2, < 2.0\"", raw)
		return "", nil, false
	}
	return raw, c, true
}

func (d *decoder) requiredProviders(b *hcl.Block, block *Block) {
	attrs, diags := b.Body.JustAttributes()
	d.diags = append(d.diags, diags...)
	rp := &requiredProviders{Block: *block}
	d.out.requiredProviders = append(d.out.requiredProviders, rp)
	if diags.HasErrors() {
		return
	}
	for _, a := range sortedAttributes(attrs) {
		if p := d.requiredProvider(a); p != nil {
			rp.entries = append(rp.entries, p)
		}
	}
}

func (d *decoder) requiredProvider(a *hcl.Attribute) *RequiredProvider {
	p := &RequiredProvider{Name: a.Name, Range: a.Range, NameRange: a.NameRange, Override: d.override}
	if !d.providerName(a.Name, a.NameRange) {
		return nil
	}
	// The form of Terraform 0.12: just a version.
	if val, diags := a.Expr.Value(nil); !diags.HasErrors() && val.Type().IsPrimitiveType() {
		var ok bool
		p.VersionRange = a.Expr.Range()
		p.Version, p.Constraints, ok = d.constraint(a)
		if !ok {
			return nil
		}
		return p
	}
	pairs, diags := hcl.ExprMap(a.Expr)
	if diags.HasErrors() {
		d.fail(a.Expr.Range(), "Invalid required provider", "write an object with source and version")
		return nil
	}
	for _, kv := range pairs {
		key, diags := kv.Key.Value(nil)
		if diags.HasErrors() || key.Type() != cty.String || key.IsNull() || !key.IsKnown() {
			d.fail(kv.Key.Range(), "Invalid required provider", "the keys are source, version and configuration_aliases")
			continue
		}
		switch key.AsString() {
		case "version":
			if raw, ok := d.textOf(kv.Value, "version"); ok {
				p.VersionRange = kv.Value.Range()
				p.Version, p.Constraints, _ = d.parseConstraint(raw, kv.Value.Range())
			}
		case "source":
			if raw, ok := d.textOf(kv.Value, "source"); ok {
				p.SourceRange = kv.Value.Range()
				p.Source = raw
				if msg := checkProviderSource(raw); msg != "" {
					d.fail(kv.Value.Range(), "Invalid provider source", "%s", msg)
				}
			}
		case "configuration_aliases":
			p.Aliases = append(p.Aliases, d.aliases(p.Name, kv.Value)...)
		default:
			d.fail(kv.Key.Range(), "Unsupported key", "a required provider has source, version and configuration_aliases only; settings belong into a provider block")
		}
	}
	return p
}

// textOf evaluates an expression that has to be a literal string.
func (d *decoder) textOf(e hcl.Expression, what string) (string, bool) {
	val, diags := e.Value(nil)
	if diags.HasErrors() || val.Type() != cty.String || val.IsNull() || !val.IsKnown() {
		d.fail(e.Range(), "Unsuitable value", "%s must be a literal string", what)
		return "", false
	}
	return val.AsString(), true
}

func (d *decoder) aliases(name string, e hcl.Expression) []ProviderRef {
	exprs, diags := hcl.ExprList(e)
	d.diags = append(d.diags, diags...)
	var out []ProviderRef
	for _, item := range exprs {
		tr, diags := hcl.AbsTraversalForExpr(item)
		if diags.HasErrors() {
			d.diags = append(d.diags, diags...)
			continue
		}
		ref := ProviderRef{Name: tr.RootName(), Range: item.Range()}
		if len(tr) > 1 {
			step, ok := tr[1].(hcl.TraverseAttr)
			if ok {
				ref.Alias = step.Name
			}
			if !ok || len(tr) > 2 {
				d.fail(item.Range(), "Invalid configuration alias", "write %s.ALIAS", name)
				continue
			}
		}
		if ref.Name != name {
			d.fail(item.Range(), "Invalid configuration alias", "it belongs to provider %q, so write %s.ALIAS", name, name)
			continue
		}
		out = append(out, ref)
	}
	return out
}

func (d *decoder) provider(b *hcl.Block) *Provider {
	content, rest := d.partial("provider", b.Body, providerSchema)
	attrs := content.Attributes
	p := &Provider{Name: b.Labels[0]}
	if !d.providerName(p.Name, b.LabelRanges[0]) {
		return nil
	}
	if a := attrs["alias"]; a != nil {
		if val, ok := d.constant(a, cty.String); ok {
			p.Alias = val.AsString()
			if !hclsyntax.ValidIdentifier(p.Alias) {
				d.fail(a.Expr.Range(), "Invalid provider alias", "%q is not a name; %s", p.Alias, nameRule)
			}
		}
	}
	if a := attrs["version"]; a != nil {
		d.constraint(a)
	}
	if a := attrs["for_each"]; a != nil && p.Alias == "" {
		d.fail(a.Expr.Range(), "Provider without an alias", "for_each needs an alias")
	}
	for _, name := range []string{"count", "depends_on", "source"} {
		if a := attrs[name]; a != nil {
			d.fail(a.NameRange, "Reserved argument", "%q inside a provider block is reserved by the runtimes; remove it", name)
		}
	}
	bodies := []hcl.Body{rest}
	var escape *hcl.Block
	for _, inner := range content.Blocks {
		if inner.Type != "_" {
			d.reserved(inner, "provider")
		} else if d.once(&escape, inner) {
			bodies = append(bodies, inner.Body)
		}
	}
	p.Block = *newBlock(b, attrs, newBody(providerFixed, bodies...))
	return p
}

func (d *decoder) call(b *hcl.Block) *ModuleCall {
	s := moduleSchema
	if d.override {
		s = moduleOverrideSchema
	}
	content, rest := d.partial("module", b.Body, s)
	attrs := content.Attributes
	c := &ModuleCall{
		Name:      b.Labels[0],
		Version:   attrs["version"],
		Count:     attrs["count"],
		ForEach:   attrs["for_each"],
		DependsOn: d.traversals(attrs["depends_on"]),
	}
	d.checkName(b, 0, "module name")
	if a := attrs["providers"]; a != nil {
		c.Providers = d.passedProviders(a)
	}
	for _, name := range []string{"source", "version"} {
		if a := attrs[name]; a != nil && !isConstant(a.Expr) {
			d.feature("module-source-expression", a.Expr.Range())
		}
	}
	bodies := []hcl.Body{rest}
	var escape, lifecycle *hcl.Block
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "_":
			if d.once(&escape, inner) {
				bodies = append(bodies, inner.Body)
			}
		case "lifecycle":
			if d.once(&lifecycle, inner) {
				c.Enabled = d.content("module-lifecycle", inner.Body, moduleLifecycleSchema).Attributes["enabled"]
			}
		default:
			d.reserved(inner, "module")
		}
	}
	d.single(c.Count, c.ForEach, c.Enabled)
	c.Block = *newBlock(b, attrs, newBody(moduleFixed, bodies...))
	return c
}

func (d *decoder) passedProviders(a *hcl.Attribute) []PassedProvider {
	pairs, diags := hcl.ExprMap(a.Expr)
	d.diags = append(d.diags, diags...)
	seen := map[ProviderRef]hcl.Range{}
	var out []PassedProvider
	for _, kv := range pairs {
		child, parent := d.providerRef(kv.Key), d.providerRef(kv.Value)
		if child == nil || parent == nil {
			continue
		}
		key := ProviderRef{Name: child.Name, Alias: child.Alias}
		if prev, dup := seen[key]; dup {
			d.fail(kv.Key.Range(), "Duplicate provider", "the called module's provider is already set at %s; keep one", place(prev))
			continue
		}
		seen[key] = kv.Key.Range()
		out = append(out, PassedProvider{InChild: *child, InParent: *parent})
	}
	return out
}

func (d *decoder) importBlock(b *hcl.Block) *Block {
	content := d.content("import", b.Body, importSchema)
	attrs := content.Attributes
	id, identity := attrs["id"], attrs["identity"]
	switch {
	case id == nil && identity == nil:
		d.fail(b.DefRange, "Import of nothing", "set id, or identity")
	case id != nil && identity != nil:
		d.fail(identity.NameRange, "Conflicting arguments", "id and identity exclude each other; keep one")
	}
	if a := attrs["provider"]; a != nil {
		d.providerRef(a.Expr)
	}
	return newBlock(b, attrs, newBody(nil, b.Body))
}

func (d *decoder) removedBlock(b *hcl.Block) *Block {
	content := d.content("removed", b.Body, removedSchema)
	if a := content.Attributes["from"]; a != nil {
		_, diags := hcl.AbsTraversalForExpr(a.Expr)
		d.diags = append(d.diags, diags...)
	}
	var lifecycle *hcl.Block
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "lifecycle":
			if d.once(&lifecycle, inner) {
				d.flag(d.content("removed-lifecycle", inner.Body, removedLifecycleSchema).Attributes, "destroy", false)
			}
		case "provisioner":
			if p := d.provisioner(inner); p != nil && !p.Destroy {
				d.fail(inner.DefRange, "Provisioner that never runs", "in a removed block set when = destroy")
			}
		}
	}
	return newBlock(b, content.Attributes, newBody(nil, b.Body))
}
