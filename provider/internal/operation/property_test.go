package operation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// genFacts draws facts of any kind, those that no object should ever have among them.
func genFacts(t *rapid.T) Facts {
	when := func(name string) time.Time {
		if rapid.Bool().Draw(t, name+" never") {
			return time.Time{}
		}
		// Clocks of two managers differ: a little in the future is possible.
		return now.Add(-time.Duration(rapid.IntRange(-60, 90_000).Draw(t, name)) * time.Second)
	}
	interval := func(name string) time.Duration {
		return time.Duration(rapid.SampledFrom([]int{0, 1, 15, 60, 1800, 86_400}).Draw(t, name)) * time.Second
	}
	hash := rapid.SampledFrom([]string{"", "h2:a", "h2:b"})
	image := rapid.SampledFrom([]string{"m:v1", "m:v2"})
	ops := []infrav1.Operation{
		infrav1.OperationApply, infrav1.OperationDestroy, infrav1.OperationRefresh, infrav1.OperationDrift, infrav1.OperationRestore, infrav1.OperationPlan,
	}
	f := Facts{
		Role:             rapid.SampledFrom(contract.Roles()).Draw(t, "role"),
		Now:              now,
		UID:              types.UID(rapid.SampledFrom([]string{"", "1", "2", "3"}).Draw(t, "uid")),
		Created:          when("created"),
		Deleting:         rapid.Bool().Draw(t, "deleting"),
		JobActive:        rapid.IntRange(0, 9).Draw(t, "active") == 0,
		EverApplied:      rapid.Bool().Draw(t, "ever applied"),
		Provisioned:      rapid.Bool().Draw(t, "provisioned"),
		Unconfirmed:      rapid.SampledFrom([]string{"", "", "job"}).Draw(t, "unconfirmed"),
		LastRefresh:      when("refresh"),
		LastDriftCheck:   when("drift check"),
		Pending:          rapid.Bool().Draw(t, "pending"),
		PendingRefreshes: rapid.IntRange(0, 100).Draw(t, "pending refreshes"),
		Converging:       rapid.Bool().Draw(t, "converging"),
		Intervals:        Intervals{Drift: interval("drift"), HealthCheck: interval("health"), Membership: interval("members")},
		FailedLimit:      rapid.Int32Range(0, 100).Draw(t, "limit"),
	}
	switch f.State.Kind = rapid.SampledFrom([]StateKind{StateNone, StateReadable, StateHeld}).Draw(t, "state"); f.State.Kind {
	case StateReadable:
		f.State.Hash = hash.Draw(t, "state hash")
		f.State.Image = image.Draw(t, "state image")
	case StateHeld:
		f.State.Reason = rapid.SampledFrom([]string{
			infrav1.StateCorruptReason, infrav1.StateEncryptedReason, infrav1.StateInconsistentReason, infrav1.RetainedStateFoundReason,
		}).Draw(t, "held")
	}
	if rapid.IntRange(0, 3).Draw(t, "buildable") > 0 {
		f.Inputs = &Inputs{Hash: rapid.SampledFrom([]string{"h2:a", "h2:b"}).Draw(t, "hash"), Image: image.Draw(t, "image")}
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "runs") {
		f.Runs = append(f.Runs, Run{
			Job: fmt.Sprint("job-", i), Operation: rapid.SampledFrom(ops).Draw(t, "op"), Attempt: i + 1,
			Finished:    now.Add(-time.Duration(rapid.IntRange(0, 1000).Draw(t, "finished")) * time.Second),
			Outcome:     rapid.SampledFrom([]Outcome{Succeeded, Failed, Deadline, Interrupted, Blocked, PlanChanged, PullFailed}).Draw(t, "outcome"),
			Hash:        hash.Draw(t, "run hash"),
			Image:       image.Draw(t, "run image"),
			Remediation: rapid.Bool().Draw(t, "remediation"),
		})
	}
	return f
}

// TestInvariants: whatever the facts, no decision does harm, and none leaves an object without a next look.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := genFacts(t)
		before := f
		before.Runs = slices.Clone(f.Runs)
		d := Choose(f)

		if diff := cmp.Diff(before, f); diff != "" {
			t.Fatalf("the facts were changed:\n%s", diff)
		}
		// The order in which Jobs are listed decides nothing (B-144).
		shuffled := f
		shuffled.Runs = rapid.Permutation(f.Runs).Draw(t, "order")
		if diff := cmp.Diff(d, Choose(shuffled)); diff != "" {
			t.Fatalf("the same facts in another order decide otherwise:\n%s", diff)
		}

		starts := d.Operation != ""
		if n := btoi(starts) + btoi(d.RemoveFinalizer) + btoi(d.RequeueAfter > 0); n != 1 || d.RequeueAfter < 0 {
			t.Fatalf("not exactly one of a start, a release and a wait: %+v", d)
		}
		if d.Reason != "" && !slices.Contains(Reasons(), d.Reason) {
			t.Fatalf("reason %q is not in the sheet", d.Reason)
		}
		if d.Reason == "" && d.Hold == "" {
			t.Fatalf("nothing says why: %+v", d)
		}
		if starts && (strings.HasSuffix(string(d.Reason), backoff) || d.Attempt < 1 || d.Gated || d.Hold != "") {
			t.Fatalf("a start that waits: %+v", d)
		}
		if !starts && (d.Attempt != 0 || d.InputsHash != "" || d.Tick != "") {
			t.Fatalf("a wait that names a Job: %+v", d)
		}
		if f.JobActive && (starts || d.RemoveFinalizer) {
			t.Fatalf("a second Job or a release while one runs: %+v", d)
		}

		reason := StateReason(f)
		held := reason != infrav1.StateReadReason && reason != infrav1.StateNotFoundReason
		if held && starts && (!f.Deleting || !Destroyed(f.Runs)) {
			t.Fatalf("an operation on a state in doubt (%s): %+v", reason, d)
		}
		if d.RemoveFinalizer && (!f.Deleting || reason != infrav1.StateNotFoundReason && !Destroyed(f.Runs)) {
			t.Fatalf("let go with state %s and no destroy: %+v", reason, d)
		}
		if starts && f.Deleting != (d.Operation == infrav1.OperationDestroy) {
			t.Fatalf("deleting is %t, and it starts %s", f.Deleting, d.Operation)
		}
		if d.Operation == infrav1.OperationApply {
			if f.Inputs == nil || d.InputsHash != f.Inputs.Hash {
				t.Fatalf("an apply of other inputs than the current ones: %+v", d)
			}
			if f.Role == contract.RoleMachine && f.State.Hash != "" {
				t.Fatalf("a machine is applied twice: %+v", d)
			}
			newest := newestRun(f.Runs, infrav1.OperationApply)
			applied := f.State.Hash != "" && *f.Inputs == Inputs{f.State.Hash, f.State.Image}
			if applied && f.Unconfirmed == "" && (newest == nil || newest.Outcome == Succeeded) {
				t.Fatalf("inputs that are applied are applied again: %+v", d)
			}
			if newest != nil && newest.Outcome == Blocked && f.Unconfirmed == "" && newest.Hash == f.Inputs.Hash && newest.Image == f.Inputs.Image && now.Sub(newest.Finished) < RetryMax {
				t.Fatalf("an apply that was blocked is repeated: %+v", d)
			}
		} else if starts && d.InputsHash != f.State.Hash {
			t.Fatalf("%s with another hash than the state's: %+v", d.Operation, d)
		}
		if d.Tick != "" && d.Operation != infrav1.OperationRefresh && d.Operation != infrav1.OperationDrift {
			t.Fatalf("%s has a tick: %+v", d.Operation, d)
		}
		if starts {
			if n, newest := Failures(f.Runs, d.Operation); n > 0 && now.Sub(newest) < Backoff(n, f.FailedLimit) {
				t.Fatalf("%s does not wait after failure %d: %+v", d.Operation, n, d)
			}
			for _, r := range f.Runs {
				if r.Operation == d.Operation && r.Attempt >= d.Attempt {
					t.Fatalf("attempt %d of %s was there before", d.Attempt, d.Operation)
				}
			}
		}

		// Waiting is long enough and not too long: at its end something is done, unless only a fact can change that.
		if strings.HasSuffix(string(d.Reason), backoff) {
			later := f
			later.Now = f.Now.Add(d.RequeueAfter - 1)
			if next := Choose(later); next.Operation != "" {
				t.Fatalf("before the end of the wait for %s: %+v", d.Reason, next)
			}
			// Other waits may come between; there are not more than there are rules.
			next := d
			later.Now = f.Now
			for range len(rules) + len(checks) {
				later.Now = later.Now.Add(next.RequeueAfter)
				if next = Choose(later); next.Operation != "" {
					break
				}
			}
			if next.Operation == "" {
				t.Fatalf("nothing comes of waiting for %s: %+v", d.Reason, next)
			}
		}
		if d.Reason == UpToDate {
			later := f
			later.Now = f.Now.Add(d.RequeueAfter - 1)
			if next := Choose(later); next.Operation != "" && next.Operation != infrav1.OperationApply {
				t.Fatalf("a check was due before the wait of %s ended: %+v", d.RequeueAfter, next)
			}
		}
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestJitter: an object's share is between nothing and a tenth, and its own (B-103).
func TestJitter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		uid := types.UID(rapid.String().Draw(t, "uid"))
		interval := time.Duration(rapid.Int64Range(-1000, int64(48*time.Hour)).Draw(t, "interval"))
		got := Jitter(uid, interval)
		if got < 0 || got > max(0, interval/10) || got != Jitter(uid, interval) {
			t.Fatalf("%s of %s", got, interval)
		}
		if (uid == "" || interval <= 0) && got != 0 {
			t.Fatalf("%s without an object or an interval", got)
		}
	})
	seen := map[time.Duration]bool{}
	for i := range 100 {
		seen[Jitter(types.UID(strconv.Itoa(i)), 30*time.Minute)] = true
	}
	if len(seen) < 95 {
		t.Errorf("100 objects share %d moments", len(seen))
	}
}
