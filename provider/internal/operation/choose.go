package operation

import (
	"time"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// Reason says why an operation is started, or why none is. It is the label of captf_reconcile_op_decisions_total
// (provider-status.md 4.1).
type Reason string

// Reasons to start an operation. Each has a form that ends in Backoff, for one that has to wait.
const (
	Deleting               Reason = "Deleting"
	NoState                Reason = "NoState"
	StateWithoutInputsHash Reason = "StateWithoutInputsHash"
	InputsChanged          Reason = "InputsChanged"
	LastApplyFailed        Reason = "LastApplyFailed"
	RefreshAfterApply      Reason = "RefreshAfterApply"
	MembershipConverging   Reason = "MembershipConverging"
	HealthPending          Reason = "HealthPending"
	MembershipRefreshDue   Reason = "MembershipRefreshDue"
	HealthCheckDue         Reason = "HealthCheckDue"
	DriftDue               Reason = "DriftDue"
)

// Reasons not to start one.
const (
	JobActive            Reason = "JobActive"
	DeletionHeld         Reason = "DeletionHeld"
	DeletingWithoutState Reason = "DeletingWithoutState"
	UpToDate             Reason = "UpToDate"
)

// backoff is the end of the reason of an operation that has to wait (B-094).
const backoff = "Backoff"

// Reasons returns every reason of a decision, those that end in Backoff too.
func Reasons() []Reason {
	out := []Reason{JobActive, DeletionHeld, DeletingWithoutState, UpToDate}
	for _, r := range []Reason{
		Deleting, NoState, StateWithoutInputsHash, InputsChanged, LastApplyFailed, RefreshAfterApply, MembershipConverging,
		HealthPending, MembershipRefreshDue, HealthCheckDue, DriftDue,
	} {
		out = append(out, r, r+backoff)
	}
	return out
}

// Waits before the next look (provider-behaviour.md 6).
const (
	// GateRequeue is for owner, dependencies, credentials, order of deletion and leases (B-110).
	GateRequeue = 30 * time.Second
	// StateRequeue is for a state that is held (B-111).
	StateRequeue = time.Minute
	// LagRequeue is for a cache that lags, a deferred start, and a cleanup that meets a live lease (B-112).
	LagRequeue = 5 * time.Second
	// ActiveJobRequeue is the fallback while a Job runs; its end wakes the controller sooner (B-113).
	ActiveJobRequeue = time.Minute
	// SlotRequeue, plus jitter, is for a Job that finds no slot (B-114).
	SlotRequeue = 15 * time.Second
	// RetryMax is for what only a person can change (B-115).
	RetryMax = 10 * time.Minute
)

// Decision is what to do now. Exactly one holds: an operation is started, the object's remains are cleaned up and its
// finalizer removed, or RequeueAfter is positive.
type Decision struct {
	// Operation to start; empty for none.
	Operation infrav1.Operation
	// Reason for it. It is empty where the pass ends without a choice (B-105).
	Reason Reason
	// RequeueAfter is how long nothing is due by the clock alone.
	RequeueAfter time.Duration

	// Attempt, InputsHash and Tick are parts of the name of the Job to start (B-132 to B-134): the number of the Job among
	// those of its operation, the hash of what it runs with, and what tells repetitions apart.
	Attempt    int
	InputsHash string
	Tick       string

	// RemoveFinalizer tells that there is nothing to destroy, or not any more: what is left is cleaned up and the object let go.
	RemoveFinalizer bool
	// Hold is the reason of StateReadable that keeps every Job from starting.
	Hold string
	// Gated tells that an apply is due for Reason and waits only for inputs that cannot be built now.
	Gated bool
}

// rule is one row of the choice.
type rule struct {
	// id is where the rule comes from.
	id string
	// reason of what it decides.
	reason Reason
	// holds tells whether the rule decides.
	holds func(*Facts) bool
	// decide returns what it decides.
	decide func(*Facts, Reason) Decision
}

// rules are the choice: the first that holds decides (provider-behaviour.md 5).
var rules = []rule{
	{"B-080", JobActive, func(f *Facts) bool { return f.JobActive }, wait(ActiveJobRequeue)},
	{"B-830", DeletingWithoutState, func(f *Facts) bool { return f.Deleting && Destroyed(f.Runs) }, letGo},
	{"B-082", DeletionHeld, func(f *Facts) bool { return f.Deleting && f.held() != "" }, hold},
	{"B-083", DeletingWithoutState, func(f *Facts) bool { return f.Deleting && f.State.Kind == StateNone }, letGo},
	{"B-084", Deleting, func(f *Facts) bool { return f.Deleting }, start(infrav1.OperationDestroy)},
	{"B-105", "", func(f *Facts) bool { return f.held() != "" }, hold},
	{"B-085", NoState, func(f *Facts) bool { return f.State.Kind == StateNone }, start(infrav1.OperationApply)},
	{"B-086", StateWithoutInputsHash, func(f *Facts) bool { return f.State.Hash == "" }, start(infrav1.OperationApply)},
	{"B-087", InputsChanged, (*Facts).inputsChanged, start(infrav1.OperationApply)},
	{"B-088", LastApplyFailed, (*Facts).applyFailed, start(infrav1.OperationApply)},
	{"B-090", UpToDate, func(*Facts) bool { return true }, schedule},
}

// Choose decides what is done next.
func Choose(f Facts) Decision {
	for _, r := range rules {
		if r.holds(&f) {
			return r.decide(&f, r.reason)
		}
	}
	return Decision{RequeueAfter: RetryMax} // the last rule always holds
}

// inputsChanged tells that the state is the result of other inputs than the current ones, or of another image (D3).
func (f *Facts) inputsChanged() bool {
	return f.mutable() && f.Inputs != nil && *f.Inputs != (Inputs{Hash: f.State.Hash, Image: f.State.Image})
}

// applyFailed tells that what the newest apply left has to be applied over.
func (f *Facts) applyFailed() bool {
	if !f.mutable() {
		return false
	}
	if f.Unconfirmed != "" {
		return true // B-203
	}
	newest := newestRun(f.Runs, infrav1.OperationApply)
	if newest == nil || newest.Remediation {
		return false
	}
	switch newest.Outcome {
	case Succeeded, Blocked, PlanChanged:
		return false
	default:
		return true
	}
}

// wait decides to look again after a time.
func wait(after time.Duration) func(*Facts, Reason) Decision {
	return func(_ *Facts, reason Reason) Decision { return Decision{Reason: reason, RequeueAfter: after} }
}

// hold decides to start nothing while the state is in doubt.
func hold(f *Facts, reason Reason) Decision {
	return Decision{Reason: reason, RequeueAfter: StateRequeue, Hold: f.held()}
}

// letGo decides that there is nothing to destroy.
func letGo(_ *Facts, reason Reason) Decision { return Decision{Reason: reason, RemoveFinalizer: true} }

// start decides to run an operation, unless it has to wait.
func start(op infrav1.Operation) func(*Facts, Reason) Decision {
	return func(f *Facts, reason Reason) Decision {
		if op == infrav1.OperationApply && f.Inputs == nil {
			return Decision{Reason: reason, RequeueAfter: GateRequeue, Gated: true}
		}
		if remaining := f.retryAt(op).Sub(f.Now); remaining > 0 {
			return Decision{Reason: reason + backoff, RequeueAfter: remaining}
		}
		d := Decision{Operation: op, Reason: reason, Attempt: NextAttempt(f.Runs, op), InputsHash: f.State.Hash}
		switch op {
		case infrav1.OperationApply:
			d.InputsHash = f.Inputs.Hash
		case infrav1.OperationRefresh:
			d.Tick = tick(f.LastRefresh)
		case infrav1.OperationDrift:
			d.Tick = tick(f.LastDriftCheck)
		}
		return d
	}
}

// retryAt is the earliest time at which the operation may run again: the zero time if it never failed.
func (f *Facts) retryAt(op infrav1.Operation) time.Time {
	n, newest := Failures(f.Runs, op)
	var at time.Time
	if n > 0 {
		at = newest.Add(Backoff(n, f.FailedLimit))
	}
	if op != infrav1.OperationApply || f.Unconfirmed != "" { // B-203: what vanished since outranks what was blocked before
		return at
	}
	// A blocked apply of these very inputs waits for other ones or an approval (B-093); with neither it is tried again (B-733).
	if r := newestRun(f.Runs, op); r != nil && r.Outcome == Blocked && (Inputs{Hash: r.Hash, Image: r.Image}) == *f.Inputs {
		if blocked := r.Finished.Add(RetryMax); blocked.After(at) {
			at = blocked
		}
	}
	return at
}

// tick is a time in the name of a Job (B-133).
func tick(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
