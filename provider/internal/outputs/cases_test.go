package outputs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/contract/versions"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/outputs"
)

var (
	start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	later = start.Add(time.Hour)
)

// testCase is what case.yaml says about a case.
type testCase struct {
	// Doc says what the case shows, with the rules that it is about.
	Doc string `json:"doc"`
	// Object is the object before, of any of the three kinds.
	Object json.RawMessage `json:"object"`
	// Readings are looked at one after the other.
	Readings []reading `json:"readings"`
}

type reading struct {
	// Outputs are those of the state; without them there is no state.
	Outputs map[string]json.RawMessage `json:"outputs"`
	// Undeclared names outputs that the module does not have.
	Undeclared []string `json:"undeclared"`
	// Unapplied tells that the state belongs to no successful apply.
	Unapplied bool `json:"unapplied"`
	// Serial is the serial of the state.
	Serial int64 `json:"serial"`
	// Started tells that an apply was started.
	Started bool `json:"started"`
	// Sample is what the reading counts as.
	Sample outputs.Sample `json:"sample"`
	// Unrecorded tells that nobody knows what the apply was given. Otherwise Endpoint and FailureDomain are that.
	Unrecorded    bool               `json:"unrecorded"`
	Endpoint      *contract.Endpoint `json:"endpoint"`
	FailureDomain *string            `json:"failureDomain"`
	// ClusterEndpoint is that of the Cluster.
	ClusterEndpoint *clusterv1.APIEndpoint `json:"clusterEndpoint"`
	// MachinePool is the owner of a pool.
	MachinePool *clusterv1.MachinePool `json:"machinePool"`
	// LargeExports replaces the exports with a text of that many characters.
	LargeExports int `json:"largeExports"`
}

// outcome is what want.yaml holds about one reading.
type outcome struct {
	// Object is the object afterwards, without conditions; only what is not empty.
	Object any `json:"object"`
	// Conditions are those afterwards: status/reason, and the message if there is one.
	Conditions map[string]string `json:"conditions"`
	// Ready is what Ready would be.
	Ready string `json:"ready"`
	// SpecPatch tells that a patch of spec comes first.
	SpecPatch bool `json:"specPatch,omitempty"`
	Unsettled bool `json:"unsettled,omitempty"`
	StandsIn  bool `json:"standsIn,omitempty"`
	// Events are told after the patch of spec, after that of status, and for conditions.
	Events []string `json:"events,omitempty"`
}

// TestCases projects the readings of each folder of testdata/cases and compares what comes out with its want.yaml.
func TestCases(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join("testdata", "cases", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("there are no cases (%v)", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join(dir, "case.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			var c testCase
			if err := yaml.UnmarshalStrict(raw, &c); err != nil {
				t.Fatal(err)
			}
			obj := object(t, c.Object)
			var out []outcome
			for i, r := range c.Readings {
				got := project(t, obj, r, start.Add(time.Duration(i)*time.Minute))
				if i > 0 && r.Sample == outputs.SampleNone && len(got.Events) > 0 {
					t.Logf("reading %d is no sample and has events", i)
				}
				out = append(out, got)
				r.Sample = outputs.SampleNone
				again := project(t, obj, r, later)
				if len(again.Events) > 0 || again.SpecPatch {
					t.Errorf("looking at reading %d once more tells %q and patches the spec: %t", i, again.Events, again.SpecPatch)
				}
				if diff := cmp.Diff(marshal(t, got.Object), marshal(t, again.Object)) + cmp.Diff(got.Conditions, again.Conditions); diff != "" {
					t.Errorf("looking at reading %d once more changes the object (-first +second):\n%s", i, diff)
				}
			}
			golden.Assert(t, filepath.Join(dir, "want.yaml"), []byte(marshal(t, out)))
		})
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	out, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// object reads an object of any of the three kinds.
func object(t *testing.T, raw json.RawMessage) infrav1.Workspace {
	t.Helper()
	var meta metav1.TypeMeta
	if err := json.Unmarshal(raw, &meta); err != nil {
		t.Fatal(err)
	}
	obj := map[string]infrav1.Workspace{
		contract.RoleCluster.Kind(): &infrav1.TerraformCluster{}, contract.RoleMachine.Kind(): &infrav1.TerraformMachine{},
		contract.RoleMachinePool.Kind(): &infrav1.TerraformMachinePool{},
	}[meta.Kind]
	if obj == nil {
		t.Fatalf("the object has the kind %q", meta.Kind)
	}
	if err := yaml.UnmarshalStrict(raw, obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// reading returns what a case says as a Reading for the object.
func (r reading) of(t *testing.T, obj infrav1.Workspace) outputs.Reading {
	t.Helper()
	out := outputs.Reading{
		Started: r.Started, Sample: r.Sample, MachinePool: r.MachinePool, Contract: versions.Default(),
		Cluster: &clusterv1.Cluster{},
	}
	if r.ClusterEndpoint != nil {
		out.Cluster.Spec.ControlPlaneEndpoint = *r.ClusterEndpoint
	}
	if r.Outputs == nil {
		return out
	}
	out.State = &outputs.State{Applied: !r.Unapplied, Serial: r.Serial}
	out.State.Values.Outputs = map[string]json.RawMessage{}
	for name, raw := range r.Outputs {
		if string(raw) != "null" { // as in a state
			out.State.Values.Outputs[name] = raw
		}
	}
	if r.LargeExports > 0 {
		out.State.Values.Outputs["exports"] = json.RawMessage(`"` + strings.Repeat("x", r.LargeExports) + `"`)
	}
	if len(r.Undeclared) > 0 {
		out.State.Values.Declared = map[string]bool{}
		for _, row := range versions.Default().Spec(obj.Role()).Outputs {
			out.State.Values.Declared[row.Name] = true
		}
		for _, name := range r.Undeclared {
			out.State.Values.Declared[name] = false
		}
	}
	switch {
	case r.Unrecorded:
	case obj.Role() == contract.RoleCluster:
		out.State.Inputs = &contract.ClusterInputs{ControlPlaneEndpoint: r.Endpoint}
	case obj.Role() == contract.RoleMachine:
		out.State.Inputs = &contract.MachineInputs{FailureDomain: r.FailureDomain}
	}
	return out
}

// project makes a reading's changes on the object and returns what they are.
func project(t *testing.T, obj infrav1.Workspace, r reading, now time.Time) outcome {
	t.Helper()
	before := obj.DeepCopyObject().(infrav1.Workspace)
	plan, err := outputs.Project(obj, r.of(t, obj))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, obj); diff != "" {
		t.Fatalf("the projection changed the object:\n%s", diff)
	}
	plan.ApplySpec(obj)
	changed := cmp.Diff(before, obj) != ""
	if changed != plan.ChangesSpec() {
		t.Errorf("the spec changes: %t, and the plan says %t", changed, plan.ChangesSpec())
	}
	plan.ApplyStatus(obj, now)
	out := outcome{SpecPatch: plan.ChangesSpec(), Unsettled: plan.Unsettled, StandsIn: plan.StandsIn, Conditions: map[string]string{}}
	for _, list := range [][]conditions.Event{plan.Events, conditions.Transitions(before.GetConditions(), obj.GetConditions())} {
		for _, e := range list {
			out.Events = append(out.Events, e.Type+" "+e.Reason+": "+e.Note)
		}
	}
	for _, c := range obj.GetConditions() {
		out.Conditions[c.Type] = strings.TrimSuffix(string(c.Status)+"/"+c.Reason+": "+c.Message, ": ")
	}
	out.Ready = ready(t, obj)
	out.Object = bare(t, obj)
	return out
}

// ready returns what Ready is when the conditions of others are as they should be.
func ready(t *testing.T, obj infrav1.Workspace) string {
	t.Helper()
	copied := obj.DeepCopyObject().(infrav1.Workspace)
	for _, name := range []string{"DependenciesReady", "IdentityAllowed", "CredentialsMirrored", "RunnerRBACReady", "ApplyJobSucceeded", "StateReadable"} {
		conditions.Set(copied, name, conditions.True("Fine", ""), start)
	}
	if _, err := conditions.SetReady(copied, start); err != nil {
		t.Fatal(err)
	}
	c := conditions.Get(copied, "Ready")
	return string(c.Status) + "/" + c.Reason
}

// bare returns the object as it is written, without its conditions.
func bare(t *testing.T, obj infrav1.Workspace) any {
	t.Helper()
	copied := obj.DeepCopyObject().(infrav1.Workspace)
	copied.SetConditions(nil)
	raw, err := json.Marshal(copied)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	delete(out, "apiVersion")
	delete(out, "kind")
	return out
}
