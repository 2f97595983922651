package harness

import (
	"fmt"
	"sync"

	"github.com/captf-toolkit/captf/contract"
)

// stepDone plans every object with its own inputs when a step is done: no
// plan may be empty but for what the step itself left to do (CP-027, CP-035,
// CP-056).
func (p *play) stepDone(step Step) {
	p.tell(EventReached, "harness", "Cluster/"+p.w.Cluster.Name, "done: "+step.ID)
	if p.w.Cluster.Gone {
		return
	}
	objects := []*Infra{p.w.Infra}
	for _, m := range p.w.Machines {
		if !m.Infra.fault.harmsInstance() { // what is gone or stopped is to be made again
			objects = append(objects, m.Infra)
		}
	}
	runs, errs := make([]*Run, len(objects)), make([]error, len(objects))
	var wg sync.WaitGroup
	for n, i := range objects {
		wg.Go(func() { runs[n], errs[n] = p.call(p.ctx, OpPlan, i.Role, i.Name, i.Inputs) })
	}
	wg.Wait()
	for n, i := range objects {
		if errs[n] != nil {
			p.fatal(fmt.Errorf("planning %s: %w", i.Ref(), errs[n]))
			return
		}
		p.rec.seen = &sighting{role: i.Role, object: i.Name, at: p.w.Now.Seconds(), op: OpPlan, run: runs[n]}
		p.judgeQuiet(i, runs[n], step)
		p.rec.seen = nil
	}
}

func (p *play) judgeQuiet(i *Infra, run *Run, step Step) {
	what := fmt.Sprintf("the plan of %s after %s", i.Ref(), step.ID)
	if run.Failed {
		p.rec.fail(idApply, i.Role, what+" fails: "+firstError(run))
		return
	}
	quiet := len(run.Changes) == 0 && !run.OutputsChanged
	if i.Role == contract.RoleCluster {
		if quiet {
			p.rec.pass("CP-027", i.Role, what+" is empty")
		}
		p.clusterNoise = !quiet
		return
	}
	if len(run.Changes) == 0 && run.OutputsChanged {
		p.machineNoise = true
		return
	}
	id := "CP-056"
	if p.quiet[i] && !quiet {
		id = "CP-035" // it was quiet before other machines went
	}
	p.rec.add(judgeEmpty(id, i.Role, run, what))
	if p.quiet[i] && quiet && p.deleted > 0 {
		p.rec.pass("CP-035", i.Role, what+" is empty")
	}
	p.quiet[i] = p.quiet[i] || quiet
}

// judgeNoise judges plans that may be noisy for a reason that is said under
// another id (harness.md H4): a cluster plan that is not empty by itself
// either, and a machine plan that only changes an output that is not constant.
func (p *play) judgeNoise() {
	if p.clusterNoise && !p.rec.hasFailed("CP-008") && !p.rec.hasFailed("CP-003") && !p.rec.hasFailed("CP-011") {
		p.rec.fail("CP-027", contract.RoleCluster, "the cluster's plan is not empty once machines have joined the backends")
	}
	if p.machineNoise && !p.rec.hasFailed("CP-040") {
		p.rec.fail("CP-056", contract.RoleMachine, "the plan of a machine with its own inputs changes outputs")
	}
}
