package operation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// TestBackoff is B-193 and B-194.
func TestBackoff(t *testing.T) {
	minutes := func(ns ...int) (out []time.Duration) {
		for _, n := range ns {
			out = append(out, time.Duration(n)*time.Minute)
		}
		return out
	}
	for limit, want := range map[int32][]time.Duration{
		-1: minutes(10, 10), 0: minutes(10, 10), 1: minutes(10, 10), 2: minutes(1, 10, 10), 3: minutes(1, 2, 10, 10),
		5: minutes(1, 2, 4, 8, 10), 100: minutes(1, 2, 4, 8, 10, 10, 10),
	} {
		var got []time.Duration
		for n := range want {
			got = append(got, Backoff(n+1, limit))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
	}
	if got := Backoff(1<<40, 1<<30); got != RetryMax {
		t.Errorf("after very many failures %s", got)
	}
	if got := Backoff(0, 3); got != 0 {
		t.Errorf("without a failure %s", got)
	}
}

// TestFailures is B-190 to B-192.
func TestFailures(t *testing.T) {
	at := func(s int) time.Time { return now.Add(time.Duration(s) * time.Second) }
	run := func(op infrav1.Operation, s int, o Outcome) Run {
		return Run{Operation: op, Finished: at(s), Outcome: o}
	}
	const apply, drift = infrav1.OperationApply, infrav1.OperationDrift
	for name, tt := range map[string]struct {
		runs   []Run
		n      int
		newest time.Time
	}{
		"none":            {nil, 0, time.Time{}},
		"until a success": {[]Run{run(apply, 1, Failed), run(apply, 3, Failed), run(apply, 2, Succeeded)}, 1, at(3)},
		"each kind":       {[]Run{run(apply, 1, Failed), run(apply, 2, Deadline), run(apply, 3, PullFailed)}, 3, at(3)},
		"passed over":     {[]Run{run(apply, 1, Failed), run(apply, 2, Interrupted), run(apply, 3, Blocked), run(apply, 4, PlanChanged)}, 1, at(1)},
		"other operation": {[]Run{run(drift, 1, Failed), run(drift, 2, Succeeded), run(apply, 0, Failed)}, 1, at(0)},
	} {
		n, newest := Failures(tt.runs, apply)
		if n != tt.n || !newest.Equal(tt.newest) {
			t.Errorf("%s: %d, %s", name, n, newest)
		}
	}
	same := []Run{
		{Operation: apply, Finished: at(1), Attempt: 2, Outcome: Succeeded},
		{Operation: apply, Finished: at(1), Attempt: 1, Outcome: Failed},
	}
	if n, _ := Failures(same, apply); n != 0 {
		t.Error("of two that ended in the same second the later attempt is the newer")
	}
}

// TestSlots is B-228 to B-231.
func TestSlots(t *testing.T) {
	for _, tt := range []struct {
		active, limit          int
		foreground, background bool
	}{
		{1000, 0, true, true},
		{0, 1, true, true},
		{1, 1, false, false},
		{1, 2, true, true},
		{2, 2, false, false},
		{15, 20, true, true},
		{16, 20, true, false},
		{19, 20, true, false},
		{20, 20, false, false},
		{25, 20, false, false},
		{159, 200, true, true},
		{160, 200, true, false},
	} {
		s := Slots{Active: tt.active, Limit: tt.limit}
		for _, op := range []infrav1.Operation{infrav1.OperationApply, infrav1.OperationDestroy, infrav1.OperationRestore, infrav1.OperationPlan} {
			if s.Free(op) != tt.foreground {
				t.Errorf("%s at %d of %d: %t", op, tt.active, tt.limit, !tt.foreground)
			}
		}
		for _, op := range []infrav1.Operation{infrav1.OperationRefresh, infrav1.OperationDrift} {
			if s.Free(op) != tt.background {
				t.Errorf("%s at %d of %d: %t", op, tt.active, tt.limit, !tt.background)
			}
		}
	}
}

// TestOutcome is B-065, B-068, B-069, B-191 and B-192.
func TestOutcome(t *testing.T) {
	const deadline = batchv1.JobReasonDeadlineExceeded
	complete := batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}
	failed := func(reason string) batchv1.JobCondition {
		return batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: reason}
	}
	for name, tt := range map[string]struct {
		condition   batchv1.JobCondition
		annotations []string
		want        Outcome
		counts      bool
		result      string
	}{
		"running":               {condition: batchv1.JobCondition{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue}},
		"failing":               {condition: batchv1.JobCondition{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: deadline}},
		"not true":              {condition: batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionFalse}},
		"succeeded":             {complete, nil, Succeeded, false, "succeeded"},
		"plan unreadable":       {complete, []string{"captf.io/plan-unreadable"}, Failed, true, "failed"},
		"failed":                {failed(batchv1.JobReasonBackoffLimitExceeded), nil, Failed, true, "failed"},
		"deadline":              {failed(deadline), nil, Deadline, true, "deadline"},
		"deadline, interrupted": {failed(deadline), []string{"captf.io/interrupted"}, Deadline, true, "deadline"},
		"deadline, no image":    {failed(deadline), []string{"captf.io/image-pull-failed"}, PullFailed, true, "failed"},
		"interrupted":           {failed(batchv1.JobReasonBackoffLimitExceeded), []string{"captf.io/interrupted"}, Interrupted, false, "interrupted"},
		"blocked":               {failed(batchv1.JobReasonBackoffLimitExceeded), []string{"captf.io/destructive-plan-blocked"}, Blocked, false, "blocked"},
		"plan changed":          {failed(batchv1.JobReasonBackoffLimitExceeded), []string{"captf.io/plan-changed"}, PlanChanged, false, "plan_changed"},
	} {
		job := &batchv1.Job{Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{tt.condition}}}
		for _, a := range tt.annotations {
			metav1.SetMetaDataAnnotation(&job.ObjectMeta, a, "true")
		}
		got, finished := OutcomeOf(job)
		if got != tt.want || finished != (tt.want != "") {
			t.Errorf("%s: %q, finished %t", name, got, finished)
			continue
		}
		if finished && (got.Failure() != tt.counts || got.Result() != tt.result) {
			t.Errorf("%s: counts %t, result %s", name, got.Failure(), got.Result())
		}
	}
}

// TestRunsOf reads what a choice needs from Jobs.
func TestRunsOf(t *testing.T) {
	end, transition := metav1.NewTime(now), metav1.NewTime(now.Add(time.Second))
	done := batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "captf-c-prod-apply-a2-000000",
			Labels:      map[string]string{infrav1.LabelOperation: "apply", infrav1.LabelAttempt: "2"},
			Annotations: map[string]string{infrav1.AnnotationInputsHash: "h2:a", infrav1.AnnotationBookkept: "true"},
		},
		Status: batchv1.JobStatus{
			CompletionTime: &end,
			Conditions:     []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: transition}},
		},
	}
	done.Spec.Template.Spec.Containers = []corev1.Container{{Name: "source", Image: "m:v1"}}

	bad := *done.DeepCopy()
	bad.Labels[infrav1.LabelAttempt] = "many"
	bad.Status = batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, LastTransitionTime: transition}}}
	bad.Annotations = map[string]string{infrav1.AnnotationDriftRemediation: "true"}

	running := *done.DeepCopy()
	running.Status = batchv1.JobStatus{Active: 1}

	want := []Run{
		{Job: done.Name, Operation: "apply", Attempt: 2, Finished: end.Time, Outcome: Succeeded, Hash: "h2:a", Image: "m:v1", Bookkept: true},
		{Job: done.Name, Operation: "apply", Finished: transition.Time, Outcome: Failed, Image: "m:v1", Remediation: true},
	}
	if diff := cmp.Diff(want, RunsOf([]*batchv1.Job{&done, &bad, &running})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestIntervals is B-680, B-710 and B-800: what is inherited, and what 0 means.
func TestIntervals(t *testing.T) {
	const manager = 30 * time.Minute
	drift := func(s int32) *infrav1.DriftPolicy { return &infrav1.DriftPolicy{IntervalSeconds: &s} }
	machineDrift := func(s int32) *infrav1.MachineDriftPolicy { return &infrav1.MachineDriftPolicy{IntervalSeconds: &s} }
	annotate := func(b bool, s int32) *infrav1.RemediationPolicy {
		return &infrav1.RemediationPolicy{AnnotateMachine: &b, HealthCheckIntervalSeconds: s}
	}
	cluster := func(own, defaults *infrav1.DriftPolicy) *infrav1.TerraformCluster {
		c := &infrav1.TerraformCluster{}
		c.Spec.Drift, c.Spec.Defaults = own, &infrav1.ClusterDefaults{Drift: defaults}
		return c
	}
	machine := func(d *infrav1.MachineDriftPolicy, r *infrav1.RemediationPolicy) *infrav1.TerraformMachine {
		return &infrav1.TerraformMachine{Spec: infrav1.TerraformMachineSpec{Drift: d, Remediation: r}}
	}
	pool := func(driftSeconds, membership int32) *infrav1.TerraformMachinePool {
		p := &infrav1.TerraformMachinePool{}
		p.Spec.MembershipRefreshIntervalSeconds = membership
		if driftSeconds != 0 {
			p.Spec.Drift = &infrav1.PoolDriftPolicy{IntervalSeconds: driftSeconds}
		}
		return p
	}
	remediated := func(r *infrav1.RemediationPolicy) *infrav1.TerraformCluster {
		c := cluster(nil, nil)
		c.Spec.Defaults.Remediation = r
		return c
	}
	members := cluster(nil, nil)
	members.Spec.Defaults.MembershipRefreshIntervalSeconds = 20

	for name, tt := range map[string]struct {
		object  infrav1.Workspace
		cluster *infrav1.TerraformCluster
		want    Intervals
	}{
		"cluster, nothing set":                {cluster(nil, drift(60)), nil, Intervals{Drift: manager}},
		"cluster, own":                        {cluster(drift(90), drift(60)), nil, Intervals{Drift: 90 * time.Second}},
		"cluster, off":                        {cluster(drift(0), nil), nil, Intervals{}},
		"machine, no cluster":                 {machine(nil, nil), nil, Intervals{Drift: manager}},
		"machine, own":                        {machine(machineDrift(70), nil), cluster(drift(90), drift(60)), Intervals{Drift: 70 * time.Second}},
		"machine, own off":                    {machine(machineDrift(0), nil), cluster(drift(90), drift(60)), Intervals{}},
		"machine, defaults":                   {machine(nil, nil), cluster(drift(90), drift(60)), Intervals{Drift: time.Minute}},
		"machine, defaults off":               {machine(nil, nil), cluster(drift(90), drift(0)), Intervals{}},
		"machine, defaults without interval":  {machine(nil, nil), cluster(drift(90), &infrav1.DriftPolicy{Action: infrav1.DriftActionReport}), Intervals{Drift: 90 * time.Second}},
		"machine, cluster's":                  {machine(nil, nil), cluster(drift(90), nil), Intervals{Drift: 90 * time.Second}},
		"machine, remediated":                 {machine(nil, annotate(true, 0)), nil, Intervals{Drift: manager, HealthCheck: 5 * time.Minute}},
		"machine, remediated by default":      {machine(nil, nil), remediated(annotate(true, 120)), Intervals{Drift: manager, HealthCheck: 2 * time.Minute}},
		"machine, own false wins":             {machine(nil, annotate(false, 60)), remediated(annotate(true, 120)), Intervals{Drift: manager}},
		"machine, own interval, default true": {machine(nil, &infrav1.RemediationPolicy{HealthCheckIntervalSeconds: 60}), remediated(annotate(true, 120)), Intervals{Drift: manager, HealthCheck: time.Minute}},
		"pool, no cluster":                    {pool(0, 0), nil, Intervals{Drift: manager, Membership: time.Minute}},
		"pool, own":                           {pool(1, 15), members, Intervals{Drift: time.Second, Membership: 15 * time.Second}},
		"pool, defaults":                      {pool(0, 0), members, Intervals{Drift: manager, Membership: 20 * time.Second}},
		"pool, inherited":                     {pool(0, 0), cluster(drift(90), nil), Intervals{Drift: 90 * time.Second, Membership: time.Minute}},
		"pool, inherited 0":                   {pool(0, 0), cluster(drift(90), drift(0)), Intervals{Drift: manager, Membership: time.Minute}},
	} {
		if diff := cmp.Diff(tt.want, IntervalsOf(tt.object, tt.cluster, manager)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
