package credentials

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
)

// How often the Secret of an identity is read (B-504).
const (
	readyInterval   = 5 * time.Minute
	unreadyInterval = 30 * time.Second
)

// maxNamespaces is the number of namespaces in the status of an identity.
const maxNamespaces = 1000

const identityKind = string(infrav1.IdentityKindClusterIdentity)

// IdentityState is what is known of an identity.
type IdentityState struct {
	// Ready is its condition; empty if the Secret could not be read.
	Ready conditions.Value
	// Namespaces hold a mirror that an existing object uses, sorted, at most 1000.
	Namespaces []string
	// Removed are mirrors that were removed.
	Removed []RemovedMirror
	// RequeueAfter is when the Secret has to be read again.
	RequeueAfter time.Duration
}

// RemovedMirror is a mirror that was removed because its identity is gone or does not allow the namespace any more.
type RemovedMirror struct {
	// User is an object that used it, a TerraformCluster if there was one; nil if there was none.
	User *corev1.ObjectReference
	// Event is to be emitted on the user.
	Event conditions.Event
}

// SyncIdentity reads the Secret of an identity when that is due, brings changed credentials to the mirrors, removes the
// mirrors of namespaces that it does not allow any more, and says where it stands. With an error the state is valid as far
// as it goes, its condition may be empty.
func (c *Credentials) SyncIdentity(ctx context.Context, identity *infrav1.TerraformClusterIdentity) (IdentityState, error) {
	var state IdentityState
	source, named := SourceOf(identity)
	var found facts
	if named {
		var err error
		if found, err = c.dueSource(ctx, source, identity.Spec.RequiredKeys); err != nil {
			return state, err
		}
	}
	state.Ready = readiness(identity, source, found)
	state.RequeueAfter = unreadyInterval
	if state.Ready.Status == metav1.ConditionTrue {
		state.RequeueAfter = readyInterval
	}
	if age, ok := c.sources.age(sourceKey{ObjectKey: source}); ok {
		state.RequeueAfter = max(state.RequeueAfter-age, time.Second)
	}

	errs := []error{c.stripOwners(ctx, source, found)}
	mirrors, err := c.mirrorsOf(ctx, c.client, identity.Name)
	errs = append(errs, err)
	for i := range mirrors {
		used, removed, err := c.syncMirror(ctx, identity, source, found, &mirrors[i])
		errs = append(errs, err)
		if removed != nil {
			state.Removed = append(state.Removed, *removed)
		}
		if used {
			state.Namespaces = append(state.Namespaces, mirrors[i].Namespace)
		}
	}
	slices.Sort(state.Namespaces)
	state.Namespaces = state.Namespaces[:min(len(state.Namespaces), maxNamespaces)]
	c.sources.forget(2 * c.syncPeriod)
	c.namespaces.forget(2 * c.syncPeriod)
	return state, errors.Join(errs...)
}

// RemoveMirrors removes all mirrors of an identity that does not exist (B-503). Identities have no finalizer, so it is
// called when one is found to be gone.
func (c *Credentials) RemoveMirrors(ctx context.Context, identity string) ([]RemovedMirror, error) {
	switch found, err := c.identity(ctx, identity, true); {
	case err != nil:
		return nil, fmt.Errorf("reading TerraformClusterIdentity %s: %w", identity, err)
	case found != nil:
		return nil, nil // The cache was behind, or it was created again.
	}
	mirrors, err := c.mirrorsOf(ctx, c.client, identity)
	if err != nil {
		return nil, err
	}
	var out []RemovedMirror
	var errs []error
	for i := range mirrors {
		removed, err := c.removeSecret(ctx, &mirrors[i], false)
		errs = append(errs, err)
		if removed {
			out = append(out, RemovedMirror{User: userOf(&mirrors[i]), Event: removedEvent(&mirrors[i], "the identity does not exist any more")})
		}
	}
	return out, errors.Join(errs...)
}

// dueSource returns the facts of a source, read again if that is due.
func (c *Credentials) dueSource(ctx context.Context, source client.ObjectKey, required []string) (facts, error) {
	known, ok := c.knownSource(sourceKey{ObjectKey: source}, readyInterval)
	if age, _ := c.sources.age(sourceKey{ObjectKey: source}); ok && (len(known.missing(required)) == 0 || age < unreadyInterval) {
		return known, nil
	}
	_, found, err := c.readSource(ctx, source)
	return found, err
}

// readiness is the condition Ready of an identity (provider-status.md 2).
func readiness(identity *infrav1.TerraformClusterIdentity, source client.ObjectKey, found facts) conditions.Value {
	if source.Name == "" {
		return conditions.False(infrav1.SecretNotFoundReason, "spec.secretRef names no Secret")
	}
	if !found.exists {
		return conditions.False(infrav1.SecretNotFoundReason, "Secret %s does not exist", source)
	}
	if lacks := found.missing(identity.Spec.RequiredKeys); len(lacks) > 0 {
		return conditions.False(infrav1.CredentialsIncompleteReason, "Secret %s lacks the required keys %s", source, strings.Join(lacks, ", "))
	}
	return conditions.True(infrav1.SecretFoundReason, "Secret %s has every required key", source)
}

// stripOwners takes owner references to identities off a source, which an early version set: garbage collection would
// remove the operator's Secret with the identity (provider-api.md 9a).
func (c *Credentials) stripOwners(ctx context.Context, source client.ObjectKey, found facts) error {
	if len(found.legacy) == 0 {
		return nil
	}
	secret := metadataOf(secretKind)
	if err := c.live.Get(ctx, source, secret); err != nil {
		return client.IgnoreNotFound(err)
	}
	if err := c.patchOwners(ctx, secret.UID, source, nil, found.legacy); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("taking the owner off Secret %s: %w", source, err)
	}
	found.legacy = nil
	c.sources.put(sourceKey{ObjectKey: source}, found, c.clock.Now())
	return nil
}

func (c *Credentials) mirrorsOf(ctx context.Context, reader client.Reader, identity string) ([]metav1.PartialObjectMetadata, error) {
	list := metadataList(secretKind)
	if err := reader.List(ctx, list, client.MatchingLabels{infrav1.LabelMirrored: yes}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the mirrors of TerraformClusterIdentity %s: %w", identity, err)
	}
	return slices.DeleteFunc(list.Items, func(m metav1.PartialObjectMetadata) bool { return !isMirror(&m, identity) }), nil
}

// syncMirror keeps one mirror, or removes it, and tells whether an object uses it.
func (c *Credentials) syncMirror(ctx context.Context, identity *infrav1.TerraformClusterIdentity, source client.ObjectKey, found facts, mirror *metav1.PartialObjectMetadata) (used bool, removed *RemovedMirror, err error) {
	why, err := c.allows(ctx, identity, mirror.Namespace, readyInterval)
	if err == nil && why != "" {
		return c.revokeMirror(ctx, identity, mirror)
	}
	if err != nil {
		return true, nil, err
	}
	if len(mirror.OwnerReferences) == 0 { // Restored from a backup; users make it again.
		_, err := c.removeSecret(ctx, mirror, true)
		return false, nil, err
	}
	if found.exists && len(found.missing(identity.Spec.RequiredKeys)) == 0 && mirror.Annotations[infrav1.AnnotationSourceHash] != found.hash {
		_, err = c.writeMirror(ctx, client.ObjectKeyFromObject(mirror), identity.Name, source, nil)
		if errors.Is(err, errGone) || errors.Is(err, errForeign) {
			err = nil // Removed or changed meanwhile; its users notice.
		}
		if err != nil {
			err = unlessTerminating(fmt.Errorf("writing mirror %s/%s: %w", mirror.Namespace, mirror.Name, err))
		}
	}
	used, usedErr := c.used(ctx, mirror)
	return used, nil, errors.Join(err, usedErr)
}

// revokeMirror removes a mirror if the identity, read again, does not allow its namespace.
func (c *Credentials) revokeMirror(ctx context.Context, identity *infrav1.TerraformClusterIdentity, mirror *metav1.PartialObjectMetadata) (bool, *RemovedMirror, error) {
	now, err := c.identity(ctx, identity.Name, true)
	if err != nil || now == nil {
		return true, nil, err
	}
	why, err := c.allows(ctx, now, mirror.Namespace, 0)
	if err != nil || why == "" {
		return true, nil, err
	}
	gone, err := c.removeSecret(ctx, mirror, false)
	if !gone {
		return err != nil, nil, err
	}
	return false, &RemovedMirror{User: userOf(mirror), Event: removedEvent(mirror, "the identity does not allow the namespace: "+why)}, nil
}

// used tells whether an owner of a mirror exists.
func (c *Credentials) used(ctx context.Context, mirror *metav1.PartialObjectMetadata) (bool, error) {
	for _, ref := range mirror.OwnerReferences {
		object := workspaceOf(ref)
		if object == nil {
			continue
		}
		err := c.client.Get(ctx, client.ObjectKey{Namespace: mirror.Namespace, Name: ref.Name}, object, client.UnsafeDisableDeepCopy)
		if err == nil && object.GetUID() == ref.UID {
			return true, nil
		}
		if client.IgnoreNotFound(err) != nil {
			return true, fmt.Errorf("reading %s %s/%s: %w", ref.Kind, mirror.Namespace, ref.Name, err)
		}
	}
	return false, nil
}

// workspaceOf returns an empty object of the kind that a reference names, nil for other kinds than the three.
func workspaceOf(ref metav1.OwnerReference) infrav1.Workspace {
	if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != infrav1.GroupVersion.Group {
		return nil
	}
	switch ref.Kind {
	case contract.RoleCluster.Kind():
		return &infrav1.TerraformCluster{}
	case contract.RoleMachine.Kind():
		return &infrav1.TerraformMachine{}
	case contract.RoleMachinePool.Kind():
		return &infrav1.TerraformMachinePool{}
	}
	return nil
}

// userOf returns the object that an event about a mirror is for.
func userOf(mirror *metav1.PartialObjectMetadata) *corev1.ObjectReference {
	var first *corev1.ObjectReference
	for _, ref := range mirror.OwnerReferences {
		if workspaceOf(ref) == nil {
			continue
		}
		user := &corev1.ObjectReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: mirror.Namespace, Name: ref.Name, UID: ref.UID}
		if ref.Kind == contract.RoleCluster.Kind() {
			return user
		}
		if first == nil {
			first = user
		}
	}
	return first
}

func metadataList(kind schema.GroupVersionKind) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind + "List"})
	return list
}
