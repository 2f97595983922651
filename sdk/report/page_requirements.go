package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
)

// leads say what a group of requirements is.
var leads = map[harness.Status]string{
	harness.StatusFailed:        "",
	harness.StatusManual:        "No program can answer these. Read the question, look at the module, and decide.",
	harness.StatusNotApplicable: "Not judged in this run, each for the reason that is given.",
	harness.StatusPassed:        "",
}

// requirementViews puts the requirements into groups, failed ones first.
func requirementViews(prefix string, r *harness.Result) (counts []count, out []requirementGroup) {
	known := map[harness.Status]bool{}
	for _, g := range groups {
		known[g.status] = true
	}
	used := map[string]bool{}
	roles := contract.Roles()
	for _, g := range groups {
		var rows []harness.Requirement
		for _, q := range r.Requirements {
			if q.Status == g.status || g.status == harness.StatusFailed && !known[q.Status] {
				rows = append(rows, q)
			}
		}
		if len(rows) == 0 {
			continue
		}
		slices.SortStableFunc(rows, func(a, b harness.Requirement) int {
			if g.status == harness.StatusNotApplicable && a.Reason != b.Reason {
				return cmp.Compare(a.Reason, b.Reason)
			}
			return slices.Index(roles, a.Role) - slices.Index(roles, b.Role)
		})
		v := requirementGroup{Class: string(g.status), Title: g.title, Lead: leads[g.status], N: len(rows), Open: g.status == harness.StatusFailed}
		for _, q := range rows {
			v.Rows = append(v.Rows, requirementView(anchor(prefix, q.ID, used), q))
		}
		out = append(out, v)
		counts = append(counts, count{
			Class: string(g.status), Word: strings.ToLower(g.title), N: len(rows), Part: round(float64(len(rows)) / float64(max(len(r.Requirements), 1)) * 100),
		})
	}
	return counts, out
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// anchor is an id of the page that no other element has.
func anchor(prefix, id string, used map[string]bool) string {
	base := prefix + "-" + notInID.ReplaceAllString(short(id), "-")
	out := base
	for n := 2; used[out]; n++ {
		out = base + "-" + strconv.Itoa(n)
	}
	used[out] = true
	return out
}

func requirementView(id string, q harness.Requirement) requirementRow {
	row := requirementRow{
		Anchor: id, ID: short(q.ID), Level: short(q.Level), Role: short(string(q.Role)), Title: short(q.Title), Reason: short(q.Reason), Remedy: short(q.Remedy),
		Question: q.Status == harness.StatusManual,
	}
	for _, e := range q.Evidence {
		if e = short(e); e == "" {
			continue
		}
		if len(row.Evidence) == maxEvidence {
			row.EvidenceMore++
			continue
		}
		row.Evidence = append(row.Evidence, e)
	}
	for _, p := range q.Proof {
		row.Proof = append(row.Proof, proofOf(p))
	}
	return row
}

// signs are how a plan is written by the runtimes.
var signs = map[harness.Action]struct{ sign, class string }{
	harness.ActionCreate:  {"+", "create"},
	harness.ActionUpdate:  {"~", "update"},
	harness.ActionReplace: {"-/+", "replace"},
	harness.ActionDelete:  {"-", "delete"},
}

func proofOf(p harness.Proof) proofView {
	v := proofView{More: p.More}
	switch {
	case p.Probe != "":
		v.Title = fmt.Sprintf("%s in the probe “%s”", p.Op, short(p.Probe))
	default:
		v.Title = fmt.Sprintf("%s of %s at %s", p.Op, short(p.Object), virtual(p.At))
	}
	v.Title = short(v.Title)
	for _, c := range p.Changes {
		s := signs[c.Action]
		v.Lines = append(v.Lines, proofLine{Sign: cmp.Or(s.sign, "·"), Class: s.class, Text: short(c.Address + "  " + string(c.Action))})
	}
	for _, o := range p.Outputs {
		v.Lines = append(v.Lines, proofLine{Sign: "=", Class: "output", Text: short("output " + o.Name + " = " + o.Value), Place: short(o.Place)})
	}
	for _, address := range p.State {
		v.Lines = append(v.Lines, proofLine{Sign: "·", Class: "state", Text: short("in state: " + address)})
	}
	return v
}
