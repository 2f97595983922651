package balancer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The windows that a balancer has by default, and the longest that it should
// have (control-planes.md 5).
const (
	DefaultHealthy   = 60 * time.Second
	DefaultUnhealthy = 30 * time.Second
)

// Window is how long a health check takes to see a change.
type Window struct {
	// Healthy is the time from a port that opens to traffic for it.
	Healthy time.Duration
	// Unhealthy is the time from a port that closes to the end of traffic for it.
	Unhealthy time.Duration
}

// Never is the delay of a registration that never takes effect.
const Never time.Duration = -1

// Management is the origin of a connection from the management cluster, or from
// anything else that is no backend.
const Management = ""

// Balancer is the simulated load balancer in front of a control plane. It holds
// what happened and when; whether a backend is up at a time, and whether the
// endpoint reaches anything, follows from that alone. Times are virtual and
// never run backwards. It is not safe for concurrent use.
//
// Without a known membership (pattern C, or a module that does not tell) there
// is nothing to register and nothing to check: every control-plane node that
// serves is reached at once.
type Balancer struct {
	pattern  Pattern
	declared bool
	bypassed string
	hairpin  bool
	windows  map[Listener]Window
	backends []*backend
	late     map[string]time.Duration
	told     map[target]bool
}

// target is one port of one machine.
type target struct {
	machine  string
	listener Listener
}

type backend struct {
	machine    string
	registered map[Listener]time.Duration // when the registration takes effect; Never: it does not
	served     []span
}

// span is a time in which the machine's servers answer; to is Never while they do.
type span struct{ from, to time.Duration }

// change is the balancer's view of a backend that turns.
type change struct {
	at time.Duration
	up bool
}

// New returns the balancer for a membership; nil is an unknown one.
func New(m *Membership) *Balancer {
	b := &Balancer{hairpin: true, windows: map[Listener]Window{}, late: map[string]time.Duration{}, told: map[target]bool{}}
	if m != nil {
		b.pattern, b.declared = m.Pattern, m.Declared
	}
	return b
}

// Pattern returns the pattern that is played, "" when it is unknown.
func (b *Balancer) Pattern() Pattern { return b.pattern }

// Direct tells that no balancer stands between the endpoint and the nodes, as
// far as is known.
func (b *Balancer) Direct() bool {
	return b.pattern != PatternAttachment && b.pattern != PatternSelector
}

// Bypass makes the endpoint lead to the nodes without this balancer, as when
// the user gives an endpoint; why is for [Balancer.Describe].
func (b *Balancer) Bypass(why string) { b.pattern, b.bypassed = PatternNone, why }

// Recognise sets a pattern that was not known when the balancer was made.
func (b *Balancer) Recognise(p Pattern) {
	if b.pattern == "" {
		b.pattern = p
	}
}

// SetWindow sets how long the health check of a listener takes.
func (b *Balancer) SetWindow(l Listener, w Window) { b.windows[l] = w }

// Window returns how long the health check of a listener takes.
func (b *Balancer) Window(l Listener) Window {
	if b.Direct() {
		return Window{}
	}
	if w, ok := b.windows[l]; ok {
		return w
	}
	return Window{Healthy: DefaultHealthy, Unhealthy: DefaultUnhealthy}
}

// SetHairpin tells whether a backend reaches itself through the balancer
// (CP-020); it does unless told otherwise.
func (b *Balancer) SetHairpin(on bool) { b.hairpin = on }

// Hairpin tells whether a backend reaches itself through the balancer.
func (b *Balancer) Hairpin() bool { return b.hairpin }

// Delay makes registrations of a machine, past and future ones, take effect
// only so much later; with Never they never do.
func (b *Balancer) Delay(machine string, by time.Duration) {
	b.late[machine] = by
	for l, at := range b.backend(machine).registered {
		if by == Never || at == Never {
			b.backend(machine).registered[l] = Never
			continue
		}
		b.backend(machine).registered[l] = at + by
	}
}

// Register makes a machine a backend of a listener. A second registration
// changes nothing.
func (b *Balancer) Register(now time.Duration, machine string, l Listener) {
	be := b.backend(machine)
	if _, is := be.registered[l]; is {
		return
	}
	at := now
	if by, late := b.late[machine]; late {
		if at += by; by == Never {
			at = Never
		}
	}
	be.registered[l] = at
}

// Deregister removes a machine from every listener.
func (b *Balancer) Deregister(machine string) {
	b.backend(machine).registered = map[Listener]time.Duration{}
}

// Registered tells that a machine is a backend of a listener, whether or not
// the balancer knows yet.
func (b *Balancer) Registered(machine string, l Listener) bool {
	_, is := b.backend(machine).registered[l]
	return is
}

// Serve opens the ports of a machine's control plane.
func (b *Balancer) Serve(now time.Duration, machine string) {
	be := b.backend(machine)
	if be.serves() {
		return
	}
	be.served = append(be.served, span{from: now, to: Never})
}

// Stop closes the ports of a machine's control plane.
func (b *Balancer) Stop(now time.Duration, machine string) {
	be := b.backend(machine)
	if be.serves() {
		be.served[len(be.served)-1].to = now
	}
}

// Serves tells that the ports of a machine's control plane are open.
func (b *Balancer) Serves(machine string) bool { return b.backend(machine).serves() }

// Serving returns how many machines serve.
func (b *Balancer) Serving() int {
	n := 0
	for _, be := range b.backends {
		if be.serves() {
			n++
		}
	}
	return n
}

func (be *backend) serves() bool {
	return len(be.served) > 0 && be.served[len(be.served)-1].to == Never
}

// backend returns the record of a machine.
func (b *Balancer) backend(machine string) *backend {
	for _, be := range b.backends {
		if be.machine == machine {
			return be
		}
	}
	be := &backend{machine: machine, registered: map[Listener]time.Duration{}}
	b.backends = append(b.backends, be)
	return be
}

// Up tells that the balancer sends traffic of a listener to a machine at the
// time. It does not tell that anything answers there: see [Balancer.Reach].
func (b *Balancer) Up(now time.Duration, machine string, l Listener) bool {
	up := false
	for _, c := range b.changes(b.backend(machine), l) {
		if c.at <= now {
			up = c.up
		}
	}
	return up
}

// changes are the times at which the balancer's view of a backend turns.
func (b *Balancer) changes(be *backend, l Listener) []change {
	registered, is := be.registered[l]
	switch {
	case b.Direct():
		registered = 0
	case !is || registered == Never:
		return nil
	}
	w := b.Window(l)
	var out []change
	for _, s := range be.served {
		from := max(s.from, registered)
		ended := s.to != Never
		if ended && s.to < from {
			continue
		}
		switch n := len(out) - 1; {
		case n >= 0 && from < out[n].at:
			out = out[:n] // the ports were closed too shortly to be noticed
		case ended && s.to < from+w.Healthy:
			continue // they were open too shortly
		default:
			out = append(out, change{from + w.Healthy, true})
		}
		if ended {
			out = append(out, change{s.to + w.Unhealthy, false})
		}
	}
	return out
}

// Next returns the next time after now at which a backend turns; ok is false
// when none does by itself.
func (b *Balancer) Next(now time.Duration) (at time.Duration, ok bool) {
	for _, be := range b.backends {
		for _, l := range []Listener{ListenerAPI, ListenerSupervisor} {
			for _, c := range b.changes(be, l) {
				if c.at > now && (!ok || c.at < at) {
					at, ok = c.at, true
				}
			}
		}
	}
	return at, ok
}

// Event is a backend that went up or down.
type Event struct {
	Machine  string
	Listener Listener
	Up       bool
	// Text says what the balancer does from now on, and why.
	Text string
}

// News returns the backends that turned since it was last asked, in the order
// in which machines appeared. A balancer that is none has no news.
func (b *Balancer) News(now time.Duration) []Event {
	if b.Direct() {
		return nil
	}
	var out []Event
	for _, be := range b.backends {
		for _, l := range []Listener{ListenerAPI, ListenerSupervisor} {
			key := target{be.machine, l}
			up := b.Up(now, be.machine, l)
			if up == b.told[key] {
				continue
			}
			b.told[key] = up
			e := Event{Machine: be.machine, Listener: l, Up: up}
			_, registered := be.registered[l]
			w := b.Window(l)
			switch {
			case up:
				e.Text = fmt.Sprintf("is a healthy backend of the %s listener, at most %s after its port opened and it was registered", l, w.Healthy)
			case !registered:
				e.Text = fmt.Sprintf("is no backend of the %s listener any more", l)
			default:
				e.Text = fmt.Sprintf("is a dead backend of the %s listener, noticed at most %s after its port closed", l, w.Unhealthy)
			}
			out = append(out, e)
		}
	}
	return out
}

// Reach is whether a connection to the endpoint ends at a control plane.
type Reach struct {
	// OK tells that one does; of several tries the first may still meet a dead backend.
	OK bool
	// Why says what stands in the way; "" when nothing does.
	Why string
	// Requirement is the requirement of control-planes.md 8 that is not met; ""
	// when only time or a control plane is missing.
	Requirement string
	// Dead are the machines that get traffic and do not answer, as between the
	// removal of an etcd member and the destroy (control-planes.md 2.5 #5).
	Dead []string
}

// Reach tells whether a listener reaches a control plane now, from a machine by
// its name or from [Management].
func (b *Balancer) Reach(now time.Duration, from string, l Listener) Reach {
	var r Reach
	var alive, serving, waiting, unregistered, never []string
	for _, be := range b.backends {
		_, registered := be.registered[l]
		up := b.Up(now, be.machine, l)
		switch {
		case up && be.serves():
			alive = append(alive, be.machine)
		case up:
			r.Dead = append(r.Dead, be.machine)
		}
		if !be.serves() {
			continue
		}
		serving = append(serving, be.machine)
		switch {
		case up || b.Direct():
		case !registered:
			unregistered = append(unregistered, be.machine)
		case be.registered[l] == Never:
			never = append(never, be.machine)
		default:
			waiting = append(waiting, be.machine)
		}
	}
	others := slices.DeleteFunc(slices.Clone(alive), func(m string) bool { return m == from })
	switch {
	case len(others) > 0 || len(alive) > 0 && (b.hairpin || b.Direct()):
		r.OK = true
	case len(serving) == 0:
		r.Why = "no control-plane node serves yet"
	case len(alive) > 0:
		r.Why, r.Requirement = fmt.Sprintf("%s is the only healthy backend, and the balancer leads no backend back to itself (hairpin)", from), "CP-020"
	case len(waiting) > 0:
		r.Why = fmt.Sprintf("the balancer has not yet found %s healthy", strings.Join(waiting, ", "))
	default:
		r.Why = fmt.Sprintf("the %s listener has no backend: %s", l, described(slices.Concat(unregistered, never))+" not registered")
		r.Requirement = map[Listener]string{ListenerAPI: "CP-030", ListenerSupervisor: "CP-032"}[l]
	}
	return r
}

// described names machines that serve.
func described(machines []string) string {
	if len(machines) == 1 {
		return machines[0] + " serves and is"
	}
	return strings.Join(machines, ", ") + " serve and are"
}

// Describe says in one sentence what is played.
func (b *Balancer) Describe() string {
	switch {
	case b.pattern == "":
		return "how machines become backends is unknown, so every control-plane node that serves counts as reachable through the endpoint"
	case b.pattern == PatternNone:
		return cmp.Or(b.bypassed, "no module makes a load balancer") + " (pattern C), so every control-plane node that serves counts as reachable through the endpoint"
	}
	how := map[Pattern]string{PatternAttachment: "attachments in the machine's state", PatternSelector: "a selector on the instance"}[b.pattern]
	by := "recognised by resource types"
	if b.declared {
		by = "declared in captf-harness.json"
	}
	w := b.Window(ListenerAPI)
	return fmt.Sprintf("machines become backends by %s (pattern %s, %s); a backend is healthy %s after its port opens, and dead %s after it closes; %s",
		how, b.pattern, by, w.Healthy, w.Unhealthy, map[bool]string{true: "a backend reaches itself", false: "a backend does not reach itself"}[b.hairpin])
}
