package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// seedVariable is an environment variable with the seed of TestResilience, to repeat a run.
const seedVariable = "CAPTF_E2E_SEED"

// seed is that of the environment, or a new one.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := rand.Uint64()
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("reading %s: %s", seedVariable, err)
		}
	}
	t.Logf("the seed is %d; to repeat: %s=%d", n, seedVariable, n)
	return n
}

// TestResilience creates a cluster while Cluster API's controllers are restarted at random points, and then does what Cluster
// API's own tests do to a cluster that stands: owner references, their versions, and finalizers are taken from all objects,
// and come back. Nothing runs for that, and then nothing is written any more.
func TestResilience(t *testing.T) {
	w := start(t, "tough")
	random := rand.New(rand.NewPCG(seed(t), 0)) // it is to be repeated
	objects := w.generate("", "machinepool")
	w.set(objects, "TerraformMachinePool", int64(24*60*60), "spec", "membershipRefreshIntervalSeconds") // nothing is to be written
	w.set(objects, "TerraformCluster", w.endpoint(), "spec", "variables")
	w.create(objects...)
	w.restarts(random)
	w.awaitAvailable()
	w.awaitMachines(want{1, 1, 1, oldVersion})
	w.check()
	w.leftOver()
	w.awaitIdle()
	w.healthy()
	jobs, booted := w.jobs.changes(), fmt.Sprint(w.booted())

	w.complete()
	w.restored("owner references", func(o *unstructured.Unstructured) { o.SetOwnerReferences(nil) })
	w.restored("versions of owner references", func(o *unstructured.Unstructured) {
		refs := o.GetOwnerReferences()
		for i := range refs {
			gv, _ := schema.ParseGroupVersion(refs[i].APIVersion)
			refs[i].APIVersion = schema.GroupVersion{Group: gv.Group, Version: "v1alpha1"}.String()
		}
		o.SetOwnerReferences(refs)
	})
	w.restored("finalizers", func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
	w.quiet()
	w.healthy()
	if n := w.jobs.changes(); n != jobs {
		t.Errorf("%d Jobs were started to restore owner references and finalizers", n-jobs)
	}
	if after := fmt.Sprint(w.booted()); after != booted {
		t.Errorf("the instances were %s and are %s", booted, after)
	}
	w.deleteCluster()
}

// restarts ends Cluster API's controllers and webhooks and starts them again, until the Cluster is available.
func (w *world) restarts(random *rand.Rand) {
	w.t.Helper()
	const most = 6
	between := func(from, to time.Duration) time.Duration { return from + time.Duration(random.Int64N(int64(to-from))) }
	cluster := &clusterv1.Cluster{}
	for range most {
		runs, rests := between(500*time.Millisecond, 6*time.Second), between(0, time.Second)
		time.Sleep(runs)
		if err := w.Get(w.t.Context(), w.key(), cluster); err != nil {
			w.t.Fatal(err)
		}
		if falsy(cluster.Status.Conditions, clusterv1.AvailableCondition) == "" {
			return
		}
		if err := w.on.StopCAPI(); err != nil {
			w.t.Fatal(err)
		}
		w.say("Cluster API is stopped after %s, for %s", runs.Round(time.Millisecond), rests.Round(time.Millisecond))
		time.Sleep(rests)
		if err := w.on.StartCAPI(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
}

// shape is what objects of a kind have when all is well: one owner of those, "" for none, and the finalizer.
type shape struct {
	owners    []string
	finalizer string
}

// Owners as owner writes them.
const (
	byCluster        = "cluster.x-k8s.io/v1beta2 Cluster"
	byDeployment     = "cluster.x-k8s.io/v1beta2 MachineDeployment (controller)"
	bySet            = "cluster.x-k8s.io/v1beta2 MachineSet (controller)"
	byMachine        = "cluster.x-k8s.io/v1beta2 Machine (controller)"
	byPool           = "cluster.x-k8s.io/v1beta2 MachinePool (controller)"
	byControlPlane   = "controlplane.cluster.x-k8s.io/v1beta2 KubeadmControlPlane (controller)"
	byBootstrap      = "bootstrap.cluster.x-k8s.io/v1beta2 KubeadmConfig (controller)"
	byTerraform      = "infrastructure.cluster.x-k8s.io/v1alpha1 Terraform"
	byJob            = "batch/v1 Job"
	onceControlPlane = "controlplane.cluster.x-k8s.io/v1beta2 KubeadmControlPlane"
	onceSet          = "cluster.x-k8s.io/v1beta2 MachineSet"
)

// shapes are those that the assertions of test/framework of Cluster API 1.14 demand of a cluster without a topology, with the
// provider's kinds in the place of those of its own infrastructure: ownerreference_helpers.go, finalizers_helpers.go. Those want
// a second owner, the Cluster, of what a MachinePool refers to. Only the topology controller writes that one, for pools of a
// class; the MachinePool's controller sets itself and nobody else (reconcileExternal).
var shapes = map[string]shape{
	"Cluster":                  {[]string{""}, clusterv1.ClusterFinalizer},
	"MachineDeployment":        {[]string{byCluster}, clusterv1.MachineDeploymentFinalizer},
	"MachineSet":               {[]string{byDeployment}, clusterv1.MachineSetFinalizer},
	"Machine":                  {[]string{bySet, byControlPlane}, clusterv1.MachineFinalizer},
	"MachinePool":              {[]string{byCluster}, clusterv1.MachinePoolFinalizer},
	"KubeadmControlPlane":      {[]string{byCluster}, controlplanev1.KubeadmControlPlaneFinalizer},
	"MachineHealthCheck":       {[]string{byCluster}, ""},
	"KubeadmConfig":            {[]string{byMachine, byPool}, ""},
	"KubeadmConfigTemplate":    {[]string{byCluster}, ""},
	"TerraformCluster":         {[]string{byCluster}, infrav1.ClusterFinalizer},
	"TerraformMachine":         {[]string{byMachine}, infrav1.MachineFinalizer},
	"TerraformMachinePool":     {[]string{byPool}, infrav1.MachinePoolFinalizer},
	"TerraformMachineTemplate": {[]string{byCluster}, ""},
	// Besides certificates and bootstrap data there is what the provider keeps: for an object of its own, or for a run.
	"Secret": {[]string{byControlPlane, byBootstrap, byTerraform + "Cluster", byTerraform + "Machine", byTerraform + "MachinePool", byJob}, ""},
}

// owner is an owner as Cluster API's assertions see it.
func owner(r metav1.OwnerReference) string {
	out := r.APIVersion + " " + r.Kind
	if r.Controller != nil && *r.Controller {
		out += " (controller)"
	}
	return out
}

// kept is what is to come back of an object. Besides what Cluster API's assertions look at that is which object an owner is.
func kept(o *unstructured.Unstructured) string {
	var refs []string
	for _, r := range o.GetOwnerReferences() {
		refs = append(refs, owner(r)+" "+r.Name+" "+string(r.UID))
	}
	slices.Sort(refs)
	return fmt.Sprintf("owners %v, finalizers %v", refs, slices.Sorted(slices.Values(o.GetFinalizers())))
}

// unused tells that an object was made for a Machine that was never made, because the controller was ended in between. The
// reference to who made it is one "on create": nothing but the Machine's controller would ever write owners again
// (KubeadmControlPlane: createInfraMachine, createKubeadmConfig; Machine: removeOnCreateOwnerRefs). Another Machine, with
// other objects, takes its place.
func unused(o *unstructured.Unstructured) bool {
	refs := o.GetOwnerReferences()
	return (o.GetKind() == "TerraformMachine" || o.GetKind() == "KubeadmConfig") && len(refs) == 1 &&
		(owner(refs[0]) == onceControlPlane || owner(refs[0]) == onceSet)
}

// leftOver leaves a TerraformMachine as a controller does that is ended at the worst point: the random ones seldom hit it.
func (w *world) leftOver() {
	w.t.Helper()
	k, machines := w.controlPlane(), &infrav1.TerraformMachineList{}
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(k), k); err != nil {
		w.t.Fatal(err)
	}
	if err := w.List(w.t.Context(), machines, client.InNamespace(w.ns), client.HasLabels{clusterv1.MachineControlPlaneLabel}); err != nil {
		w.t.Fatal(err)
	}
	if len(machines.Items) == 0 {
		w.t.Fatal("there is no TerraformMachine of a control plane")
	}
	made := &machines.Items[0]
	left := &infrav1.TerraformMachine{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.ns, Name: k.Name + "-left", Labels: made.Labels, Annotations: made.Annotations,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: controlplanev1.GroupVersion.String(), Kind: "KubeadmControlPlane", Name: k.Name, UID: k.UID}},
	}, Spec: made.Spec}
	left.Spec.ProviderID = ""
	if err := w.Create(w.t.Context(), left); err != nil {
		w.t.Fatal(err)
	}
	awaitObject(w, left, "waiting for a Machine", func(m *infrav1.TerraformMachine) (bool, string) {
		c := meta.FindStatusCondition(m.Status.Conditions, infrav1.DependenciesReadyCondition)
		return c != nil && c.Reason == infrav1.WaitingForOwnerMachineReason, falsy(m.Status.Conditions, infrav1.DependenciesReadyCondition)
	})
}

// graph are the objects that Cluster API's checks look at, those that clusterctl would move, by kind and name. What is unused
// is not among them: the checks would find its owners wrong before anything is taken.
func (w *world) graph(ctx context.Context) (map[string]*unstructured.Unstructured, error) {
	kinds, err := w.kinds(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]*unstructured.Unstructured{}
	for _, kind := range kinds {
		if !strings.HasSuffix(kind.Group, "cluster.x-k8s.io") && kind.Kind != "Secret" {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := w.List(ctx, list, client.InNamespace(w.ns)); err != nil {
			return nil, err
		}
		for i := range list.Items {
			if o := &list.Items[i]; !unused(o) {
				out[kind.Kind+" "+o.GetName()] = o
			}
		}
	}
	return out, nil
}

// complete looks that all objects have what Cluster API's checks expect, before anything is taken away.
func (w *world) complete() {
	w.t.Helper()
	objects, err := w.graph(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	seen := map[string]bool{}
	for name, o := range objects {
		wanted, known := shapes[o.GetKind()]
		if !known {
			w.t.Errorf("%s is of a kind that nothing is expected of", name)
		}
		seen[o.GetKind()] = true
		found := []string{""}
		for i, r := range o.GetOwnerReferences() {
			found = append(found[:i], owner(r))
		}
		if len(found) > 1 && o.GetLabels()[infrav1.LabelMirrored] == "" { // who uses credentials owns the copy of them
			w.t.Errorf("%s has the owners %q", name, found)
		}
		for _, by := range found {
			if !slices.Contains(wanted.owners, by) {
				w.t.Errorf("%s has the owner %q, not one of %q", name, by, wanted.owners)
			}
		}
		if got := strings.Join(o.GetFinalizers(), ", "); got != wanted.finalizer {
			w.t.Errorf("%s has the finalizers %q, not %q", name, got, wanted.finalizer)
		}
	}
	for kind := range shapes {
		if !seen[kind] {
			w.t.Errorf("there is no %s", kind)
		}
	}
	machines := &infrav1.TerraformMachineList{}
	if err := w.List(w.t.Context(), machines, client.InNamespace(w.ns)); err != nil {
		w.t.Fatal(err)
	}
	for i := range machines.Items {
		name := machines.Items[i].Name
		if objects["TerraformMachine "+name] != nil {
			continue
		}
		w.say("TerraformMachine %s was made for a Machine that was not", name)
		if n := w.jobs.count("TerraformMachine", name, infrav1.OperationApply); n > 0 {
			w.t.Errorf("%d Jobs were started for TerraformMachine %s, which no Machine uses", n, name)
		}
	}
}

// pause pauses the Cluster, or ends that, and waits until all that tell so have seen it.
func (w *world) pause(paused bool) {
	w.t.Helper()
	change(w, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: w.name}}, func(c *clusterv1.Cluster) { c.Spec.Paused = new(paused) })
	w.await(fmt.Sprintf("paused is %t everywhere", paused), func(ctx context.Context) (bool, string, error) {
		objects, err := w.graph(ctx)
		var not []string
		for name, o := range objects {
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			for _, c := range conditions {
				if c, ok := c.(map[string]any); ok && c["type"] == clusterv1.PausedCondition && (c["status"] == string(metav1.ConditionTrue)) != paused {
					not = append(not, name)
				}
			}
		}
		slices.Sort(not)
		return len(not) == 0, strings.Join(not, ", "), err
	})
}

// restored takes something away from all objects while the Cluster is paused, as Cluster API's checks do, and waits until all
// of it is back after that. They force nothing but clusters of a class to be looked at, and so does this.
func (w *world) restored(what string, take func(*unstructured.Unstructured)) {
	w.t.Helper()
	before, err := w.graph(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.pause(true)
	taken := map[string]bool{}
	for name, o := range before {
		without := o.DeepCopy()
		take(without)
		if kept(without) == kept(o) {
			continue
		}
		if err := w.Patch(w.t.Context(), without, client.MergeFrom(o)); err != nil {
			w.t.Fatal(err)
		}
		taken[name] = true
	}
	w.say("%s of %d objects are taken", what, len(taken))
	w.pause(false)
	w.await(fmt.Sprintf("the %s of %d objects are back", what, len(taken)), func(ctx context.Context) (bool, string, error) {
		after, err := w.graph(ctx)
		if err != nil {
			return false, "", err
		}
		var wrong []string
		for name, o := range before {
			// A copy of credentials that no object owns is removed, and made again by those that use it.
			copied := o.GetLabels()[infrav1.LabelMirrored] != ""
			switch now := after[name]; {
			case now == nil && copied:
				wrong = append(wrong, name+" is not made again yet")
			case now == nil || now.GetUID() != o.GetUID() && !copied:
				return false, "", fmt.Errorf("%s is gone", name)
			case kept(now) != kept(o):
				wrong = append(wrong, fmt.Sprintf("%s has %s, not %s", name, kept(now), kept(o)))
			}
		}
		slices.Sort(wrong)
		return len(wrong) == 0, strings.Join(wrong, "; "), nil
	})
}

// idle is how long nothing may be written.
const idle = 30 * time.Second

// quiet waits until nothing has been written to any object of the namespace for a while.
func (w *world) quiet() {
	w.t.Helper()
	var last map[string]string
	since, changes := time.Now(), []string(nil)
	w.await(fmt.Sprintf("nothing is written for %s", idle), func(ctx context.Context) (bool, string, error) {
		now, err := w.versions(ctx)
		if err != nil {
			return false, "", err
		}
		if !maps.Equal(now, last) {
			changes = nil
			for name, version := range now {
				if last[name] != version {
					changes = append(changes, name)
				}
			}
			slices.Sort(changes)
			last, since = now, time.Now()
		}
		return time.Since(since) > idle, "written last: " + strings.Join(changes, ", "), nil
	})
}

// versions are the resource versions of the objects of the namespace.
func (w *world) versions(ctx context.Context) (map[string]string, error) {
	kinds, err := w.kinds(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, kind := range kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := w.List(ctx, list, client.InNamespace(w.ns)); err != nil {
			return nil, fmt.Errorf("listing %s: %w", kind, err)
		}
		for i := range list.Items {
			out[kind.Kind+" "+list.Items[i].Name] = list.Items[i].ResourceVersion
		}
	}
	return out, nil
}
