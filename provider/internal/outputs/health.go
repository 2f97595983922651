package outputs

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
)

// health decides about InfrastructureHealthy and the counters of samples. Health is judged by itself: it is shown even if
// another output breaks the contract. The machine's outputs are nil for other roles.
func (p *projection) health(health contract.Health, vs contract.Violations, machine *contract.MachineOutputs) {
	p.plan.StandsIn = p.reading.Sample == SampleApply && standsIn(p.obj.Role(), health, vs)
	value := conditions.From(health.Condition())
	if broken := vs.Under("outputs.health").Blocking(); len(broken) > 0 {
		value = conditions.Unknown(infrav1.HealthUnknownReason, "the module's output health cannot be used; see OutputsValid")
		health = contract.Health{State: contract.HealthUnknown}
	}
	if machine != nil && p.provisioned {
		value = p.watch(machine.ProviderID, health)
	}
	p.condition(infrav1.InfrastructureHealthyCondition, value)
	p.samples(health, value.Reason)
}

// standsIn tells that the reading of an apply is as good as the refresh that a machine's apply is followed by otherwise.
func standsIn(role contract.Role, health contract.Health, vs contract.Violations) bool {
	cadence := contract.CadenceOf(role)
	return cadence.AfterApply == contract.RefreshUnlessDefinite && !cadence.RefreshesAfterApply(health, vs)
}

// counted tells that the reading is a sample of health.
func (p *projection) counted() bool {
	return p.reading.Sample == SampleCheck || p.reading.Sample == SampleGone || p.plan.StandsIn
}

// watch returns InfrastructureHealthy of a provisioned machine (B-707). How many readings in a row had no provider id is
// kept in the condition itself, so that there is one record of it.
func (p *projection) watch(providerID string, health contract.Health) conditions.Value {
	before := conditions.Get(p.obj, infrav1.InfrastructureHealthyCondition)
	if before == nil {
		before = &metav1.Condition{}
	}
	var watch contract.ProviderIDWatch
	switch before.Reason {
	case infrav1.ProviderIDMissingReason:
		watch = watch.Observe("")
	case infrav1.InstanceTerminatedReason:
		watch = watch.ObserveGone()
	}
	sameState := p.obj.WorkspaceStatus().ObservedStateSerial == p.reading.State.Serial
	switch {
	case p.reading.Sample == SampleGone:
		// The state still shows the instance as it was when it was last read.
		return conditions.False(infrav1.InstanceTerminatedReason, "the refresh failed because the instance does not exist any more")
	case !p.counted() && sameState && watch.Missing > 0:
		return conditions.Value{Status: before.Status, Reason: before.Reason, Message: before.Message}
	case providerID == "" && health.State == contract.HealthTerminated:
		// The module says itself what two readings without an id would prove.
		watch = contract.ProviderIDWatch{}
	case p.counted() || watch.Missing == 0 || providerID != "":
		watch = watch.Observe(providerID)
	}
	return conditions.From(watch.Condition(health))
}

// samples counts the sample, if the reading is one (B-708, B-709; provider-api.md 3).
func (p *projection) samples(health contract.Health, reason string) {
	status := p.obj.WorkspaceStatus()
	switch p.reading.Sample {
	case SampleNone:
		return
	case SampleCheck, SampleGone:
		pending := int32(0)
		if health.State == contract.HealthPending {
			pending = status.PendingRefreshes + 1
		}
		p.plan.PendingRefreshes = set(status.PendingRefreshes, pending)
	case SampleApply:
		p.plan.PendingRefreshes = set(status.PendingRefreshes, 0)
	}
	machine, isMachine := p.obj.(*infrav1.TerraformMachine)
	if !isMachine || !p.counted() {
		return
	}
	p.plan.UnhealthySamples = set(machine.Status.UnhealthySamples, NextUnhealthySamples(machine.Status.UnhealthySamples, reason))
}

// NextUnhealthySamples returns the count of unhealthy samples after one more, given the reason of InfrastructureHealthy
// (B-708): healthy clears it; unhealthy, degraded and stopped add one; pending, unknown and terminated leave it.
func NextUnhealthySamples(count int32, reason string) int32 {
	switch reason {
	case infrav1.HealthyReason:
		return 0
	case infrav1.InstanceUnhealthyReason, infrav1.InstanceDegradedReason, infrav1.InstanceStoppedReason:
		return count + 1
	default:
		return count
	}
}
