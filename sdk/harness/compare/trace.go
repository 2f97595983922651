package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/captf-toolkit/captf/sdk/harness"
)

// Event is one event of a life, without names and times.
type Event struct {
	// Type is the kind of event.
	Type harness.EventType `json:"type"`
	// Kind is the kind of the object that it happens to, such as Machine.
	Kind string `json:"kind"`
	// N is the number of the object among those of its kind, from 1, in the order of appearance.
	N int `json:"n"`
	// Op is the kind of run, for events about module runs; else "".
	Op harness.Op `json:"op,omitempty"`
}

// String writes the event as texts of a difference do, such as
// "Machine 2 node-ref" or "TerraformMachine 2 run-ended apply".
func (e Event) String() string {
	return strings.TrimRight(fmt.Sprintf("%s %d %s %s", e.Kind, e.N, e.Type, e.Op), " ")
}

// Object is the object of the event, such as "Machine 2".
func (e Event) Object() string { return fmt.Sprintf("%s %d", e.Kind, e.N) }

// Trace is a life as events in their order.
type Trace []Event

// Observed keeps the events that can be seen on a real management cluster too.
func Observed(s harness.StoryStep) bool { return s.Type.Observable() && s.Op != harness.OpRefresh }

// Played keeps the events of a played life that a seed and a set of modules
// decide: not how long anything waits, nor how often it is refreshed.
func Played(s harness.StoryStep) bool {
	switch s.Type {
	case harness.EventWaiting, harness.EventPassed, harness.EventProbed:
		return false
	}
	return s.Op != harness.OpRefresh
}

// Project puts the steps that keep chooses onto the vocabulary.
func Project(steps []harness.StoryStep, keep func(harness.StoryStep) bool) Trace {
	number := map[string]int{}
	count := map[string]int{}
	trace := Trace{}
	for _, s := range steps {
		if !keep(s) {
			continue
		}
		n, known := number[s.Object]
		kind, _, _ := strings.Cut(s.Object, "/")
		if !known {
			count[kind]++
			n = count[kind]
			number[s.Object] = n
		}
		trace = append(trace, Event{Type: s.Type, Kind: kind, N: n, Op: s.Op})
	}
	return trace
}

// Change is one line of the difference between two orders of events.
type Change struct {
	// Side is "a" for an event that only the first has at this place, "b" for one
	// of the second, "" for one that both have: those stand around a difference.
	Side string `json:"side,omitempty"`
	// Event is the event.
	Event Event `json:"event"`
}

// around is how many common events stand around a difference.
const around = 2

// Order compares the order of all events; nil when it is the same.
func Order(a, b Trace) []Change {
	if slices.Equal(a, b) {
		return nil
	}
	known := map[string]Event{}
	text := func(t Trace) string {
		var s strings.Builder
		for _, e := range t {
			known[e.String()] = e
			s.WriteString(e.String() + "\n")
		}
		return s.String()
	}
	before, after := text(a), text(b)
	diff, err := udiff.ToUnifiedDiff("a", "b", before, udiff.Lines(before, after), around)
	if err != nil {
		return whole(a, b) // the edits are those of the texts, so this does not come about
	}
	var out []Change
	for _, hunk := range diff.Hunks {
		for _, line := range hunk.Lines {
			e := known[strings.TrimSuffix(line.Content, "\n")]
			out = append(out, Change{Side: map[udiff.OpKind]string{udiff.Delete: "a", udiff.Insert: "b"}[line.Kind], Event: e})
		}
	}
	return out
}

func whole(a, b Trace) []Change {
	var out []Change
	for _, e := range a {
		out = append(out, Change{"a", e})
	}
	for _, e := range b {
		out = append(out, Change{"b", e})
	}
	return out
}

// ObjectChange is one object whose own events differ.
type ObjectChange struct {
	// Object is the kind and number, such as Machine 2.
	Object string `json:"object"`
	// Order is where the events of the object differ.
	Order []Change `json:"order"`
}

// Objects compares the order of events of each object by itself, and leaves
// aside how events of different objects interleave.
func Objects(a, b Trace) []ObjectChange {
	split := func(t Trace) (map[string]Trace, []Event) {
		of, first := map[string]Trace{}, []Event{}
		for _, e := range t {
			if _, known := of[e.Object()]; !known {
				first = append(first, e)
			}
			of[e.Object()] = append(of[e.Object()], e)
		}
		return of, first
	}
	ofA, firstA := split(a)
	ofB, firstB := split(b)
	all := slices.Concat(firstA, firstB)
	slices.SortStableFunc(all, func(x, y Event) int { return cmp.Or(cmp.Compare(x.Kind, y.Kind), x.N-y.N) })
	var out []ObjectChange
	for n, e := range all {
		if n > 0 && all[n-1].Object() == e.Object() {
			continue
		}
		if order := Order(ofA[e.Object()], ofB[e.Object()]); order != nil {
			out = append(out, ObjectChange{Object: e.Object(), Order: order})
		}
	}
	return out
}
