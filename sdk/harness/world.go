package harness

import (
	"fmt"
	"slices"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness/balancer"
)

// World is everything that exists in a run: the objects of the management
// cluster, the workload cluster, and what the user asks for. Control-plane
// tables read it; only the simulation changes it.
type World struct {
	// Now is the virtual time.
	Now time.Duration
	// Spec is what the user asks for at present.
	Spec Spec
	// Cluster is the Cluster object.
	Cluster Cluster
	// Infra is the TerraformCluster.
	Infra *Infra
	// ControlPlane is the control-plane object.
	ControlPlane ControlPlaneStatus
	// Machines are the Machines that exist, oldest first.
	Machines []*Machine
	// Pool is the MachinePool; nil when there is none.
	Pool *Pool
	// Nodes are the Nodes of the workload cluster, in the order of joining.
	Nodes []*Node
	// Started tells that a first node has started the workload cluster, so that its
	// API holds what the start writes there.
	Started bool
	// Connected tells that ClusterCache holds a connection through the endpoint.
	Connected bool
	// Registration is the method by which joining nodes find a server; nil when
	// every node joins through the endpoint.
	Registration *Registration
	// RegistrationAddress is the host that the user gives for joining; "" for none.
	RegistrationAddress string
	// Bootstrap is how bootstrap data is written.
	Bootstrap BootstrapOptions
	// Balancer is the load balancer behind the endpoint.
	Balancer *balancer.Balancer
}

// Reach tells whether a listener of the endpoint leads to a control plane at
// present, for a machine by its name or for [balancer.Management].
func (w *World) Reach(from string, l balancer.Listener) balancer.Reach {
	if !w.Cluster.Endpoint.Valid() {
		return balancer.Reach{Why: "the Cluster has no endpoint", Requirement: "CP-001"}
	}
	return w.Balancer.Reach(w.Now, from, l)
}

// Spec is what the user asks for.
type Spec struct {
	// ControlPlanes is the wanted number of control-plane machines.
	ControlPlanes int
	// Workers is the wanted number of worker machines.
	Workers int
	// PoolSize is the wanted size of the pool; it counts only if the set has one.
	PoolSize int
	// Revision is the number of the machine template; a higher one rolls the control plane.
	Revision int
	// MaxSurge is the rollout's surge: 1 or 0.
	MaxSurge int
	// Version is the control plane's Kubernetes version.
	Version string
	// ClusterVersion is the version of the Cluster's topology, which the cluster's
	// module gets.
	ClusterVersion string
	// WorkerRevision is the number of the workers' template; a higher one rolls the workers.
	WorkerRevision int
	// WorkerVersion is the Kubernetes version of workers and pools.
	WorkerVersion string
	// Deleted tells that the user deleted the Cluster.
	Deleted bool
	// ControlPlaneDeleted tells that the user deleted the control-plane object alone.
	ControlPlaneDeleted bool
}

// Cluster is the Cluster object, as far as modules can notice it.
type Cluster struct {
	Name, Namespace string
	// Endpoint is spec.controlPlaneEndpoint.
	Endpoint *contract.Endpoint
	// InfrastructureProvisioned is latched.
	InfrastructureProvisioned bool
	// ControlPlaneInitialized is latched.
	ControlPlaneInitialized bool
	// FailureDomains is status.failureDomains, copied on every reconcile.
	FailureDomains []contract.FailureDomain
	// Gone tells that the object is deleted.
	Gone bool
}

// ControlPlaneStatus is the control-plane object.
type ControlPlaneStatus struct {
	// Created tells that the object exists.
	Created bool
	// Initialized is status.initialization.controlPlaneInitialized; it never reverts.
	Initialized bool
	// Servers are the hosts that joining nodes may register at, for a provider
	// that tells them in its status.
	Servers []string
	// Annotations are those that the user gives the object.
	Annotations map[string]string
	// Remediating is the annotation remediation-in-progress: a machine was deleted
	// for its health, and the one in its place is not created yet.
	Remediating bool
	// Deleting tells that the object is being deleted.
	Deleting bool
	// Gone tells that the object is deleted.
	Gone bool
}

// Machine is one Machine with its bootstrap config and TerraformMachine.
type Machine struct {
	Name string
	// ControlPlane tells that it carries the control-plane label.
	ControlPlane bool
	// Init tells that its bootstrap data starts a control plane, rather than join one.
	Init bool
	// Revision is that of the template it was made from.
	Revision int
	// Version is the Kubernetes version it was made with.
	Version string
	// FailureDomain is where it shall be placed; nil asks for none.
	FailureDomain *string
	// Bootstrap is the content of the bootstrap Secret; nil until it exists.
	Bootstrap *contract.Bootstrap
	// Server is the host that its bootstrap data joins at; "" when that is not said apart.
	Server string
	// Infra is the TerraformMachine.
	Infra *Infra
	// ProviderID is spec.providerID, copied from the TerraformMachine.
	ProviderID string
	// Provisioned is status.initialization.infrastructureProvisioned; latched.
	Provisioned bool
	// Node is the Node that nodeRef points to; nil without one.
	Node *Node
	// Created is the virtual time of creation.
	Created time.Duration
	// Number counts the control-plane machines, or the workers, in the order of creation, from 1.
	Number int
	// Unhealthy says why a health check, or a person, marked the machine for
	// remediation; "" when none did.
	Unhealthy string
	// Deleting tells that the Machine is being deleted; Stage is how far that is.
	Deleting bool
	// Stage is the deletion stage, an index into the stages of deletion.
	Stage int
	// HookRemoved tells that the control plane gave the Machine up.
	HookRemoved bool
	// busy tells that a timed stage is under way.
	busy bool
	// stuck is why the node's newest attempt to reach the control plane failed;
	// the zero value before the first and once it has joined.
	stuck balancer.Reach
	// silent is since when the node answers nobody; 0 while it does.
	silent time.Duration
}

// Ready tells that the Machine's infrastructure is Ready and its Node is found,
// which is what its condition Ready sums up.
func (m *Machine) Ready() bool {
	return m.Provisioned && m.Node != nil && m.Infra.HealthOf().Condition().Status == contract.ConditionTrue
}

// Serves tells that the machine's Node is found and answers.
func (m *Machine) Serves() bool { return m.Node != nil && m.silent == 0 }

// Ref returns the machine's name as the story writes it.
func (m *Machine) Ref() string { return "Machine/" + m.Name }

// Pool is the MachinePool with its TerraformMachinePool.
type Pool struct {
	Name string
	// Replicas is spec.replicas.
	Replicas int
	// Version is spec.template.spec.version.
	Version string
	// Bootstrap is the content of the bootstrap Secret; nil until it exists.
	Bootstrap *contract.Bootstrap
	// Server is the host that its bootstrap data joins at; "" when that is not said apart.
	Server string
	// Rotation counts how often the bootstrap Secret was rewritten.
	Rotation int
	Infra    *Infra
	// Nodes are the members' Nodes that were found by provider id.
	Nodes int
	// Deleting tells that the pool is being deleted.
	Deleting bool
}

// Ref returns the pool's name as the story writes it.
func (p *Pool) Ref() string { return "MachinePool/" + p.Name }

// Node is one Node of the workload cluster.
type Node struct {
	Name       string
	ProviderID string
	// Joined is the virtual time of registration.
	Joined time.Duration
}

// Infra is one Terraform object: a TerraformCluster, TerraformMachine or
// TerraformMachinePool.
type Infra struct {
	Role contract.Role
	Name string
	// Inputs are the durable inputs: those of the newest apply that was started.
	Inputs contract.Inputs
	// AppliedHash is the inputs hash of the newest successful apply; "" before.
	AppliedHash string
	// Provisioned is status.initialization.provisioned; latched.
	Provisioned bool
	// Outputs are the decoded outputs of the newest run; nil before the first.
	// Cluster, Machine or Pool is the same by its type.
	Outputs contract.Outputs
	Cluster *contract.ClusterOutputs
	Machine *contract.MachineOutputs
	Pool    *contract.PoolOutputs
	// Violations are those of the newest outputs.
	Violations contract.Violations
	// Run is the newest finished run; nil before the first.
	Run *Run
	// Running is the kind of run under way, "" when there is none.
	Running Op
	// Refreshes counts the refreshes in a row that found nothing new.
	Refreshes int
	// Deleting tells that the object is being deleted, Gone that it is.
	Deleting, Gone bool

	applied   contract.Inputs // those of the newest successful apply; nil before
	unapplied bool            // the newest apply failed, and is to be tried again
	failures  map[Op]int      // runs in a row that failed and count for the backoff
	retry     time.Duration   // when a run that failed is tried again; 0: at once
	retryOp   Op              // the kind of run that is tried again
	gaveUp    Op              // the kind of run that fails each time because of what a fault left
	broken    *trouble        // the fault that breaks the run under way
	readAt    time.Duration   // when the next refresh because of a fault is due
	fault     FaultKind       // what happened to it that its outputs may show; "" when nothing did
	orphaned  bool            // a fault left something in the cloud that no state records
	readings  int             // refreshes to come because of a fault
	idWatch   contract.ProviderIDWatch
	readyAt   time.Duration // since when it is well; 0: it is not
	unwellAt  time.Duration // since when it is not well; 0: it is, or is not provisioned
	waiting   bool          // a cluster write that waits for machine writes
	settling  bool          // provisioned, not well yet, and refreshed until it is
	refreshAt time.Duration // when the next refresh is due; 0: none
}

// Ref returns the object's kind and name as the story writes it.
func (i *Infra) Ref() string { return i.Role.Kind() + "/" + i.Name }

// HealthOf returns the health that the newest outputs report; the zero value
// before the first.
func (i *Infra) HealthOf() contract.Health {
	switch {
	case i.Cluster != nil:
		return i.Cluster.Health
	case i.Machine != nil:
		return i.Machine.Health
	case i.Pool != nil:
		return i.Pool.Health
	}
	return contract.Health{}
}

// MachinesWhere returns the machines for which keep is true, oldest first.
func (w *World) MachinesWhere(keep func(*Machine) bool) []*Machine {
	var out []*Machine
	for _, m := range w.Machines {
		if keep(m) {
			out = append(out, m)
		}
	}
	return out
}

// ControlPlaneMachines returns the control-plane machines, oldest first.
func (w *World) ControlPlaneMachines() []*Machine {
	return w.MachinesWhere(func(m *Machine) bool { return m.ControlPlane })
}

// Workers returns the worker machines, oldest first.
func (w *World) Workers() []*Machine {
	return w.MachinesWhere(func(m *Machine) bool { return !m.ControlPlane })
}

// infras returns every Terraform object.
func (w *World) infras() []*Infra {
	out := []*Infra{w.Infra}
	for _, m := range w.Machines {
		out = append(out, m.Infra)
	}
	if w.Pool != nil {
		out = append(out, w.Pool.Infra)
	}
	return out
}

// Outdated tells that the machine was made from an older template than the
// present one.
func (w *World) Outdated(m *Machine) bool {
	if !m.ControlPlane {
		return m.Revision != w.Spec.WorkerRevision
	}
	return m.Revision != w.Spec.Revision
}

// outdatedWorkers tells that a worker was made from an older template than the
// present one.
func (w *World) outdatedWorkers() bool { return slices.ContainsFunc(w.Workers(), w.Outdated) }

// String returns the world's state on one line, for a failing test.
func (w *World) String() string {
	return fmt.Sprintf("t=%s machines=%d nodes=%d initialized=%t", w.Now, len(w.Machines), len(w.Nodes), w.ControlPlane.Initialized)
}
