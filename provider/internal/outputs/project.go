package outputs

import (
	"errors"
	"fmt"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/inputs"
)

// Sample says whether a reading is one more sample of the infrastructure's health (B-709). Looking at the same reading again
// is none.
type Sample string

// The kinds of readings.
const (
	// SampleNone: no Job has finished since the last look.
	SampleNone Sample = ""
	// SampleCheck: a refresh or drift check has finished successfully.
	SampleCheck Sample = "check"
	// SampleGone: a refresh or drift check has failed because the instance is gone (contract.md 8.1).
	SampleGone Sample = "gone"
	// SampleApply: an apply has finished successfully. Its reading counts if it stands in for the refresh that would follow.
	SampleApply Sample = "apply"
)

// State is what is known of an object's state.
type State struct {
	// Values are the outputs.
	Values contract.Values
	// Applied tells that the state is that of a successful apply: it carries a hash of inputs (B-652).
	Applied bool
	// Serial is the serial of the state.
	Serial int64
	// Inputs are those that the apply was given, nil when they are not known (inputs.Decode).
	Inputs contract.Inputs
}

// Reading is what an object is compared with.
type Reading struct {
	// State is the state, nil when there is none.
	State *State
	// Started tells that an apply of the object was ever started.
	Started bool
	// Sample says what this reading counts as.
	Sample Sample
	// Cluster is the Cluster of a TerraformCluster, nil when it is not known.
	Cluster *clusterv1.Cluster
	// MachinePool is the owner of a TerraformMachinePool, nil when it is not known.
	MachinePool *clusterv1.MachinePool
	// Contract is the version of the contract that the outputs are decoded by.
	Contract contract.Definition
}

// Project returns what has to change on the object for it to show the reading. The object is not changed. Outputs that break
// the contract change nothing but conditions, so that spec and status keep what was valid (provider-api.md 6.2).
func Project(obj infrav1.Workspace, r Reading) (*Plan, error) {
	if r.Contract == nil {
		return nil, errors.New("projecting outputs: no contract is given")
	}
	p := &projection{plan: &Plan{}, obj: obj, reading: r, provisioned: conditions.Provisioned(obj)}
	switch {
	case r.State != nil && r.State.Applied:
		if err := p.applied(); err != nil {
			return nil, err
		}
	case p.provisioned:
		// The state of a provisioned object is lost or belongs to no apply, which others tell. What is known stays.
	default:
		p.unapplied()
	}
	p.autoscaling()
	return p.plan, nil
}

type projection struct {
	plan        *Plan
	obj         infrav1.Workspace
	reading     Reading
	provisioned bool
}

func (p *projection) condition(conditionType string, v conditions.Value) {
	p.plan.Conditions = append(p.plan.Conditions, conditions.Condition{Type: conditionType, Value: v})
}

// unapplied is for an object without a successful apply (B-653).
func (p *projection) unapplied() {
	message := "waiting for the outputs of the first apply"
	if p.reading.State != nil {
		message = "waiting for the first apply to succeed; what a failed one left behind is not used"
	}
	p.condition(infrav1.OutputsValidCondition, conditions.Unknown(infrav1.OutputsPendingReason, "%s", message))
	if p.reading.Started {
		p.condition(infrav1.InfrastructureHealthyCondition,
			conditions.False(infrav1.ProvisioningReason, "the first apply has started and has not succeeded yet"))
		return
	}
	p.condition(infrav1.InfrastructureHealthyCondition,
		conditions.Unknown(infrav1.WaitingForProvisioningReason, "no apply has started yet; DependenciesReady and the conditions of credentials say what it waits for"))
}

// applied is for an object with the state of a successful apply.
func (p *projection) applied() error {
	state := p.reading.State
	decoded, vs := contract.Decode(p.reading.Contract, p.obj.Role(), state.Values, state.Inputs)
	switch obj := p.obj.(type) {
	case *infrav1.TerraformCluster:
		p.cluster(obj, decoded.(*contract.ClusterOutputs), vs)
	case *infrav1.TerraformMachine:
		out := decoded.(*contract.MachineOutputs)
		vs = append(vs, contract.CheckProviderID(obj.Spec.ProviderID, out.ProviderID)...)
		vs.Sort()
		p.machine(obj, out, vs)
	case *infrav1.TerraformMachinePool:
		p.pool(obj, decoded.(*contract.PoolOutputs), vs)
	default:
		return fmt.Errorf("projecting the outputs of %T: it is none of the kinds that run modules", obj)
	}
	p.condition(infrav1.OutputsValidCondition, conditions.From(vs.OutputsValid()))
	if !p.provisioned && decoded.Provisioned(state.Applied, vs) {
		p.plan.Provisioned = true
		p.event(conditions.ProvisionedEvent, "the infrastructure is provisioned")
	}
	p.plan.Violations = vs
	p.plan.Unsettled = p.unsettled(decoded, vs)
	p.plan.setSerial(p.obj, state.Serial)
	if p.plan.Provisioned || p.provisioned {
		p.endpointAvailable(decoded, vs)
	}
	return nil
}

// unsettled tells that the infrastructure is still changing. Members and size of a pool are compared only when both can be
// read: a mistake of the module is not mended by reading it more often.
func (p *projection) unsettled(decoded contract.Outputs, vs contract.Violations) bool {
	if pool, isPool := decoded.(*contract.PoolOutputs); isPool && !(writable(vs, "provider_id_list") && writable(vs, "replicas")) {
		return pool.Health.State == contract.HealthPending
	}
	return decoded.Unsettled()
}

func (p *projection) event(reason, format string, args ...any) {
	p.plan.Events = append(p.plan.Events, conditions.NewEvent(reason, fmt.Sprintf(format, args...)))
}

// writable tells that an output may be written: nothing in the outputs blocks, and this one is known.
func writable(vs contract.Violations, output string) bool {
	return len(vs.Blocking()) == 0 && len(vs.Under("outputs."+output).With(contract.ReasonPending)) == 0
}

// cluster projects the outputs of a cluster module (contract.md 9.2).
func (p *projection) cluster(obj *infrav1.TerraformCluster, out *contract.ClusterOutputs, vs contract.Violations) {
	p.health(out.Health, vs, nil)
	if len(vs.Blocking()) > 0 {
		return
	}
	p.endpoint(obj, out)
	domains := make([]infrav1.FailureDomain, 0, len(out.FailureDomains))
	for _, d := range out.FailureDomains {
		controlPlane := d.ControlPlane
		domains = append(domains, infrav1.FailureDomain{Name: d.Name, ControlPlane: &controlPlane, Attributes: d.Attributes})
	}
	if p.plan.setFailureDomains(obj, domains) {
		p.event(conditions.FailureDomainsChangedEvent, "the failure domains are %s", domainNames(domains))
	}
	exports, fits := contract.PublishExports(out.Exports)
	had := obj.Status.Exports != nil
	p.plan.setExports(obj, exports)
	// Exports that are too large leave no trace in status, so a state that was looked at before says that they were told of.
	firstLook := !p.provisioned && obj.Status.ObservedStateSerial != p.reading.State.Serial
	if !fits && (had || firstLook) {
		p.event(conditions.ExportsNotPublishedEvent,
			"the exports have more than %d bytes, so status.exports is empty; machines and pools are given them all the same", contract.MaxPublishedExports)
	}
}

// endpoint decides about spec.controlPlaneEndpoint (contract.md 9.3, B-791).
func (p *projection) endpoint(obj *infrav1.TerraformCluster, out *contract.ClusterOutputs) {
	var field, rendered *contract.Endpoint
	if e := obj.Spec.ControlPlaneEndpoint; e != nil {
		field = &contract.Endpoint{Host: e.Host, Port: int64(e.Port)}
	}
	switch in, known := p.reading.State.Inputs.(*contract.ClusterInputs); {
	case known:
		rendered = in.ControlPlaneEndpoint
	case p.reading.Cluster != nil:
		// What the apply was given is not known. An endpoint that the Cluster has may be the one.
		rendered = clusterEndpoint(p.reading.Cluster)
	default:
		return
	}
	publish := contract.EndpointToPublish(inputs.EndpointSource(obj), field, rendered, out.ControlPlaneEndpoint)
	if publish == nil {
		return
	}
	p.plan.Endpoint = &infrav1.APIEndpoint{Host: publish.Host, Port: int32(publish.Port)} //nolint:gosec // the contract bounds a port
	p.event(conditions.ControlPlaneEndpointSetEvent, "the control-plane endpoint is %s, port %d", publish.Host, publish.Port)
}

// endpointAvailable decides about EndpointAvailable of a provisioned cluster (B-794).
func (p *projection) endpointAvailable(decoded contract.Outputs, vs contract.Violations) {
	out, isCluster := decoded.(*contract.ClusterOutputs)
	if !isCluster || len(vs.Under("outputs.control_plane_endpoint").Blocking()) > 0 {
		return
	}
	p.condition(infrav1.EndpointAvailableCondition,
		conditions.From(contract.EndpointAvailable(true, out.ControlPlaneEndpoint, clusterEndpoint(p.reading.Cluster))))
}

// machine projects the outputs of a machine module (contract.md 10.2).
func (p *projection) machine(obj *infrav1.TerraformMachine, out *contract.MachineOutputs, vs contract.Violations) {
	p.health(out.Health, vs, out)
	if len(vs.Blocking()) > 0 {
		return
	}
	if out.ProviderID != "" && obj.Spec.ProviderID == "" {
		p.plan.ProviderID = &out.ProviderID
		p.event(conditions.ProviderIDSetEvent, "the provider id is %s", out.ProviderID)
	}
	if writable(vs, "addresses") {
		p.plan.setAddresses(obj, machineAddresses(out.Addresses))
	}
	if out.ProviderID != "" { // an instance that is gone keeps the place where it was
		p.plan.setFailureDomain(obj, out.FailureDomain)
	}
	p.plan.setInterruptible(obj, out.Interruptible)
}

// pool projects the outputs of a machinepool module (contract.md 11.2).
func (p *projection) pool(obj *infrav1.TerraformMachinePool, out *contract.PoolOutputs, vs contract.Violations) {
	p.health(out.Health, vs, nil)
	if len(vs.Blocking()) > 0 {
		return
	}
	if out.ProviderID != "" && obj.Spec.ProviderID != out.ProviderID {
		p.plan.ProviderID = &out.ProviderID
		p.event(conditions.ProviderIDSetEvent, "the provider id is %s", out.ProviderID)
	}
	if writable(vs, "provider_id_list") {
		p.plan.setProviderIDList(obj, out.ProviderIDList)
	}
	if out.Replicas != nil {
		p.plan.setReplicas(obj, *out.Replicas)
	}
	if writable(vs, "instances") {
		p.plan.setInstances(obj, poolInstances(out.Instances))
	}
}

// autoscaling decides about AutoscalingActive, given the size that the plan leaves (B-802).
func (p *projection) autoscaling() {
	pool, isPool := p.obj.(*infrav1.TerraformMachinePool)
	if !isPool || p.reading.MachinePool == nil {
		return
	}
	observed := pool.Status.Replicas
	if p.plan.Replicas != nil {
		observed = p.plan.Replicas
	}
	owner := p.reading.MachinePool
	size := contract.SizePool(owner.Annotations, wide(owner.Spec.Replicas), wide(observed))
	p.plan.Conditions = append(p.plan.Conditions, inputs.AutoscalingActive(size))
}

func clusterEndpoint(cluster *clusterv1.Cluster) *contract.Endpoint {
	if cluster == nil || !cluster.Spec.ControlPlaneEndpoint.IsValid() {
		return nil
	}
	e := cluster.Spec.ControlPlaneEndpoint
	return &contract.Endpoint{Host: e.Host, Port: int64(e.Port)}
}

func wide(n *int32) *int64 {
	if n == nil {
		return nil
	}
	w := int64(*n)
	return &w
}

func machineAddresses(list []contract.Address) []clusterv1.MachineAddress {
	out := make([]clusterv1.MachineAddress, 0, len(list))
	for _, a := range list {
		out = append(out, clusterv1.MachineAddress{Type: clusterv1.MachineAddressType(a.Type), Address: a.Address})
	}
	return out
}

func poolInstances(list []contract.Instance) []infrav1.PoolInstance {
	out := make([]infrav1.PoolInstance, 0, len(list))
	for _, i := range list {
		instance := infrav1.PoolInstance{
			ProviderID: i.ProviderID, InstanceID: i.InstanceID, FailureDomain: i.FailureDomain, State: string(i.State),
		}
		if len(i.Addresses) > 0 {
			instance.Addresses = machineAddresses(i.Addresses)
		}
		out = append(out, instance)
	}
	return out
}

// domainNames lists failure domains for people.
func domainNames(domains []infrav1.FailureDomain) string {
	if len(domains) == 0 {
		return "none"
	}
	list := make([]string, 0, len(domains))
	for _, d := range domains {
		list = append(list, d.Name)
	}
	return strings.Join(list, ", ")
}
