package scenario

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/captf-toolkit/captf/sdk/harness"
)

// Encode writes a scenario as a file.
func Encode(f File) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(f); err != nil {
		return nil, fmt.Errorf("writing the scenario %s: %w", f.ID, err)
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("writing the scenario %s: %w", f.ID, err)
	}
	return b.Bytes(), nil
}

// RandomOptions say what a random scenario may be made of.
type RandomOptions struct {
	// ControlPlane is the short name of the control plane.
	ControlPlane string
	// Pool tells that the set has a pool.
	Pool bool
	// Odd tells that only odd numbers of control-plane machines are admitted.
	Odd bool
	// Kinds are the faults that can be injected; nil means none.
	Kinds []harness.FaultKind
	// Steps is the largest number of steps between creation and deletion; 0 means 6.
	Steps int
}

// Random makes a scenario that a good set of modules passes, always the same for a
// seed: a cluster is created, changed and harmed, and deleted. It has no faults
// that a story cannot go on after.
func Random(seed uint64, o RandomOptions) File {
	if o.Steps <= 0 {
		o.Steps = 6
	}
	g := &generator{
		rng: rand.New(rand.NewPCG(seed, 0x73746f7279)), o: o, //nolint:gosec // a scenario must be repeatable, not unpredictable
	}
	f := File{
		ID: fmt.Sprintf("random-%d", seed), Title: fmt.Sprintf("what seed %d makes up", seed), ControlPlanes: []string{o.ControlPlane}, HealthCheck: true,
	}
	g.ask(Ask{ControlPlanes: g.size(), Workers: g.number(0, 2), Pool: g.poolSize()})
	for range 1 + g.rng.IntN(o.Steps) {
		g.change()
	}
	g.ask(Ask{Delete: true})
	f.Steps = g.steps
	if g.pool {
		f.Requires = &Requires{Pool: true}
	}
	f.End = &End{Deleted: true}
	return f
}

type generator struct {
	rng      *rand.Rand
	o        RandomOptions
	steps    []Step
	cps      int
	upgraded bool
	pool     bool
}

func (g *generator) number(least, most int) *int {
	n := least + g.rng.IntN(most-least+1)
	return &n
}

// size draws a number of control-plane machines.
func (g *generator) size() *int {
	n := []int{1, 3, 3, 5}[g.rng.IntN(4)]
	if !g.o.Odd && g.rng.IntN(4) == 0 {
		n = 2
	}
	g.cps = n
	return &n
}

func (g *generator) poolSize() *int {
	if !g.o.Pool {
		return nil
	}
	g.pool = true
	return g.number(1, 4)
}

func (g *generator) ask(a Ask) { g.steps = append(g.steps, Step{Ask: &a}) }

// change adds one step, or two that belong together.
func (g *generator) change() {
	switch g.rng.IntN(9) {
	case 0:
		g.ask(Ask{ControlPlanes: g.size()})
	case 1:
		a := Ask{Workers: g.number(0, 3)}
		if g.rng.IntN(2) == 0 {
			a = Ask{WorkerTemplate: true}
		}
		g.ask(a)
	case 2:
		if size := g.poolSize(); size != nil {
			g.ask(Ask{Pool: size})
		}
	case 3:
		surge := 1
		if g.cps >= 3 {
			surge = g.rng.IntN(2)
		}
		a := Ask{Template: true, MaxSurge: &surge}
		if !g.upgraded && g.rng.IntN(2) == 0 {
			a.Template, a.Upgrade, a.Topology, g.upgraded = false, true, g.rng.IntN(2) == 0, true
		}
		g.ask(a)
	case 4:
		g.steps = append(g.steps, Step{Move: true})
	case 5:
		if g.cps >= 3 {
			g.steps = append(g.steps, Step{Remediate: string(harness.TargetLast)})
		}
	default:
		g.fault()
	}
}

// harms are the faults that need a health check and other machines to recover from.
var harms = []harness.FaultKind{harness.FaultInstanceGone, harness.FaultInstanceStopped, harness.FaultRefreshBlind}

// fault adds a fault, followed by what makes it show.
func (g *generator) fault() {
	var kinds []harness.FaultKind
	for _, info := range harness.Faults() {
		switch info.Kind {
		case harness.FaultProviderIDWrong, harness.FaultProviderIDTwice, harness.FaultDomainIgnored, harness.FaultEndpointChanges:
			continue // a story does not go on after these, or only by chance
		case harness.FaultTokenRotates:
			continue // only the first apply of a pool, which is over
		}
		if info.Player == harness.PlayedByHarness || slices.Contains(g.o.Kinds, info.Kind) {
			kinds = append(kinds, info.Kind)
		}
	}
	kind := kinds[g.rng.IntN(len(kinds))]
	info, _ := harness.FaultOf(kind)
	f := &Fault{Kind: string(kind), Role: "machine"}
	settles := slices.Contains(harms, kind) || kind == harness.FaultAddressChanges || kind == harness.FaultDegraded
	switch {
	case kind == harness.FaultCreateFails:
		f.Times = 1 + g.rng.IntN(2)
	case settles:
		if g.cps < 3 {
			return // a control plane of one is never remediated
		}
		f.Machine = string(harness.TargetLast)
	default:
		f.Machine = string(harness.TargetNext)
		if len(info.Ops) > 0 {
			f.Op = string(info.Ops[g.rng.IntN(len(info.Ops))])
			f.Times = 1 + g.rng.IntN(2)
		}
	}
	if info.Midway {
		f.After = 1 + g.rng.IntN(2)
	}
	if info.Lasting && (kind == harness.FaultDegraded && g.rng.IntN(2) == 0 || kind == harness.FaultBackendLate) {
		f.For = fmt.Sprintf("%dm", 10+g.rng.IntN(30))
	}
	step := Step{Fault: f}
	if settles {
		step.Until = "settled"
	}
	g.steps = append(g.steps, step)
	if !settles {
		g.ask(Ask{Template: true, MaxSurge: new(1)}) // which creates a machine, and destroys those before
	}
}
