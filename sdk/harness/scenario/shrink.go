package scenario

import "slices"

// maxTries bounds how often a scenario is played to make it shorter.
const maxTries = 400

// Shrink returns the shortest scenario it finds that still fails: steps are left
// out, then what remains is made simpler. Only scenarios that valid accepts are
// tried; f itself must fail.
func Shrink(f File, valid func(File) bool, fails func(File) bool) File {
	s := &shrinker{valid: valid, fails: fails}
	for again := true; again; {
		again = false
		for _, try := range []func(File) (File, bool){s.shorter, s.simpler} {
			if better, ok := try(f); ok {
				f, again = better, true
			}
		}
	}
	return f
}

type shrinker struct {
	valid, fails func(File) bool
	tries        int
}

// still tells that a smaller scenario fails too.
func (s *shrinker) still(f File) bool {
	if s.tries >= maxTries || !s.valid(f) {
		return false
	}
	s.tries++
	return s.fails(f)
}

// shorter leaves out as many steps at once as it can.
func (s *shrinker) shorter(f File) (File, bool) {
	found := false
	for size := len(f.Steps) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(f.Steps); {
			less := f
			less.Steps = slices.Delete(slices.Clone(f.Steps), at, at+size)
			less = tidy(less)
			if s.still(less) {
				f, found = less, true
				continue
			}
			at++
		}
	}
	return f, found
}

// tidy leaves out what a scenario with fewer steps cannot say any more.
func tidy(f File) File {
	last := len(f.Steps) - 1
	if last < 0 || f.Steps[last].Ask == nil || !f.Steps[last].Ask.Delete {
		f.End = nil
	}
	pool := slices.ContainsFunc(f.Steps, func(s Step) bool { return s.Ask != nil && s.Ask.Pool != nil && *s.Ask.Pool > 0 })
	if !pool {
		f.Requires = nil
	}
	return f
}

// simpler takes details away, one at a time.
func (s *shrinker) simpler(f File) (File, bool) {
	found := false
	try := func(change func(*File)) {
		less := f
		less.Steps = make([]Step, len(f.Steps))
		for n, step := range f.Steps {
			less.Steps[n] = step.clone()
		}
		change(&less)
		before, _ := Encode(f)
		after, err := Encode(tidy(less))
		if err != nil || len(after) >= len(before) {
			return
		}
		if s.still(tidy(less)) {
			f, found = tidy(less), true
		}
	}
	try(func(f *File) { f.HealthCheck = false })
	try(func(f *File) { f.Probes = false })
	try(func(f *File) { f.Race = "" })
	for n := range f.Steps {
		at := func(change func(*Step)) { try(func(f *File) { change(&f.Steps[n]) }) }
		at(func(s *Step) { s.Until = "" })
		at(func(s *Step) { s.Title = "" })
		if f.Steps[n].Ask != nil {
			at(func(s *Step) { s.Ask.Workers = nil })
			at(func(s *Step) { s.Ask.Pool = nil })
			at(func(s *Step) { s.Ask.MaxSurge = nil })
			at(func(s *Step) { s.Ask.Topology = false })
			at(func(s *Step) { s.Ask.WorkerTemplate = false })
			at(func(s *Step) { s.Ask.ControlPlanes = nil })
		}
		if f.Steps[n].Fault != nil {
			at(func(s *Step) { s.Fault.Times = 0 })
			at(func(s *Step) { s.Fault.After = 0 })
			at(func(s *Step) { s.Fault.For = "" })
			at(func(s *Step) { s.Fault.Op = "" })
			at(func(s *Step) { s.Fault.Machine = "" })
		}
	}
	return f, found
}

func (s Step) clone() Step {
	if s.Ask != nil {
		a := *s.Ask
		s.Ask = &a
	}
	if s.Fault != nil {
		f := *s.Fault
		s.Fault = &f
	}
	return s
}
