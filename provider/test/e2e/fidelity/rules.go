package fidelity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/compare"
)

// Pattern is a kind of event, of all objects of some kinds.
type Pattern struct {
	Kinds []string
	Type  harness.EventType
	// Op is the kind of run; "" is any.
	Op harness.Op
}

func (p Pattern) matches(e compare.Event) bool {
	return slices.Contains(p.Kinds, e.Kind) && p.Type == e.Type && (p.Op == "" || p.Op == e.Op)
}

func on(t harness.EventType, kinds ...string) Pattern { return Pattern{Kinds: kinds, Type: t} }

func ended(op harness.Op, kinds ...string) Pattern {
	return Pattern{Kinds: kinds, Type: harness.EventRunEnded, Op: op}
}

// order is how the events of a rule belong together.
type order int

const (
	// once: before any Then there is a First.
	once order = iota
	// counted: at no time are there more of Then than of First, and Slack.
	counted
	// emptied: whenever Then happens, there are as many of First as of Base: all that were there are gone.
	emptied
	// apart: whenever Then happens, as many of Base began as of First ended.
	apart
)

// Rule is a gate between objects: an order that their events have in a played life as in a real one.
type Rule struct {
	// IDs are the gates, operations and stages of the harness that make the order.
	IDs []string
	// Source is the row of control-planes.md or contract.md, Requirement the requirement that the row is behind; "" for none.
	Source, Requirement string
	// Text says what the rule is.
	Text string

	order       order
	then, first Pattern
	// base is what first is compared with.
	base  Pattern
	slack int
	// until ends the rule.
	until Pattern
}

var (
	machines    = []string{controlPlaneMachine, workerMachine}
	descendants = []string{workerMachine, pool}
	infras      = []string{controlPlaneInfra, workerInfra, terraformPool}
	deleted     = on(harness.EventDeleted, controlPlane)
)

// Rules are the gates that can be seen between objects, whatever is asked for.
func Rules() []Rule {
	return []Rule{
		{
			IDs: []string{"kcp/infrastructure-provisioned", "init"}, Source: "control-planes.md 2.1 #4", Requirement: "CP-006",
			Text:  "no control-plane Machine before the Cluster's infrastructure is provisioned",
			order: once, then: on(harness.EventCreated, controlPlaneMachine), first: on(harness.EventProvisioned, cluster),
		},
		{
			IDs: []string{"kcp/endpoint-valid"}, Source: "control-planes.md 2.1 #6", Requirement: "CP-001",
			Text:  "no control-plane Machine before the Cluster has an endpoint",
			order: once, then: on(harness.EventCreated, controlPlaneMachine), first: on(harness.EventEndpointCopied, cluster),
		},
		{
			IDs: []string{"kcp/machines-have-nodes", "scale-up"}, Source: "control-planes.md 2.3", Requirement: "CP-040",
			Text:  "a control-plane Machine comes when those before it have Nodes",
			order: counted, then: on(harness.EventCreated, controlPlaneMachine), first: on(harness.EventNodeRef, controlPlaneMachine), slack: 1,
		},
		{
			IDs: []string{"kcp/no-machine-deleting", "rollout-delete"}, Source: "control-planes.md 2.3",
			Text:  "no control-plane Machine comes while another is being deleted",
			order: apart, then: on(harness.EventCreated, controlPlaneMachine), base: on(harness.EventDeleted, controlPlaneMachine), first: on(harness.EventGone, controlPlaneMachine),
		},
		{
			IDs: []string{"kcp/no-machine-deleting"}, Source: "control-planes.md 2.5 #4",
			Text:  "control-plane Machines are deleted one at a time, until the control plane goes",
			order: counted, then: on(harness.EventDeleted, controlPlaneMachine), first: on(harness.EventGone, controlPlaneMachine), slack: 1, until: deleted,
		},
		{
			IDs: []string{"kcp/initialized"}, Source: "control-planes.md 2.7", Requirement: "CP-021",
			Text:  "the control plane is initialised by its first machine, whose node may be there before the run has ended",
			order: once, then: on(harness.EventInitialized, controlPlane), first: on(harness.EventRunStarted, controlPlaneInfra),
		},
		{
			IDs: []string{"kcp/initialized"}, Source: "control-planes.md 2.7",
			Text:  "the Cluster's control plane is initialised after the control plane says so",
			order: counted, then: on(harness.EventInitialized, cluster), first: on(harness.EventInitialized, controlPlane),
		},
		{
			IDs: []string{"cabpk/infrastructure-provisioned"}, Source: "control-planes.md 2.10",
			Text:  "no bootstrap data before the Cluster's infrastructure is provisioned",
			order: once, then: on(harness.EventBootstrapData, append(machines, pool)...), first: on(harness.EventProvisioned, cluster),
		},
		{
			IDs: []string{"cabpk/control-plane-initialized"}, Source: "control-planes.md 2.10",
			Text:  "workers and pools get bootstrap data when the control plane is initialised",
			order: once, then: on(harness.EventBootstrapData, descendants...), first: on(harness.EventInitialized, cluster),
		},
		{
			IDs: []string{"capi/machineset-preflight"}, Source: "control-planes.md 7",
			Text:  "workers' Machines come when the control plane has a first Machine",
			order: once, then: on(harness.EventCreated, workerMachine), first: on(harness.EventCreated, controlPlaneMachine),
		},
		{
			IDs: []string{"capi/workload-reachable", "capi/node-ref"}, Source: "control-planes.md 2.7", Requirement: "CP-021",
			Text:  "no Node is found before the first control-plane machine is applied",
			order: once, then: on(harness.EventNodeRef, append(machines, pool)...), first: ended(harness.OpApply, controlPlaneInfra),
		},
		{
			IDs: []string{"capi/machine-infrastructure"}, Source: "control-planes.md 1.1 #6.5",
			Text:  "a control-plane Machine is provisioned after its TerraformMachine",
			order: counted, then: on(harness.EventProvisioned, controlPlaneMachine), first: on(harness.EventProvisioned, controlPlaneInfra),
		},
		{
			IDs: []string{"capi/machine-infrastructure"}, Source: "control-planes.md 1.1 #6.5",
			Text:  "a worker's Machine is provisioned after its TerraformMachine",
			order: counted, then: on(harness.EventProvisioned, workerMachine), first: on(harness.EventProvisioned, workerInfra),
		},
		{
			IDs: []string{"capi/machinepool-nodes"}, Source: "contract.md 11.2", Requirement: "CP-063",
			Text:  "a pool's Nodes are found after its TerraformMachinePool is provisioned",
			order: once, then: on(harness.EventNodeRef, pool), first: on(harness.EventProvisioned, terraformPool),
		},
		{
			IDs: []string{"capi/descendants-gone", "kcp/others-gone"}, Source: "control-planes.md 2.9", Requirement: "CP-025",
			Text:  "the control plane is deleted when workers and pools are gone",
			order: emptied, then: deleted, first: on(harness.EventGone, descendants...), base: on(harness.EventCreated, descendants...),
		},
		{
			IDs: []string{"capi/control-plane-gone"}, Source: "control-planes.md 2.9", Requirement: "CP-025",
			Text:  "the TerraformCluster is deleted when the control plane's Machines are gone",
			order: emptied, then: on(harness.EventDeleted, terraformCluster), first: on(harness.EventGone, controlPlaneMachine), base: on(harness.EventCreated, controlPlaneMachine),
		},
		{
			IDs: []string{"capi/control-plane-gone"}, Source: "control-planes.md 2.9",
			Text:  "the TerraformCluster is deleted when the control plane is gone",
			order: once, then: on(harness.EventDeleted, terraformCluster), first: on(harness.EventGone, controlPlane),
		},
		{
			IDs: []string{"captf/cluster-provisioned"}, Source: "contract.md 9.4", Requirement: "CP-006",
			Text:  "the Cluster's infrastructure is provisioned after its TerraformCluster",
			order: once, then: on(harness.EventProvisioned, cluster), first: on(harness.EventProvisioned, terraformCluster),
		},
		{
			IDs: []string{"captf/cluster-operation"}, Source: "contract.md 14.5",
			Text:  "no run of a machine or pool starts during one of the cluster",
			order: apart, then: on(harness.EventRunStarted, infras...), base: on(harness.EventRunStarted, terraformCluster), first: on(harness.EventRunEnded, terraformCluster),
		},
		{
			IDs: []string{"captf/machine-operations"}, Source: "contract.md 14.5",
			Text:  "no run of the cluster starts during one of a machine or pool",
			order: apart, then: on(harness.EventRunStarted, terraformCluster), base: on(harness.EventRunStarted, infras...), first: on(harness.EventRunEnded, infras...),
		},
		{
			IDs: []string{"captf/cluster-infrastructure"}, Source: "contract.md 10.4 #3",
			Text:  "no machine or pool is applied before the Cluster's infrastructure is provisioned",
			order: once, then: on(harness.EventRunStarted, infras...), first: on(harness.EventProvisioned, cluster),
		},
		{
			IDs: []string{"captf/bootstrap-data"}, Source: "contract.md 10.4 #5",
			Text:  "a worker is applied when it has bootstrap data",
			order: counted, then: ended(harness.OpApply, workerInfra), first: on(harness.EventBootstrapData, workerMachine),
		},
		{
			IDs: []string{"captf/bootstrap-data"}, Source: "contract.md 10.4 #5",
			Text:  "a control-plane machine is applied when it has bootstrap data",
			order: counted, then: ended(harness.OpApply, controlPlaneInfra), first: on(harness.EventBootstrapData, controlPlaneMachine),
		},
		{
			IDs: []string{"captf/deletion-blocked"}, Source: "contract.md 1", Requirement: "CP-025",
			Text:  "the cluster is destroyed when the infrastructure of all machines and pools is gone",
			order: emptied, then: ended(harness.OpDestroy, terraformCluster), first: on(harness.EventGone, infras...), base: on(harness.EventProvisioned, infras...),
		},
	}
}

// Rollouts are the rules for rollouts of control planes of a size, from the beginning of the life to its end.
func Rollouts(size, surge int) []Rule {
	rule := Rule{
		IDs: []string{"rollout-create", "rollout-delete"}, Source: "control-planes.md 2.4", Requirement: "CP-035",
		order: counted, until: deleted,
	}
	rule.Text = fmt.Sprintf("with a surge of %d there are up to %d control-plane Machines", surge, size+surge)
	rule.then, rule.first, rule.slack = on(harness.EventCreated, controlPlaneMachine), on(harness.EventGone, controlPlaneMachine), size+surge
	if surge == 0 {
		return []Rule{rule}
	}
	before := rule
	before.Text = fmt.Sprintf("with a surge of %d the new control-plane Machine has a Node before the old one is deleted", surge)
	before.then, before.first, before.slack = on(harness.EventDeleted, controlPlaneMachine), on(harness.EventNodeRef, controlPlaneMachine), -size
	return []Rule{rule, before}
}

// Verdict is what a life says of a rule.
type Verdict struct {
	// Met is how often the rule was put to the test.
	Met int
	// Broken is the first event against the rule; nil when there is none.
	Broken *compare.Event
}

// Holds tells whether a life keeps the rule.
func (r Rule) Holds(life compare.Trace) Verdict {
	var v Verdict
	then, first, base := 0, 0, 0
	for _, e := range life {
		if r.until.Type != "" && r.until.matches(e) {
			return v
		}
		if r.then.matches(e) {
			then++
			v.Met++
			if !r.order.holds(then, first, base, r.slack) && v.Broken == nil {
				v.Broken = &e
			}
		}
		if r.first.matches(e) {
			first++
		}
		if r.base.matches(e) {
			base++
		}
	}
	return v
}

func (o order) holds(then, first, base, slack int) bool {
	switch o {
	case once:
		return first > 0
	case counted:
		return then <= first+slack
	case emptied, apart:
		return first == base
	}
	return false
}

func (r Rule) String() string {
	return strings.TrimRight(fmt.Sprintf("%s (%s; %s %s", r.Text, strings.Join(r.IDs, ", "), r.Source, r.Requirement), " ") + ")"
}
