package format

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/captf-toolkit/captf/lint"
)

// JSON writes the report as one object. Its keys findings and summary are
// binding (lint.md 2.4); a recursive run adds modules, and module to each
// finding, an image adds image. A module that cannot be read has no findings: it is in modules, with
// the error, also when it is the only one.
func JSON(w io.Writer, r Result, _ Options) error {
	out := jsonReport{Findings: []lint.Finding{}, Summary: r.Summary()}
	if r.Image != nil {
		out.Image = &jsonImage{Reference: r.Image.Reference, Digest: r.Image.Digest, Platform: strings.Join(r.Image.Platforms, ",")}
	}
	for _, m := range r.Modules {
		if m.Report != nil {
			for _, f := range m.Report.Findings {
				if r.Recursive {
					f.Module = m.Name
				}
				out.Findings = append(out.Findings, f)
			}
		}
		if r.Recursive || m.Report == nil {
			out.Modules = append(out.Modules, jsonModule{Module: m.Name, Role: m.Role, Error: m.errorText()})
		}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

type jsonReport struct {
	Findings []lint.Finding `json:"findings"`
	Summary  lint.Summary   `json:"summary"`
	Modules  []jsonModule   `json:"modules,omitempty"`
	Image    *jsonImage     `json:"image,omitempty"`
}

// jsonImage describes the image that was checked (lint.md 2.4).
type jsonImage struct {
	Reference string `json:"reference"`
	Digest    string `json:"digest"`
	// Platform has commas between several.
	Platform string `json:"platform"`
}

type jsonModule struct {
	Module string `json:"module"`
	Role   string `json:"role"`
	Error  string `json:"error,omitempty"`
}
