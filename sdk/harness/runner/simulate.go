package runner

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/module"
	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// reattachEnv is the variable by which a runtime finds providers that run already.
const reattachEnv = "TF_REATTACH_PROVIDERS"

// Simulation says how the providers of a set are simulated.
type Simulation struct {
	// Catalog has the schemas; it must be set.
	Catalog *simcloud.Catalog
	// Personas are what the schemas do not say, each for the provider of its source.
	Personas []*simcloud.Persona
	// Limits bound the simulated cloud.
	Limits simcloud.Limits
}

var (
	_ harness.Injector  = (*Runner)(nil)
	_ harness.Inventory = (*Runner)(nil)
)

// persona returns what is known of a provider beside its schema, nil if nothing is.
func (s *Simulation) persona(source string) *simcloud.Persona {
	for _, p := range s.Personas {
		if p.Source == source {
			return p
		}
	}
	return nil
}

// need is a provider that a set requires, and where it first says so.
type need struct {
	source, place string
	types         simcloud.Types
	versions      []string
	// places are where each type is used first.
	places map[string]string
}

// SimulationError tells why a set cannot be played on a simulated cloud.
type SimulationError struct {
	// Problems are whole sentences, each with its place.
	Problems []string
}

// Error implements error.
func (e *SimulationError) Error() string {
	return "simulating the providers of the set: " + strings.Join(e.Problems, "\n")
}

// Requirement is a provider that modules require.
type Requirement struct {
	// Source is its address without a host of the runtimes' own registries.
	Source string
	// Versions are the constraints on its version, as they are written.
	Versions []string
	// Types are the types that are used.
	Types simcloud.Types
}

// Requirements returns what the modules in directories, and the local modules that
// they call, require of providers that are not built in, by source.
func Requirements(dirs []string, r module.Runtime) ([]Requirement, error) {
	found := map[string]*need{}
	for _, dir := range dirs {
		tree, err := module.Load(dir, module.Options{})
		if err != nil {
			return nil, fmt.Errorf("reading module %s: %w", dir, err)
		}
		m := &member{dir: dir, tree: tree}
		view := tree.View(r)
		if view == nil {
			continue // the other runtime's
		}
		walkCalls(view, func(_ string, mod *module.Module) { needsOf(m, mod, found) })
	}
	var out []Requirement
	for _, source := range slices.Sorted(maps.Keys(found)) {
		n := found[source]
		slices.Sort(n.versions)
		out = append(out, Requirement{Source: source, Versions: slices.Compact(n.versions), Types: n.types})
	}
	return out, nil
}

// needs finds the providers that the modules of a set require, by source, and the
// places of calls whose modules are not there.
func (s *Set) needs(r module.Runtime) (list []*need, remote []string, err error) {
	found := map[string]*need{}
	for _, role := range s.Roles() {
		m := s.members[role]
		view, err := m.view(r)
		if err != nil {
			return nil, nil, err
		}
		walkCalls(view, func(_ string, mod *module.Module) {
			needsOf(m, mod, found)
			for _, c := range mod.Calls {
				if c.Module == nil {
					remote = append(remote, fmt.Sprintf("%s: module %q is fetched from elsewhere, and nothing is fetched for a simulated cloud: copy it into the set and call it by a path that starts with ./ or ../",
						m.place(c.DefRange.Filename, c.DefRange.Start.Line), c.Name))
				}
			}
		})
	}
	list = slices.Collect(maps.Values(found))
	slices.SortFunc(list, func(a, b *need) int { return cmp.Compare(a.source, b.source) })
	return list, remote, nil
}

// needsOf adds what one module requires.
func needsOf(m *member, mod *module.Module, found map[string]*need) {
	require := func(local, place string) *need {
		source := "hashicorp/" + local
		if p := mod.Required(local); p != nil && p.Source != "" {
			source = p.Source
		}
		source = simcloud.PlainSource(source)
		if source == "terraform.io/builtin/terraform" || source == "hashicorp/terraform" {
			return nil
		}
		n := found[source]
		if n == nil {
			n = &need{source: source, place: place, places: map[string]string{}, types: simcloud.Types{
				Resources: map[string]bool{}, Data: map[string]bool{}, Ephemerals: map[string]bool{}, Functions: true,
			}}
			found[source] = n
		}
		return n
	}
	for _, p := range mod.RequiredProviders {
		if n := require(p.Name, m.place(p.Range.Filename, p.Range.Start.Line)); n != nil && p.Version != "" {
			n.versions = append(n.versions, p.Version)
		}
	}
	for _, p := range mod.Providers {
		require(p.Name, m.place(p.DefRange.Filename, p.DefRange.Start.Line))
	}
	for _, r := range mod.Resources {
		local, _, _ := strings.Cut(r.Type, "_")
		if r.Provider != nil {
			local = r.Provider.Name
		}
		place := m.place(r.DefRange.Filename, r.DefRange.Start.Line)
		n := require(local, place)
		if n == nil {
			continue
		}
		types := map[module.Mode]map[string]bool{module.Managed: n.types.Resources, module.Data: n.types.Data, module.Ephemeral: n.types.Ephemerals}[r.Mode]
		types[r.Type] = true
		if n.places[r.Type] == "" {
			n.places[r.Type] = place
		}
	}
}

// simulate starts the servers of all providers that the set requires.
func (r *Runner) simulate() error {
	sim := r.o.Simulate
	list, problems, err := r.set.needs(r.reader())
	if err != nil {
		return err
	}
	var providers []simcloud.Provider
	for _, n := range list {
		persona := sim.persona(n.source)
		schema, err := sim.Catalog.Schema(n.source, &n.types, persona)
		if none, ok := errors.AsType[*simcloud.NoSchemaError](err); ok {
			problems = append(problems, n.place+": "+none.Error())
			continue
		}
		if err != nil {
			return fmt.Errorf("simulating %s, which %s requires: %w", n.source, n.place, err)
		}
		if schema.Pruned {
			problems = append(problems, n.lacking(schema)...)
		}
		providers = append(providers, simcloud.Provider{Schema: schema, Persona: persona})
	}
	if len(problems) > 0 {
		return &SimulationError{Problems: problems}
	}
	r.server, err = simcloud.Start(simcloud.Options{Providers: providers, Cloud: simcloud.NewCloud(sim.Limits)})
	return err
}

// lacking says which types of a set a pruned schema has not.
func (n *need) lacking(s *simcloud.Schema) []string {
	var out []string
	missing := n.types.Without(s.Has)
	for kind, types := range map[string]map[string]bool{"resource type": missing.Resources, "data source": missing.Data, "ephemeral resource": missing.Ephemerals} {
		for typ := range types {
			out = append(out, fmt.Sprintf("%s: the recorded schema of %s %s has only some types, and not the %s %s; record one with it, with: "+
				"captf simcloud record --provider %s --prune SET_DIR --output FILE, and give it with --schema FILE", n.places[typ], s.Source, s.Version, kind, typ, s.Source))
		}
	}
	slices.Sort(out)
	return out
}

// owner is on whose behalf an object's runs make things in the simulated cloud.
// The harness gives objects names that have their role already.
func (o *object) owner() string {
	role := string(o.role.member.role) + "-"
	return role + strings.TrimPrefix(o.name, role)
}

// attach is the environment by which an object's runs find the simulated providers.
func (o *object) attach() (map[string]string, error) {
	if o.role.r.server == nil {
		return nil, nil
	}
	value, err := o.role.r.server.Reattach(o.owner())
	if err != nil {
		return nil, fmt.Errorf("preparing %s: %w", o.name, err)
	}
	return map[string]string{reattachEnv: value}, nil
}

// Close ends the simulated providers, if there are any. No run may be going on.
func (r *Runner) Close() error {
	if r.server == nil {
		return nil
	}
	return r.server.Close()
}

// Spent is the real time that the simulated providers have spent, out of that of the runtime.
func (r *Runner) Spent() simcloud.Spent {
	if r.server == nil {
		return simcloud.Spent{}
	}
	return r.server.Spent()
}

// Cloud is the simulated cloud; nil without [Options.Simulate].
func (r *Runner) Cloud() *simcloud.Cloud {
	if r.server == nil {
		return nil
	}
	return r.server.Cloud()
}

// Simulated says how true the simulation of each provider is; nil without [Options.Simulate].
func (r *Runner) Simulated() []harness.Simulated {
	if r.server == nil {
		return nil
	}
	var out []harness.Simulated
	for _, f := range r.server.Fidelity() {
		s := harness.Simulated{Provider: f.Source, Schema: "real", Behaviour: "generic", Unchecked: f.Unchecked}
		if f.Derived {
			s.Schema = "derived"
		}
		if f.Version != "" {
			s.Provider += " " + f.Version
		}
		if f.Persona != "" {
			s.Behaviour = f.Persona
			if n := len(f.Generic); n > 0 {
				const few = 5
				more := ""
				if n > few {
					more = fmt.Sprintf(" and %d more", n-few)
				}
				s.Behaviour += "; generic for " + strings.Join(f.Generic[:min(n, few)], ", ") + more
			}
		}
		out = append(out, s)
	}
	return out
}

// Inventory implements [harness.Inventory]. It is empty without [Options.Simulate].
func (r *Runner) Inventory() []harness.CloudObject {
	if r.server == nil {
		return nil
	}
	addresses := r.addresses()
	var out []harness.CloudObject
	for _, o := range r.server.Cloud().Objects() {
		out = append(out, harness.CloudObject{Type: o.Type, ID: o.ID, Owner: o.Owner, Address: addresses[cloudKey{o.Owner, o.Type, o.ID}]})
	}
	slices.SortFunc(out, func(a, b harness.CloudObject) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Sweep deletes everything in the simulated cloud that was made for an object, and returns it.
func (r *Runner) Sweep(owner string) []harness.CloudObject {
	var out []harness.CloudObject
	for _, o := range r.Inventory() {
		if o.Owner == owner && r.Cloud().Delete(o.Type, o.ID) {
			out = append(out, o)
		}
	}
	return out
}

// cloudKey finds the address under which an object made something.
type cloudKey struct{ owner, typ, id string }

// addresses are those under which the objects' runs found what they made, also when
// it is in no state any more.
func (r *Runner) addresses() map[cloudKey]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.made)
}

// remember keeps the addresses of what an object's run left in its state.
func (o *object) remember(resources []harness.Resource) {
	r := o.role.r
	if r.server == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, res := range resources {
		for _, name := range []string{"id", "arn", "self_link", "name"} {
			if id, ok := res.Values[name].(string); ok && id != "" {
				r.made[cloudKey{o.owner(), res.Type, id}] = res.Address
				break
			}
		}
	}
}
