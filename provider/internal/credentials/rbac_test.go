package credentials_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/credentials"
	"github.com/captf-toolkit/captf/provider/internal/names"
)

func notFound(resource, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name)
}

// rbac returns what is there of the ServiceAccount and the RoleBinding.
func (w *world) rbac() []client.Object {
	w.t.Helper()
	var out []client.Object
	for _, object := range []client.Object{&corev1.ServiceAccount{}, &rbacv1.RoleBinding{}} {
		err := w.api.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "captf-runner"}, object)
		if err == nil {
			out = append(out, object)
		} else if !apierrors.IsNotFound(err) {
			w.t.Fatal(err)
		}
	}
	return out
}

func (w *world) binding() *rbacv1.RoleBinding {
	w.t.Helper()
	binding := &rbacv1.RoleBinding{}
	if err := w.api.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: names.RoleBinding}, binding); err != nil {
		w.t.Fatal(err)
	}
	return binding
}

func (w *world) subjects() string {
	w.t.Helper()
	var out []string
	for _, s := range w.binding().Subjects {
		out = append(out, s.Name)
		if s.Kind != "ServiceAccount" || s.Namespace != w.namespace {
			w.t.Errorf("the subject %v is no ServiceAccount of the namespace", s)
		}
	}
	return strings.Join(out, " ")
}

func (w *world) account(name string, optedIn bool) *corev1.ServiceAccount {
	w.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	if optedIn {
		account.Labels = map[string]string{infrav1.LabelRunner: "true"}
	}
	return create(w, account)
}

func policy(account string) *infrav1.JobPolicy {
	return &infrav1.JobPolicy{ServiceAccountName: account}
}

func rbacReason(result credentials.Result) string {
	return string(result.Conditions[2].Status)[:1] + "/" + result.Conditions[2].Reason
}

func TestRunnerRBAC(t *testing.T) {
	w := newWorld(t)
	cluster := w.cluster("c", nil)
	got := w.ensure(credentials.Request{Object: cluster})
	if rbacReason(got) != "T/RBACReady" || got.ServiceAccountName != "captf-runner" {
		t.Fatalf("%+v", got)
	}
	objects := w.rbac()
	if len(objects) != 2 {
		t.Fatalf("there are %v", objects)
	}
	for _, object := range objects {
		if object.GetLabels()[infrav1.LabelManaged] != "true" || len(object.GetOwnerReferences()) > 0 {
			t.Errorf("%T: %v", object, object)
		}
	}
	if token := objects[0].(*corev1.ServiceAccount).AutomountServiceAccountToken; token == nil || *token {
		t.Error("pods of the ServiceAccount get its token unasked")
	}
	want := rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "captf-runner"}
	if diff := cmp.Diff(want, w.binding().RoleRef); diff != "" {
		t.Error(diff)
	}
	if w.subjects() != "captf-runner" {
		t.Errorf("the subjects are %s", w.subjects())
	}
}

// A RoleBinding is granted to the ServiceAccounts in use that opted in, and to no others (B-516, B-517).
func TestServiceAccountsInUse(t *testing.T) {
	w := newWorld(t)
	cluster := w.cluster("c", func(s *infrav1.TerraformClusterSpec) {
		s.Jobs = policy("cluster")
		s.Defaults = &infrav1.ClusterDefaults{Jobs: policy("defaults")}
	})
	inherits := w.machine("inherits", "c", nil)
	own := w.machine("own", "c", func(s *infrav1.TerraformMachineSpec) { s.Jobs = policy("own") })
	lost := w.machine("lost", "nowhere", nil)

	refused := w.ensure(credentials.Request{Object: cluster})
	if rbacReason(refused) != "F/ServiceAccountNotOptedIn" || len(w.rbac()) != 0 || refused.RequeueAfter != 30*time.Second {
		t.Fatalf("a ServiceAccount that does not exist: %s, %v", rbacReason(refused), w.rbac())
	}
	account := w.account("cluster", false)
	if got := w.ensure(credentials.Request{Object: cluster}); rbacReason(got) != "F/ServiceAccountNotOptedIn" {
		t.Fatalf("a ServiceAccount without label: %s", rbacReason(got))
	}
	update(w, account, func(a *corev1.ServiceAccount) { a.Labels = map[string]string{infrav1.LabelRunner: "true"} })
	w.account("own", false) // Named, but not opted in.
	if got := w.ensure(credentials.Request{Object: cluster}); rbacReason(got) != "T/RBACReady" || got.ServiceAccountName != "cluster" {
		t.Fatalf("a labelled ServiceAccount: %+v", got)
	}
	w.settle()
	w.account("defaults", true)
	steps := []struct {
		object  infrav1.Workspace
		cluster *infrav1.TerraformCluster
		want    string
	}{
		{inherits, cluster, "captf-runner cluster defaults"},
		{lost, nil, "captf-runner cluster defaults"},
	}
	for _, s := range steps {
		if got := w.ensure(credentials.Request{Object: s.object, Cluster: s.cluster}); rbacReason(got) != "T/RBACReady" || w.subjects() != s.want {
			t.Errorf("%s: %s, subjects %s, not %s", s.object.GetName(), rbacReason(got), w.subjects(), s.want)
		}
		w.settle()
	}
	if got := w.ensure(credentials.Request{Object: own, Cluster: cluster}); rbacReason(got) != "F/ServiceAccountNotOptedIn" || strings.Contains(w.subjects(), "own") {
		t.Errorf("own: %s, %s", rbacReason(got), w.subjects())
	}

	// What a running Job uses is not taken from it, though no object names it any more.
	job := create(w, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "running", Labels: map[string]string{infrav1.LabelManaged: "true"}},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: "cluster", Containers: []corev1.Container{{Name: "source", Image: "x"}},
		}}},
	})
	w.remove(lost)
	update(w, cluster, func(c *infrav1.TerraformCluster) { c.Spec.Jobs = nil })
	w.ensure(credentials.Request{Object: cluster})
	if w.subjects() != "captf-runner cluster defaults" {
		t.Errorf("while a Job runs the subjects are %s", w.subjects())
	}
	job.Status.StartTime, job.Status.CompletionTime = new(metav1.Now()), new(metav1.Now())
	job.Status.Succeeded = 1
	job.Status.Conditions = []batchv1.JobCondition{
		{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
		{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
	}
	if err := w.api.Status().Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	w.settle()
	(&credentials.Sweeper{Credentials: w.Credentials, Namespace: w.namespace}).Sweep(t.Context())
	if w.subjects() != "captf-runner defaults" {
		t.Errorf("after a sweep the subjects are %s", w.subjects())
	}
}

func TestForeignRBAC(t *testing.T) {
	w := newWorld(t)
	cluster := w.cluster("c", nil)
	foreign := create(w, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: names.RoleBinding},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "view"},
	})
	before := w.binding()
	got := w.ensure(credentials.Request{Object: cluster})
	if rbacReason(got) != "F/RBACFailed" {
		t.Errorf("a foreign RoleBinding: %s", rbacReason(got))
	}
	if diff := cmp.Diff(before, w.binding()); diff != "" {
		t.Errorf("the foreign RoleBinding was changed: %s", diff)
	}
	(&credentials.Sweeper{Credentials: w.Credentials, Namespace: w.namespace}).Sweep(t.Context())
	w.remove(foreign)
	if got := w.ensure(credentials.Request{Object: cluster}); rbacReason(got) != "T/RBACReady" {
		t.Errorf("once it is gone: %s", rbacReason(got))
	}

	other := newWorld(t)
	account := other.account("captf-runner", false)
	if got := other.ensure(credentials.Request{Object: other.cluster("c", nil)}); rbacReason(got) != "F/RBACFailed" {
		t.Errorf("a foreign ServiceAccount: %s", rbacReason(got))
	}
	update(other, account, func(a *corev1.ServiceAccount) { a.Labels = map[string]string{infrav1.LabelRunner: "true"} })
	cluster = &infrav1.TerraformCluster{}
	if err := other.api.Get(t.Context(), client.ObjectKey{Namespace: other.namespace, Name: "c"}, cluster); err != nil {
		t.Fatal(err)
	}
	if got := other.ensure(credentials.Request{Object: cluster}); rbacReason(got) != "T/RBACReady" {
		t.Errorf("a ServiceAccount that opted in: %s", rbacReason(got))
	}
}

// A RoleBinding whose role someone changed is made again: a role cannot be changed back.
func TestRoleIsRestored(t *testing.T) {
	w := newWorld(t)
	cluster := w.cluster("c", nil)
	w.ensure(credentials.Request{Object: cluster})
	w.settle()
	old := w.binding()
	w.remove(old)
	create(w, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: names.RoleBinding, Labels: old.Labels},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "admin"},
		Subjects:   old.Subjects,
	})
	if got := w.ensure(credentials.Request{Object: cluster}); rbacReason(got) != "T/RBACReady" {
		t.Fatal(rbacReason(got))
	}
	if w.binding().RoleRef.Name != "captf-runner" || w.subjects() != "captf-runner" {
		t.Errorf("the RoleBinding is %v", w.binding())
	}
	w.settle()
	update(w, w.binding(), func(b *rbacv1.RoleBinding) { b.Subjects = nil })
	w.ensure(credentials.Request{Object: cluster})
	if w.subjects() != "captf-runner" {
		t.Errorf("the subjects are %q", w.subjects())
	}
}

// A namespace without objects loses what no owner reference removes; one with objects keeps it (B-518).
func TestSweep(t *testing.T) {
	w := newWorld(t)
	cluster := w.cluster("c", nil)
	w.ensure(credentials.Request{Object: cluster})
	lease := func(name string, labels map[string]string) *coordinationv1.Lease {
		l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: labels}}
		if err := w.api.Create(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	managed := map[string]string{infrav1.LabelManaged: "true"}
	lease("captf-run-x", managed)
	lease("of-somebody-else", nil)
	left := func() string {
		var out []string
		for _, object := range w.rbac() {
			out = append(out, strings.TrimPrefix(strings.TrimPrefix(objectType(object), "*v1."), "*"))
		}
		leases := &coordinationv1.LeaseList{}
		if err := w.api.List(t.Context(), leases, client.InNamespace(w.namespace)); err != nil {
			t.Fatal(err)
		}
		for _, l := range leases.Items {
			out = append(out, l.Name)
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	all := "RoleBinding ServiceAccount captf-run-x of-somebody-else"
	sweep := func(want string) {
		t.Helper()
		if err := w.SweepNamespace(t.Context(), w.namespace); err != nil {
			t.Fatal(err)
		}
		if got := left(); got != want {
			t.Errorf("after the sweep there are %q, not %q", got, want)
		}
	}
	sweep(all)
	w.remove(cluster)
	pod := create(w, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "stopping", Labels: managed},
		Spec:       corev1.PodSpec{ServiceAccountName: "captf-runner", Containers: []corev1.Container{{Name: "source", Image: "x"}}},
	})
	pod.Status.Phase = corev1.PodRunning
	if err := w.api.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	sweep(all)
	pod.Status.Phase = corev1.PodFailed
	if err := w.api.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	sweep("of-somebody-else")
	sweep("of-somebody-else")
}

func objectType(object client.Object) string {
	switch object.(type) {
	case *corev1.ServiceAccount:
		return "ServiceAccount"
	case *rbacv1.RoleBinding:
		return "RoleBinding"
	}
	return "?"
}

// The users of an identity and of a mirror are found for those that watch them (B-505).
func TestUsers(t *testing.T) {
	w := newWorld(t)
	w.source(map[string]string{"token": canary})
	identity := w.identity(w.here())
	cluster := w.cluster("c", nil)
	w.machine("a", "c", nil)
	w.machine("b", "c", func(s *infrav1.TerraformMachineSpec) {
		s.IdentityRef = &infrav1.IdentityReference{Kind: infrav1.IdentityKindSecret, Name: identity.Name}
	})
	w.ensure(credentials.Request{Object: cluster})
	for role, want := range map[string]string{"cluster": "c", "machine": "a", "machinepool": ""} {
		var got []string
		for _, r := range credentials.IdentityUsers(w.client, contract.Role(role))(t.Context(), identity) {
			if r.Namespace == w.namespace {
				got = append(got, r.Name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the users of role %s are %v, not %s", role, got, want)
		}
	}
	mirror := w.mirror()
	for name, annotations := range map[string]map[string]string{"as it is": mirror.Annotations, "without annotations": nil} {
		mirror.Annotations = annotations
		if got := credentials.MirrorIdentity(w.api)(t.Context(), mirror); len(got) != 1 || got[0].Name != identity.Name {
			t.Errorf("%s: the identity of the mirror is %v", name, got)
		}
	}
}

// The sweep runs at once and then every sync period, more or less, on the leader only.
func TestSweeperRuns(t *testing.T) {
	w := newWorld(t)
	s := &credentials.Sweeper{Credentials: w.Credentials, Namespace: w.namespace, Clock: w.clock}
	if !s.NeedLeaderElection() {
		t.Error("every manager sweeps")
	}
	left := func() *corev1.ServiceAccount {
		return create(w, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "captf-runner", Labels: map[string]string{infrav1.LabelManaged: "true"}}})
	}
	gone := func(account client.Object) {
		t.Helper()
		w.eventually(func() error {
			if err := w.api.Get(t.Context(), client.ObjectKeyFromObject(account), &corev1.ServiceAccount{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("the ServiceAccount is not gone: %w", err)
			}
			if !w.clock.HasWaiters() {
				return errors.New("the sweep does not wait")
			}
			return nil
		})
	}
	first := left()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Start(ctx) }()
	gone(first)
	w.settle()
	second := left()
	w.clock.Step(8 * time.Minute)
	if err := w.api.Get(t.Context(), client.ObjectKeyFromObject(second), &corev1.ServiceAccount{}); err != nil {
		t.Errorf("it swept too soon: %v", err)
	}
	w.clock.Step(4 * time.Minute)
	gone(second)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
