package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/fixtures"
	"github.com/captf-toolkit/captf/contract/v1alpha1"
)

var cases = sync.OnceValues(func() ([]fixtures.Case, error) { return fixtures.Cases(v1alpha1.Version) })

// fixture returns the values of a valid outputs case, for the test to change.
func fixture(t testing.TB, role contract.Role, name string) contract.Values {
	t.Helper()
	all, err := cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.Role == role && c.Side == fixtures.Outputs && c.Valid && c.Name == name {
			values := c.Values()
			values.Outputs = maps.Clone(values.Outputs)
			return values
		}
	}
	t.Fatalf("there is no valid case %s of role %s", name, role)
	return contract.Values{}
}

func TestDecodeCluster(t *testing.T) {
	d := v1alpha1.Definition()
	running := contract.Health{State: contract.HealthRunning, Healthy: true, Reasons: []string{}}
	tests := []struct {
		name string
		want *contract.ClusterOutputs
	}{
		{"typical", &contract.ClusterOutputs{
			ControlPlaneEndpoint: &contract.Endpoint{Host: "api.prod.example.com", Port: 6443},
			FailureDomains: []contract.FailureDomain{
				{Name: "zone-a", ControlPlane: true, Attributes: map[string]string{}},
				{Name: "zone-b", Attributes: map[string]string{"rack": "r2"}},
			},
			Exports: json.RawMessage(`{"mtu":1450,"network_id":"net-1","subnets":["s-1"]}`),
			Health:  running,
		}},
		{"domains-minimal", &contract.ClusterOutputs{
			ControlPlaneEndpoint: &contract.Endpoint{Host: "api.prod.example.com", Port: 6443},
			FailureDomains: []contract.FailureDomain{
				{Name: "zone-a", ControlPlane: true, Attributes: map[string]string{}},
				{Name: "zone-b", ControlPlane: true, Attributes: map[string]string{}},
			},
			Exports: json.RawMessage(`{"mtu":1450,"network_id":"net-1","subnets":["s-1"]}`),
			Health:  running,
		}},
		{"exports-null", &contract.ClusterOutputs{
			ControlPlaneEndpoint: &contract.Endpoint{Host: "api.prod.example.com", Port: 6443},
			FailureDomains: []contract.FailureDomain{
				{Name: "zone-a", ControlPlane: true, Attributes: map[string]string{}},
				{Name: "zone-b", Attributes: map[string]string{"rack": "r2"}},
			},
			Exports: json.RawMessage(`{}`),
			Health:  running,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, vs := d.DecodeCluster(fixture(t, contract.RoleCluster, tt.name))
			if len(vs) > 0 {
				t.Error(vs)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
		})
	}
	for _, name := range []string{"domains-null", "domains-empty"} {
		if got, _ := d.DecodeCluster(fixture(t, contract.RoleCluster, name)); got.FailureDomains != nil {
			t.Errorf("%s decodes to %v, which does not clear the status", name, got.FailureDomains)
		}
	}
	if got, _ := d.DecodeCluster(fixture(t, contract.RoleCluster, "endpoint-null")); got.ControlPlaneEndpoint != nil {
		t.Errorf("a null endpoint decodes to %v", got.ControlPlaneEndpoint)
	}
}

func TestDecodeMachine(t *testing.T) {
	d := v1alpha1.Definition()
	got, vs := d.DecodeMachine(fixture(t, contract.RoleMachine, "addresses-unsorted"), nil)
	if len(vs) > 0 {
		t.Error(vs)
	}
	want := &contract.MachineOutputs{
		ProviderID: "sim:///zone-a/i-0001",
		Addresses: []contract.Address{
			{Type: contract.AddressInternalIP, Address: "10.0.0.10"},
			{Type: contract.AddressInternalIP, Address: "10.0.0.9"},
			{Type: contract.AddressInternalDNS, Address: "i.internal"},
			{Type: contract.AddressExternalIP, Address: "192.0.2.1"},
			{Type: contract.AddressExternalDNS, Address: "e.example.com"},
			{Type: contract.AddressHostname, Address: "h"},
		},
		FailureDomain: new("zone-a"),
		Health:        contract.Health{State: contract.HealthRunning, Healthy: true, Reasons: []string{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	got, _ = d.DecodeMachine(fixture(t, contract.RoleMachine, "pending-all"), nil)
	if got.ProviderID != "" || got.Addresses != nil || got.Health.State != contract.HealthPending {
		t.Errorf("a pending machine decodes to %+v", got)
	}
	got, _ = d.DecodeMachine(fixture(t, contract.RoleMachine, "addresses-empty"), nil)
	if got.Addresses == nil || len(got.Addresses) != 0 {
		t.Errorf("an empty list of addresses decodes to %#v", got.Addresses)
	}
}

// TestDecodeMachineDomain checks the comparison with the input.
func TestDecodeMachineDomain(t *testing.T) {
	d := v1alpha1.Definition()
	values := fixture(t, contract.RoleMachine, "typical")
	for _, tt := range []struct {
		asked    *string
		output   string
		mismatch bool
	}{
		{nil, `"zone-a"`, false},
		{nil, `null`, false},
		{new("zone-a"), `"zone-a"`, false},
		{new("zone-b"), `"zone-a"`, true},
		{new("zone-b"), `null`, true},
		// The runtimes turn e and a combining accent into one character.
		{new("re\u0301gion"), `"r\u00e9gion"`, false},
	} {
		values.Outputs["failure_domain"] = json.RawMessage(tt.output)
		_, vs := d.DecodeMachine(values, &contract.MachineInputs{FailureDomain: tt.asked})
		if got := len(vs.With(contract.ReasonFailureDomainMismatch)) == 1; got != tt.mismatch {
			t.Errorf("asked for %v, got %s: mismatch is %t", tt.asked, tt.output, got)
		}
	}
}

func TestDecodePool(t *testing.T) {
	d := v1alpha1.Definition()
	got, vs := d.DecodePool(fixture(t, contract.RoleMachinePool, "typical"))
	if len(vs) > 0 {
		t.Error(vs)
	}
	want := &contract.PoolOutputs{
		ProviderID:     "sim:///groups/prod-pool",
		ProviderIDList: []string{"sim:///zone-a/i-0001", "sim:///zone-b/i-0002"},
		Replicas:       new(int64(2)),
		Instances: []contract.Instance{
			{
				ProviderID: "sim:///zone-a/i-0001", InstanceID: "i-0001", FailureDomain: "zone-a", State: contract.HealthRunning,
				Addresses: []contract.Address{{Type: contract.AddressInternalIP, Address: "10.0.0.4"}},
			},
			{ProviderID: "sim:///zone-b/i-0002", State: contract.HealthRunning, Addresses: []contract.Address{}},
		},
		Health: contract.Health{State: contract.HealthRunning, Healthy: true, Reasons: []string{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	got, _ = d.DecodePool(fixture(t, contract.RoleMachinePool, "list-unsorted-duplicates"))
	if diff := cmp.Diff([]string{"a", "b"}, got.ProviderIDList); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if got.Unsettled() {
		t.Error("a pool with as many members as replicas is unsettled")
	}
	got, _ = d.DecodePool(fixture(t, contract.RoleMachinePool, "list-scaling"))
	if !got.Unsettled() {
		t.Error("a pool that scales is settled")
	}
	got, vs = d.DecodePool(fixture(t, contract.RoleMachinePool, "instances-truncated"))
	if len(got.Instances) != 1000 || got.Instances[999].ProviderID != "i999" {
		t.Errorf("%d instances are kept", len(got.Instances))
	}
	if c := vs.OutputsValid(); c.Status != contract.ConditionTrue || c.Reason != "InstancesTruncated" {
		t.Errorf("truncation gives %+v", c)
	}
	got, _ = d.DecodePool(fixture(t, contract.RoleMachinePool, "group-absent"))
	if got.ProviderIDList != nil || got.Replicas != nil || got.Instances != nil || !got.Unsettled() {
		t.Errorf("a group that is absent decodes to %+v", got)
	}
	got, _ = d.DecodePool(fixture(t, contract.RoleMachinePool, "list-empty"))
	if got.ProviderIDList == nil || got.Replicas == nil || got.Instances == nil || got.Unsettled() {
		t.Errorf("an empty group decodes to %+v", got)
	}
}

// TestPoolListLimit is no fixture because of its size.
func TestPoolListLimit(t *testing.T) {
	values := fixture(t, contract.RoleMachinePool, "typical")
	for n, valid := range map[int]bool{10_000: true, 10_001: false} {
		var ids []string
		for i := range n {
			ids = append(ids, fmt.Sprintf("i-%d", i))
		}
		raw, err := json.Marshal(ids)
		if err != nil {
			t.Fatal(err)
		}
		values.Outputs["provider_id_list"] = raw
		_, vs := v1alpha1.Definition().DecodePool(values)
		if got := len(vs.Blocking()) == 0; got != valid {
			t.Errorf("%d members: valid is %t: %v", n, got, vs)
		}
	}
}

// TestDecodeNothing decodes values without anything in them.
func TestDecodeNothing(t *testing.T) {
	d := v1alpha1.Definition()
	for _, role := range contract.Roles() {
		for _, tt := range []struct {
			values contract.Values
			reason string
		}{
			{contract.Values{}, "OutputsInvalid"}, // health is null
			{contract.Values{Declared: map[string]bool{}}, "OutputsMissing"},
		} {
			out, vs := contract.Decode(d, role, tt.values, nil)
			if out == nil || out.Role() != role {
				t.Errorf("%s decodes to %v", role, out)
				continue
			}
			if c := vs.OutputsValid(); c.Reason != tt.reason {
				t.Errorf("%s: condition is %+v, want %s", role, c, tt.reason)
			}
			if c := out.Condition(); c.Status != contract.ConditionUnknown || c.Reason != "HealthUnknown" {
				t.Errorf("%s: health without a value is %+v (B-704)", role, c)
			}
		}
	}
	if out, vs := contract.Decode(d, "router", contract.Values{}, nil); out != nil || !vs.Has(contract.RuleRole) {
		t.Errorf("an unknown role decodes to %v, %v", out, vs)
	}
}

// TestOthersAreStillDecoded checks that one bad output costs only itself.
func TestOthersAreStillDecoded(t *testing.T) {
	values := fixture(t, contract.RoleMachine, "typical")
	values.Outputs["addresses"] = json.RawMessage(`[{"type":"InternalIP","address":"10.0.0.4"},{"type":"x","address":"y"}]`)
	values.Outputs["failure_domain"] = json.RawMessage(`"` + strings.Repeat("z", 300) + `"`)
	got, vs := v1alpha1.Definition().DecodeMachine(values, &contract.MachineInputs{FailureDomain: new("zone-a")})
	want := []fixtures.Expectation{
		{Path: "outputs.addresses[1].type", Rule: contract.RuleEnum, Reason: contract.ReasonInvalid},
		{Path: "outputs.failure_domain", Rule: contract.RuleMaxLength, Reason: contract.ReasonInvalid},
	}
	if diff := cmp.Diff(want, fixtures.Expectations(vs)); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
	if got.ProviderID == "" || got.Health.State != contract.HealthRunning {
		t.Errorf("the good outputs are lost: %+v", got)
	}
	if got.Addresses != nil || got.FailureDomain != nil {
		t.Errorf("a bad output is decoded: %+v", got)
	}
}

// TestHostileOutputs decodes what no runtime writes: no panic, one violation.
func TestHostileOutputs(t *testing.T) {
	d := v1alpha1.Definition()
	hostile := map[string]string{
		"empty":          ``,
		"garbage":        `\x00`,
		"cut":            `{"state":"run`,
		"trailing":       `{} {}`,
		"invalid UTF-8":  "\"\xff\"",
		"lone surrogate": `"\udc00"`,
		"huge exponent":  `1e999999999`,
		"huge number":    strings.Repeat("9", 100_000),
		"duplicate":      `{"a":1,"a":2}`,
		"deep list":      strings.Repeat("[", 100_000),
		"deep object":    strings.Repeat(`{"a":`, 100_000),
		"long key":       `{"` + strings.Repeat("k", 1_000_000) + `":1.5}`,
	}
	for name, raw := range hostile {
		for _, role := range contract.Roles() {
			for _, row := range d.Spec(role).Outputs {
				values := fixture(t, role, "typical")
				values.Outputs[row.Name] = json.RawMessage(raw)
				_, vs := contract.Decode(d, role, values, nil)
				if name == "huge number" && row.Name == "exports" {
					// Whole numbers of any size are fine there.
					continue
				}
				if len(vs.Under("outputs."+row.Name).Blocking()) == 0 || len(vs.Blocking()) > 5 {
					t.Errorf("%s in %s of %s: %d violations", name, row.Name, role, len(vs))
				}
				if c := vs.OutputsValid(); c.Reason != "OutputsInvalid" || len(c.Message) > 2000 {
					t.Errorf("%s in %s of %s: %s with a message of %d bytes", name, row.Name, role, c.Reason, len(c.Message))
				}
			}
		}
	}
}

// TestMessagesStayBounded has far more problems than a condition can hold.
func TestMessagesStayBounded(t *testing.T) {
	values := fixture(t, contract.RoleMachinePool, "typical")
	values.Outputs["instances"] = json.RawMessage("[" + strings.Repeat(`{"state":"x"},`, 50_000) + "{}]")
	_, vs := v1alpha1.Definition().DecodePool(values)
	if len(vs) > 30 {
		t.Errorf("%d violations are listed", len(vs))
	}
	if c := vs.OutputsValid(); len(c.Message) > 32768 || c.Reason != "OutputsInvalid" {
		t.Errorf("condition %s has a message of %d bytes", c.Reason, len(c.Message))
	}
}
