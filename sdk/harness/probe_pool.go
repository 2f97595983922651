package harness

import (
	"fmt"

	"github.com/captf-toolkit/captf/contract"
)

// probePool drills the machinepool module: empty, eleven members, new
// bootstrap data and a new version (CP-061 to CP-064, harness.md H14). members
// are those of the story's pool, which no other pool may list.
func (p *play) probePool(pool *Pool, members []string) {
	base := *p.poolInputs(pool)
	base.Object.Name, base.MachinePoolName = p.probeName("pool"), p.probeName("pool")
	rotated := p.cp.Payload(p.w, nil, p.rng.Uint64())
	p.probe("pools of 0 and 11, new bootstrap data, a new version, destroy", contract.RoleMachinePool, func(d *drill) {
		d.poolSizes(base, rotated, members)
	})
	p.probe("a pool with other names, without a version, with a packed payload", contract.RoleMachinePool, func(d *drill) {
		d.poolUnusual(base)
	})
}

// poolUnusual plans a pool with inputs that the story does not have.
func (d *drill) poolUnusual(in contract.PoolInputs) {
	object := d.p.probeName("pool-plan")
	judgeTwins(d, object, in, nil)
	planUnusual(d, object, in, append(unusualNames[contract.PoolInputs](idContract+"captf_object"),
		unusual[contract.PoolInputs]{id: idContract + "kubernetes_version", what: "kubernetes_version null", change: func(in *contract.PoolInputs) { in.KubernetesVersion = nil }},
		unusual[contract.PoolInputs]{id: idContract + "node_labels", what: "node_labels {}", change: func(in *contract.PoolInputs) { in.NodeLabels = map[string]string{} }},
	))
	in.Bootstrap = gzipped(in.Bootstrap)
	d.packed(d.run(OpPlan, object, &in))
}

func (d *drill) poolSizes(in contract.PoolInputs, rotated contract.Bootstrap, others []string) {
	object := in.Object.Name
	var members []string
	for _, size := range []int64{0, 11} {
		sized := in
		sized.Replicas = size
		run := d.run(OpApply, object, &sized)
		if !d.must(run, idApply, fmt.Sprintf("the apply of a pool of %d", size)) {
			return
		}
		out, violations := d.p.cfg.Definition.DecodePool(run.Values)
		if blocking := violations.Blocking(); len(blocking) > 0 {
			d.add(finding{id: requirementOf(blocking[0]), role: d.role, status: StatusFailed, reason: fmt.Sprintf("a pool of %d: %s: %s", size, blocking[0].Path, blocking[0].Message)})
			continue
		}
		if size == 0 {
			d.add(judge(out.Health.State != contract.HealthPending, "CP-064", d.role, "a pool of 0 is pending for ever", "a pool of 0 is "+string(out.Health.State)))
			if state := unwell(out.Health); state != "" && out.Health.State != contract.HealthPending {
				d.add(finding{id: idContract + "health", role: d.role, status: StatusFailed, reason: "the health of a pool of 0 is " + state + "; a group without members is running and healthy"})
			}
		}
		for _, f := range judgePool(out, run) {
			d.add(f)
		}
		switch {
		case out.Replicas == nil: // pending, as the story has seen
		case *out.Replicas != size:
			d.add(finding{id: "CP-063", role: d.role, status: StatusFailed, reason: fmt.Sprintf("a pool of %d reports %d replicas", size, *out.Replicas)})
		case int64(len(out.ProviderIDList)) != size:
			d.add(finding{id: "CP-063", role: d.role, status: StatusFailed, reason: fmt.Sprintf("a pool of %d lists %d members", size, len(out.ProviderIDList))})
		}
		if shared := sharedMember(out.ProviderIDList, others); shared != "" {
			d.add(finding{id: "CP-063", role: d.role, status: StatusFailed, reason: fmt.Sprintf("two pools list the same member %q", shared)})
		}
		if size > 0 && len(run.Changes) == 0 {
			d.add(finding{id: "CP-063", role: d.role, status: StatusFailed, reason: fmt.Sprintf("asking for %d members instead of 0 changes no resource: the group keeps its size whatever the outputs say", size)})
		}
		members = out.ProviderIDList
	}
	in.Replicas = 11
	in.Bootstrap = rotated
	if run := d.run(OpApply, object, &in); d.must(run, "CP-061", "the apply with new bootstrap data") {
		d.add(judgeChanges("CP-061", d.role, run, "the apply with new bootstrap data", ActionDelete, ActionReplace))
		out, _ := d.p.cfg.Definition.DecodePool(run.Values)
		d.add(judge(fmt.Sprint(out.ProviderIDList) == fmt.Sprint(members), "CP-061", d.role, "new bootstrap data changes the members of the pool", "the members stay"))
	}
	upgraded := in
	upgraded.KubernetesVersion = &d.p.cp.NextVersion
	if run := d.run(OpPlan, object, &upgraded); d.must(run, "CP-062", "the plan with a new kubernetes_version") {
		f, known := judgeRoll(run)
		if known && len(run.Changes) > 0 {
			d.add(f)
		}
		d.add(judge(len(run.Changes) > 0, "CP-062", d.role, "a new kubernetes_version changes nothing: the members are never rolled",
			fmt.Sprintf("a new kubernetes_version plans %d changes", len(run.Changes))))
	}
	d.must(d.run(OpDestroy, object, &in), idDestroy, "destroy of a pool")
}
