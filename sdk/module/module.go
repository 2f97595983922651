package module

import (
	"cmp"
	"slices"
)

// index finds declarations by name.
type index struct {
	variables map[string]*Variable
	locals    map[string]*Local
	outputs   map[string]*Output
	resources map[string]*Resource
	calls     map[string]*ModuleCall
	providers map[string]*Provider
}

// Variable returns the variable with the given name, or nil.
func (m *Module) Variable(name string) *Variable { return m.byName.variables[name] }

// Local returns the local value with the given name, or nil.
func (m *Module) Local(name string) *Local { return m.byName.locals[name] }

// Output returns the output with the given name, or nil.
func (m *Module) Output(name string) *Output { return m.byName.outputs[name] }

// Resource returns the resource with the given address, as
// [Resource.Address] writes it, or nil.
func (m *Module) Resource(address string) *Resource { return m.byName.resources[address] }

// Call returns the module call with the given name, or nil.
func (m *Module) Call(name string) *ModuleCall { return m.byName.calls[name] }

// Required returns the entry of required_providers with the given local name,
// or nil.
func (m *Module) Required(name string) *RequiredProvider {
	i, ok := slices.BinarySearchFunc(m.RequiredProviders, name, func(p *RequiredProvider, n string) int {
		return cmp.Compare(p.Name, n)
	})
	if !ok {
		return nil
	}
	return m.RequiredProviders[i]
}

// Tree returns the module and all local modules that it calls, itself first,
// the others by directory, each once.
func (m *Module) Tree() []*Module {
	seen := map[*Module]bool{m: true}
	out := []*Module{m}
	for i := 0; i < len(out); i++ {
		for _, c := range out[i].Calls {
			if c.Module != nil && !seen[c.Module] {
				seen[c.Module] = true
				out = append(out, c.Module)
			}
		}
	}
	slices.SortFunc(out[1:], func(a, b *Module) int { return cmp.Compare(a.Dir, b.Dir) })
	return out
}
