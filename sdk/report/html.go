package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/captf-toolkit/captf/sdk/harness"
)

// HTMLOptions change the report for people who look at it in a browser.
type HTMLOptions struct {
	// Title is the page's title; "" names the scenario or the number of scenarios.
	Title string
	// Generator says what wrote the report, such as captf v1.2.3; "" leaves it out.
	Generator string
	// Date is when the run was, as it shall be shown; "" leaves it out.
	Date string
	// Checks are what was checked beside the scenarios, such as the linter's rules.
	Checks []Check
}

// Check is one thing that was checked without playing a scenario.
type Check struct {
	// Name says what was checked, such as lint of the machine module.
	Name string `json:"name"`
	// Verdict is passed, failed or error.
	Verdict harness.Verdict `json:"verdict"`
	// Summary says how it ended, in one sentence.
	Summary string `json:"summary"`
	// Findings are what was found.
	Findings []CheckFinding `json:"findings,omitempty"`
}

// CheckFinding is one finding of a check.
type CheckFinding struct {
	// ID is that of the rule or requirement.
	ID string `json:"id"`
	// Severity is error, warning or info.
	Severity string `json:"severity"`
	// Message says what is wrong.
	Message string `json:"message"`
	// Place is where, as file:line:column; "" for the whole.
	Place string `json:"place,omitempty"`
	// Remedy says what to do.
	Remedy string `json:"remedy,omitempty"`
}

//go:embed page
var pageFiles embed.FS

var pageTemplate = template.Must(template.ParseFS(pageFiles, "page/*.html"))

// HTML writes the results as one self-contained page: it needs no network, no
// fonts and no script to be read. Every text is escaped, whatever a module put
// into it, and the page stays usable whatever a run's length: what is left out
// is said.
func HTML(w io.Writer, o HTMLOptions, results ...*harness.Result) error {
	style, script, err := assets()
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(script))
	p := newPage(o, results)
	p.Style, p.Script = template.CSS(style), template.JS(script) //nolint:gosec // both are files of ours
	p.Policy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	if err := pageTemplate.ExecuteTemplate(w, "page.html", p); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// assets returns the page's style and script. The dark colours are written
// once and used twice: for who prefers dark, and for who asks for it.
func assets() (style, script string, err error) {
	files := map[string]string{}
	for _, name := range []string{"style.css", "dark.css", "script.js"} {
		raw, err := pageFiles.ReadFile("page/" + name)
		if err != nil {
			return "", "", fmt.Errorf("reading %s of the page: %w", name, err)
		}
		files[name] = string(raw)
	}
	return strings.ReplaceAll(files["style.css"], "/*DARK*/", strings.TrimSpace(files["dark.css"])), files["script.js"], nil
}
