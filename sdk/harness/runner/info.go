package runner

import (
	"fmt"
	"slices"

	"github.com/hashicorp/go-version"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/module"
	"github.com/captf-toolkit/captf/sdk/runtime"
)

// describe says what is known of a module without running it.
func (m *member) describe(view *module.Module, binary *runtime.Binary) (harness.ModuleInfo, error) {
	info := harness.ModuleInfo{
		Role: m.role, Dir: m.dir,
		Outputs: map[string]string{}, Sensitive: map[string]bool{}, Variables: map[string]string{},
	}
	for _, o := range view.Outputs {
		at := o.DefRange
		if value := o.RangeOf("value"); value.Filename != at.Filename {
			at = value // an override file replaced the value
		}
		info.Outputs[o.Name] = m.place(at.Filename, at.Start.Line)
		info.Sensitive[o.Name] = o.Sensitive
	}
	for _, v := range view.Variables {
		info.Variables[v.Name] = m.place(v.DefRange.Filename, v.DefRange.Start.Line)
	}
	if m.role != contract.RoleCluster {
		info.ExportReads = exportReads(view, m.place)
	}
	info.StateBlocks = m.stateBlocks(view)
	info.IgnoredVersions = m.ignoredVersions(view, binary)
	var err error
	info.Membership, err = m.membership(view)
	return info, err
}

// ignoredVersions returns the constraints that exclude the runtime and that it
// does not heed.
func (m *member) ignoredVersions(view *module.Module, binary *runtime.Binary) []harness.IgnoredVersion {
	running, err := version.NewVersion(binary.Version)
	if err != nil {
		return nil // a version of its own kind cannot be compared
	}
	var out []harness.IgnoredVersion
	walkCalls(view, func(_ string, mod *module.Module) {
		if slices.ContainsFunc(mod.Versions, func(c *module.VersionConstraint) bool { return c.Effective }) {
			return // the module says elsewhere which versions of this runtime it takes
		}
		for _, c := range mod.Versions {
			if c.Effective || c.Argument != "required_version" || len(c.Constraints) == 0 || c.Constraints.Check(running.Core()) {
				continue
			}
			found := harness.IgnoredVersion{Constraint: fmt.Sprintf("%s = %q", c.Argument, c.Raw), Place: m.place(c.Range.Filename, c.Range.Start.Line)}
			if !slices.Contains(out, found) {
				out = append(out, found)
			}
		}
	})
	return out
}

// stateBlocks returns the blocks that would say where the state is.
func (m *member) stateBlocks(view *module.Module) []harness.StateBlock {
	var out []harness.StateBlock
	walkCalls(view, func(_ string, mod *module.Module) {
		for _, b := range slices.Concat(mod.Backends, mod.Clouds) {
			header := b.Type
			for _, label := range b.Labels {
				header += fmt.Sprintf(" %q", label)
			}
			found := harness.StateBlock{Block: header, Place: m.place(b.DefRange.Filename, b.DefRange.Start.Line)}
			if !slices.Contains(out, found) { // a module may be called twice
				out = append(out, found)
			}
		}
	})
	return out
}

// escapes tells that the module calls something outside its directory, so that
// a copy of the directory does not work. Neither would an image.
func (m *member) escapes(rt module.Runtime) bool {
	return slices.ContainsFunc(m.tree.Escapes, func(e module.Escape) bool {
		return e.Kind != module.EscapeUnresolved && slices.Contains(e.Runtimes, rt)
	})
}
