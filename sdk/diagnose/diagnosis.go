package diagnose

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// SchemaVersion is the version of the JSON form of a Diagnosis; it grows when a field changes its meaning or goes.
const SchemaVersion = 1

// Verdict is what a diagnosis comes to.
type Verdict string

// The verdicts.
const (
	// VerdictHealthy: the cluster is as it should be.
	VerdictHealthy Verdict = "healthy"
	// VerdictWorking: something is under way, within the time that it may take.
	VerdictWorking Verdict = "working"
	// VerdictStuck: it will not go on by itself, or takes longer than it should.
	VerdictStuck Verdict = "stuck"
)

// Diagnosis is what is wrong with a cluster, in order: the first problem is the one to begin with.
type Diagnosis struct {
	// SchemaVersion is the version of this form.
	SchemaVersion int `json:"schemaVersion"`
	// Cluster is what was looked at.
	Cluster Reference `json:"cluster"`
	// At is when it was looked at.
	At time.Time `json:"at"`
	// Verdict sums it up.
	Verdict Verdict `json:"verdict"`
	// Problems keep the cluster from being healthy, the root cause first.
	Problems []Problem `json:"problems"`
	// Notes are worth knowing, and keep nothing from going on.
	Notes []Problem `json:"notes"`
	// Unread says what could not be looked at.
	Unread []string `json:"unread"`
	// Objects are all that were looked at, in the order of a cluster's life.
	Objects []Object `json:"objects"`
}

// Problem is one cause.
type Problem struct {
	// Gate is the id of the gate that is shut.
	Gate string `json:"gate"`
	// GateTitle is what the gate asks for.
	GateTitle string `json:"gateTitle"`
	// State is stuck or working; of notes it is note.
	State State `json:"state"`
	// Overdue tells that nothing has failed, but it takes longer than it should.
	Overdue bool `json:"overdue,omitempty"`
	// Object is what is responsible.
	Object Reference `json:"object"`
	// Field is the place in it.
	Field string `json:"field,omitempty"`
	// Reason is the machine-readable reason, as the object gives it.
	Reason string `json:"reason,omitempty"`
	// Message says what is wrong.
	Message string `json:"message"`
	// Details say more of it, such as resources that failed or the newest warning.
	Details []string `json:"details,omitempty"`
	// Since is when it began, as far as objects tell.
	Since *time.Time `json:"since,omitempty"`
	// Action is what to do next; it begins with none when that is nothing.
	Action string `json:"action"`
	// Commands help to do it. They are examples: the first is the one to begin with.
	Commands []string `json:"commands,omitempty"`
	// Also are further objects with the same problem.
	Also []Reference `json:"also,omitempty"`
	// Consequences are what waits for this.
	Consequences []Consequence `json:"consequences,omitempty"`
}

// Consequence is an object that waits because of a problem.
type Consequence struct {
	// Object is what waits.
	Object Reference `json:"object"`
	// Gate is where it waits.
	Gate string `json:"gate"`
	// Message says what for.
	Message string `json:"message"`
}

// Object is one object of the cluster, as it was found.
type Object struct {
	Reference
	// Depth is how deep it is in the tree; 0 is the Cluster.
	Depth int `json:"depth"`
	// Role is what it is to the cluster.
	Role string `json:"role"`
	// State is how it stands.
	State State `json:"state"`
	// Summary says it in a few words.
	Summary string `json:"summary,omitempty"`
	// Problem is the number of the problem, from 1, that the object has or waits for; 0 is none.
	Problem int `json:"problem,omitempty"`
}

// State is how an object stands.
type State string

// The states.
const (
	// StateOK: as it should be.
	StateOK State = "ok"
	// StateNote: something about it is worth knowing.
	StateNote State = "note"
	// StateWorking: something is under way.
	StateWorking State = "working"
	// StateWaiting: it waits for another object.
	StateWaiting State = "waiting"
	// StateStuck: it does not go on by itself, or takes longer than it should.
	StateStuck State = "stuck"
)

// Options say how objects are judged.
type Options struct {
	// Now is the time to compare with.
	Now time.Time
	// Kubectl is how commands begin; "" is kubectl.
	Kubectl string
	// Clusterctl is the same for clusterctl.
	Clusterctl string
}

// finding is what a gate found.
type finding struct {
	node    *node
	gate    int
	state   State
	field   string
	reason  string
	message string
	details []string
	since   time.Time
	action  string
	command []string
	// on is what it waits for; a finding that something else explains is a consequence of it. nil is nothing.
	on []*node
	// patience is how long a wait may take; 0 is that of the gate.
	patience time.Duration
	overdue  bool

	cause        *finding
	consequences []*finding
	also         []*finding
}

// inspection judges the objects of one cluster.
type inspection struct {
	*Objects
	Options
	findings []*finding
	byNode   map[*node][]*finding
}

// New judges what was read.
func New(objects *Objects, o Options) *Diagnosis {
	o.Kubectl, o.Clusterctl = cmp.Or(o.Kubectl, "kubectl"), cmp.Or(o.Clusterctl, "clusterctl")
	in := &inspection{Objects: objects, Options: o, byNode: map[*node][]*finding{}}
	for _, n := range in.nodes {
		in.pass(n)
	}
	for _, f := range in.findings {
		in.byNode[f.node] = append(in.byNode[f.node], f)
	}
	in.explain()
	return in.report()
}

// pass takes an object through the gates. Of the waits of an object, other than the cluster itself, only that at the first
// gate is kept, and none beside something that has failed: the rest follows from it.
func (in *inspection) pass(n *node) {
	var found []*finding
	for i, g := range gates {
		if len(g.roles) > 0 && !slices.Contains(g.roles, n.role) {
			continue
		}
		if n.deleting() != g.deletion && !g.always {
			continue
		}
		if in.root.deleting() && !g.deletion && !g.always {
			continue // nothing is made any more
		}
		for _, f := range g.check(in, n) {
			f.node, f.gate = cmp.Or(f.node, n), i
			in.judgeTime(f)
			found = append(found, f)
		}
	}
	failed := slices.ContainsFunc(found, func(f *finding) bool { return f.node == n && f.state == StateStuck && !f.overdue })
	waits := 0
	for _, f := range found {
		if f.node == n && n.role != roleCluster && (f.state == StateWorking || f.overdue) {
			if waits++; failed || waits > 1 {
				continue
			}
		}
		in.findings = append(in.findings, f)
	}
}

// judgeTime makes a wait that takes too long a problem.
func (in *inspection) judgeTime(f *finding) {
	patience := cmp.Or(f.patience, gates[f.gate].Patience)
	if f.state != StateWorking || patience == 0 {
		return
	}
	since := f.since
	if since.IsZero() && f.node.obj != nil {
		since = f.node.obj.GetCreationTimestamp().Time
	}
	if since.IsZero() || in.Now.Sub(since) <= patience {
		return
	}
	f.state, f.overdue = StateStuck, true
	if _, lasts, ok := strings.Cut(f.action, "if it lasts, "); ok {
		f.action = lasts
	} else if strings.HasPrefix(f.action, "none") {
		f.action = "look at the conditions of " + f.node.ref.Kind + " and at the log of its controller: it takes longer than it should"
	}
}

// less ranks findings: what has failed before what takes too long, that before what is under way; then in the order of a
// cluster's life.
func less(a, b *finding) int {
	return cmp.Or(
		cmp.Compare(a.weight(), b.weight()),
		cmp.Compare(a.node.position, b.node.position),
		cmp.Compare(a.gate, b.gate))
}

// first tells that nothing else matters before this is mended: the Cluster itself is paused.
func (f *finding) first() bool { return gates[f.gate].first && f.node.role == roleCluster }

func (f *finding) weight() int {
	switch {
	case f.first():
		return 0
	case f.state == StateStuck && !f.overdue:
		return 1
	case f.state == StateStuck:
		return 2
	default:
		return 3
	}
}

// explain folds findings under what they wait for.
func (in *inspection) explain() {
	reach := map[*finding][]reached{}
	for _, f := range in.findings {
		if f.on != nil && f.state != StateNote {
			reach[f] = in.reachable(f)
		}
	}
	for _, f := range in.findings {
		f.cause = in.causeOf(f, reach)
	}
	for _, f := range in.findings {
		top := f.cause
		for n := 0; top != nil && top.cause != nil && n < len(in.findings); n++ {
			top = top.cause
		}
		if top != nil && top != f {
			top.consequences = append(top.consequences, f)
		}
	}
}

// reached is a finding that another waits for, over so many objects.
type reached struct {
	*finding
	distance int
}

// reachable are the findings at what a finding waits for, directly or through others. The Cluster explains others by what it
// has not passed on, never by everything that it waits for itself.
func (in *inspection) reachable(f *finding) []reached {
	var out []reached
	seen := map[*node]bool{f.node: true}
	type stop struct {
		*node
		distance int
	}
	var queue []stop
	enqueue := func(distance int, nodes ...*node) {
		for _, n := range nodes {
			queue = append(queue, stop{n, distance})
		}
	}
	for enqueue(1, f.on...); len(queue) > 0; queue = queue[1:] {
		n, distance := queue[0].node, queue[0].distance
		if n == nil || seen[n] {
			continue
		}
		seen[n] = true
		for _, g := range in.byNode[n] {
			if g.state != StateNote {
				out = append(out, reached{g, distance})
				if n != in.root {
					enqueue(distance+1, g.on...)
				}
			}
		}
		if n != in.root {
			enqueue(distance+1, in.needs(n)...)
		}
	}
	return out
}

// causeOf chooses what explains a finding: the nearest failure that it waits for, else the wait that waits for nothing else. A
// paused cluster explains every wait that nothing else does, and what a Cluster waits for first explains the rest of it.
func (in *inspection) causeOf(f *finding, reach map[*finding][]reached) *finding {
	if f.state == StateNote || f.first() {
		return nil
	}
	best := func(list []reached, fits func(*finding) bool) *finding {
		var out reached
		for _, g := range list {
			if fits(g.finding) && (out.finding == nil || cmp.Or(cmp.Compare(g.distance, out.distance), less(g.finding, out.finding)) < 0) {
				out = g
			}
		}
		return out.finding
	}
	back := func(g *finding) bool {
		return slices.ContainsFunc(reach[g], func(r reached) bool { return r.finding == f })
	}
	list := reach[f]
	if c := best(list, func(g *finding) bool { return g.state == StateStuck && !g.overdue && !back(g) }); c != nil {
		return c
	}
	if f.state == StateStuck && !f.overdue {
		return nil
	}
	for _, p := range in.findings {
		if p.first() {
			return p
		}
	}
	if c := best(list, func(g *finding) bool { return len(reach[g]) == 0 }); c != nil {
		return c
	}
	if c := best(list, func(*finding) bool { return true }); c != nil && c.node.position < f.node.position {
		return c // they wait for each other: the first in a cluster's life is the one to look at
	}
	for _, g := range in.byNode[in.root] {
		if f.node == in.root && g.gate < f.gate && g.state != StateNote {
			return g
		}
	}
	return nil
}
