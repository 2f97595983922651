package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract"
)

// A drill is a series of module runs beside the story, on objects of its own.
// It tries what a story cannot, such as a create that breaks midway. It runs on
// a goroutine of its own and touches nothing of the play but what is constant.
type drill struct {
	p     *play
	ctx   context.Context //nolint:containedctx // a drill lives within one call
	name  string
	role  contract.Role
	found []finding
	notes []Note
	// live are the inputs of the objects that the drill has applied and not destroyed.
	live map[string]contract.Inputs
	runs int
	// seen is the newest run.
	seen *sighting
	// outputsMove tells that a plan without a change of input changed only
	// outputs, moved that an endpoint or export was seen to change.
	outputsMove, moved bool
	err                error
	done               chan struct{}
}

// probe starts a drill.
func (p *play) probe(name string, role contract.Role, run func(d *drill)) {
	if p.cfg.probed != nil && !slices.Contains(p.cfg.probed, role) {
		return
	}
	d := &drill{p: p, ctx: p.ctx, name: name, role: role, live: map[string]contract.Inputs{}, done: make(chan struct{})}
	p.drills = append(p.drills, d)
	go func() {
		defer close(d.done)
		run(d)
	}()
}

// finishProbes waits for the drills and takes in what they found, in the order
// in which they were started.
func (p *play) finishProbes() {
	for _, d := range p.drills {
		<-d.done
		if d.err != nil {
			p.fatal(fmt.Errorf("probing %s: %w", d.name, d.err))
		}
		failed := 0
		for _, f := range d.found {
			if f.status == StatusFailed {
				failed++
			}
			p.rec.add(f)
		}
		for _, n := range d.notes {
			p.rec.note(n.Role, n.Place, "%s", n.Message)
		}
		if d.err == nil {
			p.tell(EventProbed, "probe", string(d.role)+" module", fmt.Sprintf("%s: %d runs, %d findings failed", d.name, d.runs, failed))
		}
	}
}

// run makes one module run; it returns nil once the runtime could not run.
func (d *drill) run(op Op, object string, in contract.Inputs) *Run {
	if d.err != nil {
		return nil
	}
	d.runs++
	if op == OpApply {
		d.live[object] = in
	}
	run, err := d.p.call(d.ctx, op, d.role, object, in)
	if err != nil {
		d.err = fmt.Errorf("running %s for %s: %w", op, object, err)
		return nil
	}
	d.seen = &sighting{role: d.role, object: object, probe: d.name, op: op, run: run}
	if op == OpDestroy && !run.Failed {
		delete(d.live, object)
	}
	return run
}

// values plans with the planned content.
func (d *drill) values(object string, in contract.Inputs) *Run {
	if d.err != nil {
		return nil
	}
	d.runs++
	d.p.runs.enter()
	defer d.p.runs.leave()
	run, err := d.p.cfg.Modules.PlanValues(d.ctx, runKey(d.role, object), in)
	if err != nil {
		d.err = fmt.Errorf("planning %s: %w", object, err)
		return nil
	}
	d.seen = &sighting{role: d.role, object: object, probe: d.name, op: OpPlan, run: run}
	return run
}

// add notes a finding, with the newest run of the drill as its proof.
func (d *drill) add(f finding) {
	if len(f.proof) == 0 && f.status != StatusNotApplicable {
		if proof, ok := d.seen.proof(f.id, f.status == StatusFailed, d.p.cfg.Modules.Module(d.role), d.p.discreet.clean); ok {
			f.proof = []Proof{proof}
		}
	}
	d.found = append(d.found, f)
}

// ok judges that a run succeeded and says under which id.
func (d *drill) ok(run *Run, id, what string) bool {
	if run == nil {
		return false
	}
	reason := ""
	var evidence []string
	if run.Failed {
		reason = what + " fails: " + firstError(run)
	} else {
		evidence = []string{what + " succeeds"}
	}
	d.add(judge(!run.Failed, id, d.role, reason, evidence...))
	return !run.Failed
}

// must is like ok, but says nothing about a success.
func (d *drill) must(run *Run, id, what string) bool {
	if run == nil {
		return false
	}
	if run.Failed {
		d.add(finding{id: id, role: d.role, status: StatusFailed, reason: what + " fails: " + firstError(run)})
	}
	return !run.Failed
}

// skip says why a requirement was not judged.
func (d *drill) skip(reason string, ids ...string) {
	for _, id := range ids {
		d.add(finding{id: id, role: d.role, status: StatusNotApplicable, reason: reason})
	}
}

// probeName names an object of a drill: unlike every object of the story.
func (p *play) probeName(parts ...string) string {
	return p.w.Cluster.Name + "-probe-" + strings.Join(parts, "-")
}
