package simcloud

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// brain is what the cloud knows of one provider.
type brain struct {
	persona Persona
	schema  *Schema
}

func newBrain(s *Schema, p *Persona) *brain {
	b := &brain{schema: s}
	if p != nil {
		b.persona = *p
	}
	b.persona.Source = s.Source
	return b
}

func (b *brain) rule(typ string) TypeRule { return b.persona.Types[typ] }

// settings are what the provider's configuration decides.
func (b *brain) settings(config map[string]any) Settings {
	set := map[string]any{}
	for k, x := range config {
		if _, open := x.(unknown); x != nil && !open {
			set[k] = x
		}
	}
	s := b.persona.Settings
	if b.persona.Configure != nil {
		c := b.persona.Configure(set)
		if c.Region != "" {
			s.Region = c.Region
		}
		if c.Account != "" {
			s.Account = c.Account
		}
		s.Tags, s.More = c.Tags, c.More
		return s
	}
	for _, name := range []string{"region", "location"} {
		if x := text(set[name]); x != "" {
			s.Region = x
			break
		}
	}
	for _, name := range []string{"project", "subscription_id", "tenant_id", "tenancy_ocid", "account_id"} {
		if x := text(set[name]); x != "" {
			s.Account = x
			break
		}
	}
	return s
}

// attribute finds an attribute of a block, nil if there is none.
func attribute(b *tfprotov6.SchemaBlock, name string) *tfprotov6.SchemaAttribute {
	i := slices.IndexFunc(b.Attributes, func(a *tfprotov6.SchemaAttribute) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return b.Attributes[i]
}

// nested finds a block in a block, nil if there is none.
func nested(b *tfprotov6.SchemaBlock, name string) *tfprotov6.SchemaNestedBlock {
	i := slices.IndexFunc(b.BlockTypes, func(n *tfprotov6.SchemaNestedBlock) bool { return n.TypeName == name })
	if i < 0 {
		return nil
	}
	return b.BlockTypes[i]
}

// elements are the objects in a plain value, whatever the nesting.
func elements(x any) []map[string]any {
	switch v := x.(type) {
	case map[string]any:
		return []map[string]any{v}
	case []any:
		var out []map[string]any
		for _, e := range v {
			if m, ok := e.(map[string]any); ok {
				out = append(out, m)
			}
		}
		return out
	}
	return nil
}

// blockElements are the objects of a nested block: those of a map are its values.
func blockElements(x any, keyed bool) []map[string]any {
	if m, ok := x.(map[string]any); ok && keyed {
		var out []map[string]any
		for _, k := range keys(m) {
			if e, ok := m[k].(map[string]any); ok {
				out = append(out, e)
			}
		}
		return out
	}
	return elements(x)
}
