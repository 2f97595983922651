package outputs_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/inputs"
	"github.com/captf-toolkit/captf/provider/internal/outputs"
)

// TestRemediate is the table of B-711 and B-712.
func TestRemediate(t *testing.T) {
	const theirs, ours = clusterv1.RemediateMachineAnnotation, infrav1.AnnotationRemediationRequested
	on := inputs.Remediation{Enabled: true, Threshold: 3}
	now := metav1.Now()
	healthy, unhealthy := conditions.True("Healthy", ""), conditions.False("InstanceUnhealthy", "")
	marked := map[string]string{theirs: "", ours: "InstanceStopped"}
	for name, c := range map[string]struct {
		health      conditions.Value
		samples     int32
		policy      inputs.Remediation
		annotations map[string]string
		unfinished  bool
		deleting    bool
		machineGone bool
		want        outputs.Mark
		after       map[string]string
	}{
		"below the threshold":                   {health: unhealthy, samples: 2, policy: on},
		"at the threshold":                      {health: unhealthy, samples: 3, policy: on, want: outputs.MarkSet, after: map[string]string{theirs: "", ours: "InstanceUnhealthy"}},
		"stopped":                               {health: conditions.False("InstanceStopped", ""), samples: 4, policy: on, want: outputs.MarkSet, after: map[string]string{theirs: "", ours: "InstanceStopped"}},
		"other annotations stay":                {health: unhealthy, samples: 3, policy: on, annotations: map[string]string{"a": "b"}, want: outputs.MarkSet, after: map[string]string{"a": "b", theirs: "", ours: "InstanceUnhealthy"}},
		"terminated at once":                    {health: conditions.False("InstanceTerminated", ""), policy: on, want: outputs.MarkSet, after: map[string]string{theirs: "", ours: "InstanceTerminated"}},
		"the policy is off":                     {health: conditions.False("InstanceTerminated", ""), samples: 9, policy: inputs.Remediation{Threshold: 3}},
		"pending is not unhealthy":              {health: conditions.False("InstancePending", ""), samples: 9, policy: on},
		"unknown is not unhealthy":              {health: conditions.Unknown("ProviderIDMissing", ""), samples: 9, policy: on},
		"not provisioned":                       {health: unhealthy, samples: 9, policy: on, unfinished: true},
		"the object is deleted":                 {health: unhealthy, samples: 9, policy: on, deleting: true},
		"the Machine is deleted":                {health: unhealthy, samples: 9, policy: on, machineGone: true},
		"marked already":                        {health: unhealthy, samples: 9, policy: on, annotations: marked},
		"marked by somebody else":               {health: unhealthy, samples: 9, policy: on, annotations: map[string]string{theirs: ""}},
		"the mark was taken off by hand":        {health: unhealthy, samples: 9, policy: on, annotations: map[string]string{ours: "InstanceStopped"}, want: outputs.MarkSet, after: map[string]string{theirs: "", ours: "InstanceUnhealthy"}},
		"healthy again":                         {health: healthy, policy: on, annotations: marked, want: outputs.MarkRemove, after: map[string]string{}},
		"healthy again, the policy is off":      {health: healthy, annotations: marked, want: outputs.MarkRemove, after: map[string]string{}},
		"healthy, marked by somebody else":      {health: healthy, policy: on, annotations: map[string]string{theirs: ""}},
		"healthy again, the Machine is deleted": {health: healthy, policy: on, annotations: marked, machineGone: true},
		"healthy":                               {health: healthy, policy: on},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &infrav1.TerraformMachine{}
			obj.Status.UnhealthySamples = c.samples
			if !c.unfinished {
				obj.Status.Initialization = &infrav1.InitializationStatus{Provisioned: new(true)}
			}
			conditions.Set(obj, infrav1.InfrastructureHealthyCondition, c.health, start)
			machine := &clusterv1.Machine{}
			machine.Name, machine.Annotations = "m", c.annotations
			if c.deleting {
				obj.DeletionTimestamp = &now
			}
			if c.machineGone {
				machine.DeletionTimestamp = &now
			}
			machine = machine.DeepCopy()
			got := outputs.Remediate(obj, machine, c.policy)
			if got.Mark != c.want || (got.Event != nil) != (c.want != outputs.MarkKeep) {
				t.Fatalf("got %+v, want %q", got, c.want)
			}
			if changed := got.Apply(machine); changed != (c.want != outputs.MarkKeep) {
				t.Errorf("the Machine changed: %t", changed)
			}
			want := c.after
			if c.want == outputs.MarkKeep {
				want = c.annotations
			}
			if diff := cmp.Diff(want, machine.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			if c.want == outputs.MarkSet {
				if again := outputs.Remediate(obj, machine, c.policy); again.Mark != outputs.MarkKeep {
					t.Errorf("it is asked for once more: %+v", again)
				}
			}
		})
	}
	if got := outputs.Remediate(&infrav1.TerraformMachine{}, nil, on); got.Mark != outputs.MarkKeep {
		t.Errorf("without a Machine: %+v", got)
	}
	if got := outputs.Remediate(&infrav1.TerraformMachine{}, &clusterv1.Machine{}, on); got.Mark != outputs.MarkKeep {
		t.Errorf("without a condition: %+v", got)
	}
}

// foreign is a workspace of a kind that there is not.
type foreign struct{ *infrav1.TerraformMachine }

func TestProjectRefuses(t *testing.T) {
	if _, err := outputs.Project(&infrav1.TerraformMachine{}, outputs.Reading{}); err == nil {
		t.Error("a reading without a contract is projected")
	}
	r := outputs.Reading{Contract: versions.Default(), State: &outputs.State{Applied: true}}
	if _, err := outputs.Project(foreign{&infrav1.TerraformMachine{}}, r); err == nil {
		t.Error("an object of an unknown kind is projected")
	}
}

// TestManyInstances: a pool with more instances than the status holds shows the first ones, and all provider ids (B-801).
func TestManyInstances(t *testing.T) {
	const members = 1001
	var ids, instances []string
	for i := range members {
		id := fmt.Sprintf("x://%04d", i)
		ids = append(ids, strconv.Quote(id))
		instances = append(instances, fmt.Sprintf(`{"provider_id":%q}`, id))
	}
	r := outputs.Reading{Contract: versions.Default(), Sample: outputs.SampleApply, State: &outputs.State{Applied: true, Serial: 1, Values: contract.Values{
		Outputs: map[string]json.RawMessage{
			"provider_id_list": json.RawMessage("[" + strings.Join(ids, ",") + "]"),
			"instances":        json.RawMessage("[" + strings.Join(instances, ",") + "]"),
			"replicas":         json.RawMessage(strconv.Itoa(members)),
			"health":           json.RawMessage(`{"state":"running","healthy":true}`),
		},
	}}}
	pool := &infrav1.TerraformMachinePool{}
	plan, err := outputs.Project(pool, r)
	if err != nil {
		t.Fatal(err)
	}
	plan.ApplySpec(pool)
	plan.ApplyStatus(pool, start)
	if len(pool.Spec.ProviderIDList) != members || len(pool.Status.Instances) != 1000 || !pool.Status.Ready || plan.Unsettled {
		t.Errorf("%d ids, %d instances, ready %t, unsettled %t", len(pool.Spec.ProviderIDList), len(pool.Status.Instances), pool.Status.Ready, plan.Unsettled)
	}
	if c := conditions.Get(pool, infrav1.OutputsValidCondition); c.Status != metav1.ConditionTrue || c.Reason != infrav1.InstancesTruncatedReason {
		t.Errorf("OutputsValid is %s/%s", c.Status, c.Reason)
	}
}
