package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/test/e2e/management"
	"github.com/captf-toolkit/captf/sdk/diagnose"
)

// TestUpgradeProvider replaces the provider by its next version with clusterctl while a Job runs for a cluster. The new manager
// takes the Job's result: nothing is applied twice, no machine is replaced, and the cluster is available all the time.
func TestUpgradeProvider(t *testing.T) {
	w := start(t, "upgraded")
	cloud := newCloudAPI(t)
	objects := w.generate("")
	variables := w.endpoint()
	variables["cloud"] = cloud.url
	w.set(objects, "TerraformCluster", variables, "spec", "variables")
	w.set(objects, "TerraformCluster", w.cloudImage(contract.RoleCluster), "spec", "source", "image")
	w.create(objects...)
	version, err := shared.release.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.awaitAvailable()
	now := want{1, 1, 0, oldVersion}
	w.awaitMachines(now)
	w.awaitIdle()
	w.healthy()
	booted := fmt.Sprint(w.booted())
	cluster, tc := w.awaitAvailable(), w.terraformCluster()
	since := func() metav1.Time {
		return meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.AvailableCondition).LastTransitionTime
	}
	available, applies := since(), w.jobs.total(infrav1.OperationApply)

	cloud.hold()
	change(w, tc, func(tc *infrav1.TerraformCluster) {
		tc.Spec.Variables["failure_domains"] = jsonOf(w, []map[string]any{{"name": "fd1"}, {"name": "fd2"}})
	})
	w.await("the module waits for the cloud", func(context.Context) (bool, string, error) { return cloud.holds() > 0, "", nil })
	w.diagnosed(cause{diagnose.VerdictWorking, "job", "TerraformCluster", w.name, "status.activeJob", "runs the module: apply"})
	if err := w.Get(t.Context(), w.key(), tc); err != nil {
		t.Fatal(err)
	}
	job := tc.Status.ActiveJob.Name

	plan := w.clusterctl("upgrade", "plan", "--kubeconfig", w.on.Env.KubeconfigFile())
	if !strings.Contains(plan, version) || !strings.Contains(plan, "infrastructure-"+management.Provider) {
		t.Errorf("clusterctl upgrade plan shows no %s:\n%s", version, plan)
	}
	w.t.Logf("$ clusterctl upgrade plan\n%s", plan)
	if err := w.on.Upgrade(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.say("the provider is upgraded to %s", version)
	if log := w.on.ManagerLog(1 << 20); !strings.Contains(log, `"starting" version="`+version+`"`) {
		t.Errorf("the manager is not of version %s:\n%s", version, log[:min(len(log), 2000)])
	}
	if installed := w.installed(); installed != version {
		t.Errorf("clusterctl knows of version %q", installed)
	}
	if err := w.Get(t.Context(), w.key(), tc); err != nil {
		t.Fatal(err)
	}
	if tc.Status.ActiveJob == nil || tc.Status.ActiveJob.Name != job {
		t.Errorf("the new manager runs %+v, and not %s", tc.Status.ActiveJob, job)
	}

	cloud.release()
	awaitObject(w, cluster, "in two failure domains", func(c *clusterv1.Cluster) (bool, string) {
		return len(c.Status.FailureDomains) == 2, fmt.Sprint(c.Status.FailureDomains)
	})
	w.awaitIdle()
	w.awaitMachines(now)
	w.healthy()
	if n := w.jobs.total(infrav1.OperationApply) - applies; n != 1 {
		t.Errorf("one change was applied %d times", n)
	}
	if after := fmt.Sprint(w.booted()); after != booted {
		t.Errorf("the instances were %s and are %s", booted, after)
	}
	if err := w.Get(t.Context(), w.key(), cluster); err != nil {
		t.Fatal(err)
	}
	if at := since(); !at.Equal(&available) || falsy(cluster.Status.Conditions, clusterv1.AvailableCondition) != "" {
		t.Errorf("the Cluster was available since %s, and is since %s", available, at)
	}

	// The new manager makes machines, and destroys them.
	for _, now := range []want{{3, 2, 0, oldVersion}, {1, 1, 0, oldVersion}} {
		change(w, w.controlPlane(), func(k *controlplanev1.KubeadmControlPlane) { k.Spec.Replicas = new(int32(now.controlPlanes)) })
		change(w, w.deployment(), func(d *clusterv1.MachineDeployment) { d.Spec.Replicas = new(int32(now.workers)) })
		w.awaitMachines(now)
		w.awaitAvailable()
		w.check()
	}
	if n := len(w.booted()); n != 2 {
		t.Errorf("there are %d instances of 2 machines", n)
	}
	w.deleteCluster()
}

// installed is the version of the provider that clusterctl knows of, empty if it knows of none.
func (w *world) installed() string {
	w.t.Helper()
	provider := &unstructured.Unstructured{}
	provider.SetAPIVersion("clusterctl.cluster.x-k8s.io/v1alpha3")
	provider.SetKind("Provider")
	key := client.ObjectKey{Namespace: management.Namespace, Name: "infrastructure-" + management.Provider}
	if err := w.Get(w.t.Context(), key, provider); client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	version, _, _ := unstructured.NestedString(provider.Object, "version")
	return version
}
