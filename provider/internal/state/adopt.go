package state

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// Marks are what a successful Job notes on the state (B-412).
type Marks struct {
	// InputsHash is the hash of the inputs; nil leaves it as it is, "" removes it (B-413).
	InputsHash *string
	// Image is the image as it was written; nil leaves it as it is, "" removes it.
	Image *string
	// Settled tells that the marks are those of just this version: the apply that wrote it succeeded.
	Settled bool
}

// Adopt makes an object the owner of its state, and notes the marks on the base Secret. It tells whether anything changed.
// The errors are ErrNotFound, ErrConflict, and what the API server said. A state that cannot be parsed is adopted too.
func (s *Store) Adopt(ctx context.Context, k Key, owner metav1.OwnerReference, m Marks) (bool, error) {
	all, err := s.objects(ctx, k)
	if err != nil {
		return false, err
	}
	if len(all.parts) == 0 || all.parts[0] == nil {
		return false, ErrNotFound
	}
	changed := false
	for i, part := range all.parts {
		if part == nil {
			continue
		}
		secret := part.DeepCopy()
		touched := own(secret, owner)
		if i == 0 {
			touched = note(secret, infrav1.AnnotationInputsHash, m.InputsHash) || touched
			touched = note(secret, infrav1.AnnotationImage, m.Image) || touched
			touched = m.Settled && note(secret, annotationApply, new(string)) || touched
		}
		if !touched {
			continue
		}
		if err := s.Writer.Update(ctx, secret); err != nil {
			return changed, writing(secret, err)
		}
		changed = true
	}
	return changed, nil
}

func note(secret *corev1.Secret, key string, value *string) bool {
	switch old, ok := secret.Annotations[key]; {
	case value == nil || ok && old == *value || !ok && *value == "":
		return false
	case *value == "":
		delete(secret.Annotations, key)
	case secret.Annotations == nil:
		secret.Annotations = map[string]string{key: *value}
	default:
		secret.Annotations[key] = *value
	}
	return true
}

// own sets an owner reference, and tells whether it was not there. One to an object of that name with another UID, from
// before a move or a restore, is replaced. The reference never makes the owner a controller and blocks nothing.
func own(object client.Object, owner metav1.OwnerReference) bool {
	owner.Controller, owner.BlockOwnerDeletion = nil, nil
	refs := object.GetOwnerReferences()
	i := slices.IndexFunc(refs, func(r metav1.OwnerReference) bool { return r.Kind == owner.Kind && r.Name == owner.Name })
	if i < 0 {
		object.SetOwnerReferences(append(slices.Clone(refs), owner))
		return true
	}
	if refs[i].UID == owner.UID && refs[i].APIVersion == owner.APIVersion {
		return false
	}
	refs = slices.Clone(refs)
	refs[i] = owner
	object.SetOwnerReferences(refs)
	return true
}

// RepairOwners sets the owner references of the state and its backups where they are missing or carry an old UID (B-414),
// and tells how many Secrets it changed. Whether the Secrets are this object's at all, and not retained by an earlier one of
// its name, the caller knows.
func (s *Store) RepairOwners(ctx context.Context, k Key, owner metav1.OwnerReference) (int, error) {
	all, err := s.objects(ctx, k)
	if err != nil {
		return 0, err
	}
	sets, err := s.Backups(ctx, k)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, part := range slices.Concat(all.parts, all.staged) {
		if part == nil {
			continue
		}
		secret := part.DeepCopy()
		if !own(secret, owner) {
			continue
		}
		if err := s.Writer.Update(ctx, secret); err != nil {
			return n, writing(secret, err)
		}
		n++
	}
	for _, b := range sets {
		for i := range b.objects {
			if !own(b.objects[i].DeepCopy(), owner) {
				continue
			}
			var secret corev1.Secret
			key := client.ObjectKeyFromObject(&b.objects[i])
			if err := s.Live.Get(ctx, key, &secret); err != nil {
				return n, fmt.Errorf("reading backup %s: %w", key, err)
			}
			if !own(&secret, owner) {
				continue
			}
			if err := s.Writer.Update(ctx, &secret); err != nil {
				return n, writing(&secret, err)
			}
			n++
		}
	}
	return n, nil
}
