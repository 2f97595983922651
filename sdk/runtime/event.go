package runtime

import (
	"bytes"
	"encoding/json"
	"time"
)

// Action is what a runtime does to one object.
type Action string

// Actions of planned changes and of resource events.
const (
	NoOp    Action = "noop"
	Create  Action = "create"
	Read    Action = "read"
	Update  Action = "update"
	Replace Action = "replace"
	Delete  Action = "delete"
	Move    Action = "move"
	Import  Action = "import"
	// Forget takes an object out of the state without deleting it.
	Forget Action = "forget"
)

// Phase says which part of a run a [ResourceEvent] belongs to.
type Phase string

// Phases.
const (
	PhaseRefresh   Phase = "refresh"
	PhaseApply     Phase = "apply"
	PhaseProvision Phase = "provision"
	PhaseEphemeral Phase = "ephemeral"
)

// Moment says what happened in a [ResourceEvent].
type Moment string

// Moments.
const (
	Started   Moment = "start"
	Progress  Moment = "progress"
	Completed Moment = "complete"
	Errored   Moment = "errored"
)

// ResourceEvent is a moment in the work on one resource instance.
type ResourceEvent struct {
	Phase  Phase
	Moment Moment
	// Address as the runtime writes it, such as module.role.terraform_data.a[0].
	Address string
	// Action is empty where the runtime gives none (refresh, provisioners).
	Action Action
	// IDKey and ID name the object in its cloud, once it has an identity.
	IDKey, ID string
	// Elapsed is counted by the runtime, in whole seconds.
	Elapsed time.Duration
	// Time is the runtime's clock; zero if it told none.
	Time time.Time
}

// Change is one planned change, or one found outside the runtime. The stream tells
// the address and the action only: neither values, nor which attribute forces a
// replacement, nor the order of a replacement, nor which deposed object is meant.
// Use a plan file and [Workdir.ShowPlan] for those.
type Change struct {
	Address string
	// Previous is the address before a move, else "".
	Previous string
	Action   Action
	// Reason is the runtime's word for why, such as "tainted" or "cannot_update"; often "".
	Reason string
}

// Summary counts the changes of a plan or of a finished apply or destroy.
type Summary struct {
	Add, Change, Remove, Import int
	// Forget is counted by OpenTofu only.
	Forget int
	// Operation is "plan", "apply" or "destroy".
	Operation string
}

// Event is one line of the stream. At most one of the pointers is set; a line
// without any is a message only.
type Event struct {
	Level   string
	Message string
	// Type is the runtime's word for the line; some lines have none.
	Type string
	Time time.Time

	Resource   *ResourceEvent
	Planned    *Change
	Drift      *Change
	Summary    *Summary
	Diagnostic *Diagnostic
	// Outputs are the planned actions on root outputs; values are not decoded.
	Outputs map[string]Action

	// state is what a runtime prints when it cannot store the state anywhere.
	state []byte
}

// finish redacts everything that comes from the module or its providers.
func (e *Event) finish(dir string, r *redactor) {
	e.Message = r.text(e.Message)
	if e.Diagnostic != nil {
		d := e.Diagnostic.finish(dir, r)
		e.Diagnostic = &d
	}
	if e.Resource != nil {
		e.Resource.Address, e.Resource.ID = r.text(e.Resource.Address), r.text(e.Resource.ID)
	}
	for _, c := range []*Change{e.Planned, e.Drift} {
		if c != nil {
			c.Address, c.Previous = r.text(c.Address), r.text(c.Previous)
		}
	}
}

type wireEvent struct {
	Level      string          `json:"@level"`
	Message    string          `json:"@message"`
	Time       time.Time       `json:"@timestamp"`
	Type       string          `json:"type"`
	Hook       json.RawMessage `json:"hook"`
	Change     json.RawMessage `json:"change"`
	Changes    json.RawMessage `json:"changes"`
	Outputs    json.RawMessage `json:"outputs"`
	Diagnostic json.RawMessage `json:"diagnostic"`
	State      json.RawMessage `json:"state"`
}

type wireResource struct {
	Addr string `json:"addr"`
}

type wireHook struct {
	Resource wireResource `json:"resource"`
	Action   string       `json:"action"`
	IDKey    string       `json:"id_key"`
	IDValue  string       `json:"id_value"`
	Elapsed  float64      `json:"elapsed_seconds"`
}

type wireChange struct {
	Resource wireResource  `json:"resource"`
	Previous *wireResource `json:"previous_resource"`
	Action   string        `json:"action"`
	Reason   string        `json:"reason"`
}

// Lines about resources, by the runtime's type.
var resourceEvents = map[string]struct {
	phase  Phase
	moment Moment
}{
	"refresh_start":         {PhaseRefresh, Started},
	"refresh_complete":      {PhaseRefresh, Completed},
	"refresh_errored":       {PhaseRefresh, Errored},
	"apply_start":           {PhaseApply, Started},
	"apply_progress":        {PhaseApply, Progress},
	"apply_complete":        {PhaseApply, Completed},
	"apply_errored":         {PhaseApply, Errored},
	"provision_start":       {PhaseProvision, Started},
	"provision_progress":    {PhaseProvision, Progress},
	"provision_complete":    {PhaseProvision, Completed},
	"provision_errored":     {PhaseProvision, Errored},
	"ephemeral_op_start":    {PhaseEphemeral, Started},
	"ephemeral_op_progress": {PhaseEphemeral, Progress},
	"ephemeral_op_complete": {PhaseEphemeral, Completed},
	"ephemeral_op_errored":  {PhaseEphemeral, Errored},
}

// DecodeEvent reads one line of a -json stream. It returns false if the line is not
// one, such as text that a runtime or a wrapper prints between them. Neither
// runtimes nor their versions are told apart: what is there is read, what has
// another shape than expected is left out.
func DecodeEvent(text []byte) (Event, bool) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] != '{' {
		return Event{}, false
	}
	w, ok := decodeWire(text)
	if !ok || w.Level == "" {
		return Event{}, false
	}
	e := Event{Level: w.Level, Message: w.Message, Type: w.Type, Time: w.Time}
	switch {
	case present(w.Diagnostic):
		if d, ok := decodeDiagnostic(w.Diagnostic); ok {
			e.Diagnostic = &d
		}
	case present(w.Hook):
		var h wireHook
		k, known := resourceEvents[w.Type]
		if known && json.Unmarshal(w.Hook, &h) == nil && h.Resource.Addr != "" {
			e.Resource = &ResourceEvent{
				Phase: k.phase, Moment: k.moment, Address: h.Resource.Addr, Action: action(h.Action),
				IDKey: h.IDKey, ID: h.IDValue, Elapsed: seconds(h.Elapsed), Time: w.Time,
			}
		}
	case present(w.Change):
		var c wireChange
		if json.Unmarshal(w.Change, &c) != nil || c.Resource.Addr == "" {
			break
		}
		change := &Change{Address: c.Resource.Addr, Action: action(c.Action), Reason: c.Reason}
		if c.Previous != nil {
			change.Previous = c.Previous.Addr
		}
		switch w.Type {
		case "planned_change":
			e.Planned = change
		case "resource_drift":
			e.Drift = change
		}
	case present(w.Changes):
		var s Summary
		if json.Unmarshal(w.Changes, &s) == nil {
			e.Summary = &s
		}
	case present(w.Outputs):
		var outs map[string]struct {
			Action string `json:"action"`
		}
		if json.Unmarshal(w.Outputs, &outs) != nil {
			break
		}
		for name, o := range outs {
			if o.Action == "" {
				continue // after an apply: values, which are read from the state
			}
			if e.Outputs == nil {
				e.Outputs = make(map[string]Action, len(outs))
			}
			e.Outputs[name] = action(o.Action)
		}
	case present(w.State):
		e.state = bytes.Clone(w.State)
	}
	if e.Diagnostic == nil && e.Level == "error" {
		e.Diagnostic = &Diagnostic{Severity: SeverityError, Summary: e.Message}
	}
	return e, true
}

// decodeWire reads the outer object; if a field has another type than expected, the
// fields that have the right one count.
func decodeWire(text []byte) (wireEvent, bool) {
	var w wireEvent
	if json.Unmarshal(text, &w) == nil {
		return w, true
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return wireEvent{}, false
	}
	w = wireEvent{
		Hook: fields["hook"], Change: fields["change"], Changes: fields["changes"],
		Outputs: fields["outputs"], Diagnostic: fields["diagnostic"], State: fields["state"],
	}
	for name, to := range map[string]any{"@level": &w.Level, "@message": &w.Message, "type": &w.Type, "@timestamp": &w.Time} {
		if raw, ok := fields[name]; ok {
			_ = json.Unmarshal(raw, to) // left empty if it has another type
		}
	}
	return w, true
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// action maps the words in which the runtimes and their versions differ.
func action(s string) Action {
	switch s {
	case "remove":
		return Forget
	case "no-op":
		return NoOp
	}
	return Action(s)
}

func seconds(s float64) time.Duration {
	const most = 1 << 32 // beyond it the conversion would overflow
	if !(s > 0) || s > most {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}
