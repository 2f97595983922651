package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/compare"
)

// DiffOptions change how a difference is written for people.
type DiffOptions struct {
	// Colors puts colours into it.
	Colors bool
	// A and B name what is compared, such as the files.
	A, B string
}

// DiffJSON writes how two lists of runs differ as JSON; its schema is in
// docs/reference/harness-diff.schema.json.
func DiffJSON(w io.Writer, d compare.Difference) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(d)
}

// DiffText writes how two lists of runs differ for people.
func DiffText(w io.Writer, d compare.Difference, o DiffOptions) error {
	t := &diffText{text: text{printer: printer{w: w}, paint: painter(o.Colors)}}
	t.printf("A  %s\nB  %s\n", line(o.A), line(o.B))
	for _, r := range d.Runs {
		t.run(r)
	}
	for _, s := range d.OnlyA {
		t.printf("\n%s is in A only\n", t.paint.paint(red, line(s)))
	}
	for _, s := range d.OnlyB {
		t.printf("\n%s is in B only\n", t.paint.paint(red, line(s)))
	}
	same := 0
	for _, r := range d.Runs {
		if r.Same {
			same++
		}
	}
	verdict := t.paint.paint(green, "SAME")
	if !d.Same {
		verdict = t.paint.paint(red, "DIFFERENT")
	}
	t.printf("\n%s  %d of %s the same\n", verdict, same, plural(len(d.Runs)+len(d.OnlyA)+len(d.OnlyB), "scenario"))
	return t.err
}

type diffText struct{ text }

// pair writes a fact of both runs, with an arrow where they differ.
func (t *diffText) pair(name, a, b string, counts bool) {
	switch {
	case a == b && !counts:
	case a == b:
		t.fact(2, name, a)
	default:
		t.fact(2, name, cmp.Or(a, "none")+" → "+cmp.Or(b, "none"))
	}
}

func (t *diffText) run(r compare.RunDifference) {
	state := t.paint.paint(green, "same")
	if !r.Same {
		state = t.paint.paint(red, "different")
	}
	t.printf("\n%s  %s\n", t.paint.paint(bold, line(r.ControlPlane+"/"+r.Scenario)), state)
	t.pair("verdict", string(r.Verdict.A), string(r.Verdict.B), true)
	t.pair("stalled at", r.Stalled.A, r.Stalled.B, false)
	t.pair("seed", strconv.FormatUint(r.Seed.A, 10), strconv.FormatUint(r.Seed.B, 10), false)
	t.pair("runtime", r.Runtime.A, r.Runtime.B, false)
	t.pair("still exists", strings.Join(r.Left.A, ", "), strings.Join(r.Left.B, ", "), false)
	t.fact(2, "times", t.times(r))
	if len(r.Requirements) > 0 {
		t.printf("  requirements\n")
		for _, c := range r.Requirements {
			style := green
			if c.Worse() {
				style = red
			}
			t.printf("    %s  %s → %s\n", t.paint.paint(style, line(strings.TrimSpace(c.ID+" "+string(c.Role)))), line(c.Status.A), line(c.Status.B))
			for _, reason := range []struct {
				side, text, status string
			}{{"A", c.Reason.A, c.Status.A}, {"B", c.Reason.B, c.Status.B}} {
				if reason.status == string(harness.StatusFailed) {
					t.fact(6, reason.side+" says", reason.text)
				}
			}
		}
	}
	if len(r.ModuleRuns) > 0 {
		t.printf("  module runs\n")
		for _, c := range r.ModuleRuns {
			failed := ""
			if c.Failed {
				failed = " that failed"
			}
			t.printf("    %s %s%s  %d → %d\n", line(c.Kind), line(string(c.Op)), failed, c.A, c.B)
		}
	}
	t.order(r.Order)
}

// mostChanges bounds the lines of a difference in order that are written for people.
const mostChanges = 60

func (t *diffText) order(changes []compare.Change) {
	if len(changes) == 0 {
		return
	}
	t.printf("  order of events\n")
	for n, c := range changes {
		if n == mostChanges {
			t.printf("    … and %d more lines (all in the JSON output)\n", len(changes)-n)
			return
		}
		sign, style := " ", dim
		switch c.Side {
		case "a":
			sign, style = "-", red
		case "b":
			sign, style = "+", green
		}
		t.printf("    %s\n", t.paint.paint(style, sign+" "+line(c.Event.String())))
	}
}

// times says how the times compare; they never count as a difference.
func (t *diffText) times(r compare.RunDifference) string {
	parts := []string{"virtual " + times(r.VirtualTime, virtual)}
	for _, p := range []struct {
		name  string
		ratio compare.Ratio
	}{{"real", r.Total}, {"runtime", r.RuntimeTime}, {"harness", r.Outside}} {
		if p.ratio.A > 0 || p.ratio.B > 0 {
			parts = append(parts, p.name+" "+times(p.ratio, real))
		}
	}
	return strings.Join(parts, ", ")
}

func times(r compare.Ratio, form func(float64) string) string {
	out := form(r.A) + " → " + form(r.B)
	if r.Ratio > 0 {
		out += fmt.Sprintf(" (×%.2f)", r.Ratio)
	}
	return out
}
