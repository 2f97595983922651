package harness

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/captf-toolkit/captf/contract"
)

// runTimes are the least virtual times of module runs, those of a real cloud
// rather than of the machine that the harness runs on; up to half is added.
var runTimes = map[contract.Role]map[Op]time.Duration{
	contract.RoleCluster:     {OpApply: 90 * time.Second, OpRefresh: 10 * time.Second, OpDestroy: 60 * time.Second},
	contract.RoleMachine:     {OpApply: 40 * time.Second, OpRefresh: 6 * time.Second, OpDestroy: 30 * time.Second},
	contract.RoleMachinePool: {OpApply: 60 * time.Second, OpRefresh: 8 * time.Second, OpDestroy: 40 * time.Second},
}

// runClock measures the real time during which at least one runtime process ran.
type runClock struct {
	mu     sync.Mutex
	active int
	since  time.Time
	busy   time.Duration
	count  int
}

func (c *runClock) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active == 0 {
		c.since = time.Now()
	}
	c.active++
	c.count++
}

func (c *runClock) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active--; c.active == 0 {
		c.busy += time.Since(c.since)
	}
}

// runKey names an object to the runner: one state each.
func runKey(role contract.Role, name string) string { return string(role) + "-" + name }

// call runs one module run, measures it and notes what it made.
func (p *play) call(ctx context.Context, op Op, role contract.Role, name string, in contract.Inputs) (*Run, error) {
	run, err := p.callOp(ctx, op, runKey(role, name), in)
	p.made.ran(role, name, op, run)
	return run, err
}

func (p *play) callOp(ctx context.Context, op Op, object string, in contract.Inputs) (*Run, error) {
	p.runs.enter()
	defer p.runs.leave()
	m := p.cfg.Modules
	switch op {
	case OpApply:
		return m.Apply(ctx, object, in)
	case OpPlan:
		return m.Plan(ctx, object, in)
	case OpRefresh:
		return m.Refresh(ctx, object, in)
	case OpDestroy:
		return m.Destroy(ctx, object, in)
	}
	return nil, fmt.Errorf("running %s for %s: there is no such kind of run", op, object)
}

// start starts a run of an object; its end is an event.
func (p *play) start(i *Infra, op Op, in contract.Inputs) {
	i.Running = op
	if op == OpApply {
		i.Inputs = in
	}
	if op == OpDestroy || i.AppliedHash == "" {
		delete(p.blocks, i) // an object that is applied again still waits for its outputs
	}
	if op != OpRefresh {
		p.tell(EventRunStarted, "captf", i.Ref(), op.verb()+" starts")
	}
	least := runTimes[i.Role][op]
	takes := least + p.jitter(least)
	if broken := p.breakRun(i, op, takes); broken > 0 {
		takes = broken
	}
	p.rotateMidway(i, op, takes)
	if op == OpApply || op == OpDestroy {
		p.writes++
	}
	if p.over() {
		return
	}
	var run *Run
	var err error
	p.eng.Background(takes, func() {
		run, err = p.call(p.ctx, op, i.Role, i.Name, in)
	}, func() {
		i.Running = ""
		if err != nil {
			p.fatal(fmt.Errorf("running %s for %s: %w", op, i.Ref(), err))
			return
		}
		p.finish(i, op, in, run)
	})
}

// verb names the run as the story does.
func (o Op) verb() string { return string(o) }

// finish takes in the result of a run.
func (p *play) finish(i *Infra, op Op, in contract.Inputs, run *Run) {
	before := i.Run
	i.Run = run
	p.rec.seen = &sighting{role: i.Role, object: i.Name, at: p.w.Now.Seconds(), op: op, run: run}
	defer func() { p.rec.seen = nil }()
	ended := EventRunEnded
	if run.Failed {
		ended = EventRunFailed
	}
	p.record(StoryStep{At: p.w.Now.Seconds(), Type: ended, Actor: "captf", Object: i.Ref(), Event: describeRun(op, run), Op: op, Took: run.Took.Seconds()})
	if p.brokeRun(i, op, run) {
		return
	}
	if run.Failed {
		p.moduleFailed(i, op, in, run)
		return
	}
	delete(i.failures, op)
	if op == OpDestroy {
		i.Gone = true
		p.tell(EventGone, "captf", i.Ref(), "is gone")
		p.destroyed(i)
		return
	}
	if op == OpApply {
		rendered, violations := p.cfg.Definition.Render(in, nil, contract.RenderOptions{})
		if rendered == nil {
			p.fatal(fmt.Errorf("rendering the inputs of %s: %w", i.Ref(), violations))
			return
		}
		i.AppliedHash, i.Refreshes, i.unapplied = rendered.Hash, 0, false
	} else if before != nil {
		i.Refreshes++
	}
	p.decode(i, op, in, run)
	if p.over() {
		return
	}
	p.observe(i, op, in, run)
	if op == OpApply {
		i.applied = in
	}
	p.settleInfra(i, op, in)
	p.judgeHealth(i)
	p.watchHealth(i, op)
}

// decode decodes the outputs of a run and judges them.
func (p *play) decode(i *Infra, op Op, in contract.Inputs, run *Run) {
	previous := i.Machine
	p.alter(i, op, run)
	i.Outputs, i.Violations = contract.Decode(p.cfg.Definition, i.Role, run.Values, in)
	switch out := i.Outputs.(type) {
	case *contract.ClusterOutputs:
		i.Cluster = out
	case *contract.MachineOutputs:
		i.Machine = out
		if previous != nil {
			i.Violations = append(contract.CheckProviderID(previous.ProviderID, out.ProviderID), i.Violations...)
		}
	case *contract.PoolOutputs:
		i.Pool = out
	}
	if blocking := i.Violations.Blocking(); len(blocking) > 0 {
		p.outputsInvalid(i, blocking)
	}
}

// settleInfra latches provisioned, publishes the endpoint and lets the
// instances behind the object boot.
func (p *play) settleInfra(i *Infra, op Op, in contract.Inputs) {
	if m := p.ownerOf(i); m != nil && op == OpApply {
		p.register(m, i.Run.Resources)
		p.boot(m)
	}
	if rendered, ok := in.(*contract.ClusterInputs); ok {
		if e := contract.EndpointToPublish(p.endpointSource, p.infraEndpoint, rendered.ControlPlaneEndpoint, i.Cluster.ControlPlaneEndpoint); e != nil {
			p.infraEndpoint, p.endpointSource = e, contract.EndpointSourceModule
		}
	}
	if !i.Provisioned && i.Outputs.Provisioned(i.AppliedHash != "", i.Violations) {
		i.Provisioned = true
		delete(p.blocks, i)
		p.tell(EventProvisioned, "captf", i.Ref(), "is provisioned")
	}
	if i.Pool != nil && i.Provisioned {
		p.bootPool(i.Pool.ProviderIDList)
	}
	if op == OpApply && contract.CadenceOf(i.Role).RefreshesAfterApply(i.HealthOf(), i.Violations) {
		p.start(i, OpRefresh, in)
	}
}

// ownerOf returns the machine that owns the object.
func (p *play) ownerOf(i *Infra) *Machine {
	for _, m := range p.w.Machines {
		if m.Infra == i {
			return m
		}
	}
	return nil
}

// describeRun says what a run did, for the story.
func describeRun(op Op, run *Run) string {
	if run.Failed {
		return op.verb() + " fails: " + firstError(run)
	}
	if op == OpRefresh {
		return "refresh ends"
	}
	counts := map[Action]int{}
	for _, c := range run.Changes {
		counts[c.Action]++
	}
	var parts []string
	for _, a := range []struct {
		action Action
		past   string
	}{{ActionCreate, "created"}, {ActionUpdate, "updated"}, {ActionReplace, "replaced"}, {ActionDelete, "deleted"}} {
		if n := counts[a.action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, a.past))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing to change"}
	}
	return op.verb() + " ends: " + strings.Join(parts, ", ")
}

// firstError returns the first error of a failed run on one line.
func firstError(run *Run) string {
	place, text := errorAt(run)
	if place != "" {
		return place + ": " + text
	}
	return text
}

// errorAt returns the first error of a failed run on one line, and its place.
func errorAt(run *Run) (place, text string) {
	for _, d := range run.Diagnostics {
		if d.Severity != "error" {
			continue
		}
		text := d.Summary
		if d.Detail != "" {
			text += ": " + shortened(strings.Join(strings.Fields(d.Detail), " "))
		}
		if d.Address != "" {
			text += " (" + d.Address + ")"
		}
		return d.Range, text
	}
	return "", "the runtime gave no reason"
}

// mostDetail is how many bytes of a runtime's detail stand on one line: a
// provisioner's output may be megabytes.
const mostDetail = 800

// shortened cuts the middle out of a long text: what was run stands at the
// start, why it failed often at the end.
func shortened(text string) string {
	if len(text) <= mostDetail {
		return text
	}
	head, tail := text[:mostDetail/2], text[len(text)-mostDetail/2:]
	return fmt.Sprintf("%s … (%d bytes left out) … %s", strings.ToValidUTF8(head, ""), len(text)-mostDetail, strings.ToValidUTF8(tail, ""))
}

// outputOf returns the output's name in a violation's path.
func outputOf(path string) string {
	path = strings.TrimPrefix(path, "outputs.")
	if n := strings.IndexAny(path, ".["); n >= 0 {
		return path[:n]
	}
	return path
}
