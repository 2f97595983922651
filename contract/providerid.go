package contract

import "fmt"

// CheckProviderID compares the provider id that a machine has with the one
// that its module emits now; each is "" when there is none. An id that is set
// never changes: another one is a violation, and the old one is kept (B-663).
// A missing id is no violation but the business of ProviderIDWatch.
func CheckProviderID(before, now string) Violations {
	if before == "" || now == "" || before == now {
		return nil
	}
	return Violations{{
		Path: "outputs.provider_id", Rule: RuleProviderID, Reason: ReasonProviderIDChanged,
		Message: fmt.Sprintf("is %s, but the machine is %s; a machine keeps its provider id for life: "+
			"replace the Machine instead of its instance", quote(now), quote(before)),
	}}
}

// terminatedReadings is how many readings in a row without a provider id mean
// that the instance is gone (contract.md 8.1).
const terminatedReadings = 2

// ProviderIDWatch tells an instance that was terminated behind our back from
// one bad reading of it. It is for machines that are provisioned. The zero
// value has seen nothing. TerraformMachine.spec.providerID is kept whatever it says.
type ProviderIDWatch struct {
	// Missing is the number of readings in a row that had no provider id.
	Missing int
}

// Observe returns the watch after one more reading: a refresh or drift check
// that completed. Looking at the same reading again must not be told.
func (w ProviderIDWatch) Observe(providerID string) ProviderIDWatch {
	if providerID != "" {
		return ProviderIDWatch{}
	}
	return ProviderIDWatch{Missing: min(w.Missing+1, terminatedReadings)}
}

// ObserveGone returns the watch after a refresh that failed because the
// instance is gone, which is proof enough.
func (w ProviderIDWatch) ObserveGone() ProviderIDWatch {
	return ProviderIDWatch{Missing: terminatedReadings}
}

// Terminated tells that the instance is gone, so the machine may be replaced.
func (w ProviderIDWatch) Terminated() bool { return w.Missing >= terminatedReadings }

// Condition returns InfrastructureHealthy, given the health of the newest
// reading: the health's own condition while there is a provider id, else that
// the id is missing or the instance terminated (B-707).
func (w ProviderIDWatch) Condition(health Health) Condition {
	switch {
	case w.Terminated():
		return Condition{
			Status: ConditionFalse, Reason: "InstanceTerminated",
			Message: fmt.Sprintf("the module emitted no provider_id %d times in a row, so the instance is taken for terminated", terminatedReadings),
		}
	case w.Missing > 0:
		return Condition{
			Status: ConditionUnknown, Reason: "ProviderIDMissing",
			Message: "the module emitted no provider_id; a second reading without it means that the instance is terminated",
		}
	default:
		return health.Condition()
	}
}
