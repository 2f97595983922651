package operation

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// Facts are what a decision depends on. The zero value of a time means that it never happened.
type Facts struct {
	// Role of the object's module.
	Role contract.Role
	// Now is the time of the decision.
	Now time.Time
	// UID of the object spreads its checks over time (B-103); empty, it does not.
	UID types.UID
	// Created is when the object was created.
	Created time.Time
	// Deleting tells that the object is being deleted.
	Deleting bool
	// JobActive tells that a Job of the object runs (B-080).
	JobActive bool

	// EverApplied tells that an apply ever succeeded: provisioned, an applied mark or record, or a backup (B-480).
	EverApplied bool
	// Provisioned is the latched status.initialization.provisioned.
	Provisioned bool
	// State is what reading the state gave.
	State State
	// Unconfirmed is the apply Job whose outcome is not known, as it is recorded (B-202).
	Unconfirmed string

	// Inputs are the current inputs; nil if they cannot be built now.
	Inputs *Inputs
	// Runs are the finished Jobs that are retained, in any order.
	Runs []Run

	// LastRefresh is when the infrastructure was last read: by a refresh, a drift check, or an apply whose reading stands in
	// for the refresh (contract.Cadence.RefreshesAfterApply), which counts as its finish.
	LastRefresh time.Time
	// LastDriftCheck is when the newest successful drift check ended.
	LastDriftCheck time.Time
	// Pending tells that health is pending or that required outputs are not known yet.
	Pending bool
	// PendingRefreshes counts the readings in a row that found it so.
	PendingRefreshes int
	// Converging tells that the number of a pool's provider ids is not its number of replicas.
	Converging bool
	// Intervals lie between the checks.
	Intervals Intervals
	// FailedLimit is failedJobsHistoryLimit of the merged policy: from this many failures in a row on, retries are 10 minutes
	// apart (B-193).
	FailedLimit int32
}

// StateKind says what reading a state gave.
type StateKind string

// Kinds of State.
const (
	// StateNone: there is no state.
	StateNone StateKind = "none"
	// StateReadable: there is one, and it was read. A foreign lock changes nothing about that (B-421, B-434).
	StateReadable StateKind = "readable"
	// StateHeld: there is one that must not be used; State.Reason says why.
	StateHeld StateKind = "held"
)

// State is what reading an object's state gave.
type State struct {
	Kind StateKind
	// Hash and Image are the inputs that the state is the result of, as recorded with it; empty if no apply succeeded yet
	// (kind StateReadable).
	Hash, Image string
	// Reason is a reason of StateReadable (kind StateHeld).
	Reason string
}

// Inputs identify what an apply would apply: the hash of the inputs and, beside it, the reference of the image (B-341).
type Inputs struct {
	Hash, Image string
}

// Run is a finished Job.
type Run struct {
	// Job is its name.
	Job string
	// Operation it ran and its number among them.
	Operation infrav1.Operation
	Attempt   int
	// Finished is when it ended, and Outcome how.
	Finished time.Time
	Outcome  Outcome
	// Hash and Image are the inputs it ran with; the hash is known of apply, plan and restore only.
	Hash, Image string
	// Remediation tells that it is an apply against drift.
	Remediation bool
	// Bookkept tells that its result is recorded (B-066).
	Bookkept bool
}

// mutable tells that changed inputs lead to another apply; a machine is applied once.
func (f *Facts) mutable() bool { return f.Role != contract.RoleMachine }

// StateReason is the reason of the object's StateReadable condition: what reading the state gave, doubted by what else is
// known (provider-behaviour.md 20). It is StateRead, StateNotFound, or a reason that keeps every Job from starting.
func StateReason(f Facts) string {
	switch {
	case f.State.Kind == StateHeld:
		return f.State.Reason
	case f.State.Kind == StateReadable && f.State.Hash == "" && f.Provisioned && !f.mutable():
		return infrav1.StateLostReason // B-482
	case f.State.Kind == StateReadable:
		return infrav1.StateReadReason
	case f.EverApplied || f.Provisioned:
		return infrav1.StateLostReason // B-482, B-484
	case f.Unconfirmed != "":
		return infrav1.ApplyOutcomeUnknownReason // B-483
	default:
		return infrav1.StateNotFoundReason // B-481
	}
}

// held returns the reason that keeps every Job from starting, if there is one (B-421).
func (f *Facts) held() string {
	switch reason := StateReason(*f); reason {
	case infrav1.StateReadReason, infrav1.StateNotFoundReason:
		return ""
	default:
		return reason
	}
}
