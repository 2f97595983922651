package harness

import (
	"cmp"
	"slices"
	"time"
)

// A wait is the time that an object spends at a closed gate.
type wait struct {
	object string
	gate   Gate
	actor  string
	since  time.Duration
	until  time.Duration // 0 while it waits
	passed bool
}

// closed notes that a subject waits at a gate. A subject waits at one gate at a time.
func (p *play) closed(subject any, g Gate) {
	if w, ok := p.waiting[subject]; ok {
		if w.gate.ID == g.ID {
			return
		}
		w.until = p.w.Now
	}
	w := &wait{object: p.refOf(subject), gate: g, since: p.w.Now, actor: "captf"}
	switch subject.(type) {
	case *Infra:
	case *ControlPlaneStatus, *bool:
		w.actor = p.cp.Name
	default:
		w.actor = "cluster-api"
	}
	p.waits = append(p.waits, w)
	if p.waiting == nil {
		p.waiting = map[any]*wait{}
	}
	p.waiting[subject] = w
}

// opened notes that a subject finds a gate open.
func (p *play) opened(subject any, g Gate) {
	if w, ok := p.waiting[subject]; ok && w.gate.ID == g.ID {
		w.until, w.passed = p.w.Now, true
		delete(p.waiting, subject)
	}
}

// withWaits returns the steps of the story with a step where an object begins
// to wait at a gate and one where it passes. What takes no virtual time is no
// wait: it is the order in which controllers happen to run.
func (p *play) withWaits() []StoryStep {
	var out []StoryStep
	for _, w := range p.waits {
		ended := w.until > 0 || w.passed
		if ended && w.until == w.since || !ended && p.w.Now == w.since {
			continue
		}
		out = append(out, StoryStep{
			At: w.since.Seconds(), Type: EventWaiting, Actor: w.actor, Object: w.object, Gate: w.gate.ID, Event: p.discreet.clean("waits for " + w.gate.WaitsFor),
		})
		if w.passed {
			out = append(out, StoryStep{
				At: w.until.Seconds(), Type: EventPassed, Actor: w.actor, Object: w.object, Gate: w.gate.ID,
				Event: p.discreet.clean("has waited " + (w.until - w.since).Round(time.Second).String() + " for " + w.gate.WaitsFor),
			})
		}
	}
	// Among steps of one time those of the story come first: a wait begins after
	// what led to it, and ends after what it waited for.
	steps := append(slices.Clone(p.steps), out...)
	slices.SortStableFunc(steps, func(a, b StoryStep) int { return cmp.Compare(a.At, b.At) })
	return steps
}
