package diagnose

import (
	"slices"
	"time"
)

// Gate is something that has to be so before a cluster goes on.
type Gate struct {
	// ID names it in output.
	ID string
	// Title says what has to be so.
	Title string
	// Patience is how long an object may wait at it before that counts as stuck; 0 is for ever, or it is never waited at.
	Patience time.Duration

	// roles are those of the objects that pass it; nil is all.
	roles []role
	// deletion gates are passed by what is being deleted, always gates by everything, others by what is not.
	deletion, always bool
	// first gates outrank everything: nothing else matters until they are open.
	first bool
	check func(*inspection, *node) []*finding
}

// ids of the gates.
const (
	gatePaused         = "paused"
	gateObserved       = "observed"
	gateExists         = "exists"
	gateTopology       = "topology"
	gateInputs         = "inputs"
	gateCredentials    = "credentials"
	gateState          = "state"
	gateJob            = "job"
	gateModule         = "module"
	gateOutputs        = "outputs"
	gateHealth         = "health"
	gateInfrastructure = "infrastructure"
	gateEndpoint       = "endpoint"
	gateBootstrap      = "bootstrap"
	gateControlPlane   = "control-plane"
	gateNode           = "node"
	gateConnection     = "connection"
	gateWorkers        = "workers"
	gateRemediation    = "remediation"
	gateRollout        = "rollout"
	gateDeletion       = "deletion"
	gateUpkeep         = "upkeep"
	gateAvailable      = "available"
)

var (
	infrastructureRoles = []role{roleInfraCluster, roleInfraMachine, roleInfraPool}
	moduleRoles         = slices.Concat(infrastructureRoles, []role{roleTemplate, roleIdentity})
	reconciledRoles     = slices.Concat(infrastructureRoles, []role{roleCluster, roleControlPlane, roleMachine, roleBootstrap, roleMachineDeployment, roleMachineSet, roleMachinePool})
)

// gates are in the order in which a cluster meets them. init fills it, because checks use it.
var gates []Gate

func init() {
	gates = []Gate{
		{ID: gatePaused, Title: "nothing is paused", roles: reconciledRoles, always: true, first: true, check: checkPaused},
		{ID: gateExists, Title: "everything that is referred to exists", check: checkExists, always: true, Patience: 2 * time.Minute},
		{ID: gateObserved, Title: "a controller looks after the object", Patience: 2 * time.Minute, roles: reconciledRoles, always: true, check: checkObserved},
		{ID: gateTopology, Title: "the ClusterClass can be turned into objects", Patience: 15 * time.Minute, roles: []role{roleCluster, roleClass}, check: checkTopology},
		{ID: gateInputs, Title: "the inputs of the module are there", Patience: 15 * time.Minute, roles: moduleRoles, check: oursAt(gateInputs)},
		{ID: gateCredentials, Title: "the module may use its credentials", Patience: 5 * time.Minute, roles: moduleRoles, always: true, check: oursAt(gateCredentials)},
		{ID: gateState, Title: "the state can be read and is not locked", Patience: 5 * time.Minute, roles: moduleRoles, always: true, check: oursAt(gateState)},
		{ID: gateJob, Title: "the Job's pod runs", Patience: 30 * time.Minute, roles: []role{roleInfraCluster, roleInfraMachine, roleInfraPool, roleJob, rolePod}, always: true, check: checkJob},
		{ID: gateModule, Title: "the module's run succeeds", Patience: 30 * time.Minute, roles: moduleRoles, always: true, check: oursAt(gateModule)},
		{ID: gateOutputs, Title: "the module's outputs keep the contract", Patience: 15 * time.Minute, roles: moduleRoles, check: oursAt(gateOutputs)},
		{ID: gateHealth, Title: "the infrastructure is healthy", Patience: 15 * time.Minute, roles: moduleRoles, check: oursAt(gateHealth)},
		{ID: gateInfrastructure, Title: "the infrastructure is provisioned", Patience: 20 * time.Minute,
			roles: slices.Concat(infrastructureRoles, []role{roleCluster, roleMachine, roleMachinePool}), check: checkInfrastructure},
		{ID: gateEndpoint, Title: "the control plane has an endpoint", Patience: 5 * time.Minute, roles: []role{roleInfraCluster}, check: checkEndpoint},
		{ID: gateBootstrap, Title: "the bootstrap data is there", Patience: 10 * time.Minute, roles: []role{roleBootstrap, roleMachine, roleMachinePool}, check: checkBootstrap},
		{ID: gateControlPlane, Title: "the control plane is up", Patience: 20 * time.Minute, roles: []role{roleCluster, roleControlPlane, roleMachine}, check: checkControlPlane},
		{ID: gateNode, Title: "the machine's Node has joined and is healthy", Patience: 15 * time.Minute, roles: []role{roleMachine}, check: checkNode},
		{ID: gateConnection, Title: "the workload cluster can be reached", Patience: 5 * time.Minute, roles: []role{roleCluster}, check: checkConnection},
		{ID: gateWorkers, Title: "the workers are there", Patience: 20 * time.Minute, roles: []role{roleCluster, roleMachineDeployment, roleMachineSet, roleMachinePool}, check: checkWorkers},
		{ID: gateRemediation, Title: "what is broken may be replaced", Patience: 15 * time.Minute, roles: []role{roleMachine, roleHealthCheck}, check: checkRemediation},
		{ID: gateRollout, Title: "changes are rolled out", Patience: 30 * time.Minute, roles: []role{roleInfraCluster, roleInfraPool, roleControlPlane, roleMachineDeployment}, check: checkRollout},
		{ID: gateDeletion, Title: "what is deleted goes", Patience: 15 * time.Minute, deletion: true, check: checkDeletion},
		{ID: gateUpkeep, Title: "drift checks, capacity and autoscaling work", roles: moduleRoles, check: oursAt(gateUpkeep)},
		{ID: gateAvailable, Title: "the cluster is available", Patience: 10 * time.Minute, roles: []role{roleCluster}, check: checkAvailable},
	}
}

// Gates are the gates in order.
func Gates() []Gate { return slices.Clone(gates) }

// needs is what an object waits for when it does not say. What has what it needs waits for nothing.
func (in *inspection) needs(n *node) []*node {
	infra, plane := in.root.child(roleInfraCluster), in.root.child(roleControlPlane)
	if n.deleting() {
		return n.children
	}
	first := []*node{infra}
	if !in.root.isTrue("status", "initialization", "infrastructureProvisioned") && !in.root.isTrue("status", "infrastructureReady") {
		first = append(first, in.root) // which has not passed on that its infrastructure is there
	}
	switch n.role {
	case roleInfraMachine, roleInfraPool:
		if n.provisioned() {
			return append([]*node{n.identity}, n.children...)
		}
		return append(append(first, n.parent.child(roleBootstrap), n.identity), n.children...)
	case roleBootstrap:
		switch {
		case n.bootstrapped():
			return nil
		case n.controlPlane && n.parent.parent != nil:
			return append(first, n.parent.parent.others(n.parent)...)
		}
		return append(first, plane)
	case roleControlPlane:
		return append(first, n.children...)
	case roleInfraCluster:
		return append([]*node{n.identity}, n.children...)
	case roleMachineSet:
		if n.child(roleMachine) == nil {
			return append(append(first, plane), n.children...)
		}
	}
	return n.children
}

// others are the children but one.
func (n *node) others(one *node) []*node {
	return slices.DeleteFunc(slices.Clone(n.children), func(c *node) bool { return c == one })
}
