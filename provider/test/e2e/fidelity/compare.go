package fidelity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/compare"
)

// Compare says how the life that was seen differs from the story as the harness plays it.
func Compare(played compare.Trace, seen []Sighting, story harness.Scenario) []string {
	return differences(played, Trace(Project(seen)), rulesOf(story))
}

// differences says how a real life differs from the played one; each difference names the object, the event, both sides and the
// rows of the harness that it is about.
func differences(played, real compare.Trace, rules []Rule) []string {
	var out []string
	for _, o := range compare.Objects(commonOf(played), commonOf(real)) {
		var lines []string
		for _, c := range o.Order {
			side := map[string]string{"a": "only in the harness: ", "b": "only in the real life: ", "": "both: "}[c.Side]
			lines = append(lines, side+c.Event.String()+about(c, rules))
		}
		out = append(out, fmt.Sprintf("%s goes through other events, or in another order:\n  %s", o.Object, strings.Join(lines, "\n  ")))
	}
	for _, r := range rules {
		a, b := r.Holds(played), r.Holds(real)
		if a.Broken != nil {
			out = append(out, fmt.Sprintf("the harness breaks a rule with %s: %s", a.Broken, r))
		}
		if b.Broken != nil {
			out = append(out, fmt.Sprintf("the real life breaks a rule with %s: %s", b.Broken, r))
		}
		if (a.Met > 0) != (b.Met > 0) {
			out = append(out, fmt.Sprintf("a rule comes about %d times in the harness and %d times in the real life: %s", a.Met, b.Met, r))
		}
	}
	return out
}

// about names the rows of an event that differs.
func about(c compare.Change, rules []Rule) string {
	if c.Side == "" {
		return ""
	}
	rows := sources(c.Event)
	for _, r := range rules {
		if r.then.matches(c.Event) {
			rows = append(rows, strings.TrimSpace(strings.Join(r.IDs, ", ")+" "+r.Requirement))
		}
	}
	return " [" + strings.Join(slices.Compact(rows), "; ") + "]"
}

// sources are the rows that the harness plays an event by.
func sources(e compare.Event) []string {
	kind := e.Kind[strings.LastIndex(e.Kind, " ")+1:]
	var out []string
	for _, r := range slices.Concat(rows, runRows) {
		if r.event == e.Type && slices.Contains(r.kinds, kind) {
			out = append(out, r.source)
		}
	}
	return out
}

// rulesOf are the rules for a story: those of all, and those of its rollouts.
func rulesOf(story harness.Scenario) []Rule {
	out := Rules()
	size := 0
	for _, s := range story.Steps {
		if s.Ask == nil {
			continue
		}
		if s.Ask.ControlPlanes != nil {
			size = *s.Ask.ControlPlanes
		}
		if s.Ask.Upgrade || s.Ask.Template {
			surge := 1
			if s.Ask.MaxSurge != nil {
				surge = *s.Ask.MaxSurge
			}
			out = append(out, Rollouts(size, surge)...)
		}
	}
	return out
}
