package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// mirror is a condition of an object of Cluster API that repeats what another says: a wait for that.
func (in *inspection) mirror(n *node, on []*node, kinds ...string) []*finding {
	for _, kind := range kinds {
		c, ok := n.condition(kind)
		if !ok {
			continue
		}
		if c.status == "True" {
			return nil
		}
		f := in.conditionFinding(n, c, StateWorking, "look at what it waits for", in.describe(n)...)
		f.on = on
		return []*finding{f}
	}
	return nil
}

// checkInfrastructure asks whether infrastructure is provisioned, and whether Cluster API has taken note.
func checkInfrastructure(in *inspection, n *node) []*finding {
	if n.obj == nil {
		return nil
	}
	switch n.role {
	case roleCluster:
		infra := n.child(roleInfraCluster)
		if infra == nil && n.child(roleControlPlane) == nil && !n.has("spec", "topology") {
			return []*finding{{
				state: StateStuck, field: "spec.infrastructureRef", reason: "NoReference", message: "the Cluster names neither infrastructure nor control plane",
				action: "set spec.infrastructureRef and spec.controlPlaneRef", command: []string{in.kubectl("edit", n.ref)},
			}}
		}
		if f := in.notTaken(n, infra, "infrastructureProvisioned", "infrastructureReady"); f != nil {
			return []*finding{f}
		}
		return in.mirror(n, []*node{infra}, "InfrastructureReady")
	case roleMachine, roleMachinePool:
		infra := n.child(roleInfraMachine)
		if n.role == roleMachinePool {
			infra = n.child(roleInfraPool)
		}
		if f := in.notTaken(n, n.child(roleBootstrap), "bootstrapDataSecretCreated", "bootstrapReady"); f != nil {
			return []*finding{f}
		}
		if f := in.notTaken(n, infra, "infrastructureProvisioned", "infrastructureReady"); f != nil {
			return []*finding{f}
		}
		return in.mirror(n, []*node{infra, n.child(roleBootstrap)}, "InfrastructureReady")
	}
	if n.ours() {
		if n.provisioned() {
			return nil
		}
		c, _ := n.condition("Ready")
		f := in.conditionFinding(n, c, StateWorking, "look at its conditions", in.describe(n)...)
		f.on = in.needs(n)
		return []*finding{f}
	}
	if !n.provisioned() {
		return []*finding{in.foreign(n, "it is provisioned", in.needs(n))}
	}
	if f := in.terminal(n); f != nil {
		return []*finding{f}
	}
	if c, ok := n.condition("Ready"); ok && c.status != "True" {
		return []*finding{in.foreign(n, "it is ready", nil)}
	}
	return nil
}

// notTaken finds an object that is ready, and that Cluster API has not taken note of.
func (in *inspection) notTaken(n, of *node, initialization, old string) *finding {
	if of == nil || of.obj == nil || of.deleting() || n.isTrue("status", "initialization", initialization) || n.isTrue("status", old) {
		return nil
	}
	if !of.provisioned() && !of.bootstrapped() {
		return nil
	}
	f := &finding{
		state: StateWorking, field: "status.initialization." + initialization, reason: "NotTaken", patience: 5 * time.Minute,
		message: of.ref.String() + " is ready, but Cluster API has not taken note of it",
		action:  "see whether Cluster API's controllers run, and whether " + of.ref.Kind + "'s CustomResourceDefinition has the contract's label",
		command: in.controllers(),
	}
	if c, ok := of.condition("Ready"); ok {
		f.since = c.since
	}
	return f
}

// checkEndpoint asks for an address of the control plane.
func checkEndpoint(in *inspection, n *node) []*finding {
	if found := oursAt(gateEndpoint)(in, n); len(found) > 0 {
		return found
	}
	plane := in.root.child(roleControlPlane)
	if n.obj == nil || !n.provisioned() || plane == nil || plane.str("spec", "controlPlaneEndpoint", "host") != "" ||
		n.str("spec", "controlPlaneEndpoint", "host") != "" || in.root.str("spec", "controlPlaneEndpoint", "host") != "" {
		return nil
	}
	c, _ := n.condition("Ready")
	return []*finding{{
		state: StateWorking, field: "spec.controlPlaneEndpoint", reason: "NoEndpoint", since: c.since,
		message: "the infrastructure is provisioned, but nothing gives the control plane an address: no machine is made without one",
		action:  "set spec.controlPlaneEndpoint of the Cluster, or correct the infrastructure so that it reports one",
		command: []string{in.kubectl("edit", in.root.ref)},
	}}
}

// checkBootstrap asks for the bootstrap data; the Secret itself is never read.
func checkBootstrap(in *inspection, n *node) []*finding {
	if n.obj == nil {
		return nil
	}
	if n.role == roleBootstrap {
		if n.bootstrapped() {
			return nil
		}
		return []*finding{in.foreign(n, "its data is there", in.needs(n))}
	}
	at := []string{"spec", "bootstrap"}
	if n.role == roleMachinePool {
		at = []string{"spec", "template", "spec", "bootstrap"}
	}
	config := n.child(roleBootstrap)
	if config == nil && n.str(append(slices.Clone(at), "dataSecretName")...) == "" {
		return []*finding{{
			state: StateStuck, field: strings.Join(at, "."), reason: "NoBootstrap", message: n.ref.Kind + " names neither a bootstrap config nor a Secret with bootstrap data",
			action: "set " + strings.Join(at, ".") + ".configRef or .dataSecretName", command: []string{in.kubectl("edit", n.ref)},
		}}
	}
	return in.mirror(n, []*node{config}, "BootstrapConfigReady", "BootstrapReady")
}

// components are what a control-plane provider reports about each machine.
var components = []struct{ kind, pod string }{
	{"EtcdMemberHealthy", "etcd"}, {"EtcdPodHealthy", "etcd"}, {"APIServerPodHealthy", "kube-apiserver"},
	{"ControllerManagerPodHealthy", "kube-controller-manager"}, {"SchedulerPodHealthy", "kube-scheduler"},
}

// checkControlPlane asks whether the control plane is up.
func checkControlPlane(in *inspection, n *node) []*finding {
	if n.obj == nil {
		return nil
	}
	switch n.role {
	case roleCluster:
		on := []*node{n.child(roleControlPlane), n.child(roleInfraCluster)}
		for _, c := range n.children {
			if c.role == roleMachine && c.controlPlane {
				on = append(on, c)
			}
		}
		if found := in.mirror(n, on, "ControlPlaneInitialized"); found != nil {
			return found
		}
		return in.mirror(n, on, "ControlPlaneAvailable", "ControlPlaneReady")
	case roleMachine:
		return in.component(n)
	}
	if f := in.terminal(n); f != nil {
		return []*finding{f}
	}
	for _, kind := range []string{"CertificatesAvailable", "MachinesCreated"} {
		if c, ok := n.condition(kind); ok && c.status == "False" && c.failed() {
			return []*finding{in.conditionFinding(n, c, StateStuck, "mend what the message says; the control plane tries again by itself", in.describe(n)...)}
		}
	}
	on := in.needs(n)
	if blocked := in.blocked(n, on, "ScalingUp", "ScalingDown", "RollingOut"); blocked != nil {
		return blocked
	}
	for _, kind := range []string{"Available", "Ready", "EtcdClusterHealthy", "ControlPlaneComponentsHealthy"} {
		c, ok := n.condition(kind)
		if !ok || c.status == "True" {
			continue
		}
		f := in.foreign(n, "it is available", on)
		f.on = on
		if f.state == StateStuck && (strings.Contains(f.field, "Available]") || strings.Contains(f.field, "Healthy]") || strings.Contains(f.field, "Machines")) {
			f.state = StateWorking // it sums up what its machines say
			f.action = "look at its machines and their Nodes"
		}
		return []*finding{f}
	}
	return nil
}

// blocked finds a change of size that its owner says it holds back.
func (in *inspection) blocked(n *node, on []*node, kinds ...string) []*finding {
	for _, kind := range kinds {
		c, ok := n.condition(kind)
		if !ok || c.status != "True" || !strings.Contains(c.message, "blocked because") {
			continue
		}
		f := in.conditionFinding(n, c, StateWorking, "mend what the message names; then it goes on by itself", in.describe(n)...)
		f.on, f.patience = on, 15*time.Minute
		return []*finding{f}
	}
	return nil
}

// component finds a part of the control plane that does not run on a machine.
func (in *inspection) component(n *node) []*finding {
	name := n.str("status", "nodeRef", "name")
	if name == "" {
		return nil
	}
	for _, k := range components {
		c, ok := n.condition(k.kind)
		if !ok || c.status != "False" {
			continue
		}
		f := in.conditionFinding(n, c, StateWorking, fmt.Sprintf("look at the pod %s-%s of the workload cluster", k.pod, name),
			in.workload(fmt.Sprintf("-n kube-system describe pod %s-%s", k.pod, name), fmt.Sprintf("-n kube-system logs %s-%s", k.pod, name))...)
		f.patience = 5 * time.Minute
		if c.reason == "Failed" || c.reason == "NotHealthy" || c.reason == "PodFailed" {
			f.state = StateStuck
		}
		return []*finding{f}
	}
	return nil
}

// checkConnection asks whether Cluster API reaches the workload cluster.
func checkConnection(in *inspection, n *node) []*finding {
	c, ok := n.condition("RemoteConnectionProbe")
	if initialized, _ := n.condition("ControlPlaneInitialized"); !ok || c.status == "True" || initialized.status != "True" {
		return nil
	}
	host, port := n.str("spec", "controlPlaneEndpoint", "host"), int64(443)
	if p, ok := n.number("spec", "controlPlaneEndpoint", "port"); ok {
		port = p
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	f := in.conditionFinding(n, c, StateWorking, fmt.Sprintf("find out why https://%s:%d does not answer from the management cluster: load balancer, firewall, or the API servers behind it", host, port),
		append([]string{fmt.Sprintf("curl -k https://%s:%d/livez", host, port)}, in.workload("get nodes")...)...)
	f.on = []*node{n.child(roleControlPlane), n.child(roleInfraCluster)}
	return []*finding{f}
}

// checkAvailable is the last: the Cluster says that it is not available, and nothing else says why.
func checkAvailable(in *inspection, n *node) []*finding {
	found := in.mirror(n, n.children, "Available", "Ready")
	for _, f := range found {
		f.action = "read the message; nothing else that was looked at explains it"
	}
	return found
}
