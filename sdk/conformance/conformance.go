package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/report"
)

// Report is the verdict on a set of modules. Its JSON form is documented.
type Report struct {
	// Verdict is passed when everything that could be checked and played passed,
	// failed when anything failed, error when anything could not run.
	Verdict harness.Verdict `json:"verdict"`
	// Summary says the outcome in one sentence.
	Summary string `json:"summary"`
	// Contract is the version of the contract.
	Contract string `json:"contract"`
	// Modules are the directories of the modules, by role.
	Modules map[contract.Role]string `json:"modules"`
	// ControlPlanes are those that were played.
	ControlPlanes []string `json:"controlPlanes"`
	// Partial tells that scenarios were chosen, so that the verdict is about those alone.
	Partial bool `json:"partial"`
	// Simulated tells that providers were simulated, so that no real cloud was asked.
	Simulated bool `json:"simulated"`
	// Checks are the linter's, one a module, and the drills.
	Checks []report.Check `json:"checks"`
	// Requirements are those of all scenarios together.
	Requirements []Standing `json:"requirements"`
	// Scenarios counts the scenarios.
	Scenarios Scenarios `json:"scenarios"`
	// Runs are the results of the scenarios, each as captf harness run reports it.
	Runs []*harness.Result `json:"runs"`
}

// Scenarios counts scenarios by what became of them.
type Scenarios struct {
	Passed int `json:"passed"`
	Failed int `json:"failed"`
	// Error is how many could not run, NotPlayed how many were not even begun.
	Error     int `json:"error"`
	NotPlayed int `json:"notPlayed"`
}

// Standing is what all scenarios together say of one requirement.
type Standing struct {
	// ID, Role, Level and Title are those of the requirement.
	ID    string        `json:"id"`
	Role  contract.Role `json:"role"`
	Level string        `json:"level"`
	Title string        `json:"title"`
	// Status is failed if it failed in any scenario, passed if it passed in any
	// and failed in none, manual if a person has to judge it, else not-applicable.
	Status harness.Status `json:"status"`
	// FailedIn are the scenarios in which it failed, as control plane/scenario.
	FailedIn []string `json:"failedIn,omitempty"`
}

// drill is a group of requirements that show one property of a module together.
type drill struct {
	name, property string
	ids            []string
}

// drills are what a real life needs most: that a second apply does nothing, and
// that what was made can be removed, whatever state it is in. Probes beside the
// story try them; what is listed here is how they are judged.
var drills = []drill{
	{"idempotency", "a repeated apply changes nothing", []string{"CP-003", "CP-008", "CP-011", "CP-027", "CP-056"}},
	{"destroy", "what was made can be removed, and takes nothing else along", []string{"CP-025", "CP-035", "CP-038", "CP-039", "module/destroy", "module/left-behind"}},
}

// New gives the verdict on what was checked and played.
func New(version string, modules map[contract.Role]string, checks []report.Check, results []*harness.Result) *Report {
	r := &Report{Verdict: harness.VerdictPassed, Contract: version, Modules: modules, ControlPlanes: []string{}, Checks: slices.Clone(checks), Runs: results}
	if r.Modules == nil {
		r.Modules = map[contract.Role]string{}
	}
	if r.Runs == nil {
		r.Runs = []*harness.Result{}
	}
	for _, run := range results {
		if !slices.Contains(r.ControlPlanes, run.ControlPlane) {
			r.ControlPlanes = append(r.ControlPlanes, run.ControlPlane)
		}
		r.Simulated = r.Simulated || len(run.Simulated) > 0
		r.Scenarios.NotPlayed += len(run.NotPlayed)
		switch run.Verdict {
		case harness.VerdictPassed:
			r.Scenarios.Passed++
		case harness.VerdictFailed:
			r.Scenarios.Failed++
		default:
			r.Scenarios.Error++
		}
	}
	r.Requirements = together(results)
	for _, d := range drills {
		if c, judged := d.check(r.Requirements); judged {
			r.Checks = append(r.Checks, c)
		}
	}
	r.Verdict = r.verdict()
	r.Summary = r.summary()
	return r
}

// Narrow marks the verdict as one on scenarios that somebody chose: it says
// nothing of the others, and neither summary nor badge may look as if it did.
func (r *Report) Narrow() {
	r.Partial = true
	r.Summary = r.summary()
}

func (r *Report) verdict() harness.Verdict {
	verdict := harness.VerdictPassed
	worst := func(v harness.Verdict) {
		switch {
		case v == harness.VerdictError:
			verdict = v
		case v == harness.VerdictFailed && verdict == harness.VerdictPassed:
			verdict = v
		}
	}
	for _, c := range r.Checks {
		worst(c.Verdict)
	}
	for _, run := range r.Runs {
		worst(run.Verdict)
	}
	if len(r.Runs) == 0 && verdict == harness.VerdictPassed {
		return harness.VerdictError // nothing was played, so nothing is known
	}
	return verdict
}

// summary says the outcome in one sentence.
func (r *Report) summary() string {
	played := r.Scenarios.Passed + r.Scenarios.Failed + r.Scenarios.Error
	counts := map[harness.Status]int{}
	var failed []string
	for _, q := range r.Requirements {
		counts[q.Status]++
		if q.Status == harness.StatusFailed && !slices.Contains(failed, q.ID) {
			failed = append(failed, q.ID)
		}
	}
	kind := "scenarios"
	if r.Partial {
		kind = "chosen scenarios"
	}
	out := fmt.Sprintf("%d of %d %s pass under %s", r.Scenarios.Passed, played, kind, cmp.Or(strings.Join(r.ControlPlanes, " and "), "no control plane"))
	if r.Simulated {
		out += " on simulated providers"
	}
	if r.Scenarios.NotPlayed > 0 {
		out += fmt.Sprintf(", %d were not played", r.Scenarios.NotPlayed)
	}
	out += fmt.Sprintf("; %d requirements hold", counts[harness.StatusPassed])
	if len(failed) > 0 {
		out += ", not " + strings.Join(failed[:min(len(failed), 6)], ", ")
		if len(failed) > 6 {
			out += fmt.Sprintf(" and %d more", len(failed)-6)
		}
	}
	var checks []string
	for _, c := range r.Checks {
		if c.Verdict != harness.VerdictPassed {
			checks = append(checks, c.Name)
		}
	}
	if len(checks) > 0 {
		out += "; not passed: " + strings.Join(checks, ", ")
	}
	return out
}

// rank orders statuses: of several about one requirement the one with the
// higher rank counts.
var rank = map[harness.Status]int{harness.StatusNotApplicable: 1, harness.StatusManual: 2, harness.StatusPassed: 3, harness.StatusFailed: 4}

// together puts the requirements of all scenarios together, in the order in
// which they appear.
func together(results []*harness.Result) []Standing {
	type key struct {
		id   string
		role contract.Role
	}
	at := map[key]int{}
	out := []Standing{}
	for _, run := range results {
		for _, q := range run.Requirements {
			k := key{q.ID, q.Role}
			n, known := at[k]
			if !known {
				n = len(out)
				at[k] = n
				out = append(out, Standing{ID: q.ID, Role: q.Role, Level: q.Level, Title: q.Title, Status: q.Status})
			}
			if rank[q.Status] > rank[out[n].Status] {
				out[n].Status = q.Status
			}
			if q.Status == harness.StatusFailed {
				out[n].FailedIn = append(out[n].FailedIn, run.ControlPlane+"/"+run.Scenario)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Standing) int {
		return cmp.Or(rank[b.Status]/4-rank[a.Status]/4, strings.Compare(a.ID, b.ID))
	})
	return out
}

// check judges the drill; judged is false when no scenario came to it.
func (d drill) check(all []Standing) (c report.Check, judged bool) {
	c = report.Check{Name: d.name + " drill", Verdict: harness.VerdictPassed}
	held := 0
	for _, q := range all {
		if !slices.Contains(d.ids, q.ID) {
			continue
		}
		switch q.Status {
		case harness.StatusPassed:
			held++
		case harness.StatusFailed:
			c.Verdict = harness.VerdictFailed
			c.Findings = append(c.Findings, report.CheckFinding{
				ID: q.ID, Severity: "error", Message: fmt.Sprintf("%s (%s): fails in %s", q.Title, cmp.Or(string(q.Role), "set"), strings.Join(q.FailedIn, ", ")),
			})
		}
	}
	c.Summary = fmt.Sprintf("%s (%d requirements hold, %d do not)", d.property, held, len(c.Findings))
	return c, held+len(c.Findings) > 0
}
