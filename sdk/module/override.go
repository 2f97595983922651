package module

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty/convert"
)

// override returns the block with the arguments of another one on top.
func (b Block) override(o *Block) Block {
	b.Overrides = append(slices.Clone(b.Overrides), o.DefRange)
	b.Attributes = overlay(b.Attributes, o.Attributes)
	b.Body = b.Body.override(o.Body)
	return b
}

func overlay(base, top hcl.Attributes) hcl.Attributes {
	out := make(hcl.Attributes, len(base)+len(top))
	maps.Copy(out, base)
	maps.Copy(out, top)
	return out
}

func (p *Provider) key() string {
	if p.Alias == "" {
		return p.Name
	}
	return p.Name + "." + p.Alias
}

func (p *Provider) override(o *Provider) *Provider {
	merged := *p
	merged.Block = p.Block.override(&o.Block)
	return &merged
}

// overrideVariable replaces what the override sets. Validations stay.
func (v *view) overrideVariable(base, o *Variable) *Variable {
	m := *base
	m.Block = base.Block.override(&o.Block)
	if o.Attr("description") != nil {
		m.Description = o.Description
	}
	if o.Attr("sensitive") != nil {
		m.Sensitive = o.Sensitive
	}
	if o.Attr("ephemeral") != nil {
		m.Ephemeral = o.Ephemeral
	}
	if o.Attr("nullable") != nil {
		m.Nullable = o.Nullable
	}
	if o.Attr("deprecated") != nil {
		m.Deprecated = o.Deprecated
	}
	if o.HasType {
		m.HasType, m.Type, m.TypeDefaults = true, o.Type, o.TypeDefaults
	}
	if o.HasDefault {
		m.HasDefault, m.Default = true, o.Default
	}
	if !m.HasDefault {
		return &m
	}
	at := o.DefRange
	if a := o.Attr("default"); a != nil {
		at = a.Expr.Range()
	} else if a := o.Attr("type"); a != nil {
		at = a.Expr.Range()
	}
	val, err := convert.Convert(m.Default, m.Type)
	if err != nil {
		v.fail(at, "Invalid default value", "with this override the default of variable %q, set at %s, does not fit its type: %s",
			m.Name, place(m.RangeOf("default")), err)
		return &m
	}
	m.Default = val
	if val.IsNull() && !m.Nullable {
		v.fail(at, "Invalid default value", "with this override variable %q has nullable = false and the default null; change one of both", m.Name)
	}
	return &m
}

func (v *view) noDependsOn(b *Block) {
	if a := b.Attr("depends_on"); a != nil {
		if list, _ := hcl.ExprList(a.Expr); len(list) > 0 {
			v.fail(a.Range, "Override of depends_on", "override files cannot set depends_on; set it in the file that declares the block")
		}
	}
}

func (v *view) overrideOutput(base, o *Output) *Output {
	m := *base
	m.Block = base.Block.override(&o.Block)
	if o.Description != "" {
		m.Description = o.Description
	}
	if o.Value != nil {
		m.Value = o.Value
	}
	if o.Attr("sensitive") != nil {
		m.Sensitive = o.Sensitive
	}
	if o.Attr("ephemeral") != nil {
		m.Ephemeral = o.Ephemeral
	}
	if o.Attr("deprecated") != nil {
		m.Deprecated = o.Deprecated
	}
	v.noDependsOn(&o.Block)
	return &m
}

func (v *view) overrideCall(base, o *ModuleCall) *ModuleCall {
	m := *base
	m.Block = base.Block.override(&o.Block)
	if o.Version != nil {
		m.Version = o.Version
	}
	if o.Count != nil {
		m.Count = o.Count
	}
	if o.ForEach != nil {
		m.ForEach = o.ForEach
	}
	if len(o.Providers) > 0 {
		m.Providers = o.Providers
	}
	v.noDependsOn(&o.Block)
	return &m
}

func (v *view) overrideResource(base, o *Resource) *Resource {
	m := *base
	m.Block = base.Block.override(&o.Block)
	if o.Count != nil {
		m.Count = o.Count
	}
	if o.ForEach != nil {
		m.ForEach = o.ForEach
	}
	if o.Provider != nil {
		m.Provider = o.Provider
	}
	if o.Connection != nil {
		m.Connection = o.Connection
	}
	if len(o.Provisioners) > 0 {
		m.Provisioners = o.Provisioners
	}
	m.Lifecycle = base.Lifecycle.override(&o.Lifecycle)
	v.noDependsOn(&o.Block)
	return &m
}

// override replaces argument by argument. Of replace_triggered_by and of
// enabled the runtimes take no notice in an override file.
func (l Lifecycle) override(o *Lifecycle) Lifecycle {
	if o.Attributes == nil {
		return l
	}
	top := maps.Clone(o.Attributes)
	delete(top, "replace_triggered_by")
	delete(top, "enabled")
	if l.Attributes == nil {
		l.DefRange = o.DefRange
	}
	l.Attributes = overlay(l.Attributes, top)
	if top["create_before_destroy"] != nil {
		l.CreateBeforeDestroy = o.CreateBeforeDestroy
	}
	if o.PreventDestroy != nil {
		l.PreventDestroy = o.PreventDestroy
	}
	if len(o.IgnoreChanges) > 0 {
		l.IgnoreChanges = o.IgnoreChanges
	}
	if o.IgnoreAll {
		l.IgnoreAll = true
	}
	return l
}
