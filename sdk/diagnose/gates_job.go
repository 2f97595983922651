package diagnose

import (
	"cmp"
	"fmt"
	"time"
)

// pending are reasons of waiting containers that do not go away by themselves, with what to do.
var pending = map[string]string{
	"ImagePullBackOff":           "push the image, add a pull secret (spec.jobs), or correct spec.source.image",
	"ErrImagePull":               "push the image, add a pull secret (spec.jobs), or correct spec.source.image",
	"ErrImageNeverPull":          "let the pull policy allow a pull, or bring the image to the node",
	"InvalidImageName":           "correct spec.source.image",
	"CreateContainerConfigError": "make the object that the message names",
	"CreateContainerError":       "look at the node's container runtime",
	"RunContainerError":          "look at the node's container runtime",
	"CrashLoopBackOff":           "read the container's log",
}

// checkJob looks at the Job of an object, its pods and their containers.
func checkJob(in *inspection, n *node) []*finding {
	if n.obj == nil {
		return nil
	}
	switch n.role {
	case roleJob:
		return n.parent.weighed(in.job(n))
	case rolePod:
		return n.parent.parent.weighed(in.pod(n))
	}
	name := n.str("status", "activeJob", "name")
	if !n.ours() || name == "" || background[n.str("status", "activeJob", "operation")] {
		return nil
	}
	job := n.child(roleJob)
	f := &finding{
		state: StateWorking, field: "status.activeJob", reason: "JobRunning", since: n.when("status", "activeJob", "startTime"),
		message: fmt.Sprintf("Job %s runs the module: %s", name, cmp.Or(n.str("status", "activeJob", "operation"), "it")),
		action:  "none, it runs, and its log shows how; if it lasts, look in its log for what it waits for: a lock, a quota, the cloud", command: []string{in.jobLogs(name) + " -f"}, patience: 30 * time.Minute,
	}
	if job != nil {
		f.on = append([]*node{job}, job.children...)
		if seconds, ok := job.number("spec", "activeDeadlineSeconds"); ok {
			f.patience = time.Duration(seconds) * time.Second
		}
	}
	if step := in.step(n); step != "" {
		f.message += ", " + step
	}
	return []*finding{f}
}

// background are operations that only look: that one does not run holds nothing up.
var background = map[string]bool{"refresh": true, "drift": true}

// weighed makes notes of findings about a Job of an object that holds nothing up.
func (n *node) weighed(found []*finding) []*finding {
	operation := cmp.Or(n.str("status", "activeJob", "operation"), n.str("status", "lastRun", "operation"))
	for _, f := range found {
		if background[operation] {
			f.state = StateNote
		}
	}
	return found
}

// step is what a run said last about its steps.
func (in *inspection) step(n *node) string {
	for _, e := range in.events[n.ref.key()] {
		if e.last.Before(n.when("status", "activeJob", "startTime")) {
			return ""
		}
		if e.reason == "StepStarted" {
			return fmt.Sprintf("in step %s for %s", oneLine(e.note), ago(in.Now.Sub(e.last)))
		}
	}
	return ""
}

// job judges a Job that is there.
func (in *inspection) job(n *node) []*finding {
	if n.isTrue("spec", "suspend") {
		c, _ := n.condition("Suspended")
		return []*finding{{
			state: StateWorking, field: "spec.suspend", reason: "Suspended", message: "the Job is suspended: it makes no pod", since: c.since, patience: 5 * time.Minute,
			action:  "none while the provider withdraws the Job; if it lasts, find out what suspended it (a queueing controller?), then resume it",
			command: []string{in.kubectl("patch", n.ref, "--type=merge", "-p", `'{"spec":{"suspend":false}}'`)},
		}}
	}
	if len(n.children) > 0 || jobState(n) != "active" {
		return nil
	}
	f := &finding{
		state: StateWorking, field: "status", reason: "NoPod", since: n.obj.GetCreationTimestamp().Time, patience: 2 * time.Minute,
		message: "the Job has no pod yet", action: "see whether kube-controller-manager runs, and what it says about the Job", command: in.describe(n),
	}
	if e, ok := in.warning(n); ok && e.reason == "FailedCreate" {
		f.state, f.reason, f.message, f.since = StateStuck, e.reason, e.note, time.Time{}
		f.action = "let the namespace take the pod: a quota, a limit range or an admission policy refuses it"
		f.command = append(f.command, fmt.Sprintf("%s -n %s get resourcequotas,limitranges", in.Kubectl, n.ref.Namespace))
	}
	return []*finding{f}
}

// pod judges a pod of a Job.
func (in *inspection) pod(n *node) []*finding {
	for _, c := range n.containers() {
		action, bad := pending[c.waiting]
		switch {
		case bad:
			return []*finding{{
				state: StateStuck, field: "status.containerStatuses[" + c.name + "].state.waiting", reason: c.waiting,
				message: fmt.Sprintf("container %s does not start: %s", c.name, cmp.Or(c.message, c.waiting)), details: []string{"the image is " + c.image},
				action: action, command: in.describe(n), since: n.obj.GetCreationTimestamp().Time,
			}}
		case c.ended == "OOMKilled":
			return []*finding{{
				state: StateStuck, field: "status.containerStatuses[" + c.name + "].state.terminated", reason: c.ended,
				message: fmt.Sprintf("container %s was killed because it needed more memory than its limit", c.name),
				action:  "raise spec.jobs.resources.limits.memory of " + n.parent.parent.ref.String(), command: []string{in.kubectl("edit", n.parent.parent.ref)},
			}}
		}
	}
	if n.str("status", "phase") != "Pending" {
		return nil
	}
	f := &finding{
		state: StateWorking, field: "status.phase", reason: "Pending", since: n.obj.GetCreationTimestamp().Time, patience: 5 * time.Minute,
		message: "the pod does not run yet", action: "see why its node does not start it", command: in.describe(n),
	}
	if c, ok := n.condition("PodScheduled"); ok && c.status == "False" {
		f.field, f.reason, f.message, f.since, f.patience = c.field, c.reason, c.message, c.since, 2*time.Minute
		f.action = "give the management cluster room for the pod, or correct spec.jobs (node selector, tolerations, requests)"
		f.command = append(f.command, in.Kubectl+" describe nodes")
	} else if e, ok := in.warning(n); ok {
		f.reason, f.message, f.action = e.reason, e.note, "mend what the event says"
	}
	return []*finding{f}
}
