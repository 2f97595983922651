package module

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// view combines the declarations of the files of one directory, as one runtime
// does. What it puts into the module may be shared with the other runtime's
// view, so that merging makes a copy first.
type view struct {
	m     *Module
	diags hcl.Diagnostics

	required *requiredProviders
}

// newView builds the module that the runtime sees in the given files, which are
// in reading order: primary files first.
func newView(r Runtime, dir string, files []*declarations) (*Module, hcl.Diagnostics) {
	v := &view{m: &Module{Runtime: r, Dir: dir, byName: newIndex()}}
	for _, f := range files {
		v.m.Files = append(v.m.Files, f.file)
		v.common(f)
	}
	for _, f := range files {
		if !f.file.Override {
			v.add(f)
		}
	}
	for _, f := range files {
		if f.file.Override {
			v.merge(f)
		}
	}
	v.finish()
	return v.m, v.diags
}

func newIndex() index {
	return index{
		variables: map[string]*Variable{},
		locals:    map[string]*Local{},
		outputs:   map[string]*Output{},
		resources: map[string]*Resource{},
		calls:     map[string]*ModuleCall{},
		providers: map[string]*Provider{},
	}
}

func (v *view) fail(at hcl.Range, summary, detail string, args ...any) {
	v.diags = append(v.diags, problem(&at, summary, detail, args...))
}

// common takes over what overriding does not change.
func (v *view) common(f *declarations) {
	m := v.m
	m.Settings = append(m.Settings, f.settings...)
	m.Features = append(m.Features, f.features...)
	for _, use := range f.features {
		if use.Since(m.Runtime) == "" {
			at := use.Range
			m.Unsupported = append(m.Unsupported, problem(&at, "Unsupported by "+m.Runtime.String(),
				"no version of %s knows the %s; remove it, or move it into a .tofu file beside a .tf file that does without", m.Runtime, use.Construct))
		}
	}
	for _, c := range f.versions {
		own := *c
		if m.Runtime == Terraform {
			own.Effective = c.Argument == "required_version"
		} else {
			own.Effective = c.Argument != "required_version" || f.file.Tofu
		}
		m.Versions = append(m.Versions, &own)
	}
}

// add takes over the declarations of a primary file.
func (v *view) add(f *declarations) {
	m := v.m
	v.addBackends(f)
	for _, rp := range f.requiredProviders {
		if v.required != nil {
			v.duplicate(rp.DefRange, "required_providers block", "", v.required.DefRange)
			continue
		}
		v.required = rp
		m.RequiredProviders = append(m.RequiredProviders, rp.entries...)
	}
	for _, x := range f.variables {
		if old := addTo(m.byName.variables, x.Name, x); old != nil {
			v.duplicate(x.DefRange, "variable", x.Name, old.DefRange)
		}
	}
	for _, x := range f.locals {
		if old := addTo(m.byName.locals, x.Name, x); old != nil {
			v.duplicate(x.NameRange, "local value", x.Name, old.NameRange)
		}
	}
	for _, x := range f.outputs {
		if old := addTo(m.byName.outputs, x.Name, x); old != nil {
			v.duplicate(x.DefRange, "output", x.Name, old.DefRange)
		}
	}
	for _, x := range f.calls {
		if old := addTo(m.byName.calls, x.Name, x); old != nil {
			v.duplicate(x.DefRange, "module", x.Name, old.DefRange)
		}
	}
	for _, x := range f.resources {
		if old := addTo(m.byName.resources, x.Address(), x); old != nil {
			v.duplicate(x.DefRange, x.Block.Type, x.Address(), old.DefRange)
		}
	}
	for _, x := range f.providers {
		if old := addTo(m.byName.providers, x.key(), x); old != nil {
			v.duplicate(x.DefRange, "provider configuration", x.key(), old.DefRange)
		}
	}
	for _, x := range f.checks {
		if i := slices.IndexFunc(m.Checks, func(c *Check) bool { return c.Name == x.Name }); i >= 0 {
			v.duplicate(x.DefRange, "check", x.Name, m.Checks[i].DefRange)
			continue
		}
		m.Checks = append(m.Checks, x)
	}
	m.Moved = append(m.Moved, f.moved...)
	m.Removed = append(m.Removed, f.removed...)
	m.Imports = append(m.Imports, f.imports...)
}

// addTo puts x into the map unless the name is taken, and returns what took it.
func addTo[T any](names map[string]*T, name string, x *T) *T {
	if old := names[name]; old != nil {
		return old
	}
	names[name] = x
	return nil
}

func (v *view) duplicate(at hcl.Range, what, name string, first hcl.Range) {
	if name != "" {
		what += " " + `"` + name + `"`
	}
	v.fail(at, "Duplicate declaration", "the %s is already declared at %s; remove or rename one of them", what, place(first))
}

func (v *view) addBackends(f *declarations) {
	m := v.m
	for _, b := range f.backends {
		if len(m.Backends) > 0 {
			v.duplicate(b.DefRange, "backend", "", m.Backends[0].DefRange)
			continue
		}
		m.Backends = []*Block{b}
	}
	for _, b := range f.clouds {
		if len(m.Clouds) > 0 {
			v.duplicate(b.DefRange, "cloud block", "", m.Clouds[0].DefRange)
			continue
		}
		m.Clouds = []*Block{b}
	}
	if len(m.Backends) > 0 && len(m.Clouds) > 0 && len(f.backends)+len(f.clouds) > 0 {
		v.fail(m.Backends[0].DefRange, "Backend beside a cloud block",
			"they exclude each other, and the cloud block is at %s; a module has neither", place(m.Clouds[0].DefRange))
	}
}

// merge applies an override file.
func (v *view) merge(f *declarations) {
	m := v.m
	v.mergeBackends(f)
	for _, rp := range f.requiredProviders {
		for _, p := range rp.entries {
			m.RequiredProviders = slices.DeleteFunc(m.RequiredProviders, func(o *RequiredProvider) bool { return o.Name == p.Name })
			m.RequiredProviders = append(m.RequiredProviders, p)
		}
	}
	for _, x := range f.providers {
		base := m.byName.providers[x.key()]
		switch {
		case base != nil:
			m.byName.providers[x.key()] = base.override(x)
		case x.Alias == "":
			// No block means an empty one, which this one overrides.
			m.byName.providers[x.key()] = x
		default:
			v.noBase(x.DefRange, "provider configuration", x.key())
		}
	}
	for _, x := range f.variables {
		if base := m.byName.variables[x.Name]; base != nil {
			m.byName.variables[x.Name] = v.overrideVariable(base, x)
		} else {
			v.noBase(x.DefRange, "variable", x.Name)
		}
	}
	for _, x := range f.locals {
		if base := m.byName.locals[x.Name]; base != nil {
			merged := *x
			merged.Overrides = append(slices.Clone(base.Overrides), base.Range)
			m.byName.locals[x.Name] = &merged
		} else {
			v.noBase(x.NameRange, "local value", x.Name)
		}
	}
	for _, x := range f.outputs {
		if base := m.byName.outputs[x.Name]; base != nil {
			m.byName.outputs[x.Name] = v.overrideOutput(base, x)
		} else {
			v.noBase(x.DefRange, "output", x.Name)
		}
	}
	for _, x := range f.calls {
		if base := m.byName.calls[x.Name]; base != nil {
			m.byName.calls[x.Name] = v.overrideCall(base, x)
		} else {
			v.noBase(x.DefRange, "module call", x.Name)
		}
	}
	for _, x := range f.resources {
		if base := m.byName.resources[x.Address()]; base != nil {
			m.byName.resources[x.Address()] = v.overrideResource(base, x)
		} else {
			v.noBase(x.DefRange, x.Block.Type, x.Address())
		}
	}
	for _, list := range [][]*Block{f.moved, f.removed, f.imports} {
		for _, b := range list {
			v.fail(b.DefRange, "Override of "+b.Type+" blocks", "override files cannot hold %s blocks; move it into another file", b.Type)
		}
	}
}

func (v *view) noBase(at hcl.Range, what, name string) {
	v.fail(at, "Override without a base", "no %s %q is declared for this block to override; declare it in a file whose name does not end in _override, or rename this file", what, name)
}

func (v *view) mergeBackends(f *declarations) {
	if n := len(f.backends); n > 1 {
		v.duplicate(f.backends[1].DefRange, "backend", "", f.backends[0].DefRange)
	} else if n == 1 {
		v.m.Backends, v.m.Clouds = f.backends, nil
	}
	if n := len(f.clouds); n > 1 {
		v.duplicate(f.clouds[1].DefRange, "cloud block", "", f.clouds[0].DefRange)
	} else if n == 1 {
		v.m.Clouds, v.m.Backends = f.clouds, nil
	}
}

// finish fills the sorted lists.
func (v *view) finish() {
	m := v.m
	m.Variables = sortedBy(m.byName.variables)
	m.Locals = sortedBy(m.byName.locals)
	m.Outputs = sortedBy(m.byName.outputs)
	m.Providers = sortedBy(m.byName.providers)
	// Calls get a module, which differs between the views.
	for name, c := range m.byName.calls {
		own := *c
		own.Args = c.Body.Attributes()
		m.byName.calls[name] = &own
	}
	m.Calls = sortedBy(m.byName.calls)
	m.Resources = slices.SortedFunc(maps.Values(m.byName.resources), func(a, b *Resource) int {
		return cmp.Or(cmp.Compare(modeOrder[a.Mode], modeOrder[b.Mode]), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(m.RequiredProviders, func(a, b *RequiredProvider) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(m.Checks, func(a, b *Check) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(m.Features, func(a, b FeatureUse) int { return compareRanges(a.Range, b.Range) })
	sortProblems(m.Unsupported)
}

var modeOrder = map[Mode]int{Managed: 0, Data: 1, Ephemeral: 2}

func sortedBy[T any](names map[string]*T) []*T {
	out := make([]*T, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, names[name])
	}
	return out
}
