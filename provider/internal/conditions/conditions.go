package conditions

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capi "sigs.k8s.io/cluster-api/util/conditions"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// maxMessage is what the API server takes as the message of a condition, in characters.
const maxMessage = 32768

// Object is an object with conditions.
type Object interface {
	metav1.Object
	capi.Setter
}

// Value is what is known about one condition: all that the one who decides has to say.
type Value struct {
	// Status is True, False or Unknown.
	Status metav1.ConditionStatus
	// Reason is one of the reasons of the condition in the catalogue.
	Reason string
	// Message is for people: what is the matter, and what to do. It never holds values of variables, credentials or outputs.
	Message string
}

// Condition is a Value with the type of the condition.
type Condition struct {
	// Type is the type of the condition, such as OutputsValid.
	Type string
	Value
}

// True returns the value of a condition that is true.
func True(reason, format string, args ...any) Value {
	return Value{Status: metav1.ConditionTrue, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// False returns the value of a condition that is false.
func False(reason, format string, args ...any) Value {
	return Value{Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Unknown returns the value of a condition that is not known; every wait is one (B-010).
func Unknown(reason, format string, args ...any) Value {
	return Value{Status: metav1.ConditionUnknown, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// From returns what a rule of the contract says.
func From(c contract.Condition) Value {
	return Value{Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message}
}

// Set sets a condition for the object's current generation and tells whether anything changed. The time of transition moves
// only with the status (provider-status.md 1). A message that is too long is cut.
func Set(obj Object, conditionType string, v Value, now time.Time) bool {
	before := Get(obj, conditionType)
	next := metav1.Condition{
		Type: conditionType, Status: v.Status, Reason: v.Reason, Message: cut(v.Message),
		ObservedGeneration: obj.GetGeneration(), LastTransitionTime: metav1.NewTime(now),
	}
	if before != nil && before.Status == next.Status && before.Reason == next.Reason && before.Message == next.Message &&
		before.ObservedGeneration == next.ObservedGeneration {
		return false
	}
	capi.Set(obj, next)
	return true
}

// SetAll sets several conditions and tells whether anything changed.
func SetAll(obj Object, list []Condition, now time.Time) bool {
	changed := false
	for _, c := range list {
		changed = Set(obj, c.Type, c.Value, now) || changed
	}
	return changed
}

// Settle gives each condition that has the status which was stored the time of transition that was stored: what one step of a
// pass finds, a later one may have found to be otherwise, as it was before.
func Settle(obj Object, stored []metav1.Condition) {
	settled := obj.GetConditions()
	for i := range settled {
		at := slices.IndexFunc(stored, func(c metav1.Condition) bool { return c.Type == settled[i].Type })
		if at >= 0 && stored[at].Status == settled[i].Status {
			settled[i].LastTransitionTime = stored[at].LastTransitionTime
		}
	}
	obj.SetConditions(settled)
}

// Get returns the condition with the type, nil when there is none.
func Get(obj capi.Getter, conditionType string) *metav1.Condition {
	for _, c := range obj.GetConditions() {
		if c.Type == conditionType {
			return &c
		}
	}
	return nil
}

// HasReason tells that the condition is there with one of the reasons.
func HasReason(obj capi.Getter, conditionType string, reasons ...string) bool {
	c := Get(obj, conditionType)
	return c != nil && slices.Contains(reasons, c.Reason)
}

// Initialize sets what every workload object has from its first visit on, as far as it is not there yet: that there was no
// check, and DeletionBlocked of a cluster (provider-status.md 1, 2.11). Paused and Deleting are decided on each pass.
func Initialize(obj infrav1.Workspace, now time.Time) {
	for conditionType, message := range map[string]string{
		infrav1.DriftDetectedCondition: "no drift check has finished yet", infrav1.DriftJobSucceededCondition: "no check has finished yet",
	} {
		if Get(obj, conditionType) == nil {
			Set(obj, conditionType, Unknown(infrav1.DriftNotCheckedReason, "%s", message), now)
		}
	}
	if obj.Role() == contract.RoleCluster && Get(obj, infrav1.DeletionBlockedCondition) == nil {
		Set(obj, infrav1.DeletionBlockedCondition, False(infrav1.NotBlockedReason, ""), now)
	}
}

// cut shortens a message to what the API server takes, at the end of a character.
func cut(message string) string {
	if utf8.RuneCountInString(message) <= maxMessage {
		return message
	}
	const end = "…"
	runes := []rune(message)
	return strings.TrimRight(string(runes[:maxMessage-utf8.RuneCountInString(end)]), " ") + end
}
