package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/sdk/diagnose"
)

// jsonOf is a value of any type as the API has it.
func jsonOf(w *world, value any) apiextensionsv1.JSON {
	w.t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		w.t.Fatal(err)
	}
	return apiextensionsv1.JSON{Raw: raw}
}

// topologyVariable sets a variable of the Cluster's topology.
func topologyVariable(w *world, c *clusterv1.Cluster, name string, value any) {
	w.t.Helper()
	for i := range c.Spec.Topology.Variables {
		if c.Spec.Topology.Variables[i].Name == name {
			c.Spec.Topology.Variables[i].Value = jsonOf(w, value)
			return
		}
	}
	c.Spec.Topology.Variables = append(c.Spec.Topology.Variables, clusterv1.ClusterVariable{Name: name, Value: jsonOf(w, value)})
}

// TestTopology makes a cluster of the class of the release. Variables of the topology become variables of modules, and a change
// of one replaces the machines that it is about; then all are upgraded by one field.
func TestTopology(t *testing.T) {
	w := start(t, "classy")
	objects := w.generate("clusterclass") // with the class, which is not there yet
	for _, o := range objects {
		if o.GetKind() != "Cluster" {
			o.SetLabels(map[string]string{keep: "true"})
			w.create(o)
		}
	}
	cluster := &clusterv1.Cluster{}
	raw, err := json.Marshal(of(objects, "Cluster")[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, cluster); err != nil {
		t.Fatal(err)
	}
	topologyVariable(w, cluster, "clusterVariables", w.endpoint())
	if err := w.Create(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.awaitAvailable()
	now := want{1, 1, 0, oldVersion}
	w.awaitMachines(now)
	w.check()
	workers := func() (out []string) {
		for _, i := range w.booted() {
			if strings.Contains(i.Name, "md-0") {
				out = append(out, i.Name)
			}
		}
		return out
	}
	before := fmt.Sprint(workers())
	w.described()

	change(w, cluster, func(c *clusterv1.Cluster) {
		topologyVariable(w, c, "workerVariables", map[string]any{"interruptible": true})
	})
	machines := &infrav1.TerraformMachineList{}
	w.await("the worker has the variable", func(ctx context.Context) (bool, string, error) {
		if err := w.List(ctx, machines, client.InNamespace(w.ns), client.HasLabels{clusterv1.MachineDeploymentNameLabel}); err != nil {
			return false, "", err
		}
		done := len(machines.Items) == 1 && machines.Items[0].Status.Interruptible != nil && *machines.Items[0].Status.Interruptible
		return done, fmt.Sprintf("%d TerraformMachines", len(machines.Items)), nil
	})
	w.awaitMachines(now)
	if after := fmt.Sprint(workers()); after == before {
		t.Errorf("the worker is still %s", after)
	}
	w.await("the Node has the label of machines that may be taken away", func(ctx context.Context) (bool, string, error) {
		nodes, err := shared.cloud.Cluster(w.key()).Nodes(ctx)
		labelled := 0
		for i := range nodes {
			if _, ok := nodes[i].Labels[clusterv1.InterruptibleLabel]; ok {
				labelled++
			}
		}
		return labelled == 1, strconv.Itoa(labelled), err
	})

	change(w, cluster, func(c *clusterv1.Cluster) { c.Spec.Topology.Version = newVersion })
	now.version = newVersion
	w.awaitMachines(now)
	w.awaitAvailable()
	w.check()
	w.deleteCluster()
	w.faithful("topology")
}

// described looks at a cluster as a user does: with clusterctl, and with the kubeconfig that it writes.
func (w *world) described() {
	w.t.Helper()
	kubeconfig := w.on.Env.KubeconfigFile()
	text := w.clusterctl("describe", "cluster", w.name, "--namespace", w.ns, "--kubeconfig", kubeconfig, "--show-conditions", "all", "--echo", "--grouping=false")
	w.t.Logf("$ clusterctl describe cluster %s --show-conditions all --echo --grouping=false\n%s", w.name, text)
	for _, kind := range []string{"TerraformCluster", "TerraformMachine", "KubeadmControlPlane", "MachineDeployment"} {
		if !strings.Contains(text, kind+" "+w.ns+"/"+w.name) {
			w.t.Errorf("clusterctl describe shows no %s", kind)
		}
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(w.clusterctl("get", "kubeconfig", w.name, "--namespace", w.ns, "--kubeconfig", kubeconfig)))
	if err != nil {
		w.t.Fatal(err)
	}
	workload, err := client.New(config, client.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	nodes := &corev1.NodeList{}
	if err := workload.List(w.t.Context(), nodes); err != nil {
		w.t.Fatal(err)
	}
	if len(nodes.Items) != len(w.booted()) {
		w.t.Errorf("the kubeconfig shows %d Nodes, want %d", len(nodes.Items), len(w.booted()))
	}
}

// TestTerminated lets the cloud take a worker away. The module says so when it is asked next, the provider asks for
// remediation, and Cluster API's MachineHealthCheck replaces the machine.
func TestTerminated(t *testing.T) {
	t.Parallel()
	w := start(t, "sick")
	cloud := newCloudAPI(t)
	objects := w.generate("")
	w.set(objects, "TerraformCluster", w.endpoint(), "spec", "variables")
	template := []*unstructured.Unstructured{w.ask(objects, "-md-0", cloud)}
	w.set(template, "TerraformMachineTemplate", map[string]any{"annotateMachine": true, "healthCheckIntervalSeconds": int64(60)}, "spec", "template", "spec", "remediation")
	// A check for drift reads the health, too, and may come sooner.
	w.set(template, "TerraformMachineTemplate", map[string]any{"intervalSeconds": int64(15)}, "spec", "template", "spec", "drift")
	w.create(objects...)
	w.awaitAvailable()
	now := want{1, 1, 0, oldVersion}
	w.awaitMachines(now)
	machines := &clusterv1.MachineList{}
	if err := w.List(t.Context(), machines, client.InNamespace(w.ns), client.HasLabels{clusterv1.MachineDeploymentNameLabel}); err != nil {
		t.Fatal(err)
	}
	if len(machines.Items) != 1 {
		t.Fatalf("there are %d workers", len(machines.Items))
	}
	old := &machines.Items[0]
	cloud.set(old.Name, "terminated")
	w.say("the cloud takes %s away", old.Name)
	w.gone(old)
	w.awaitMachines(now)
	w.awaitAvailable()
	for _, i := range w.booted() {
		if i.Name == old.Name {
			t.Errorf("the instance of %s is still there", old.Name)
		}
	}
	w.deleteCluster()
	w.faithful("terminated")
}

// TestNoEndpoint lets the module return no endpoint: no machine is made, and the object says what to do. A user who then gives
// one gets the cluster, although the first machine works only at the second try: its module fails when the instance is there.
func TestNoEndpoint(t *testing.T) {
	t.Parallel()
	w := start(t, "nowhere")
	cloud := newCloudAPI(t)
	objects := w.generate("")
	w.ask(objects, "-control-plane", cloud)
	cloud.set("-control-plane-", broken)
	w.set(objects, "TerraformCluster", map[string]any{"endpoint_host": ""}, "spec", "variables")
	w.create(objects...)
	tc := w.terraformCluster()
	awaitObject(w, tc, "provisioned without an endpoint", func(tc *infrav1.TerraformCluster) (bool, string) {
		c := meta.FindStatusCondition(tc.Status.Conditions, infrav1.EndpointAvailableCondition)
		return c != nil && c.Reason == infrav1.WaitingForEndpointReason && falsy(tc.Status.Conditions, infrav1.ReadyCondition) == "", falsy(tc.Status.Conditions, infrav1.ReadyCondition)
	})
	c := meta.FindStatusCondition(tc.Status.Conditions, infrav1.EndpointAvailableCondition)
	if !strings.Contains(c.Message, "Cluster") || !strings.Contains(c.Message, "controlPlaneEndpoint") {
		t.Errorf("the condition does not say what to do: %s", c.Message)
	}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: w.name}}
	awaitObject(w, cluster, "waiting for its control plane", func(c *clusterv1.Cluster) (bool, string) {
		return falsy(c.Status.Conditions, clusterv1.InfrastructureReadyCondition) == "" && falsy(c.Status.Conditions, clusterv1.AvailableCondition) != "",
			falsy(c.Status.Conditions, clusterv1.InfrastructureReadyCondition)
	})
	machines := &infrav1.TerraformMachineList{}
	if err := w.List(t.Context(), machines, client.InNamespace(w.ns)); err != nil {
		t.Fatal(err)
	}
	for i := range machines.Items {
		if n := w.jobs.count("TerraformMachine", machines.Items[i].Name, infrav1.OperationApply); n > 0 {
			t.Errorf("%s was applied without an endpoint", machines.Items[i].Name)
		}
	}
	w.diagnosed(cause{diagnose.VerdictStuck, "endpoint", "TerraformCluster", w.name, "status.conditions[EndpointAvailable]", "controlPlaneEndpoint"})

	given := w.endpoint()
	change(w, cluster, func(c *clusterv1.Cluster) {
		c.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: fmt.Sprint(given["endpoint_host"]), Port: int32(given["endpoint_port"].(int64))}
	})
	w.diagnosed(cause{diagnose.VerdictStuck, "module", "TerraformMachine", "-control-plane-", "status.lastRun.error", "The cloud says that it is broken."})
	cloud.set("-control-plane-", "running")
	w.awaitAvailable()
	w.awaitMachines(want{1, 1, 0, oldVersion})
	w.awaitIdle()
	w.healthy()
	if n := w.jobs.total(infrav1.OperationDestroy); n > 0 {
		t.Errorf("%d machines were replaced, although a second try was enough", n)
	}
	w.deleteCluster()
}
