package runner

import (
	"context"
	"fmt"
	"time"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/broker"
)

// Types of events.
const (
	normal  = "Normal"
	warning = "Warning"
)

const (
	// maxNote is what Kubernetes takes as the note of an event, in bytes.
	maxNote = 1024
	// maxFailures in a row end the events of a run (B-619).
	maxFailures = 3
	// queued is more than the events of the longest run.
	queued = 64
	// lastEvents is how long the end of a run waits for events that are still to be sent.
	lastEvents = 5 * time.Second
)

// events sends events beside the run, which neither waits for them nor fails with them. The zero value sends none.
type events struct {
	queue chan broker.Event
	done  chan struct{}
	stop  context.CancelFunc
}

func startEvents(s *session) *events {
	ctx, cancel := context.WithCancel(context.Background())
	e := &events{queue: make(chan broker.Event, queued), done: make(chan struct{}), stop: cancel}
	go func() {
		defer close(e.done)
		failures := 0
		for ev := range e.queue {
			if failures == maxFailures {
				continue
			}
			if s.send(ctx, ev) != nil {
				failures++
				continue
			}
			failures = 0
		}
	}()
	return e
}

func (e *events) add(ev broker.Event) {
	if e.queue == nil {
		return
	}
	select {
	case e.queue <- ev:
	default: // nobody listens, and the run goes on
	}
}

// close sends what is left, within bounds.
func (e *events) close() {
	if e.queue == nil {
		return
	}
	close(e.queue)
	select {
	case <-e.done:
	case <-time.After(lastEvents):
		e.stop()
		<-e.done
	}
	e.stop()
	e.queue = nil
}

// actions are what the operations are called in events.
var actions = map[infrav1.Operation]string{
	infrav1.OperationApply: "Apply", infrav1.OperationDestroy: "Destroy", infrav1.OperationRefresh: "Refresh",
	infrav1.OperationDrift: "CheckDrift", infrav1.OperationPlan: "Plan",
}

// tell adds an event, with secrets replaced.
func (r *run) tell(kind, reason, format string, args ...any) {
	note := shorten(oneLine(r.secrets.text(fmt.Sprintf(format, args...))), maxNote)
	r.events.add(broker.Event{Type: kind, Reason: reason, Action: actions[r.o.Op], Note: note})
}
