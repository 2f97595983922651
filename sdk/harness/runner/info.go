package runner

import (
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
		info.Outputs[o.Name] = m.place(o.DefRange.Filename, o.DefRange.Start.Line)
		info.Sensitive[o.Name] = o.Sensitive
	}
	for _, v := range view.Variables {
		info.Variables[v.Name] = m.place(v.DefRange.Filename, v.DefRange.Start.Line)
	}
	if m.role != contract.RoleCluster {
		info.ExportReads = exportReads(view, m.place)
	}
	var err error
	info.Membership, err = m.membership(view)
	return info, err
}

// escapes tells that the module calls something outside its directory, so that
// a copy of the directory does not work. Neither would an image.
func (m *member) escapes(rt module.Runtime) bool {
	return slices.ContainsFunc(m.tree.Escapes, func(e module.Escape) bool {
		return e.Kind != module.EscapeUnresolved && slices.Contains(e.Runtimes, rt)
	})
}
