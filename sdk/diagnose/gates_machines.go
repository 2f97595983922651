package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// checkNode asks whether a machine has become a healthy Node.
func checkNode(in *inspection, n *node) []*finding {
	if n.obj == nil {
		return nil
	}
	if f := in.terminal(n); f != nil {
		return []*finding{f}
	}
	infra := n.child(roleInfraMachine)
	if n.str("status", "nodeRef", "name") == "" {
		return in.notJoined(n, infra)
	}
	for _, kind := range []string{"NodeReady", "NodeHealthy"} {
		c, ok := n.condition(kind)
		if !ok || c.status == "True" {
			continue
		}
		node := n.str("status", "nodeRef", "name")
		f := in.conditionFinding(n, c, StateWorking, "look at the Node and at the kubelet's log on the machine", in.workload("describe node "+node)...)
		f.on = append(in.guards(n), infra)
		said := strings.ToLower(c.message)
		switch {
		case strings.Contains(said, "cni") || strings.Contains(said, "network plugin") || strings.Contains(said, "networkpluginnotready"):
			f.state, f.action = StateStuck, "install a network plugin (CNI) in the workload cluster: none runs on the Node"
			f.command = in.workload("-n kube-system get pods -o wide", "describe node "+node)
		case c.reason == "NodeDeleted" || strings.Contains(said, "has been deleted"):
			f.state, f.action, f.command = StateStuck, "find out who deleted the Node; delete the Machine, so that its owner makes another", []string{in.kubectl("delete", n.ref)}
		case n.replaced():
			f.action = "none while its owner replaces it; if it lasts, look at the owner's condition Remediating, or delete the Machine"
			f.command = append([]string{in.kubectl("describe", n.parent.ref)}, f.command...)
		case c.reason == "ConnectionDown" || c.reason == "InspectionFailed":
			f.on = append(f.on, in.root)
			f.action = "look at the connection to the workload cluster first"
		}
		return []*finding{f}
	}
	return nil
}

// replaced tells that a health check has found the machine and that its owner is to replace it.
func (n *node) replaced() bool {
	c, ok := n.condition("OwnerRemediated")
	return ok && c.status == "False" && !c.failed()
}

// notJoined is a machine whose infrastructure is there and that no Node stands for.
func (in *inspection) notJoined(n, infra *node) []*finding {
	if infra == nil || infra.obj == nil || !infra.provisioned() {
		return nil
	}
	id := n.str("spec", "providerID")
	reported := infra.str("spec", "providerID")
	since := time.Time{}
	for _, c := range []string{"InfrastructureReady", "NodeHealthy", "NodeReady"} {
		if c, ok := n.condition(c); ok && c.since.After(since) {
			since = c.since
		}
	}
	if id == "" && reported == "" {
		return []*finding{{
			node: infra, state: StateWorking, field: "spec.providerID", reason: "NoProviderID", since: since, patience: 5 * time.Minute,
			message: infra.ref.Kind + " is provisioned but tells no providerID: no Node can be recognised as its",
			action:  "let the infrastructure report spec.providerID", command: in.describe(infra),
		}}
	}
	if id == "" {
		id = reported
	}
	address := "the machine's console"
	for _, a := range n.list("status", "addresses") {
		if t := text(a["address"]); t != "" {
			address = "the console of " + t
			break
		}
	}
	endpoint := "the control plane's endpoint"
	if host := in.root.str("spec", "controlPlaneEndpoint", "host"); host != "" {
		endpoint = host
	}
	f := &finding{
		state: StateWorking, field: "status.nodeRef", reason: "NodeDoesNotExist", since: since, on: in.guards(n),
		message: "the machine runs, but no Node with the providerID " + id + " has joined",
		action: fmt.Sprintf("look at %s (cloud-init writes /var/log/cloud-init-output.log): does it reach %s, and does the kubelet start? If the Node is there, its spec.providerID must be %s",
			address, endpoint, id),
		command: in.workload("get nodes -o custom-columns=NAME:.metadata.name,PROVIDERID:.spec.providerID"),
	}
	if initialized, _ := in.root.condition("ControlPlaneInitialized"); n.controlPlane && initialized.status != "True" {
		f.action = fmt.Sprintf("look at %s (cloud-init writes /var/log/cloud-init-output.log): the first control-plane machine must start its API server, reachable as %s", address, endpoint)
		f.command = in.describe(infra)
	}
	return []*finding{f}
}

// guards are the health checks that watch over a machine.
func (in *inspection) guards(machine *node) []*node {
	var out []*node
	for _, n := range in.nodes {
		if n.role != roleHealthCheck {
			continue
		}
		if targets, ok := nested(n.obj.Object, "status", "targets").([]any); ok && slices.Contains(targets, any(machine.ref.Name)) {
			out = append(out, n)
		}
	}
	return out
}

// checkRemediation asks whether what is broken gets replaced.
func checkRemediation(in *inspection, n *node) []*finding {
	if n.role == roleHealthCheck {
		c, ok := n.condition("RemediationAllowed")
		if !ok || c.status != "False" {
			return nil
		}
		healthy, _ := n.number("status", "currentHealthy")
		expected, _ := n.number("status", "expectedMachines")
		f := in.conditionFinding(n, c, StateStuck, fmt.Sprintf(
			"only %d of its %d machines are healthy, so it replaces none: look for one cause of all (network, cloud, image); mend it, or delete machines by hand, or raise the limit of the health check", healthy, expected),
			in.kubectl("describe", n.ref))
		for _, m := range in.nodes {
			if health, _ := m.condition("HealthCheckSucceeded"); m.role == roleMachine && health.status == "False" {
				f.details = append(f.details, "unhealthy: "+m.ref.String()+": "+oneLine(health.said()))
				f.command = append(f.command, in.kubectl("describe", m.ref))
			}
		}
		return []*finding{f}
	}
	health, unhealthy := n.condition("HealthCheckSucceeded")
	if !unhealthy || health.status != "False" {
		return nil
	}
	c, ok := n.condition("OwnerRemediated")
	if !ok || c.status != "False" {
		f := in.conditionFinding(n, health, StateWorking, "none while the health check replaces it; if it lasts, delete it", in.kubectl("delete", n.ref))
		f.on = in.guards(n)
		return []*finding{f}
	}
	f := in.conditionFinding(n, c, StateWorking, "none while its owner replaces it", in.describe(n)...)
	f.on, f.details = in.guards(n), []string{"unhealthy: " + oneLine(health.said())}
	if c.reason == "CannotBeRemediated" || c.reason == "RemediationFailed" || c.failed() {
		f.state, f.action = StateStuck, "its owner refuses to replace it, for the reason in the message; mend that, or delete the Machine when you know that it is safe"
		f.command = append(f.command, in.kubectl("delete", n.ref))
	}
	return []*finding{f}
}

// checkWorkers asks whether workers are there.
func checkWorkers(in *inspection, n *node) []*finding {
	if n.obj == nil {
		return nil
	}
	if n.role == roleCluster {
		var on []*node
		for _, c := range n.children {
			if c.role == roleMachineDeployment || c.role == roleMachineSet || c.role == roleMachinePool || (c.role == roleMachine && !c.controlPlane) {
				on = append(on, c)
			}
		}
		return in.mirror(n, on, "WorkersAvailable")
	}
	on := in.needs(n)
	if f := in.terminal(n); f != nil && n.role != roleMachineDeployment {
		return []*finding{f}
	}
	if c, ok := n.condition("MachinesCreated"); ok && c.status == "False" && c.failed() {
		f := in.conditionFinding(n, c, StateStuck, "mend what the message says; then the machines are made", in.describe(n)...)
		f.on = on
		return []*finding{f}
	}
	if blocked := in.blocked(n, on, "ScalingUp", "ScalingDown"); blocked != nil {
		return blocked
	}
	want, ok := n.number("spec", "replicas")
	field := "availableReplicas"
	if n.role == roleMachinePool && !n.has("status", field) {
		field = "readyReplicas"
	}
	have, _ := n.number("status", field)
	if !ok || have >= want {
		return nil
	}
	f := &finding{
		state: StateWorking, field: "status." + field, reason: "NotAvailable", on: on,
		message: fmt.Sprintf("%d of %d machines are available", have, want),
		action:  "look at its machines", command: in.describe(n),
	}
	if n.role == roleMachinePool {
		f.action = "look at the Nodes of the workload cluster: each instance of the pool must join with its own providerID"
		f.command = append(f.command, in.workload("get nodes -o custom-columns=NAME:.metadata.name,PROVIDERID:.spec.providerID")...)
	}
	for _, kind := range []string{"Available", "ReplicasReady", "MachinesReady", "Ready"} {
		if c, ok := n.condition(kind); ok && c.status != "True" {
			f.field, f.since = c.field, c.since
			if c.message != "" {
				f.message += ": " + oneLine(c.message)
			}
			break
		}
	}
	return []*finding{f}
}

// checkRollout finds changes that are under way.
func checkRollout(in *inspection, n *node) []*finding {
	if n.obj == nil {
		return nil
	}
	if found := oursAt(gateRollout)(in, n); len(found) > 0 {
		return found
	}
	for _, kind := range []string{"RollingOut", "ScalingUp", "ScalingDown", "Remediating"} {
		if c, ok := n.condition(kind); ok && c.status == "True" {
			f := in.conditionFinding(n, c, StateWorking, "none while its machines come and go; if no machine does, look at the log of its controller", in.describe(n)...)
			f.on = in.needs(n)
			return []*finding{f}
		}
	}
	for _, kind := range []string{"MachinesUpToDate", "MachinesSpecUpToDate"} {
		if c, ok := n.condition(kind); ok && c.status == "False" {
			f := in.conditionFinding(n, c, StateWorking, "none while they are replaced; with a strategy OnDelete, delete the machines that are not up to date", in.describe(n)...)
			f.on = in.needs(n)
			return []*finding{f}
		}
	}
	return nil
}
