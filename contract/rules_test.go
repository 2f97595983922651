package contract_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/contract"
)

func endpoint(host string, port int64) *contract.Endpoint {
	return &contract.Endpoint{Host: host, Port: port}
}

func TestEndpointProvenance(t *testing.T) {
	user, other, half := endpoint("user", 6443), endpoint("other", 443), endpoint("half", 0)
	tests := []struct {
		name            string
		source          contract.EndpointSource
		cluster, object *contract.Endpoint
		initial         contract.EndpointSource
		input           *contract.Endpoint
	}{
		{name: "nobody has one"},
		{name: "the Cluster has one", cluster: user, initial: contract.EndpointSourceUser, input: user},
		{name: "the object has one", object: other, initial: contract.EndpointSourceUser, input: other},
		{name: "the Cluster's wins", cluster: user, object: other, initial: contract.EndpointSourceUser, input: user},
		{name: "a half one counts for nothing", cluster: half, object: endpoint("", 6443)},
		{name: "a half one is passed over", cluster: half, object: other, initial: contract.EndpointSourceUser, input: other},
		{name: "recorded as the user's", source: contract.EndpointSourceUser, cluster: user, initial: contract.EndpointSourceUser, input: user},
		{name: "the module's own", source: contract.EndpointSourceModule, cluster: user, object: user, initial: contract.EndpointSourceUser},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := contract.InitialEndpointSource(tt.cluster, tt.object); got != tt.initial {
				t.Errorf("initial source is %q, want %q", got, tt.initial)
			}
			if diff := cmp.Diff(tt.input, contract.EndpointInput(tt.source, tt.cluster, tt.object)); diff != "" {
				t.Errorf("input (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEndpointToPublish(t *testing.T) {
	output, set := endpoint("lb", 6443), endpoint("set", 6443)
	tests := []struct {
		name                    string
		source                  contract.EndpointSource
		field, rendered, output *contract.Endpoint
		want                    *contract.Endpoint
	}{
		{name: "first output", output: output, want: output},
		{name: "empty field", field: &contract.Endpoint{}, output: output, want: output},
		{name: "no output"},
		{name: "half output", output: endpoint("lb", 0)},
		{name: "field is set", field: set, output: output},
		{name: "field is half set", field: endpoint("set", 0), output: output},
		{name: "module was given one", rendered: set, output: output},
		{name: "the user's for good", source: contract.EndpointSourceUser, output: output},
		{name: "module's, field lost", source: contract.EndpointSourceModule, output: output, want: output},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := contract.EndpointToPublish(tt.source, tt.field, tt.rendered, tt.output)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEndpointAvailable(t *testing.T) {
	tests := []struct {
		name            string
		provisioned     bool
		output, cluster *contract.Endpoint
		want            string
	}{
		{"not provisioned", false, nil, nil, "EndpointAvailable"},
		{"output", true, endpoint("lb", 1), nil, "EndpointAvailable"},
		{"Cluster", true, nil, endpoint("lb", 1), "EndpointAvailable"},
		{"neither", true, nil, nil, "WaitingForEndpoint"},
		{"half", true, endpoint("lb", 0), endpoint("", 1), "WaitingForEndpoint"},
	}
	for _, tt := range tests {
		got := contract.EndpointAvailable(tt.provisioned, tt.output, tt.cluster)
		if got.Reason != tt.want || (got.Status == contract.ConditionTrue) != (tt.want == "EndpointAvailable") {
			t.Errorf("%s: %+v, want %s", tt.name, got, tt.want)
		}
	}
}

func TestLatchInitialized(t *testing.T) {
	for _, tt := range []struct {
		status   *bool
		rendered bool
		want     bool
	}{
		{nil, false, false}, {new(false), false, false}, {new(true), false, true},
		{nil, true, true}, {new(false), true, true}, {new(true), true, true},
	} {
		if got := contract.LatchInitialized(tt.status, tt.rendered); got != tt.want {
			t.Errorf("status %v, rendered %t: %t", tt.status, tt.rendered, got)
		}
	}
}

func TestSizePool(t *testing.T) {
	annotated := func(lower, upper string, more ...string) map[string]string {
		m := map[string]string{contract.AnnotationAutoscalerMin: lower, contract.AnnotationAutoscalerMax: upper}
		if len(more) > 0 {
			m[contract.AnnotationReplicasManagedBy] = more[0]
		}
		return m
	}
	managedBy := func(value string) map[string]string {
		return map[string]string{contract.AnnotationReplicasManagedBy: value}
	}
	on := contract.Autoscaling{Enabled: true, Min: 1, Max: 5}
	tests := []struct {
		name        string
		annotations map[string]string
		spec, seen  *int64
		want        contract.PoolSize
		status      contract.ConditionStatus
		reason      string
	}{
		{name: "off", spec: new(int64(3)), seen: new(int64(9)),
			want: contract.PoolSize{Replicas: 3, Claim: contract.ClaimKeep}, status: "False", reason: "AutoscalingDisabled"},
		{name: "off, size unset", want: contract.PoolSize{Replicas: 1, Claim: contract.ClaimKeep},
			status: "False", reason: "AutoscalingDisabled"},
		{name: "off, size zero", spec: new(int64(0)), want: contract.PoolSize{Claim: contract.ClaimKeep},
			status: "False", reason: "AutoscalingDisabled"},
		{name: "turned off", annotations: managedBy("captf"), spec: new(int64(3)),
			want: contract.PoolSize{Replicas: 3, Claim: contract.ClaimRemove}, status: "False", reason: "AutoscalingDisabled"},
		{name: "off, foreign owner", annotations: managedBy("keda"), spec: new(int64(3)),
			want: contract.PoolSize{Replicas: 3, Claim: contract.ClaimKeep}, status: "False", reason: "AutoscalingDisabled"},
		{name: "on, nothing observed", annotations: annotated("1", "5"), spec: new(int64(3)),
			want: contract.PoolSize{Autoscaling: on, Replicas: 3, Claim: contract.ClaimSet}, status: "True", reason: "ReplicasManagedByModule"},
		{name: "on, nothing known", annotations: annotated("2", "5"),
			want:   contract.PoolSize{Autoscaling: contract.Autoscaling{Enabled: true, Min: 2, Max: 5}, Replicas: 2, Claim: contract.ClaimSet},
			status: "True", reason: "ReplicasManagedByModule"},
		{name: "on, observed", annotations: annotated("1", "5", "captf"), spec: new(int64(3)), seen: new(int64(4)),
			want:   contract.PoolSize{Autoscaling: on, Replicas: 4, Claim: contract.ClaimKeep, WriteBack: new(int64(4))},
			status: "True", reason: "ReplicasManagedByModule"},
		{name: "on, observed above the range: clamped input, raw write-back", annotations: annotated("1", "5", "false"), spec: new(int64(3)), seen: new(int64(8)),
			want:   contract.PoolSize{Autoscaling: on, Replicas: 5, Claim: contract.ClaimSet, WriteBack: new(int64(8))},
			status: "True", reason: "ReplicasManagedByModule"},
		{name: "on, observed zero", annotations: annotated("1", "5", "captf"), seen: new(int64(0)),
			want:   contract.PoolSize{Autoscaling: on, Replicas: 1, Claim: contract.ClaimKeep, WriteBack: new(int64(0))},
			status: "True", reason: "ReplicasManagedByModule"},
		{name: "on, nothing to write back", annotations: annotated("1", "5", "captf"), spec: new(int64(4)), seen: new(int64(4)),
			want: contract.PoolSize{Autoscaling: on, Replicas: 4, Claim: contract.ClaimKeep}, status: "True", reason: "ReplicasManagedByModule"},
		{name: "on, foreign owner", annotations: annotated("1", "5", "keda"), spec: new(int64(9)), seen: new(int64(4)),
			want: contract.PoolSize{Autoscaling: on, Replicas: 9, Claim: contract.ClaimKeep}, status: "False", reason: "ReplicasManagedExternally"},
		{name: "on, foreign owner without a name", annotations: annotated("1", "5", ""),
			want: contract.PoolSize{Autoscaling: on, Replicas: 1, Claim: contract.ClaimKeep}, status: "False", reason: "ReplicasManagedExternally"},
		{name: "empty range", annotations: annotated("0", "0", "captf"), spec: new(int64(3)),
			want:   contract.PoolSize{Autoscaling: contract.Autoscaling{Enabled: true}, Claim: contract.ClaimKeep},
			status: "True", reason: "ReplicasManagedByModule"},
	}
	for _, lower := range [][2]string{{"5", "1"}, {"-1", "5"}, {"1", "x"}, {"", "5"}, {"1.0", "5"}, {"1", "2147483648"}, {" 1", "5"}} {
		tests = append(tests, tests[0])
		last := &tests[len(tests)-1]
		last.name = fmt.Sprintf("invalid %q to %q", lower[0], lower[1])
		last.annotations, last.reason = annotated(lower[0], lower[1]), "AutoscalingAnnotationsInvalid"
	}
	for _, name := range []string{contract.AnnotationAutoscalerMin, contract.AnnotationAutoscalerMax} {
		tests = append(tests, tests[0])
		last := &tests[len(tests)-1]
		last.name, last.annotations, last.reason = "only "+name, map[string]string{name: "1"}, "AutoscalingAnnotationsInvalid"
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := contract.SizePool(tt.annotations, tt.spec, tt.seen)
			if got.Condition.Status != tt.status || got.Condition.Reason != tt.reason || got.Condition.Message == "" {
				t.Errorf("condition is %+v, want %s, %s", got.Condition, tt.status, tt.reason)
			}
			got.Condition = contract.Condition{}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("size (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClampOff(t *testing.T) {
	if got := (contract.Autoscaling{}).Clamp(7); got != 7 {
		t.Errorf("a range that is off clamps 7 to %d", got)
	}
}

func TestCheckProviderID(t *testing.T) {
	for _, tt := range []struct {
		before, now string
		changed     bool
	}{
		{"", "", false}, {"", "a", false}, {"a", "a", false}, {"a", "", false}, {"a", "b", true},
	} {
		vs := contract.CheckProviderID(tt.before, tt.now)
		if got := len(vs) == 1; got != tt.changed {
			t.Errorf("%q to %q: %v", tt.before, tt.now, vs)
		}
		if tt.changed && vs.OutputsValid().Reason != "ProviderIDChanged" {
			t.Errorf("%q to %q: condition is %+v", tt.before, tt.now, vs.OutputsValid())
		}
	}
}

func TestProviderIDWatch(t *testing.T) {
	running := contract.Health{State: contract.HealthRunning, Healthy: true}
	var w contract.ProviderIDWatch
	steps := []struct {
		observe func(contract.ProviderIDWatch) contract.ProviderIDWatch
		status  contract.ConditionStatus
		reason  string
	}{
		{func(w contract.ProviderIDWatch) contract.ProviderIDWatch { return w.Observe("i-1") }, "True", "Healthy"},
		{func(w contract.ProviderIDWatch) contract.ProviderIDWatch { return w.Observe("") }, "Unknown", "ProviderIDMissing"},
		{func(w contract.ProviderIDWatch) contract.ProviderIDWatch { return w.Observe("i-1") }, "True", "Healthy"},
		{func(w contract.ProviderIDWatch) contract.ProviderIDWatch { return w.Observe("") }, "Unknown", "ProviderIDMissing"},
		{func(w contract.ProviderIDWatch) contract.ProviderIDWatch { return w.Observe("") }, "False", "InstanceTerminated"},
		{func(w contract.ProviderIDWatch) contract.ProviderIDWatch { return w.Observe("") }, "False", "InstanceTerminated"},
		{func(w contract.ProviderIDWatch) contract.ProviderIDWatch { return w.Observe("i-1") }, "True", "Healthy"},
		{contract.ProviderIDWatch.ObserveGone, "False", "InstanceTerminated"},
	}
	for i, step := range steps {
		w = step.observe(w)
		c := w.Condition(running)
		if c.Status != step.status || c.Reason != step.reason || c.Message == "" {
			t.Errorf("step %d: %+v, want %s, %s", i, c, step.status, step.reason)
		}
		if w.Terminated() != (step.reason == "InstanceTerminated") {
			t.Errorf("step %d: terminated is %t", i, w.Terminated())
		}
	}
	ill := contract.Health{State: contract.HealthDegraded}
	if c := (contract.ProviderIDWatch{}).Condition(ill); c.Reason != "InstanceDegraded" {
		t.Errorf("a degraded machine is %+v", c)
	}
}

func TestCadence(t *testing.T) {
	waits := func(role contract.Role, n int) []time.Duration {
		var out []time.Duration
		for i := range n {
			out = append(out, contract.CadenceOf(role).Wait(i))
		}
		return out
	}
	slow := []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute}
	flat := []time.Duration{30 * time.Second, 30 * time.Second, 30 * time.Second}
	for role, want := range map[contract.Role][]time.Duration{
		contract.RoleCluster: slow, contract.RoleMachine: slow, contract.RoleMachinePool: flat,
	} {
		if diff := cmp.Diff(want, waits(role, len(want))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", role, diff)
		}
	}
	if got := contract.CadenceOf(contract.RoleMachine).Wait(-1); got != 30*time.Second {
		t.Errorf("the wait before any refresh is %s", got)
	}
	if got := contract.CadenceOf("router").Wait(3); got != 0 {
		t.Errorf("an unknown role waits %s", got)
	}
	pending := contract.Violations{{Reason: contract.ReasonPending}}
	for _, tt := range []struct {
		role  contract.Role
		state contract.HealthState
		vs    contract.Violations
		want  bool
	}{
		{contract.RoleCluster, contract.HealthPending, nil, false},
		{contract.RoleMachine, contract.HealthRunning, nil, false},
		{contract.RoleMachine, contract.HealthStopped, contract.Violations{{Reason: contract.ReasonNotice}}, false},
		{contract.RoleMachine, contract.HealthPending, nil, true},
		{contract.RoleMachine, contract.HealthUnknown, nil, true},
		{contract.RoleMachine, contract.HealthRunning, pending, true},
		{contract.RoleMachinePool, contract.HealthRunning, nil, true},
	} {
		if got := contract.CadenceOf(tt.role).RefreshesAfterApply(contract.Health{State: tt.state}, tt.vs); got != tt.want {
			t.Errorf("%s with %s and %v: refresh after apply is %t", tt.role, tt.state, tt.vs, got)
		}
	}
}

func TestProvisioned(t *testing.T) {
	running := contract.Health{State: contract.HealthRunning}
	unknown := contract.Health{State: contract.HealthUnknown}
	pending := contract.Health{State: contract.HealthPending}
	with := func(reason contract.Reason) contract.Violations { return contract.Violations{{Reason: reason}} }
	tests := []struct {
		name    string
		outputs contract.Outputs
		applied bool
		vs      contract.Violations
		want    bool
	}{
		{"cluster without an endpoint", &contract.ClusterOutputs{Health: running}, true, nil, true},
		{"cluster of unknown health", &contract.ClusterOutputs{Health: unknown}, true, nil, true},
		{"cluster that is pending", &contract.ClusterOutputs{Health: pending}, true, nil, false},
		{"cluster that was not applied", &contract.ClusterOutputs{Health: running}, false, nil, false},
		{"machine", &contract.MachineOutputs{ProviderID: "i", Health: running}, true, nil, true},
		{"machine without an id", &contract.MachineOutputs{Health: running}, true, nil, false},
		{"machine that is pending", &contract.MachineOutputs{ProviderID: "i", Health: pending}, true, nil, false},
		{"machine that was not applied", &contract.MachineOutputs{ProviderID: "i", Health: running}, false, nil, false},
		{"machine elsewhere", &contract.MachineOutputs{ProviderID: "i", Health: running}, true, with(contract.ReasonFailureDomainMismatch), false},
		{"machine with an output to come", &contract.MachineOutputs{ProviderID: "i", Health: running}, true, with(contract.ReasonPending), false},
		{"pool without id and members", &contract.PoolOutputs{Health: running, Replicas: new(int64(0))}, true, nil, true},
		{"pool that is pending", &contract.PoolOutputs{Health: pending}, true, nil, false},
		{"pool that was not applied", &contract.PoolOutputs{Health: running}, false, nil, false},
		{"pool that was cut", &contract.PoolOutputs{Health: running}, true, with(contract.ReasonTruncated), true},
		{"pool with an invalid output", &contract.PoolOutputs{Health: running}, true, with(contract.ReasonInvalid), false},
		{"pool that lacks an output", &contract.PoolOutputs{Health: running}, true, with(contract.ReasonMissing), false},
	}
	for _, tt := range tests {
		if got := tt.outputs.Provisioned(tt.applied, tt.vs); got != tt.want {
			t.Errorf("%s: provisioned is %t", tt.name, got)
		}
	}
}

func TestUnsettled(t *testing.T) {
	running := contract.Health{State: contract.HealthRunning}
	pending := contract.Health{State: contract.HealthPending}
	for _, tt := range []struct {
		name    string
		outputs contract.Outputs
		want    bool
	}{
		{"cluster", &contract.ClusterOutputs{Health: running}, false},
		{"cluster, pending", &contract.ClusterOutputs{Health: pending}, true},
		{"machine", &contract.MachineOutputs{Health: running}, false},
		{"machine, pending", &contract.MachineOutputs{Health: pending}, true},
		{"pool", &contract.PoolOutputs{Health: running, Replicas: new(int64(1)), ProviderIDList: []string{"a"}}, false},
		{"pool, scaling", &contract.PoolOutputs{Health: running, Replicas: new(int64(2)), ProviderIDList: []string{"a"}}, true},
		{"pool, pending", &contract.PoolOutputs{Health: pending}, true},
		{"pool, size unknown", &contract.PoolOutputs{Health: running}, false},
	} {
		if got := tt.outputs.Unsettled(); got != tt.want {
			t.Errorf("%s: unsettled is %t", tt.name, got)
		}
	}
}

// TestHealthCondition is the table of contract.md 8.
func TestHealthCondition(t *testing.T) {
	for _, tt := range []struct {
		state   contract.HealthState
		healthy bool
		status  contract.ConditionStatus
		reason  string
		replace bool
	}{
		{"pending", true, "False", "InstancePending", false},
		{"pending", false, "False", "InstancePending", false},
		{"running", true, "True", "Healthy", false},
		{"running", false, "False", "InstanceUnhealthy", true},
		{"degraded", true, "False", "InstanceDegraded", true},
		{"stopped", false, "False", "InstanceStopped", true},
		{"terminated", true, "False", "InstanceTerminated", true},
		{"unknown", true, "Unknown", "HealthUnknown", false},
		{"", false, "Unknown", "HealthUnknown", false},
		{"sick", true, "Unknown", "HealthUnknown", false},
	} {
		h := contract.Health{State: tt.state, Healthy: tt.healthy}
		if c := h.Condition(); c.Status != tt.status || c.Reason != tt.reason || c.Message != tt.reason {
			t.Errorf("%q, %t: %+v", tt.state, tt.healthy, c)
		}
		if got := h.RemediationCandidate(); got != tt.replace {
			t.Errorf("%q, %t: remediation is %t", tt.state, tt.healthy, got)
		}
	}
	for want, h := range map[string]contract.Health{
		"m; reasons: a, b": {State: "running", Message: "m", Reasons: []string{"a", "b"}},
		"reasons: a":       {State: "running", Reasons: []string{"a"}},
		"m":                {State: "running", Message: "m"},
	} {
		if got := h.Condition().Message; got != want {
			t.Errorf("message is %q, want %q", got, want)
		}
	}
}

func TestNames(t *testing.T) {
	// echo -n fleet/TerraformMachine/prod-cp-x7k2p | sha256sum
	if got, want := contract.StateSecretName(contract.RoleMachine, "fleet", "prod-cp-x7k2p"), "tfstate-default-05d1b336dea0f02d-m"; got != want {
		t.Errorf("state is called %s, want %s", got, want)
	}
	for role, short := range map[contract.Role]string{contract.RoleCluster: "c", contract.RoleMachine: "m", contract.RoleMachinePool: "mp"} {
		if got := contract.StateSuffix(role, "ns", "x"); !strings.HasSuffix(got, "-"+short) || len(got) != 17+len(short) {
			t.Errorf("suffix for %s is %s", role, got)
		}
		if got, want := contract.InputsSecretName(role, "x"), "captf-inputs-"+short+"-x"; got != want {
			t.Errorf("inputs are called %s, want %s", got, want)
		}
		if got, want := contract.AppliedSecretName(role, "x"), "captf-applied-"+short+"-x"; got != want {
			t.Errorf("applied inputs are called %s, want %s", got, want)
		}
	}
	long := strings.Repeat("n", 230) + "." + strings.Repeat("n", 22)
	got, other := contract.InputsSecretName(contract.RoleCluster, long), contract.InputsSecretName(contract.RoleCluster, long+"x")
	if len(got) > 253 || got == other || strings.Contains(got, ".-") {
		t.Errorf("a long name is shortened to %s", got)
	}
	if fits := strings.Repeat("n", 253-len("captf-inputs-c-")); contract.InputsSecretName(contract.RoleCluster, fits) != "captf-inputs-c-"+fits {
		t.Error("a name that fits is shortened")
	}
}

func TestPublishExports(t *testing.T) {
	sized := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	for _, tt := range []struct {
		name, exports, want string
		ok                  bool
	}{
		{"absent", "", "{}", true},
		{"null", "null", "{}", true},
		{"compacted", "{ \"b\" : 1,\n \"a\": [ ] }", `{"a":[],"b":1}`, true},
		{"at the limit", sized(65_536), sized(65_536), true},
		{"beyond the limit", sized(65_537), "", false},
		{"fraction", `{"a":1.5}`, "", false},
		{"broken", `{`, "", false},
	} {
		got, ok := contract.PublishExports([]byte(tt.exports))
		if string(got) != tt.want || ok != tt.ok {
			t.Errorf("%s: %t, %d bytes", tt.name, ok, len(got))
		}
	}
}
