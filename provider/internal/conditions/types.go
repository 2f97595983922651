package conditions

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf-toolkit/captf/contract"
)

// Polarity says which status of a condition is the one to wish for.
type Polarity string

// The polarities.
const (
	// Positive: True is good, False is bad.
	Positive Polarity = "positive"
	// Negative: False is good, True is bad.
	Negative Polarity = "negative"
	// Neutral: neither is good or bad.
	Neutral Polarity = "state"
)

// Summary says when a condition is an input of Ready (provider-status.md 1.1).
type Summary string

// When a condition is an input of Ready.
const (
	// SummaryNever: it is not.
	SummaryNever Summary = "never"
	// SummaryUntilProvisioned: until the object is provisioned.
	SummaryUntilProvisioned Summary = "until provisioned"
	// SummaryPoolAlways: until the object is provisioned, and on pools afterwards too.
	SummaryPoolAlways Summary = "until provisioned; on pools always"
	// SummaryAlways: always.
	SummaryAlways Summary = "always"
)

func (s Summary) feeds(role contract.Role, provisioned bool) bool {
	switch s {
	case SummaryAlways:
		return true
	case SummaryUntilProvisioned:
		return !provisioned
	case SummaryPoolAlways:
		return !provisioned || role == contract.RoleMachinePool
	default:
		return false
	}
}

// Kinds that carry conditions and events.
const (
	KindCluster         = "TerraformCluster"
	KindMachine         = "TerraformMachine"
	KindMachinePool     = "TerraformMachinePool"
	KindClusterTemplate = "TerraformClusterTemplate"
	KindMachineTemplate = "TerraformMachineTemplate"
	KindIdentity        = "TerraformClusterIdentity"
	KindPlan            = "TerraformPlan"
)

// workloads are the kinds that run modules.
var workloads = []string{KindCluster, KindMachine, KindMachinePool}

// Feature is a part of the product that is not built yet. Conditions and events that only it produces are in the catalogue,
// because their names are settled, and the reference says so.
type Feature string

// The features that are waited for; "" is built.
const (
	FeaturePlans            Feature = "plan approvals"
	FeatureDriftRemediation Feature = "drift remediation"
	FeatureRestore          Feature = "restore of backups"
	FeatureRetain           Feature = "retained infrastructure"
	FeatureAutoscaling      Feature = "autoscaling write-back"
)

// Type is one type of condition.
type Type struct {
	// Name is the type.
	Name string
	// Carriers are the kinds that have it.
	Carriers []string
	// Polarity says which status is bad.
	Polarity Polarity
	// Ready says when it is an input of Ready.
	Ready Summary
	// Silent tells that no event tells of its changes.
	Silent bool
	// Doc is what it tells.
	Doc string
	// Reasons are the statuses and reasons that it can have.
	Reasons []Reason
}

// reason returns the row of a reason.
func (t Type) reason(name string, status metav1.ConditionStatus) (Reason, bool) {
	i := slices.IndexFunc(t.Reasons, func(r Reason) bool { return r.Name == name && r.Status == status })
	if i < 0 {
		return Reason{}, false
	}
	return t.Reasons[i], true
}

// Reason is one status and reason of a type.
type Reason struct {
	// Status goes with the reason.
	Status metav1.ConditionStatus
	// Name is the reason.
	Name string
	// Doc says when it is set.
	Doc string
	// Action says what a person may do about it. What is Unknown or bad has one, and begins with "none" when there is nothing
	// to do; it is "" for what is good.
	Action string
	// Kinds are the carriers that can have it, when not all can.
	Kinds []string
	// Event is the reason of the event that tells of it; "" is ConditionChanged.
	Event string
	// From limits Event to changes from this status; "" is any.
	From metav1.ConditionStatus
	// Elsewhere tells that who brings it about emits an event of its own, once a Job or write, so that the change itself is
	// not told.
	Elsewhere bool
	// Progress tells that the bad status is a step on the way or a choice, so that no warning is due.
	Progress bool
	// Waits is the feature that produces it, when that is not built yet.
	Waits Feature
}

// Actions of events.
const (
	ActionReconcile   = "Reconcile"
	ActionRun         = "Run"
	ActionObserve     = "Observe"
	ActionState       = "ManageState"
	ActionCredentials = "ManageCredentials" //nolint:gosec // the name of an action
	ActionDelete      = "Delete"
	ActionPlan        = "Plan"
)

// EventReason is one reason of an event.
type EventReason struct {
	// Reason is the reason.
	Reason string
	// Type is Normal or Warning; ConditionChanged and some others have both, then it is the usual one.
	Type string
	// Either tells that it may have both types.
	Either bool
	// Action is what is being done.
	Action string
	// On are the kinds that it is about.
	On []string
	// Runner tells that the Job emits it, not the manager.
	Runner bool
	// Doc says when it is emitted.
	Doc string
	// Waits is the feature that emits it, when that is not built yet.
	Waits Feature
}
