package realtest_test

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/controllers/controllerstest"
)

// TestRealLife takes a cluster with machines and a pool from nothing to Ready, changes it, and takes it back to nothing.
func TestRealLife(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	tc := w.cluster("prod")
	if e := tc.Spec.ControlPlaneEndpoint; e == nil || e.Host != "noop-prod.invalid" || e.Port != 6443 {
		t.Errorf("the endpoint is %+v", e)
	}
	if d := tc.Status.FailureDomains; len(d) != 1 || d[0].Name != "fd1" {
		t.Errorf("the failure domains are %+v", d)
	}

	var objects []client.Object
	var machines []*infrav1.TerraformMachine
	for _, name := range []string{"cp-0", "cp-1", "cp-2", "worker"} {
		tm := controllerstest.Machine(ctx, t, w, w.ns, "prod", name, name != "worker", node.noop)
		machines, objects = append(machines, tm), append(objects, tm)
	}
	tp := controllerstest.MachinePool(ctx, t, w, w.ns, "prod", "pool", 2, node.noop)
	for _, tm := range machines {
		controllerstest.Await(ctx, t, w, tm, "Ready", controllerstest.IsReady[*infrav1.TerraformMachine])
		if want := "noop:///" + w.ns + "/" + tm.Name; tm.Spec.ProviderID != want {
			t.Errorf("the provider id of %s is %q, want %q", tm.Name, tm.Spec.ProviderID, want)
		}
		if a := tm.Status.Addresses; len(a) != 2 || a[0].Type != "InternalIP" || a[1].Type != "Hostname" || a[1].Address != tm.Name {
			t.Errorf("the addresses of %s are %+v", tm.Name, a)
		}
		if i := tm.Status.Initialization; i == nil || i.Provisioned == nil || !*i.Provisioned {
			t.Errorf("%s is not provisioned: %+v", tm.Name, i)
		}
	}
	controllerstest.Await(ctx, t, w, tp, "Ready", controllerstest.IsReady[*infrav1.TerraformMachinePool])
	want := []string{"noop:///" + w.ns + "/pool/0", "noop:///" + w.ns + "/pool/1"}
	if !slices.Equal(tp.Spec.ProviderIDList, want) {
		t.Errorf("the pool has %v, want %v", tp.Spec.ProviderIDList, want)
	}
	for _, name := range []string{"prod", "cp-0", "cp-1", "cp-2", "worker", "pool"} {
		if n := len(w.jobs(name, infrav1.OperationApply)); n != 1 {
			t.Errorf("%s was applied %d times", name, n)
		}
	}

	// A changed variable is applied, once.
	if err := w.Get(ctx, client.ObjectKeyFromObject(tc), tc); err != nil {
		t.Fatal(err)
	}
	base := tc.DeepCopy()
	setVariable(tc, "failure_domains", `[{"name":"a"},{"name":"b","control_plane":false}]`)
	if err := w.Patch(ctx, tc, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
	controllerstest.Await(ctx, t, w, tc, "Ready with the new failure domains", func(tc *infrav1.TerraformCluster) bool {
		return controllerstest.IsReady(tc) && controllerstest.Applied(tc) && len(tc.Status.FailureDomains) == 2
	})
	if n := len(w.jobs("prod", infrav1.OperationApply)); n != 2 {
		t.Errorf("the cluster was applied %d times, want once more", n)
	}

	w.delete(append(objects, tp, tc)...)
	w.nothingLeft()
}

// setVariable sets a user variable, in JSON.
func setVariable(obj infrav1.Workspace, name, value string) {
	spec := obj.Workspace()
	if spec.Variables == nil {
		spec.Variables = map[string]apiextensionsv1.JSON{}
	}
	spec.Variables[name] = apiextensionsv1.JSON{Raw: []byte(value)}
}
