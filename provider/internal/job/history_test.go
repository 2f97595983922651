package job_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/job"
	"github.com/captf-toolkit/captf/provider/internal/operation"
)

// history reads runs of one operation, the oldest first: s succeeded, f failed, i was interrupted; a capital is not recorded
// yet. The names of the Jobs are the numbers of their place.
func history(op infrav1.Operation, letters string) []operation.Run {
	outcomes := map[string]operation.Outcome{"s": operation.Succeeded, "f": operation.Failed, "i": operation.Interrupted}
	var runs []operation.Run
	for i, l := range strings.Split(letters, "") {
		runs = append(runs, operation.Run{
			Job: fmt.Sprint(op, "-", i), Operation: op, Attempt: i + 1, Finished: time.Unix(int64(i), 0),
			Outcome: outcomes[strings.ToLower(l)], Bookkept: l == strings.ToLower(l),
		})
	}
	return runs
}

// TestPrune is B-150 to B-152.
func TestPrune(t *testing.T) {
	for _, tt := range []struct {
		runs              string
		succeeded, failed int32
		want              []string
	}{
		{"sss", 3, 3, nil},
		{"ssss", 3, 3, []string{"apply-0"}},
		{"sffff", 3, 3, []string{"apply-1"}},
		{"ssffss", 1, 1, []string{"apply-0", "apply-1", "apply-2", "apply-4"}},
		{"ssff", 0, 0, []string{"apply-0", "apply-2"}},            // the newest success, and the newest failure since
		{"ffss", 0, 0, []string{"apply-0", "apply-1", "apply-2"}}, // a success makes failures old
		{"ifif", 3, 2, []string{"apply-0", "apply-1"}},
		{"SsFs", 0, 0, []string{"apply-1"}}, // what is not recorded stays
	} {
		s := job.Settings{SuccessfulJobsHistoryLimit: tt.succeeded, FailedJobsHistoryLimit: tt.failed}
		if diff := cmp.Diff(tt.want, job.Prune(history("apply", tt.runs), s)); diff != "" {
			t.Errorf("%s with %d, %d (-want +got):\n%s", tt.runs, tt.succeeded, tt.failed, diff)
		}
	}
	both := slices.Concat(history("apply", "ss"), history("drift", "ss"))
	if diff := cmp.Diff([]string{"apply-0", "drift-0"}, job.Prune(both, job.Settings{SuccessfulJobsHistoryLimit: 1})); diff != "" {
		t.Errorf("operations are counted together (-want +got):\n%s", diff)
	}
}

// TestPruneKeepsDecisions: pruning is settled after one go, and what is decided next does not depend on it.
func TestPruneKeepsDecisions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var runs []operation.Run
		for _, op := range []infrav1.Operation{"apply", "refresh", "destroy"} {
			if letters := rapid.StringMatching(`[sf]{0,8}`).Draw(t, string(op)); letters != "" {
				runs = append(runs, history(op, letters)...)
			}
		}
		s := job.Settings{
			SuccessfulJobsHistoryLimit: rapid.Int32Range(0, 4).Draw(t, "succeeded"),
			FailedJobsHistoryLimit:     rapid.Int32Range(0, 4).Draw(t, "failed"),
		}
		pruned := job.Prune(runs, s)
		left := slices.DeleteFunc(slices.Clone(runs), func(r operation.Run) bool { return slices.Contains(pruned, r.Job) })
		if again := job.Prune(left, s); len(again) > 0 {
			t.Fatalf("the second time it prunes %v", again)
		}
		for _, op := range []infrav1.Operation{"apply", "refresh", "destroy"} {
			n, newest := operation.Failures(runs, op)
			m, newestLeft := operation.Failures(left, op)
			if operation.Backoff(n, s.FailedJobsHistoryLimit) != operation.Backoff(m, s.FailedJobsHistoryLimit) || !newest.Equal(newestLeft) {
				t.Fatalf("%s: %d failures, the newest at %s, look like %d at %s", op, n, newest, m, newestLeft)
			}
			if operation.NextAttempt(runs, op) != operation.NextAttempt(left, op) {
				t.Fatalf("%s: the number of an old Job is given again", op)
			}
		}
		if operation.Destroyed(runs) != operation.Destroyed(left) {
			t.Fatal("a destroy is forgotten")
		}
	})
}
