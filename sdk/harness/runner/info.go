package runner

import (
	"fmt"
	"slices"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/module"
)

// describe says what is known of a module without running it.
func (m *member) describe(view *module.Module) (harness.ModuleInfo, error) {
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
	var err error
	info.Membership, err = m.membership(view)
	return info, err
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
