package compare

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
)

// Difference is how two lists of runs differ.
type Difference struct {
	// Same tells that nothing differs. Real times never count.
	Same bool `json:"same"`
	// Runs are the scenarios that both have.
	Runs []RunDifference `json:"runs"`
	// OnlyA and OnlyB are scenarios that one of them has, as control plane/scenario.
	OnlyA []string `json:"onlyA,omitempty"`
	OnlyB []string `json:"onlyB,omitempty"`
}

// RunDifference is how two runs of one scenario differ.
type RunDifference struct {
	// ControlPlane and Scenario say what was played.
	ControlPlane string `json:"controlPlane"`
	Scenario     string `json:"scenario"`
	// Same tells that nothing differs.
	Same bool `json:"same"`
	// Verdict are the verdicts.
	Verdict Pair[harness.Verdict] `json:"verdict"`
	// Seed are the seeds: different seeds may tell different stories.
	Seed Pair[uint64] `json:"seed"`
	// Runtime are the runtimes; they do not count.
	Runtime Pair[string] `json:"runtime"`
	// Stalled are the gates at which the runs stalled; "" when they did not.
	Stalled Pair[string] `json:"stalled"`
	// Requirements are those whose status differs.
	Requirements []RequirementChange `json:"requirements,omitempty"`
	// Order is where the order of events differs.
	Order []Change `json:"order,omitempty"`
	// ModuleRuns are the kinds of run whose number differs.
	ModuleRuns []RunCount `json:"moduleRuns,omitempty"`
	// Left are the objects whose infrastructure still exists in one of them only.
	Left Pair[[]string] `json:"left"`
	// VirtualTime is how long the stories took, in virtual seconds; it does not count.
	VirtualTime Ratio `json:"virtualTime"`
	// Total, Outside are the real seconds in all and in the harness itself; they do not count.
	Total   Ratio `json:"total"`
	Outside Ratio `json:"outside"`
	// RuntimeTime are the real seconds in the runtime; they do not count.
	RuntimeTime Ratio `json:"runtimeTime"`
}

// Pair is one thing of both runs.
type Pair[T any] struct {
	A T `json:"a"`
	B T `json:"b"`
}

// Ratio are two amounts and their ratio.
type Ratio struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
	// Ratio is b/a; 0 when a is 0.
	Ratio float64 `json:"ratio"`
}

func ratio(a, b float64) Ratio {
	r := Ratio{A: a, B: b}
	if a > 0 {
		r.Ratio = b / a
	}
	return r
}

// RequirementChange is one requirement whose status differs.
type RequirementChange struct {
	ID   string        `json:"id"`
	Role contract.Role `json:"role"`
	// Status is none where the run does not have the requirement.
	Status Pair[string] `json:"status"`
	// Reason says why, for each.
	Reason Pair[string] `json:"reason"`
}

// Worse tells that the requirement fails in the second run only.
func (c RequirementChange) Worse() bool { return c.Status.B == string(harness.StatusFailed) }

// RunCount is how often a kind of module run was made.
type RunCount struct {
	// Kind is the kind of the object, such as TerraformMachine.
	Kind string `json:"kind"`
	// Op is the kind of run, Failed tells that it failed.
	Op     harness.Op `json:"op"`
	Failed bool       `json:"failed,omitempty"`
	A      int        `json:"a"`
	B      int        `json:"b"`
}

// Results compares two lists of runs, scenario by scenario.
func Results(a, b []*harness.Result) Difference {
	d := Difference{Runs: []RunDifference{}}
	key := func(r *harness.Result) string { return r.ControlPlane + "/" + r.Scenario }
	left := slices.Clone(b)
	for _, one := range a {
		at := slices.IndexFunc(left, func(r *harness.Result) bool { return key(r) == key(one) })
		if at < 0 {
			d.OnlyA = append(d.OnlyA, key(one))
			continue
		}
		d.Runs = append(d.Runs, Runs(one, left[at]))
		left = slices.Delete(left, at, at+1)
	}
	for _, other := range left {
		d.OnlyB = append(d.OnlyB, key(other))
	}
	d.Same = len(d.OnlyA)+len(d.OnlyB) == 0 && !slices.ContainsFunc(d.Runs, func(r RunDifference) bool { return !r.Same })
	return d
}

// Runs compares two runs.
func Runs(a, b *harness.Result) RunDifference {
	d := RunDifference{
		ControlPlane: a.ControlPlane, Scenario: a.Scenario,
		Verdict: Pair[harness.Verdict]{a.Verdict, b.Verdict}, Seed: Pair[uint64]{a.Seed, b.Seed}, Runtime: Pair[string]{a.Runtime, b.Runtime},
		Stalled: Pair[string]{gateOf(a), gateOf(b)}, Requirements: requirements(a, b), ModuleRuns: moduleRuns(a, b),
		Order:       Order(Project(a.Steps, Played), Project(b.Steps, Played)),
		Left:        Pair[[]string]{without(a.Left, b.Left), without(b.Left, a.Left)},
		VirtualTime: ratio(end(a), end(b)), Total: ratio(a.Timing.Total, b.Timing.Total), RuntimeTime: ratio(a.Timing.Runtime, b.Timing.Runtime),
		Outside: ratio(max(a.Timing.Total-a.Timing.Runtime, 0), max(b.Timing.Total-b.Timing.Runtime, 0)),
	}
	d.Same = d.Verdict.A == d.Verdict.B && d.Stalled.A == d.Stalled.B && len(d.Requirements)+len(d.ModuleRuns)+len(d.Order)+len(d.Left.A)+len(d.Left.B) == 0
	return d
}

func gateOf(r *harness.Result) string {
	if r.Stalled == nil {
		return ""
	}
	return r.Stalled.Gate
}

func end(r *harness.Result) float64 {
	out := 0.0
	for _, s := range r.Steps {
		out = max(out, s.At)
	}
	return out
}

// without returns what is in list and not in other; never nil.
func without(list, other []string) []string {
	out := []string{}
	for _, s := range list {
		if !slices.Contains(other, s) {
			out = append(out, s)
		}
	}
	return out
}

func requirements(a, b *harness.Result) []RequirementChange {
	type key struct {
		id   string
		role contract.Role
	}
	all := map[key]*RequirementChange{}
	get := func(q harness.Requirement) *RequirementChange {
		k := key{q.ID, q.Role}
		if all[k] == nil {
			all[k] = &RequirementChange{ID: q.ID, Role: q.Role, Status: Pair[string]{"none", "none"}}
		}
		return all[k]
	}
	for _, q := range a.Requirements {
		c := get(q)
		c.Status.A, c.Reason.A = string(q.Status), q.Reason
	}
	for _, q := range b.Requirements {
		c := get(q)
		c.Status.B, c.Reason.B = string(q.Status), q.Reason
	}
	var out []RequirementChange
	for _, c := range all {
		if c.Status.A != c.Status.B {
			out = append(out, *c)
		}
	}
	slices.SortFunc(out, func(x, y RequirementChange) int {
		if x.Worse() != y.Worse() {
			if x.Worse() {
				return -1
			}
			return 1
		}
		return cmp.Or(strings.Compare(x.ID, y.ID), strings.Compare(string(x.Role), string(y.Role)))
	})
	return out
}

func moduleRuns(a, b *harness.Result) []RunCount {
	type key struct {
		kind   string
		op     harness.Op
		failed bool
	}
	counts := map[key]*RunCount{}
	count := func(r *harness.Result, add func(*RunCount)) {
		for _, s := range r.Steps {
			if s.Type != harness.EventRunEnded && s.Type != harness.EventRunFailed || s.Op == harness.OpRefresh {
				continue
			}
			kind, _, _ := strings.Cut(s.Object, "/")
			k := key{kind, s.Op, s.Type == harness.EventRunFailed}
			if counts[k] == nil {
				counts[k] = &RunCount{Kind: k.kind, Op: k.op, Failed: k.failed}
			}
			add(counts[k])
		}
	}
	count(a, func(c *RunCount) { c.A++ })
	count(b, func(c *RunCount) { c.B++ })
	var out []RunCount
	for c := range maps.Values(counts) {
		if c.A != c.B {
			out = append(out, *c)
		}
	}
	slices.SortFunc(out, func(x, y RunCount) int {
		return cmp.Or(strings.Compare(x.Kind, y.Kind), strings.Compare(string(x.Op), string(y.Op)), map[bool]int{true: 1}[x.Failed]-map[bool]int{true: 1}[y.Failed])
	})
	return out
}
