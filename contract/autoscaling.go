package contract

import (
	"fmt"
	"strconv"
)

// Annotations of a MachinePool that are about its size (contract.md 11.3).
const (
	// AnnotationAutoscalerMin and AnnotationAutoscalerMax switch autoscaling on
	// when both hold whole numbers with 0 <= min <= max.
	AnnotationAutoscalerMin = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	AnnotationAutoscalerMax = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
	// AnnotationReplicasManagedBy names who owns spec.replicas.
	AnnotationReplicasManagedBy = "cluster.x-k8s.io/replicas-managed-by"
	// ReplicasManager is our value of AnnotationReplicasManagedBy.
	ReplicasManager = "captf"
)

// Claim says what to do with AnnotationReplicasManagedBy.
type Claim string

// The things to do with the annotation.
const (
	// ClaimKeep leaves it as it is.
	ClaimKeep Claim = "keep"
	// ClaimSet sets it to ReplicasManager.
	ClaimSet Claim = "set"
	// ClaimRemove removes it.
	ClaimRemove Claim = "remove"
)

// PoolSize is what follows from the annotations and sizes of a pool.
type PoolSize struct {
	// Autoscaling is the input autoscaling.
	Autoscaling Autoscaling
	// Replicas is the input replicas.
	Replicas int64
	// Condition is AutoscalingActive.
	Condition Condition
	// Claim says what becomes of AnnotationReplicasManagedBy.
	Claim Claim
	// WriteBack is what MachinePool.spec.replicas is set to, in one patch with
	// the claim; nil leaves it.
	WriteBack *int64
}

// SizePool decides about the size of a pool, given the MachinePool's
// annotations, its spec.replicas and the size observed in
// TerraformMachinePool.status.replicas; both are nil while unset. Beware that
// the observed size is the raw one, which may be outside the range.
func SizePool(annotations map[string]string, spec, observed *int64) PoolSize {
	wanted := int64(1)
	if spec != nil {
		wanted = *spec
	}
	scaling, off := autoscalingOf(annotations)
	manager, managed := annotations[AnnotationReplicasManagedBy]
	if off != nil {
		size := PoolSize{Replicas: wanted, Condition: *off, Claim: ClaimKeep}
		if manager == ReplicasManager {
			size.Claim = ClaimRemove
		}
		return size
	}
	size := PoolSize{Autoscaling: scaling, Replicas: wanted, Claim: ClaimKeep}
	if managed && manager != "false" && manager != ReplicasManager {
		size.Condition = Condition{
			Status: ConditionFalse, Reason: "ReplicasManagedExternally",
			Message: fmt.Sprintf("annotation %s is %s, so spec.replicas is left to that owner; remove the annotation to let the module scale",
				AnnotationReplicasManagedBy, quote(manager)),
		}
		return size
	}
	if manager != ReplicasManager {
		size.Claim = ClaimSet
	}
	if observed != nil {
		size.Replicas = *observed
		if spec == nil || *spec != *observed {
			raw := *observed
			size.WriteBack = &raw
		}
	}
	size.Replicas = scaling.Clamp(size.Replicas)
	size.Condition = Condition{
		Status: ConditionTrue, Reason: "ReplicasManagedByModule",
		Message: fmt.Sprintf("the group scales itself between %d and %d", scaling.Min, scaling.Max),
	}
	return size
}

// Clamp returns n moved into the range, n itself when the range is off.
func (a Autoscaling) Clamp(n int64) int64 {
	if !a.Enabled {
		return n
	}
	return max(a.Min, min(n, a.Max))
}

// autoscalingOf reads the range from the annotations. The condition is nil
// when autoscaling is on, else it says why it is off.
func autoscalingOf(annotations map[string]string) (Autoscaling, *Condition) {
	lower, hasLower := annotations[AnnotationAutoscalerMin]
	upper, hasUpper := annotations[AnnotationAutoscalerMax]
	if !hasLower && !hasUpper {
		return Autoscaling{}, &Condition{
			Status: ConditionFalse, Reason: "AutoscalingDisabled",
			Message: "the MachinePool has no autoscaler annotations, so spec.replicas is the size",
		}
	}
	invalid := func(format string, args ...any) (Autoscaling, *Condition) {
		return Autoscaling{}, &Condition{
			Status: ConditionFalse, Reason: "AutoscalingAnnotationsInvalid",
			Message: fmt.Sprintf(format, args...) + "; spec.replicas is the size until this is fixed",
		}
	}
	switch {
	case !hasLower:
		return invalid("annotation %s is missing beside %s", AnnotationAutoscalerMin, AnnotationAutoscalerMax)
	case !hasUpper:
		return invalid("annotation %s is missing beside %s", AnnotationAutoscalerMax, AnnotationAutoscalerMin)
	}
	from, err := size(lower)
	if err != nil {
		return invalid("annotation %s is %s, which is no whole number from 0 to 2147483647", AnnotationAutoscalerMin, quote(lower))
	}
	to, err := size(upper)
	if err != nil {
		return invalid("annotation %s is %s, which is no whole number from 0 to 2147483647", AnnotationAutoscalerMax, quote(upper))
	}
	if from > to {
		return invalid("annotation %s is %d, which is more than the %d of %s", AnnotationAutoscalerMin, from, to, AnnotationAutoscalerMax)
	}
	return Autoscaling{Enabled: true, Min: from, Max: to}, nil
}

// size reads a number of replicas, which Kubernetes keeps in 32 bits.
func size(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int64(n), err
}
