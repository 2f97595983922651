package persona_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/captf-toolkit/captf/sdk/simcloud"
	"github.com/captf-toolkit/captf/sdk/simcloud/persona"
	"github.com/captf-toolkit/captf/sdk/simcloud/schemas"
)

// recorded reads the schema that is built in for a provider.
func recorded(t testing.TB, p *simcloud.Persona) *simcloud.Schema {
	t.Helper()
	name := "recorded/" + strings.ReplaceAll(p.Source, "/", "_") + ".json.gz"
	f, err := schemas.Files.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := simcloud.ReadSchema(f, simcloud.ReadOptions{Source: p.Source, Persona: p})
	if err != nil {
		t.Fatalf("reading %s: %v", name, err)
	}
	return s
}

// Every row of a table is about a type of the provider, and every path in it leads somewhere.
func TestTablesFollowTheSchemas(t *testing.T) {
	t.Parallel()
	for _, p := range persona.All() {
		t.Run(p.Source, func(t *testing.T) {
			t.Parallel()
			s := recorded(t, p)
			for typ, rule := range p.Types {
				schema := s.Resources[typ]
				if schema == nil {
					t.Errorf("the schema has no resource type %s", typ)
					continue
				}
				check := func(what string, paths ...string) {
					t.Helper()
					for _, path := range paths {
						path, condition, _ := strings.Cut(strings.TrimPrefix(path, "-"), "?")
						for _, one := range []string{path, condition} {
							if err := leads(schema.Block, one); err != nil {
								t.Errorf("%s: %s: %v", typ, what, err)
							}
						}
					}
				}
				check("ForceNew", rule.ForceNew...)
				check("Cloud", rule.Cloud...)
				check("Plain", rule.Plain...)
				check("Defaults", keys(rule.Defaults)...)
				check("Values", keys(rule.Values)...)
				check("Recompute", slices.DeleteFunc(slices.Clone(rule.Recompute), func(s string) bool { return s == "*" })...)
				check("Unique", slices.Concat(rule.Unique...)...)
				check("Parents", rule.Parents...)
				if typ != "azurerm_linux_virtual_machine" { // whose state only a data source tells
					check("Stopped", keys(rule.Stopped)...)
				}
				check("Addresses", rule.Addresses...)
				for _, ref := range rule.UsedBy {
					other := s.Resources[ref.Type]
					if other == nil {
						t.Errorf("%s: UsedBy: the schema has no resource type %s", typ, ref.Type)
					} else if err := leads(other.Block, ref.Attribute); err != nil {
						t.Errorf("%s: UsedBy %s: %v", typ, ref.Type, err)
					}
					check("UsedBy", ref.To)
				}
			}
			for typ, rule := range p.Data {
				schema := s.Data[typ]
				if schema == nil {
					t.Errorf("the schema has no data source %s", typ)
					continue
				}
				for _, path := range slices.Concat(keys(rule.Match), keys(rule.List), keys(rule.Values)) {
					if err := leads(schema.Block, path); err != nil {
						t.Errorf("data %s: %v", typ, err)
					}
				}
				of := rule.Of
				if of == "" {
					of = typ
				}
				if found := s.Resources[of]; found != nil {
					for _, m := range []map[string]string{rule.Match, rule.Filter, rule.List} {
						for _, path := range m {
							if err := leads(found.Block, path); err != nil {
								t.Errorf("data %s finds %s: %v", typ, of, err)
							}
						}
					}
				}
			}
			for _, name := range slices.Concat(p.ForceNew, p.Cloud, p.Plain, keys(p.Values)) {
				if !somewhere(s, name) {
					t.Errorf("no resource type has an attribute %s", name)
				}
			}
			for _, r := range []simcloud.Refusal{simcloud.RefuseExists, simcloud.RefuseInUse, simcloud.RefuseQuota, simcloud.RefuseConflict, simcloud.RefuseGone} {
				if p.Refusals[r] == "" {
					t.Errorf("the cloud has no words for %s", r)
				}
			}
		})
	}
}

// Every built-in schema has a persona, and the other way round.
func TestEverySchemaHasAPersona(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(schemas.Files, "recorded/*.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		source := strings.Replace(strings.TrimSuffix(strings.TrimPrefix(f, "recorded/"), ".json.gz"), "_", "/", 1)
		if persona.For(source) == nil {
			t.Errorf("%s has a schema and no persona", source)
		}
	}
	if len(files) != len(persona.All()) {
		t.Errorf("%d schemas, %d personas", len(files), len(persona.All()))
	}
	if persona.For("example/none") != nil {
		t.Error("a provider that is not known has a persona")
	}
}

func keys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// leads tells whether a path leads to an attribute or block; an empty one does.
func leads(b *tfprotov6.SchemaBlock, path string) error {
	if path == "" {
		return nil
	}
	head, rest, deeper := strings.Cut(path, ".")
	for _, a := range b.Attributes {
		if a.Name != head {
			continue
		}
		if deeper && !inside(a, rest) {
			return fmt.Errorf("%s has no %s", head, rest)
		}
		return nil
	}
	for _, n := range b.BlockTypes {
		if n.TypeName == head {
			if err := leads(n.Block, rest); err != nil {
				return fmt.Errorf("in %s: %w", head, err)
			}
			return nil
		}
	}
	return fmt.Errorf("there is no %s", path)
}

// inside tells whether a path leads into an attribute of objects or of a map.
func inside(a *tfprotov6.SchemaAttribute, path string) bool {
	t := a.ValueType()
	for name := range strings.SplitSeq(path, ".") {
		switch x := t.(type) {
		case tftypes.List:
			t = x.ElementType
		case tftypes.Set:
			t = x.ElementType
		}
		if m, ok := t.(tftypes.Map); ok {
			t = m.ElementType
			continue
		}
		o, ok := t.(tftypes.Object)
		if !ok || o.AttributeTypes[name] == nil {
			return false
		}
		t = o.AttributeTypes[name]
	}
	return true
}

func somewhere(s *simcloud.Schema, name string) bool {
	for _, r := range s.Resources {
		if leads(r.Block, name) == nil {
			return true
		}
	}
	return false
}
