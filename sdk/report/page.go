package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
)

// Bounds of a page: it must open on a phone.
const (
	maxRows     = 6000 // lines of stories, over all scenarios
	leastRows   = 300  // lines of one story
	maxEvidence = 8    // lines of evidence for one requirement
	maxListed   = 400  // rows of any other table
	maxText     = 4000 // characters of one text
)

// page is everything that the template shows; the template decides nothing.
type page struct {
	Title     string
	Sentence  string
	Verdict   string
	Word      string
	Generator string
	Date      string
	Policy    string
	Style     template.CSS
	Script    template.JS
	Checks    []check
	Runs      []run
	NotPlayed []harness.NotPlayed
	// Many tells that there are several scenarios, so that a table of them is shown.
	Many bool
}

// run is one scenario.
type run struct {
	// P is the prefix of the run's ids in the page.
	P                       string
	Scenario, Title         string
	Verdict, Word, Sentence string
	Open                    bool
	Facts                   []fact
	Command                 string
	Counts                  []count
	Stall                   []fact
	StallAt                 string
	StallExpected           bool
	Error                   string
	Timeline                timeline
	Groups                  []requirementGroup
	Faults                  []faultRow
	Objects                 []objectRow
	ObjectsHidden           int
	LeftInCloud             []harness.CloudObject
	Left                    []string
	Kept                    string
	Simulated               []simulatedRow
	Notes                   []noteRow
	Timing                  timingView
	Story                   []storyRow
	StoryHidden             int
	StoryTotal              int
	StoryObjects            []string
	StoryTypes              []string
}

type fact struct{ Name, Value string }

// Class says how much room the value needs.
func (f fact) Class() string {
	switch n := len(f.Value); {
	case n > 80:
		return "full"
	case n > 26:
		return "wide"
	}
	return ""
}

type count struct {
	Class, Word string
	N           int
	Part        float64
}

type requirementGroup struct {
	Class, Title, Lead string
	N                  int
	Open               bool
	Rows               []requirementRow
}

type requirementRow struct {
	Anchor, ID, Level, Role, Title string
	Reason, Remedy                 string
	Evidence                       []string
	EvidenceMore                   int
	Proof                          []proofView
	// Question tells that the reason is one to a person.
	Question bool
}

type proofView struct {
	Title string
	Lines []proofLine
	More  int
}

type proofLine struct{ Sign, Class, Text, Place string }

type faultRow struct {
	At, Kind, Object, Op, Effect, Verdict, Word string
	Reaction, Left                              []string
}

type objectRow struct {
	Object, Role   string
	Probe          bool
	Runs           int
	Created        int
	Addresses      []string
	Remaining      int
	RemainingNames []string
}

type simulatedRow struct {
	Provider, Schema, Behaviour, Unchecked string
}

type noteRow struct{ Place, Message string }

type timingView struct {
	Total, Runtime, Ours string
	Runs                 int
	RuntimePart          float64
}

type storyRow struct {
	Time, Type, Actor, Object, Event, Gate, Took string
	Class                                        string
}

type check struct {
	P, Name, Verdict, Word, Summary string
	Findings                        []CheckFinding
	More                            int
}

// words say a verdict in words and signs, so that no colour is needed.
var words = map[harness.Verdict]string{harness.VerdictPassed: "Passed", harness.VerdictFailed: "Failed", harness.VerdictError: "Could not run"}

func word(v harness.Verdict) string { return cmp.Or(words[v], short(string(v))) }

// class makes a verdict a class of the style sheet, and nothing else.
func class(v harness.Verdict) string {
	if _, known := words[v]; known {
		return string(v)
	}
	return string(harness.VerdictError)
}

// short bounds and cleans a text that stands on one line.
func short(s string) string {
	s = line(s)
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + fmt.Sprintf(" … (%d bytes in all)", len(s))
}

// paragraph is like short, but keeps line ends.
func paragraph(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + fmt.Sprintf(" … (%d bytes in all)", len(s))
	}
	lines := strings.Split(s, "\n")
	for n := range lines {
		lines[n] = line(lines[n])
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func shorts(list []string) []string {
	out := make([]string, 0, min(len(list), maxListed))
	for n, s := range list {
		if n == maxListed {
			out = append(out, fmt.Sprintf("… and %d more", len(list)-n))
			break
		}
		out = append(out, short(s))
	}
	return out
}

func newPage(o HTMLOptions, results []*harness.Result) *page {
	p := &page{Title: short(o.Title), Generator: short(o.Generator), Date: short(o.Date), Many: len(results) > 1}
	for n, c := range o.Checks {
		v := check{P: "c" + strconv.Itoa(n+1), Name: short(c.Name), Verdict: class(c.Verdict), Word: word(c.Verdict), Summary: short(c.Summary)}
		for _, f := range c.Findings {
			if len(v.Findings) == maxListed {
				v.More++
				continue
			}
			v.Findings = append(v.Findings, CheckFinding{ID: short(f.ID), Severity: short(f.Severity), Message: short(f.Message), Place: short(f.Place), Remedy: short(f.Remedy)})
		}
		p.Checks = append(p.Checks, v)
	}
	rows := max(maxRows/max(len(results), 1), leastRows)
	for n, r := range results {
		p.Runs = append(p.Runs, newRun("s"+strconv.Itoa(n+1), r, rows))
		for _, s := range r.NotPlayed {
			p.NotPlayed = append(p.NotPlayed, harness.NotPlayed{Scenario: short(s.Scenario), Title: short(s.Title), Reason: short(s.Reason)})
		}
	}
	verdict := overall(o.Checks, results)
	p.Verdict, p.Word = class(verdict), word(verdict)
	p.Sentence = pageSentence(verdict, o.Checks, results)
	if p.Title == "" {
		p.Title = "captf harness"
		if len(results) == 1 {
			p.Title = "Scenario " + short(results[0].Scenario)
		} else if len(results) > 1 {
			p.Title = fmt.Sprintf("%d scenarios", len(results))
		}
	}
	// Something is open in any case, so that nobody has to look for the timeline.
	if len(results) > 0 && !slices.ContainsFunc(p.Runs, func(r run) bool { return r.Open }) {
		p.Runs[0].Open = true
	}
	return p
}

// overall is the worst of all verdicts.
func overall(checks []Check, results []*harness.Result) harness.Verdict {
	all := make([]harness.Verdict, 0, len(checks)+len(results))
	for _, c := range checks {
		all = append(all, c.Verdict)
	}
	for _, r := range results {
		all = append(all, r.Verdict)
	}
	switch {
	case slices.Contains(all, harness.VerdictError):
		return harness.VerdictError
	case slices.Contains(all, harness.VerdictFailed):
		return harness.VerdictFailed
	}
	return harness.VerdictPassed
}

// pageSentence says the outcome of everything in one sentence.
func pageSentence(verdict harness.Verdict, checks []Check, results []*harness.Result) string {
	if len(results) == 1 && len(checks) == 0 {
		return Sentence(results[0])
	}
	var bad []string
	passed := 0
	for _, c := range checks {
		if c.Verdict != harness.VerdictPassed {
			bad = append(bad, short(c.Name))
		}
	}
	for _, r := range results {
		if r.Verdict == harness.VerdictPassed {
			passed++
		} else {
			bad = append(bad, short(r.Scenario))
		}
	}
	out := fmt.Sprintf("%d of %s passed", passed, plural(len(results), "scenario"))
	if passed == len(results) && passed > 1 {
		out = fmt.Sprintf("All %d scenarios passed", passed)
	}
	if len(bad) > 0 {
		out += "; not passed: " + enumerate(bad, 8)
	} else if verdict == harness.VerdictPassed && len(checks) > 0 {
		out += ", and so did every check before them"
	}
	return out + "."
}

// Sentence says the outcome of a run in one sentence.
func Sentence(r *harness.Result) string {
	failed := idsOf(r, harness.StatusFailed)
	switch {
	case r.Verdict == harness.VerdictError:
		first, _, _ := strings.Cut(strings.TrimSpace(r.Error), "\n")
		return strings.TrimSuffix("It could not run: "+short(cmp.Or(first, "no reason was given")), ".") + "."
	case r.Stalled != nil && r.Stalled.Expected && r.Verdict == harness.VerdictPassed:
		return fmt.Sprintf("Stalled at gate %s, as the scenario asks for; all %s that apply hold.", short(r.Stalled.Gate), plural(len(idsOf(r, harness.StatusPassed)), "requirement"))
	case r.Stalled != nil:
		s := r.Stalled
		return fmt.Sprintf("Stalled after %s: %s waits for %s.", virtual(s.At), short(s.Object), short(s.WaitsFor))
	case len(failed) > 0:
		verb := "do not hold"
		if len(failed) == 1 {
			verb = "does not hold"
		}
		return fmt.Sprintf("%d of %s that apply %s: %s.", len(failed), plural(len(failed)+len(idsOf(r, harness.StatusPassed)), "requirement"), verb, enumerate(failed, 6))
	case r.Verdict == harness.VerdictFailed && len(r.Left)+len(r.LeftInCloud) > 0:
		return "Infrastructure was left behind: " + enumerate(append(shorts(r.Left), cloudNames(r.LeftInCloud)...), 4) + "."
	case r.Verdict == harness.VerdictFailed:
		return "The story did not come to its end."
	}
	out := fmt.Sprintf("All %s that apply hold", plural(len(idsOf(r, harness.StatusPassed)), "requirement"))
	if n := len(idsOf(r, harness.StatusManual)); n > 0 {
		out += fmt.Sprintf("; %s left for a person", plural(n, "question")+map[bool]string{true: " is", false: " are"}[n == 1])
	}
	return out + "."
}

func idsOf(r *harness.Result, status harness.Status) []string {
	var out []string
	for _, q := range r.Requirements {
		if q.Status == status {
			out = append(out, short(q.ID))
		}
	}
	return out
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// enumerate lists a few names.
func enumerate(names []string, most int) string {
	if len(names) > most {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(names, ", ")
}

func cloudNames(objects []harness.CloudObject) []string {
	out := make([]string, 0, len(objects))
	for _, o := range objects {
		out = append(out, short(o.Type+" "+o.ID))
	}
	return out
}

func newRun(prefix string, r *harness.Result, rows int) run {
	v := run{
		P: prefix, Scenario: short(r.Scenario), Title: short(r.Title), Verdict: class(r.Verdict), Word: word(r.Verdict), Sentence: Sentence(r),
		Open: r.Verdict != harness.VerdictPassed, Command: short(r.Command), Error: paragraph(r.Error), Kept: short(r.Kept), Left: shorts(r.Left),
		Timeline: draw(r),
	}
	v.Facts = named(
		"Scenario", r.Scenario, "Scenario file", r.ScenarioFile, "Control plane", r.ControlPlane, "Registration", r.Registration, "Runtime", r.Runtime, "Seed", strconv.FormatUint(r.Seed, 10), "Contract", r.Contract,
	)
	for _, role := range contract.Roles() {
		if dir := r.Modules[role]; dir != "" {
			v.Facts = append(v.Facts, fact{"Module " + string(role), short(dir)})
		}
		if m, ok := r.Membership[role]; ok {
			how := "recognised by resource types"
			if m.Declared {
				how = "declared in captf-harness.json"
			}
			value := fmt.Sprintf("pattern %s, %s", m.Pattern, how)
			if len(m.Members) > 0 {
				value += ": " + enumerate(m.Members, 4)
			}
			v.Facts = append(v.Facts, fact{"Backends by " + string(role), short(value)})
		}
	}
	if b := r.LoadBalancer; b != nil {
		v.Facts = append(v.Facts, named("Load balancer", fmt.Sprintf("%s (%s)", b.Description, b.Source))...)
	}
	if s := r.Stalled; s != nil {
		v.StallExpected = s.Expected && r.Verdict == harness.VerdictPassed
		v.StallAt = virtual(s.At)
		v.Stall = named("Gate", s.Gate, "Object", s.Object, "Waits for", s.WaitsFor, "Output", s.Output, "Requirement", s.Requirement, "What happens", s.Message, "What to do", s.Remedy)
	}
	v.Counts, v.Groups = requirementViews(prefix, r)
	v.addInventory(r)
	for _, f := range r.Faults {
		v.Faults = append(v.Faults, faultView(f))
	}
	for _, s := range r.Simulated {
		v.Simulated = append(v.Simulated, simulatedRow{short(s.Provider), short(s.Schema), short(s.Behaviour), short(strings.Join(s.Unchecked, ", "))})
	}
	for _, n := range r.Notes {
		v.Notes = append(v.Notes, noteRow{short(cmp.Or(n.Place, string(n.Role)+" module")), short(n.Message)})
	}
	ours := max(r.Timing.Total-r.Timing.Runtime, 0)
	v.Timing = timingView{Total: real(r.Timing.Total), Runtime: real(r.Timing.Runtime), Ours: real(ours), Runs: r.Timing.Runs}
	if r.Timing.Total > 0 {
		v.Timing.RuntimePart = round(min(r.Timing.Runtime/r.Timing.Total, 1) * 100)
	}
	v.addStory(r.Steps, rows)
	return v
}

// named pairs names and values and leaves empty values out.
func named(pairs ...string) []fact {
	var out []fact
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, fact{pairs[i], short(pairs[i+1])})
		}
	}
	return out
}

func (v *run) addInventory(r *harness.Result) {
	for _, o := range r.Objects {
		if len(v.Objects) == maxListed {
			v.ObjectsHidden++
			continue
		}
		v.Objects = append(v.Objects, objectRow{
			Object: short(o.Object), Role: short(string(o.Role)), Probe: o.Probe, Runs: o.Runs, Created: o.Created, Addresses: shorts(o.Addresses),
			Remaining: o.Remaining, RemainingNames: shorts(o.RemainingAddresses),
		})
	}
	for n, o := range r.LeftInCloud {
		if n == maxListed {
			v.LeftInCloud = append(v.LeftInCloud, harness.CloudObject{Type: fmt.Sprintf("… and %d more", len(r.LeftInCloud)-n)})
			break
		}
		v.LeftInCloud = append(v.LeftInCloud, harness.CloudObject{Type: short(o.Type), ID: short(o.ID), Owner: short(o.Owner), Address: short(o.Address)})
	}
}

func faultView(f harness.FaultRecord) faultRow {
	row := faultRow{
		At: virtual(f.At), Kind: short(string(f.Kind)), Object: short(f.Object), Op: short(string(f.Op)), Effect: short(f.Effect), Reaction: shorts(f.Reaction),
		Verdict: string(harness.VerdictFailed), Word: "Not survived",
	}
	if f.Survived {
		row.Verdict, row.Word = string(harness.VerdictPassed), "Survived"
	}
	for _, o := range f.Left {
		row.Left = append(row.Left, short(strings.TrimSpace(o.Type+" "+o.ID)))
	}
	return row
}

// addStory adds the lines of the story: the beginning and the end of one that is too long.
func (v *run) addStory(steps []harness.StoryStep, rows int) {
	v.StoryTotal = len(steps)
	objects, types := map[string]bool{}, map[string]bool{}
	for n, s := range steps {
		if len(steps) > rows && n >= rows*3/4 && n < len(steps)-rows/4 {
			v.StoryHidden++
			continue
		}
		row := storyRow{Time: virtual(s.At), Type: short(string(s.Type)), Actor: short(s.Actor), Object: short(s.Object), Event: short(s.Event), Gate: short(s.Gate)}
		if s.Took > 0 {
			row.Took = real(s.Took)
		}
		switch s.Type {
		case harness.EventRunFailed, harness.EventStalled, harness.EventFault, harness.EventUnhealthy:
			row.Class = "bad"
		case harness.EventAsked, harness.EventReached:
			row.Class = "asked"
		case harness.EventWaiting, harness.EventPassed:
			row.Class = "quiet"
		}
		objects[row.Object], types[row.Type] = true, true
		v.Story = append(v.Story, row)
	}
	v.StoryObjects, v.StoryTypes = choices(objects), choices(types)
}

// choices are the values of a filter.
func choices(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for s := range set {
		if s != "" {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), maxListed)]
}
