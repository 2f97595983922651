package outputs

import (
	"encoding/json"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
)

// Plan is what has to change on an object; what is nil stays. The caller writes spec and metadata first, in a patch of their
// own, and status after that (B-654), so that Cluster API never sees a status ahead of the spec that it belongs to. A crash
// between the two repeats nothing that was written. Emit the events of SpecEvents after the first patch and those of
// StatusEvents after the second, so that each is told once.
type Plan struct {
	// Endpoint is spec.controlPlaneEndpoint of a cluster; with it goes the record that it came from the module (B-791).
	Endpoint *infrav1.APIEndpoint
	// ProviderID is spec.providerID of a machine or pool.
	ProviderID *string
	// ProviderIDList is spec.providerIDList of a pool, sorted.
	ProviderIDList *[]string

	// Provisioned latches status.initialization.provisioned, and status.ready of a pool.
	Provisioned bool
	// Serial is status.observedStateSerial.
	Serial *int64
	// FailureDomains and Exports are those of a cluster's status; Exports pointing to nil clears them.
	FailureDomains *[]infrav1.FailureDomain
	Exports        **apiextensionsv1.JSON
	// Addresses, FailureDomain and Interruptible are those of a machine's status.
	Addresses     *[]clusterv1.MachineAddress
	FailureDomain *string
	Interruptible *bool
	// Replicas and Instances are those of a pool's status.
	Replicas  *int32
	Instances *[]infrav1.PoolInstance
	// UnhealthySamples and PendingRefreshes are the counters of status; 0 unsets them.
	UnhealthySamples *int32
	PendingRefreshes *int32

	// Conditions are OutputsValid and InfrastructureHealthy, of clusters EndpointAvailable, of pools AutoscalingActive.
	// Setting one that has the value already changes nothing.
	Conditions []conditions.Condition
	// Events are those that no condition tells (conditions.Transitions).
	Events []conditions.Event

	// Violations are those of the outputs, nil when there are no outputs to judge.
	Violations contract.Violations
	// Unsettled tells that the infrastructure is still changing and is read again soon (contract.md 14.2).
	Unsettled bool
	// StandsIn tells that the reading of an apply stands in for the refresh that would follow it: the caller sets
	// status.lastRefresh to the end of the apply (B-095).
	StandsIn bool
}

// ChangesSpec tells that spec or metadata changes.
func (p *Plan) ChangesSpec() bool {
	return p.Endpoint != nil || p.ProviderID != nil || p.ProviderIDList != nil
}

// ApplySpec writes the changes of spec and metadata into the object.
func (p *Plan) ApplySpec(obj infrav1.Workspace) {
	switch obj := obj.(type) {
	case *infrav1.TerraformCluster:
		if p.Endpoint != nil {
			endpoint := *p.Endpoint
			obj.Spec.ControlPlaneEndpoint = &endpoint
			if obj.Annotations == nil {
				obj.Annotations = map[string]string{}
			}
			obj.Annotations[contract.AnnotationEndpointSource] = string(contract.EndpointSourceModule)
		}
	case *infrav1.TerraformMachine:
		if p.ProviderID != nil {
			obj.Spec.ProviderID = *p.ProviderID
		}
	case *infrav1.TerraformMachinePool:
		if p.ProviderID != nil {
			obj.Spec.ProviderID = *p.ProviderID
		}
		if p.ProviderIDList != nil {
			obj.Spec.ProviderIDList = slices.Clone(*p.ProviderIDList)
		}
	}
}

// ApplyStatus writes the changes of status into the object, conditions included. Ready is not among them: it is summed up
// when all conditions of a pass are set.
func (p *Plan) ApplyStatus(obj infrav1.Workspace, now time.Time) {
	status := obj.WorkspaceStatus()
	if p.Provisioned {
		provisioned := true
		status.Initialization = &infrav1.InitializationStatus{Provisioned: &provisioned}
	}
	if p.Serial != nil {
		status.ObservedStateSerial = *p.Serial
	}
	if p.PendingRefreshes != nil {
		status.PendingRefreshes = *p.PendingRefreshes
	}
	switch obj := obj.(type) {
	case *infrav1.TerraformCluster:
		p.applyCluster(obj)
	case *infrav1.TerraformMachine:
		p.applyMachine(obj)
	case *infrav1.TerraformMachinePool:
		p.applyPool(obj)
	}
	conditions.SetAll(obj, p.Conditions, now)
}

func (p *Plan) applyCluster(obj *infrav1.TerraformCluster) {
	if p.FailureDomains != nil {
		obj.Status.FailureDomains = slices.Clone(*p.FailureDomains)
	}
	if p.Exports != nil {
		obj.Status.Exports = *p.Exports
	}
}

func (p *Plan) applyMachine(obj *infrav1.TerraformMachine) {
	if p.Addresses != nil {
		obj.Status.Addresses = slices.Clone(*p.Addresses)
	}
	if p.FailureDomain != nil {
		obj.Status.FailureDomain = *p.FailureDomain
	}
	if p.Interruptible != nil {
		obj.Status.Interruptible = p.Interruptible
	}
	if p.UnhealthySamples != nil {
		obj.Status.UnhealthySamples = *p.UnhealthySamples
	}
}

func (p *Plan) applyPool(obj *infrav1.TerraformMachinePool) {
	if p.Provisioned {
		obj.Status.Ready = true
	}
	if p.Replicas != nil {
		obj.Status.Replicas = p.Replicas
	}
	if p.Instances != nil {
		obj.Status.Instances = slices.Clone(*p.Instances)
	}
}

// set returns a pointer to the new value if it differs from the old one; empty and absent are the same.
func set[T any](old, value T) *T {
	if apiequality.Semantic.DeepEqual(old, value) {
		return nil
	}
	return &value
}

func (p *Plan) setSerial(obj infrav1.Workspace, serial int64) {
	p.Serial = set(obj.WorkspaceStatus().ObservedStateSerial, serial)
}

func (p *Plan) setFailureDomains(obj *infrav1.TerraformCluster, domains []infrav1.FailureDomain) bool {
	p.FailureDomains = set(obj.Status.FailureDomains, domains)
	return p.FailureDomains != nil
}

// setExports takes nil for exports that are not published.
func (p *Plan) setExports(obj *infrav1.TerraformCluster, exports json.RawMessage) {
	var value *apiextensionsv1.JSON
	if exports != nil {
		value = &apiextensionsv1.JSON{Raw: exports}
	}
	if !sameJSON(obj.Status.Exports, value) {
		p.Exports = &value
	}
}

// sameJSON compares values and not their texts: the API server keeps JSON by value, with its own spaces and escapes.
func sameJSON(a, b *apiextensionsv1.JSON) bool {
	if a == nil || b == nil {
		return a == b
	}
	left, brokenLeft := canonical(a.Raw)
	right, brokenRight := canonical(b.Raw)
	return !brokenLeft && !brokenRight && left == right
}

func canonical(raw []byte) (text string, broken bool) {
	value, violation := contract.ParseJSON("exports", raw)
	if violation != nil {
		return "", true
	}
	out, violation := contract.CanonicalJSON("exports", value)
	return string(out), violation != nil
}

func (p *Plan) setAddresses(obj *infrav1.TerraformMachine, addresses []clusterv1.MachineAddress) {
	p.Addresses = set(obj.Status.Addresses, addresses)
}

func (p *Plan) setFailureDomain(obj *infrav1.TerraformMachine, domain *string) {
	value := ""
	if domain != nil {
		value = *domain
	}
	p.FailureDomain = set(obj.Status.FailureDomain, value)
}

// setInterruptible writes false too, so that silence of the module is told from silence of the controller.
func (p *Plan) setInterruptible(obj *infrav1.TerraformMachine, interruptible bool) {
	if old := obj.Status.Interruptible; old == nil || *old != interruptible {
		p.Interruptible = &interruptible
	}
}

func (p *Plan) setProviderIDList(obj *infrav1.TerraformMachinePool, list []string) {
	p.ProviderIDList = set(obj.Spec.ProviderIDList, list)
}

func (p *Plan) setReplicas(obj *infrav1.TerraformMachinePool, replicas int64) {
	n := int32(min(replicas, 1<<31-1)) //nolint:gosec // bounded in the same expression
	if old := obj.Status.Replicas; old == nil || *old != n {
		p.Replicas = &n
	}
}

func (p *Plan) setInstances(obj *infrav1.TerraformMachinePool, instances []infrav1.PoolInstance) {
	p.Instances = set(obj.Status.Instances, instances)
}
