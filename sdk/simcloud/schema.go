package simcloud

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// FileVersion is the version of the form of schema files.
const FileVersion = 1

// Header says where a recorded schema comes from. In a schema file it stands, as
// JSON and perhaps packed with gzip, beside what `providers schema -json` prints
// for one provider:
//
//	{
//	  "captf_schema": 1,
//	  "source": "hashicorp/aws", "version": "6.25.0", "protocol": 5,
//	  "derived_from": "npm @cdktf/provider-aws 21.22.1", "pruned": true,
//	  "provider": {…}, "resource_schemas": {…}, "data_source_schemas": {…},
//	  "ephemeral_resource_schemas": {…}, "functions": {…}
//	}
//
// Only captf_schema, source and provider must be there.
type Header struct {
	// Form is [FileVersion].
	Form int `json:"captf_schema"`
	// Source is the provider's address without a host, such as hashicorp/aws; one of
	// another host than the runtimes' own registries keeps it.
	Source string `json:"source"`
	// Version is the provider's version without a "v", "" when it is not known.
	Version string `json:"version,omitzero"`
	// Protocol is the version of the plugin protocol, 5 or 6; 0 when it is not known.
	Protocol int `json:"protocol,omitzero"`
	// DerivedFrom says what a schema was derived from that the provider did not print
	// itself; "" for one of the real provider. Derived ones mark every optional
	// attribute as computed too, which reading undoes by name and by the persona's lists.
	DerivedFrom string `json:"derived_from,omitzero"`
	// Pruned tells that types were left out.
	Pruned bool `json:"pruned,omitzero"`
}

// Schema is what a provider takes, in the form of the plugin protocol.
type Schema struct {
	Header
	Provider   *tfprotov6.Schema
	Resources  map[string]*tfprotov6.Schema
	Data       map[string]*tfprotov6.Schema
	Ephemerals map[string]*tfprotov6.Schema
	Functions  map[string]*tfprotov6.Function
	// Has are all types that the file has, also those that were not wanted.
	Has Types
}

// Derived tells that the schema was not printed by the provider itself.
func (s *Schema) Derived() bool { return s.DerivedFrom != "" }

// Types are the types of one provider.
type Types struct {
	Resources, Data, Ephemerals map[string]bool
	// Functions tells that the provider's functions are wanted too.
	Functions bool
}

// Without returns the types of t that are not in other.
func (t Types) Without(other Types) Types {
	minus := func(a, b map[string]bool) map[string]bool {
		out := map[string]bool{}
		for name, is := range a {
			if is && !b[name] {
				out[name] = true
			}
		}
		return out
	}
	return Types{Resources: minus(t.Resources, other.Resources), Data: minus(t.Data, other.Data), Ephemerals: minus(t.Ephemerals, other.Ephemerals)}
}

// Add adds the types of other to those of t, whose maps must be set.
func (t Types) Add(other Types) {
	maps.Copy(t.Resources, other.Resources)
	maps.Copy(t.Data, other.Data)
	maps.Copy(t.Ephemerals, other.Ephemerals)
}

// Empty tells that there is no type.
func (t Types) Empty() bool { return len(t.Resources)+len(t.Data)+len(t.Ephemerals) == 0 }
