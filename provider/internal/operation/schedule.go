package operation

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// check is one row of the schedule.
type check struct {
	id     string
	reason Reason
	op     infrav1.Operation
	// due is when it is due; false if it is not on the object's schedule.
	due func(*Facts) (time.Time, bool)
}

// checks are the schedule: of those that are due, the first is made (provider-behaviour.md 5).
var checks = []check{
	{"B-095", RefreshAfterApply, infrav1.OperationRefresh, (*Facts).refreshAfterApply},
	{"B-096", MembershipConverging, infrav1.OperationRefresh, (*Facts).membershipConverging},
	{"B-097", HealthPending, infrav1.OperationRefresh, (*Facts).healthPending},
	{"B-098", MembershipRefreshDue, infrav1.OperationRefresh, (*Facts).membership},
	{"B-099", HealthCheckDue, infrav1.OperationRefresh, (*Facts).healthCheck},
	{"B-100", DriftDue, infrav1.OperationDrift, (*Facts).drift},
}

// schedule starts the first check that is due, or waits for the soonest (B-101).
func schedule(f *Facts, upToDate Reason) Decision {
	var soonest time.Duration
	for _, c := range checks {
		due, on := c.due(f)
		if !on {
			continue
		}
		if remaining := due.Sub(f.Now); remaining > 0 {
			if soonest == 0 || remaining < soonest {
				soonest = remaining
			}
			continue
		}
		d := start(c.op)(f, c.reason)
		if d.Operation == "" && soonest > 0 {
			d.RequeueAfter = min(d.RequeueAfter, soonest) // a check that goes first need not wait for this one's next try
		}
		return d
	}
	if soonest == 0 {
		soonest = RetryMax // what changes unseen, such as credentials, is still looked at
	}
	return Decision{Reason: upToDate, RequeueAfter: soonest}
}

// refreshAfterApply is due where the newest apply has not been read again.
func (f *Facts) refreshAfterApply() (time.Time, bool) {
	applied := f.lastApplied()
	return applied, contract.CadenceOf(f.Role).AfterApply != contract.RefreshNever && f.LastRefresh.Before(applied)
}

// membershipConverging reads a pool often while its members change.
func (f *Facts) membershipConverging() (time.Time, bool) {
	wait := contract.CadenceOf(f.Role).Wait(f.PendingRefreshes)
	if f.Intervals.Membership > 0 {
		wait = min(wait, f.Intervals.Membership)
	}
	return f.base(f.LastRefresh).Add(wait), f.Role == contract.RoleMachinePool && (f.Converging || f.Pending)
}

// healthPending reads infrastructure that is still coming up.
func (f *Facts) healthPending() (time.Time, bool) {
	return f.base(f.LastRefresh).Add(contract.CadenceOf(f.Role).Wait(f.PendingRefreshes)), f.Pending
}

// membership reads the members of a pool.
func (f *Facts) membership() (time.Time, bool) {
	return f.every(f.Intervals.Membership, f.LastRefresh), f.Role == contract.RoleMachinePool && f.Intervals.Membership > 0
}

// healthCheck reads a machine that may be remediated.
func (f *Facts) healthCheck() (time.Time, bool) {
	return f.every(f.Intervals.HealthCheck, f.LastRefresh), f.Role == contract.RoleMachine && f.Intervals.HealthCheck > 0
}

// drift compares the infrastructure with the module.
func (f *Facts) drift() (time.Time, bool) {
	return f.every(f.Intervals.Drift, f.LastDriftCheck), f.Intervals.Drift > 0
}

// every is when a check with an interval is due, given when it was last made.
func (f *Facts) every(interval time.Duration, last time.Time) time.Time {
	return f.base(last).Add(interval + Jitter(f.UID, interval))
}

// base is the time that a check is counted from: its own last run, else the last successful apply, else the object's
// creation (B-102).
func (f *Facts) base(last time.Time) time.Time {
	if !last.IsZero() {
		return last
	}
	if applied := f.lastApplied(); !applied.IsZero() {
		return applied
	}
	return f.Created
}

// lastApplied is when the newest successful apply ended.
func (f *Facts) lastApplied() time.Time {
	var last time.Time
	for _, r := range f.Runs {
		if r.Operation == infrav1.OperationApply && r.Outcome == Succeeded && r.Finished.After(last) {
			last = r.Finished
		}
	}
	return last
}

// Jitter is what an object adds to an interval: between nothing and a tenth of it, always the same for an object, so that
// objects made together are not checked together (B-103).
func Jitter(uid types.UID, interval time.Duration) time.Duration {
	if uid == "" || interval <= 0 {
		return 0
	}
	sum := sha256.Sum256([]byte(uid))
	return time.Duration(binary.BigEndian.Uint64(sum[:8]) % uint64(interval/10+1)) //nolint:gosec // the interval is positive, and so is a tenth of it
}
