package simcloud

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// Fault is something that goes wrong in the cloud. It acts on the calls that all
// of its conditions fit.
type Fault struct {
	// Op is the kind of call; "" is any create, update or delete.
	Op Op
	// Type and Owner are globs; "" is any.
	Type, Owner string
	// Kind is a kind of type; "" is any.
	Kind Kind
	// Shared fits only types that change a parent (see [TypeRule]).
	Shared bool
	// Nth is the first of the fitting calls that it acts on, from 1; 0 means 1.
	Nth int
	// Times is how many calls it acts on; 0 means one, negative all that follow.
	Times int

	// Refusal refuses the call in the cloud's words, Err with a text. Both empty, the
	// call goes on after Delay.
	Refusal Refusal
	Err     string
	// Partial makes the object of a create exist although the call is refused: the
	// runtime taints it.
	Partial bool
	// Blind makes a refresh see nothing.
	Blind bool
	// Overlap refuses only calls that change a parent while another call changes it.
	Overlap bool
	// Delay is real time before anything happens. Hang never ends by itself.
	Delay time.Duration
	Hang  bool
	// Deaf tells that a waiting call does not heed the runtime's wish to stop, as most
	// creates of real providers; otherwise it ends with an error and nothing done.
	Deaf bool
}

// Injected is a fault in a cloud.
type Injected struct {
	cloud *Cloud
	fault Fault
	seen  int
	hits  atomic.Int64
	hit   chan struct{}
}

// Hits is on how many calls it acted so far.
func (i *Injected) Hits() int { return int(i.hits.Load()) }

// Hit is closed when it first acts on a call.
func (i *Injected) Hit() <-chan struct{} { return i.hit }

// Remove ends the fault.
func (i *Injected) Remove() {
	i.cloud.mu.Lock()
	defer i.cloud.mu.Unlock()
	i.cloud.faults = slices.DeleteFunc(i.cloud.faults, func(x *Injected) bool { return x == i })
}

// AddFault makes something go wrong from now on.
func (c *Cloud) AddFault(f Fault) *Injected {
	i := &Injected{cloud: c, fault: f, hit: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, i)
	return i
}

// ClearFaults ends all faults.
func (c *Cloud) ClearFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = nil
}

// effect is what a fault does to one call.
type effect struct {
	err            error
	partial, blind bool
}

// strike finds the first fault that acts on a call, and waits if it says so.
// gone is closed when nobody waits for an answer any more.
func (c *Cloud) strike(ctx context.Context, gone <-chan struct{}, op Op, o *Object) effect {
	c.mu.Lock()
	hit := c.due(op, o)
	var f Fault
	var e effect
	if hit != nil {
		f = hit.fault
		e.partial, e.blind = f.Partial, f.Blind
		switch {
		case f.Err != "":
			e.err = &refusal{text: f.Err}
		case f.Refusal != "":
			e.err = &refusal{reason: f.Refusal, text: c.refusal(o.Source, f.Refusal, "")}
		}
		if hit.hits.Add(1) == 1 {
			close(hit.hit)
		}
	}
	c.mu.Unlock()
	if hit == nil {
		return effect{err: stopped(ctx)}
	}
	if f.Deaf {
		// What was asked for is done all the same when the one who asked is gone.
		ctx = context.WithoutCancel(ctx)
	} else {
		gone = nil
	}
	if err := wait(ctx, gone, f.Delay, f.Hang); err != nil {
		return effect{err: err}
	}
	return e
}

// due returns the fault that acts on a call.
func (c *Cloud) due(op Op, o *Object) *Injected {
	for _, i := range c.faults {
		f := i.fault
		switch {
		case f.Op == "" && op != OpCreate && op != OpUpdate && op != OpDelete,
			f.Op != "" && f.Op != op,
			!glob(f.Type, o.Type), !glob(f.Owner, o.Owner),
			f.Kind != KindOther && f.Kind != o.Kind,
			f.Shared && len(c.rule(o.Source, o.Type).Parents) == 0,
			f.Overlap && !c.overlaps(o):
			continue
		}
		i.seen++
		first := max(1, f.Nth)
		if i.seen < first || f.Times >= 0 && i.seen >= first+max(1, f.Times) {
			continue
		}
		return i
	}
	return nil
}

// parents are the parents that a call on an object changes.
func (c *Cloud) parents(o *Object) []string {
	var out []string
	for _, path := range c.rule(o.Source, o.Type).Parents {
		if s := text(lookup(o.Attributes, path)); s != "" {
			out = append(out, o.Source+"\x00"+s)
		}
	}
	return out
}

func (c *Cloud) overlaps(o *Object) bool {
	return slices.ContainsFunc(c.parents(o), func(p string) bool { return c.busy[p] > 1 })
}

// begin notes that a call changes the parents of an object, until end is called.
func (c *Cloud) begin(o *Object) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	parents := c.parents(o)
	for _, p := range parents {
		c.busy[p]++
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, p := range parents {
			if c.busy[p]--; c.busy[p] <= 0 {
				delete(c.busy, p)
			}
		}
	}
}

// wait waits for a time, or for ever, until the runtime wants to stop.
func wait(ctx context.Context, gone <-chan struct{}, delay time.Duration, hang bool) error {
	if delay <= 0 && !hang {
		return stopped(ctx)
	}
	var over <-chan time.Time
	if !hang {
		t := time.NewTimer(delay)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-ctx.Done():
		return stopped(ctx)
	case <-gone:
		return nil
	case <-over:
		return nil
	}
}

// stopped is the error of a call that the runtime wants to end.
func stopped(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("the request to the simulated cloud was cancelled: %w", context.Cause(ctx))
}
