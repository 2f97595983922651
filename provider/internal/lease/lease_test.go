package lease_test

import (
	"os"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/lease"
	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

func TestMain(m *testing.M) { os.Exit(tools.Main(m, testenv.Options{})) }

// store returns a Store on a namespace of its own, whose clock begins now.
func store(t *testing.T) (*lease.Store, client.Client, *testingclock.FakePassiveClock, lease.Request) {
	t.Helper()
	c, err := client.New(tools.Environment(t).Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	clock := testingclock.NewFakePassiveClock(time.Now())
	return &lease.Store{Writer: c, Live: c, Clock: clock}, c, clock, lease.Request{
		Namespace: tools.Namespace(t), Name: "captf-run-x-c", Kind: lease.KindRun, Holder: "job-1", Operation: infrav1.OperationApply,
		OwnerKind: "TerraformMachine", OwnerName: "node", Cluster: "prod", Deadline: time.Hour,
	}
}

func acquire(t *testing.T, s *lease.Store, r lease.Request) lease.Taken {
	t.Helper()
	taken, err := s.Acquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return taken
}

// job makes a Job that has finished or not.
func job(t *testing.T, c client.Client, namespace, name string, finished bool) {
	t.Helper()
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "x", Image: "x"}},
		}}},
	}
	if err := c.Create(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	if !finished {
		return
	}
	now := metav1.Now()
	j.Status.StartTime, j.Status.CompletionTime = &now, &now
	j.Status.Conditions = []batchv1.JobCondition{
		{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue}, {Type: batchv1.JobComplete, Status: corev1.ConditionTrue},
	}
	if err := c.Status().Update(t.Context(), j); err != nil {
		t.Fatal(err)
	}
}

// edit changes job-1.
func edit(t *testing.T, c client.Client, namespace string, change func(*batchv1.Job)) {
	t.Helper()
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "job-1"}}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(j), j); err != nil {
		t.Fatal(err)
	}
	change(j)
	status := j.Status
	if err := c.Update(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	j.Status = status
	if err := c.Status().Update(t.Context(), j); err != nil {
		t.Fatal(err)
	}
}

// goesOn lets job-1 start half an hour from now.
func goesOn(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	edit(t, c, namespace, func(j *batchv1.Job) {
		start := metav1.NewTime(time.Now().Add(30 * time.Minute))
		j.Status.StartTime = &start
	})
}

// TestAcquire holds who gets a Lease against B-214 and B-215.
func TestAcquire(t *testing.T) {
	for name, test := range map[string]struct {
		holder func(t *testing.T, c client.Client, namespace string)
		after  time.Duration
		by     string
		want   bool
	}{
		"the same holder again":                       {by: "job-1", want: true},
		"the same holder after the grace":             {by: "job-1", after: 2 * time.Minute, want: true},
		"another, before the Job is there":            {by: "job-2", after: 59 * time.Second},
		"another, and the Job never came":             {by: "job-2", after: 61 * time.Second, want: true},
		"another, while the Job runs":                 {by: "job-2", after: 30 * time.Minute, holder: func(t *testing.T, c client.Client, ns string) { job(t, c, ns, "job-1", false) }},
		"another, after the Job ended":                {by: "job-2", holder: func(t *testing.T, c client.Client, ns string) { job(t, c, ns, "job-1", true) }, want: true},
		"another, later than the Job could have run":  {by: "job-2", after: 76 * time.Minute, holder: func(t *testing.T, c client.Client, ns string) { job(t, c, ns, "job-1", false) }, want: true},
		"another, as late as the Job could still run": {by: "job-2", after: 74 * time.Minute, holder: func(t *testing.T, c client.Client, ns string) { job(t, c, ns, "job-1", false) }},
		"another, while the Job is suspended": {by: "job-2", after: 24 * time.Hour, holder: func(t *testing.T, c client.Client, ns string) {
			job(t, c, ns, "job-1", false)
			edit(t, c, ns, func(j *batchv1.Job) { j.Spec.Suspend = new(true) })
		}},
		"another, while the Job goes on that was suspended": {by: "job-2", after: 100 * time.Minute, holder: func(t *testing.T, c client.Client, ns string) {
			job(t, c, ns, "job-1", false)
			goesOn(t, c, ns)
		}},
		"another, later than a Job that goes on could have run": {by: "job-2", after: 110 * time.Minute, holder: func(t *testing.T, c client.Client, ns string) {
			job(t, c, ns, "job-1", false)
			goesOn(t, c, ns)
		}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, c, clock, r := store(t)
			if !acquire(t, s, r).Held {
				t.Fatal("the first does not get it")
			}
			if test.holder != nil {
				test.holder(t, c, r.Namespace)
			}
			clock.SetTime(clock.Now().Add(test.after))
			r.Holder = test.by
			taken := acquire(t, s, r)
			if taken.Held != test.want {
				t.Errorf("it is taken: %v, want %v", taken.Held, test.want)
			}
			if !taken.Held && taken.By != "job-1" {
				t.Errorf("it is held by %q, want job-1", taken.By)
			}
		})
	}
}

// TestRelease gives back what one has, and leaves alone what another has (B-222).
func TestRelease(t *testing.T) {
	s, c, _, r := store(t)
	acquire(t, s, r)
	if err := s.Release(t.Context(), r.Namespace, r.Name, "job-2"); err != nil {
		t.Fatal(err)
	}
	if held, err := s.Get(t.Context(), r.Namespace, r.Name); err != nil || held == nil {
		t.Fatalf("another's release took it away: %v, %v", held, err)
	}
	for range 2 {
		if err := s.Release(t.Context(), r.Namespace, r.Name, "job-1"); err != nil {
			t.Fatal(err)
		}
	}
	list := &coordinationv1.LeaseList{}
	if err := c.List(t.Context(), list, client.InNamespace(r.Namespace)); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) > 0 {
		t.Errorf("there are %d leases after the release", len(list.Items))
	}
}

// TestMembers lists what a cluster has to wait for (B-217).
func TestMembers(t *testing.T) {
	s, _, _, r := store(t)
	for _, other := range []struct {
		name, kind string
		op         infrav1.Operation
	}{
		{"captf-run-a-m", "TerraformMachine", infrav1.OperationApply},
		{"captf-run-b-mp", "TerraformMachinePool", infrav1.OperationDestroy},
		{"captf-run-c-m", "TerraformMachine", infrav1.OperationRefresh},
		{"captf-run-d-c", "TerraformCluster", infrav1.OperationApply},
	} {
		r.Name, r.OwnerKind, r.Operation, r.Holder = other.name, other.kind, other.op, "job-"+other.name
		acquire(t, s, r)
	}
	members, err := s.Members(t.Context(), r.Namespace, "prod")
	if err != nil {
		t.Fatal(err)
	}
	if len(members) != 2 {
		t.Errorf("a cluster waits for %d, want the apply and the destroy", len(members))
	}
	if err := s.ReleaseAll(t.Context(), r.Namespace, "TerraformMachine", "node"); err != nil {
		t.Fatal(err)
	}
	if members, err = s.Members(t.Context(), r.Namespace, "prod"); err != nil || len(members) != 1 {
		t.Errorf("%d members are left (%v), want that of the pool", len(members), err)
	}
}
