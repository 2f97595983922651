package credentials

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/names"
)

// Cached returns how the manager's cache holds the objects that only this package needs: those labelled as managed.
func Cached() map[client.Object]cache.ByObject {
	managed := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{infrav1.LabelManaged: yes})}
	return map[client.Object]cache.ByObject{
		&corev1.ServiceAccount{}: managed,
		&rbacv1.RoleBinding{}:    managed,
	}
}

var (
	// errNotOptedIn is a ServiceAccount that may not be used for Jobs (B-517).
	errNotOptedIn = errors.New("the ServiceAccount may not be used")
	// errUnmanaged is an object of our name that is not ours.
	errUnmanaged = errors.New("an object of that name exists that is not managed by the provider")
)

var roleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: names.ClusterRole}

var serviceAccountKind = corev1.SchemeGroupVersion.WithKind("ServiceAccount")

// rbac brings ServiceAccount and RoleBinding in order and decides RunnerRBACReady (B-509, B-515 to B-517).
func (p *pass) rbac(ctx context.Context) (conditions.Value, error) {
	account := ServiceAccountName(p.Object, p.Cluster)
	accountErr := p.keepServiceAccount(ctx, account)
	switch {
	case errors.Is(accountErr, errNotOptedIn):
		p.users.forget(p.namespace, p.Object.GetUID()) // What the binding grants has to be looked at again.
		return conditions.False(infrav1.ServiceAccountNotOptedInReason,
			"ServiceAccount %q does not exist or lacks the label %s=true; create and label it, or change jobs.serviceAccountName", account, infrav1.LabelRunner), nil
	case errors.Is(accountErr, errUnmanaged):
		return conditions.False(infrav1.RBACFailedReason,
			"ServiceAccount %q exists without the label %s=true; delete it, or let it be used by labelling it %s=true", account, infrav1.LabelManaged, infrav1.LabelRunner), nil
	case accountErr != nil:
		return conditions.False(infrav1.RBACFailedReason, "ServiceAccount %q could not be written: %s", account, apiText(accountErr)),
			unlessTerminating(fmt.Errorf("writing ServiceAccount %s/%s: %w", p.namespace, account, accountErr))
	}
	switch err := p.keepBinding(ctx, account); {
	case errors.Is(err, errUnmanaged):
		return conditions.False(infrav1.RBACFailedReason,
			"RoleBinding %q exists without the label %s=true; rename or remove it", names.RoleBinding, infrav1.LabelManaged), nil
	case err != nil:
		return conditions.False(infrav1.RBACFailedReason, "RoleBinding %q could not be written: %s", names.RoleBinding, apiText(err)),
			unlessTerminating(fmt.Errorf("writing RoleBinding %s/%s: %w", p.namespace, names.RoleBinding, err))
	}
	return conditions.True(infrav1.RBACReadyReason, "ServiceAccount %q may be used by Jobs", account), nil
}

// keepServiceAccount makes the default ServiceAccount, and looks whether another one opted in.
func (p *pass) keepServiceAccount(ctx context.Context, name string) error {
	if name != names.ServiceAccount {
		ok, err := p.optedIn(ctx, client.ObjectKey{Namespace: p.namespace, Name: name}, p.Live)
		if err == nil && !ok {
			err = errNotOptedIn
		}
		return err
	}
	key := client.ObjectKey{Namespace: p.namespace, Name: name}
	account := &corev1.ServiceAccount{}
	err := p.client.Get(ctx, key, account)
	if err == nil && account.Labels[infrav1.LabelManaged] == yes || client.IgnoreNotFound(err) != nil {
		return err
	}
	if err != nil {
		account = &corev1.ServiceAccount{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name, Labels: map[string]string{infrav1.LabelManaged: yes}},
			// Only the broker of a Job gets a token, and asks for it itself (design D5).
			AutomountServiceAccountToken: new(false),
		}
		if err := p.client.Create(ctx, account); !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	if err := p.live.Get(ctx, key, account); err != nil {
		return err
	}
	if account.Labels[infrav1.LabelManaged] != yes && account.Labels[infrav1.LabelRunner] != yes {
		return errUnmanaged
	}
	return nil
}

// optedIn tells whether a ServiceAccount other than the default one may be used. One that may is remembered.
func (c *Credentials) optedIn(ctx context.Context, key client.ObjectKey, live bool) (bool, error) {
	if _, ok := c.optIns.get(key, c.syncPeriod); ok && !live {
		return true, nil
	}
	at := c.clock.Now()
	account := metadataOf(serviceAccountKind)
	err := c.live.Get(ctx, key, account)
	if client.IgnoreNotFound(err) != nil {
		return false, err
	}
	ok := err == nil && account.Labels[infrav1.LabelRunner] == yes
	if ok {
		c.optIns.put(key, true, at)
	}
	return ok, nil
}

// keepBinding makes the RoleBinding, or grants it to what the namespace's objects use now.
func (p *pass) keepBinding(ctx context.Context, account string) error {
	key := client.ObjectKey{Namespace: p.namespace, Name: names.RoleBinding}
	binding := &rbacv1.RoleBinding{}
	err := p.client.Get(ctx, key, binding, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	known := err == nil && binding.Labels[infrav1.LabelManaged] == yes && binding.RoleRef == roleRef
	granted := slices.ContainsFunc(binding.Subjects, func(s rbacv1.Subject) bool { return s.Kind == rbacv1.ServiceAccountKind && s.Name == account })
	if known && granted && p.users.get(p.namespace, p.Object.GetUID()).serviceAccount == account {
		return nil
	}
	w, err := listWorkspaces(ctx, p.client, p.namespace)
	if err != nil {
		return err
	}
	wanted, err := p.accounts(ctx, p.client, p.namespace, w, p.Live)
	if err != nil {
		return err
	}
	wanted[account] = true
	if !known || !equality.Semantic.DeepEqual(binding.Subjects, subjectsOf(p.namespace, wanted)) {
		if err := p.writeBinding(ctx, key, wanted, true); err != nil {
			return err
		}
	}
	p.users.update(p.namespace, p.Object.GetUID(), func(u *use) { u.serviceAccount = account })
	return nil
}

// writeBinding makes a RoleBinding, read from the API server, what it should be. A role that was changed cannot be changed
// back, so such a binding is made again (B-516). Without create, one that does not exist is left so.
func (c *Credentials) writeBinding(ctx context.Context, key client.ObjectKey, wanted map[string]bool, create bool) error {
	subjects := subjectsOf(key.Namespace, wanted)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		binding := &rbacv1.RoleBinding{}
		err := c.live.Get(ctx, key, binding)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil {
			if binding.Labels[infrav1.LabelManaged] != yes {
				return errUnmanaged
			}
			if binding.RoleRef == roleRef {
				if equality.Semantic.DeepEqual(binding.Subjects, subjects) {
					return nil
				}
				binding.Subjects = subjects
				return c.client.Update(ctx, binding)
			}
			if err := c.client.Delete(ctx, binding, client.Preconditions{UID: &binding.UID}); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
		if err != nil && !create {
			return nil
		}
		err = c.client.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{infrav1.LabelManaged: yes}},
			RoleRef:    roleRef,
			Subjects:   subjects,
		})
		if apierrors.IsAlreadyExists(err) {
			return apierrors.NewConflict(rbacv1.Resource("rolebindings"), key.Name, errors.New("it was created meanwhile"))
		}
		return err
	})
}
