package operation

import infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"

// Slots are the Jobs that may run at a time, in all or for one cluster with its machines and pools (B-228).
type Slots struct {
	// Active Jobs, counted from the cache.
	Active int
	// Limit of Jobs; 0 is none.
	Limit int
}

// Background tells that an operation changes nothing and leaves the last slots to those that do (B-230).
func Background(op infrav1.Operation) bool {
	return op == infrav1.OperationRefresh || op == infrav1.OperationDrift
}

// Free tells whether a Job of the operation may start: below the limit, one in the background below 80 % of it (B-230, B-231).
func (s Slots) Free(op infrav1.Operation) bool {
	switch {
	case s.Limit <= 0:
		return true
	case Background(op):
		return s.Active*10 < s.Limit*8
	default:
		return s.Active < s.Limit
	}
}
