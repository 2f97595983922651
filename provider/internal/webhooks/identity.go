package webhooks

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/credentials"
)

func (o Options) identity(ctx context.Context, r *review, before, after *infrav1.TerraformClusterIdentity) {
	if after == nil {
		o.checkIdentityDelete(ctx, r, before)
		return
	}
	if before == nil {
		before = &infrav1.TerraformClusterIdentity{}
	}
	moved := changed(before.Spec.SecretRef, after.Spec.SecretRef)
	opened := changed(before.Spec.AllowedNamespaces, after.Spec.AllowedNamespaces)
	if allowed := after.Spec.AllowedNamespaces; opened && allowed != nil && allowed.Selector != nil {
		if _, err := metav1.LabelSelectorAsSelector(allowed.Selector); err != nil {
			r.deny(invalid(spec.Child("allowedNamespaces", "selector"), "%v", err))
		}
	}
	if (moved || opened) && after.Spec.SecretRef != nil {
		o.checkSecretAccess(ctx, r, *after.Spec.SecretRef)
	}
}

// checkSecretAccess lets only who may read a Secret hand it on to others (B-502). Whether access gets wider or narrower
// makes no difference, because a list that shrinks beside a selector that grows is both.
func (o Options) checkSecretAccess(ctx context.Context, r *review, secret infrav1.IdentitySecretReference) {
	ok, err := o.may(ctx, r.request.UserInfo, authorizationv1.ResourceAttributes{
		Namespace: secret.Namespace, Name: secret.Name, Verb: "get", Version: "v1", Resource: "secrets",
	})
	switch {
	case err != nil:
		r.fail("checking access to the Secret of an identity: %w", err)
	case !ok:
		r.deny(field.Forbidden(spec.Child("secretRef"), fmt.Sprintf(
			"it hands on the Secret %s/%s, for which %s needs the right to get it", secret.Namespace, secret.Name, r.request.UserInfo.Username)))
	}
}

// checkIdentityDelete keeps an identity that is in use: without it, infrastructure could not even be destroyed (B-503).
func (o Options) checkIdentityDelete(ctx context.Context, r *review, identity *infrav1.TerraformClusterIdentity) {
	if deleting(identity) {
		return
	}
	user, err := credentials.IdentityUser(ctx, o.Live, identity.Name)
	if err != nil {
		r.fail("looking for users of the identity: %w", err)
		return
	}
	if user != nil {
		r.refuse("%s %s/%s runs with this identity; delete it first, or give it another identityRef",
			user.Role().Kind(), user.GetNamespace(), user.GetName())
	}
	if namespaces := identity.Status.Namespaces; len(namespaces) > 0 {
		r.refuse("objects use copies of its credentials in these namespaces: %s", some(namespaces))
	}
}

// someNames is how many names a message lists.
const someNames = 10

// some lists names, not more than a reader wants.
func some(names []string) string {
	if len(names) <= someNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:someNames], ", "), len(names)-someNames)
}
