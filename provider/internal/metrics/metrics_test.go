package metrics

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

const (
	cluster = "TerraformCluster"
	machine = "TerraformMachine"
)

// gather returns the series of the provider's metrics, as NAME{label="value",...} and their values; of a histogram the
// number of observations.
func gather(t *testing.T) map[string]float64 {
	t.Helper()
	gathered, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatalf("gathering: %v", err)
	}
	out := map[string]float64{}
	for _, f := range gathered {
		if !strings.HasPrefix(f.GetName(), "captf_") {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			v := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			out[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = v
		}
	}
	return out
}

// recorded returns the series that a function changed, and by how much.
func recorded(t *testing.T, f func()) map[string]float64 {
	t.Helper()
	before := gather(t)
	f()
	after := gather(t)
	for name, v := range before {
		if after[name] == v {
			delete(after, name)
		} else {
			after[name] -= v
		}
	}
	return after
}

func TestRecording(t *testing.T) {
	queued := 7 * time.Second
	for name, test := range map[string]struct {
		record func()
		want   map[string]float64
	}{
		"a Job that succeeded": {
			record: func() {
				JobEnded(Job{
					Kind: cluster, Operation: "apply", Result: "succeeded", Duration: time.Minute, Queued: &queued, Attempts: 2,
					Steps:   []Step{{"init", time.Second}, {"apply", 30 * time.Second}},
					Changes: map[string]int32{"create": 3, "update": 0, "delete": 1},
				})
			},
			want: map[string]float64{
				`captf_jobs_total{kind="TerraformCluster",op="apply",result="succeeded"}`:           1,
				`captf_job_duration_seconds{kind="TerraformCluster",op="apply",result="succeeded"}`: 1,
				`captf_job_queue_seconds{kind="TerraformCluster",op="apply"}`:                       1,
				`captf_job_step_duration_seconds{kind="TerraformCluster",op="apply",step="init"}`:   1,
				`captf_job_step_duration_seconds{kind="TerraformCluster",op="apply",step="apply"}`:  1,
				`captf_job_attempts{kind="TerraformCluster",op="apply"}`:                            1,
				`captf_resources_changed_total{action="create",kind="TerraformCluster",op="apply"}`: 3,
				`captf_resources_changed_total{action="delete",kind="TerraformCluster",op="apply"}`: 1,
			},
		},
		"a drift check": {
			record: func() {
				JobEnded(Job{Kind: machine, Operation: "drift", Result: "succeeded", Drift: map[string]int32{"replace": 2}})
			},
			want: map[string]float64{
				`captf_jobs_total{kind="TerraformMachine",op="drift",result="succeeded"}`:           1,
				`captf_job_duration_seconds{kind="TerraformMachine",op="drift",result="succeeded"}`: 1,
				`captf_drift_resources_total{action="replace",kind="TerraformMachine"}`:             2,
			},
		},
		"a failed step": {
			record: func() {
				JobEnded(Job{Kind: machine, Operation: "destroy", Result: "failed", ErrorKind: "step", ErrorStep: "destroy"})
			},
			want: map[string]float64{
				`captf_jobs_total{kind="TerraformMachine",op="destroy",result="failed"}`:                        1,
				`captf_job_duration_seconds{kind="TerraformMachine",op="destroy",result="failed"}`:              1,
				`captf_job_errors_total{error_kind="step",kind="TerraformMachine",op="destroy",step="destroy"}`: 1,
			},
		},
		"a deadline is one though the runner was interrupted": {
			record: func() {
				JobEnded(Job{Kind: machine, Operation: "apply", Result: "deadline", ErrorKind: "interrupted"})
			},
			want: map[string]float64{
				`captf_jobs_total{kind="TerraformMachine",op="apply",result="deadline"}`:                       1,
				`captf_job_duration_seconds{kind="TerraformMachine",op="apply",result="deadline"}`:             1,
				`captf_job_errors_total{error_kind="deadline",kind="TerraformMachine",op="apply",step="none"}`: 1,
			},
		},
		"a Job without a result": {
			record: func() { JobEnded(Job{Kind: machine, Operation: "refresh", Result: "failed"}) },
			want: map[string]float64{
				`captf_jobs_total{kind="TerraformMachine",op="refresh",result="failed"}`:                        1,
				`captf_job_duration_seconds{kind="TerraformMachine",op="refresh",result="failed"}`:              1,
				`captf_job_errors_total{error_kind="unknown",kind="TerraformMachine",op="refresh",step="none"}`: 1,
			},
		},
		"values that nobody knows": {
			record: func() {
				JobEnded(Job{
					Kind: "Pod", Operation: "rm -rf", Result: "succeeded", Steps: []Step{{"curl", time.Second}},
					Changes: map[string]int32{"shred": 1},
				})
			},
			want: map[string]float64{
				`captf_jobs_total{kind="other",op="other",result="succeeded"}`:           1,
				`captf_job_duration_seconds{kind="other",op="other",result="succeeded"}`: 1,
				`captf_job_step_duration_seconds{kind="other",op="other",step="other"}`:  1,
				`captf_resources_changed_total{action="other",kind="other",op="other"}`:  1,
			},
		},
		"decisions": {
			record: func() { Decision(cluster, "", "UpToDate"); Decision(cluster, "apply", "InputsChanged") },
			want: map[string]float64{
				`captf_reconcile_op_decisions_total{kind="TerraformCluster",op="none",reason="UpToDate"}`:       1,
				`captf_reconcile_op_decisions_total{kind="TerraformCluster",op="apply",reason="InputsChanged"}`: 1,
			},
		},
		"reasons of conditions": {
			record: func() {
				Waited(machine, infrav1.WaitingForJobSlotReason)
				StateUnreadable(machine, infrav1.ApplyOutcomeUnknownReason)
				StateUnreadable(machine, "corrupt")
				OutputsInvalid(machine, infrav1.ProviderIDChangedReason)
				IdentityDenied(infrav1.SecretNotFoundReason)
				IdentityDenied(infrav1.NamespaceNotAllowedReason)
			},
			want: map[string]float64{
				`captf_lease_waits_total{kind="TerraformMachine",reason="job_slot"}`:              1,
				`captf_state_read_errors_total{kind="TerraformMachine",reason="lost"}`:            1,
				`captf_state_read_errors_total{kind="TerraformMachine",reason="corrupt"}`:         1,
				`captf_outputs_invalid_total{kind="TerraformMachine",reason="ProviderIDChanged"}`: 1,
				`captf_identity_denied_total{reason="notfound"}`:                                  1,
				`captf_identity_denied_total{reason="namespace"}`:                                 1,
			},
		},
		"the rest": {
			record: func() {
				InputsChanged(cluster)
				ForceUnlocked(cluster)
				Backup(cluster, BackupTaken)
				Remediation(RemediationWithdrawn)
				ImageInspectFailed(InspectRefused)
				BuildInfo("v0.1.0", "abc")
			},
			want: map[string]float64{
				`captf_inputs_hash_changes_total{kind="TerraformCluster"}`:            1,
				`captf_lock_force_unlocks_total{kind="TerraformCluster"}`:             1,
				`captf_state_backups_total{kind="TerraformCluster",result="taken"}`:   1,
				`captf_remediation_requests_total{action="withdrawn"}`:                1,
				`captf_image_inspect_errors_total{reason="refused"}`:                  1,
				`captf_build_info{commit="abc",contract="v1alpha1",version="v0.1.0"}`: 1,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, recorded(t, test.record)); diff != "" {
				t.Errorf("series that changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestObject(t *testing.T) {
	before := gather(t)
	for _, kind := range []string{cluster, machine} {
		for _, name := range []string{"a", "b"} {
			o := Object(kind, "ns", name)
			o.Ready(metav1.ConditionTrue)
			o.Healthy(metav1.ConditionUnknown)
			o.Drift(true)
			o.StateResources(4)
			o.StateBytes(5)
			o.InputsBytes(6)
			o.UnhealthySamples(2)
			for _, op := range ops {
				o.LastSuccess(op, time.Unix(1000, 0))
			}
		}
	}
	Forget(cluster, "ns", "a")
	Forget(machine, "ns", "a")
	Object(machine, "ns", "b").LastSuccess("drift", time.Time{})

	got := gather(t)
	for name := range before {
		delete(got, name)
	}
	if n := len(slices.Collect(maps.Keys(got))); n != 6+6+7+5 {
		t.Errorf("%d series are left", n)
	}
	want := map[string]float64{}
	for suffix, v := range map[string]float64{
		"ready": 1, "infrastructure_healthy": -1, "drift_detected": 1, "state_resources": 4, "state_bytes": 5, "inputs_bytes": 6,
	} {
		for _, kind := range []string{cluster, machine} {
			want[fmt.Sprintf(`captf_%s{kind=%q,name="b",namespace="ns"}`, suffix, kind)] = v
		}
	}
	want[`captf_unhealthy_samples{name="b",namespace="ns"}`] = 2
	for _, op := range ops {
		for _, kind := range []string{cluster, machine} {
			if op != "drift" || kind != machine {
				want[fmt.Sprintf(`captf_last_success_timestamp_seconds{kind=%q,name="b",namespace="ns",op=%q}`, kind, op)] = 1000
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// The first failure of all is an increase from zero.
func TestFromZero(t *testing.T) {
	got := gather(t)
	for _, name := range []string{
		`captf_jobs_total{kind="TerraformMachinePool",op="restore",result="plan_changed"}`,
		`captf_state_read_errors_total{kind="TerraformMachinePool",reason="encrypted"}`,
		`captf_lock_force_unlocks_total{kind="TerraformMachinePool"}`,
	} {
		if v, found := got[name]; !found || v != 0 {
			t.Errorf("%s is %v, %t", name, v, found)
		}
	}
}

func TestForgetCoversEverySeriesOfAnObject(t *testing.T) {
	for _, f := range Families() {
		named := slices.ContainsFunc(f.Labels, func(l Label) bool { return l.Name == "name" })
		if named != f.PerObject {
			t.Errorf("%s has a label name: %t; PerObject says %t", f.Name, named, f.PerObject)
		}
	}
}

func TestActiveJobs(t *testing.T) {
	t.Cleanup(func() { ActiveJobs(nil) })
	ActiveJobs(func() map[ActiveJob]int {
		return map[ActiveJob]int{{cluster, "apply"}: 2, {"x", "y"}: 1, {"x", "z"}: 3}
	})
	got := gather(t)
	maps.DeleteFunc(got, func(name string, _ float64) bool { return !strings.HasPrefix(name, activeName) })
	want := map[string]float64{
		`captf_jobs_active{kind="TerraformCluster",op="apply"}`: 2,
		`captf_jobs_active{kind="other",op="other"}`:            4,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// One page serves both registries, each family once, and ours say that they may change.
func TestServedTogether(t *testing.T) {
	BuildInfo("v0", "c")
	gathered, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, f := range gathered {
		count[f.GetName()]++
		if strings.HasPrefix(f.GetName(), "captf_") && !strings.HasPrefix(f.GetHelp(), "[ALPHA] ") {
			t.Errorf("%s: help %q", f.GetName(), f.GetHelp())
		}
	}
	for _, name := range []string{"go_goroutines", "process_start_time_seconds", "captf_build_info", "registered_metrics_total"} {
		if count[name] != 1 {
			t.Errorf("%s is served %d times", name, count[name])
		}
	}
	for name, n := range count {
		if n != 1 {
			t.Errorf("%s is served %d times", name, n)
		}
	}
}

// Everything of the table is registered with its labels: each family is recorded once, through the set.
func TestTable(t *testing.T) {
	s := newSet()
	names := map[string]bool{}
	for _, f := range Families() {
		if names[f.Name] {
			t.Errorf("%s is declared twice", f.Name)
		}
		names[f.Name] = true
		if !strings.HasSuffix(f.Help, ".") || f.Unit == "" {
			t.Errorf("%s: help %q, unit %q", f.Name, f.Help, f.Unit)
		}
		if (f.Type == Histogram) != (len(f.Buckets) > 0) || !slices.IsSorted(f.Buckets) {
			t.Errorf("%s: type %s, buckets %v", f.Name, f.Type, f.Buckets)
		}
		if (f.Type == Counter) != strings.HasSuffix(f.Name, "_total") {
			t.Errorf("%s is a %s", f.Name, f.Type)
		}
		for _, l := range f.Labels {
			if slices.Contains(l.Values, Other) || len(l.Values) != len(slices.Compact(slices.Sorted(slices.Values(l.Values)))) {
				t.Errorf("%s: label %s has the values %v", f.Name, l.Name, l.Values)
			}
		}
	}
	if n := len(s.counters) + len(s.gauges) + len(s.histograms) + 1; n != len(names) {
		t.Errorf("%d metrics are made of %d", n, len(names))
	}
}
