package controllers_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/controllers/controllerstest"
	"github.com/captf-toolkit/captf/provider/internal/controllers/instant"
	"github.com/captf-toolkit/captf/provider/internal/result"
	"github.com/captf-toolkit/captf/provider/internal/state"
)

// touch makes the controllers look at an object.
func (s *story) touch(obj client.Object) {
	s.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"test.example/touched":"%d"}}}`, time.Now().UnixNano())
	if err := s.c.Patch(s.t.Context(), obj, client.RawPatch("application/merge-patch+json", patch)); client.IgnoreNotFound(err) != nil {
		s.t.Fatal(err)
	}
}

// change patches an object.
func change[T client.Object](s *story, obj T, do func(T)) {
	s.t.Helper()
	if err := s.c.Get(s.t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		s.t.Fatal(err)
	}
	base, _ := obj.DeepCopyObject().(client.Object)
	do(obj)
	if err := s.c.Patch(s.t.Context(), obj, client.MergeFrom(base)); err != nil {
		s.t.Fatal(err)
	}
}

// is waits until a condition has a reason, and returns its message.
func is[T infrav1.Workspace](s *story, obj T, conditionType, reason string) string {
	s.t.Helper()
	controllerstest.Await(s.t.Context(), s.t, s.c, obj, conditionType+" "+reason, func(obj T) bool {
		return conditions.HasReason(obj, conditionType, reason)
	})
	return conditions.Get(obj, conditionType).Message
}

// says waits until a condition has a reason and holds its message against what it must say.
func says[T infrav1.Workspace](s *story, obj T, conditionType, reason string, parts ...string) {
	s.t.Helper()
	message := is(s, obj, conditionType, reason)
	for _, p := range parts {
		if !strings.Contains(message, p) {
			s.t.Errorf("%s %s says %q, which lacks %q", conditionType, reason, message, p)
		}
	}
}

// told waits for an event.
func (s *story) told(reasons ...string) {
	s.t.Helper()
	for _, reason := range reasons {
		await(s.t, "the event "+reason, func() bool {
			list := &eventsv1.EventList{}
			if err := s.c.List(s.t.Context(), list, client.InNamespace(s.ns)); err != nil {
				s.t.Fatal(err)
			}
			return slices.ContainsFunc(list.Items, func(e eventsv1.Event) bool { return e.Reason == reason })
		})
	}
}

// jobs are the Jobs of an operation.
func (s *story) jobs(op infrav1.Operation) []batchv1.Job {
	s.t.Helper()
	list := &batchv1.JobList{}
	if err := s.c.List(s.t.Context(), list, client.InNamespace(s.ns), client.MatchingLabels{infrav1.LabelOperation: string(op)}); err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

// ticking starts the controllers with a clock that can be advanced.
func ticking(t *testing.T) *story {
	t.Helper()
	s := newStory(t)
	s.start(nil)
	return s
}

// cluster makes a cluster and waits until it is Ready.
func (s *story) cluster() *infrav1.TerraformCluster {
	s.t.Helper()
	tc := controllerstest.Cluster(s.t.Context(), s.t, s.c, s.ns, "prod", controllerstest.TestImages)
	controllerstest.Await(s.t.Context(), s.t, s.c, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
	controllerstest.InfrastructureProvisioned(s.t.Context(), s.t, s.c, s.ns, "prod")
	return tc
}

// machine makes a cluster and a machine and waits until they are Ready.
func (s *story) machine() *infrav1.TerraformMachine {
	s.t.Helper()
	s.cluster()
	tm := controllerstest.Machine(s.t.Context(), s.t, s.c, s.ns, "prod", "node", true, controllerstest.TestImages)
	controllerstest.Await(s.t.Context(), s.t, s.c, tm, "Ready", controllerstest.IsReady[*infrav1.TerraformMachine])
	return tm
}

// secret reads a Secret of the namespace.
func (s *story) secret(name string) *corev1.Secret {
	s.t.Helper()
	secret := &corev1.Secret{}
	if err := s.c.Get(s.t.Context(), client.ObjectKey{Namespace: s.ns, Name: name}, secret); err != nil {
		s.t.Fatal(err)
	}
	return secret
}

// TestPaused lets nothing start, and nothing be destroyed, while an object is paused (B-028).
func TestPaused(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	change(s, tc, func(tc *infrav1.TerraformCluster) {
		tc.Annotations = map[string]string{clusterv1.PausedAnnotation: "", contract.AnnotationEndpointSource: "module"}
	})
	is(s, tc, infrav1.PausedCondition, infrav1.PausedReason)
	change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Spec.Source.Image = "registry.test/cluster:v2" })
	if err := s.c.Delete(t.Context(), tc); err != nil {
		t.Fatal(err)
	}
	says(s, tc, infrav1.DeletingCondition, infrav1.DeletingReason, "paused")
	if n := s.runner.Jobs(); n != 1 {
		t.Errorf("%d Jobs ran, want the first apply only", n)
	}
	change(s, tc, func(tc *infrav1.TerraformCluster) { delete(tc.Annotations, clusterv1.PausedAnnotation) })
	controllerstest.AwaitGone(t.Context(), t, s.c, tc)
	s.told("Paused", "Resumed", "Destroyed")
}

// TestNotScheduled tells when a check last succeeded only as long as it is done at all: an alert looks at how long ago that is.
func TestNotScheduled(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	told := func(op string) bool {
		_, ok := series(t, "captf_last_success_timestamp_seconds", s.ns)["TerraformCluster prod "+op]
		return ok
	}
	checked := func() {
		s.clock.Advance(40 * time.Minute)
		s.touch(tc)
		await(t, "a check to be told", func() bool { return told("drift") })
	}
	pause := func(tc *infrav1.TerraformCluster) { tc.Annotations[clusterv1.PausedAnnotation] = "" }
	proceed := func(tc *infrav1.TerraformCluster) { delete(tc.Annotations, clusterv1.PausedAnnotation) }
	off := func(tc *infrav1.TerraformCluster) {
		tc.Spec.Drift = &infrav1.DriftPolicy{IntervalSeconds: new(int32(0))}
	}
	checked()
	for name, do := range map[string]func(*infrav1.TerraformCluster){"paused": pause, "turned off": off} {
		change(s, tc, do)
		await(t, "no check to be told when it is "+name, func() bool { return !told("drift") })
		if !told("apply") {
			t.Errorf("%s: the last apply is not told", name)
		}
		change(s, tc, func(tc *infrav1.TerraformCluster) { proceed(tc); tc.Spec.Drift = nil })
		checked()
	}
	s.runner.HoldOperation(infrav1.OperationDestroy)
	if err := s.c.Delete(t.Context(), tc); err != nil {
		t.Fatal(err)
	}
	await(t, "no check to be told when it is deleted", func() bool { return !told("drift") })
}

// TestBackupsPruned keeps as many backups of a state as the manager is told to, and counts those that it lets go.
func TestBackupsPruned(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	var version atomic.Int32 // a state that says nothing new needs no backup
	s.runner.Change = func(_, _ string, outputs map[string]any) {
		outputs["exports"] = map[string]any{"version": version.Load()}
	}
	s.start(nil)
	tc := s.cluster()
	pruned := func() float64 { return series(t, "captf_state_backups_total", "")["TerraformCluster pruned"] }
	before := pruned()
	for n := 2; n <= s.options.StateBackups+2; n++ {
		version.Store(int32(n))
		image := fmt.Sprintf("registry.test/cluster:v%d", n)
		change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Spec.Source.Image = image })
		controllerstest.Await(t.Context(), t, s.c, tc, image, func(tc *infrav1.TerraformCluster) bool {
			return tc.Status.Source.Image == image && controllerstest.Applied(tc) && tc.Status.ActiveJob == nil
		})
	}
	controllerstest.Await(t.Context(), t, s.c, tc, "of some backups", func(tc *infrav1.TerraformCluster) bool {
		return len(tc.Status.StateBackups) == s.options.StateBackups
	})
	if pruned() == before {
		t.Error("no backup is counted as pruned")
	}
}

// TestState breaks the state of a cluster in every way. Each time nothing is run, a deletion is held, and the condition says
// what to do; once the state is back the deletion goes on.
func TestState(t *testing.T) {
	for reason, damage := range map[string]func(*corev1.Secret){
		infrav1.StateLostReason:         nil, // the Secret is deleted
		infrav1.StateCorruptReason:      func(s *corev1.Secret) { s.Data["tfstate"] = []byte("garbage") },
		"truncated":                     func(s *corev1.Secret) { s.Data["tfstate"] = s.Data["tfstate"][:len(s.Data["tfstate"])/2] },
		infrav1.StateInconsistentReason: func(s *corev1.Secret) { s.Data = map[string][]byte{"other": nil} },
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			s := ticking(t)
			tc := s.cluster()
			name := contract.StateSecretName(contract.RoleCluster, s.ns, "prod")
			good := s.secret(name)
			s.damage(good, damage)
			want := reason
			if want == "truncated" {
				want = infrav1.StateCorruptReason
			}
			s.touch(tc)
			says(s, tc, infrav1.StateReadableCondition, want, "copy")
			if err := s.c.Delete(t.Context(), tc); err != nil {
				t.Fatal(err)
			}
			is(s, tc, infrav1.DeletingCondition, infrav1.DeletingReason)
			if reason == infrav1.StateLostReason {
				s.namesBackups(tc)
			}
			settle(t)
			if n := s.runner.Jobs(); n != 1 {
				t.Errorf("%d Jobs ran on a state that is %s", n, want)
			}
			if err := s.c.Get(t.Context(), client.ObjectKeyFromObject(tc), tc); err != nil {
				t.Fatalf("the object went with its state: %s", err)
			}
			s.restore(good)
			s.touch(tc)
			controllerstest.AwaitGone(t.Context(), t, s.c, tc)
			if reason == infrav1.StateLostReason {
				s.told("StateLost")
			} else {
				s.told("StateUnreadable")
			}
		})
	}
}

// namesBackups looks for the backups in what is said of a lost state, with and without any.
func (s *story) namesBackups(tc *infrav1.TerraformCluster) {
	s.t.Helper()
	says(s, tc, infrav1.StateReadableCondition, infrav1.StateLostReason, "runner state push -n "+s.ns+" terraformcluster/prod FILE", "captf-state-backup-", "(serial 1)")
	if err := s.c.DeleteAllOf(s.t.Context(), &corev1.Secret{}, client.InNamespace(s.ns), client.MatchingLabels{infrav1.LabelStateBackup: "true"}); err != nil {
		s.t.Fatal(err)
	}
	s.nudge("the condition to know that there is no backup", func() bool {
		return strings.Contains(is(s, tc, infrav1.StateReadableCondition, infrav1.StateLostReason), "no complete backup")
	}, tc)
}

// TestStateOfNamespaceThatGoes: a state that is gone with its namespace cannot be put back there, and nobody is told to.
func TestStateOfNamespaceThatGoes(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	if err := s.c.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.ns}}); err != nil {
		t.Fatal(err)
	}
	if err := s.c.DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace(s.ns)); err != nil {
		t.Fatal(err)
	}
	says(s, tc, infrav1.StateReadableCondition, infrav1.StateLostReason, "namespace "+s.ns+", which is being deleted", "finalizers")
	if said := is(s, tc, infrav1.StateReadableCondition, infrav1.StateLostReason); strings.Contains(said, "runner state push") {
		t.Errorf("a state is to be put into a namespace that goes: %s", said)
	}
	change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Finalizers = nil }) // or the namespace stays
}

// damage deletes or damages a Secret.
func (s *story) damage(secret *corev1.Secret, how func(*corev1.Secret)) {
	s.t.Helper()
	broken := secret.DeepCopy()
	var err error
	if how == nil {
		err = s.c.Delete(s.t.Context(), broken)
	} else {
		how(broken)
		err = s.c.Update(s.t.Context(), broken)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// restore puts a Secret back as it was.
func (s *story) restore(secret *corev1.Secret) {
	s.t.Helper()
	live := &corev1.Secret{}
	err := s.c.Get(s.t.Context(), client.ObjectKeyFromObject(secret), live)
	good := secret.DeepCopy()
	good.ResourceVersion, good.UID = "", ""
	if err != nil {
		controllerstest.Create(s.t.Context(), s.t, s.c, good)
		return
	}
	live.Data, live.Annotations = good.Data, good.Annotations
	if err := s.c.Update(s.t.Context(), live); err != nil {
		s.t.Fatal(err)
	}
}

// TestVanished loses the first apply's Job before it left anything: whether it created something is not known, so nothing
// runs any more, and nothing is let go (B-200, B-483).
func TestVanished(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	s.runner.HoldOperation(infrav1.OperationApply)
	tc := controllerstest.Cluster(t.Context(), t, s.c, s.ns, "prod", controllerstest.TestImages)
	controllerstest.Await(t.Context(), t, s.c, tc, "running", func(tc *infrav1.TerraformCluster) bool { return tc.Status.ActiveJob != nil })
	job := tc.Status.ActiveJob.Name
	if err := s.c.Delete(t.Context(), &s.jobs(infrav1.OperationApply)[0], client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	says(s, tc, infrav1.StateReadableCondition, infrav1.ApplyOutcomeUnknownReason, job)
	is(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.ApplyFailedReason)
	if err := s.c.Delete(t.Context(), tc); err != nil {
		t.Fatal(err)
	}
	settle(t)
	if n := len(s.jobs(infrav1.OperationApply)) + len(s.jobs(infrav1.OperationDestroy)); n != 0 {
		t.Errorf("%d Jobs were started", n)
	}
	says(s, tc, infrav1.DeletingCondition, infrav1.DeletingReason, infrav1.ApplyOutcomeUnknownReason)
	says(s, tc, infrav1.StateReadableCondition, infrav1.ApplyOutcomeUnknownReason, "kubectl annotate -n "+s.ns+" terraformcluster prod captf.io/confirm-no-resources="+job)
	change(s, tc, func(tc *infrav1.TerraformCluster) { setConfirmed(tc, "another") })
	settle(t)
	says(s, tc, infrav1.StateReadableCondition, infrav1.ApplyOutcomeUnknownReason, `"another", which is not that Job`)
	change(s, tc, func(tc *infrav1.TerraformCluster) { setConfirmed(tc, job) })
	controllerstest.AwaitGone(t.Context(), t, s.c, tc)
	if n := len(s.jobs(infrav1.OperationDestroy)); n != 0 {
		t.Errorf("%d destroys of nothing were started", n)
	}
}

// TestUnpullable never pulls the image of a first apply: nothing was created, so another image is applied at once, what runs
// into its deadline is tried again, and a deletion ends the Job and needs no destroy (B-175, B-176).
func TestUnpullable(t *testing.T) {
	for name, then := range map[string]func(*story, *infrav1.TerraformCluster, *batchv1.Job){
		"another image": func(s *story, tc *infrav1.TerraformCluster, _ *batchv1.Job) {
			change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Spec.Source.Image = "registry.test/cluster:v2" })
			controllerstest.Await(s.t.Context(), s.t, s.c, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
		},
		"the deadline": func(s *story, tc *infrav1.TerraformCluster, job *batchv1.Job) {
			s.expire(job)
			is(s, tc, infrav1.StateReadableCondition, infrav1.StateNotFoundReason)
			s.clock.Advance(11 * time.Minute)
			s.touch(tc)
			controllerstest.Await(s.t.Context(), s.t, s.c, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
		},
		"deletion": func(s *story, tc *infrav1.TerraformCluster, _ *batchv1.Job) {
			if err := s.c.Delete(s.t.Context(), tc); err != nil {
				s.t.Fatal(err)
			}
			controllerstest.AwaitGone(s.t.Context(), s.t, s.c, tc)
			if n := s.runner.Jobs(); n != 0 {
				s.t.Errorf("%d Jobs ran", n)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ticking(t)
			s.runner.HoldOperation(infrav1.OperationApply)
			tc := controllerstest.Cluster(t.Context(), t, s.c, s.ns, "prod", controllerstest.TestImages)
			await(t, "the Job", func() bool { return len(s.jobs(infrav1.OperationApply)) == 1 })
			job := s.jobs(infrav1.OperationApply)[0]
			s.waiting(&job)
			s.clock.Advance(3 * time.Minute)
			s.touch(tc)
			is(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.ImagePullFailedReason)
			s.runner.LetGo()
			then(s, tc, &job)
		})
	}
}

// TestNeverStarted lets a Job run into its deadline whose pod never started, and is gone: nothing about it is unknown.
func TestNeverStarted(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	s.runner.HoldOperation(infrav1.OperationApply)
	tc := controllerstest.Cluster(t.Context(), t, s.c, s.ns, "prod", controllerstest.TestImages)
	await(t, "the Job", func() bool { return len(s.jobs(infrav1.OperationApply)) == 1 })
	s.expire(&s.jobs(infrav1.OperationApply)[0])
	says(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.JobDeadlineExceededReason, "may never have started")
	is(s, tc, infrav1.StateReadableCondition, infrav1.StateNotFoundReason)
}

// TestPulledAtLast deletes an object whose Job cannot pull its image, and pulls it before the pod is gone: whatever that run
// did, the object stays until it is known.
func TestPulledAtLast(t *testing.T) {
	for name, tt := range map[string]struct {
		run  func(*story, *batchv1.Job)
		then func(*story, *infrav1.TerraformCluster)
	}{
		"it ran to its end": {
			run: func(s *story, job *batchv1.Job) {
				if err := s.runner.End(s.t.Context(), job); err != nil {
					s.t.Fatal(err)
				}
			},
			then: destroyed,
		},
		"it was stopped and stored what it had made": {
			run: func(s *story, job *batchv1.Job) {
				key := state.KeyFor(contract.RoleCluster, s.ns, "prod")
				if _, err := s.states().Write(s.t.Context(), key, []byte(`{"version":4,"serial":1,"lineage":"one","outputs":{},"resources":[`+
					`{"mode":"managed","type":"a","name":"b","instances":[{}]}]}`), state.WriteOptions{Job: job.Name}); err != nil {
					s.t.Fatal(err)
				}
				suspend(s, job)
			},
			then: destroyed,
		},
		"it was killed": {
			run: func(s *story, job *batchv1.Job) {
				key, by := state.KeyFor(contract.RoleCluster, s.ns, "prod"), state.Holder{Job: job.Name, Pod: "gone", PodUID: "gone"}
				if err := s.states().Acquire(s.t.Context(), key, &state.LockInfo{ID: "left"}, &by); err != nil {
					s.t.Fatal(err)
				}
				suspend(s, job)
			},
			then: func(s *story, tc *infrav1.TerraformCluster) {
				says(s, tc, infrav1.StateReadableCondition, infrav1.ApplyOutcomeUnknownReason, "captf.io/confirm-no-resources")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.runner.KeepSuspended = true
			s.start(nil)
			s.runner.HoldOperation(infrav1.OperationApply)
			tc := controllerstest.Cluster(t.Context(), t, s.c, s.ns, "prod", controllerstest.TestImages)
			await(t, "the Job", func() bool { return len(s.jobs(infrav1.OperationApply)) == 1 })
			job := s.jobs(infrav1.OperationApply)[0]
			s.waiting(&job)
			s.clock.Advance(2 * time.Minute)
			if err := s.c.Delete(t.Context(), tc); err != nil {
				t.Fatal(err)
			}
			await(t, "the Job to be suspended", func() bool { return ptr.Deref(s.jobs(infrav1.OperationApply)[0].Spec.Suspend, false) })
			settle(t)
			if n := len(s.jobs(infrav1.OperationApply)); n != 1 {
				t.Fatalf("%d Jobs while the pod is there", n)
			}
			s.runner.LetGo()
			tt.run(s, &job)
			tt.then(s, tc)
		})
	}
}

// states are the states as a broker writes them.
func (s *story) states() *state.Store { return &state.Store{Writer: s.c, Live: s.c, Clock: s.clock} }

// suspend is what the Job controller does with a suspended Job.
func suspend(s *story, job *batchv1.Job) {
	s.t.Helper()
	if err := s.runner.Suspend(s.t.Context(), job); err != nil {
		s.t.Fatal(err)
	}
}

// destroyed waits until an object was destroyed and is gone.
func destroyed(s *story, tc *infrav1.TerraformCluster) {
	s.t.Helper()
	controllerstest.AwaitGone(s.t.Context(), s.t, s.c, tc)
	s.told("Destroyed")
}

// expire ends a Job as the Job controller does at its deadline: its pods are gone.
func (s *story) expire(job *batchv1.Job) {
	s.t.Helper()
	if err := s.runner.Expire(s.t.Context(), job); err != nil {
		s.t.Fatal(err)
	}
}

// TestRefused says why the API server takes no Job, and goes on once it does.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	change(s, tc, func(tc *infrav1.TerraformCluster) {
		tc.Spec.Jobs = &infrav1.JobPolicy{Resources: &corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("4Gi")}, Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
		}}
		tc.Spec.Source.Image = "registry.test/cluster:v2"
	})
	says(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.ApplyFailedReason, "was refused", "memory")
	change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Spec.Jobs = nil })
	is(s, tc, infrav1.InputsAppliedCondition, infrav1.InputsAppliedReason)
}

// TestForeignLock reports a lock that somebody else holds, with the command that frees it, and frees it on request (B-434..B-436).
func TestForeignLock(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	lock := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.ns, Name: "lock-tfstate-default-" + tc.Status.StateSecretSuffix, Labels: map[string]string{infrav1.LabelManaged: "true"},
			Annotations: map[string]string{"app.terraform.io/lock-info": `{"ID":"11-22","Operation":"OperationTypeApply","Who":"me@laptop","Version":"1.12.6","Created":"2026-01-01T00:00:00Z"}`},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new("11-22")},
	}
	controllerstest.Create(t.Context(), t, s.c, lock)
	s.nudge("the condition", func() bool {
		return conditions.HasReason(tc, infrav1.StateReadableCondition, infrav1.StateLockedReason)
	}, tc)
	says(s, tc, infrav1.StateReadableCondition, infrav1.StateLockedReason, "me@laptop", "kubectl annotate", "captf.io/force-unlock=11-22")
	since := conditions.Get(tc, infrav1.StateReadableCondition).LastTransitionTime
	s.clock.Advance(5 * time.Minute)
	s.touch(tc)
	settle(t)
	if is(s, tc, infrav1.StateReadableCondition, infrav1.StateLockedReason); conditions.Get(tc, infrav1.StateReadableCondition).LastTransitionTime != since {
		t.Errorf("the state was locked at %s, and is said to be since a later pass", since)
	}
	change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Annotations[infrav1.AnnotationForceUnlock] = "33" })
	await(t, "the wrong ID to be told", func() bool {
		message := is(s, tc, infrav1.StateReadableCondition, infrav1.StateLockedReason)
		return strings.Contains(message, `"33", which is not the ID of that lock`)
	})
	change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Annotations[infrav1.AnnotationForceUnlock] = "11-22" })
	is(s, tc, infrav1.StateReadableCondition, infrav1.StateReadReason)
	s.told("StateLocked", "ForceUnlocked")
	if _, asked := tc.Annotations[infrav1.AnnotationForceUnlock]; asked {
		t.Error("the request is still there")
	}
}

// TestFailures lets the first apply fail in every way, and holds what the object says against it.
func TestFailures(t *testing.T) {
	for name, test := range map[string]struct {
		failure result.Error
		reason  string
		says    []string
		event   string
		retried bool
	}{
		"a step":          {result.Error{Kind: infrav1.RunErrorStep, Step: "apply", Tail: "quota exceeded", Resources: []string{"x.y: no"}}, infrav1.ApplyFailedReason, []string{"step apply", "quota exceeded", "x.y: no"}, "JobFailed", false},
		"no module":       {result.Error{Kind: infrav1.RunErrorImageLayout, Tail: "no module in the image"}, infrav1.ImageInvalidReason, []string{"no module"}, "JobFailed", false},
		"a deletion plan": {result.Error{Kind: infrav1.RunErrorBlocked}, infrav1.DestructivePlanBlockedReason, []string{"stopped before"}, "DestructivePlanBlocked", false},
		"an interruption": {result.Error{Kind: infrav1.RunErrorInterrupted}, infrav1.ApplySucceededReason, nil, "JobInterrupted", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ticking(t)
			var failures atomic.Int32
			s.runner.Fail = func(*batchv1.Job) *result.Error {
				if failures.Add(1) > 1 {
					return nil
				}
				return &test.failure
			}
			tc := controllerstest.Cluster(t.Context(), t, s.c, s.ns, "prod", controllerstest.TestImages)
			says(s, tc, infrav1.ApplyJobSucceededCondition, test.reason, test.says...)
			s.told(test.event)
			if test.retried {
				return
			}
			settle(t)
			if n := len(s.jobs(infrav1.OperationApply)); n != 1 {
				t.Errorf("%d applies were started at once", n)
			}
			if tc.Status.LastRun == nil || tc.Status.LastRun.Error == nil || tc.Status.LastRun.Error.Kind != test.failure.Kind {
				t.Errorf("status.lastRun is %+v", tc.Status.LastRun)
			}
			s.clock.Advance(11 * time.Minute)
			s.touch(tc)
			is(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.ApplySucceededReason)
		})
	}
}

// TestNoResult ends an apply without a result. Over a state it is applied again (B-067, B-203); a first one may have created
// what nobody knows of, so nothing is run.
func TestNoResult(t *testing.T) {
	for name, test := range map[string]struct {
		kind   infrav1.RunErrorKind
		reason string
		says   []string
		event  string
	}{
		"silent":       {instant.Silent, infrav1.ApplyFailedReason, []string{"without a result"}, "JobFailed"},
		"the deadline": {instant.Deadline, infrav1.JobDeadlineExceededReason, []string{"3600 s", "activeDeadlineSeconds"}, "JobDeadlineExceeded"},
	} {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/first %t", name, first), func(t *testing.T) {
				t.Parallel()
				s := ticking(t)
				var tc *infrav1.TerraformCluster
				if !first {
					tc = s.cluster()
				}
				var failed atomic.Bool
				s.runner.Fail = func(*batchv1.Job) *result.Error {
					if failed.Swap(true) {
						return nil
					}
					return &result.Error{Kind: test.kind}
				}
				if first {
					tc = controllerstest.Cluster(t.Context(), t, s.c, s.ns, "prod", controllerstest.TestImages)
				} else {
					change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Spec.Source.Image = "registry.test/cluster:v2" })
				}
				says(s, tc, infrav1.ApplyJobSucceededCondition, test.reason, test.says...)
				s.told(test.event)
				s.clock.Advance(11 * time.Minute)
				s.touch(tc)
				if first {
					is(s, tc, infrav1.StateReadableCondition, infrav1.ApplyOutcomeUnknownReason)
					settle(t)
					if n := len(s.jobs(infrav1.OperationApply)); n != 1 {
						t.Errorf("%d applies were started", n)
					}
					return
				}
				is(s, tc, infrav1.InputsAppliedCondition, infrav1.InputsAppliedReason)
			})
		}
	}
}

// TestPolicyInvalid starts nothing whose lock timeout is not shorter than its deadline (B-254).
func TestPolicyInvalid(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	change(s, tc, func(tc *infrav1.TerraformCluster) {
		tc.Spec.Jobs = &infrav1.JobPolicy{ActiveDeadlineSeconds: 100}
		tc.Spec.Source.Image = "registry.test/cluster:v2"
	})
	says(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.JobPolicyInvalidReason, "300", "100", "spec.jobs")
	if n := len(s.jobs(infrav1.OperationApply)); n != 1 {
		t.Errorf("%d applies were started", n)
	}
	if err := s.c.Delete(t.Context(), tc); err != nil {
		t.Fatal(err)
	}
	controllerstest.AwaitGone(t.Context(), t, s.c, tc) // a destroy is not held by it
}

// TestGate keeps the operations of a cluster and of its machines apart (B-217, B-218).
func TestGate(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	release := s.runner.HoldOperation(infrav1.OperationApply)
	tm := controllerstest.Machine(t.Context(), t, s.c, s.ns, "prod", "node", false, controllerstest.TestImages)
	is(s, tm, infrav1.InfrastructureHealthyCondition, infrav1.ProvisioningReason)
	change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Spec.Source.Image = "registry.test/cluster:v2" })
	says(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.WaitingForMachineOperationsReason, tm.Status.ActiveJob.Name)
	release()
	release = s.runner.HoldOperation(infrav1.OperationApply)
	controllerstest.Await(t.Context(), t, s.c, tc, "running", func(tc *infrav1.TerraformCluster) bool { return tc.Status.ActiveJob != nil })
	is(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.ApplySucceededReason) // it waits no more
	second := controllerstest.Machine(t.Context(), t, s.c, s.ns, "prod", "second", false, controllerstest.TestImages)
	says(s, second, infrav1.ApplyJobSucceededCondition, infrav1.WaitingForClusterOperationReason, tc.Status.ActiveJob.Name)
	release()
	s.runner.LetGo()
	controllerstest.Await(t.Context(), t, s.c, second, "Ready", controllerstest.IsReady[*infrav1.TerraformMachine])
	s.told("WaitingForMachineOperations", "WaitingForClusterOperation")
}

// TestSlots lets Jobs wait for a slot (B-228, B-231).
func TestSlots(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.options.MaxActiveJobs = 1
	s.start(nil)
	release := s.runner.HoldOperation(infrav1.OperationApply)
	first := controllerstest.Cluster(t.Context(), t, s.c, s.ns, "first", controllerstest.TestImages)
	controllerstest.Await(t.Context(), t, s.c, first, "running", func(tc *infrav1.TerraformCluster) bool { return tc.Status.ActiveJob != nil })
	second := controllerstest.Cluster(t.Context(), t, s.c, s.ns, "second", controllerstest.TestImages)
	says(s, second, infrav1.ApplyJobSucceededCondition, infrav1.WaitingForJobSlotReason, "limit is 1")
	release()
	s.runner.LetGo()
	controllerstest.Await(t.Context(), t, s.c, second, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
	s.told("WaitingForJobSlot")
}

// TestRevoked takes an identity away: the copy goes, nothing runs, and a deletion waits until it is allowed again (B-514).
func TestRevoked(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	id := &infrav1.TerraformClusterIdentity{ObjectMeta: metav1.ObjectMeta{Name: s.ns}}
	change(s, id, func(id *infrav1.TerraformClusterIdentity) { id.Spec.AllowedNamespaces.List = []string{"other"} })
	says(s, tc, infrav1.IdentityAllowedCondition, infrav1.NamespaceNotAllowedReason, s.ns)
	if err := s.c.Delete(t.Context(), tc); err != nil {
		t.Fatal(err)
	}
	is(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.IdentityNotAllowedReason)
	controllerstest.AwaitNone(t.Context(), t, s.c, &corev1.SecretList{}, client.InNamespace(s.ns), client.MatchingLabels{infrav1.LabelMirrored: "true"})
	change(s, id, func(id *infrav1.TerraformClusterIdentity) { id.Spec.AllowedNamespaces.List = []string{s.ns} })
	controllerstest.AwaitGone(t.Context(), t, s.c, tc)
	s.told("IdentityNotAllowed", "MirrorRemoved")
}

// TestRetain keeps an object whose infrastructure is to be kept, as long as this release cannot let it go without.
func TestRetain(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Spec.DeletionPolicy = infrav1.DeletionPolicyRetain })
	if err := s.c.Delete(t.Context(), tc); err != nil {
		t.Fatal(err)
	}
	controllerstest.Await(t.Context(), t, s.c, tc, "held", func(tc *infrav1.TerraformCluster) bool {
		c := conditions.Get(tc, infrav1.DeletingCondition)
		return c != nil && strings.Contains(c.Message, "Retain")
	})
	if n := len(s.jobs(infrav1.OperationDestroy)); n != 0 {
		t.Errorf("%d destroys were started", n)
	}
	change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Spec.DeletionPolicy = infrav1.DeletionPolicyDestroy })
	controllerstest.AwaitGone(t.Context(), t, s.c, tc)
}

// TestUnresolvedPolicy keeps a machine that takes its policy from a TerraformCluster that is gone, until it has one of its own.
func TestUnresolvedPolicy(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tm := s.machine()
	tc := &infrav1.TerraformCluster{}
	if err := s.c.Get(t.Context(), client.ObjectKey{Namespace: s.ns, Name: "prod"}, tc); err != nil {
		t.Fatal(err)
	}
	if err := s.c.Delete(t.Context(), tc); err != nil {
		t.Fatal(err)
	}
	change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Finalizers = nil }) // as nobody should
	controllerstest.AwaitGone(t.Context(), t, s.c, tc)
	if err := s.c.Delete(t.Context(), tm); err != nil {
		t.Fatal(err)
	}
	says(s, tm, infrav1.DeletingCondition, infrav1.DeletionPolicyUnresolvedReason, "spec.deletionPolicy")
	settle(t)
	if n := len(s.jobs(infrav1.OperationDestroy)); n != 0 {
		t.Errorf("%d destroys were started", n)
	}
	change(s, tm, func(tm *infrav1.TerraformMachine) { tm.Spec.DeletionPolicy = infrav1.DeletionPolicyDestroy })
	controllerstest.AwaitGone(t.Context(), t, s.c, tm)
}

// TestRemediation marks the Machine of a terminated instance for replacement, and takes the mark back when it is well (B-711, B-712).
func TestRemediation(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	var health sync.Map
	s.runner.Health = func(kind, _ string) string { h, _ := health.Load(kind); text, _ := h.(string); return text }
	tm := s.machine()
	change(s, tm, func(tm *infrav1.TerraformMachine) {
		tm.Spec.Remediation = &infrav1.RemediationPolicy{AnnotateMachine: new(true), HealthCheckIntervalSeconds: 60}
	})
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "node"}}
	for _, step := range []struct {
		health, reason string
		marked         bool
	}{{"terminated", infrav1.InstanceTerminatedReason, true}, {"running", infrav1.HealthyReason, false}} {
		health.Store("TerraformMachine", step.health)
		s.clock.Advance(2 * time.Minute)
		s.touch(tm)
		is(s, tm, infrav1.InfrastructureHealthyCondition, step.reason)
		controllerstest.Await(t.Context(), t, s.c, machine, "marked or not", func(m *clusterv1.Machine) bool {
			_, marked := m.Annotations[clusterv1.RemediateMachineAnnotation]
			return marked == step.marked
		})
	}
	s.told("RemediationRequested", "RemediationWithdrawn", "InstanceUnhealthy", "InstanceHealthy")
}

// TestProviderIDMissing takes an instance for terminated at the second reading without a provider id (B-707).
func TestProviderIDMissing(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	var missing atomic.Bool
	s.runner.Change = func(kind, _ string, outputs map[string]any) {
		if kind == "TerraformMachine" && missing.Load() {
			outputs["provider_id"] = nil
		}
	}
	tm := s.machine()
	id := tm.Spec.ProviderID
	missing.Store(true)
	for _, reason := range []string{infrav1.ProviderIDMissingReason, infrav1.InstanceTerminatedReason} {
		s.clock.Advance(40 * time.Minute)
		s.touch(tm)
		is(s, tm, infrav1.InfrastructureHealthyCondition, reason)
	}
	if tm.Spec.ProviderID != id {
		t.Errorf("the provider id became %q", tm.Spec.ProviderID)
	}
}

// TestOutputsInvalid keeps what was valid when a module breaks the contract.
func TestOutputsInvalid(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	var broken atomic.Bool
	s.runner.Change = func(kind, _ string, outputs map[string]any) {
		if kind == "TerraformMachine" && broken.Load() {
			outputs["addresses"] = "10.0.0.9"
		}
	}
	tm := s.machine()
	broken.Store(true)
	s.clock.Advance(40 * time.Minute)
	s.touch(tm)
	says(s, tm, infrav1.OutputsValidCondition, infrav1.OutputsInvalidReason, "addresses")
	if len(tm.Status.Addresses) != 1 || tm.Status.Addresses[0].Address != "10.0.0.1" {
		t.Errorf("the addresses are %v", tm.Status.Addresses)
	}
	s.told("OutputsInvalid")
}

// TestDrift reports what a drift check finds, and that it is gone.
func TestDrift(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	var drift atomic.Pointer[result.Drift]
	drift.Store(&result.Drift{Detected: true, Update: 2, Resources: []string{"x.y"}})
	s.runner.Drift = func(string) *result.Drift { return drift.Load() }
	tc := s.cluster()
	s.clock.Advance(40 * time.Minute)
	s.touch(tc)
	says(s, tc, infrav1.DriftDetectedCondition, infrav1.DriftReportedReason, "2 to update")
	is(s, tc, infrav1.DriftJobSucceededCondition, infrav1.DriftCheckedReason)
	if tc.Status.LastRun.Drift == nil || !slices.Equal(tc.Status.LastRun.Drift.Resources, []string{"x.y"}) {
		t.Errorf("status.lastRun is %+v", tc.Status.LastRun)
	}
	s.told("DriftDetected")
	drift.Store(&result.Drift{})
	s.clock.Advance(40 * time.Minute)
	s.touch(tc)
	is(s, tc, infrav1.DriftDetectedCondition, infrav1.NoDriftReason)
	s.told("DriftResolved")
}

// TestStuck removes a Job that nobody will ever give its inputs (B-027).
func TestStuck(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	done := s.jobs(infrav1.OperationApply)[0]
	stuck := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.ns, Name: "captf-c-prod-apply-a9-abcdef", Labels: maps.Clone(done.Labels), OwnerReferences: done.OwnerReferences,
			Annotations: map[string]string{infrav1.AnnotationInputsHash: "h2:other"},
		},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: done.Spec.Template.Spec}},
	}
	stuck.Labels[infrav1.LabelAttempt] = "9"
	controllerstest.Create(t.Context(), t, s.c, stuck)
	s.clock.Advance(2 * time.Minute)
	s.touch(tc)
	controllerstest.AwaitGone(t.Context(), t, s.c, stuck)
	s.told("StuckJobDeleted")
	is(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.ApplySucceededReason)
}

// TestPullFallback lets a destroy run the next image when one cannot be pulled, and says so when there is none left (B-172..B-175).
func TestPullFallback(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	s.runner.HoldOperation(infrav1.OperationDestroy)
	if err := s.c.Delete(t.Context(), tc); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"registry.test/cluster@" + instant.Digest, "registry.test/cluster:v1"} {
		var job batchv1.Job
		await(t, "a destroy that runs "+want, func() bool {
			jobs := s.jobs(infrav1.OperationDestroy)
			if len(jobs) != 1 || jobs[0].Spec.Template.Spec.Containers[0].Image != want {
				return false
			}
			job = jobs[0]
			return true
		})
		s.waiting(&job)
		s.clock.Advance(3 * time.Minute)
		s.touch(tc)
	}
	says(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.ImagePullFailedReason, "registry.test/cluster:v1", "push it")
	s.told("ImagePullFallback")
}

// waiting makes the pod of a Job whose image cannot be pulled.
func (s *story) waiting(job *batchv1.Job) {
	s.t.Helper()
	s.waitingFor(job, "ImagePullBackOff", "")
}

// waitingFor makes a Job's pod, which cannot start for a reason.
func (s *story) waitingFor(job *batchv1.Job, reason, message string) *corev1.Pod {
	s.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.ns, GenerateName: job.Name + "-", Labels: map[string]string{batchv1.JobNameLabel: job.Name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID, Controller: new(true)}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "source", Image: "x"}}},
	}
	if err := s.c.Create(s.t.Context(), pod); err != nil {
		s.t.Fatal(err)
	}
	pod.Status.Phase = corev1.PodPending
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "source", Image: "x", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}}
	if err := s.c.Status().Update(s.t.Context(), pod); err != nil {
		s.t.Fatal(err)
	}
	return pod
}

// TestExternal leaves an externally managed cluster alone, and lets it go (B-048).
func TestExternal(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	change(s, tc, func(tc *infrav1.TerraformCluster) {
		tc.Annotations[clusterv1.ManagedByAnnotation] = "somebody"
		tc.Spec.Source.Image = "registry.test/cluster:v2"
	})
	settle(t)
	if err := s.c.Delete(t.Context(), tc); err != nil {
		t.Fatal(err)
	}
	controllerstest.AwaitGone(t.Context(), t, s.c, tc)
	s.told("ExternallyManagedReleased")
	if n := s.runner.Jobs(); n != 1 {
		t.Errorf("%d Jobs ran", n)
	}
}

// TestRotation applies a pool again when its bootstrap data change, and a machine not (B-806).
func TestRotation(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.start(nil)
	objects := s.ready()
	for _, name := range []string{"pool-bootstrap", "node-bootstrap"} {
		change(s, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: name}}, func(secret *corev1.Secret) {
			secret.Data["value"] = []byte("#cloud-config\n# another token\n")
		})
	}
	s.clock.Advance(time.Minute)
	for _, obj := range objects {
		s.touch(obj)
	}
	await(t, "the pool to be applied again", func() bool { return len(s.runner.Applies()) == 4 })
	settle(t)
	for what, n := range s.runner.Applies() {
		if n != 1 {
			t.Errorf("%s was applied %d times", what, n)
		}
	}
	if n := len(s.runner.Applies()); n != 4 {
		t.Errorf("there were applies of %d inputs, want 4: the machine keeps its own", n)
	}
}

// TestHashScheme meets hashes of another scheme: they are rewritten, and nothing is applied (B-344).
func TestHashScheme(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	names := []string{contract.AppliedSecretName(contract.RoleCluster, "prod"), contract.StateSecretName(contract.RoleCluster, s.ns, "prod")}
	hash := s.secret(names[0]).Annotations[infrav1.AnnotationInputsHash]
	for _, name := range names {
		change(s, s.secret(name), func(secret *corev1.Secret) { secret.Annotations[infrav1.AnnotationInputsHash] = "h1:" + hash })
	}
	s.nudge("the hashes to be rewritten", func() bool {
		return s.secret(names[0]).Annotations[infrav1.AnnotationInputsHash] == hash && s.secret(names[1]).Annotations[infrav1.AnnotationInputsHash] == hash
	}, tc)
	settle(t)
	if n := len(s.jobs(infrav1.OperationApply)); n != 1 {
		t.Errorf("%d applies were started", n)
	}
}

// TestEventsAreKnown holds the events that the controllers emit against the catalogue.
func TestEventsAreKnown(t *testing.T) {
	files, err := filepath.Glob("workspace/*.go")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, e := range conditions.Events() {
		known[e.Reason] = true
	}
	emitted := regexp.MustCompile(`p\.(?:event|did)\("(\w+)"`)
	n := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range emitted.FindAllSubmatch(source, -1) {
			n++
			if !known[string(m[1])] {
				t.Errorf("%s emits %s, which is not in the catalogue", file, m[1])
			}
		}
	}
	if n == 0 {
		t.Error("no event was found in the source")
	}
}

// setConfirmed says that a Job created nothing.
func setConfirmed(tc *infrav1.TerraformCluster, job string) {
	if tc.Annotations == nil {
		tc.Annotations = map[string]string{}
	}
	tc.Annotations[infrav1.AnnotationConfirmNoResources] = job
}

// TestMovedAway takes the copy of the credentials and then all that used it away, as clusterctl does at the source of a move: the
// identity says that nobody uses it, and may be deleted.
func TestMovedAway(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	id := &infrav1.TerraformClusterIdentity{}
	id.Name = tc.Spec.IdentityRef.Name
	controllerstest.Await(t.Context(), t, s.c, id, "used", func(id *infrav1.TerraformClusterIdentity) bool { return slices.Contains(id.Status.Namespaces, s.ns) })
	change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Annotations[clusterv1.PausedAnnotation] = "" })
	is(s, tc, infrav1.PausedCondition, infrav1.PausedReason)
	for _, obj := range []client.Object{s.secret("captf-creds-" + id.Name), tc} {
		change(s, obj, func(o client.Object) { // which replaces all annotations
			o.SetFinalizers(nil)
			o.SetAnnotations(map[string]string{"clusterctl.cluster.x-k8s.io/delete-for-move": "", clusterv1.PausedAnnotation: ""})
		})
		if err := s.c.Delete(t.Context(), obj); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
	controllerstest.Await(t.Context(), t, s.c, id, "not used", func(id *infrav1.TerraformClusterIdentity) bool { return len(id.Status.Namespaces) == 0 })
}
