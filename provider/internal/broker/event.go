package broker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	maxEvent = 8 << 10
	// maxNote is the longest note that the API takes.
	maxNote = 1024
	// eventTimeout and eventFailures bound what events cost a run (B-619).
	eventTimeout  = 2 * time.Second
	eventFailures = 3
	// maxEvents bounds what a module may write about its object; a run has some twenty.
	maxEvents = 200
	// eventController is the reporting controller of a run's events (provider-status.md 3).
	eventController = "captf.io/runner"
)

// EventReasons are the reasons of the events that a run may emit (provider-status.md 3.10).
func EventReasons() []string {
	return []string{"RunStarted", "StepStarted", "StepSucceeded", "StepFailed", "PlanSummary", "ResourcesChanged", "RunFinished"}
}

// Event is what the runner asks for.
type Event struct {
	// Type is Normal or Warning.
	Type string `json:"type"`
	// Reason is one of EventReasons.
	Reason string `json:"reason"`
	// Action is what was being done, such as apply.
	Action string `json:"action"`
	// Note is for people; more than 1024 bytes are cut.
	Note string `json:"note"`
}

// Object is the object of a run.
type Object struct {
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
	UID        types.UID
}

// ParseObject reads an object as the flag --event-object gives it: apiVersion/kind/namespace/name/uid, where the
// apiVersion has a slash of its own.
func ParseObject(s string) (*Object, error) {
	f := strings.Split(s, "/")
	if len(f) < 5 || len(f) > 6 || slices.Contains(f, "") {
		return nil, fmt.Errorf("reading the object %q: it is not of the form apiVersion/kind/namespace/name/uid", s)
	}
	n := len(f)
	return &Object{
		APIVersion: strings.Join(f[:n-4], "/"), Kind: f[n-4], Namespace: f[n-3], Name: f[n-2], UID: types.UID(f[n-1]),
	}, nil
}

// events writes events until too many failed.
type events struct {
	config *Config

	mu      sync.Mutex
	written int
	failed  int // in a row
}

func (s *Server) postEvent(w http.ResponseWriter, r *http.Request) {
	raw, ok := body(w, r, maxEvent)
	if !ok {
		return
	}
	var e Event
	if err := json.Unmarshal(raw, &e); err != nil {
		http.Error(w, "the body is not an event: type, reason, action and note, all text", http.StatusBadRequest)
		return
	}
	switch {
	case e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning:
		http.Error(w, "the event's type is neither Normal nor Warning", http.StatusBadRequest)
		return
	case !slices.Contains(EventReasons(), e.Reason):
		http.Error(w, "the event's reason is none of "+strings.Join(EventReasons(), ", "), http.StatusBadRequest)
		return
	case e.Action == "" || len(e.Action) > 128:
		http.Error(w, "the event's action is missing or longer than 128 bytes", http.StatusBadRequest)
		return
	}
	s.events.emit(context.WithoutCancel(r.Context()), e)
	w.WriteHeader(http.StatusNoContent)
}

// emit writes an event, or does not: nothing depends on it.
func (e *events) emit(ctx context.Context, event Event) {
	c := e.config
	if c.Object == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed >= eventFailures || e.written >= maxEvents {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	err := c.Client.Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Object.Namespace, Name: eventName(c.Object.Name)},
		EventTime:  metav1.MicroTime{Time: c.Clock.Now()}, ReportingController: eventController, ReportingInstance: c.Run.Pod,
		Type: event.Type, Reason: event.Reason, Action: event.Action, Note: cut(strings.ToValidUTF8(event.Note, "�"), maxNote),
		Regarding: corev1.ObjectReference{
			APIVersion: c.Object.APIVersion, Kind: c.Object.Kind, Namespace: c.Object.Namespace, Name: c.Object.Name, UID: c.Object.UID,
		},
		Related: &corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: c.Key.Namespace, Name: c.Run.Job},
	})
	if err == nil {
		e.written++
		e.failed = 0
		return
	}
	if e.failed++; e.failed == eventFailures {
		c.Log.Warn("no more events are tried in this run", "reason", err.Error())
	}
}

// eventName returns a name that no other event has.
func eventName(object string) string {
	end := "." + strings.ToLower(rand.Text()[:16])
	const longest = 253
	return object[:min(len(object), longest-len(end))] + end
}

// cut shortens a text at a rune.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	const more = "…"
	s = s[:most-len(more)]
	for s != "" && !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + more
}
