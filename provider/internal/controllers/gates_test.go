package controllers_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/controllers/controllerstest"
	"github.com/captf-toolkit/captf/provider/internal/controllers/instant"
	"github.com/captf-toolkit/captf/provider/internal/names"
	"github.com/captf-toolkit/captf/provider/internal/result"
	"github.com/captf-toolkit/captf/provider/testenv/faults"
)

// bare makes an object as nobody has adopted it yet.
func bare[T client.Object](s *story, obj T, name string, owner *metav1.OwnerReference) T {
	s.t.Helper()
	obj.SetNamespace(s.ns)
	obj.SetName(name)
	obj.SetLabels(map[string]string{clusterv1.ClusterNameLabel: "prod"})
	if owner != nil {
		obj.SetOwnerReferences([]metav1.OwnerReference{*owner})
	}
	controllerstest.Create(s.t.Context(), s.t, s.c, obj)
	return obj
}

func (s *story) spec() infrav1.WorkspaceSpec {
	return infrav1.WorkspaceSpec{Source: infrav1.ModuleSource{Image: "registry.test/x:v1"}, IdentityRef: &infrav1.IdentityReference{Name: s.ns}}
}

// TestOwners holds objects whose owners are missing, are others, or do not agree (B-050..B-056).
func TestOwners(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	ctx, dependencies := t.Context(), infrav1.DependenciesReadyCondition

	alone := bare(s, &infrav1.TerraformCluster{Spec: infrav1.TerraformClusterSpec{WorkspaceSpec: s.spec()}}, "alone", nil)
	says(s, alone, dependencies, infrav1.WaitingForOwnerReason, "infrastructureRef")
	orphan := bare(s, &infrav1.TerraformCluster{Spec: infrav1.TerraformClusterSpec{WorkspaceSpec: s.spec()}}, "orphan",
		// The garbage collector leaves it alone: it does not know that version.
		&metav1.OwnerReference{APIVersion: "cluster.x-k8s.io/v1alpha1", Kind: "Cluster", Name: "gone", UID: "1-2-3", Controller: new(true)})
	says(s, orphan, dependencies, infrav1.OwnerNotFoundReason, "gone")
	planned := bare(s, &infrav1.TerraformMachine{Spec: infrav1.TerraformMachineSpec{WorkspaceSpec: s.spec()}}, "planned",
		&metav1.OwnerReference{APIVersion: "controlplane.cluster.x-k8s.io/v1beta2", Kind: "KubeadmControlPlane", Name: "cp", UID: "1-2-3", Controller: new(true)})
	says(s, planned, dependencies, infrav1.WaitingForOwnerMachineReason, "KubeadmControlPlane cp")
	pooled := bare(s, &infrav1.TerraformMachinePool{Spec: infrav1.TerraformMachinePoolSpec{WorkspaceSpec: s.spec()}}, "pooled",
		&metav1.OwnerReference{APIVersion: "cluster.x-k8s.io/v1alpha1", Kind: "MachineSet", Name: "ms", UID: "1-2-3", Controller: new(true)})
	says(s, pooled, dependencies, infrav1.WaitingForOwnerMachinePoolReason, "MachinePool")

	tc := controllerstest.Cluster(ctx, t, s.c, s.ns, "prod", controllerstest.TestImages)
	tm := controllerstest.Machine(ctx, t, s.c, s.ns, "prod", "node", false, controllerstest.TestImages)
	says(s, tm, dependencies, infrav1.WaitingForClusterInfrastructureReason, "TerraformCluster prod")
	controllerstest.Await(ctx, t, s.c, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
	change(s, tm, func(tm *infrav1.TerraformMachine) { // the garbage collector would delete it, but does not know that version
		tm.OwnerReferences[0].APIVersion, tm.OwnerReferences[0].UID = "cluster.x-k8s.io/v1alpha1", "other"
	})
	says(s, tm, dependencies, infrav1.OwnerMismatchReason, "UID")

	foreign := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "foreign"}, Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "OtherCluster", Name: "foreign"},
	}}
	controllerstest.Create(ctx, t, s.c, foreign)
	other := controllerstest.Machine(ctx, t, s.c, s.ns, "foreign", "other", false, controllerstest.TestImages)
	says(s, other, dependencies, infrav1.ClusterNotTerraformReason, "OtherCluster", "TerraformCluster only")
	if n := s.runner.Jobs(); n != 1 {
		t.Errorf("%d Jobs ran, want that of the cluster only", n)
	}
}

// TestInputs holds machines whose inputs are not there yet or cannot be used.
func TestInputs(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	ctx, dependencies := t.Context(), infrav1.DependenciesReadyCondition
	s.cluster()

	machine := func(name string, with func(*infrav1.TerraformMachine)) *infrav1.TerraformMachine {
		s.t.Helper()
		return controllerstest.Machine(ctx, t, s.c, s.ns, "prod", name, false, controllerstest.TestImages,
			func(_ *clusterv1.Machine, tm *infrav1.TerraformMachine) { with(tm) })
	}
	from := func(secrets ...string) (out []infrav1.VariablesSource) {
		for _, name := range secrets {
			out = append(out, infrav1.VariablesSource{SecretRef: &infrav1.VariablesSourceReference{Name: name}})
		}
		return out
	}
	source := func(name string, size int) {
		s.t.Helper()
		controllerstest.Create(ctx, t, s.c, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: name, Labels: map[string]string{infrav1.LabelVariables: "true"}},
			Data:       map[string][]byte{strings.ReplaceAll(name, "-", "_"): []byte(strings.Repeat("x", size))},
		})
	}
	source("half", 600_000)
	source("other-half", 600_000)
	says(s, machine("lacking", func(tm *infrav1.TerraformMachine) { tm.Spec.VariablesFrom = from("missing") }), dependencies, infrav1.VariablesSourceNotFoundReason, "missing")
	says(s, machine("reserved", func(tm *infrav1.TerraformMachine) {
		tm.Spec.Variables = map[string]apiextensionsv1.JSON{"captf_machine_name": {Raw: []byte(`"x"`)}}
	}), dependencies, infrav1.VariablesInvalidReason, "captf_machine_name")
	says(s, machine("large", func(tm *infrav1.TerraformMachine) { tm.Spec.VariablesFrom = from("half", "other-half") }), infrav1.ApplyJobSucceededCondition, infrav1.InputsTooLargeReason, "1000000")

	young := controllerstest.Machine(ctx, t, s.c, s.ns, "prod", "young", false, controllerstest.TestImages, func(m *clusterv1.Machine, _ *infrav1.TerraformMachine) {
		m.Spec.Bootstrap = clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{APIGroup: "bootstrap.cluster.x-k8s.io", Kind: "KubeadmConfig", Name: "young"}}
	})
	says(s, young, dependencies, infrav1.WaitingForBootstrapDataReason, "Machine "+s.ns+"/young")

	tp := controllerstest.MachinePool(ctx, t, s.c, s.ns, "prod", "pool", 1, controllerstest.TestImages)
	controllerstest.Await(ctx, t, s.c, tp, "Ready", controllerstest.IsReady[*infrav1.TerraformMachinePool])
	change(s, tp, func(tp *infrav1.TerraformMachinePool) { tp.Spec.VariablesFrom = from("missing") })
	says(s, tp, dependencies, infrav1.VariablesSourceNotFoundReason, "missing")
	is(s, tp, infrav1.InputsAppliedCondition, infrav1.InputsUnavailableReason)
}

// TestExports lets machines wait for exports that no input can be made of (B-045, B-296).
func TestExports(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	s.runner.Change = func(kind, _ string, outputs map[string]any) {
		if kind == contract.RoleCluster.Kind() {
			outputs["exports"] = json.RawMessage(`{"share": 0.5}`)
		}
	}
	tc := controllerstest.Cluster(t.Context(), t, s.c, s.ns, "prod", controllerstest.TestImages)
	says(s, tc, infrav1.OutputsValidCondition, infrav1.OutputsInvalidReason, "exports")
	controllerstest.InfrastructureProvisioned(t.Context(), t, s.c, s.ns, "prod")
	tm := controllerstest.Machine(t.Context(), t, s.c, s.ns, "prod", "node", false, controllerstest.TestImages)
	is(s, tm, infrav1.DependenciesReadyCondition, infrav1.WaitingForClusterExportsReason)
}

// TestCredentials starts nothing without credentials that are there, allowed and complete, and a place to put them.
func TestCredentials(t *testing.T) {
	for reason, test := range map[string]struct {
		condition string
		before    func(*story)
		with      func(*story, *infrav1.TerraformCluster)
		says      []string
		runs      bool
	}{
		infrav1.LocalSecretReason: {infrav1.IdentityAllowedCondition, func(s *story) {
			controllerstest.Create(s.t.Context(), s.t, s.c, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "mine"}})
		}, func(_ *story, tc *infrav1.TerraformCluster) {
			tc.Spec.IdentityRef = &infrav1.IdentityReference{Kind: infrav1.IdentityKindSecret, Name: "mine"}
		}, nil, true},
		infrav1.SecretNotFoundReason: {infrav1.IdentityAllowedCondition, nil, func(_ *story, tc *infrav1.TerraformCluster) {
			tc.Spec.IdentityRef = &infrav1.IdentityReference{Kind: infrav1.IdentityKindSecret, Name: "missing"}
		}, []string{"missing", "create it"}, false},
		infrav1.IdentityNotFoundReason: {infrav1.IdentityAllowedCondition, nil, func(_ *story, tc *infrav1.TerraformCluster) {
			tc.Spec.IdentityRef = &infrav1.IdentityReference{Name: "nobody"}
		}, []string{"nobody"}, false},
		infrav1.CredentialsIncompleteReason: {infrav1.IdentityAllowedCondition, func(s *story) {
			change(s, &infrav1.TerraformClusterIdentity{ObjectMeta: metav1.ObjectMeta{Name: s.ns}}, func(id *infrav1.TerraformClusterIdentity) {
				id.Spec.RequiredKeys = []string{"cloud_password"}
			})
		}, nil, []string{"cloud_password"}, false},
		infrav1.MirrorFailedReason: {infrav1.CredentialsMirroredCondition, func(s *story) {
			controllerstest.Create(s.t.Context(), s.t, s.c, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: names.Mirror(s.ns)}})
		}, nil, []string{"rename or remove"}, false},
		infrav1.RBACFailedReason: {infrav1.RunnerRBACReadyCondition, func(s *story) {
			controllerstest.Create(s.t.Context(), s.t, s.c, &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: names.RoleBinding},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
			})
		}, nil, []string{names.RoleBinding, "rename or remove"}, false},
		infrav1.ServiceAccountNotOptedInReason: {infrav1.RunnerRBACReadyCondition, nil, func(_ *story, tc *infrav1.TerraformCluster) {
			tc.Spec.Jobs = &infrav1.JobPolicy{ServiceAccountName: "default"}
		}, []string{"default", infrav1.LabelRunner}, false},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			if test.before != nil {
				test.before(s)
			}
			cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "prod"}, Spec: clusterv1.ClusterSpec{
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: contract.RoleCluster.Kind(), Name: "prod"},
			}}
			controllerstest.Create(t.Context(), t, s.c, cluster)
			tc := &infrav1.TerraformCluster{Spec: infrav1.TerraformClusterSpec{WorkspaceSpec: s.spec()}}
			if test.with != nil {
				test.with(s, tc)
			}
			bare(s, tc, "prod", &metav1.OwnerReference{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "prod", UID: cluster.UID, Controller: new(true)})
			s.start(nil)
			says(s, tc, test.condition, reason, test.says...)
			if test.runs {
				controllerstest.Await(t.Context(), t, s.c, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
				return
			}
			settle(t)
			if n := s.runner.Jobs(); n != 0 {
				t.Errorf("%d Jobs ran", n)
			}
		})
	}
}

// TestIdentityUnknown takes an API that does not answer for no refusal: nothing is taken away (B-507).
func TestIdentityUnknown(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	f := faults.New()
	var failing atomic.Bool
	for n := range 50 {
		f.FailWhere(func(c faults.Call) bool {
			return failing.Load() && c.Client == "live" && c.Verb == faults.Get && c.Kind.Kind == "Secret" && c.Key.Name == "local"
		}, n+1, faults.Before, nil)
	}
	s.start(f)
	controllerstest.Create(t.Context(), t, s.c, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "local"}})
	tc := s.cluster()
	failing.Store(true)
	change(s, tc, func(tc *infrav1.TerraformCluster) {
		tc.Spec.IdentityRef = &infrav1.IdentityReference{Kind: infrav1.IdentityKindSecret, Name: "local"}
	})
	is(s, tc, infrav1.IdentityAllowedCondition, infrav1.IdentityCheckFailedReason)
	failing.Store(false)
	is(s, tc, infrav1.IdentityAllowedCondition, infrav1.LocalSecretReason)
}

// TestPausedMeanwhile pauses the Cluster, as clusterctl does to move it, when a pass has begun to start a Job: no Job is started
// before the Cluster goes on, and nothing is left that keeps clusterctl waiting (B-890).
func TestPausedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	f := faults.New()
	var armed atomic.Bool
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "prod"}}
	pause := func(paused bool) {
		patch := fmt.Appendf(nil, `{"spec":{"paused":%t}}`, paused)
		if err := s.c.Patch(t.Context(), cluster, client.RawPatch(types.MergePatchType, patch)); err != nil {
			t.Error(err)
		}
	}
	f.FailWhere(func(c faults.Call) bool {
		if c.Verb.IsWrite() && c.Kind.Kind == "Lease" && armed.CompareAndSwap(true, false) {
			pause(true)
		}
		return false
	}, 1, faults.Before, nil)
	s.start(f)
	tc := s.cluster()
	armed.Store(true)
	change(s, tc, func(tc *infrav1.TerraformCluster) { tc.Spec.Source.Image = "registry.test/cluster:v2" })
	await(t, "the Cluster is paused", func() bool { return !armed.Load() })
	is(s, tc, clusterv1.PausedCondition, clusterv1.PausedReason)
	await(t, "nothing keeps clusterctl waiting", func() bool {
		if err := s.c.Get(t.Context(), client.ObjectKeyFromObject(tc), tc); err != nil {
			t.Fatal(err)
		}
		_, blocked := tc.Annotations[infrav1.AnnotationBlockMove]
		return !blocked
	})
	settle(t)
	if n := s.runner.Jobs(); n != 1 {
		t.Errorf("%d Jobs ran, and not only that of the creation", n)
	}
	pause(false)
	await(t, "the new image is applied", func() bool { return s.runner.Jobs() == 2 })
	is(s, tc, infrav1.InputsAppliedCondition, infrav1.InputsAppliedReason)
}

// TestDestroyFails keeps what a destroy could not remove, and tries again.
func TestDestroyFails(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	var failed atomic.Bool
	s.runner.Fail = func(*batchv1.Job) *result.Error {
		if failed.Swap(true) {
			return nil
		}
		return &result.Error{Kind: infrav1.RunErrorStep, Step: "destroy", Tail: "in use"}
	}
	if err := s.c.Delete(t.Context(), tc); err != nil {
		t.Fatal(err)
	}
	says(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.DestroyFailedReason, "in use")
	s.clock.Advance(11 * time.Minute)
	s.touch(tc)
	controllerstest.AwaitGone(t.Context(), t, s.c, tc)
}

// TestDeletedWithoutOwner deletes an object whose owner is gone: what it says is of its deletion, and not of the owner.
func TestDeletedWithoutOwner(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	change(s, tc, func(tc *infrav1.TerraformCluster) { // the garbage collector would delete it, but does not know that version
		tc.OwnerReferences[0].APIVersion, tc.OwnerReferences[0].Name = "cluster.x-k8s.io/v1alpha1", "gone"
	})
	is(s, tc, infrav1.DependenciesReadyCondition, infrav1.OwnerNotFoundReason)
	release := s.runner.HoldOperation(infrav1.OperationDestroy)
	if err := s.c.Delete(t.Context(), tc); err != nil {
		t.Fatal(err)
	}
	says(s, tc, infrav1.DependenciesReadyCondition, infrav1.DependenciesReadyReason, "being deleted")
	says(s, tc, infrav1.ReadyCondition, "NotReady", "Deleting: waiting for Job")
	release()
	destroyed(s, tc)
}

// TestDestroyed cannot remove the state of what is destroyed for a while: the object says that the infrastructure is gone,
// nothing is destroyed once more, and in the end everything is removed.
func TestDestroyed(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	f := faults.New()
	var failures atomic.Int32
	for n := range 20 {
		f.FailWhere(func(c faults.Call) bool {
			return c.Verb == faults.Delete && c.Kind.Kind == "Secret" && strings.HasPrefix(c.Key.Name, "tfstate-") && failures.Add(1) > 0
		}, n+1, faults.Before, nil)
	}
	s.start(f)
	tc := s.cluster()
	if err := s.c.Delete(t.Context(), tc); err != nil {
		t.Fatal(err)
	}
	is(s, tc, infrav1.ApplyJobSucceededCondition, infrav1.DestroySucceededReason)
	f.Restore()
	s.touch(tc)
	controllerstest.AwaitGone(t.Context(), t, s.c, tc)
	if failures.Load() == 0 {
		t.Error("nothing failed")
	}
	if n := len(s.runner.Applies()); n != 1 {
		t.Errorf("there were applies of %d inputs", n)
	}
	if n := s.runner.Jobs(); n != 2 {
		t.Errorf("%d Jobs ran, want an apply and a destroy", n)
	}
}

// TestChecksFail tells of refreshes and drift checks that do not succeed; what is ready stays so.
func TestChecksFail(t *testing.T) {
	for reason, kind := range map[string]infrav1.RunErrorKind{
		infrav1.DriftJobFailedReason: infrav1.RunErrorStep, infrav1.DriftJobDeadlineExceededReason: instant.Deadline, "garbled": instant.Garbled,
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			s := ticking(t)
			tc := s.cluster()
			is(s, tc, infrav1.DriftJobSucceededCondition, infrav1.DriftNotCheckedReason)
			s.runner.Fail = func(*batchv1.Job) *result.Error { return &result.Error{Kind: kind, Step: "plan", Tail: "no answer"} }
			s.clock.Advance(40 * time.Minute)
			s.touch(tc)
			if reason == "garbled" {
				s.told("ResultUnreadable")
				return
			}
			is(s, tc, infrav1.DriftJobSucceededCondition, reason)
			if !controllerstest.IsReady(tc) {
				t.Error("a check that fails makes the cluster not Ready")
			}
		})
	}
}

// TestCheckCannotPull says that a check waits for its image.
func TestCheckCannotPull(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	s.runner.HoldOperation(infrav1.OperationDrift)
	s.clock.Advance(40 * time.Minute)
	s.touch(tc)
	is(s, tc, infrav1.DriftJobSucceededCondition, infrav1.DriftJobRunningReason)
	tried := map[string]bool{}
	s.nudge("the last image to be given up", func() bool {
		for _, job := range s.jobs(infrav1.OperationDrift) {
			if !tried[string(job.UID)] {
				tried[string(job.UID)] = true
				s.waiting(&job)
			}
		}
		s.clock.Advance(3 * time.Minute)
		if err := s.c.Get(t.Context(), client.ObjectKeyFromObject(tc), tc); err != nil {
			t.Fatal(err)
		}
		c := conditionOf(tc, infrav1.DriftJobSucceededCondition)
		return c.Reason == infrav1.ImagePullFailedReason && strings.Contains(c.Message, "push it")
	}, tc)
}

func conditionOf(obj infrav1.Workspace, conditionType string) metav1.Condition {
	for _, c := range obj.GetConditions() {
		if c.Type == conditionType {
			return c
		}
	}
	return metav1.Condition{}
}

// TestChecksWait lets background Jobs wait: for the Lease of their object, for a slot below four fifths of the limit, and, of
// a machine, for a record of its inputs, which nothing else can replace.
func TestChecksWait(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.options.ClusterMaxActiveJobs = 1
	s.start(nil)
	tm := s.machine()
	hold := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: names.RunLease(tm.Status.StateSecretSuffix), Labels: map[string]string{infrav1.LabelManaged: "true"}}}
	if err := s.c.Delete(t.Context(), hold); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	hold.ResourceVersion = ""
	hold.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: new("another"), LeaseDurationSeconds: new(int32(36000)), AcquireTime: new(metav1.NewMicroTime(s.clock.Now().Add(40 * time.Minute))),
	}
	controllerstest.Create(t.Context(), t, s.c, hold)
	s.clock.Advance(40 * time.Minute)
	s.touch(tm)
	says(s, tm, infrav1.DriftJobSucceededCondition, infrav1.WaitingForRunLeaseReason, "another")
	if err := s.c.Delete(t.Context(), hold); err != nil {
		t.Fatal(err)
	}
	s.touch(tm)
	is(s, tm, infrav1.DriftJobSucceededCondition, infrav1.DriftCheckedReason)

	s.runner.HoldOperation(infrav1.OperationApply)
	change(s, &infrav1.TerraformCluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "prod"}}, func(tc *infrav1.TerraformCluster) {
		tc.Spec.Source.Image = "registry.test/cluster:v2"
	})
	await(t, "the cluster's Job", func() bool { return len(s.jobs(infrav1.OperationApply)) == 3 })
	s.clock.Advance(40 * time.Minute)
	s.touch(tm)
	says(s, tm, infrav1.DriftJobSucceededCondition, infrav1.WaitingForJobSlotReason, "limit of cluster prod is 1")
	s.runner.LetGo()
}

// TestRecordLost loses the records of a machine's inputs: it is not checked, and not destroyed with others.
func TestRecordLost(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tm := s.machine()
	for _, name := range []string{contract.AppliedSecretName(contract.RoleMachine, "node"), contract.InputsSecretName(contract.RoleMachine, "node")} {
		if err := s.c.Delete(t.Context(), s.secret(name)); err != nil {
			t.Fatal(err)
		}
	}
	s.clock.Advance(40 * time.Minute)
	s.touch(tm)
	says(s, tm, infrav1.DriftJobSucceededCondition, infrav1.DurableInputsMissingReason, "node")
	if err := s.c.Delete(t.Context(), tm); err != nil {
		t.Fatal(err)
	}
	says(s, tm, infrav1.ApplyJobSucceededCondition, infrav1.DestroyFailedReason, "put one of them back")
}

// TestStateEncrypted reads no state that the runtime encrypted.
func TestStateEncrypted(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	tc := s.cluster()
	name := contract.StateSecretName(contract.RoleCluster, s.ns, "prod")
	s.damage(s.secret(name), func(secret *corev1.Secret) {
		secret.Data["tfstate"] = gzipped(t, `{"serial":2,"lineage":"x","meta":{"key_provider.pbkdf2.x":"e30="},"encrypted_data":"AAAA","encryption_version":"v0"}`)
	})
	s.touch(tc)
	says(s, tc, infrav1.StateReadableCondition, infrav1.StateEncryptedReason, "encrypt")
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestManyInstances keeps the status of a huge pool within limits, and all of its provider ids (B-660).
func TestManyInstances(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	s.runner.Change = func(kind, name string, outputs map[string]any) {
		if kind != contract.RoleMachinePool.Kind() {
			return
		}
		var ids, instances []any
		for i := range 1001 {
			id := fmt.Sprintf("noop:///%s/%04d", name, i)
			ids = append(ids, id)
			instances = append(instances, map[string]any{"provider_id": id, "name": fmt.Sprintf("%s-%04d", name, i), "state": "running"})
		}
		outputs["provider_id_list"], outputs["instances"], outputs["replicas"] = ids, instances, 1001
	}
	s.cluster()
	tp := controllerstest.MachinePool(t.Context(), t, s.c, s.ns, "prod", "pool", 1001, controllerstest.TestImages)
	is(s, tp, infrav1.OutputsValidCondition, infrav1.InstancesTruncatedReason)
	if len(tp.Spec.ProviderIDList) != 1001 || len(tp.Status.Instances) != 1000 {
		t.Errorf("%d provider ids and %d instances", len(tp.Spec.ProviderIDList), len(tp.Status.Instances))
	}
}

// TestBookkeeping tells of what is missing or changed in the records of a run, and goes on.
func TestBookkeeping(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	s.runner.NoDigest = true
	release := s.runner.HoldOperation(infrav1.OperationApply)
	tc := controllerstest.Cluster(t.Context(), t, s.c, s.ns, "prod", controllerstest.TestImages)
	controllerstest.Await(t.Context(), t, s.c, tc, "running", func(tc *infrav1.TerraformCluster) bool { return tc.Status.ActiveJob != nil })
	release()
	controllerstest.Await(t.Context(), t, s.c, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
	s.told("DigestUnknown")

	change(s, tc, func(tc *infrav1.TerraformCluster) {
		tc.Spec.Jobs = &infrav1.JobPolicy{Env: []corev1.EnvVar{{Name: "TF_VAR_captf_name", Value: "x"}}}
		tc.Spec.Source.Image = "registry.test/cluster:v2"
	})
	await(t, "the apply", func() bool { return len(s.jobs(infrav1.OperationApply)) == 2 })
	s.told("EnvironmentDropped")
	is(s, tc, infrav1.InputsAppliedCondition, infrav1.InputsAppliedReason)

	state := s.secret(contract.StateSecretName(contract.RoleCluster, s.ns, "prod"))
	kept := []string{
		state.Name, contract.InputsSecretName(contract.RoleCluster, "prod"), contract.AppliedSecretName(contract.RoleCluster, "prod"),
		names.PlanKeySecret(contract.RoleCluster, "prod"),
	}
	backups := &corev1.SecretList{}
	if err := s.c.List(t.Context(), backups, client.InNamespace(s.ns), client.HasLabels{infrav1.LabelStateBackup}); err != nil || len(backups.Items) == 0 {
		t.Fatalf("%d backups, %v", len(backups.Items), err)
	}
	for _, b := range backups.Items { // their owners go while nothing else of the state changes
		kept = append(kept, b.Name)
	}
	for _, name := range kept {
		change(s, s.secret(name), func(secret *corev1.Secret) { secret.OwnerReferences = nil })
		await(t, "the owner of "+name+" to be set", func() bool { return len(s.secret(name).OwnerReferences) == 1 })
	}
	s.told("OwnerReferencesRepaired")

	change(s, s.secret(state.Name), func(secret *corev1.Secret) {
		secret.Annotations[infrav1.AnnotationInputsHash] = "h2:" + strings.Repeat("0", 64)
	})
	if err := s.c.Delete(t.Context(), tc); err != nil {
		t.Fatal(err)
	}
	controllerstest.AwaitGone(t.Context(), t, s.c, tc)
	s.told("DestroyInputsMismatch")
}

// TestInputsGone ends an apply whose inputs somebody has removed meanwhile: the record of the last success is not replaced.
func TestInputsGone(t *testing.T) {
	t.Parallel()
	s := ticking(t)
	release := s.runner.HoldOperation(infrav1.OperationApply)
	tc := controllerstest.Cluster(t.Context(), t, s.c, s.ns, "prod", controllerstest.TestImages)
	controllerstest.Await(t.Context(), t, s.c, tc, "running", func(tc *infrav1.TerraformCluster) bool { return tc.Status.ActiveJob != nil })
	run := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: names.RunSecret(tc.Status.ActiveJob.Name)}}
	controllerstest.Await(t.Context(), t, s.c, run, "written", func(*corev1.Secret) bool { return true })
	settle(t)
	change(s, tc, func(tc *infrav1.TerraformCluster) {
		tc.Spec.Variables = map[string]apiextensionsv1.JSON{"other": {Raw: []byte("1")}}
	}) // so that they cannot be made again
	for _, name := range []string{run.Name, contract.InputsSecretName(contract.RoleCluster, "prod")} {
		if err := s.c.Delete(t.Context(), s.secret(name)); err != nil {
			t.Fatal(err)
		}
	}
	release()
	s.runner.LetGo()
	s.told("AppliedInputsUnknown")
}
