package harness

import (
	"fmt"
	"slices"

	"github.com/captf-toolkit/captf/contract"
)

// Note is something that the contract allows and that an author should know
// all the same. It changes no verdict.
type Note struct {
	Role    contract.Role `json:"role"`
	Message string        `json:"message"`
	// Place is file:line of what the note is about, "" when it is about no line.
	Place string `json:"place,omitempty"`
}

// note adds a note, once.
func (r *recorder) note(role contract.Role, place, format string, args ...any) {
	n := Note{Role: role, Message: fmt.Sprintf(format, args...), Place: place}
	if !slices.Contains(r.notes, n) {
		r.notes = append(r.notes, n)
	}
}

// noteStateBlocks says that a module's backend or cloud block has no effect:
// the generated root is the caller, and it alone says where the state is.
func (p *play) noteStateBlocks(info ModuleInfo) {
	for _, b := range info.StateBlocks {
		p.rec.note(info.Role, b.Place, "the block %s has no effect, because the generated root keeps the state: remove it (tfcapi-lint reports it as an error)", b.Block)
	}
}

// noteIgnoredVersions says that the module was played on a runtime that it excludes.
func (p *play) noteIgnoredVersions(info ModuleInfo) {
	for _, v := range info.IgnoredVersions {
		p.rec.note(info.Role, v.Place, "%s excludes %s, which does not heed it in this file: if it is meant for OpenTofu too, put it into a .tofu file", v.Constraint, p.cfg.Runtime)
	}
}

// noteExports says that exports are too large for the copy in the cluster's status.
func (p *play) noteExports(out *contract.ClusterOutputs) {
	if _, published := contract.PublishExports(out.Exports); published {
		return
	}
	p.rec.note(contract.RoleCluster, p.cfg.Modules.Module(contract.RoleCluster).Outputs["exports"],
		"exports have %d bytes as compact JSON, more than the %d that are published: TerraformCluster.status.exports stays empty (event ExportsNotPublished); machines and pools get them all the same",
		len(out.Exports), contract.MaxPublishedExports)
}
