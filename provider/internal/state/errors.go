package state

import (
	"errors"
	"fmt"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrNotFound is that there is no state (B-410). Whether that is StateNotFound, StateLost or ApplyOutcomeUnknown is the
	// caller's to tell.
	ErrNotFound = errors.New("there is no state")
	// ErrConflict is that something else wrote at the same moment; nothing was changed and trying again is right.
	ErrConflict = errors.New("something else changed it at the same time")
	// ErrRefused is that a guard forbids a write: another lineage, a lower serial, or a lock that is not held. Trying again
	// does not help.
	ErrRefused = errors.New("refused")
	// ErrInvalid is that what is to be written is no state that this package could read again.
	ErrInvalid = errors.New("not a state of format version 4")
	// ErrTooLarge is that what is to be written does not fit.
	ErrTooLarge = errors.New("too large")
	// ErrLockLost is that a lock is free or held by another.
	ErrLockLost = errors.New("the lock is not held any more")
)

// Unreadable says why there are Secrets but no state can be had from them.
type Unreadable struct {
	// Reason of the condition StateReadable: StateCorrupt, StateEncrypted or StateInconsistent.
	Reason string
	// Message says what is wrong and what to do. It holds nothing of the state's content.
	Message string
}

// Error returns the message.
func (u *Unreadable) Error() string { return u.Message }

func corrupt(format string, args ...any) *Unreadable {
	return &Unreadable{Reason: infrav1.StateCorruptReason, Message: fmt.Sprintf(format, args...) +
		"; put back the Secrets from a copy of your own, or a backup with `runner state push --force`"}
}

func inconsistent(format string, args ...any) *Unreadable {
	return &Unreadable{Reason: infrav1.StateInconsistentReason, Message: fmt.Sprintf(format, args...)}
}
