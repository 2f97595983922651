package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
)

// Workspace is an object that runs a module: a TerraformCluster, TerraformMachine or TerraformMachinePool. It is what the
// controllers of the three kinds share.
//
// +kubebuilder:object:generate=false
type Workspace interface {
	client.Object
	GetConditions() []metav1.Condition
	SetConditions([]metav1.Condition)

	// Role is the role of the module.
	Role() contract.Role
	// Finalizer is the finalizer of the kind (B-004).
	Finalizer() string
	// Workspace is the spec that all kinds share. Changes of it are changes of the object.
	Workspace() *WorkspaceSpec
	// WorkspaceStatus is the status that all kinds share. Changes of it are changes of the object.
	WorkspaceStatus() *WorkspaceStatus
}

var (
	_ Workspace = (*TerraformCluster)(nil)
	_ Workspace = (*TerraformMachine)(nil)
	_ Workspace = (*TerraformMachinePool)(nil)
)

// Role is the role of the module.
func (*TerraformCluster) Role() contract.Role { return contract.RoleCluster }

// Finalizer is ClusterFinalizer.
func (*TerraformCluster) Finalizer() string { return ClusterFinalizer }

// Workspace is the spec that all kinds share.
func (c *TerraformCluster) Workspace() *WorkspaceSpec { return &c.Spec.WorkspaceSpec }

// WorkspaceStatus is the status that all kinds share.
func (c *TerraformCluster) WorkspaceStatus() *WorkspaceStatus { return &c.Status.WorkspaceStatus }

// GetConditions returns the conditions.
func (c *TerraformCluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions.
func (c *TerraformCluster) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// Role is the role of the module.
func (*TerraformMachine) Role() contract.Role { return contract.RoleMachine }

// Finalizer is MachineFinalizer.
func (*TerraformMachine) Finalizer() string { return MachineFinalizer }

// Workspace is the spec that all kinds share.
func (m *TerraformMachine) Workspace() *WorkspaceSpec { return &m.Spec.WorkspaceSpec }

// WorkspaceStatus is the status that all kinds share.
func (m *TerraformMachine) WorkspaceStatus() *WorkspaceStatus { return &m.Status.WorkspaceStatus }

// GetConditions returns the conditions.
func (m *TerraformMachine) GetConditions() []metav1.Condition { return m.Status.Conditions }

// SetConditions replaces the conditions.
func (m *TerraformMachine) SetConditions(conditions []metav1.Condition) {
	m.Status.Conditions = conditions
}

// Role is the role of the module.
func (*TerraformMachinePool) Role() contract.Role { return contract.RoleMachinePool }

// Finalizer is MachinePoolFinalizer.
func (*TerraformMachinePool) Finalizer() string { return MachinePoolFinalizer }

// Workspace is the spec that all kinds share.
func (p *TerraformMachinePool) Workspace() *WorkspaceSpec { return &p.Spec.WorkspaceSpec }

// WorkspaceStatus is the status that all kinds share.
func (p *TerraformMachinePool) WorkspaceStatus() *WorkspaceStatus { return &p.Status.WorkspaceStatus }

// GetConditions returns the conditions.
func (p *TerraformMachinePool) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions replaces the conditions.
func (p *TerraformMachinePool) SetConditions(conditions []metav1.Condition) {
	p.Status.Conditions = conditions
}

// GetConditions returns the conditions.
func (t *TerraformClusterTemplate) GetConditions() []metav1.Condition { return t.Status.Conditions }

// SetConditions replaces the conditions.
func (t *TerraformClusterTemplate) SetConditions(conditions []metav1.Condition) {
	t.Status.Conditions = conditions
}

// GetConditions returns the conditions.
func (t *TerraformMachineTemplate) GetConditions() []metav1.Condition { return t.Status.Conditions }

// SetConditions replaces the conditions.
func (t *TerraformMachineTemplate) SetConditions(conditions []metav1.Condition) {
	t.Status.Conditions = conditions
}

// GetConditions returns the conditions.
func (i *TerraformClusterIdentity) GetConditions() []metav1.Condition { return i.Status.Conditions }

// SetConditions replaces the conditions.
func (i *TerraformClusterIdentity) SetConditions(conditions []metav1.Condition) {
	i.Status.Conditions = conditions
}

// GetConditions returns the conditions.
func (p *TerraformPlan) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions replaces the conditions.
func (p *TerraformPlan) SetConditions(conditions []metav1.Condition) {
	p.Status.Conditions = conditions
}
