package credentials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/names"
)

const yes = "true"

var (
	errGone    = errors.New("it does not exist any more")
	errForeign = errors.New("a Secret of that name exists that is no mirror of the identity")
)

var secretKind = corev1.SchemeGroupVersion.WithKind("Secret")

func metadataOf(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(kind)
	return m
}

// isMirror tells that a Secret is the mirror of an identity (B-510, B-512).
func isMirror(secret metav1.Object, identity string) bool {
	return secret.GetLabels()[infrav1.LabelMirrored] == yes && secret.GetAnnotations()[infrav1.AnnotationIdentity] == identity
}

// mirrored brings the mirror in order and decides CredentialsMirrored (B-508).
func (p *pass) mirrored(ctx context.Context, v verdict) (conditions.Value, error) {
	pending := conditions.Unknown(infrav1.MirrorPendingReason, "IdentityAllowed is not True: %s", v.allowed.Reason)
	if v.revoke {
		return pending, p.revoke(ctx, v)
	}
	if v.allowed.Status != metav1.ConditionTrue {
		return pending, nil
	}
	if v.local() {
		return conditions.True(infrav1.MirroredReason, "no copy is needed of a Secret of the own namespace"), p.leave(ctx, "")
	}
	name := names.Mirror(v.ref.Name)
	switch err := p.keepMirror(ctx, v); {
	case errors.Is(err, errForeign):
		return conditions.False(infrav1.MirrorFailedReason,
			"Secret %q exists and is no mirror of TerraformClusterIdentity %q; rename or remove it", name, v.ref.Name), nil
	case errors.Is(err, errGone):
		return conditions.Unknown(infrav1.MirrorPendingReason, "the credentials or their copy are being removed"), nil
	case err != nil:
		return conditions.False(infrav1.MirrorFailedReason, "Secret %q could not be written: %s", name, apiText(err)),
			unlessTerminating(fmt.Errorf("writing mirror %s/%s: %w", p.namespace, name, err))
	}
	return conditions.True(infrav1.MirroredReason, "Secret %q has the credentials", name), p.leave(ctx, name)
}

// keepMirror creates the mirror, rewrites it if it is not current, and makes the object one of its owners.
func (p *pass) keepMirror(ctx context.Context, v verdict) error {
	key := client.ObjectKey{Namespace: p.namespace, Name: names.Mirror(v.ref.Name)}
	mirror := metadataOf(secretKind)
	err := p.client.Get(ctx, key, mirror, client.UnsafeDisableDeepCopy) // It may have very many owners; it is only read.
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	owner, stale := ownership(mirror, p.Object)
	switch {
	case err != nil, !isMirror(mirror, v.ref.Name), mirror.Labels[infrav1.LabelManaged] != yes,
		mirror.Annotations[infrav1.AnnotationSourceHash] != v.facts.hash, mirror.DeletionTimestamp != nil:
		created, err := p.writeMirror(ctx, key, v.ref.Name, v.source, p.Object)
		if created {
			p.event(EventMirrorCreated, "copied the credentials of TerraformClusterIdentity %s to Secret %s", v.ref.Name, key.Name)
		}
		return err
	case !owner || len(stale) > 0:
		// A patch of the list by UID needs no retry, however many objects do it at once.
		err := p.patchOwners(ctx, mirror.UID, key, []metav1.OwnerReference{reference(p.Object)}, stale)
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			_, err = p.writeMirror(ctx, key, v.ref.Name, v.source, p.Object)
		}
		return err
	}
	return nil
}

// writeMirror makes a mirror what its source is now, reading both from the API server. The user, if any, becomes one of its
// owners; without one, a mirror that does not exist is not created. Nothing is written if all of that is so.
func (c *Credentials) writeMirror(ctx context.Context, key client.ObjectKey, identity string, source client.ObjectKey, user infrav1.Workspace) (created bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		secret, found, err := c.readSource(ctx, source)
		if err != nil {
			return err
		}
		if secret == nil {
			return errGone
		}
		mirror := &corev1.Secret{}
		switch err := c.live.Get(ctx, key, mirror); {
		case apierrors.IsNotFound(err) && user == nil:
			return errGone
		case apierrors.IsNotFound(err):
			mirror = newMirror(key, identity, found.hash, secret.Data, user)
			if err := c.client.Create(ctx, mirror); !apierrors.IsAlreadyExists(err) {
				created = err == nil
				return err
			}
			return apierrors.NewConflict(corev1.Resource("secrets"), key.Name, errors.New("it was created meanwhile"))
		case err != nil:
			return err
		}
		if !isMirror(mirror, identity) {
			return errForeign
		}
		if mirror.DeletionTimestamp != nil {
			return errGone
		}
		if updateMirror(mirror, found.hash, secret.Data) {
			if user != nil {
				own(mirror, user)
			}
			return c.client.Update(ctx, mirror)
		}
		return c.join(ctx, mirror, user)
	})
	return created, err
}

// join makes a user an owner of a mirror and nothing else, by a patch that goes with those of other users.
func (c *Credentials) join(ctx context.Context, mirror *corev1.Secret, user infrav1.Workspace) error {
	if user == nil {
		return nil
	}
	owner, stale := ownership(mirror, user)
	if owner && len(stale) == 0 {
		return nil
	}
	err := c.patchOwners(ctx, mirror.UID, client.ObjectKeyFromObject(mirror), []metav1.OwnerReference{reference(user)}, stale)
	if apierrors.IsNotFound(err) {
		return apierrors.NewConflict(corev1.Resource("secrets"), mirror.Name, err)
	}
	return err
}

func newMirror(key client.ObjectKey, identity, hash string, data map[string][]byte, user infrav1.Workspace) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       key.Namespace,
			Name:            key.Name,
			Labels:          map[string]string{infrav1.LabelManaged: yes, infrav1.LabelMirrored: yes},
			Annotations:     map[string]string{infrav1.AnnotationIdentity: identity, infrav1.AnnotationSourceHash: hash},
			OwnerReferences: []metav1.OwnerReference{reference(user)},
		},
		Type: corev1.SecretTypeOpaque,
		Data: data,
	}
}

// updateMirror changes a mirror to what it should be, its owners left out, and tells whether it was not.
func updateMirror(mirror *corev1.Secret, hash string, data map[string][]byte) bool {
	changed := false
	if mirror.Annotations[infrav1.AnnotationSourceHash] != hash || SourceHash(mirror.Data) != hash {
		mirror.Annotations[infrav1.AnnotationSourceHash] = hash
		mirror.Data = maps.Clone(data)
		changed = true
	}
	if mirror.Labels[infrav1.LabelManaged] != yes {
		mirror.Labels[infrav1.LabelManaged] = yes // Without it the cache does not see the mirror.
		changed = true
	}
	return changed
}

// own makes a user the owner of a mirror, instead of an earlier object of its name.
func own(mirror *corev1.Secret, user infrav1.Workspace) {
	ref := reference(user)
	mirror.OwnerReferences = slices.DeleteFunc(mirror.OwnerReferences, func(r metav1.OwnerReference) bool { return sameObject(r, ref) })
	mirror.OwnerReferences = append(mirror.OwnerReferences, ref)
}

// reference is the owner reference of a user: not the controller's, and blocking nothing.
func reference(user infrav1.Workspace) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: infrav1.GroupVersion.String(), Kind: user.Role().Kind(), Name: user.GetName(), UID: user.GetUID(),
	}
}

// sameObject tells that two references name one object, which may have been created again.
func sameObject(a, b metav1.OwnerReference) bool {
	x, _ := schema.ParseGroupVersion(a.APIVersion)
	y, _ := schema.ParseGroupVersion(b.APIVersion)
	return x.Group == y.Group && a.Kind == b.Kind && a.Name == b.Name
}

// ownership tells whether a user is an owner, and the UIDs of earlier objects of its name that are too.
func ownership(mirror metav1.Object, user infrav1.Workspace) (owner bool, stale []types.UID) {
	own := reference(user)
	for _, ref := range mirror.GetOwnerReferences() {
		switch {
		case ref.UID == own.UID:
			owner = true
		case sameObject(ref, own):
			stale = append(stale, ref.UID)
		}
	}
	return owner, stale
}

// patchOwners adds and removes owners of the Secret with a UID. What remains is in the result.
func (c *Credentials) patchOwners(ctx context.Context, uid types.UID, key client.ObjectKey, add []metav1.OwnerReference, remove []types.UID) error {
	_, err := c.patchedOwners(ctx, uid, key, add, remove)
	return err
}

func (c *Credentials) patchedOwners(ctx context.Context, uid types.UID, key client.ObjectKey, add []metav1.OwnerReference, remove []types.UID) (*metav1.PartialObjectMetadata, error) {
	var refs []any
	for _, ref := range add {
		refs = append(refs, ref)
	}
	for _, gone := range remove {
		refs = append(refs, map[string]any{"$patch": "delete", "uid": gone})
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid, "ownerReferences": refs}})
	if err != nil {
		return nil, err
	}
	mirror := metadataOf(secretKind)
	mirror.Namespace, mirror.Name = key.Namespace, key.Name
	return mirror, c.client.Patch(ctx, mirror, client.RawPatch(types.StrategicMergePatchType, patch))
}
