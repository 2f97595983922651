package diagnose

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// annotationPaused pauses one object.
const annotationPaused = "cluster.x-k8s.io/paused"

// checkPaused finds what is paused.
func checkPaused(in *inspection, n *node) []*finding {
	if n.obj == nil {
		return nil
	}
	paused, _ := n.condition("Paused")
	if n.role == roleCluster && n.isTrue("spec", "paused") {
		return []*finding{{
			state: StateStuck, field: "spec.paused", reason: "Paused", message: "the Cluster is paused: no controller changes anything of it", since: paused.since,
			action:  "find out who paused it (a move, an upgrade or a repair may be under way); when that is over, resume it",
			command: []string{in.kubectl("patch", n.ref, "--type=merge", "-p", `'{"spec":{"paused":false}}'`)},
		}}
	}
	if n.role == roleMachineDeployment && n.isTrue("spec", "paused") {
		return []*finding{{
			state: StateStuck, field: "spec.paused", reason: "Paused", message: "the MachineDeployment is paused: no change of it is rolled out", since: paused.since,
			action:  "find out who paused it; when that is over, resume it",
			command: []string{in.kubectl("patch", n.ref, "--type=merge", "-p", `'{"spec":{"paused":false}}'`)},
		}}
	}
	if _, ok := n.obj.GetAnnotations()[annotationPaused]; ok {
		return []*finding{{
			state: StateStuck, field: "metadata.annotations[" + annotationPaused + "]", reason: "Paused", message: "the object is paused: its controller leaves it alone", since: paused.since,
			action:  "find out who paused it; when that is over, take the annotation off",
			command: []string{in.kubectl("annotate", n.ref, annotationPaused+"-")},
		}}
	}
	return nil
}

// checkExists finds what is referred to and is not there.
func checkExists(in *inspection, n *node) []*finding {
	if n.absent == "" || n.parent == nil || (n.parent.deleting() && n.absent == absentMissing && n.role != roleIdentity) {
		return nil
	}
	if in.root.deleting() && (n.role == roleTemplate || n.role == roleClass) {
		return nil // nothing is made of them any more
	}
	f := &finding{state: StateStuck, field: n.from + " of " + n.parent.ref.String(), reason: "ObjectDoesNotExist", command: in.describe(n.parent)}
	f.message = fmt.Sprintf("%s refers to %s, which %s", n.parent.ref, n.ref, n.absent)
	switch {
	case n.role == roleJob:
		f.state, f.since, f.message = StateWorking, n.parent.when("status", "activeJob", "startTime"), fmt.Sprintf("Job %s is gone before it was recorded", n.ref.Name)
		f.action = "none while the manager records it; if it lasts, look at the log of captf-controller-manager"
	case n.absent == absentForbidden:
		f.state, f.reason = StateNote, "Forbidden"
		f.action = "ask for the right to list " + n.ref.plural() + "; what they say is missing here"
	case n.absent == absentKind:
		f.reason = "KindNotServed"
		f.action = "install the provider that serves " + n.ref.Kind + "." + n.ref.Group + ", or correct the reference"
		f.command = []string{in.Kubectl + " get crds -o name", in.Kubectl + " get providers -A"}
	case n.parent.age(in.Now) < 2*time.Minute:
		f.state, f.since = StateWorking, n.parent.obj.GetCreationTimestamp().Time
		f.action = "none while it is being made"
	case n.role == roleIdentity:
		f.action = "create it, or correct " + n.from
	case (n.role == roleInfraMachine || n.role == roleBootstrap) && len(n.parent.obj.GetOwnerReferences()) > 0:
		f.action = fmt.Sprintf("delete %s: its owner makes another, with everything that belongs to it", n.parent.ref)
		f.command = []string{in.kubectl("delete", n.parent.ref)}
	default:
		f.action = fmt.Sprintf("create %s, or correct %s", n.ref, f.field)
	}
	return []*finding{f}
}

// checkObserved finds objects that no controller looks after: without a status, or whose newest change was not seen.
func checkObserved(in *inspection, n *node) []*finding {
	if n.obj == nil || n.deleting() {
		return nil
	}
	f := &finding{
		state: StateWorking, reason: "NotObserved", command: in.controllers(),
		action: "see whether the controllers of its provider run, and whether their log says why not",
	}
	if status, _ := n.obj.Object["status"].(map[string]any); len(status) == 0 {
		f.field, f.since, f.message = "status", n.obj.GetCreationTimestamp().Time, "the object has no status: no controller has looked at it since it was made"
		return []*finding{f}
	}
	observed, ok := n.number("status", "observedGeneration")
	changed := n.changed()
	if !ok || observed == 0 || observed >= n.obj.GetGeneration() || changed.IsZero() || in.Now.Sub(changed) < 2*time.Minute {
		return nil
	}
	f.field, f.since = "status.observedGeneration", changed
	f.message = fmt.Sprintf("the spec was changed and no controller has seen it: generation %d, observed %d", n.obj.GetGeneration(), observed)
	return []*finding{f}
}

// changed is when the spec was last written, as far as the API server noted it.
func (n *node) changed() time.Time {
	var last time.Time
	for _, m := range n.obj.GetManagedFields() {
		if m.Subresource == "" && m.Time != nil && m.Time.After(last) {
			last = m.Time.Time
		}
	}
	return last
}

// checkTopology reads the ClusterClass and how the Cluster follows it.
func checkTopology(in *inspection, n *node) []*finding {
	if n.obj == nil {
		return nil
	}
	if n.role == roleClass {
		for _, kind := range []string{"VariablesReady", "VariablesReconciled", "RefVersionsUpToDate"} {
			if c, ok := n.condition(kind); ok && c.status == "False" {
				return []*finding{in.conditionFinding(n, c, StateStuck, "correct the ClusterClass as the message says", in.kubectl("edit", n.ref))}
			}
		}
		return nil
	}
	if !n.has("spec", "topology") {
		return nil
	}
	class := n.child(roleClass)
	c, ok := n.condition("TopologyReconciled")
	if !ok {
		return []*finding{{
			state: StateWorking, field: "status.conditions[TopologyReconciled]", reason: "NotReported", on: []*node{class},
			message: "the topology controller has not looked at the Cluster", since: n.obj.GetCreationTimestamp().Time,
			action:  "see whether Cluster API runs with the feature gate ClusterTopology (CLUSTER_TOPOLOGY=true when it is installed)",
			command: in.controllers(),
		}}
	}
	if c.status == "True" {
		return nil
	}
	f := in.conditionFinding(n, c, StateWorking, "look at what the message names: the topology goes on when that is done", in.kubectl("describe", n.ref))
	switch {
	case strings.Contains(c.reason, "ReconcileFailed"):
		f.state, f.on = StateStuck, []*node{class}
		f.action = "correct what the message names, in spec.topology of the Cluster or in its ClusterClass"
		f.command = []string{in.kubectl("edit", n.ref)}
	case c.reason == "ClusterClassNotReconciled":
		f.on = []*node{class}
	case strings.Contains(c.reason, "HookBlocking"):
		f.action = "look at the runtime extension that the message names: its hook holds the Cluster back"
	case c.reason == "Paused":
		f.on = nil
	default:
		f.on = n.children
	}
	return []*finding{f}
}

// conditionFinding is a finding about a condition.
func (in *inspection) conditionFinding(n *node, c condition, state State, action string, commands ...string) *finding {
	if c.reason == "InternalError" || strings.Contains(strings.ToLower(c.message), "check controller logs") {
		action = "look at the log of the controller of " + n.ref.Kind + " for the error"
		commands = append(in.controllers(), in.describe(n)...)
	}
	return &finding{state: state, field: c.field, reason: c.reason, message: c.said(), since: c.since, action: action, command: commands}
}

// failureWords tell in the reason or message of a condition that something failed, rather than waits; providers say it in
// their own words.
var failureWords = []string{
	"fail", "error", "invalid", "denied", "forbidden", "unauthorized", "notfound", "not found", "does not exist", "exceeded",
	"quota", "unsupported", "conflict", "terminated", "deleted", "unreachable", "insufficient", "cannot", "misconfigured",
}

// failed tells whether a condition that is not True tells of a failure. Deprecated conditions say so; of others the words
// have to be read.
func (c condition) failed() bool {
	switch c.severity {
	case "Error", "Warning":
		return true
	case "Info":
		return false
	}
	if c.status != "False" {
		return false
	}
	said := strings.ToLower(c.reason + " " + c.message)
	if strings.HasPrefix(strings.ToLower(c.message), "waiting") || strings.HasPrefix(c.reason, "Waiting") {
		return false
	}
	for _, w := range failureWords {
		if strings.Contains(said, w) {
			return true
		}
	}
	return false
}

// notAboutReadiness are conditions that say nothing about whether an object gets ready.
var notAboutReadiness = map[string]bool{
	"Paused": true, "Deleting": true, "ScalingUp": true, "ScalingDown": true, "RollingOut": true, "Remediating": true, "Updating": true,
}

// telling chooses the condition that says most about why an object is not ready: one that failed, else the summary if it has
// a message, else any that is not True.
func (n *node) telling() (condition, bool) {
	var summary, other *condition
	for i, c := range n.conditions {
		switch {
		case c.status == "True" || notAboutReadiness[c.kind]:
		case c.kind == "Ready" || c.kind == "Available":
			if summary == nil {
				summary = &n.conditions[i]
			}
		case c.failed():
			return c, true
		case other == nil:
			other = &n.conditions[i]
		}
	}
	switch {
	case summary != nil && (summary.failed() || other == nil || summary.message != ""):
		return *summary, true
	case other != nil:
		return *other, true
	}
	return condition{}, false
}

// terminal reads the failure that the old contract calls terminal.
func (in *inspection) terminal(n *node) *finding {
	for _, path := range [][]string{{"status"}, {"status", "deprecated", "v1beta1"}} {
		message, reason := n.str(append(path, "failureMessage")...), n.str(append(path, "failureReason")...)
		if message == "" && reason == "" {
			continue
		}
		f := &finding{
			state: StateStuck, field: strings.Join(append(path, "failureMessage"), "."), reason: reason, message: cmp.Or(message, reason),
			action: "mend the cause; the provider calls this failure final, so the object has to be replaced", command: in.describe(n),
		}
		if n.parent != nil && n.parent.role == roleMachine && n.parent.obj != nil && len(n.parent.obj.GetOwnerReferences()) > 0 {
			f.command = append(f.command, in.kubectl("delete", n.parent.ref))
		}
		return f
	}
	return nil
}

// foreign judges an object of any provider by its conditions: on is what it may wait for.
func (in *inspection) foreign(n *node, what string, on []*node) *finding {
	if f := in.terminal(n); f != nil {
		return f
	}
	c, ok := n.telling()
	if !ok {
		return &finding{
			state: StateWorking, field: "status.conditions", reason: "NotReported", on: on, message: n.ref.Kind + " says neither that " + what + " nor why not",
			since: n.obj.GetCreationTimestamp().Time, action: "look at the log of its controller", command: append(in.describe(n), in.controllers()...),
		}
	}
	f := in.conditionFinding(n, c, StateWorking, "look at what "+n.ref.Kind+" says about itself, and at the log of its controller", in.kubectl("describe", n.ref))
	f.on = on
	if c.failed() {
		f.state, f.on = StateStuck, nil
		f.action = "mend what the message says; its provider tries again by itself"
	}
	return f
}
