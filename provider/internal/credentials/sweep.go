package credentials

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/names"
)

// pageSize is how many objects one list of the sweep asks for.
const pageSize = 500

// Sweeper removes what no owner reference removes: the ServiceAccounts, RoleBindings and Leases of namespaces that have no
// TerraformCluster, TerraformMachine or TerraformMachinePool any more, and what RoleBindings grant to ServiceAccounts that
// are not used (B-518). It decides by reads from the API server, which do not know the watch filter, and only logs what
// goes wrong: the next round repeats it.
type Sweeper struct {
	// Credentials are those of the controllers.
	Credentials *Credentials
	// Namespace limits the sweep, as --namespace does; empty is all.
	Namespace string
	// Clock is the time; nil is the real one.
	Clock clock.Clock
}

var (
	_ manager.Runnable               = (*Sweeper)(nil)
	_ manager.LeaderElectionRunnable = (*Sweeper)(nil)
)

// NeedLeaderElection makes only the leader sweep.
func (*Sweeper) NeedLeaderElection() bool { return true }

// Start sweeps at once and then every sync period, 10 % sooner or later, until the context ends.
func (s *Sweeper) Start(ctx context.Context) error {
	c := s.Clock
	if c == nil {
		c = clock.RealClock{}
	}
	for {
		s.Sweep(ctx)
		period := s.Credentials.syncPeriod
		timer := c.NewTimer(period - period/10 + rand.N(period/5+1)) //nolint:gosec // Only to spread the rounds of managers.
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

// Sweep looks at every namespace that has something to remove.
func (s *Sweeper) Sweep(ctx context.Context) {
	logger := log.FromContext(ctx).WithName("sweep")
	left, err := s.Credentials.leftovers(ctx, s.Namespace)
	if err != nil {
		logger.Error(err, "Listing what may be left over")
		return
	}
	for _, namespace := range slices.Sorted(maps.Keys(left)) {
		if err := s.Credentials.sweepNamespace(ctx, namespace, left[namespace]); err != nil && ctx.Err() == nil {
			logger.Error(err, "Sweeping a namespace", "namespace", namespace)
		}
	}
}

// SweepNamespace does the same in one namespace. It is called after the finalizer of a user was removed.
func (c *Credentials) SweepNamespace(ctx context.Context, namespace string) error {
	left, err := c.leftovers(ctx, namespace)
	if err != nil {
		return err
	}
	return c.sweepNamespace(ctx, namespace, left[namespace])
}

// swept are the kinds that are swept, in the order in which they are removed: what still has rights goes first.
var swept = []schema.GroupVersionKind{
	rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
	serviceAccountKind,
	coordinationv1.SchemeGroupVersion.WithKind("Lease"),
}

// leftovers returns the metadata of all managed objects of the swept kinds, by namespace.
func (c *Credentials) leftovers(ctx context.Context, namespace string) (map[string][]metav1.PartialObjectMetadata, error) {
	out := map[string][]metav1.PartialObjectMetadata{}
	for _, kind := range swept {
		list := metadataList(kind)
		for {
			err := c.live.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{infrav1.LabelManaged: yes},
				client.Limit(pageSize), client.Continue(list.Continue))
			if err != nil {
				return nil, fmt.Errorf("listing %ss: %w", kind.Kind, err)
			}
			for _, item := range list.Items {
				item.SetGroupVersionKind(kind)
				out[item.Namespace] = append(out[item.Namespace], item)
			}
			if list.Continue == "" {
				break
			}
		}
	}
	return out, nil
}

// sweepNamespace removes what was left if the namespace has no object now; what was changed since it was listed stays. The
// list comes first: a Lease that is taken for a new object meanwhile has another version.
func (c *Credentials) sweepNamespace(ctx context.Context, namespace string, left []metav1.PartialObjectMetadata) error {
	if len(left) == 0 {
		return nil
	}
	used, err := c.inhabited(ctx, namespace)
	if err != nil {
		return err
	}
	if used {
		return c.prune(ctx, namespace)
	}
	if running, err := c.running(ctx, namespace); err != nil || running {
		return err // A pod that is being stopped still writes its state. A later round removes its rights.
	}
	c.users.keep(namespace, nil)
	for i := range left {
		item := &left[i]
		err := c.client.Delete(ctx, item, client.Preconditions{UID: &item.UID, ResourceVersion: &item.ResourceVersion})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("removing %s %s/%s: %w", item.Kind, namespace, item.Name, err)
		}
		if err == nil {
			log.FromContext(ctx).Info("Removed what no object uses", "kind", item.Kind, "namespace", namespace, "name", item.Name)
		}
	}
	return nil
}

// inhabited tells whether a namespace has an object that runs modules.
func (c *Credentials) inhabited(ctx context.Context, namespace string) (bool, error) {
	for _, role := range []contract.Role{contract.RoleCluster, contract.RoleMachine, contract.RoleMachinePool} {
		list := metadataList(infrav1.GroupVersion.WithKind(role.Kind()))
		if err := c.live.List(ctx, list, client.InNamespace(namespace), client.Limit(1)); err != nil {
			return false, fmt.Errorf("listing %ss of namespace %s: %w", role.Kind(), namespace, err)
		}
		if len(list.Items) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// running tells whether a pod of a Job has not ended.
func (c *Credentials) running(ctx context.Context, namespace string) (bool, error) {
	pods := &corev1.PodList{}
	if err := c.live.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels{infrav1.LabelManaged: yes}); err != nil {
		return false, fmt.Errorf("listing the pods of namespace %s: %w", namespace, err)
	}
	return slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool {
		return p.Status.Phase == corev1.PodRunning || p.Status.Phase == corev1.PodUnknown
	}), nil
}

// prune takes from the RoleBinding what is not used, and forgets objects that are gone.
func (c *Credentials) prune(ctx context.Context, namespace string) error {
	w, err := listWorkspaces(ctx, c.live, namespace)
	if err != nil {
		return err
	}
	exists := map[types.UID]bool{}
	for object := range w.all() {
		exists[object.GetUID()] = true
	}
	c.users.keep(namespace, exists)
	wanted, err := c.accounts(ctx, c.live, namespace, w, true)
	if err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: namespace, Name: names.RoleBinding}
	if err := c.writeBinding(ctx, key, wanted, false); err != nil && !errors.Is(err, errUnmanaged) {
		return fmt.Errorf("writing RoleBinding %s: %w", key, err)
	}
	return nil
}
