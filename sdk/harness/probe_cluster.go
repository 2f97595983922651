package harness

import (
	"fmt"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness/balancer"
)

// probeCluster drills the cluster module: every change of inputs in turn on
// one object, and an endpoint given by the user on another.
func (p *play) probeCluster(first contract.ClusterInputs) {
	in := first
	in.Object.Name = p.probeName("cluster")
	neverWell := p.rec.hasFailed("CP-006")
	p.probe("re-apply, initialisation, version and template change, refresh, destroy without machines", contract.RoleCluster, func(d *drill) {
		d.clusterChanges(in, neverWell)
	})
	if p.endpointSource == contract.EndpointSourceUser {
		return
	}
	given := first
	given.Object.Name = p.probeName("endpoint")
	given.ControlPlaneEndpoint = &contract.Endpoint{Host: "api.example.com", Port: 8443}
	p.probe("an endpoint that the user gives", contract.RoleCluster, func(d *drill) { d.clusterEndpoint(given) })
}

// clusterChanges applies one change of inputs after the other and compares
// endpoint and exports (CP-003, CP-008, CP-009, CP-011, CP-024, CP-025).
func (d *drill) clusterChanges(in contract.ClusterInputs, neverWell bool) {
	object := in.Object.Name
	d.clusterUnusual(in)
	run := d.run(OpApply, object, new(in))
	if !d.must(run, idApply, "the first apply of a second cluster") {
		return
	}
	before, _ := d.p.cfg.Definition.DecodeCluster(run.Values)
	d.planEmpty(object, new(in), "before initialisation")

	initialized := in
	initialized.ControlPlaneInitialized = true
	upgraded := initialized
	upgraded.KubernetesVersion = &d.p.cp.NextVersion
	renamed := upgraded
	renamed.Template = in.Template + "-2"
	for _, step := range []struct {
		what string
		in   contract.ClusterInputs
	}{
		{"turning control_plane_initialized true", initialized},
		{"changing kubernetes_version", upgraded},
		{"changing the tag captf.io/template", renamed},
	} {
		run := d.run(OpApply, object, new(step.in))
		if !d.must(run, idApply, "the apply after "+step.what) {
			break
		}
		if step.in == initialized {
			d.add(judgeChanges("CP-009", d.role, run, "the apply after "+step.what, ActionDelete, ActionReplace))
		}
		d.compare(before, run, step.what)
		if step.in == initialized {
			d.planEmpty(object, new(step.in), "after initialisation")
		}
	}
	if run := d.run(OpRefresh, object, new(renamed)); d.must(run, idApply, "the refresh") {
		d.compare(before, run, "a refresh")
		out, _ := d.p.cfg.Definition.DecodeCluster(run.Values)
		if neverWell {
			d.skip("health is not well from the start, as said under CP-006", "CP-024")
		} else {
			d.judgeAlive(out)
		}
	}
	d.settleOutputs()
	d.ok(d.run(OpDestroy, object, new(renamed)), "CP-025", "destroy of a cluster that never had a machine")
}

// judgeAlive judges the health of a cluster without any backend (CP-024).
func (d *drill) judgeAlive(out *contract.ClusterOutputs) {
	alive := out.Health.State != contract.HealthTerminated && out.Health.State != contract.HealthPending
	d.add(judge(alive, "CP-024", d.role, fmt.Sprintf("health is %s without any backend", out.Health.State), fmt.Sprintf("health is %s without any backend", out.Health.State)))
}

// clusterUnusual plans with names that the story does not have, and with the
// inputs that a Cluster without a topology, or without network settings, leaves
// null (contract.md 9.1).
func (d *drill) clusterUnusual(in contract.ClusterInputs) {
	object := d.p.probeName("unusual")
	judgeTwins(d, object, in, nil)
	planUnusual(d, object, in, append(unusualNames[contract.ClusterInputs](idContract+"captf_object"),
		unusual[contract.ClusterInputs]{id: idContract + "kubernetes_version", what: "kubernetes_version null", change: func(in *contract.ClusterInputs) { in.KubernetesVersion = nil }},
		unusual[contract.ClusterInputs]{id: idContract + "cluster_network", what: "cluster_network null", change: func(in *contract.ClusterInputs) { in.ClusterNetwork = nil }},
	))
}

// planEmpty judges that a plan with unchanged inputs is empty (CP-008). A plan
// that only changes outputs because an endpoint or an export changes by itself
// is blamed on those (harness.md H4).
func (d *drill) planEmpty(object string, in contract.Inputs, when string) {
	run := d.run(OpPlan, object, in)
	if !d.must(run, idApply, "the plan "+when) {
		return
	}
	if len(run.Changes) > 0 || !run.OutputsChanged {
		d.add(judgeEmpty("CP-008", d.role, run, "the second plan "+when))
		return
	}
	d.outputsMove = true
}

// compare compares endpoint and exports with those of the first apply.
func (d *drill) compare(before *contract.ClusterOutputs, run *Run, what string) {
	after, violations := d.p.cfg.Definition.DecodeCluster(run.Values)
	if len(violations.Blocking()) > 0 {
		d.add(finding{id: requirementOf(violations.Blocking()[0]), role: d.role, status: StatusFailed, reason: what + ": " + violations.Blocking()[0].Message})
		return
	}
	endpoint, exports := judgeEndpoint(before.ControlPlaneEndpoint, after.ControlPlaneEndpoint, what), judgeExports(before.Exports, after.Exports, what)
	d.add(endpoint)
	d.add(exports)
	d.add(judgeDomainNames(before.FailureDomains, after.FailureDomains, what))
	d.moved = d.moved || endpoint.status == StatusFailed || exports.status == StatusFailed
}

// settleOutputs blames a plan that only changes outputs.
func (d *drill) settleOutputs() {
	switch {
	case !d.outputsMove:
	case d.moved:
		d.skip("outputs change by themselves, as said under CP-003 or CP-011", "CP-008")
	default:
		d.add(finding{id: "CP-008", role: d.role, status: StatusFailed, reason: "the second plan changes outputs although no input changed"})
	}
}

// clusterEndpoint applies with an endpoint that the user gives (CP-002).
func (d *drill) clusterEndpoint(in contract.ClusterInputs) {
	object := in.Object.Name
	run := d.run(OpApply, object, &in)
	if run == nil {
		return
	}
	if run.Failed {
		d.add(finding{id: "CP-002", role: d.role, status: StatusFailed, reason: "the apply with control_plane_endpoint given fails: " + firstError(run)})
		d.must(d.run(OpDestroy, object, &in), "CP-025", "destroy after it")
		return
	}
	out, violations := d.p.cfg.Definition.DecodeCluster(run.Values)
	if blocking := violations.Blocking(); len(blocking) > 0 {
		d.add(finding{id: "CP-002", role: d.role, status: StatusFailed, reason: "with control_plane_endpoint given the outputs are invalid: " + blocking[0].Message})
	} else {
		d.add(judgeEcho(in.ControlPlaneEndpoint, out.ControlPlaneEndpoint))
	}
	for _, r := range run.Resources {
		if balancer.MakesEndpoint(r.Type) {
			d.add(finding{id: "CP-002", role: d.role, status: StatusFailed, reason: "a load balancer is created although control_plane_endpoint is given: " + r.Address})
		}
	}
	d.ok(d.run(OpDestroy, object, &in), "CP-025", "destroy of a cluster with a given endpoint")
}
