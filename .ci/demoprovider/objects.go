package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// kinds are the user's kinds of the provider, for kubectl.
const kinds = "terraformclusters,terraformmachines,terraformmachinepools"

// apply applies one of the examples, with the images that were pushed.
func (d *demo) apply(ctx context.Context, name string) error {
	text, err := os.ReadFile(filepath.Join("examples", "provider", name))
	if err != nil {
		return fmt.Errorf("reading an example: %w", err)
	}
	variables := map[string]string{
		"TERRAFORM_CLUSTER_IMAGE": d.images[contract.RoleCluster], "TERRAFORM_MACHINE_IMAGE": d.images[contract.RoleMachine],
		"TERRAFORM_MACHINEPOOL_IMAGE": d.images[contract.RoleMachinePool],
	}
	d.say("$ kubectl apply -f examples/provider/%s", name)
	out, err := d.kube(ctx, os.Expand(string(text), func(v string) string { return variables[v] }), "apply", "-f", "-")
	if err != nil {
		return err
	}
	d.say("%s", strings.TrimSpace(out))
	return nil
}

// cluster makes the identity and the cluster, and plays what Cluster API does about it.
func (d *demo) cluster(ctx context.Context) error {
	for _, name := range []string{"identity.yaml", "cluster.yaml"} {
		if err := d.apply(ctx, name); err != nil {
			return err
		}
	}
	cluster := &clusterv1.Cluster{}
	if err := d.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "prod"}, cluster); err != nil {
		return err
	}
	if err := d.own(ctx, cluster, "Cluster", "prod", cluster.Spec.InfrastructureRef, &infrav1.TerraformCluster{}); err != nil {
		return err
	}
	if err := d.awaitReady(ctx, &infrav1.TerraformClusterList{}); err != nil {
		return err
	}
	base := cluster.DeepCopy()
	cluster.Status.Initialization.InfrastructureProvisioned = new(true)
	if err := d.client.Status().Patch(ctx, cluster, client.MergeFrom(base)); err != nil {
		return err
	}
	d.say("in the place of Cluster API: the Cluster's infrastructure is provisioned")
	return d.show(ctx, "-n", namespace, "get", "terraformclusters")
}

// machines makes machines and a pool, and plays what Cluster API does about them.
func (d *demo) machines(ctx context.Context) error {
	for _, name := range []string{"machines.yaml", "pool.yaml"} {
		if err := d.apply(ctx, name); err != nil {
			return err
		}
	}
	machines, pools := &clusterv1.MachineList{}, &clusterv1.MachinePoolList{}
	for _, list := range []client.ObjectList{machines, pools} {
		if err := d.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return err
		}
	}
	for i := range machines.Items {
		m := &machines.Items[i]
		if err := d.own(ctx, m, "Machine", m.Spec.ClusterName, m.Spec.InfrastructureRef, &infrav1.TerraformMachine{}); err != nil {
			return err
		}
	}
	for i := range pools.Items {
		p := &pools.Items[i]
		if err := d.own(ctx, p, "MachinePool", p.Spec.ClusterName, p.Spec.Template.Spec.InfrastructureRef, &infrav1.TerraformMachinePool{}); err != nil {
			return err
		}
	}
	if err := d.awaitReady(ctx, &infrav1.TerraformMachineList{}, &infrav1.TerraformMachinePoolList{}); err != nil {
		return err
	}
	return d.show(ctx, "-n", namespace, "get", kinds)
}

// own ties an object to its owner, as Cluster API's controllers do.
func (d *demo) own(ctx context.Context, owner client.Object, kind, cluster string, ref clusterv1.ContractVersionedObjectReference, obj client.Object) error {
	if err := d.client.Get(ctx, client.ObjectKey{Namespace: owner.GetNamespace(), Name: ref.Name}, obj); err != nil {
		return err
	}
	base, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copying %s %s: it is no object", ref.Kind, ref.Name)
	}
	obj.SetOwnerReferences(controls(owner, kind, clusterv1.GroupVersion.String()))
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[clusterv1.ClusterNameLabel] = cluster
	obj.SetLabels(labels)
	if err := d.client.Patch(ctx, obj, client.MergeFrom(base)); err != nil {
		return err
	}
	// An owner that is deleted stays until its infrastructure is gone.
	held, ok := owner.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copying %s %s: it is no object", kind, owner.GetName())
	}
	owner.SetFinalizers(append(owner.GetFinalizers(), finalizer))
	if err := d.client.Patch(ctx, owner, client.MergeFrom(held)); err != nil {
		return err
	}
	d.say("in the place of Cluster API: %s %s owns %s %s", kind, owner.GetName(), ref.Kind, ref.Name)
	return nil
}

// finalizer is in the place of those that Cluster API's controllers put on owners.
const finalizer = "demo.captf.io/infrastructure"

// owners are the kinds of Cluster API, for kubectl.
const owners = "clusters,machines,machinepools"

// between is the time between two looks at what is waited for.
const between = 200 * time.Millisecond

// each calls visit for every object of lists in the namespace.
func (d *demo) each(ctx context.Context, lists []client.ObjectList, visit func(infrav1.Workspace) error) error {
	for _, list := range lists {
		if err := d.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return err
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return err
		}
		for _, item := range items {
			w, ok := item.(infrav1.Workspace)
			if !ok {
				return fmt.Errorf("reading %T: it has no workspace", item)
			}
			if err := visit(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitReady waits until all objects of the lists are Ready. What their condition says meanwhile is printed.
func (d *demo) awaitReady(ctx context.Context, lists ...client.ObjectList) error {
	start, said := time.Now(), map[string]string{}
	for {
		waiting := 0
		err := d.each(ctx, lists, func(w infrav1.Workspace) error {
			now := d.summary(w)
			name := kindOf(w) + " " + w.GetName()
			if said[name] != now {
				said[name] = now
				d.say("%6.1fs  %-28s %s", time.Since(start).Seconds(), name, now)
			}
			if !meta.IsStatusConditionTrue(w.GetConditions(), infrav1.ReadyCondition) {
				waiting++
			}
			return nil
		})
		if err != nil {
			return err
		}
		if waiting == 0 && len(said) > 0 {
			return nil
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("waiting for %d objects to be Ready: %w", waiting, err)
		}
	}
}

// pause waits until it is time to look again.
func pause(ctx context.Context) error {
	select {
	case <-time.After(between):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// kindOf is the kind of an object of ours.
func kindOf(obj client.Object) string {
	name := fmt.Sprintf("%T", obj)
	return name[strings.LastIndex(name, ".")+1:]
}

// summary is the condition Ready in a line, and what runs.
func (d *demo) summary(w infrav1.Workspace) string {
	out := "no conditions yet"
	if c := meta.FindStatusCondition(w.GetConditions(), infrav1.ReadyCondition); c != nil {
		out = fmt.Sprintf("Ready=%s", c.Status)
		if c.Status != metav1.ConditionTrue {
			first, rest, _ := strings.Cut(c.Message, "\n") // a condition a line
			out += " " + strings.TrimPrefix(first, "* ")
			if rest != "" {
				out += fmt.Sprintf(" (and %d more)", strings.Count(rest, "\n")+1)
			}
		}
	}
	if c := meta.FindStatusCondition(w.GetConditions(), infrav1.DeletionBlockedCondition); c != nil && c.Status == metav1.ConditionTrue {
		out = "DeletionBlocked: " + c.Message
	}
	if job := w.WorkspaceStatus().ActiveJob; job != nil {
		out += "; runs " + job.Name
	}
	return out
}

// look shows what there is to look at while everything is Ready.
func (d *demo) look(ctx context.Context) error {
	d.say("\n== what to look at")
	conditions := `jsonpath={range .status.conditions[*]}{.type}={.status}{"\t"}{.reason}{"\n"}{end}`
	for _, args := range [][]string{
		{"get", "terraformmachine", "cp-0", "-o", conditions},
		{"get", "terraformmachine", "cp-0", "-o", "jsonpath={.spec.providerID}{\"\\n\"}{.status.addresses}{\"\\n\"}"},
		{"get", "terraformmachinepool", "pool", "-o", "jsonpath={.spec.providerIDList}{\"\\n\"}"},
		{"get", "events", "--field-selector=involvedObject.name=cp-0", "-o", "custom-columns=REASON:.reason,MESSAGE:.message"},
		{"get", "jobs", "-L", infrav1.LabelOwnerName + "," + infrav1.LabelOperation},
		{"get", "secrets,leases,serviceaccounts,rolebindings"},
	} {
		if err := d.show(ctx, append([]string{"-n", namespace}, args...)...); err != nil {
			return err
		}
	}
	return d.jobLog(ctx)
}

// jobLog shows what the runner of a machine's first Job wrote. The node serves no logs to kubectl, so it is asked.
func (d *demo) jobLog(ctx context.Context) error {
	pods := &corev1.PodList{}
	if err := d.client.List(ctx, pods, client.InNamespace(namespace)); err != nil {
		return err
	}
	i := slices.IndexFunc(pods.Items, func(p corev1.Pod) bool { return strings.Contains(p.Name, "-cp-0-apply-") })
	if i < 0 {
		return nil
	}
	name := pods.Items[i].Name
	log, err := d.node.Logs(types.NamespacedName{Namespace: namespace, Name: name}, "source")
	if err != nil {
		return err
	}
	d.say("\nthe log of container source of pod %s:\n%s", name, strings.TrimSpace(string(log)))
	return nil
}

// deleteAll deletes everything in the order that shows most: all at once. A user deletes the Cluster, and Cluster API the
// rest in this way, owners first: admission refuses to delete a machine whose owner is to stay.
func (d *demo) deleteAll(ctx context.Context) error {
	for _, what := range []string{owners, kinds} {
		d.say("$ kubectl -n %s delete %s --all --wait=false", namespace, what)
		if _, err := d.kube(ctx, "", "-n", namespace, "delete", what, "--all", "--wait=false"); err != nil {
			return err
		}
	}
	start, said := time.Now(), map[string]string{}
	lists := []client.ObjectList{&infrav1.TerraformClusterList{}, &infrav1.TerraformMachineList{}, &infrav1.TerraformMachinePoolList{}}
	for {
		there := map[string]bool{}
		err := d.each(ctx, lists, func(w infrav1.Workspace) error {
			name, now := kindOf(w)+" "+w.GetName(), d.summary(w)
			there[name] = true
			if said[name] != now {
				said[name] = now
				d.say("%6.1fs  %-28s %s", time.Since(start).Seconds(), name, now)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for name := range said {
			if !there[name] {
				d.say("%6.1fs  %-28s gone", time.Since(start).Seconds(), name)
				delete(said, name)
			}
		}
		if len(there) == 0 {
			break
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("waiting for %d objects to be gone: %w", len(there), err)
		}
	}
	for kind := range strings.SplitSeq(owners, ",") {
		names, err := d.kube(ctx, "", "-n", namespace, "get", kind, "-o", "name")
		if err != nil {
			return err
		}
		for name := range strings.FieldsSeq(names) {
			if _, err := d.kube(ctx, "", "-n", namespace, "patch", name, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`); err != nil {
				return err
			}
		}
	}
	d.say("in the place of Cluster API: owners whose infrastructure is gone go")
	_, err := d.kube(ctx, "", "delete", "terraformclusteridentities", "--all", "--timeout=60s")
	return err
}

// left looks for what the provider made: only what the user and Kubernetes made may be there.
func (d *demo) left(ctx context.Context) error {
	for {
		var found []string
		for _, list := range []client.ObjectList{
			&corev1.SecretList{}, &coordinationv1.LeaseList{}, &batchv1.JobList{}, &corev1.PodList{}, &corev1.ServiceAccountList{}, &rbacv1.RoleBindingList{},
		} {
			if err := d.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
				return err
			}
			err := meta.EachListItem(list, func(o runtime.Object) error {
				obj, err := meta.Accessor(o)
				if err == nil && !others(obj.GetName()) {
					found = append(found, strings.TrimPrefix(fmt.Sprintf("%T", o), "*")+" "+obj.GetName())
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		if len(found) == 0 {
			return d.show(ctx, "-n", namespace, "get", kinds+",jobs,pods,leases,secrets,serviceaccounts,rolebindings")
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("waiting for what is left to go: %s: %w", strings.Join(found, ", "), err)
		}
	}
}

// others tells by its name that an object is the user's or Kubernetes' own.
func others(name string) bool { return name == "default" || strings.HasSuffix(name, "-bootstrap") }
