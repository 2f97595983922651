package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/test/e2e/workload"
	"github.com/captf-toolkit/captf/sdk/diagnose"
)

// controlPlane is the KubeadmControlPlane of the templates.
func (w *world) controlPlane() *controlplanev1.KubeadmControlPlane {
	return &controlplanev1.KubeadmControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: w.name + "-control-plane"}}
}

func (w *world) deployment() *clusterv1.MachineDeployment {
	return &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: w.name + "-md-0"}}
}

func (w *world) pool() *clusterv1.MachinePool {
	return &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: w.name + "-mp-0"}}
}

func (w *world) terraformCluster() *infrav1.TerraformCluster {
	return &infrav1.TerraformCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: w.name}}
}

// want is how many machines there are to be, and their version.
type want struct {
	controlPlanes, workers, members int
	version                         string
}

// awaitMachines waits until there are as many machines as are wanted, all of them up to date, with Nodes.
func (w *world) awaitMachines(n want) {
	w.t.Helper()
	w.await(fmt.Sprintf("there are %d control planes, %d workers and %d members of pools of %s", n.controlPlanes, n.workers, n.members, n.version),
		func(ctx context.Context) (bool, string, error) {
			var wrong []string
			machines := &clusterv1.MachineList{}
			if err := w.List(ctx, machines, client.InNamespace(w.ns)); err != nil {
				return false, "", err
			}
			controlPlanes, workers := 0, 0
			for i := range machines.Items {
				m := &machines.Items[i]
				if _, ok := m.Labels[clusterv1.MachineControlPlaneLabel]; ok {
					controlPlanes++
				} else {
					workers++
				}
				if now := falsy(m.Status.Conditions, clusterv1.AvailableCondition, clusterv1.MachineUpToDateCondition); now != "" {
					first, _, _ := strings.Cut(now, "\n")
					wrong = append(wrong, m.Name+": "+first)
				}
				if !m.Status.NodeRef.IsDefined() || m.Spec.Version != n.version {
					wrong = append(wrong, fmt.Sprintf("%s has version %s and Node %q", m.Name, m.Spec.Version, m.Status.NodeRef.Name))
				}
			}
			members := 0
			pools := &clusterv1.MachinePoolList{}
			if err := w.List(ctx, pools, client.InNamespace(w.ns)); err != nil {
				return false, "", err
			}
			for i := range pools.Items {
				members += len(pools.Items[i].Status.NodeRefs)
			}
			for _, booted := range shared.cloud.Booted(w.key()) {
				if booted.Version != n.version {
					wrong = append(wrong, booted.Name+" runs "+booted.Version)
				}
			}
			if controlPlanes != n.controlPlanes || workers != n.workers || members != n.members {
				wrong = append(wrong, fmt.Sprintf("%d control planes, %d workers, %d members", controlPlanes, workers, members))
			}
			return len(wrong) == 0, strings.Join(append(wrong, shared.cloud.Waiting(w.key())...), "; "), nil
		})
}

// check compares what the three sides say about the machines: Cluster API, the provider, and the workload cluster.
func (w *world) check() {
	w.t.Helper()
	ctx := w.t.Context()
	cluster, tc := &clusterv1.Cluster{}, &infrav1.TerraformClusterList{}
	if err := w.Get(ctx, w.key(), cluster); err != nil {
		w.t.Fatal(err)
	}
	if err := w.List(ctx, tc, client.InNamespace(w.ns)); err != nil {
		w.t.Fatal(err)
	}
	if len(tc.Items) != 1 {
		w.t.Fatalf("there are %d TerraformClusters", len(tc.Items))
	}
	// An endpoint that the user gave to the Cluster stays the user's.
	at, given := tc.Items[0].Spec.ControlPlaneEndpoint, cluster.Spec.ControlPlaneEndpoint
	if ours := tc.Items[0].Annotations[contract.AnnotationEndpointSource] == string(contract.EndpointSourceModule); ours != (at != nil) ||
		at != nil && (at.Host != given.Host || at.Port != given.Port) {
		w.t.Errorf("the Cluster's endpoint is %s, that of the TerraformCluster %v", given, at)
	}
	if !slices.ContainsFunc(cluster.Status.FailureDomains, func(d clusterv1.FailureDomain) bool { return d.Name == "fd1" }) {
		w.t.Errorf("the Cluster has the failure domains %+v", cluster.Status.FailureDomains)
	}
	nodes, err := shared.cloud.Cluster(w.key()).Nodes(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	ids := map[string]string{}
	for i := range nodes {
		ids[nodes[i].Name] = nodes[i].Spec.ProviderID
	}
	machines := &clusterv1.MachineList{}
	if err := w.List(ctx, machines, client.InNamespace(w.ns)); err != nil {
		w.t.Fatal(err)
	}
	for i := range machines.Items {
		m := &machines.Items[i]
		tm := &infrav1.TerraformMachine{}
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: m.Spec.InfrastructureRef.Name}, tm); err != nil {
			w.t.Fatal(err)
		}
		node := m.Status.NodeRef.Name
		if m.Spec.ProviderID == "" || m.Spec.ProviderID != tm.Spec.ProviderID || ids[node] != m.Spec.ProviderID {
			w.t.Errorf("the provider id of Machine %s is %q, of its TerraformMachine %q, of Node %q %q", m.Name, m.Spec.ProviderID, tm.Spec.ProviderID, node, ids[node])
		}
		delete(ids, node)
		if n := w.jobs.count("TerraformMachine", tm.Name, infrav1.OperationApply); n != 1 {
			w.t.Errorf("TerraformMachine %s was applied %d times", tm.Name, n)
		}
		if !slices.ContainsFunc(m.Status.Addresses, func(a clusterv1.MachineAddress) bool { return a.Address == m.Name }) {
			w.t.Errorf("Machine %s has the addresses %+v", m.Name, m.Status.Addresses)
		}
	}
	pools := &clusterv1.MachinePoolList{}
	if err := w.List(ctx, pools, client.InNamespace(w.ns)); err != nil {
		w.t.Fatal(err)
	}
	for i := range pools.Items {
		for _, ref := range pools.Items[i].Status.NodeRefs {
			if id := ids[ref.Name]; !slices.Contains(pools.Items[i].Spec.ProviderIDList, id) {
				w.t.Errorf("Node %s with provider id %s is not among those of MachinePool %s: %v", ref.Name, id, pools.Items[i].Name, pools.Items[i].Spec.ProviderIDList)
			}
			delete(ids, ref.Name)
		}
	}
	if len(ids) > 0 {
		w.t.Errorf("nobody has the Nodes %v", ids)
	}
}

// TestLife takes a cluster from nothing to three control planes, workers and a pool, scales and upgrades all of them,
// pauses, and deletes it.
func TestLife(t *testing.T) {
	w := start(t, "life")
	objects := w.generate("", "machinepool")
	w.set(objects, "TerraformCluster", w.endpoint(), "spec", "variables")
	w.create(objects...)
	w.diagnosed(cause{diagnose.VerdictWorking, "job", "TerraformCluster", w.name, "status.activeJob", "runs the module: apply"})
	w.awaitAvailable()
	now := want{1, 1, 1, oldVersion}
	w.awaitMachines(now)
	w.check()

	// The module learns once that the control plane is initialised.
	tc := w.terraformCluster()
	awaitObject(w, tc, "applied", func(tc *infrav1.TerraformCluster) (bool, string) {
		return falsy(tc.Status.Conditions, infrav1.ReadyCondition, infrav1.InputsAppliedCondition) == "" && tc.Status.ActiveJob == nil, fmt.Sprint(tc.Status.ActiveJob)
	})
	if n := w.jobs.count("TerraformCluster", tc.Name, infrav1.OperationApply); n != 2 {
		t.Errorf("the cluster's module was applied %d times", n)
	}
	w.awaitIdle()
	w.healthy()

	change(w, w.controlPlane(), func(k *controlplanev1.KubeadmControlPlane) { k.Spec.Replicas = new(int32(3)) })
	change(w, w.deployment(), func(d *clusterv1.MachineDeployment) { d.Spec.Replicas = new(int32(2)) })
	change(w, w.pool(), func(p *clusterv1.MachinePool) { p.Spec.Replicas = new(int32(3)) })
	now = want{3, 2, 3, oldVersion}
	w.awaitMachines(now)
	w.awaitAvailable()
	w.check()

	change(w, w.pool(), func(p *clusterv1.MachinePool) { p.Spec.Replicas = new(int32(2)) })
	now.members = 2
	w.awaitMachines(now)

	w.awaitIdle()
	w.aside("a pause is no story of the harness, nor is the change of a variable of the cluster's module that is made in it", func() {
		applies := func() int { return w.jobs.count("TerraformMachinePool", w.pool().Name, infrav1.OperationApply) }
		before := applies()
		w.paused(now)
		w.await("the pool has the failure domains, too", func(context.Context) (bool, string, error) {
			return applies() == before+1, strconv.Itoa(applies()), nil
		})
		w.awaitIdle()
	})

	// Without a surge one control plane goes before another one comes.
	before, most := w.booted(), 0
	change(w, w.controlPlane(), func(k *controlplanev1.KubeadmControlPlane) {
		k.Spec.Version = newVersion
		k.Spec.Rollout.Strategy = controlplanev1.KubeadmControlPlaneRolloutStrategy{
			Type:          controlplanev1.RollingUpdateStrategyType,
			RollingUpdate: controlplanev1.KubeadmControlPlaneRolloutStrategyRollingUpdate{MaxSurge: new(intstr.FromInt32(0))},
		}
	})
	w.await("the control planes are upgraded", func(ctx context.Context) (bool, string, error) {
		machines := &clusterv1.MachineList{}
		if err := w.List(ctx, machines, client.InNamespace(w.ns), client.HasLabels{clusterv1.MachineControlPlaneLabel}); err != nil {
			return false, "", err
		}
		most = max(most, len(machines.Items))
		k := w.controlPlane()
		if err := w.Get(ctx, client.ObjectKeyFromObject(k), k); err != nil {
			return false, "", err
		}
		state := falsy(k.Status.Conditions, controlplanev1.KubeadmControlPlaneAvailableCondition)
		for _, c := range k.Status.Conditions {
			if c.Type == controlplanev1.KubeadmControlPlaneRollingOutCondition && c.Status == metav1.ConditionTrue {
				state += " " + c.Message
			}
		}
		versions := k.Status.Versions
		done := len(versions) == 1 && versions[0].Version == newVersion && ptr(k.Status.UpToDateReplicas) == 3 && ptr(k.Status.Replicas) == 3
		return done && state == "", fmt.Sprint(versions, " ", state), nil
	})
	if most != 3 {
		t.Errorf("there were up to %d control planes during an upgrade without a surge", most)
	}
	change(w, w.deployment(), func(d *clusterv1.MachineDeployment) { d.Spec.Template.Spec.Version = newVersion })
	change(w, w.pool(), func(p *clusterv1.MachinePool) { p.Spec.Template.Spec.Version = newVersion })
	now.version = newVersion
	w.awaitMachines(now)
	w.awaitAvailable()
	w.check()
	for _, i := range before {
		if strings.HasPrefix(i.Name, w.name+"-mp-0") {
			continue // members of a pool keep their names
		}
		if slices.ContainsFunc(w.booted(), func(j workload.Instance) bool { return i.Name == j.Name }) {
			t.Errorf("machine %s was not replaced by the upgrade", i.Name)
		}
	}

	w.deleteCluster()
	w.faithful("life")
}

func (w *world) booted() []workload.Instance { return shared.cloud.Booted(w.key()) }

func ptr(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

// paused pauses the Cluster, changes things, and looks that nothing happens until it is unpaused.
func (w *world) paused(now want) {
	w.t.Helper()
	cluster, tc := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: w.name}}, w.terraformCluster()
	isPaused := func(wanted bool) func(*infrav1.TerraformCluster) (bool, string) {
		return func(tc *infrav1.TerraformCluster) (bool, string) {
			paused := falsy(tc.Status.Conditions, clusterv1.PausedCondition) == ""
			return paused == wanted && tc.Status.ActiveJob == nil && tc.Status.ObservedGeneration == tc.Generation, fmt.Sprint(tc.Status.ActiveJob)
		}
	}
	change(w, cluster, func(c *clusterv1.Cluster) { c.Spec.Paused = new(true) })
	awaitObject(w, tc, "paused", isPaused(true))
	before, applied := w.jobs.changes(), w.jobs.count("TerraformCluster", tc.Name, infrav1.OperationApply)
	change(w, tc, func(tc *infrav1.TerraformCluster) {
		tc.Spec.Variables["failure_domains"] = jsonOf(w, []map[string]any{{"name": "fd1"}, {"name": "fd2"}})
	})
	change(w, w.deployment(), func(d *clusterv1.MachineDeployment) { d.Spec.Replicas = new(int32(now.workers) + 1) })
	awaitObject(w, tc, "seen while it is paused", isPaused(true))
	if n := w.jobs.changes(); n != before {
		w.t.Errorf("%d Jobs were started while the Cluster was paused", n-before)
	}
	change(w, w.deployment(), func(d *clusterv1.MachineDeployment) { d.Spec.Replicas = new(int32(now.workers)) })
	change(w, cluster, func(c *clusterv1.Cluster) { c.Spec.Paused = new(false) })
	awaitObject(w, cluster, "in two failure domains", func(c *clusterv1.Cluster) (bool, string) {
		return len(c.Status.FailureDomains) == 2, fmt.Sprint(c.Status.FailureDomains)
	})
	awaitObject(w, tc, "no longer paused", isPaused(false))
	if n := w.jobs.count("TerraformCluster", tc.Name, infrav1.OperationApply); n != applied+1 {
		w.t.Errorf("the change that was made in the pause was applied %d times", n-applied)
	}
	w.awaitMachines(now)
}

// gone waits until an object is gone.
func (w *world) gone(obj client.Object) {
	w.t.Helper()
	w.await(kindOf(obj)+" "+obj.GetName()+" is gone", func(ctx context.Context) (bool, string, error) {
		err := w.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		return false, "", err
	})
}
