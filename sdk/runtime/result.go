package runtime

import "time"

// Step is one verb of the runtime.
type Step string

// Steps.
const (
	StepInit     Step = "init"
	StepValidate Step = "validate"
	StepPlan     Step = "plan"
	StepApply    Step = "apply"
	StepRefresh  Step = "refresh"
	StepDestroy  Step = "destroy"
	StepShow     Step = "show"
	StepOutput   Step = "output"
	StepSchemas  Step = "providers schema"
)

// Limits of what a [Result] keeps; the log has everything up to its own limit.
const (
	maxEvents      = 100_000
	maxDiagnostics = 1_000
)

// Result is what one step did. It is returned with the error too, whenever the
// runtime was started.
type Result struct {
	Step Step
	// Skipped is set by Init if there was nothing to do; no process ran.
	Skipped bool
	// ExitCode of the runtime; -1 if a signal ended it.
	ExitCode int
	Started  time.Time
	// Duration from the start of the process until its end.
	Duration time.Duration

	// Diagnostics in order, warnings too.
	Diagnostics []Diagnostic
	// Resources are the moments of resource work in order, without progress moments.
	Resources []ResourceEvent
	// Planned are the changes that are to be made; with [Workdir.Apply] those it set out to make.
	Planned []Change
	// Drift are the changes found that were made outside the runtime.
	Drift []Change
	// Summary is the last one of the run; nil if there was none.
	Summary *Summary
	// Outputs are the planned actions on root outputs, if the runtime told them.
	Outputs map[string]Action
	// Changed is set by Plan if applying would change something, outputs included.
	Changed bool
	// Dropped counts events and diagnostics beyond what is kept.
	Dropped int
	// RescuedState is the path of a state that could not be stored where it belongs: what
	// the runtime wrote as errored.tfstate, or, if it could only print it, a file in the
	// directory for temporary files. It holds secrets. EmergencyState is its content if
	// there was no place for a file either.
	RescuedState   string
	EmergencyState []byte
	// Log is the path of the raw log with secrets replaced; "" if there is none.
	Log string
}

// Errors are the diagnostics of severity error.
func (r *Result) Errors() []Diagnostic {
	var found []Diagnostic
	for _, d := range r.Diagnostics {
		if d.Severity == SeverityError {
			found = append(found, d)
		}
	}
	return found
}

func (r *Result) take(e Event) {
	if e.Diagnostic != nil {
		r.diagnose(*e.Diagnostic)
	}
	if e.Summary != nil {
		r.Summary = e.Summary
	}
	if e.Outputs != nil {
		r.Outputs = e.Outputs
	}
	if e.state != nil {
		r.EmergencyState = e.state
	}
	keep := e.Resource != nil && e.Resource.Moment != Progress || e.Planned != nil || e.Drift != nil
	if !keep {
		return
	}
	if len(r.Resources)+len(r.Planned)+len(r.Drift) >= maxEvents {
		r.Dropped++
		return
	}
	switch {
	case e.Resource != nil:
		r.Resources = append(r.Resources, *e.Resource)
	case e.Planned != nil:
		r.Planned = append(r.Planned, *e.Planned)
	case e.Drift != nil:
		r.Drift = append(r.Drift, *e.Drift)
	}
}

func (r *Result) diagnose(d Diagnostic) {
	if len(r.Diagnostics) >= maxDiagnostics {
		r.Dropped++
		return
	}
	r.Diagnostics = append(r.Diagnostics, d)
}
