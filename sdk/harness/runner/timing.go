package runner

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// clock collects when runtime processes ran.
type clock struct {
	mu    sync.Mutex
	spans []span
	runs  int
}

type span struct{ start, end time.Time }

// add notes one process. A process that did not run, such as a skipped init,
// has no duration and counts for nothing.
func (c *clock) add(start time.Time, took time.Duration) {
	if took <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spans = append(c.spans, span{start, start.Add(took)})
}

func (c *clock) countRun() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs++
}

// busy returns the time during which at least one process ran.
func (c *clock) busy() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	spans := slices.Clone(c.spans)
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(a.start.Compare(b.start), a.end.Compare(b.end))
	})
	var total time.Duration
	var until time.Time
	for _, s := range spans {
		if s.start.Before(until) {
			s.start = until
		}
		if s.end.After(s.start) {
			total += s.end.Sub(s.start)
			until = s.end
		}
	}
	return total
}
