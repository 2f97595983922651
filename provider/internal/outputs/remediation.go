package outputs

import (
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/inputs"
)

// Mark says what becomes of the marks that ask for a Machine to be replaced.
type Mark string

// What becomes of the marks.
const (
	// MarkKeep leaves the Machine as it is.
	MarkKeep Mark = ""
	// MarkSet asks for replacement.
	MarkSet Mark = "set"
	// MarkRemove takes back what we asked for.
	MarkRemove Mark = "remove"
)

// Remediation is a decision about a Machine.
type Remediation struct {
	// Mark says what to do.
	Mark Mark
	// Reason is the reason of InfrastructureHealthy that asks for it, the value of captf.io/remediation-requested.
	Reason string
	// Event tells of it; it is emitted once the Machine is patched.
	Event *conditions.Event
}

// Remediate decides whether the Machine of an object is marked for replacement (B-711, B-712), from the object as it is
// after the projection. Asking for it needs the policy to be on, and a count of unhealthy samples or a terminated instance.
// Taking it back needs a healthy reading and our own mark. A mark that somebody else made is never touched.
func Remediate(obj *infrav1.TerraformMachine, machine *clusterv1.Machine, policy inputs.Remediation) Remediation {
	if machine == nil || !machine.DeletionTimestamp.IsZero() {
		return Remediation{}
	}
	_, marked := machine.Annotations[clusterv1.RemediateMachineAnnotation]
	_, ours := machine.Annotations[infrav1.AnnotationRemediationRequested]
	health := conditions.Get(obj, infrav1.InfrastructureHealthyCondition)
	switch {
	case health == nil || !conditions.Provisioned(obj):
		return Remediation{}
	case health.Status == metav1.ConditionTrue:
		if !ours {
			return Remediation{}
		}
		event := conditions.NewEvent(conditions.RemediationWithdrawnEvent,
			fmt.Sprintf("Machine %s is healthy again and is not replaced", machine.Name))
		return Remediation{Mark: MarkRemove, Reason: health.Reason, Event: &event}
	case !policy.Enabled || marked || !obj.DeletionTimestamp.IsZero() || !due(obj, health.Reason, policy):
		return Remediation{}
	}
	event := conditions.NewEvent(conditions.RemediationRequestedEvent,
		fmt.Sprintf("Machine %s is marked for replacement: %s", machine.Name, health.Reason))
	return Remediation{Mark: MarkSet, Reason: health.Reason, Event: &event}
}

// due tells that the health is bad enough, for long enough.
func due(obj *infrav1.TerraformMachine, reason string, policy inputs.Remediation) bool {
	switch reason {
	case infrav1.InstanceTerminatedReason:
		return true
	case infrav1.InstanceUnhealthyReason, infrav1.InstanceDegradedReason, infrav1.InstanceStoppedReason:
		return obj.Status.UnhealthySamples >= policy.Threshold
	default:
		return false
	}
}

// Apply makes the decision on the Machine and tells whether it changed. The caller patches it with the resourceVersion that
// was looked at, and on a conflict reads it live and decides once more (B-713).
func (r Remediation) Apply(machine *clusterv1.Machine) bool {
	switch r.Mark {
	case MarkSet:
		if machine.Annotations == nil {
			machine.Annotations = map[string]string{}
		}
		machine.Annotations[clusterv1.RemediateMachineAnnotation] = ""
		machine.Annotations[infrav1.AnnotationRemediationRequested] = r.Reason
		return true
	case MarkRemove:
		delete(machine.Annotations, clusterv1.RemediateMachineAnnotation)
		delete(machine.Annotations, infrav1.AnnotationRemediationRequested)
		return true
	default:
		return false
	}
}
