package controllers_test

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/controllers/controllerstest"
	"github.com/captf-toolkit/captf/provider/internal/names"
	"github.com/captf-toolkit/captf/provider/testenv/faults"
)

// noSecret is what a node says of a container whose Secret does not exist.
const noSecret = `secret "cloud-extra" not found`

// pullSecret is a policy with a pull secret.
var pullSecret = &infrav1.JobPolicy{ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}}}

// TestCannotStart has Jobs whose pod does not start. The object says why, and a Job gives way to one that may start, or to the
// deletion of its object.
func TestCannotStart(t *testing.T) {
	cluster := func(s *story) *infrav1.TerraformCluster {
		s.runner.HoldOperation(infrav1.OperationApply)
		return controllerstest.Cluster(s.t.Context(), s.t, s.c, s.ns, "prod", controllerstest.TestImages)
	}
	first := func(s *story) *batchv1.Job {
		await(s.t, "the Job", func() bool { return len(s.jobs(infrav1.OperationApply)) == 1 })
		return &s.jobs(infrav1.OperationApply)[0]
	}
	later := func(s *story, obj client.Object, d time.Duration) {
		s.clock.Advance(d)
		s.touch(obj)
	}
	ready := func(s *story, tc *infrav1.TerraformCluster) {
		controllerstest.Await(s.t.Context(), s.t, s.c, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
	}
	for name, run := range map[string]func(*story){
		"a Secret that comes late": func(s *story) {
			tc := cluster(s)
			pod := s.waitingFor(first(s), "CreateContainerConfigError", noSecret)
			later(s, tc, 3*time.Minute)
			says(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.JobNotStartedReason, noSecret, pod.Name)
			pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
			if err := s.c.Status().Update(s.t.Context(), pod); err != nil {
				s.t.Fatal(err)
			}
			s.touch(tc)
			is(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.NoApplyYetReason)
		},
		"no pod at all": func(s *story) {
			tc := cluster(s)
			job := first(s)
			later(s, tc, 4*time.Minute)
			settle(s.t)
			is(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.NoApplyYetReason)
			later(s, tc, 2*time.Minute)
			says(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.JobNotStartedReason, "kubectl describe job -n "+s.ns+" "+job.Name)
		},
		"a volume that is not there": func(s *story) {
			tc := cluster(s)
			pod := s.waitingFor(first(s), "ContainerCreating", "")
			later(s, tc, 6*time.Minute)
			says(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.JobNotStartedReason, "kubectl describe pod -n "+s.ns+" "+pod.Name)
		},
		"a pull secret that is added": func(s *story) {
			tc := cluster(s)
			job := first(s)
			s.waiting(job)
			later(s, tc, 3*time.Minute)
			is(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.ImagePullFailedReason)
			s.runner.LetGo()
			change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Spec.Jobs = pullSecret.DeepCopy() })
			ready(s, tc)
			if now := first(s); now.UID == job.UID || len(now.Spec.Template.Spec.ImagePullSecrets) != 1 {
				s.t.Errorf("the Job has pull secrets %v", now.Spec.Template.Spec.ImagePullSecrets)
			}
		},
		"one that the cluster gives its machines": func(s *story) {
			tc := s.cluster()
			s.runner.HoldOperation(infrav1.OperationApply)
			controllerstest.InfrastructureProvisioned(s.t.Context(), s.t, s.c, s.ns, "prod")
			tm := controllerstest.Machine(s.t.Context(), s.t, s.c, s.ns, "prod", "prod-0", true, controllerstest.TestImages)
			of := func() *batchv1.Job {
				for _, j := range s.jobs(infrav1.OperationApply) {
					if j.Labels[infrav1.LabelOwnerKind] == "TerraformMachine" {
						return &j
					}
				}
				return nil
			}
			await(s.t, "the Job", func() bool { return of() != nil })
			s.waitingFor(of(), "CreateContainerConfigError", noSecret)
			later(s, tm, 3*time.Minute)
			is(s, tm, infrav1.ApplyJobSucceededCondition, infrav1.JobNotStartedReason)
			s.runner.LetGo()
			change(s, tc, func(tc *infrav1.TerraformCluster) {
				tc.Spec.Defaults = &infrav1.ClusterDefaults{Jobs: pullSecret.DeepCopy()}
			})
			s.nudge("a Job with the pull secret", func() bool {
				j := of()
				return j != nil && len(j.Spec.Template.Spec.ImagePullSecrets) == 1
			}, tm)
			controllerstest.Await(s.t.Context(), s.t, s.c, tm, "applied", controllerstest.Applied[*infrav1.TerraformMachine])
		},
		"a deletion": func(s *story) {
			tc := cluster(s)
			job := first(s)
			s.waitingFor(job, "CreateContainerConfigError", noSecret)
			if err := s.c.Delete(s.t.Context(), tc); err != nil {
				s.t.Fatal(err)
			}
			settle(s.t)
			if now := first(s); now.UID != job.UID || ptr.Deref(now.Spec.Suspend, false) {
				s.t.Error("a Job that may be about to start was withdrawn")
			}
			later(s, tc, 2*time.Minute)
			controllerstest.AwaitGone(s.t.Context(), s.t, s.c, tc)
			if n := s.runner.Jobs(); n != 0 {
				s.t.Errorf("%d Jobs ran", n)
			}
		},
		"somebody suspended it": func(s *story) {
			tc := cluster(s)
			job := first(s)
			s.waiting(job)
			change(s, job, func(j *batchv1.Job) { j.Spec.Suspend = new(true) })
			s.touch(tc)
			says(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.JobNotStartedReason, "suspended", "kubectl patch job -n "+s.ns+" "+job.Name)
			change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Spec.Jobs = pullSecret.DeepCopy() })
			later(s, tc, 10*time.Minute)
			settle(s.t)
			if now := first(s); now.UID != job.UID || !ptr.Deref(now.Spec.Suspend, false) {
				s.t.Error("the Job is not the one that was suspended")
			}
			s.runner.LetGo()
			change(s, job, func(j *batchv1.Job) { j.Spec.Suspend = new(false) })
			ready(s, tc)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(ticking(t))
		})
	}
}

// TestCheckNotStarted says that a check does not start, and that it runs once it does.
func TestCheckNotStarted(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	s.runner.HoldOperation(infrav1.OperationDrift)
	s.clock.Advance(40 * time.Minute)
	s.touch(tc)
	await(t, "the Job", func() bool { return len(s.jobs(infrav1.OperationDrift)) == 1 })
	pod := s.waitingFor(&s.jobs(infrav1.OperationDrift)[0], "CreateContainerConfigError", noSecret)
	s.clock.Advance(3 * time.Minute)
	s.touch(tc)
	says(s, tc, infrav1.DriftJobSucceededCondition, infrav1.JobNotStartedReason, noSecret)
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	if err := s.c.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	s.touch(tc)
	is(s, tc, infrav1.DriftJobSucceededCondition, infrav1.DriftJobRunningReason)
}

// TestWithdrawnGate withdraws a cluster's Job while a machine waits for it: the machine's Job does not start before the pod of
// the other is gone, which could yet start and change the cluster.
func TestWithdrawnGate(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.runner.KeepSuspended = true
	s.start(nil)
	tc := s.cluster()
	controllerstest.InfrastructureProvisioned(t.Context(), t, s.c, s.ns, "prod")
	s.runner.HoldOperation(infrav1.OperationApply)
	change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Spec.Source.Image = "registry.test/cluster:v2" })
	running := controllerstest.Await(t.Context(), t, s.c, tc, "running", func(tc *infrav1.TerraformCluster) bool { return tc.Status.ActiveJob != nil })
	job := &batchv1.Job{}
	if err := s.c.Get(t.Context(), client.ObjectKey{Namespace: s.ns, Name: running.Status.ActiveJob.Name}, job); err != nil {
		t.Fatal(err)
	}
	s.waiting(job)
	tm := controllerstest.Machine(t.Context(), t, s.c, s.ns, "prod", "prod-0", true, controllerstest.TestImages)
	is(s, tm, infrav1.ApplyJobSucceededCondition, infrav1.WaitingForClusterOperationReason)
	s.runner.LetGo()
	change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Spec.Source.Image = "registry.test/cluster:v3" })
	await(t, "the Job to be suspended", func() bool {
		return s.c.Get(t.Context(), client.ObjectKeyFromObject(job), job) == nil && ptr.Deref(job.Spec.Suspend, false)
	})
	s.clock.Advance(time.Minute)
	s.touch(tm)
	settle(t)
	lease := &coordinationv1.Lease{}
	if err := s.c.Get(t.Context(), client.ObjectKey{Namespace: s.ns, Name: names.ClusterLease(s.ns, "prod")}, lease); err != nil {
		t.Fatal(err)
	}
	if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); holder != job.Name {
		t.Errorf("the gate is held by %q, want %s", holder, job.Name)
	}
	if c := conditions.Get(s.reread(tm), infrav1.ApplyJobSucceededCondition); c == nil || c.Reason != infrav1.WaitingForClusterOperationReason {
		t.Errorf("the machine does not wait any more: %v", c)
	}
	suspend(s, job)
	s.nudge("both to be applied", func() bool {
		s.clock.Advance(time.Minute)
		return controllerstest.Applied(s.reread(tm)) && s.c.Get(t.Context(), client.ObjectKeyFromObject(tc), tc) == nil &&
			controllerstest.Applied(tc) && tc.Status.ActiveJob == nil
	}, tm, tc)
}

// TestUnstartedYields has a machine whose image cannot be pulled while its cluster is to be applied: the cluster, and the other
// machines that wait behind it, do not wait for the machine's Job to reach its deadline.
func TestUnstartedYields(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	s.runner.HoldOperation(infrav1.OperationApply)
	tm := controllerstest.Machine(t.Context(), t, s.c, s.ns, "prod", "prod-0", true, controllerstest.TestImages)
	running := controllerstest.Await(t.Context(), t, s.c, tm, "running", func(tm *infrav1.TerraformMachine) bool { return tm.Status.ActiveJob != nil })
	job := &batchv1.Job{}
	if err := s.c.Get(t.Context(), client.ObjectKey{Namespace: s.ns, Name: running.Status.ActiveJob.Name}, job); err != nil {
		t.Fatal(err)
	}
	s.waiting(job)
	s.clock.Advance(3 * time.Minute)
	s.touch(tm)
	is(s, tm, infrav1.ApplyJobSucceededCondition, infrav1.ImagePullFailedReason) // nobody waits: it is left to its deadline
	s.runner.LetGo()
	change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Spec.Source.Image = "registry.test/cluster:v2" })
	s.nudge("cluster and machine to be applied", func() bool {
		return s.c.Get(t.Context(), client.ObjectKeyFromObject(tc), tc) == nil && tc.Status.Source.Image == "registry.test/cluster:v2" &&
			controllerstest.Applied(tc) && controllerstest.Applied(s.reread(tm))
	}, tm, tc)
	now := &batchv1.Job{}
	if err := s.c.Get(t.Context(), client.ObjectKeyFromObject(job), now); client.IgnoreNotFound(err) != nil || now.UID == job.UID {
		t.Errorf("the Job that did not start is still there: %v", err)
	}
}

// once returns a function that does something at the first call that it matches once it is armed, right before the call is made.
func once(f *faults.Faults, matches func(faults.Call) bool, do func()) (arm func()) {
	var armed atomic.Bool
	f.FailWhere(func(c faults.Call) bool {
		if matches(c) && armed.CompareAndSwap(true, false) {
			do()
		}
		return false
	}, 1, faults.Before, nil)
	return func() { armed.Store(true) }
}

// TestGenerationOfJob changes the spec right before the write that comes before the Job: no Job of the older spec says that it is
// of the newer one, which would keep it from giving way.
func TestGenerationOfJob(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	f := faults.New()
	var live *infrav1.TerraformCluster // only the function that is armed touches it from then on
	var newest atomic.Int64
	arm := once(f, func(c faults.Call) bool {
		return c.Client == "cached" && c.Verb == faults.Patch && c.Kind.Kind == "TerraformCluster" && c.Subresource == ""
	}, func() {
		change(s, live, func(tc *infrav1.TerraformCluster) { tc.Spec.Source.Image = "registry.test/cluster:v3" })
		newest.Store(live.Generation)
	})
	s.start(f)
	tc := s.cluster()
	s.runner.HoldOperation(infrav1.OperationApply)
	live = tc.DeepCopy()
	arm()
	change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Spec.Source.Image = "registry.test/cluster:v2" })
	controllerstest.Await(t.Context(), t, s.c, tc, "running", func(tc *infrav1.TerraformCluster) bool { return tc.Status.ActiveJob != nil })
	if newest.Load() == 0 {
		t.Fatal("the spec was not changed under the pass")
	}
	for _, j := range s.jobs(infrav1.OperationApply) {
		for _, c := range j.Spec.Template.Spec.Containers {
			if of := j.Annotations[infrav1.AnnotationGeneration]; of == strconv.FormatInt(newest.Load(), 10) && c.Name == "source" && c.Image != "registry.test/cluster:v3" {
				t.Errorf("Job %s of generation %s runs %s", j.Name, of, c.Image)
			}
		}
	}
}

// TestWithdrawnGoesOn lets a Job go on right before it is deleted as withdrawn: it stays, and applies.
func TestWithdrawnGoesOn(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	f := faults.New()
	var live *batchv1.Job // only the function that is armed touches it from then on
	arm := once(f, func(c faults.Call) bool { return c.Verb == faults.Delete && c.Kind.Kind == "Job" }, func() {
		change(s, live, func(j *batchv1.Job) {
			j.Spec.Suspend = new(false)
			delete(j.Annotations, infrav1.AnnotationWithdrawn)
		})
	})
	s.start(f)
	s.runner.HoldOperation(infrav1.OperationApply)
	tc := controllerstest.Cluster(t.Context(), t, s.c, s.ns, "prod", controllerstest.TestImages)
	await(t, "the Job", func() bool { return len(s.jobs(infrav1.OperationApply)) == 1 })
	job := &s.jobs(infrav1.OperationApply)[0]
	s.waitingFor(job, "CreateContainerConfigError", noSecret)
	live = job.DeepCopy()
	arm()
	change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Spec.Jobs = pullSecret.DeepCopy() })
	s.clock.Advance(3 * time.Minute)
	s.touch(tc)
	await(t, "the Job to be let go on", func() bool {
		return s.c.Get(t.Context(), client.ObjectKeyFromObject(job), job) == nil && !ptr.Deref(job.Spec.Suspend, true) && job.Annotations[infrav1.AnnotationWithdrawn] == ""
	})
	settle(t)
	if now := s.jobs(infrav1.OperationApply); len(now) != 1 || now[0].UID != job.UID {
		t.Errorf("the Job that goes on is gone: %d Jobs", len(now))
	}
}

// reread reads a machine again.
func (s *story) reread(tm *infrav1.TerraformMachine) *infrav1.TerraformMachine {
	s.t.Helper()
	if err := s.c.Get(s.t.Context(), client.ObjectKeyFromObject(tm), tm); err != nil {
		s.t.Fatal(err)
	}
	return tm
}
