package contract

import "strings"

// HealthState is the state of the infrastructure behind an object, as the
// cloud sees it; Nodes play no part (contract.md 8).
type HealthState string

// The health states; there are no others.
const (
	HealthPending    HealthState = "pending"
	HealthRunning    HealthState = "running"
	HealthDegraded   HealthState = "degraded"
	HealthStopped    HealthState = "stopped"
	HealthTerminated HealthState = "terminated"
	HealthUnknown    HealthState = "unknown"
)

// HealthStates returns every health state.
func HealthStates() []HealthState {
	return []HealthState{HealthPending, HealthRunning, HealthDegraded, HealthStopped, HealthTerminated, HealthUnknown}
}

// ConditionStatus is the status of a Kubernetes condition. This package
// imports no Kubernetes client, so it has its own name for it.
type ConditionStatus string

// The statuses of a condition.
const (
	ConditionTrue    ConditionStatus = "True"
	ConditionFalse   ConditionStatus = "False"
	ConditionUnknown ConditionStatus = "Unknown"
)

// Condition is what a value means for a condition of the object.
type Condition struct {
	Status  ConditionStatus
	Reason  string
	Message string
}

// healthRows is the mapping of contract.md 8; the row of running is split by healthy.
var healthRows = map[HealthState]struct {
	status    ConditionStatus
	reason    string
	remediate bool
}{
	HealthPending:    {ConditionFalse, "InstancePending", false},
	HealthRunning:    {ConditionTrue, "Healthy", false},
	HealthDegraded:   {ConditionFalse, "InstanceDegraded", true},
	HealthStopped:    {ConditionFalse, "InstanceStopped", true},
	HealthTerminated: {ConditionFalse, "InstanceTerminated", true},
	HealthUnknown:    {ConditionUnknown, "HealthUnknown", false},
}

// Condition returns the InfrastructureHealthy condition that the health stands
// for. A state outside the contract gives Unknown/HealthUnknown (B-704).
func (h Health) Condition() Condition {
	row, ok := healthRows[h.State]
	if !ok {
		row = healthRows[HealthUnknown]
	}
	c := Condition{Status: row.status, Reason: row.reason}
	if h.State == HealthRunning && !h.Healthy {
		c.Status, c.Reason = ConditionFalse, "InstanceUnhealthy"
	}
	var parts []string
	if h.Message != "" {
		parts = append(parts, h.Message)
	}
	if len(h.Reasons) > 0 {
		parts = append(parts, "reasons: "+strings.Join(h.Reasons, ", "))
	}
	if len(parts) == 0 {
		parts = []string{c.Reason}
	}
	c.Message = strings.Join(parts, "; ")
	return c
}

// RemediationCandidate tells that a machine with this health may be replaced;
// only machines are (contract.md 8).
func (h Health) RemediationCandidate() bool {
	if h.State == HealthRunning {
		return !h.Healthy
	}
	return healthRows[h.State].remediate
}
