package move

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/captf-toolkit/captf/sdk/report"
)

// shown is how many findings of one rule and severity the text shows.
const shown = 10

// WriteJSON writes the report as documented by docs/reference/move-check.schema.json.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "Namespace %s: %s\n", r.Namespace, r.counts())
	for i, f := range r.Findings {
		same := func(j int) bool {
			return j >= 0 && r.Findings[j].ID == f.ID && r.Findings[j].Severity == f.Severity
		}
		if i >= shown && same(i-shown) {
			if i+1 == len(r.Findings) || r.Findings[i+1].ID != f.ID || r.Findings[i+1].Severity != f.Severity {
				fmt.Fprintf(b, "\n%s  %s: %d more; --output json has all\n", f.Severity, f.ID, r.like(f)-shown)
			}
			continue
		}
		side := ""
		if f.Side == SideTarget {
			side = "target: "
		}
		fmt.Fprintf(b, "\n%s  %s  %s%s\n    %s\n    %s\n    fix: %s\n", f.Severity, f.ID, side, f.Object, report.Line(f.What), f.Why, report.Line(f.Fix))
	}
	verdict := "READY"
	if !r.Ready {
		verdict = "NOT READY"
	}
	fmt.Fprintf(b, "\n%s  %s, %s, %s", verdict, number(r.Summary.Errors, "error"), number(r.Summary.Warnings, "warning"), number(r.Summary.Infos, "note"))
	if !r.TargetChecked {
		fmt.Fprint(b, "; the target was not checked")
	}
	fmt.Fprintln(b)
	return b.Flush()
}

// like counts the findings of the rule and severity of one.
func (r *Report) like(f Finding) int {
	n := 0
	for _, g := range r.Findings {
		if g.ID == f.ID && g.Severity == f.Severity {
			n++
		}
	}
	return n
}

// counts says how many objects of which kind move.
func (r *Report) counts() string {
	if len(r.Moves) == 0 {
		return "nothing moves"
	}
	var parts []string
	for i := 0; i < len(r.Moves); { // they are sorted by kind
		j := i
		for j < len(r.Moves) && r.Moves[j].Kind == r.Moves[i].Kind {
			j++
		}
		parts = append(parts, fmt.Sprintf("%s %d", r.Moves[i].Kind, j-i))
		i = j
	}
	return fmt.Sprintf("%s would move: %s", number(len(r.Moves), "object"), strings.Join(parts, ", "))
}

func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
