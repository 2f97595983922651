package contract

import "encoding/json"

// Values are the output values of a module as a run left them.
type Values struct {
	// Outputs holds the value of each output as JSON. A null root output
	// vanishes from the state of both runtimes, so an absent name is either
	// null or not declared: Declared tells which.
	Outputs map[string]json.RawMessage
	// Declared holds the names of the outputs that the module declares; nil
	// takes every contract output as declared.
	Declared map[string]bool
}

// Outputs are the decoded outputs of a module of any role.
type Outputs interface {
	// Role returns the role of the module.
	Role() Role
	// Condition returns what the health stands for.
	Condition() Condition
	// Provisioned tells that the object may be called provisioned, given
	// whether an apply succeeded (the state carries an inputs hash) and the
	// violations of the outputs. The caller latches it (contract.md 9.4, 10.3, 11.4).
	Provisioned(applied bool, vs Violations) bool
	// Unsettled tells that the infrastructure is still changing, so it is read
	// again at the pending cadence (contract.md 14.2).
	Unsettled() bool
}

// Health is a module's view of its infrastructure (contract.md 8).
type Health struct {
	State   HealthState `json:"state"`
	Healthy bool        `json:"healthy"`
	// Message is for people, "" when null.
	Message string `json:"message,omitempty"`
	// Reasons are for machines.
	Reasons []string `json:"reasons,omitempty"`
}

// FailureDomain is one placement that the cluster module offers.
type FailureDomain struct {
	Name         string            `json:"name"`
	ControlPlane bool              `json:"control_plane"`
	Attributes   map[string]string `json:"attributes,omitempty"`
}

// ClusterOutputs are the decoded outputs of a cluster module.
type ClusterOutputs struct {
	// ControlPlaneEndpoint is nil when the module emits none.
	ControlPlaneEndpoint *Endpoint
	// FailureDomains is nil when null or empty.
	FailureDomains []FailureDomain
	// Exports is the canonical JSON of exports, {} when null.
	Exports json.RawMessage
	Health  Health
}

// Address is one address of an instance.
type Address struct {
	Type    AddressType `json:"type"`
	Address string      `json:"address"`
}

// MachineOutputs are the decoded outputs of a machine module.
type MachineOutputs struct {
	// ProviderID is "" when null or empty.
	ProviderID string
	// Addresses are in canonical order; nil when null, empty when [].
	Addresses []Address
	// FailureDomain is nil when null.
	FailureDomain *string
	Interruptible bool
	Health        Health
}

// Instance is one member of a pool.
type Instance struct {
	ProviderID    string      `json:"provider_id"`
	InstanceID    string      `json:"instance_id,omitempty"`
	Addresses     []Address   `json:"addresses,omitempty"`
	FailureDomain string      `json:"failure_domain,omitempty"`
	State         HealthState `json:"state,omitempty"`
}

// PoolOutputs are the decoded outputs of a machinepool module.
type PoolOutputs struct {
	// ProviderID is "" when null.
	ProviderID string
	// ProviderIDList is sorted and holds no duplicates; nil when null.
	ProviderIDList []string
	// Replicas is nil when null.
	Replicas *int64
	// Instances are cut to what the status holds; nil when null.
	Instances []Instance
	Health    Health
}
