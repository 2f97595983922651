package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/format"
)

// listRules prints a line a check.
func listRules(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range known() {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", r.ID, severities(r), roleNames(r), r.Summary)
	}
	return tw.Flush()
}

// explainRule prints all that is known about a check.
func explainRule(w io.Writer, id string) error {
	r, ok := lint.Find(known(), id)
	if !ok {
		return usage(unknownID("--explain", id))
	}
	_, err := fmt.Fprintf(w, `%s (%s; roles: %s)

%s

Why: %s

Fix: %s

Fires:

%s

Does not fire:

%s

See %s
`, r.ID, severities(r), roleNames(r), r.Summary, r.Why, r.Fix, indent(r.Bad), indent(r.Good), format.HelpURI(r.ID))
	return err
}

func severities(r lint.Rule) string {
	var names []string
	for _, s := range r.Severities {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

func roleNames(r lint.Rule) string {
	if len(r.Roles) == 0 {
		return "all"
	}
	var names []string
	for _, role := range r.Roles {
		names = append(names, string(role))
	}
	return strings.Join(names, ", ")
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.ReplaceAll(s, "\n", "\n    "), "\n    \n", "\n\n")
}

// unknownID says that there is no such check, and which one may be meant.
func unknownID(flag, id string) error {
	best, distance := "", 4
	for _, r := range known() {
		if d := editDistance(id, r.ID); d < distance {
			best, distance = r.ID, d
		}
		if _, name, _ := strings.Cut(r.ID, "/"); name == id {
			best, distance = r.ID, 0
		}
	}
	if best != "" {
		return fmt.Errorf("%s: there is no check %q; did you mean %s?", flag, id, best)
	}
	return fmt.Errorf("%s: there is no check %q; --list lists them", flag, id)
}
