package credentials

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/names"
)

// workspaces are the objects of one namespace that run modules.
type workspaces struct {
	clusters infrav1.TerraformClusterList
	machines infrav1.TerraformMachineList
	pools    infrav1.TerraformMachinePoolList
	owners   clusterv1.ClusterList
}

func listWorkspaces(ctx context.Context, reader client.Reader, namespace string) (*workspaces, error) {
	w := &workspaces{}
	for _, list := range []client.ObjectList{&w.clusters, &w.machines, &w.pools, &w.owners} {
		if err := reader.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing %T of namespace %s: %w", list, namespace, err)
		}
	}
	return w, nil
}

// all yields the objects with the TerraformCluster of each machine and pool, nil where none is found (B-056).
func (w *workspaces) all() iter.Seq2[infrav1.Workspace, *infrav1.TerraformCluster] {
	byKey := make(map[client.ObjectKey]*infrav1.TerraformCluster, len(w.clusters.Items))
	for i := range w.clusters.Items {
		byKey[client.ObjectKeyFromObject(&w.clusters.Items[i])] = &w.clusters.Items[i]
	}
	byCluster := make(map[client.ObjectKey]*infrav1.TerraformCluster, len(w.owners.Items))
	for i := range w.owners.Items {
		owner := &w.owners.Items[i]
		ref := owner.Spec.InfrastructureRef
		if ref.APIGroup == infrav1.GroupVersion.Group && ref.Kind == contract.RoleCluster.Kind() {
			byCluster[client.ObjectKeyFromObject(owner)] = byKey[client.ObjectKey{Namespace: owner.Namespace, Name: ref.Name}]
		}
	}
	clusterOf := func(object client.Object) *infrav1.TerraformCluster {
		return byCluster[client.ObjectKey{Namespace: object.GetNamespace(), Name: object.GetLabels()[clusterv1.ClusterNameLabel]}]
	}
	return func(yield func(infrav1.Workspace, *infrav1.TerraformCluster) bool) {
		for i := range w.clusters.Items {
			if !yield(&w.clusters.Items[i], nil) {
				return
			}
		}
		for i := range w.machines.Items {
			if !yield(&w.machines.Items[i], clusterOf(&w.machines.Items[i])) {
				return
			}
		}
		for i := range w.pools.Items {
			if !yield(&w.pools.Items[i], clusterOf(&w.pools.Items[i])) {
				return
			}
		}
	}
}

// accounts returns the ServiceAccounts that the Jobs of a namespace use or may use (B-516): those of its objects, those of
// Jobs that have not finished, and every cluster's default while the cluster of some object is not known. One that did not
// opt in is left out: naming it in a spec must not grant it anything.
func (c *Credentials) accounts(ctx context.Context, reader client.Reader, namespace string, w *workspaces, live bool) (map[string]bool, error) {
	used := map[string]bool{}
	unresolved := false
	for object, cluster := range w.all() {
		used[ServiceAccountName(object, cluster)] = true
		unresolved = unresolved || cluster == nil && object.Role() != contract.RoleCluster
	}
	if unresolved {
		for i := range w.clusters.Items {
			used[ServiceAccountName(&infrav1.TerraformMachine{}, &w.clusters.Items[i])] = true
		}
	}
	jobs := &batchv1.JobList{}
	if err := reader.List(ctx, jobs, client.InNamespace(namespace), client.MatchingLabels{infrav1.LabelManaged: yes}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the Jobs of namespace %s: %w", namespace, err)
	}
	for i := range jobs.Items {
		if name := jobs.Items[i].Spec.Template.Spec.ServiceAccountName; name != "" && !finished(&jobs.Items[i]) {
			used[name] = true
		}
	}
	for name := range used {
		if name == names.ServiceAccount {
			continue
		}
		ok, err := c.optedIn(ctx, client.ObjectKey{Namespace: namespace, Name: name}, live)
		if err != nil {
			return nil, fmt.Errorf("reading ServiceAccount %s/%s: %w", namespace, name, err)
		}
		if !ok {
			delete(used, name)
		}
	}
	return used, nil
}

func finished(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}

// subjectsOf returns ServiceAccounts as subjects, sorted.
func subjectsOf(namespace string, accounts map[string]bool) []rbacv1.Subject {
	var subjects []rbacv1.Subject
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		subjects = append(subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name})
	}
	return subjects
}
