package credentials

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/names"
)

// Release takes a user off all mirrors of its namespace and removes those that no one uses any more (B-870). It is called
// before the user's finalizer is removed, whether its infrastructure was destroyed or retained, and may be called again.
// The events are to be emitted on the user.
func (c *Credentials) Release(ctx context.Context, user infrav1.Workspace) ([]conditions.Event, error) {
	mirrors := metadataList(secretKind)
	if err := c.live.List(ctx, mirrors, client.InNamespace(user.GetNamespace()), client.MatchingLabels{infrav1.LabelMirrored: yes}); err != nil {
		return nil, fmt.Errorf("listing the mirrors of namespace %s: %w", user.GetNamespace(), err)
	}
	var events []conditions.Event
	for i := range mirrors.Items {
		removed, err := c.leaveMirror(ctx, &mirrors.Items[i], user)
		if err != nil {
			return events, err
		}
		if removed {
			events = append(events, removedEvent(&mirrors.Items[i], "it has no user any more"))
		}
	}
	c.users.forget(user.GetNamespace(), user.GetUID())
	return events, nil
}

// leave takes the object off the mirrors that it does not use, all but the one to keep. The others of the namespace are
// looked at when the object is first seen and when what it uses changes.
func (p *pass) leave(ctx context.Context, keep string) error {
	mark := keep
	if mark == "" {
		mark = "/" // No mirror, and not the zero value.
	}
	if p.users.get(p.namespace, p.Object.GetUID()).mirror == mark {
		return nil
	}
	mirrors := metadataList(secretKind)
	err := p.client.List(ctx, mirrors, client.InNamespace(p.namespace), client.MatchingLabels{infrav1.LabelMirrored: yes}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("listing the mirrors of namespace %s: %w", p.namespace, err)
	}
	for i := range mirrors.Items {
		if mirrors.Items[i].Name == keep {
			continue
		}
		removed, err := p.leaveMirror(ctx, &mirrors.Items[i], p.Object)
		if err != nil {
			return unlessTerminating(err)
		}
		if removed {
			p.result.Events = append(p.result.Events, removedEvent(&mirrors.Items[i], "it has no user any more"))
		}
	}
	p.users.update(p.namespace, p.Object.GetUID(), func(u *use) { u.mirror = mark })
	return nil
}

// leaveMirror takes a user off a mirror, and tells whether the mirror was removed as it had no other.
func (c *Credentials) leaveMirror(ctx context.Context, mirror *metav1.PartialObjectMetadata, user infrav1.Workspace) (bool, error) {
	owner, stale := ownership(mirror, user)
	if owner {
		stale = append(stale, user.GetUID())
	}
	if len(stale) == 0 || !isMirror(mirror, mirror.Annotations[infrav1.AnnotationIdentity]) {
		return false, nil
	}
	key := client.ObjectKeyFromObject(mirror)
	now, err := c.patchedOwners(ctx, mirror.UID, key, nil, stale)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil // It is gone; another of its name does not have this user.
	}
	if err != nil {
		return false, fmt.Errorf("leaving mirror %s: %w", key, err)
	}
	if len(now.OwnerReferences) > 0 {
		return false, nil
	}
	return c.removeSecret(ctx, now, true)
}

// revoke removes the mirror of an identity from the object's namespace (B-514). It is looked for where it is, because the
// cache lacks one whose label someone took off.
func (p *pass) revoke(ctx context.Context, v verdict) error {
	identity := v.ref.Name
	key := client.ObjectKey{Namespace: p.namespace, Name: names.Mirror(identity)}
	mirror := metadataOf(secretKind)
	if err := p.live.Get(ctx, key, mirror); err != nil || !isMirror(mirror, identity) {
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading mirror %s: %w", key, err)
		}
		return nil
	}
	removed, err := p.removeSecret(ctx, mirror, false)
	if removed {
		p.result.Events = append(p.result.Events, removedEvent(mirror, v.allowed.Message))
	}
	return err
}

// removeSecret deletes a mirror: the one with its UID, and, if unchanged is set, only in the version that was seen.
func (c *Credentials) removeSecret(ctx context.Context, mirror *metav1.PartialObjectMetadata, unchanged bool) (bool, error) {
	preconditions := client.Preconditions{UID: &mirror.UID}
	if unchanged {
		preconditions.ResourceVersion = &mirror.ResourceVersion
	}
	target := metadataOf(secretKind)
	target.Namespace, target.Name = mirror.Namespace, mirror.Name
	err := c.client.Delete(ctx, target, preconditions)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("removing mirror %s/%s: %w", mirror.Namespace, mirror.Name, err)
	}
	return true, nil
}

func removedEvent(mirror *metav1.PartialObjectMetadata, why string) conditions.Event {
	return conditions.NewEvent(EventMirrorRemoved, fmt.Sprintf("removed Secret %s, the copy of TerraformClusterIdentity %s: %s",
		mirror.Name, mirror.Annotations[infrav1.AnnotationIdentity], why))
}
