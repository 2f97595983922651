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
	// Shared fits only types that change a parent (see [TypeRule]), and attachments.
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
	// Deaf tells that a waiting call is done all the same when the runtime wants to stop or
	// is gone, as most creates of real providers; otherwise it ends with an error and
	// nothing done.
	Deaf bool
}

// Injected is a fault in a cloud.
type Injected struct {
	cloud *Cloud
	fault Fault
	seen  int
	hits  atomic.Int64
	hit   chan struct{}
	done  chan struct{}
}

// Hits is on how many calls it acted so far.
func (i *Injected) Hits() int { return int(i.hits.Load()) }

// Hit is closed when it first acts on a call.
func (i *Injected) Hit() <-chan struct{} { return i.hit }

// Done is closed when the first call that it acts on has ended, whatever became of it.
func (i *Injected) Done() <-chan struct{} { return i.done }

// Remove ends the fault.
func (i *Injected) Remove() {
	i.cloud.mu.Lock()
	defer i.cloud.mu.Unlock()
	i.cloud.faults = slices.DeleteFunc(i.cloud.faults, func(x *Injected) bool { return x == i })
}

// AddFault makes something go wrong from now on.
func (c *Cloud) AddFault(f Fault) *Injected {
	i := &Injected{cloud: c, fault: f, hit: make(chan struct{}), done: make(chan struct{})}
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
	// ended must be called when the call has ended.
	ended func()
}

// strike finds the first fault that acts on a call, and waits if it says so.
// gone is closed when nobody waits for an answer any more.
func (c *Cloud) strike(ctx context.Context, gone <-chan struct{}, op Op, o *Object) effect {
	c.mu.Lock()
	hit := c.due(op, o)
	if hit == nil {
		c.mu.Unlock()
		return effect{err: stopped(ctx), ended: func() {}}
	}
	f := hit.fault
	e := effect{partial: f.Partial, blind: f.Blind, ended: func() {}}
	switch {
	case f.Err != "":
		e.err = &refusal{text: f.Err}
	case f.Refusal != "":
		e.err = &refusal{reason: f.Refusal, text: c.refusal(o.Source, f.Refusal, "")}
	}
	if hit.hits.Add(1) == 1 {
		close(hit.hit)
		e.ended = func() { close(hit.done) }
	}
	c.mu.Unlock()
	if err := f.wait(ctx, gone); err != nil {
		e.err, e.partial, e.blind = err, false, false
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
			f.Shared && o.Kind != KindAttachment && len(c.rule(o.Source, o.Type).Parents) == 0,
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

// wait waits as long as the fault says.
func (f Fault) wait(ctx context.Context, gone <-chan struct{}) error {
	if f.Delay <= 0 && !f.Hang {
		return stopped(ctx)
	}
	var over <-chan time.Time
	if !f.Hang {
		t := time.NewTimer(f.Delay)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-gone: // the context may end because of it
	case <-ctx.Done():
	case <-over:
		return nil
	}
	if f.Deaf {
		return nil
	}
	return fmt.Errorf("the request to the simulated cloud was cancelled: %w", context.Canceled)
}

// stopped is the error of a call that the runtime wants to end.
func stopped(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("the request to the simulated cloud was cancelled: %w", context.Cause(ctx))
}
