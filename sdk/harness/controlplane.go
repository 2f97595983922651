package harness

import (
	"math/rand/v2"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness/balancer"
)

// Gate is one row of a table of gates: something that a controller waits for
// before it goes on.
type Gate struct {
	// ID names the gate, such as kcp/endpoint-valid.
	ID string
	// WaitsFor says what the gate waits for, in Cluster API's terms.
	WaitsFor string
	// Source is the row of control-planes.md or contract.md that the gate comes from.
	Source string
	// Retry is how often a controller that cannot watch looks again; 0 means
	// that it is woken by the change itself.
	Retry time.Duration
	// Role and Output name the module output that is responsible; empty when
	// another gate further down is.
	Role   contract.Role
	Output string
	// Requirement is the id of the requirement that a gate which never opens breaks.
	Requirement string
	// Remedy says what the module's author can do.
	Remedy string
}

// Check is a gate with its condition.
type Check struct {
	Gate
	// Open tells that the gate lets the subject pass. When it does not, on
	// names the object that it waits for, nil when that is the subject itself.
	Open func(w *World, m *Machine) (open bool, on any)
}

// Operation is one thing that a control plane can do in a pass. Of the
// operations whose When holds the first is tried, and no other: one operation
// a pass (control-planes.md 2.1).
type Operation struct {
	// ID names the operation, such as scale-up.
	ID string
	// Source is the row of control-planes.md that the operation comes from.
	Source string
	// When tells that the operation is due.
	When func(w *World) bool
	// Preflight are the gates before it; the subject is the machine that
	// Victim returns, nil without one.
	Preflight []Check
	// Create makes a machine when it is not nil.
	Create *CreateRow
	// Victim chooses the machine to delete when it is not nil.
	Victim func(w *World) *Machine
	// Requeue is when the control plane looks again at the latest, once it did
	// this; 0 leaves that to the changes that it watches.
	Requeue time.Duration
	// Remediates tells that it deletes a machine for its health. While its
	// preflight gates are closed the next operation is tried.
	Remediates bool
}

// CreateRow says how a machine is created.
type CreateRow struct {
	// Init tells that the machine's bootstrap data starts a new control plane.
	Init bool
}

// Stage is one step in the deletion of a machine.
type Stage struct {
	// ID names the stage, such as etcd-member-removed.
	ID string
	// Source is the row of control-planes.md that the stage comes from.
	Source string
	// Event is the story's line when it is done.
	Event string
	// Takes is the virtual time the stage takes.
	Takes time.Duration
	// Stops tells that etcd and the API server of the node stop with it.
	Stops bool
	// When tells that the stage is gone through; nil means always.
	When func(w *World) bool
}

// Registration is one method by which joining nodes find a server of the
// control plane, for a provider that writes the address of one into what joins.
type Registration struct {
	// Name is the method's name in the provider's API.
	Name string
	// Source is the row of control-planes.md that the method comes from.
	Source string
	// Servers returns the hosts that nodes may join at while the given
	// control-plane machines are Ready, oldest first.
	Servers func(w *World, ready []*Machine) []string
	// TakesAddress tells that the user gives the host.
	TakesAddress bool
	// AnyOrder tells that any of the hosts may be the one that a node joins at.
	AnyOrder bool
	// Fits tells that a control-plane machine with these addresses can be joined
	// at; nil when the method uses no address of machines.
	Fits func(addresses []contract.Address) bool
	// Needs says in words what Fits asks for.
	Needs string
	// Requirement is what a module breaks whose addresses do not fit.
	Requirement string
	// Exempt are the requirements that do not apply under this method.
	Exempt []string
}

// ControlPlane is what one control-plane provider does, as data. The
// simulation knows no provider but through this.
type ControlPlane struct {
	// Name is the short name, such as kcp; it starts the ids of its gates.
	Name string
	// Kind is the kind of the control-plane object.
	Kind string
	// Distribution is the word for what runs on the nodes, for the story.
	Distribution string
	// Version and NextVersion are Kubernetes versions in the provider's own
	// spelling, NextVersion the one to upgrade to.
	Version, NextVersion string
	// OtherVersion is Version as another distribution spells it, which a module
	// must accept too (CP-050).
	OtherVersion string
	// Admit says what admission makes of what the user asks for: a refusal, or a
	// warning beside the acceptance; nil admits everything.
	Admit func(w *World) (refusal, warning string)
	// Gates come before any operation, in order.
	Gates []Check
	// Operations are tried in order.
	Operations []Operation
	// Deletion are the gates before the control plane deletes its own machines
	// when it is deleted itself.
	Deletion []Check
	// Initialized is the gate after which the control plane counts as initialised.
	Initialized Check
	// Bootstrap are the gates before a machine's bootstrap data is written.
	Bootstrap []Check
	// PoolBootstrap are the gates before a pool's bootstrap data is written.
	PoolBootstrap []Check
	// Payload makes bootstrap data for a machine, or for the pool when the
	// machine is nil; nonce differs for every token.
	Payload func(w *World, m *Machine, nonce uint64) contract.Bootstrap
	// Rotates tells that the bootstrap data of a pool with Nodes is rewritten, and how often.
	Rotates time.Duration
	// Registrations are the methods by which joining nodes find a server, the
	// default first; nil when every node joins through the endpoint.
	Registrations []Registration
	// Packs tells that the provider may hand over bootstrap data that is packed with gzip.
	Packs bool
	// PreDrain are the stages before a control-plane machine's Node is drained.
	PreDrain []Stage
	// PreTerminate are the stages before a control-plane machine's
	// infrastructure goes; they are skipped when the whole control plane does.
	PreTerminate []Stage
	// Ports are the ports that its nodes need to be open between each other.
	Ports []balancer.Needed
	// FixedAPIPort tells that API servers listen on 6443 whatever
	// cluster_network.api_server_port says (CP-017).
	FixedAPIPort bool
	// FinishInit is the connection that the first node needs to end its start,
	// once its own control plane serves; nil needs none.
	FinishInit func(w *World, m *Machine) balancer.Reach
	// InitTime and JoinTime are the least virtual times from a machine's boot to its Node.
	InitTime, JoinTime time.Duration
	// MachineName makes the names of a new machine and its TerraformMachine.
	MachineName func(w *World, rng *rand.Rand) (machine, infra string)
	// Scenarios are those that can be played with this control plane; the first is the default.
	Scenarios []Scenario
}

// finishInit is the connection that the first node needs to end its start.
func (cp *ControlPlane) finishInit(w *World, m *Machine) balancer.Reach {
	if cp.FinishInit == nil {
		return balancer.Reach{OK: true}
	}
	return cp.FinishInit(w, m)
}

// supervises tells that nodes register with a supervisor beside the API, by one
// of several methods (control-planes.md 3.3).
func (cp *ControlPlane) supervises() bool { return len(cp.Registrations) > 0 }

// APIPort is where API servers listen, when the Cluster asks for a port or for none.
func (cp *ControlPlane) APIPort(asked *int64) int {
	if asked == nil || cp.FixedAPIPort {
		return apiPort
	}
	return int(*asked)
}
