package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/sdk/harness"
)

// Bounds of a drawn timeline: what is longer is drawn denser, what is more is counted.
const (
	minWidth = 860   // pixels of the axis
	maxWidth = 12000 // pixels
	perMin   = 26    // pixels a virtual minute, within the bounds
	maxLanes = 120
	markSize = 11  // pixels: marks that are closer are drawn as one
	tickGap  = 84  // pixels between the labels of the axis
	noteSize = 12  // lines of one tooltip
	noteWide = 160 // characters of a line there
)

// timeline is a story as it is drawn: lanes of bars and marks over virtual
// time. Positions are percentages of the axis, so that the drawing can be
// stretched.
type timeline struct {
	Width  int
	Ticks  []tick
	Phases []phase
	Groups []laneGroup
	// Stall is where the story stalled, in percent; negative when it did not.
	Stall float64
	// Hidden is the number of lanes that are not drawn.
	Hidden int
	End    string
}

type tick struct {
	At    float64
	Label string
}

// phase is one thing that the user asked for.
type phase struct {
	N     int
	At    float64
	Time  string
	Title string
}

// laneGroup are the lanes of one thing: a Machine with its Terraform object and Node.
type laneGroup struct {
	Title string
	Lanes []*lane
}

// lane is what happens to one object.
type lane struct {
	Kind, Name string
	// Object is the name and kind for the tooltip.
	Object string
	// Sub tells that it belongs to the lane before; its name is left out where it is the same.
	Sub   bool
	Bars  []bar
	Marks []mark
	// Summary says in words what the lane shows.
	Summary string

	object string
	counts map[string]int
}

// bar is something that lasts.
type bar struct {
	Class    string
	At, Wide float64
	Title    string
}

// mark is something that happens.
type mark struct {
	Class string
	At    float64
	N     int
	Title string

	rank  int
	lines []string
}

// drawn is an event that is drawn as a mark.
type drawn struct {
	typ          harness.EventType
	class, title string
}

// marks are the events that are drawn as marks, the most telling first: where
// several are too close for one mark each, the first stands for all.
var marks = []drawn{
	{harness.EventStalled, "stalled", "stalled"},
	{harness.EventFault, "fault", "fault"},
	{harness.EventRunFailed, "runfailed", "module run failed"},
	{harness.EventUnhealthy, "unhealthy", "unhealthy"},
	{harness.EventRemediated, "remediated", "remediated"},
	{harness.EventEnded, "stalled", "story ends"},
	{harness.EventInitialized, "initialized", "control plane initialised"},
	{harness.EventNodeJoined, "joined", "Node joined"},
	{harness.EventEndpointCopied, "endpoint", "endpoint copied"},
	{harness.EventProvisioned, "provisioned", "provisioned"},
	{harness.EventBootstrapData, "bootstrap", "bootstrap data"},
	{harness.EventTokenRotated, "token", "bootstrap token rotated"},
	{harness.EventBackend, "backend", "backend of the balancer"},
	{harness.EventGone, "gone", "gone"},
	{harness.EventDeleted, "deleted", "deletion asked for"},
	{harness.EventCreated, "created", "created"},
	{harness.EventDrained, "drained", "drained"},
	{harness.EventPreDrain, "preterminate", "control plane lets go"},
	{harness.EventServers, "servers", "hosts to join at"},
	{harness.EventPreTerminate, "preterminate", "control plane lets go"},
	{harness.EventNodeRef, "noderef", "Node found"},
	{harness.EventRunEnded, "refresh", "refresh"},
}

func rankOf(t harness.EventType) int {
	return slices.IndexFunc(marks, func(m drawn) bool { return m.typ == t })
}

// drawing is a timeline in the making.
type drawing struct {
	end   float64
	width float64
	lanes map[string]*lane
	order []*lane
	// owner is the lane group's object of an object: the Machine of a TerraformMachine or Node.
	owner map[string]string
	life  map[string]*life
}

// life is what is known of an object while its steps are read.
type life struct {
	from, to   float64
	over       bool
	runFrom    float64
	running    bool
	waits      map[string]harness.StoryStep
	upFrom     float64
	up         bool
	deletingAt float64
	deleting   bool
}

// draw lays the steps of a story out.
func draw(r *harness.Result) timeline {
	d := &drawing{lanes: map[string]*lane{}, owner: map[string]string{}, life: map[string]*life{}}
	for _, s := range r.Steps {
		d.end = max(d.end, s.At)
		if s.With != "" {
			d.owner[s.With] = s.Object
		}
	}
	d.end = max(d.end, 1)
	d.width = min(max(d.end/60*perMin, minWidth), maxWidth)
	t := timeline{Width: int(d.width), Stall: -1, End: virtual(d.end)}
	for _, s := range r.Steps {
		switch s.Type {
		case harness.EventAsked:
			t.Phases = append(t.Phases, phase{N: len(t.Phases) + 1, At: d.percent(s.At), Time: virtual(s.At), Title: line(s.Event)})
		case harness.EventReached, harness.EventProbed, harness.EventCleanUp:
		case harness.EventStalled:
			t.Stall = d.percent(s.At)
			d.step(s)
		default:
			d.step(s)
		}
	}
	d.finish()
	t.Ticks = d.ticks()
	t.Groups, t.Hidden = d.groups()
	return t
}

func (d *drawing) percent(at float64) float64 { return round(min(max(at, 0), d.end) / d.end * 100) }

// round keeps a file small: a hundredth of a pixel is seen by nobody.
func round(percent float64) float64 { return float64(int64(percent*1000+0.5)) / 1000 }

// laneOf returns the lane in which an object is drawn.
func (d *drawing) laneOf(object string) *lane {
	kind, name, ok := strings.Cut(object, "/")
	if !ok {
		return nil
	}
	if kind == "Node" {
		owner, found := d.owner[object]
		if !found {
			owner = "Machine/" + name
		}
		if l, drawn := d.lanes[owner]; drawn {
			return l
		}
		object, kind, name = "Nodes", "Nodes", "without a Machine"
	}
	l, drawn := d.lanes[object]
	if !drawn {
		l = &lane{Kind: line(kind), Name: line(name), Object: line(object), object: object, counts: map[string]int{}}
		d.lanes[object] = l
		d.order = append(d.order, l)
	}
	return l
}

// step draws one step.
func (d *drawing) step(s harness.StoryStep) {
	l := d.laneOf(s.Object)
	if l == nil {
		return
	}
	o, known := d.life[l.object]
	if !known {
		o = &life{from: s.At, waits: map[string]harness.StoryStep{}}
		d.life[l.object] = o
	}
	switch s.Type {
	case harness.EventWaiting:
		d.endWaits(l, o, s.At) // an object waits at one gate at a time
		o.waits[s.Gate] = s
		return
	case harness.EventPassed:
		d.endWaits(l, o, s.At)
		return
	case harness.EventRunStarted:
		d.endWaits(l, o, s.At)
		o.running, o.runFrom = true, s.At
		return
	case harness.EventRunEnded, harness.EventRunFailed:
		if o.running && s.Op != harness.OpRefresh {
			o.running = false
			d.runBar(l, o.runFrom, s)
			if s.Type == harness.EventRunEnded {
				return
			}
		}
	case harness.EventNodeJoined:
		if !o.up {
			o.up, o.upFrom = true, s.At
		}
	case harness.EventDeleted:
		o.deleting, o.deletingAt = true, s.At
	case harness.EventGone:
		d.endLife(l, o, s.At)
		o.over, o.to = true, s.At
	}
	d.mark(l, s)
}

func (d *drawing) runBar(l *lane, from float64, s harness.StoryStep) {
	class := "run"
	if s.Op == harness.OpApply || s.Op == harness.OpDestroy {
		class += " " + string(s.Op)
	}
	if s.Type == harness.EventRunFailed {
		class += " failed"
	}
	title := fmt.Sprintf("%s to %s: %s", virtual(from), virtual(s.At), line(s.Event))
	if s.Took > 0 {
		title += " (really took " + real(s.Took) + ")"
	}
	d.bar(l, class, from, s.At, title)
	l.counts["module run"]++
}

func (d *drawing) bar(l *lane, class string, from, to float64, title string) {
	l.Bars = append(l.Bars, bar{Class: class, At: d.percent(from), Wide: round(d.percent(max(to, from)) - d.percent(from)), Title: title})
}

// endWaits draws the waits of an object that are over.
func (d *drawing) endWaits(l *lane, o *life, at float64) {
	for _, gate := range slices.Sorted(maps.Keys(o.waits)) {
		w := o.waits[gate]
		if at > w.At {
			d.bar(l, "wait", w.At, at, fmt.Sprintf("%s to %s: %s (gate %s)", virtual(w.At), virtual(at), line(w.Event), line(gate)))
			l.counts["wait"]++
		}
		delete(o.waits, gate)
	}
}

// endLife draws what ends with the object.
func (d *drawing) endLife(l *lane, o *life, at float64) {
	d.endWaits(l, o, at)
	to := at
	if o.deleting {
		d.bar(l, "deleting", o.deletingAt, at, fmt.Sprintf("%s to %s: is being deleted", virtual(o.deletingAt), virtual(at)))
		to = o.deletingAt
		o.deleting = false
	}
	if o.up {
		d.bar(l, "up", o.upFrom, to, fmt.Sprintf("%s to %s: has a Node", virtual(o.upFrom), virtual(to)))
		o.up = false
	}
}

// finish draws what is not over at the end, and the lives.
func (d *drawing) finish() {
	for _, l := range d.order {
		o := d.life[l.object]
		if o == nil {
			continue
		}
		to := d.end
		if o.over {
			to = o.to
		} else {
			d.endLife(l, o, d.end)
			if o.running {
				d.bar(l, "run unfinished", o.runFrom, d.end, virtual(o.runFrom)+": a module run that did not end")
			}
		}
		lifeBar := bar{Class: "life", At: d.percent(o.from), Wide: round(d.percent(to) - d.percent(o.from)), Title: fmt.Sprintf("%s exists from %s to %s", line(l.object), virtual(o.from), virtual(to))}
		order := map[string]int{"wait": 1, "deleting": 1, "up": 2}
		slices.SortStableFunc(l.Bars, func(a, b bar) int { return cmp.Or(order[a.Class]-order[b.Class], cmp.Compare(a.At, b.At)) })
		l.Bars = append([]bar{lifeBar}, d.merged(l.Bars)...)
		for n := range l.Marks {
			m := &l.Marks[n]
			m.N = len(m.lines)
			if len(m.lines) > noteSize {
				m.lines = append(m.lines[:noteSize], fmt.Sprintf("… and %d more", len(m.lines)-noteSize))
			}
			m.Title = strings.Join(m.lines, "\n")
		}
		l.Summary = summary(l)
	}
}

// merged joins bars of one class that are too narrow and close to be told apart.
func (d *drawing) merged(bars []bar) []bar {
	pixel := 100 / d.width
	var out []bar
	for _, b := range bars {
		if n := len(out) - 1; n >= 0 && out[n].Class == b.Class && b.At+b.Wide-out[n].At < 3*pixel {
			out[n].Wide = max(out[n].Wide, round(b.At+b.Wide-out[n].At))
			continue
		}
		out = append(out, b)
	}
	return out
}

func summary(l *lane) string {
	out := strings.TrimSpace(l.Kind + " " + l.Name)
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(l.counts)) {
		plural := ""
		if l.counts[what] != 1 {
			plural = "s"
		}
		parts = append(parts, fmt.Sprintf("%d %s%s", l.counts[what], what, plural))
	}
	if len(parts) > 0 {
		out += ": " + strings.Join(parts, ", ")
	}
	return out
}

// mark draws a mark; one that is too close to the mark before joins it.
func (d *drawing) mark(l *lane, s harness.StoryStep) {
	rank := rankOf(s.Type)
	if rank < 0 {
		return
	}
	event := []rune(line(s.Event))
	if len(event) > noteWide {
		event = append(event[:noteWide], '…')
	}
	text := fmt.Sprintf("%s %s: %s", virtual(s.At), marks[rank].title, string(event))
	l.counts["event"]++
	at := d.percent(s.At)
	if n := len(l.Marks) - 1; n >= 0 && (at-l.Marks[n].At)*d.width/100 < markSize {
		m := &l.Marks[n]
		m.lines = append(m.lines, text)
		if rank < m.rank {
			m.rank, m.Class = rank, marks[rank].class
		}
		return
	}
	l.Marks = append(l.Marks, mark{Class: marks[rank].class, At: at, rank: rank, lines: []string{text}})
}

// ticks are the labels of the axis, at round times.
func (d *drawing) ticks() []tick {
	step := 0.0
	for _, s := range []float64{10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400, 604800} {
		step = s
		if s/d.end*d.width >= tickGap {
			break
		}
	}
	var out []tick
	for at := 0.0; at <= d.end && len(out) < 400; at += step {
		out = append(out, tick{At: d.percent(at), Label: virtual(at)})
	}
	return out
}

// kinds are the groups of lanes in order; a kind that is not listed comes
// before Nodes if it is a control plane's, else after everything.
var kinds = []string{"Cluster", "TerraformCluster", "ControlPlane", "Machine", "MachinePool", "Nodes", ""}

// groups puts lanes into groups and bounds their number.
func (d *drawing) groups() (groups []laneGroup, hidden int) {
	byKind := map[string][]*lane{}
	members := map[string][]*lane{}
	for _, l := range d.order {
		owner, known := d.owner[l.object]
		if !known && (l.Kind == "TerraformMachine" || l.Kind == "TerraformMachinePool") {
			owner = strings.TrimPrefix(l.object, "Terraform") // of a report without the link
		}
		if owner != l.object && d.lanes[owner] != nil {
			l.Sub, l.Name = true, strings.TrimPrefix(l.Name, d.lanes[owner].Name)
			members[owner] = append(members[owner], l)
			continue
		}
		kind := l.Kind
		switch {
		case strings.HasSuffix(kind, "ControlPlane"):
			kind = "ControlPlane"
		case !slices.Contains(kinds, kind):
			kind = ""
		}
		byKind[kind] = append(byKind[kind], l)
	}
	add := func(title string, lanes ...*lane) {
		groups = append(groups, laneGroup{Title: title, Lanes: lanes})
	}
	lanes := 0
	for _, kind := range kinds {
		var together []*lane
		for _, l := range byKind[kind] {
			all := append([]*lane{l}, members[l.object]...)
			if lanes+len(all) > maxLanes {
				hidden += len(all)
				continue
			}
			lanes += len(all)
			if kind == "Machine" || kind == "MachinePool" {
				add(l.Kind+" "+l.Name, all...)
				continue
			}
			together = append(together, all...)
		}
		if len(together) == 0 {
			continue
		}
		if n := len(groups) - 1; n >= 0 && (kind == "TerraformCluster" || kind == "ControlPlane") {
			for _, l := range together {
				l.Sub, l.Name = true, strings.TrimPrefix(l.Name, groups[n].Lanes[0].Name)
			}
			groups[n].Lanes = append(groups[n].Lanes, together...)
			continue
		}
		add(cmp.Or(kind, "Other objects"), together...)
	}
	return groups, hidden
}
