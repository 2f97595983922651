package harness

import (
	"fmt"
	"sync"

	"github.com/captf-toolkit/captf/contract"
)

// probeMembers drills two control-plane machines in one pool of backends, of the
// present and of the next template, both changed at once (CP-037, CP-057). It
// runs where the machine module tells how it joins the pool.
func (p *play) probeMembers(base *contract.MachineInputs) {
	if p.membership() == nil || p.w.Balancer.Direct() || !base.ControlPlane {
		return
	}
	old := *base
	old.Object.Name, old.MachineName = p.probeName("member-a"), p.probeName("member-machine-a")
	recent := old
	recent.Object.Name, recent.MachineName = p.probeName("member-b"), p.probeName("member-machine-b")
	recent.Template += "-2"
	recent.KubernetesVersion = &p.cp.NextVersion
	p.probe("two members of one pool, of this and of the next template, applied and destroyed at once", contract.RoleMachine, func(d *drill) {
		d.members(&old, &recent)
	})
}

func (d *drill) members(old, recent *contract.MachineInputs) {
	if !d.atOnce(OpApply, old, recent) {
		return
	}
	before, after := d.run(OpPlan, old.Object.Name, old), d.run(OpPlan, recent.Object.Name, recent)
	if before != nil && after != nil && !before.Failed && !after.Failed {
		d.add(judgeSharing(before, after))
	}
	d.atOnce(OpDestroy, old, recent)
}

// judgeSharing judges that a machine of another version in the same pool changes
// nothing for one that is there (CP-057). Plans that are not empty either way
// are said under CP-056.
func judgeSharing(before, after *Run) finding {
	const what = "the plan of a machine beside a newer one in the same pool"
	if len(after.Changes) > 0 {
		return finding{id: "CP-057", role: contract.RoleMachine, status: StatusNotApplicable, reason: "the plan of a machine is never empty, as said under CP-056"}
	}
	f := judgeEmpty("CP-057", contract.RoleMachine, &Run{Changes: before.Changes}, what)
	return f
}

// atOnce makes one run of each machine at the same time. A run that fails beside
// another and succeeds alone is a conflict (CP-037); one that fails alone too is
// left to the drills that try just that.
func (d *drill) atOnce(op Op, machines ...*contract.MachineInputs) bool {
	if d.err != nil {
		return false
	}
	runs, errs := make([]*Run, len(machines)), make([]error, len(machines))
	var wg sync.WaitGroup
	for n, in := range machines {
		d.runs++
		d.live[in.Object.Name] = in
		wg.Go(func() { runs[n], errs[n] = d.p.call(d.ctx, op, d.role, in.Object.Name, in) })
	}
	wg.Wait()
	for n, in := range machines {
		if errs[n] != nil {
			d.err = fmt.Errorf("running %s for %s: %w", op, in.Object.Name, errs[n])
			return false
		}
	}
	all := true
	for n, in := range machines {
		run := runs[n]
		if run.Failed {
			again := d.run(op, in.Object.Name, in)
			if again == nil {
				return false
			}
			if !again.Failed {
				d.add(finding{id: "CP-037", role: d.role, status: StatusFailed,
					reason: fmt.Sprintf("%s of a machine fails beside that of another, and succeeds alone: %s", op, firstError(run))})
			}
			run = again
		}
		if op == OpDestroy && !run.Failed {
			delete(d.live, in.Object.Name)
		}
		all = all && !run.Failed
	}
	return all
}

// destroyingBeside tells that another machine is being destroyed too.
func (p *play) destroyingBeside(i *Infra) bool {
	for _, m := range p.w.Machines {
		if m.Infra != i && (m.Infra.Running == OpDestroy || m.Infra.Gone) {
			return true
		}
	}
	return false
}
