package v1alpha1

import (
	"fmt"
	"slices"

	"golang.org/x/text/unicode/norm"

	"github.com/captf-toolkit/captf/contract"
)

// read returns every output of the role that could be read. An output that is
// null, or has a violation, is null in the result.
func (d *definition) read(role contract.Role, values contract.Values) (record, contract.Violations) {
	var vs contract.Violations
	out := record{}
	for _, row := range d.specs[role].Outputs {
		value, found := row.Read(values)
		out[row.Name] = value
		vs = append(vs, found...)
	}
	vs.Sort()
	return out, vs
}

// DecodeCluster implements contract.Definition.
func (d *definition) DecodeCluster(values contract.Values) (*contract.ClusterOutputs, contract.Violations) {
	t, vs := d.read(contract.RoleCluster, values)
	out := &contract.ClusterOutputs{
		ControlPlaneEndpoint: endpointOf(t.object("control_plane_endpoint")),
		FailureDomains:       failureDomainsOf(t.objects("failure_domains")),
		Health:               healthOf(t.object("health")),
	}
	if len(vs.Under("outputs.exports").Blocking()) == 0 {
		// Read has checked that there is a canonical form.
		out.Exports, _ = contract.CanonicalJSON("outputs.exports", t["exports"])
	}
	return out, vs
}

// DecodeMachine implements contract.Definition.
func (d *definition) DecodeMachine(values contract.Values, in *contract.MachineInputs) (*contract.MachineOutputs, contract.Violations) {
	t, vs := d.read(contract.RoleMachine, values)
	out := &contract.MachineOutputs{
		ProviderID:    t.text("provider_id"),
		Addresses:     addressesOf(t, "addresses"),
		FailureDomain: t.optionalText("failure_domain"),
		Interruptible: t.flag("interruptible"),
		Health:        healthOf(t.object("health")),
	}
	if in != nil && len(vs.Under("outputs.failure_domain").Blocking()) == 0 {
		vs = append(vs, checkFailureDomain(in.FailureDomain, out.FailureDomain)...)
		vs.Sort()
	}
	return out, vs
}

// checkFailureDomain compares the failure domain that was asked for with the
// one the machine is in (contract.md 10.2, CP-045).
func checkFailureDomain(want, got *string) contract.Violations {
	// The runtimes normalise text to NFC, so what comes back may differ in bytes.
	if want == nil || got != nil && norm.NFC.String(*got) == norm.NFC.String(*want) {
		return nil
	}
	is := "is null"
	if got != nil {
		is = fmt.Sprintf("is %q", *got)
	}
	return contract.Violations{{
		Path: "outputs.failure_domain", Rule: contract.RuleFailureDomain, Reason: contract.ReasonFailureDomainMismatch,
		Message: fmt.Sprintf("%s, but the input failure_domain asked for %q; place the instance there and emit that", is, *want),
	}}
}

// DecodePool implements contract.Definition.
func (d *definition) DecodePool(values contract.Values) (*contract.PoolOutputs, contract.Violations) {
	t, vs := d.read(contract.RoleMachinePool, values)
	out := &contract.PoolOutputs{
		ProviderID:     t.text("provider_id"),
		ProviderIDList: t.texts("provider_id_list"),
		Replicas:       t.optionalWhole("replicas"),
		Instances:      instancesOf(t.objects("instances")),
		Health:         healthOf(t.object("health")),
	}
	slices.Sort(out.ProviderIDList)
	out.ProviderIDList = slices.Compact(out.ProviderIDList)
	return out, vs
}

func healthOf(o record) contract.Health {
	return contract.Health{
		State:   contract.HealthState(o.text("state")),
		Healthy: o.flag("healthy"),
		Message: o.text("message"),
		Reasons: o.texts("reasons"),
	}
}

func failureDomainsOf(items []record) []contract.FailureDomain {
	var out []contract.FailureDomain
	for _, o := range items {
		out = append(out, contract.FailureDomain{
			Name:         o.text("name"),
			ControlPlane: o.flag("control_plane"),
			Attributes:   o.textMap("attributes"),
		})
	}
	return out
}

// addressesOf returns a list of addresses in canonical order, nil when it is null.
func addressesOf(o record, name string) []contract.Address {
	if _, ok := o[name].([]any); !ok {
		return nil
	}
	out := []contract.Address{}
	for _, item := range o.objects(name) {
		out = append(out, contract.Address{
			Type: contract.AddressType(item.text("type")), Address: item.text("address"),
		})
	}
	contract.SortAddresses(out)
	return out
}

func instancesOf(items []record) []contract.Instance {
	if items == nil {
		return nil
	}
	out := make([]contract.Instance, 0, len(items))
	for _, o := range items {
		out = append(out, contract.Instance{
			ProviderID:    o.text("provider_id"),
			InstanceID:    o.text("instance_id"),
			Addresses:     addressesOf(o, "addresses"),
			FailureDomain: o.text("failure_domain"),
			State:         contract.HealthState(o.text("state")),
		})
	}
	return out
}
