package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/sdk/diagnose"
)

// TestDeletion deletes a cluster in the foreground, so that the garbage collector wants all of its objects to go at once, while
// the module of a worker cannot destroy: no state goes before its time, the cluster's infrastructure waits, the diagnosis
// names the worker, and when the cloud is healed all of it goes. In the background clusters are deleted by the other tests. The
// cluster's endpoint is one that the user gives when it is made, and stays it.
func TestDeletion(t *testing.T) {
	t.Parallel()
	w := start(t, "doomed")
	cloud := newCloudAPI(t)
	objects := w.generate("", "machinepool")
	given := w.endpoint()
	w.set(objects, "Cluster", map[string]any{"host": given["endpoint_host"], "port": given["endpoint_port"]}, "spec", "controlPlaneEndpoint")
	w.set(objects, "TerraformCluster", map[string]any{"endpoint_host": ""}, "spec", "variables")
	w.ask(objects, "-md-0", cloud)
	w.create(objects...)
	cluster := w.awaitAvailable()
	w.awaitMachines(want{1, 1, 1, oldVersion})
	w.check()
	if at := cluster.Spec.ControlPlaneEndpoint; at.Host != given["endpoint_host"] || int64(at.Port) != given["endpoint_port"] {
		t.Errorf("the endpoint was given as %v and is %s", given, at)
	}

	cloud.set("-md-0-", unknown)
	w.stuckDeletion(func() { cloud.set("-md-0-", "running") })
	w.deleteNamespace()
}

// stuckDeletion deletes the Cluster in the foreground, looks what waits for a worker that cannot be destroyed, heals that, and
// waits until everything is gone.
func (w *world) stuckDeletion(heal func()) {
	w.t.Helper()
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: w.name}}
	w.remove(cluster, client.PropagationPolicy(metav1.DeletePropagationForeground))
	w.diagnosed(cause{diagnose.VerdictStuck, "module", "TerraformMachine", "-md-0-", "status.lastRun.error", "destroy"})
	if n := w.jobs.count("TerraformCluster", w.name, infrav1.OperationDestroy); n > 0 {
		w.t.Errorf("the cluster's infrastructure was to be destroyed %d times while a machine was there", n)
	}
	heal()
	w.gone(cluster)
	w.empty()
	if n := w.jobs.count("TerraformCluster", w.name, infrav1.OperationDestroy); n != 1 {
		w.t.Errorf("the cluster's infrastructure was destroyed %d times", n)
	}
}

// deleteNamespace deletes the namespace and waits until it is gone, and until the identity is no longer used in it.
func (w *world) deleteNamespace() {
	w.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}
	w.remove(ns)
	w.await("the namespace is gone", func(ctx context.Context) (bool, string, error) {
		err := w.Get(ctx, client.ObjectKeyFromObject(ns), ns)
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		var now []string
		for _, c := range ns.Status.Conditions {
			if c.Status == corev1.ConditionTrue {
				now = append(now, fmt.Sprintf("%s: %s", c.Type, c.Message))
			}
		}
		return false, strings.Join(now, "; "), err
	})
	identity := &infrav1.TerraformClusterIdentity{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}
	awaitObject(w, identity, "no longer used", func(i *infrav1.TerraformClusterIdentity) (bool, string) {
		return len(i.Status.Namespaces) == 0, fmt.Sprint(i.Status.Namespaces)
	})
}

// TestDeletionOfNamespace deletes a namespace with a cluster in it. No Job can be made there any more, so what was applied
// waits, and the objects say so, until somebody gives it up; what was not applied goes.
func TestDeletionOfNamespace(t *testing.T) {
	t.Parallel()
	w := start(t, "evicted")
	objects := w.generate("")
	w.set(objects, "TerraformCluster", map[string]any{"endpoint_host": ""}, "spec", "variables")
	w.create(objects...)
	tc := w.terraformCluster()
	awaitObject(w, tc, "provisioned", func(tc *infrav1.TerraformCluster) (bool, string) {
		now := falsy(tc.Status.Conditions, infrav1.ReadyCondition)
		return now == "" && tc.Status.ActiveJob == nil, now
	})
	w.remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}})
	w.await("only what was applied is left", func(ctx context.Context) (bool, string, error) {
		left, err := w.left(ctx)
		now := strings.Join(left, ", ")
		return now == "Cluster "+w.name+", TerraformCluster "+w.name, now, err
	})
	awaitObject(w, tc, "held", func(tc *infrav1.TerraformCluster) (bool, string) {
		now := falsy(tc.Status.Conditions, infrav1.StateReadableCondition)
		return strings.Contains(now, infrav1.StateLostReason), now
	})
	if n := w.jobs.total(infrav1.OperationDestroy); n > 0 {
		t.Errorf("%d Jobs were made in a namespace that goes away", n)
	}
	change(w, tc, func(tc *infrav1.TerraformCluster) { tc.Finalizers = nil })
	w.deleteNamespace()
}
