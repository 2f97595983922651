package outputs_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"pgregory.net/rapid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/outputs"
)

// drawn are values of outputs, good and bad ones; "" leaves the output away.
var drawn = map[string][]string{
	"control_plane_endpoint": {"", `{"host":"a","port":1}`, `{"host":"b","port":2}`, `{"host":"a"}`},
	"failure_domains":        {"", `[]`, `[{"name":"a"}]`, `[{"name":"b"},{"name":"a","attributes":{}}]`, `[{"name":"a"},{"name":"a"}]`},
	"exports":                {"", `{}`, `{"a":"<"}`, `[1]`, `1.5`},
	"health": {
		"", `{"state":"running","healthy":true}`, `{"state":"running","healthy":false}`, `{"state":"pending","healthy":true}`,
		`{"state":"terminated","healthy":false,"message":"gone"}`, `{"state":"unknown","healthy":false}`, `{"state":"odd","healthy":true}`,
	},
	"provider_id":      {"", `""`, `"x://1"`, `"x://2"`, `7`},
	"addresses":        {"", `[]`, `[{"type":"Hostname","address":"h"},{"type":"InternalIP","address":"10.0.0.1"}]`, `[{"type":"Odd","address":"h"}]`},
	"failure_domain":   {"", `"a"`, `"b"`},
	"interruptible":    {"", `true`, `false`, `"yes"`},
	"provider_id_list": {"", `[]`, `["x://2","x://1","x://2"]`, `["x://1"]`, `[""]`},
	"replicas":         {"", `0`, `1`, `2`, `-1`},
	"instances":        {"", `[]`, `[{"provider_id":"x://1"}]`, `[{"provider_id":""}]`},
}

func drawReading(t *rapid.T, role contract.Role, serial *int64) outputs.Reading {
	r := outputs.Reading{
		Started:  rapid.Bool().Draw(t, "started"),
		Sample:   rapid.SampledFrom([]outputs.Sample{outputs.SampleNone, outputs.SampleCheck, outputs.SampleGone, outputs.SampleApply}).Draw(t, "sample"),
		Contract: versions.Default(), Cluster: &clusterv1.Cluster{}, MachinePool: &clusterv1.MachinePool{},
	}
	if rapid.Bool().Draw(t, "cluster endpoint") {
		r.Cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "a", Port: 1}
	}
	if rapid.IntRange(0, 9).Draw(t, "no state") == 0 {
		return r
	}
	if rapid.Bool().Draw(t, "new serial") {
		*serial++
	}
	r.State = &outputs.State{Applied: rapid.IntRange(0, 4).Draw(t, "unapplied") > 0, Serial: *serial, Values: contract.Values{Outputs: map[string]json.RawMessage{}}}
	for _, row := range versions.Default().Spec(role).Outputs {
		// Mostly the first good value, so that many objects become provisioned.
		value := drawn[row.Name][min(2, len(drawn[row.Name])-1)]
		if row.Name == "health" {
			value = drawn["health"][1]
		}
		if rapid.IntRange(0, 2).Draw(t, row.Name+"?") == 0 {
			value = rapid.SampledFrom(drawn[row.Name]).Draw(t, row.Name)
		}
		if value != "" {
			r.State.Values.Outputs[row.Name] = json.RawMessage(value)
		}
	}
	switch role {
	case contract.RoleCluster:
		r.State.Inputs = rapid.SampledFrom([]contract.Inputs{nil, &contract.ClusterInputs{}, &contract.ClusterInputs{ControlPlaneEndpoint: &contract.Endpoint{Host: "a", Port: 1}}}).Draw(t, "inputs")
	case contract.RoleMachine:
		r.State.Inputs = rapid.SampledFrom([]contract.Inputs{nil, &contract.MachineInputs{}, &contract.MachineInputs{FailureDomain: new("a")}}).Draw(t, "inputs")
	}
	return r
}

// TestProjectionInvariants lets an object live through readings of all sorts.
func TestProjectionInvariants(t *testing.T) {
	for _, role := range contract.Roles() {
		t.Run(string(role), func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { life(t, role) }) })
	}
}

func life(t *rapid.T, role contract.Role) {
	var obj infrav1.Workspace
	switch role {
	case contract.RoleCluster:
		obj = &infrav1.TerraformCluster{}
	case contract.RoleMachine:
		obj = &infrav1.TerraformMachine{}
	default:
		obj = &infrav1.TerraformMachinePool{}
	}
	obj.SetGeneration(1)
	serial := int64(1)
	for range rapid.IntRange(1, 6).Draw(t, "readings") {
		r := drawReading(t, role, &serial)
		before := obj.DeepCopyObject().(infrav1.Workspace)
		plan, err := outputs.Project(obj, r)
		if err != nil {
			t.Fatal(err)
		}
		plan.ApplySpec(obj)
		plan.ApplyStatus(obj, start)
		roundtrip(t, obj)
		check(t, before, obj, plan)

		// The same reading once more, as every pass between two Jobs looks at it.
		r.Sample = outputs.SampleNone
		settled := obj.DeepCopyObject().(infrav1.Workspace)
		again, err := outputs.Project(obj, r)
		if err != nil {
			t.Fatal(err)
		}
		again.ApplySpec(obj)
		again.ApplyStatus(obj, later)
		if diff := cmp.Diff(settled, obj); diff != "" || len(again.Events) > 0 || again.ChangesSpec() {
			t.Fatalf("looking once more changes something, or tells %v:\n%s", again.Events, diff)
		}
	}
}

// roundtrip sends the object through JSON, as a write and the next read do.
func roundtrip(t *rapid.T, obj infrav1.Workspace) {
	raw, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	fresh := reflect.New(reflect.TypeOf(obj).Elem()).Interface()
	if err := json.Unmarshal(raw, fresh); err != nil {
		t.Fatal(err)
	}
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(fresh).Elem())
}

func check(t *rapid.T, before, after infrav1.Workspace, plan *outputs.Plan) {
	if conditions.Provisioned(before) && !conditions.Provisioned(after) {
		t.Fatal("it is not provisioned any more")
	}
	for _, c := range after.GetConditions() {
		known := slices.ContainsFunc(conditions.Catalogue(), func(row conditions.Type) bool {
			return row.Name == c.Type && slices.Contains(row.Carriers, after.Role().Kind()) &&
				slices.ContainsFunc(row.Reasons, func(r conditions.Reason) bool {
					return r.Name == c.Reason && r.Status == c.Status && (len(r.Kinds) == 0 || slices.Contains(r.Kinds, after.Role().Kind()))
				})
		})
		if !known {
			t.Fatalf("the catalogue has no %s=%s/%s of a %s", c.Type, c.Status, c.Reason, after.Role().Kind())
		}
	}
	broken := meta.IsStatusConditionFalse(after.GetConditions(), infrav1.OutputsValidCondition) && len(plan.Violations.Blocking()) > 0
	if broken && (plan.ChangesSpec() || plan.Provisioned || plan.Addresses != nil || plan.FailureDomains != nil || plan.Exports != nil ||
		plan.Replicas != nil || plan.Instances != nil || plan.FailureDomain != nil || plan.Interruptible != nil) {
		t.Fatalf("outputs that break the contract are written: %+v", plan)
	}
	switch after := after.(type) {
	case *infrav1.TerraformCluster:
		old := before.(*infrav1.TerraformCluster)
		if old.Spec.ControlPlaneEndpoint.Valid() && *after.Spec.ControlPlaneEndpoint != *old.Spec.ControlPlaneEndpoint {
			t.Fatal("the endpoint changed")
		}
		if after.Spec.ControlPlaneEndpoint.Valid() != (after.Annotations[contract.AnnotationEndpointSource] == "module") {
			t.Fatal("the endpoint and its source do not go together")
		}
	case *infrav1.TerraformMachine:
		old := before.(*infrav1.TerraformMachine)
		if old.Spec.ProviderID != "" && after.Spec.ProviderID != old.Spec.ProviderID {
			t.Fatal("the provider id changed")
		}
		if conditions.Provisioned(after) && after.Spec.ProviderID == "" {
			t.Fatal("a machine without provider id is provisioned")
		}
	case *infrav1.TerraformMachinePool:
		if after.Status.Ready != conditions.Provisioned(after) {
			t.Fatal("ready and provisioned differ")
		}
		list := after.Spec.ProviderIDList
		if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
			t.Fatalf("the members are %v", list)
		}
	}
}
