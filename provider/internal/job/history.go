package job

import (
	"slices"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/operation"
)

// Prune returns the names of the finished Jobs of one object that are not kept any longer, oldest first (B-150): of each
// operation, the newest succeeded and the newest failed ones stay, as many as the limits say, and always the newest success,
// and the newest failure while there is no newer success (B-151). A Job that was not recorded yet stays too (B-152).
func Prune(runs []operation.Run, s Settings) []string {
	var pruned []operation.Run
	for _, op := range operations(runs) {
		succeeded, failed := 0, 0
		for _, r := range operation.NewestFirst(runs, op) {
			var keep bool
			if r.Outcome == operation.Succeeded {
				succeeded++
				keep = succeeded == 1 || succeeded <= int(s.SuccessfulJobsHistoryLimit)
			} else {
				failed++
				keep = failed == 1 && succeeded == 0 || failed <= int(s.FailedJobsHistoryLimit)
			}
			if !keep && r.Bookkept {
				pruned = append(pruned, r)
			}
		}
	}
	slices.SortStableFunc(pruned, func(a, b operation.Run) int { return a.Finished.Compare(b.Finished) })
	var out []string
	for _, r := range pruned {
		out = append(out, r.Job)
	}
	return out
}

// operations are those that were run, in a fixed order.
func operations(runs []operation.Run) []infrav1.Operation {
	var out []infrav1.Operation
	for _, r := range runs {
		out = append(out, r.Operation)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
