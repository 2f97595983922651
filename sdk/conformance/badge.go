package conformance

import (
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/report"
)

// Badge is a verdict in a few words, for a README.
type Badge struct {
	// Label is the left part, Message the right one.
	Label, Message string
	// Color is brightgreen, blue for a part of the test, red or lightgrey.
	Color string
}

// Badge returns the badge of the report. It says under which control planes the
// set passed, and whether on simulated providers, so that it claims nothing more.
func (r *Report) Badge() Badge {
	b := Badge{Label: "CAPTF " + r.Contract, Message: strings.Join(r.ControlPlanes, ", "), Color: "brightgreen"}
	if r.Simulated {
		b.Message += " (simulated)"
	}
	if r.Partial {
		b.Message, b.Color = fmt.Sprintf("%s, %d chosen only", b.Message, r.Scenarios.Passed), "blue"
	}
	switch r.Verdict {
	case harness.VerdictPassed:
	case harness.VerdictFailed:
		b.Message, b.Color = "failing", "red"
	default:
		b.Message, b.Color = "unknown", "lightgrey"
	}
	b.Label, b.Message = report.Line(b.Label), report.Line(b.Message)
	return b
}

// Endpoint writes the badge as the JSON that badge services read from an
// address (schema version 1 of shields.io endpoints).
func (b Badge) Endpoint(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		SchemaVersion int    `json:"schemaVersion"`
		Label         string `json:"label"`
		Message       string `json:"message"`
		Color         string `json:"color"`
		IsError       bool   `json:"isError,omitempty"`
	}{1, b.Label, b.Message, b.Color, b.Color == "red"})
}

// fills are the colours of an SVG badge; white text on each has at least AA contrast.
var fills = map[string]string{"brightgreen": "#1f7a3d", "blue": "#2459a6", "red": "#b3261e", "lightgrey": "#5b6470"}

// svg is a badge as a picture. Widths are estimates; textLength keeps texts inside.
var svg = template.Must(template.New("badge").Parse(`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="20" role="img" aria-label="{{.Label}}: {{.Message}}">
<title>{{.Label}}: {{.Message}}</title>
<clipPath id="r"><rect width="{{.Width}}" height="20" rx="3" fill="#fff"/></clipPath>
<g clip-path="url(#r)"><rect width="{{.Left}}" height="20" fill="#3c454e"/><rect x="{{.Left}}" width="{{.Right}}" height="20" fill="{{.Fill}}"/></g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"><text x="{{.LeftMiddle}}" y="14" textLength="{{.LeftText}}">{{.Label}}</text><text x="{{.RightMiddle}}" y="14" textLength="{{.RightText}}">{{.Message}}</text></g>
</svg>
`))

// SVG writes the badge as a picture that needs nothing else.
func (b Badge) SVG(w io.Writer) error {
	width := func(s string) int { return utf8.RuneCountInString(s)*66/10 + 1 }
	left, right := width(b.Label)+12, width(b.Message)+12
	if err := svg.Execute(w, map[string]any{
		"Label": b.Label, "Message": b.Message, "Fill": fills[b.Color], "Width": left + right, "Left": left, "Right": right,
		"LeftMiddle": left / 2, "RightMiddle": left + right/2, "LeftText": left - 12, "RightText": right - 12,
	}); err != nil {
		return fmt.Errorf("writing the badge: %w", err)
	}
	return nil
}
