package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/report"
)

// JSON writes the report as the documented JSON.
func (r *Report) JSON(w io.Writer) error {
	out := *r
	out.Runs = make([]*harness.Result, 0, len(r.Runs))
	for _, run := range r.Runs {
		out.Runs = append(out.Runs, report.Complete(run))
	}
	if out.Checks == nil {
		out.Checks = []report.Check{}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(&out)
}

// HTML writes the report as a page.
func (r *Report) HTML(w io.Writer, o report.HTMLOptions) error {
	o.Checks = r.Checks
	if o.Title == "" {
		o.Title = "Contract " + r.Contract
	}
	return report.HTML(w, o, r.Runs...)
}

// Text writes a summary for people: checks, then scenarios, then the verdict.
// What failed says why.
func (r *Report) Text(w io.Writer, o report.TextOptions) error {
	t := &table{w: w, colors: o.Colors}
	t.printf("Checks\n")
	for _, c := range r.Checks {
		t.row(c.Verdict, c.Name, c.Summary)
		for _, f := range c.Findings {
			if f.Severity == "info" || f.Severity == "warning" && c.Verdict == harness.VerdictPassed {
				continue // the JSON report and the page have them
			}
			t.printf("        %s  %s\n", report.Line(f.ID), report.Line(strings.TrimSpace(f.Place+" "+f.Message)))
			if f.Remedy != "" {
				t.printf("        what to do: %s\n", report.Line(f.Remedy))
			}
		}
	}
	t.printf("\nScenarios\n")
	for _, run := range r.Runs {
		t.row(run.Verdict, run.ControlPlane+"/"+run.Scenario, report.Sentence(run))
		for _, q := range run.Requirements {
			if q.Status == harness.StatusFailed {
				t.printf("        %s %s  %s\n", report.Line(q.ID), report.Line(string(q.Role)), report.Line(q.Reason))
				if q.Remedy != "" {
					t.printf("        what to do: %s\n", report.Line(q.Remedy))
				}
			}
		}
	}
	for _, run := range r.Runs {
		for _, n := range run.NotPlayed {
			t.printf("  ------  %s is not played: %s\n", report.Line(run.ControlPlane+"/"+n.Scenario), report.Line(n.Reason))
		}
	}
	t.printf("\n")
	t.row(r.Verdict, "contract "+r.Contract, r.Summary)
	return t.err
}

// table writes rows with a verdict, and remembers the first error.
type table struct {
	w      io.Writer
	colors bool
	err    error
}

func (t *table) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

func (t *table) row(v harness.Verdict, name, text string) {
	style := "\x1b[31m"
	if v == harness.VerdictPassed {
		style = "\x1b[32m"
	}
	word := fmt.Sprintf("%-6s", strings.ToUpper(report.Line(string(v))))
	if t.colors {
		word = style + word + "\x1b[0m"
	}
	t.printf("  %s  %s: %s\n", word, report.Line(name), report.Line(text))
}
