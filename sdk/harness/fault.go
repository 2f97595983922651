package harness

import (
	"context"
	"time"

	"github.com/captf-toolkit/captf/contract"
)

// FaultKind is one way in which a module run, the cloud, a module or the
// workload cluster can go wrong.
type FaultKind string

// The kinds of fault.
const (
	// FaultApplyFails: an apply fails once some resources exist.
	FaultApplyFails FaultKind = "apply-fails"
	// FaultInterrupted: a run is interrupted in order, as by the eviction of its Pod.
	FaultInterrupted FaultKind = "interrupted"
	// FaultKilled: a run is killed, as by a Node that dies; what it was creating is not recorded.
	FaultKilled FaultKind = "killed"
	// FaultHangs: a run does not end by itself.
	FaultHangs FaultKind = "hangs"
	// FaultStateLost: a run ends well, but its state is not stored.
	FaultStateLost FaultKind = "state-lost"
	// FaultRefreshBlind: one refresh does not see what exists; the next sees it again.
	FaultRefreshBlind FaultKind = "refresh-blind"
	// FaultQuota: the cloud refuses to create, because a quota is used up.
	FaultQuota FaultKind = "quota"
	// FaultConflict: the cloud refuses changes side by side, as of several members of one balancer.
	FaultConflict FaultKind = "conflict"
	// FaultInstanceGone: an instance is deleted out of band.
	FaultInstanceGone FaultKind = "instance-gone"
	// FaultInstanceStopped: an instance is stopped out of band.
	FaultInstanceStopped FaultKind = "instance-stopped"
	// FaultAddressChanges: an instance gets another address.
	FaultAddressChanges FaultKind = "address-changes"
	// FaultProviderIDWrong: a module emits another provider_id than the Node carries.
	FaultProviderIDWrong FaultKind = "provider-id-wrong"
	// FaultProviderIDTwice: a module emits the provider_id of another machine.
	FaultProviderIDTwice FaultKind = "provider-id-twice"
	// FaultDomainIgnored: a module places a machine elsewhere than asked for.
	FaultDomainIgnored FaultKind = "domain-ignored"
	// FaultEndpointChanges: a re-apply emits another endpoint.
	FaultEndpointChanges FaultKind = "endpoint-changes"
	// FaultNodeNeverJoins: an instance runs, and no Node registers.
	FaultNodeNeverJoins FaultKind = "node-never-joins"
	// FaultTokenRotates: the bootstrap data of a pool is rewritten while it is applied.
	FaultTokenRotates FaultKind = "token-rotates"
	// FaultDegraded: infrastructure that was well reports that it is degraded.
	FaultDegraded FaultKind = "degraded"
	// FaultBackendLate: the balancer sends nothing to a backend for a while after it is registered.
	FaultBackendLate FaultKind = "backend-late"
	// FaultCreateFails: the control plane creates a TerraformMachine, cannot create
	// the bootstrap config, and deletes the former again (K9).
	FaultCreateFails FaultKind = "create-fails"
)

// Fault is one fault of a scenario: what goes wrong, and on which run.
type Fault struct {
	Kind FaultKind
	// Role is the role of the object that it happens to.
	Role contract.Role
	// Machine names the machine that it happens to, if Role is machine; "" is the first.
	Machine Target
	// Object is the name of the object; the play fills it in when the fault is due.
	Object string
	// Op is the kind of run that it breaks; "" means [OpApply] for faults of runs.
	Op Op
	// After is how many resources exist before a run breaks; 0 means one.
	After int
	// Times is how many runs in a row are broken; 0 means one.
	Times int
	// For is how long a lasting fault lasts, in virtual time; 0 means for the rest of the story.
	For time.Duration
}

// Injector is a [Modules] that can break its own module runs or change the cloud
// behind them. Faults that it cannot inject are known by [Injector.Injects]
// before a story begins.
type Injector interface {
	// Injects returns why faults of a kind cannot be injected; nil when they can.
	Injects(kind FaultKind) error
	// Inject makes the fault happen: to the object's next runs of f.Op if it is a
	// fault of runs, to what the object made at once if it is one of the cloud.
	Inject(ctx context.Context, f Fault) error
}

// CloudObject is one thing that exists in a cloud.
type CloudObject struct {
	// Type is the resource type, such as aws_instance.
	Type string `json:"type"`
	// ID is the cloud's own id.
	ID string `json:"id"`
	// Owner is the object whose run created it, such as machine-demo-cp-abcde; "" when unknown.
	Owner string `json:"owner,omitempty"`
	// Address is the resource address that it was created under; "" when unknown.
	Address string `json:"address,omitempty"`
}

// Inventory is a [Modules] whose cloud can be looked into, beside the states.
type Inventory interface {
	// Inventory returns everything that exists in the cloud, sorted.
	Inventory() []CloudObject
}
