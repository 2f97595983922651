package operation

import (
	"cmp"
	"slices"
	"time"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// backoffBase is the wait after the first failure (B-977).
const backoffBase = time.Minute

// Backoff is the wait after the n-th failure in a row, n from 1: a minute, doubled each time, at most RetryMax, and RetryMax
// from the limit on (B-193). Without a failure there is none.
func Backoff(n int, limit int32) time.Duration {
	if n < 1 {
		return 0
	}
	if n >= int(max(1, limit)) {
		return RetryMax
	}
	// Beyond four doublings the cap holds anyway; the exponent must not overflow.
	return min(backoffBase<<min(n-1, 4), RetryMax)
}

// Failures counts the failures of an operation since its newest success (B-190) and returns when the newest of them ended.
func Failures(runs []Run, op infrav1.Operation) (n int, newest time.Time) {
	for _, r := range NewestFirst(runs, op) {
		if r.Outcome == Succeeded {
			break
		}
		if !r.Outcome.Failure() {
			continue
		}
		if n == 0 {
			newest = r.Finished
		}
		n++
	}
	return n, newest
}

// Destroyed tells that a destroy succeeded and nothing has written the state since. What is left of the object is cleaned
// up then, and its state is not read again: it may be half deleted (B-874).
func Destroyed(runs []Run) bool {
	destroy := newestRun(runs, infrav1.OperationDestroy)
	if destroy == nil || destroy.Outcome != Succeeded {
		return false
	}
	for _, op := range []infrav1.Operation{infrav1.OperationApply, infrav1.OperationRestore} {
		if r := newestRun(runs, op); r != nil && r.Finished.After(destroy.Finished) {
			return false
		}
	}
	return true
}

// NextAttempt is the number of the next Job of the operation (B-134).
func NextAttempt(runs []Run, op infrav1.Operation) int {
	highest := 0
	for _, r := range runs {
		if r.Operation == op {
			highest = max(highest, r.Attempt)
		}
	}
	return highest + 1
}

// NewestFirst returns the runs of an operation, the one that ended last first.
func NewestFirst(runs []Run, op infrav1.Operation) []Run {
	var out []Run
	for _, r := range runs {
		if r.Operation == op {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Run) int { return -older(a, b) })
	return out
}

// newestRun is the run of an operation that ended last; nil if there is none.
func newestRun(runs []Run, op infrav1.Operation) *Run {
	var newest *Run
	for i := range runs {
		if runs[i].Operation == op && (newest == nil || older(*newest, runs[i]) < 0) {
			newest = &runs[i]
		}
	}
	return newest
}

// older orders runs by their end. Jobs record whole seconds; of those that ended in the same one the later attempt is newer.
func older(a, b Run) int {
	return cmp.Or(a.Finished.Compare(b.Finished), cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Job, b.Job))
}
