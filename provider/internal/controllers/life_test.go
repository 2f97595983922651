package controllers_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/controllers/controllerstest"
	"github.com/captf-toolkit/captf/provider/internal/controllers/instant"
	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // controller-runtime says at length that nobody set one
	crds, err := controllerstest.CRDs(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(controllerstest.Produced(tools.Main(m, testenv.Options{ControllerManager: true, CRDs: crds, Controllers: []string{
		"garbage-collector-controller", "namespace-controller", "serviceaccount-controller", "root-ca-certificate-publisher-controller",
	}})))
}

// TestLife takes a cluster with machines and a pool from nothing to Ready and back to nothing.
func TestLife(t *testing.T) {
	ctx := t.Context()
	env, ns := tools.Environment(t), tools.Namespace(t)
	c := controllerstest.Client(t, env.Config())
	controllerstest.Prepare(ctx, t, c, ns)
	controllerstest.TellEvents(t, c, ns)
	runner := &instant.Runner{Client: c, Clock: clock.RealClock{}}
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { _ = runner.Run(run, ns) }()
	controllerstest.Start(t, env.Config(), controllerstest.Options(ns))

	tc := controllerstest.Cluster(ctx, t, c, ns, "prod", controllerstest.TestImages)
	controllerstest.Await(ctx, t, c, tc, "Ready", controllerstest.IsReady[*infrav1.TerraformCluster])
	if tc.Spec.ControlPlaneEndpoint == nil || tc.Spec.ControlPlaneEndpoint.Host != "prod.example.test" || tc.Spec.ControlPlaneEndpoint.Port != 6443 {
		t.Errorf("the endpoint is %+v", tc.Spec.ControlPlaneEndpoint)
	}
	if n := len(tc.Status.FailureDomains); n != 2 {
		t.Errorf("there are %d failure domains", n)
	}
	controllerstest.InfrastructureProvisioned(ctx, t, c, ns, "prod")

	var all []client.Object
	for i := range 3 {
		all = append(all, controllerstest.Machine(ctx, t, c, ns, "prod", fmt.Sprintf("cp-%d", i), true, controllerstest.TestImages))
	}
	all = append(all, controllerstest.Machine(ctx, t, c, ns, "prod", "worker", false, controllerstest.TestImages))
	tp := controllerstest.MachinePool(ctx, t, c, ns, "prod", "pool", 2, controllerstest.TestImages)
	for _, obj := range all {
		tm := controllerstest.Await(ctx, t, c, obj.(*infrav1.TerraformMachine), "Ready", controllerstest.IsReady[*infrav1.TerraformMachine])
		if want := "noop:///" + ns + "/" + tm.Name; tm.Spec.ProviderID != want {
			t.Errorf("the provider id of %s is %q, want %q", tm.Name, tm.Spec.ProviderID, want)
		}
	}
	controllerstest.Await(ctx, t, c, tp, "Ready", controllerstest.IsReady[*infrav1.TerraformMachinePool])
	if len(tp.Spec.ProviderIDList) != 2 || !tp.Status.Ready {
		t.Errorf("the pool has %v, ready %v", tp.Spec.ProviderIDList, tp.Status.Ready)
	}
	for what, n := range runner.Applies() {
		if n != 1 {
			t.Errorf("%s was applied %d times", what, n)
		}
	}

	// The cluster waits for its machines and pools.
	for _, obj := range append(all, tp, tc) {
		if err := c.Delete(ctx, obj); err != nil {
			t.Fatal(err)
		}
	}
	for _, obj := range append(all, tp, tc) {
		controllerstest.AwaitGone(ctx, t, c, obj)
	}
	nothingLeft(ctx, t, c, ns, &corev1.SecretList{}, &coordinationv1.LeaseList{}, &batchv1.JobList{}, &corev1.ServiceAccountList{}, &rbacv1.RoleBindingList{})
}

// nothingLeft looks for what the provider made in a namespace.
func nothingLeft(ctx context.Context, t *testing.T, c client.Client, ns string, lists ...client.ObjectList) {
	t.Helper()
	for _, list := range lists {
		controllerstest.AwaitNone(ctx, t, c, list, client.InNamespace(ns), client.MatchingLabels{infrav1.LabelManaged: "true"})
	}
}
