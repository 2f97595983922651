package contract

// outputsUsable tells that every output that is needed is there and valid;
// truncation and notices do not matter (B-652).
func outputsUsable(vs Violations) bool {
	return len(vs.Blocking()) == 0 && len(vs.With(ReasonPending)) == 0
}

// Role returns RoleCluster.
func (*ClusterOutputs) Role() Role { return RoleCluster }

// Condition returns the InfrastructureHealthy condition that the outputs stand for.
func (o *ClusterOutputs) Condition() Condition { return o.Health.Condition() }

// Provisioned tells that the cluster may be called provisioned: an apply
// succeeded, the outputs are valid and the health is not pending. There is no
// endpoint gate (contract.md 9.4).
func (o *ClusterOutputs) Provisioned(applied bool, vs Violations) bool {
	return applied && outputsUsable(vs) && o.Health.State != HealthPending
}

// Unsettled tells that the health is pending (contract.md 14.2).
func (o *ClusterOutputs) Unsettled() bool { return o.Health.State == HealthPending }

// Role returns RoleMachine.
func (*MachineOutputs) Role() Role { return RoleMachine }

// Condition returns the InfrastructureHealthy condition that the outputs stand
// for. A machine that lost its provider id is judged by ProviderIDWatch instead.
func (o *MachineOutputs) Condition() Condition { return o.Health.Condition() }

// Provisioned tells that the machine may be called provisioned: as for a
// cluster, and its provider id is known (contract.md 10.3).
func (o *MachineOutputs) Provisioned(applied bool, vs Violations) bool {
	return applied && outputsUsable(vs) && o.Health.State != HealthPending && o.ProviderID != ""
}

// Unsettled tells that the health is pending (contract.md 14.2).
func (o *MachineOutputs) Unsettled() bool { return o.Health.State == HealthPending }

// Role returns RoleMachinePool.
func (*PoolOutputs) Role() Role { return RoleMachinePool }

// Condition returns the InfrastructureHealthy condition that the outputs stand for.
func (o *PoolOutputs) Condition() Condition { return o.Health.Condition() }

// Provisioned tells that the pool may be called provisioned: an apply
// succeeded, the outputs are valid and the health is not pending. The provider
// id may stay null and the list empty (contract.md 11.4).
func (o *PoolOutputs) Provisioned(applied bool, vs Violations) bool {
	return applied && outputsUsable(vs) && o.Health.State != HealthPending
}

// Unsettled tells that the health is pending, or that the members do not yet
// number what the group is meant to hold (contract.md 11.6, B-096).
func (o *PoolOutputs) Unsettled() bool {
	return o.Health.State == HealthPending || o.Replicas != nil && int64(len(o.ProviderIDList)) != *o.Replicas
}
