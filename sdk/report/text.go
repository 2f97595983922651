package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
)

// TextOptions change the summary for people.
type TextOptions struct {
	// Colors puts colours into it.
	Colors bool
	// Questions lists the questions for a person, instead of only counting them.
	Questions bool
}

// group is one part of the table of requirements.
type group struct {
	status harness.Status
	title  string
	style  string
	// reasons tells that the reason stands in the row, instead of the title.
	reasons bool
	// together puts all that share a reason on one line.
	together bool
}

// groups is the order of the table: what needs a look first.
var groups = []group{
	{status: harness.StatusFailed, title: "Failed", style: red},
	{status: harness.StatusManual, title: "To be checked by a person", style: bold, reasons: true},
	{status: harness.StatusNotApplicable, title: "Not applicable", style: dim, together: true},
	{status: harness.StatusPassed, title: "Passed", style: green},
}

// Text writes the summary of a run for people.
func Text(w io.Writer, r *harness.Result, o TextOptions) error {
	t := &text{printer: printer{w: w}, paint: painter(o.Colors), r: r, questions: o.Questions}
	for _, g := range groups {
		if g.status == harness.StatusManual && !o.Questions {
			continue // the verdict counts them
		}
		t.group(g)
	}
	t.notes()
	// What matters most comes last: that is what a terminal shows.
	t.verdict()
	t.stall()
	t.remains()
	return t.err
}

type text struct {
	printer
	paint painter
	r     *harness.Result
	// questions tells that the questions for a person are listed.
	questions bool
}

// fact writes a name and what there is to say about it, unless that is empty.
func (t *text) fact(indent int, name, value string) {
	if value == "" {
		return
	}
	const width = 12
	t.printf("%s%s %s\n", strings.Repeat(" ", indent), pad(name, width), line(value))
}

func (t *text) stall() {
	s := t.r.Stalled
	if s == nil {
		return
	}
	if s.Expected {
		t.printf("\nStalled at gate %s after %s of virtual time, as the scenario expects: %s\n", line(s.Gate), virtual(s.At), line(s.Message))
		return
	}
	t.printf("\n%s\n", t.paint.paint(red, "Stalled after "+virtual(s.At)+" of virtual time at gate "+line(s.Gate)))
	t.fact(2, "object", s.Object)
	t.fact(2, "waits for", s.WaitsFor)
	t.fact(2, "output", s.Output)
	t.fact(2, "requirement", s.Requirement)
	t.fact(2, "what happens", s.Message)
	t.fact(2, "what to do", s.Remedy)
}

// inGroup returns the requirements of a status, in order of role, then as they come.
func (t *text) inGroup(status harness.Status) []harness.Requirement {
	var out []harness.Requirement
	for _, q := range t.r.Requirements {
		if q.Status == status {
			out = append(out, q)
		}
	}
	roles := contract.Roles()
	slices.SortStableFunc(out, func(a, b harness.Requirement) int {
		return slices.Index(roles, a.Role) - slices.Index(roles, b.Role)
	})
	return out
}

func (t *text) group(g group) {
	rows := t.inGroup(g.status)
	if len(rows) == 0 {
		return
	}
	t.printf("%s (%d)\n", t.paint.paint(g.style, g.title), len(rows))
	if g.together {
		t.together(rows)
		return
	}
	var id, role, level int
	for _, q := range rows {
		id = max(id, utf8.RuneCountInString(line(q.ID)))
		role = max(role, utf8.RuneCountInString(line(string(q.Role))))
		level = max(level, utf8.RuneCountInString(line(q.Level)))
	}
	for _, q := range rows {
		what := q.Title
		if g.reasons && q.Reason != "" {
			what = q.Reason
		}
		t.printf("  %s  %s  %s  %s\n", t.paint.paint(g.style, pad(line(q.ID), id)), pad(line(string(q.Role)), role), pad(line(q.Level), level), line(what))
		if g.status != harness.StatusFailed {
			continue
		}
		indent := id + 4
		t.fact(indent, "why", q.Reason)
		for _, e := range q.Evidence {
			t.fact(indent, "seen", e)
		}
		t.fact(indent, "what to do", q.Remedy)
	}
	t.printf("\n")
}

// notes writes what is allowed and worth knowing.
func (t *text) notes() {
	if len(t.r.Notes) == 0 {
		return
	}
	t.printf("%s (%d)\n", t.paint.paint(bold, "Notes"), len(t.r.Notes))
	for _, n := range t.r.Notes {
		t.printf("  %s: %s\n", line(cmp.Or(n.Place, string(n.Role)+" module")), line(n.Message))
	}
	t.printf("\n")
}

// together writes the ids that share a reason.
func (t *text) together(rows []harness.Requirement) {
	var reasons []string
	ids := map[string][]string{}
	for _, q := range rows {
		if ids[q.Reason] == nil {
			reasons = append(reasons, q.Reason)
		}
		ids[q.Reason] = append(ids[q.Reason], line(q.ID))
	}
	for _, reason := range reasons {
		t.printf("  %s: %s\n", line(cmp.Or(reason, "no reason given")), strings.Join(ids[reason], ", "))
	}
	t.printf("\n")
}

func (t *text) verdict() {
	r := t.r
	style := green
	if r.Verdict != harness.VerdictPassed {
		style = red
	}
	t.printf("%s  scenario %s, control plane %s, seed %d, %s\n", t.paint.paint(style, strings.ToUpper(line(string(r.Verdict)))),
		line(r.Scenario), line(r.ControlPlane), r.Seed, line(r.Runtime))
	var counts []string
	for _, g := range groups {
		if n := len(t.inGroup(g.status)); n > 0 {
			count := fmt.Sprintf("%d %s", n, strings.ToLower(g.title))
			if g.status == harness.StatusManual && !t.questions {
				count += " (--questions lists them)"
			}
			counts = append(counts, count)
		}
	}
	t.fact(0, "requirements", strings.Join(counts, ", "))
	var failed []string
	for _, q := range t.inGroup(harness.StatusFailed) {
		failed = append(failed, q.ID)
	}
	t.fact(0, "failed", strings.Join(failed, ", "))
	if n := r.Timing.Runs; n > 0 {
		t.fact(0, "module runs", fmt.Sprintf("%d in %s; the runtime was busy for %s of it", n, real(r.Timing.Total), real(r.Timing.Runtime)))
	}
	t.fact(0, "error", r.Error)
}

// remains says what the run left behind.
func (t *text) remains() {
	if len(t.r.Left) == 0 && t.r.Kept == "" {
		return
	}
	t.printf("\n")
	t.fact(0, "still exists", strings.Join(t.r.Left, ", "))
	t.fact(0, "kept", t.r.Kept)
}
