// Package faults stands between a controller and the API server, for tests of what a controller does when a call fails,
// when its process dies in the middle of its work, or when its cache is behind.
//
// A Client counts every call by verb and kind, fails chosen writes before or after they reached the server, cuts the
// connection for good at a write as the death of the process would, and answers reads of chosen kinds with what they
// were at an earlier moment.
//
// Not in this package: calls that do not go through the client, such as those of leader election and of recorders of
// events.
package faults

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Verb is what a call does.
type Verb string

// The verbs.
const (
	Get         Verb = "get"
	List        Verb = "list"
	Watch       Verb = "watch"
	Create      Verb = "create"
	Update      Verb = "update"
	Patch       Verb = "patch"
	Apply       Verb = "apply"
	Delete      Verb = "delete"
	DeleteAllOf Verb = "deletecollection"
)

// IsWrite tells that a verb changes something.
func (v Verb) IsWrite() bool { return v != Get && v != List && v != Watch }

// Call is a call that a client made.
type Call struct {
	// Client is the name of the client.
	Client string
	Verb   Verb
	// Kind is that of the object, of a list that of its items.
	Kind schema.GroupKind
	// Subresource is such as status; empty for the object itself.
	Subresource string
	// Key is the object's; a list has the namespace only, and so has a create whose name the server makes up.
	Key client.ObjectKey
	// Reached tells that the call was made on the client below, and so reached the server or a cache. It did not when it
	// was failed before, or answered from an earlier state.
	Reached bool
	// Err is what the caller got.
	Err error
}

// String is a line for messages.
func (c Call) String() string {
	kind := c.Kind.String()
	if c.Subresource != "" {
		kind += "/" + c.Subresource
	}
	s := fmt.Sprintf("%s %s %s", c.Verb, kind, c.Key)
	if c.Err != nil {
		s += ": " + c.Err.Error()
	}
	return s
}

// Moment is when a write fails.
type Moment string

// The moments.
const (
	// Before it reached the server: nothing has changed.
	Before Moment = "before"
	// After it reached the server: it was done, and the caller does not know.
	After Moment = "after"
)

// Moments are both.
func Moments() []Moment { return []Moment{Before, After} }

// ErrInjected is the kind of an error of a write that was made to fail, ErrCut that of every call of a client whose
// connection was cut.
var (
	ErrInjected = errors.New("failed for a test")
	ErrCut      = errors.New("connection cut for a test")
)

// Faults is what the clients of one controller have in common: the counters and what is to go wrong. It may be used by
// several goroutines.
type Faults struct {
	mu    sync.Mutex
	calls []Call
	plans []*plan
	cut   bool
}

// plan is a write that is to go wrong.
type plan struct {
	matches func(Call) bool
	left    int // matching writes until then
	moment  Moment
	err     error // nil cuts the connection
	onCut   func()
	done    bool
}

// New returns faults of which nothing goes wrong yet.
func New() *Faults { return &Faults{} }

// FailWrite makes the n-th write from now on fail once, the first for 1, with an error of the kind ErrInjected that wraps err
// as well; err may be nil. Of several plans the first that applies to a write counts.
func (f *Faults) FailWrite(n int, when Moment, err error) { f.FailWhere(nil, n, when, err) }

// FailWhere is FailWrite among the calls that match: reads too, if matches says so. A nil matches means all writes.
func (f *Faults) FailWhere(matches func(Call) bool, n int, when Moment, err error) {
	f.add(&plan{matches: matches, left: n, moment: when, err: errors.Join(ErrInjected, err)})
}

// CutAtWrite cuts the connection at the n-th write from now on: that write fails, and so does every call after it, as
// if the process had died. onCut is called once, for stopping the controller; it may be nil.
func (f *Faults) CutAtWrite(n int, when Moment, onCut func()) {
	f.add(&plan{left: n, moment: when, onCut: onCut})
}

func (f *Faults) add(p *plan) {
	if p.matches == nil {
		p.matches = func(c Call) bool { return c.Verb.IsWrite() }
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plans = append(f.plans, p)
}

// Pending tells that something that was planned did not happen yet: there were fewer writes.
func (f *Faults) Pending() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.plans, func(p *plan) bool { return !p.done })
}

// IsCut tells that the connection is cut.
func (f *Faults) IsCut() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cut
}

// Restore ends all that goes wrong, for the process that comes after the one that died. Stale reads stay, see Client.Thaw.
func (f *Faults) Restore() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plans, f.cut = nil, false
}

// Reset forgets the calls up to now. Plans go on counting.
func (f *Faults) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = nil
}

// Calls returns the calls up to now, in the order in which they ended.
func (f *Faults) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Writes returns the writes among the calls.
func (f *Faults) Writes() []Call {
	return slices.DeleteFunc(f.Calls(), func(c Call) bool { return !c.Verb.IsWrite() })
}

// Key is what calls are counted by.
type Key struct {
	Client      string
	Verb        Verb
	Kind        schema.GroupKind
	Subresource string
}

// Counts counts the calls up to now.
func (f *Faults) Counts() map[Key]int {
	out := map[Key]int{}
	for _, c := range f.Calls() {
		out[Key{c.Client, c.Verb, c.Kind, c.Subresource}]++
	}
	return out
}

// verdict is what is to happen to a call.
type verdict struct {
	before, after error
	onCut         func()
}

// judge decides about a call before it is made.
func (f *Faults) judge(c Call) verdict {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut {
		return verdict{before: ErrCut}
	}
	var chosen *plan
	for _, p := range f.plans {
		if p.done || !p.matches(c) {
			continue
		}
		if p.left--; p.left <= 0 && chosen == nil {
			chosen = p
		}
	}
	if chosen == nil {
		return verdict{}
	}
	chosen.done = true
	v, err := verdict{}, chosen.err
	if err == nil {
		// From now on: what other goroutines do at the same moment would be lost with the process as well.
		err, f.cut, v.onCut = ErrCut, true, chosen.onCut
	}
	if chosen.moment == Before {
		v.before = err
	} else {
		v.after = err
	}
	return v
}

// calling makes a call on the client below, unless something is to go wrong, and notes it down. A caller that gets an
// error although the call was made does not get the answer: obj is not changed then.
func (f *Faults) calling(c Call, obj runtime.Object, call func(obj runtime.Object) error) error {
	v := f.judge(c)
	if v.after != nil && obj != nil {
		obj = obj.DeepCopyObject()
	}
	if c.Err = v.before; c.Err == nil {
		c.Err, c.Reached = call(obj), true
		if v.after != nil {
			c.Err = v.after
		}
	}
	f.note(c)
	if v.onCut != nil {
		v.onCut()
	}
	return c.Err
}

func (f *Faults) note(c Call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
}
