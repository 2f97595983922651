package simcloud

import "slices"

// Fidelity says how true the simulation of one provider is.
type Fidelity struct {
	// Source and Version are the provider's.
	Source, Version string
	// Derived tells that the schema is not the provider's own.
	Derived bool
	// Persona is the title of the persona, "" without one.
	Persona string
	// Generic are the resource types without a rule, sorted.
	Generic []string
	// Unchecked are what the real provider would check or decide, and this does not.
	Unchecked []string
}

// Fidelity says of each provider how true its simulation is, by source.
func (s *Server) Fidelity() []Fidelity {
	var out []Fidelity
	for _, b := range s.brains {
		f := Fidelity{Source: b.schema.Source, Version: b.schema.Version, Derived: b.schema.Derived(), Persona: b.persona.Title}
		if f.Persona == "" && len(b.persona.Types) > 0 {
			f.Persona = b.persona.Source
		}
		for _, typ := range keys(b.schema.Resources) {
			if _, ok := b.persona.Types[typ]; !ok {
				f.Generic = append(f.Generic, typ)
			}
		}
		f.Unchecked = append(f.Unchecked, "values that the provider's own validation refuses", "permissions and quotas of an account")
		if f.Derived {
			f.Unchecked = append(f.Unchecked, "how many blocks of a kind there may be", "which optional attributes the provider computes, except by name")
		}
		if len(f.Generic) > 0 {
			f.Unchecked = append(f.Unchecked, "which changes replace objects of types without a rule")
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Fidelity) int {
		if a.Source < b.Source {
			return -1
		}
		return 1
	})
	return out
}
