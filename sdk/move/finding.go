package move

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity says what a finding means for the move.
type Severity string

// The severities. Only errors keep a namespace from being ready.
const (
	// SeverityError: clusterctl refuses, or the cluster does not work afterwards.
	SeverityError Severity = "error"
	// SeverityWarning: the move works, but something is lost, changed or to be done by hand.
	SeverityWarning Severity = "warning"
	// SeverityInfo: worth knowing.
	SeverityInfo Severity = "info"
)

// Severities lists them, the gravest first.
func Severities() []Severity { return []Severity{SeverityError, SeverityWarning, SeverityInfo} }

// Side says which management cluster an object is in.
type Side string

// The sides.
const (
	SideSource Side = "source"
	SideTarget Side = "target"
)

// Object names an object.
type Object struct {
	// APIVersion and Kind of the object; APIVersion is left out where only the kind is known.
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	// Namespace of the object, if it has one.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is the kind and the name, with the namespace if there is one.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

func (o Object) compare(p Object) int {
	return cmp.Or(cmp.Compare(o.Kind, p.Kind), cmp.Compare(o.Namespace, p.Namespace), cmp.Compare(o.Name, p.Name), cmp.Compare(o.APIVersion, p.APIVersion))
}

// Finding is one thing that was found.
type Finding struct {
	// ID names the rule; it never changes its meaning. docs/reference/move-check.md lists all.
	ID string `json:"id"`
	// Severity says what it means for the move.
	Severity Severity `json:"severity"`
	// Side says which management cluster the object is in.
	Side Side `json:"side"`
	// Object is what it is about.
	Object Object `json:"object"`
	// What was found.
	What string `json:"what"`
	// Why it matters.
	Why string `json:"why"`
	// Fix is the command that fixes it or that shows how it gets on; a shell may run it as it stands.
	Fix string `json:"fix"`

	// about are the objects of the graph that decide which Cluster the finding belongs to; none is all of them.
	about []*node
}

// Moved is an object that clusterctl would make at the target.
type Moved struct {
	Object
	// Deleted tells that it is deleted at the source afterwards. What is global, or used by what stays, is not.
	Deleted bool `json:"deleted"`
}

// Summary counts findings.
type Summary struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Infos    int `json:"infos"`
}

// Report is what [Check] found out.
type Report struct {
	// Ready tells that there is no error.
	Ready bool `json:"ready"`
	// Namespace that was looked at.
	Namespace string `json:"namespace"`
	// Cluster that the findings were limited to, if they were.
	Cluster string `json:"cluster,omitempty"`
	// TargetChecked tells that there was a target to look at.
	TargetChecked bool `json:"targetChecked"`
	// Summary counts the findings.
	Summary Summary `json:"summary"`
	// Findings, the gravest first.
	Findings []Finding `json:"findings"`
	// Moves are the objects that clusterctl would move, whatever the findings say and whatever they were limited to.
	Moves []Moved `json:"moves"`
}

// Rule is a kind of finding.
type Rule struct {
	ID string
	// Severities that its findings may have.
	Severities []Severity
	// Finds says when there is a finding, Why what comes of it.
	Finds, Why string
}

// Rules lists all kinds of findings in the order of the reference page.
func Rules() []Rule { return slices.Clone(rules) }

// collector collects findings.
type collector struct {
	findings []Finding
}

// add completes a finding from its rule. A rule with one severity needs none in the finding.
func (c *collector) add(f Finding) {
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == f.ID })
	if i < 0 {
		panic(fmt.Sprintf("no rule %s", f.ID)) // each is a literal of this package
	}
	r := rules[i]
	f.Severity = cmp.Or(f.Severity, r.Severities[0])
	f.Side = cmp.Or(f.Side, SideSource)
	f.Why = cmp.Or(f.Why, r.Why)
	c.findings = append(c.findings, f)
}

// sorted are the findings, each once, the gravest first.
func (c *collector) sorted() []Finding {
	rank := func(s Severity) int { return slices.Index(Severities(), s) }
	slices.SortStableFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(rank(a.Severity), rank(b.Severity)), strings.Compare(a.ID, b.ID), a.Object.compare(b.Object), strings.Compare(a.What, b.What))
	})
	return c.findings
}

// finish makes the report's sums.
func (r *Report) finish() {
	for _, f := range r.Findings {
		switch f.Severity {
		case SeverityError:
			r.Summary.Errors++
		case SeverityWarning:
			r.Summary.Warnings++
		default:
			r.Summary.Infos++
		}
	}
	r.Ready = r.Summary.Errors == 0
}
