package conditions

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// Event is an event to be emitted: the regarding object is known to who emits it.
type Event struct {
	// Type is Normal or Warning.
	Type string
	// Reason is one of the catalogue's.
	Reason string
	// Action is what was done or attempted; the API asks for one.
	Action string
	// Note is for people, and like a condition's message holds no values.
	Note string
}

// NewEvent returns an event of the catalogue with the type and action that the catalogue gives it.
func NewEvent(reason, note string) Event {
	row, ok := eventRow(reason)
	if !ok {
		row = EventReason{Reason: reason, Type: corev1.EventTypeNormal, Action: ActionReconcile}
	}
	return Event{Type: row.Type, Reason: reason, Action: row.Action, Note: clip(note)}
}

// maxNote is what the API server takes as the note of an event, in bytes.
const maxNote = 1024

func clip(note string) string {
	if len(note) <= maxNote {
		return note
	}
	end := maxNote - len("…")
	for end > 0 && note[end]&0xC0 == 0x80 { // not in the middle of a character
		end--
	}
	return note[:end] + "…"
}

// Transitions returns the events that tell what changed between two lists of an object's conditions (provider-status.md 3):
// one for each condition that changed its status or reason, in the order of the second list. A condition that appears is told
// only if it starts in its bad status, or with a wait that has an event (B-221). Changes that are told by who made them, such as
// the end of a Job, and conditions that are never told, yield nothing. Call it once a pass, with the conditions before and after.
func Transitions(before, after []metav1.Condition) []Event {
	was := map[string]metav1.Condition{}
	for _, c := range before {
		was[c.Type] = c
	}
	var out []Event
	for _, c := range after {
		old, existed := was[c.Type]
		if existed && old.Status == c.Status && old.Reason == c.Reason {
			continue
		}
		t, known := typeRow(c.Type)
		if !known || t.Silent {
			continue
		}
		row, known := t.reason(c.Reason, c.Status)
		if known && row.Elsewhere {
			continue
		}
		bad := t.Polarity.Bad(c.Status) && !row.Progress
		if bad && c.Type == infrav1.ReadyCondition && c.Reason == infrav1.NotReadyReason { // a sum of others
			bad = slices.ContainsFunc(after, worrying)
		}
		waits := row.Event != "" && c.Status == metav1.ConditionUnknown
		if !existed && !bad && !waits {
			continue
		}
		if known && row.Event != "" && (row.From == "" || existed && old.Status == row.From) {
			out = append(out, NewEvent(row.Event, note(c, row.Event)))
			continue
		}
		event := NewEvent(ConditionChangedEvent, c.Type+" is "+string(c.Status)+", "+note(c, ""))
		if bad {
			event.Type = corev1.EventTypeWarning
		}
		out = append(out, event)
	}
	return out
}

// worrying tells that a condition that Ready sums up is in its bad status, and not on the way to a good one: a first apply that
// runs is no reason to warn.
func worrying(c metav1.Condition) bool {
	t, known := typeRow(c.Type)
	row, _ := t.reason(c.Reason, c.Status)
	return known && t.Ready != SummaryNever && t.Polarity.Bad(c.Status) && !row.Progress
}

// note says what a condition says; a reason that the event has as its own is not repeated.
func note(c metav1.Condition, event string) string {
	switch {
	case c.Message == "" || c.Message == c.Reason:
		return c.Reason
	case c.Reason == event:
		return c.Message
	default:
		return c.Reason + ": " + c.Message
	}
}

// Bad tells that the status is the one that the condition should not have.
func (p Polarity) Bad(status metav1.ConditionStatus) bool {
	switch p {
	case Negative:
		return status == metav1.ConditionTrue
	case Positive:
		return status == metav1.ConditionFalse
	default:
		return false
	}
}
