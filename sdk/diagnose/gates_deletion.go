package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// stages of the deletion of a machine, by the reason of its condition Deleting, with what to do.
var stages = map[string]struct {
	action   string
	field    string
	workload []string
	patience time.Duration
}{
	"WaitingForPreDrainHook": {action: "finish what the hook is there for; when it is done, take its annotation off the Machine", field: "metadata.annotations"},
	"DrainingNode": {
		action: "look at the pods that the message names: a PodDisruptionBudget that allows no disruption, or a pod that does not end, holds the drain up; to give up on them, annotate the Machine",
		field:  "status.deletion.nodeDrainStartTime", workload: []string{"get poddisruptionbudgets -A", "get pods -A -o wide"}, patience: 15 * time.Minute,
	},
	"WaitingForVolumeDetach": {
		action: "see why the volumes are not detached: the CSI driver's controller must run in the workload cluster",
		field:  "status.deletion.waitForNodeVolumeDetachStartTime", workload: []string{"get volumeattachments"}, patience: 15 * time.Minute,
	},
	"WaitingForPreTerminateHook": {action: "see what the hook waits for; of a control plane it is removed when its etcd member has left", field: "metadata.annotations"},
	"DeletingNode":               {action: "see whether the workload cluster can be reached"},
}

// skipDrain makes Cluster API delete a machine without draining its Node.
const skipDrain = "machine.cluster.x-k8s.io/exclude-node-draining"

// checkDeletion asks what a deletion waits for.
func checkDeletion(in *inspection, n *node) []*finding {
	deleting, _ := n.condition("Deleting")
	since := n.obj.GetDeletionTimestamp().Time
	f := &finding{
		state: StateWorking, field: "metadata.finalizers", reason: "Deleting", since: since,
		message: "it is deleted and still has " + finalizers(n), on: in.remaining(n),
		action:  "look at the log of the controller whose finalizer it is; do not take the finalizer off by hand: what it guards would stay behind",
		command: in.describe(n),
	}
	if slices.Equal(n.obj.GetFinalizers(), []string{"foregroundDeletion"}) {
		f.message = "it is deleted in the foreground and waits for what it owns"
	}
	if deleting.status == "True" && deleting.said() != "" {
		f.field, f.reason, f.message = deleting.field, deleting.reason, deleting.said()
		f.action = "look at what the message names"
	}
	switch {
	case n.role == roleMachine:
		in.machineDeletion(n, deleting, f)
	case n.ours():
		in.ourDeletion(n, deleting, f)
	case n.role == roleCluster && len(f.on) == 0 && deleting.said() == "":
		f.message = "everything of the Cluster is gone, and it still has " + finalizers(n)
	case slices.Contains(infrastructureRoles, n.role):
		if c, ok := n.telling(); ok && c.failed() {
			g := in.conditionFinding(n, c, StateStuck, "mend what the message says; its provider tries again by itself", in.describe(n)...)
			g.details = []string{"it is deleted and still has " + finalizers(n)}
			return []*finding{g}
		}
	}
	return []*finding{f}
}

func finalizers(n *node) string {
	names := n.obj.GetFinalizers()
	if len(names) == 1 {
		return "the finalizer " + names[0]
	}
	return "the finalizers " + strings.Join(names, ", ")
}

// remaining is what a deleting object waits for: a Cluster for its workers, then its control plane, then its infrastructure;
// others for what they own.
func (in *inspection) remaining(n *node) []*node {
	var out []*node
	for _, c := range n.children {
		if c.obj != nil && c.role != roleClass && c.role != roleHealthCheck && c.role != roleTemplate && c.role != roleIdentity {
			out = append(out, c)
		}
	}
	if n.role == roleInfraCluster && n.ours() {
		for _, m := range in.nodes {
			if m.ours() && m != n {
				out = append(out, m, m.parent)
			}
		}
	}
	return out
}

// machineDeletion adds what the stage of a machine's deletion asks for.
func (in *inspection) machineDeletion(n *node, c condition, f *finding) {
	stage, ok := stages[c.reason]
	if !ok {
		return
	}
	f.action, f.on, f.since = stage.action, nil, c.since
	if stage.field != "" {
		f.field = stage.field
		if t := n.when(strings.Split(stage.field, ".")...); !t.IsZero() {
			f.since = t
		}
	}
	f.patience = stage.patience
	if len(stage.workload) > 0 {
		f.command = in.workload(stage.workload...)
	}
	if c.reason == "DrainingNode" {
		f.command = append(f.command, in.kubectl("annotate", n.ref, skipDrain+"="))
	}
	for _, key := range slices.Sorted(maps.Keys(n.obj.GetAnnotations())) {
		if strings.HasPrefix(key, "pre-drain.delete.hook.machine.cluster.x-k8s.io") && c.reason == "WaitingForPreDrainHook" ||
			strings.HasPrefix(key, "pre-terminate.delete.hook.machine.cluster.x-k8s.io") && c.reason == "WaitingForPreTerminateHook" {
			f.details = append(f.details, "hook: "+key)
			f.command = append(f.command, in.kubectl("annotate", n.ref, key+"-"))
		}
	}
	if c.reason == "WaitingForPreTerminateHook" && n.controlPlane {
		f.on, f.command = []*node{n.parent}, in.describe(n)
	}
}

// ourDeletion adds what holds an object of ours: a policy, its machines, or a destroy that has not succeeded.
func (in *inspection) ourDeletion(n *node, deleting condition, f *finding) {
	said := deleting
	if c, ok := n.condition("DeletionBlocked"); ok && c.status == "True" {
		said, f.field, f.reason, f.message, f.since = c, c.field, c.reason, c.said(), c.since
	}
	for _, t := range catalogue() {
		if row, ok := t.reason(said.status, said.reason); ok && t.Type == said.kind && row.Action != "" {
			f.action = row.Action
		}
	}
	switch {
	case deleting.reason == "DeletionPolicyUnresolved", n.str("spec", "deletionPolicy") == "Retain" || strings.Contains(deleting.message, "deletionPolicy is Retain"):
		f.state, f.field, f.on = StateStuck, "spec.deletionPolicy", nil
		f.action = "decide what becomes of the infrastructure: the message says what to set"
		f.command = []string{in.kubectl("patch", n.ref, "--type=merge", "-p", `'{"spec":{"deletionPolicy":"Destroy"}}'`)}
	default:
		f.on = append(f.on, n.identity)
		if job := n.str("status", "activeJob", "name"); job != "" {
			f.command = append([]string{fmt.Sprintf("%s -f", in.jobLogs(job))}, f.command...)
		}
	}
}
