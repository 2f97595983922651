package report

import (
	"encoding/json"
	"io"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
)

// JSON writes the result as the documented JSON report: lists and objects are
// never null, except for stalled. Several results are a list of such reports.
func JSON(w io.Writer, results ...*harness.Result) error {
	list := make([]*harness.Result, 0, len(results))
	for _, r := range results {
		list = append(list, Complete(r))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if len(list) == 1 {
		return enc.Encode(list[0])
	}
	return enc.Encode(list)
}

// Complete returns a copy of a result whose lists and objects are not nil, as
// the schema of the JSON report has them.
func Complete(r *harness.Result) *harness.Result {
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
	return &out
}
