package inputs

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
)

// Gate is why an object cannot have a Job now: the value of the condition that carries it.
type Gate struct {
	// Type is the type of the condition: DependenciesReady, or ApplyJobSucceeded for inputs that are too large (B-333).
	Type string
	// Value is its status, reason and message. The message says what is waited for and what to do.
	conditions.Value
	// OfOwner tells that the gate is about owner, cluster or the cluster's infrastructure. A deleting object is not held by
	// one: it is destroyed from its records (B-052).
	OfOwner bool
}

// DependenciesReady returns the condition that the gate stands for; nil stands for an object whose dependencies are all met.
func DependenciesReady(gate *Gate) conditions.Condition {
	if gate == nil || gate.Type != infrav1.DependenciesReadyCondition {
		return conditions.Condition{
			Type: infrav1.DependenciesReadyCondition, Value: conditions.True(infrav1.DependenciesReadyReason, ""),
		}
	}
	return conditions.Condition{Type: gate.Type, Value: gate.Value}
}

func newGate(status metav1.ConditionStatus, reason, format string, args ...any) *Gate {
	return &Gate{
		Type:  infrav1.DependenciesReadyCondition,
		Value: conditions.Value{Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)},
	}
}

// waiting returns a gate that opens by itself (B-010).
func waiting(reason, format string, args ...any) *Gate {
	return newGate(metav1.ConditionUnknown, reason, format, args...)
}

// wrong returns a gate that somebody has to open.
func wrong(reason, format string, args ...any) *Gate {
	return newGate(metav1.ConditionFalse, reason, format, args...)
}

func (g *Gate) ofOwner() *Gate {
	g.OfOwner = true
	return g
}

// variablesGate returns the gate that violations of variables stand for, nil when there are none (B-054, B-055).
func variablesGate(vs contract.Violations) *Gate {
	c, closed := vs.VariablesReady()
	if !closed {
		return nil
	}
	return &Gate{Type: infrav1.DependenciesReadyCondition, Value: conditions.From(c)}
}
