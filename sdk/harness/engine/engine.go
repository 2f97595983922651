// Package engine is a discrete-event scheduler with a virtual clock. Events
// happen one after the other at virtual times; real work that an event starts
// runs in the background and may take any real time, yet its end is an event
// at a virtual time that was fixed beforehand. So work that overlaps in
// virtual time really runs in parallel, and the same events always happen in
// the same order.
//
// Not in this package: anything about clusters or modules.
package engine

import (
	"container/heap"
	"context"
	"time"
)

// Engine holds the clock and the events to come. It is not safe for concurrent
// use: events run one at a time on the goroutine that calls Run.
type Engine struct {
	now   time.Duration
	seq   uint64
	queue queue
	// Tick, if set, is told the time of each event before the event happens.
	Tick func(now time.Duration)
	// Waited is the real time that Run spent waiting for background work.
	Waited time.Duration
}

type event struct {
	at    time.Duration
	seq   uint64
	ready <-chan struct{}
	run   func()
}

// Now returns the virtual time since the start.
func (e *Engine) Now() time.Duration { return e.now }

// After runs fn at a virtual time d from now; events at one time keep the
// order in which they were added.
func (e *Engine) After(d time.Duration, fn func()) {
	e.push(event{at: e.now + d, run: fn})
}

// Background starts work at once on a goroutine of its own and runs done at a
// virtual time d from now, waiting for work in real time if it has not ended by
// then. work must not touch what events touch.
func (e *Engine) Background(d time.Duration, work, done func()) {
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		work()
	}()
	e.push(event{at: e.now + d, ready: ready, run: done})
}

func (e *Engine) push(ev event) {
	e.seq++
	ev.seq = e.seq
	heap.Push(&e.queue, ev)
}

// Step lets the next event happen, moving the clock to its time. It reports
// false when there is none. When ctx ends while it waits for background work,
// it keeps waiting, since that work was told by the same context to stop, and
// then lets the event happen: nothing is left running.
func (e *Engine) Step(ctx context.Context) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if len(e.queue) == 0 {
		return false, nil
	}
	ev, _ := heap.Pop(&e.queue).(event)
	if ev.ready != nil {
		start := time.Now()
		<-ev.ready
		e.Waited += time.Since(start)
	}
	e.now = ev.at
	if e.Tick != nil {
		e.Tick(e.now)
	}
	ev.run()
	return true, nil
}

// Drain waits for all background work and drops every event; the clock stays.
func (e *Engine) Drain() {
	for _, ev := range e.queue {
		if ev.ready != nil {
			<-ev.ready
		}
	}
	e.queue = nil
}

// queue is a heap ordered by time, then by the order of adding.
type queue []event

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].seq < q[j].seq
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *queue) Push(x any) {
	if ev, ok := x.(event); ok {
		*q = append(*q, ev)
	}
}

func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}
