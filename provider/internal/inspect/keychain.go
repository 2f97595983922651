package inspect

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/authn/kubernetes"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errPullSecret is a pull secret that cannot be used. The causes are not wrapped: that of a parser may quote a credential.
var errPullSecret = errors.New("reading pull secrets")

// keychain returns the credentials in the named Secrets of a namespace, matched with a reference as a kubelet does. One
// that does not exist is passed over, as a kubelet does: the image may be public. Helpers that a Secret names are not run.
func keychain(ctx context.Context, reader client.Reader, namespace string, pullSecrets []corev1.LocalObjectReference) (authn.Keychain, error) {
	var chains []authn.Keychain
	for _, ref := range pullSecrets {
		if ref.Name == "" {
			continue
		}
		secret := corev1.Secret{}
		if err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, &secret); err != nil {
			if client.IgnoreNotFound(err) == nil {
				continue
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("%w: Secret %s cannot be read", errPullSecret, ref.Name)
		}
		chain, err := kubernetes.NewFromPullSecrets(ctx, []corev1.Secret{secret})
		if err != nil {
			return nil, fmt.Errorf("%w: Secret %s has no valid registry credentials", errPullSecret, ref.Name)
		}
		chains = append(chains, chain)
	}
	return authn.NewMultiKeychain(chains...), nil
}
