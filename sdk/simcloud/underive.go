package simcloud

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Schemas derived from some language bindings call every optional attribute computed.
// Taken at their word, an argument that leaves the configuration would never be
// noticed, and each argument that is not set would be planned as known after
// apply. So an optional attribute stays computed only if the cloud decides it
// when it is not set: by the persona's lists, or by its name.

// cloudNames are names of attributes of text that clouds decide.
var cloudNames = regexp.MustCompile(`^(id|arn|address|unique_id|owner_id|self_link|fingerprint|etag|fqdn|endpoint|hostname|uuid|urn|ocid|uri|region|tags_all)$` +
	`|(^|_)(ip|ips|ip_v4|ip_v6|ip_address|ip_addresses|ipv4_address|dns|dns_name|fqdn|endpoint|self_link)$`)

// looksDerived tells that a schema without a head marks every optional attribute
// computed, as that of no provider does.
func looksDerived(s *Schema) bool {
	const few = 8
	return optionals(s) >= few && blurred(s)
}

// blurred tells that a schema marks every optional attribute computed, so that it does
// not tell which of them the cloud decides.
func blurred(s *Schema) bool {
	for _, list := range []map[string]*tfprotov6.Schema{s.Resources, s.Data} {
		for _, x := range list {
			for _, a := range x.Block.Attributes {
				if a.Optional && !a.Computed {
					return false
				}
			}
		}
	}
	return true
}

func optionals(s *Schema) int {
	n := 0
	for _, list := range []map[string]*tfprotov6.Schema{s.Resources, s.Data} {
		for _, x := range list {
			for _, a := range x.Block.Attributes {
				if a.Optional {
					n++
				}
			}
		}
	}
	return n
}

func underive(s *Schema, p *Persona) {
	if p == nil {
		p = &Persona{}
	}
	eachAttribute(s.Provider.Block, "", func(_ string, a *tfprotov6.SchemaAttribute) {
		if a.Optional {
			a.Computed = false
		}
	})
	for typ, x := range s.Resources {
		rule := p.Types[typ]
		eachAttribute(x.Block, "", func(path string, a *tfprotov6.SchemaAttribute) {
			if a.Optional && a.Computed {
				a.Computed = cloudDecides(p, rule, path, a)
			}
		})
	}
	for _, x := range s.Data {
		// What a data source does not get as an argument, it answers.
		eachAttribute(x.Block, "", func(path string, a *tfprotov6.SchemaAttribute) {
			if a.Optional && a.Computed && strings.Contains(path, ".") {
				a.Computed = false
			}
		})
	}
	for _, x := range s.Ephemerals {
		eachAttribute(x.Block, "", func(_ string, a *tfprotov6.SchemaAttribute) {
			if a.Optional {
				a.Computed = false
			}
		})
	}
}

// cloudDecides tells whether an optional attribute of a derived schema gets a value
// from the cloud when it is not set.
func cloudDecides(p *Persona, rule TypeRule, path string, a *tfprotov6.SchemaAttribute) bool {
	_, hasDefault := rule.Defaults[path]
	_, hasValue := rule.Values[path]
	switch {
	case slices.Contains(rule.Plain, path):
		return false
	case hasDefault, hasValue, slices.Contains(rule.Cloud, path), slices.Contains(p.Cloud, path):
		return true
	case slices.Contains(p.Plain, path), strings.Contains(path, "."):
		return false
	}
	t := a.ValueType()
	texts := t.Is(tftypes.String) || t.Equal(tftypes.List{ElementType: tftypes.String}) || t.Equal(tftypes.Set{ElementType: tftypes.String}) ||
		t.Equal(tftypes.Map{ElementType: tftypes.String})
	return texts && cloudNames.MatchString(path)
}

// eachAttribute calls f for each attribute of a block and of those in it, with its path.
func eachAttribute(b *tfprotov6.SchemaBlock, prefix string, f func(path string, a *tfprotov6.SchemaAttribute)) {
	for _, a := range b.Attributes {
		f(prefix+a.Name, a)
		if a.NestedType != nil {
			eachNested(a.NestedType, prefix+a.Name+".", f)
		}
	}
	for _, n := range b.BlockTypes {
		eachAttribute(n.Block, prefix+n.TypeName+".", f)
	}
}

func eachNested(o *tfprotov6.SchemaObject, prefix string, f func(path string, a *tfprotov6.SchemaAttribute)) {
	for _, a := range o.Attributes {
		f(prefix+a.Name, a)
		if a.NestedType != nil {
			eachNested(a.NestedType, prefix+a.Name+".", f)
		}
	}
}
