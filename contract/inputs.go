package contract

import "encoding/json"

// Inputs are the values that one object's module is run with.
type Inputs interface {
	// Role returns the role that the inputs are for.
	Role() Role
	// Common returns the part that every role has.
	Common() *CommonInputs
}

// NamespacedName names an object of the management cluster.
type NamespacedName struct {
	Name      string
	Namespace string
}

// CommonInputs are what the inputs of every role hold.
type CommonInputs struct {
	// Cluster is the owning Cluster.
	Cluster NamespacedName
	// Object is the Terraform object that is reconciled.
	Object NamespacedName
	// Template is the value of the object's own annotation
	// cluster.x-k8s.io/cloned-from-name, "" when it has none.
	Template string
}

// Common returns the common inputs themselves.
func (c *CommonInputs) Common() *CommonInputs { return c }

// Endpoint is the address of a control plane.
type Endpoint struct {
	Host string `json:"host"`
	Port int64  `json:"port"`
}

// Valid tells that both halves are set, which is what Cluster API asks for
// (CP-004).
func (e *Endpoint) Valid() bool { return e != nil && e.Host != "" && e.Port != 0 }

// ClusterNetwork is the network part of a Cluster, as far as it is set.
type ClusterNetwork struct {
	// Pods and Services are CIDRs; empty when unset.
	Pods, Services []string
	// ServiceDomain is nil when unset.
	ServiceDomain *string
	// APIServerPort is nil when unset.
	APIServerPort *int64
}

// ClusterInputs are the inputs of a cluster module.
type ClusterInputs struct {
	CommonInputs
	// ControlPlaneEndpoint is an endpoint that the module does not own; nil
	// asks the module for one (contract.md 9.3).
	ControlPlaneEndpoint *Endpoint
	// KubernetesVersion is the topology's version, verbatim; nil without a topology.
	KubernetesVersion *string
	// ControlPlaneInitialized is latched: once true it stays true.
	ControlPlaneInitialized bool
	// ClusterNetwork is nil only if the Cluster sets none of its parts.
	ClusterNetwork *ClusterNetwork
}

// Role returns RoleCluster.
func (*ClusterInputs) Role() Role { return RoleCluster }

// Bootstrap is the content of a bootstrap Secret.
type Bootstrap struct {
	// Data is the raw payload; any bytes, gzip included. It is secret.
	Data []byte
	// Format is cloud-config or ignition; "" means cloud-config.
	Format string
}

// MachineInputs are the inputs of a machine module.
type MachineInputs struct {
	CommonInputs
	// ClusterOutputs is the exports value of the cluster module as JSON; nil renders {}.
	ClusterOutputs json.RawMessage
	// MachineName is the name of the owning Machine.
	MachineName string
	// Bootstrap is what the node boots with.
	Bootstrap Bootstrap
	// FailureDomain is nil when the Machine asks for none.
	FailureDomain *string
	// KubernetesVersion is the Machine's version, verbatim.
	KubernetesVersion *string
	// ControlPlane tells that the Machine carries the control-plane label.
	ControlPlane bool
}

// Role returns RoleMachine.
func (*MachineInputs) Role() Role { return RoleMachine }

// Autoscaling is the range in which a pool scales itself.
type Autoscaling struct {
	Enabled bool  `json:"enabled"`
	Min     int64 `json:"min"`
	Max     int64 `json:"max"`
}

// PoolInputs are the inputs of a machinepool module.
type PoolInputs struct {
	CommonInputs
	// ClusterOutputs is the exports value of the cluster module as JSON; nil renders {}.
	ClusterOutputs json.RawMessage
	// MachinePoolName is the name of the owning MachinePool.
	MachinePoolName string
	// Replicas is the wanted size, already clamped (see ClampReplicas).
	Replicas int64
	// Bootstrap is what new members boot with; it rotates.
	Bootstrap Bootstrap
	// FailureDomains are those that the MachinePool asks for; empty leaves the choice to the module.
	FailureDomains []string
	// ClusterFailureDomains are the names that the cluster module published.
	ClusterFailureDomains []string
	// KubernetesVersion is the pool's version, verbatim; a change rolls the members.
	KubernetesVersion *string
	// NodeLabels are the labels that the members' Nodes get.
	NodeLabels map[string]string
	// Autoscaling is the range, all zero when off.
	Autoscaling Autoscaling
}

// Role returns RoleMachinePool.
func (*PoolInputs) Role() Role { return RoleMachinePool }

// Variable is one user variable after merging (contract.md 7).
type Variable struct {
	// Name is the name of the module's variable.
	Name string
	// Value is the value as JSON.
	Value json.RawMessage
	// Sensitive tells that the winning value came from a Secret.
	Sensitive bool
}

// Backend is the state backend of a generated root.
type Backend struct {
	// Type is the backend's type, such as http or local.
	Type string
	// Config is what the block holds; nil makes it empty, to be completed at init.
	Config map[string]any
}

// RenderOptions say how the generated root is written.
type RenderOptions struct {
	// Backend is where the state goes; the zero value is an empty http block (contract.md 12).
	Backend Backend
	// ModuleSource is the module's path relative to the root, starting with
	// ./ or ../; "" is ../../module.
	ModuleSource string
}

// Rendered is the generated root of one run.
type Rendered struct {
	// Root is main.tf.json.
	Root []byte
	// Values is terraform.tfvars.json. It holds secrets.
	Values []byte
	// Hash is the inputs hash, with its scheme as prefix (contract.md 13).
	Hash string
	// ApprovalHash is what an approval is bound to: the same without what
	// changes by itself (B-345).
	ApprovalHash string
}

// Size returns the bytes of both files together, which the limit "rendered
// inputs" is about.
func (r *Rendered) Size() int { return len(r.Root) + len(r.Values) }

// Hashes are the hashes of one set of inputs, with their scheme as prefix
// (contract.md 13).
type Hashes struct {
	// Inputs changes whenever the object must be applied again.
	Inputs string
	// Approval is what an approval is bound to: the same without inputs that
	// change by themselves (Input.Rotates). It equals Inputs for roles that
	// have none.
	Approval string
}
