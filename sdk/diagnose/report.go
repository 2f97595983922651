package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// recent is how old an event may be that explains something.
const recent = time.Hour

// report puts the findings into the form that is shown.
func (in *inspection) report() *Diagnosis {
	d := &Diagnosis{
		SchemaVersion: SchemaVersion, Cluster: in.root.ref, At: in.Now.UTC(), Verdict: VerdictHealthy,
		Problems: []Problem{}, Notes: []Problem{}, Unread: append([]string{}, in.unread...), Objects: []Object{},
	}
	var roots, notes []*finding
	for _, f := range in.findings {
		switch {
		case f.state == StateNote:
			notes = append(notes, f)
		case f.cause == nil:
			roots = append(roots, f)
		}
	}
	roots, notes = merged(roots), merged(notes)
	numbers := map[*finding]int{}
	for i, f := range roots {
		for _, of := range append(append([]*finding{f}, f.also...), f.consequences...) {
			numbers[of] = i + 1
		}
		d.Problems = append(d.Problems, in.problem(f))
	}
	for _, f := range notes {
		d.Notes = append(d.Notes, in.problem(f))
	}
	if len(roots) > 0 {
		d.Verdict = VerdictWorking
	}
	if slices.ContainsFunc(roots, func(f *finding) bool { return f.state == StateStuck }) {
		d.Verdict = VerdictStuck
	}
	for _, n := range in.nodes {
		d.Objects = append(d.Objects, in.object(n, numbers))
	}
	return d
}

// merged ranks findings and puts those together that are the same problem of several objects.
func merged(list []*finding) []*finding {
	slices.SortStableFunc(list, less)
	var out []*finding
	for _, f := range list {
		i := slices.IndexFunc(out, func(g *finding) bool {
			return g.gate == f.gate && g.node.ref.Kind == f.node.ref.Kind && g.reason == f.reason && g.field == f.field && g.state == f.state
		})
		if i < 0 {
			out = append(out, f)
			continue
		}
		out[i].consequences = append(out[i].consequences, f.consequences...)
		if f.node.ref != out[i].node.ref && !slices.ContainsFunc(out[i].also, func(g *finding) bool { return g.node.ref == f.node.ref }) {
			out[i].also = append(out[i].also, f)
		}
	}
	return out
}

func (in *inspection) problem(f *finding) Problem {
	p := Problem{
		Gate: gates[f.gate].ID, GateTitle: gates[f.gate].Title, State: f.state, Overdue: f.overdue,
		Object: f.node.ref, Field: f.field, Reason: f.reason, Message: oneLine(f.message), Details: f.details,
		Action: f.action, Commands: f.command,
	}
	if p.Message == "" {
		p.Message = "no message is given"
	}
	if !f.since.IsZero() {
		p.Since = new(f.since.UTC())
	}
	if e, ok := in.warning(f.node); ok && !strings.Contains(f.message, e.note) {
		p.Details = append(p.Details, in.told(e))
	}
	for _, a := range f.also {
		p.Also = append(p.Also, a.node.ref)
	}
	slices.SortStableFunc(f.consequences, func(a, b *finding) int { return b.node.position - a.node.position })
	seen := []Reference{f.node.ref}
	for _, c := range f.consequences {
		if slices.Contains(seen, c.node.ref) || slices.Contains(p.Also, c.node.ref) {
			continue
		}
		seen = append(seen, c.node.ref)
		p.Consequences = append(p.Consequences, Consequence{Object: c.node.ref, Gate: gates[c.gate].ID, Message: oneLine(c.message)})
	}
	return p
}

// warning is the newest warning about an object that is not old.
func (in *inspection) warning(n *node) (event, bool) {
	for _, e := range in.events[n.ref.key()] {
		if e.warning && in.Now.Sub(e.last) <= recent {
			return e, true
		}
	}
	return event{}, false
}

func (in *inspection) told(e event) string {
	times := ""
	if e.count > 1 {
		times = fmt.Sprintf(" %d times, last", e.count)
	}
	return oneLine(fmt.Sprintf("event %s%s %s ago: %s", e.reason, times, ago(in.Now.Sub(e.last)), e.note))
}

// object says how one object stands.
func (in *inspection) object(n *node, numbers map[*finding]int) Object {
	o := Object{Reference: n.ref, Role: string(n.role), State: StateOK, Summary: in.summary(n)}
	for p := n.parent; p != nil; p = p.parent {
		o.Depth++
	}
	rank := []State{StateOK, StateNote, StateWaiting, StateWorking, StateStuck}
	for _, f := range in.byNode[n] {
		state := f.state
		if f.cause != nil {
			state = StateWaiting
		}
		if slices.Index(rank, state) <= slices.Index(rank, o.State) {
			continue
		}
		o.State, o.Problem = state, numbers[f]
		o.Summary = f.short()
	}
	return o
}

// short is a finding in a few words.
func (f *finding) short() string {
	message := oneLine(f.message)
	const most = 90
	if runes := []rune(message); len(runes) > most {
		message = strings.TrimSpace(string(runes[:most-1])) + "…"
	}
	return message
}

// summary says of an object that is well how it is.
func (in *inspection) summary(n *node) string {
	switch n.role {
	case roleCluster:
		return strings.ToLower(n.str("status", "phase"))
	case roleInfraCluster, roleInfraMachine, roleInfraPool:
		if n.provisioned() {
			return "provisioned"
		}
	case roleBootstrap:
		if n.bootstrapped() {
			return "data is there"
		}
	case roleMachine:
		if name := n.str("status", "nodeRef", "name"); name != "" {
			return "Node " + name
		}
	case roleControlPlane, roleMachineDeployment, roleMachineSet, roleMachinePool:
		want, ok := n.number("spec", "replicas")
		have, _ := n.number("status", "readyReplicas")
		if ok {
			return fmt.Sprintf("%d of %d ready", have, want)
		}
	case roleJob:
		return n.ref.Name[strings.LastIndex(n.ref.Name, "-")+1:] + " " + jobState(n)
	case rolePod:
		return strings.ToLower(n.str("status", "phase"))
	}
	return ""
}

func jobState(n *node) string {
	for _, c := range n.conditions {
		if c.status == "True" && (c.kind == "Failed" || c.kind == "Complete") {
			return strings.ToLower(c.kind)
		}
	}
	return "active"
}

// oneLine takes line breaks and lists of Cluster API's messages out of a text, and what a terminal would obey.
func oneLine(s string) string {
	var parts []string
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
				return ' '
			}
			return r
		}, line))
		if line = strings.TrimPrefix(line, "* "); line != "" {
			parts = append(parts, line)
		}
	}
	out := ""
	for i, p := range parts {
		switch {
		case i == 0:
		case strings.HasSuffix(out, ":"):
			out += " "
		default:
			out += "; "
		}
		out += p
	}
	return out
}

// ago writes a duration as people say it.
func ago(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd", int(d.Hours())/24)
	}
}
