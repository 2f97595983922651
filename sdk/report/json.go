package report

import (
	"encoding/json"
	"io"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
)

// JSON writes the result as the documented JSON report: lists and objects are
// never null, except for stalled.
func JSON(w io.Writer, r *harness.Result) error {
	out := *r
	if out.Requirements == nil {
		out.Requirements = []harness.Requirement{}
	}
	if out.Steps == nil {
		out.Steps = []harness.StoryStep{}
	}
	if out.Modules == nil {
		out.Modules = map[contract.Role]string{}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(&out)
}
