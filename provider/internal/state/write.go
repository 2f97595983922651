package state

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WriteOptions say how a state is written.
type WriteOptions struct {
	// Force writes whatever the current version is: another lineage, a higher serial, or unreadable. It is for
	// `state push` only.
	Force bool
	// Check is called after the current version was read and before anything is written; its error ends the write. A lock
	// looked at here cannot have been lost to somebody whose write this one would overwrite unseen.
	Check func(context.Context) error
	// Backups is how many backups to keep, the version that is overwritten among them; 0 takes none and removes none
	// (B-450, B-454).
	Backups int
	// NoPrune takes the backup and removes none: a restore must not remove what it restores.
	NoPrune bool
	// Job is written on the backup as its source.
	Job string
	// Apply tells that an apply writes: what it writes is of the inputs that the marks name only once it has succeeded
	// (Marks.Settled). Until then the marks stay those of the newest success, and a backup of the version has none.
	Apply bool
	// Owner is the owner of the backup where the base Secret has none yet.
	Owner *metav1.OwnerReference
	// Marks are noted on the base Secret where it has none.
	Marks Marks
}

// Write replaces the current version of a state, after it kept that as a backup. What is on the Secrets already (owners,
// annotations, labels) stays. The errors are ErrInvalid or ErrTooLarge for what cannot be written, ErrRefused for what a
// guard forbids, an *Unreadable if the current version cannot be read, ErrConflict if another wrote at the same time, and
// what the API server said. After ErrConflict or an error of the API server, what is read is either the version before or
// the new one, whole; writing the same again ends what was begun, and is no error if it was done already (B-440).
func (s *Store) Write(ctx context.Context, k Key, raw []byte, o WriteOptions) (*State, error) {
	next, err := s.newVersion(raw)
	if err != nil {
		return nil, err
	}
	cur, all, err := s.clean(ctx, k, next, o)
	if err != nil {
		return nil, err
	}
	if cur != nil && bytes.Equal(cur.raw, next.raw) && !o.Marks.lacks(cur.parts[0]) {
		return cur.state, nil
	}
	if cur != nil && o.Backups > 0 && cur.state.Serial > 0 {
		sets, err := s.Backups(ctx, k)
		if err != nil {
			return nil, err
		}
		if _, err := s.kept(ctx, k, sets, cur, o.Job, o.Owner); err != nil {
			return nil, err
		}
	}
	next.marks = o.Marks
	if o.Apply {
		next.apply = cmp.Or(o.Job, "unknown")
	}
	if err := s.replace(ctx, k, all, cur, next); err != nil {
		return nil, err
	}
	if cur != nil && o.Backups > 0 && !o.NoPrune {
		// The state is stored; one backup too many does no harm and goes with the next write.
		_ = s.Prune(ctx, k, o.Backups)
	}
	return next.state, nil
}

// clean reads what is there, asks the guards, and ends a write that stopped half way. Without a version that can be read
// cur is nil.
func (s *Store) clean(ctx context.Context, k Key, next *version, o WriteOptions) (cur *current, all objects, err error) {
	for range 3 {
		cur, all, err = s.before(ctx, k)
		var unreadable *Unreadable
		switch {
		case errors.Is(err, ErrNotFound):
		case errors.As(err, &unreadable) && o.Force:
		case err != nil:
			return nil, all, err
		}
		if cur != nil && !o.Force {
			if err := guard(cur, next); err != nil {
				return nil, all, err
			}
		}
		if o.Check != nil {
			if err := o.Check(ctx); err != nil {
				return nil, all, err
			}
		}
		if cur == nil || !cur.state.Interrupted {
			return cur, all, nil
		}
		if err := s.settle(ctx, k, cur); err != nil {
			return nil, all, err
		}
	}
	return nil, all, fmt.Errorf("writing state %s/%s: %w", k.Namespace, k.Secret(0), ErrConflict)
}

// before reads what is there; cur is nil with an error.
func (s *Store) before(ctx context.Context, k Key) (*current, objects, error) {
	all, err := s.objects(ctx, k)
	if err != nil {
		return nil, all, err
	}
	cur, err := assemble(k, all)
	if err != nil {
		return nil, all, err
	}
	return cur, all, nil
}

// version is what is to be written.
type version struct {
	state *State
	raw   []byte
	parts [][]byte
	id    string
	marks Marks
	apply string // the Job whose apply writes it, "" for none
}

func (s *Store) newVersion(raw []byte) (*version, error) {
	if len(raw) > MaxBytes {
		return nil, fmt.Errorf("writing a state of %d bytes: at most %d can be read again: %w", len(raw), MaxBytes, ErrTooLarge)
	}
	st, err := Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("writing a state: %w: %w", ErrInvalid, err)
	}
	if st.Lineage == "" {
		return nil, fmt.Errorf("writing a state: it has no lineage: %w", ErrInvalid)
	}
	gz, err := compress(raw)
	if err != nil {
		return nil, fmt.Errorf("compressing a state: %w", err)
	}
	v := &version{state: st, raw: raw, parts: s.split(gz), id: digest(gz)}
	if len(v.parts) > MaxParts {
		return nil, fmt.Errorf("writing a state of %d compressed bytes: it needs %d Secrets, and at most %d are read: %w",
			len(gz), len(v.parts), MaxParts, ErrTooLarge)
	}
	st.Bytes, st.Parts, st.Digest = len(gz), len(v.parts), v.id
	return v, nil
}

// guard compares versions as the clients of the http backend do not (recipes of both runtimes: they post blindly).
func guard(cur *current, next *version) error {
	was, is := cur.state, next.state
	switch {
	case was.Lineage != "" && was.Lineage != is.Lineage:
		return fmt.Errorf("writing the state: its lineage is %q, that of the stored one is %q: they are not versions of one state: %w",
			is.Lineage, was.Lineage, ErrRefused)
	case is.Serial < was.Serial:
		return fmt.Errorf("writing the state: its serial is %d, that of the stored one is %d: it is older: %w", is.Serial, was.Serial, ErrRefused)
	case is.Serial == was.Serial && !bytes.Equal(cur.raw, next.raw):
		return fmt.Errorf("writing the state: serial %d is stored with another content: somebody else wrote it: %w", is.Serial, ErrRefused)
	}
	return nil
}

// replace puts a version in the place of the current one, nil if there is none or it cannot be read. See the package's
// documentation for the order.
func (s *Store) replace(ctx context.Context, k Key, all objects, cur *current, next *version) error {
	used := len(all.parts) // what an unreadable version uses is not known
	if cur != nil {
		used = cur.state.Parts
	}
	var base *corev1.Secret
	if len(all.parts) > 0 {
		base = all.parts[0]
	}
	for _, odd := range all.odd {
		if err := s.setAside(ctx, odd); err != nil {
			return err
		}
	}
	after := &current{
		objects: objects{parts: make([]*corev1.Secret, max(len(all.parts), len(next.parts))), staged: slices.Clone(all.staged)},
		waiting: map[int]*corev1.Secret{}, state: next.state,
	}
	copy(after.parts, all.parts)
	for i := 1; i < len(next.parts); i++ {
		var err error
		if base == nil || i < used || i < len(all.parts) {
			after.waiting[i], err = s.stage(ctx, k, all, base, next, i)
			if !slices.Contains(after.staged, after.waiting[i]) {
				after.staged = append(after.staged, after.waiting[i])
			}
		} else {
			after.parts[i], err = s.put(ctx, k, nil, base, next.mark(i), next.parts[i], notes{})
		}
		if err != nil {
			return err
		}
	}
	// This write makes the new version the current one. From here on the write of another that read what was there before
	// fails, so that what it put beside may be removed.
	var err error
	if after.parts[0], err = s.put(ctx, k, base, base, next.mark(0), next.parts[0], notes{next.marks, next.apply}); err != nil {
		return err
	}
	return s.finish(ctx, k, after)
}

func (v *version) mark(i int) mark {
	return mark{version: v.id, index: i, count: len(v.parts), sum: digest(v.parts[i])}
}

// stage puts a part beside its place. A copy that an earlier try left is taken.
func (s *Store) stage(ctx context.Context, k Key, all objects, base *corev1.Secret, v *version, i int) (*corev1.Secret, error) {
	if left := all.stagedPart(v.id, i); left != nil {
		return left, nil
	}
	secret := k.newSecret(k.staged(v.id, i), base, v.mark(i), v.parts[i])
	secret.Labels[labelState] = stateStaged
	if err := s.Writer.Create(ctx, secret); err != nil {
		return nil, writing(secret, err)
	}
	return secret, nil
}

// notes are what is noted on a Secret beside its mark.
type notes struct {
	marks Marks
	apply string
}

func (n notes) put(secret *corev1.Secret) {
	n.marks.recalled(secret)
	if n.apply != "" {
		secret.Annotations[annotationApply] = n.apply
	}
}

// put writes a part in its place: old is what is there, nil for nothing.
func (s *Store) put(ctx context.Context, k Key, old, base *corev1.Secret, m mark, data []byte, n notes) (*corev1.Secret, error) {
	if old == nil {
		secret := k.newSecret(k.Secret(m.index), base, m, data)
		n.put(secret)
		if err := s.Writer.Create(ctx, secret); err != nil {
			return nil, writing(secret, err)
		}
		return secret, nil
	}
	secret := old.DeepCopy()
	if secret.Labels == nil {
		secret.Labels = map[string]string{}
	}
	maps.Copy(secret.Labels, k.secretLabels())
	if secret.Annotations == nil {
		secret.Annotations = map[string]string{}
	}
	secret.Annotations[annotationEncoding] = encodingGzip
	secret.Annotations[annotationPart] = m.String()
	n.put(secret)
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	secret.Data[secretKey] = data
	if err := s.Writer.Update(ctx, secret); err != nil { // with the resource version that was read
		return nil, writing(secret, err)
	}
	return secret, nil
}

func (k Key) newSecret(name string, base *corev1.Secret, m mark, data []byte) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: k.Namespace, Name: name, Labels: k.secretLabels(),
			Annotations: map[string]string{annotationEncoding: encodingGzip, annotationPart: m.String()},
		},
		Data: map[string][]byte{secretKey: data},
	}
	if base != nil {
		secret.OwnerReferences = slices.Clone(base.OwnerReferences)
	}
	return secret
}

// settle ends a write of somebody else. What belongs to another version than the current one is removed only after the
// base Secret was written, so that a writer who is about to name that version current fails instead.
func (s *Store) settle(ctx context.Context, k Key, c *current) error {
	base := c.parts[0].DeepCopy()
	if base.Annotations == nil {
		base.Annotations = map[string]string{}
	}
	fence, _ := strconv.Atoi(base.Annotations[annotationFence])
	base.Annotations[annotationFence] = strconv.Itoa(fence + 1)
	if err := s.Writer.Update(ctx, base); err != nil {
		return writing(base, err)
	}
	c.parts[0] = base
	return s.finish(ctx, k, c)
}

// finish ends a write whose base Secret is written: it puts waiting parts in their places and removes what is left over.
func (s *Store) finish(ctx context.Context, k Key, c *current) error {
	for i := 1; i < c.state.Parts; i++ {
		from := c.waiting[i]
		if from == nil {
			continue
		}
		m := markOf(from)
		var old *corev1.Secret
		if i < len(c.parts) {
			old = c.parts[i]
		}
		if _, err := s.put(ctx, k, old, c.parts[0], *m, from.Data[secretKey], notes{}); err != nil {
			return err
		}
	}
	for i := len(c.parts) - 1; i >= c.state.Parts; i-- {
		if c.parts[i] == nil {
			continue
		}
		if err := s.remove(ctx, c.parts[i]); err != nil {
			return err
		}
	}
	for _, staged := range c.staged {
		if err := s.remove(ctx, staged); err != nil {
			return err
		}
	}
	return nil
}

// Repair ends a write that stopped half way, so that stock clients can read the state again, and removes what it left
// behind. It tells whether there was anything to do. Only the holder of the lock, or the manager while no Job is active,
// may call it. Without a state there is nothing to repair; an unreadable state is an *Unreadable.
func (s *Store) Repair(ctx context.Context, k Key) (bool, error) {
	c, err := s.load(ctx, k)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil || !c.state.Interrupted {
		return false, err
	}
	return true, s.settle(ctx, k, c)
}

// Delete removes a state that is not needed any more: what a write left behind, then the parts from the highest to the
// lowest, the base Secret last (B-870, B-874). The lock and the backups stay. What changed since it was read is not
// deleted: the error is then ErrConflict.
func (s *Store) Delete(ctx context.Context, k Key) error {
	all, err := s.objects(ctx, k)
	if err != nil {
		return err
	}
	order := slices.Concat(all.staged, all.odd)
	for _, part := range slices.Backward(all.parts) {
		if part != nil {
			order = append(order, part)
		}
	}
	for _, secret := range order {
		if err := s.remove(ctx, secret); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes a Secret if it is still as it was read.
func (s *Store) remove(ctx context.Context, secret *corev1.Secret) error {
	err := s.Writer.Delete(ctx, secret, client.Preconditions{UID: new(secret.UID), ResourceVersion: new(secret.ResourceVersion)})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("deleting Secret %s/%s: %w", secret.Namespace, secret.Name, conflict(err))
	}
	return nil
}

// setAside takes a Secret that is in the way out of the state, and keeps its content.
func (s *Store) setAside(ctx context.Context, odd *corev1.Secret) error {
	secret := odd.DeepCopy()
	secret.Labels[labelState] = stateSetAside
	if err := s.Writer.Update(ctx, secret); err != nil {
		return writing(secret, err)
	}
	return nil
}

func writing(secret *corev1.Secret, err error) error {
	return fmt.Errorf("writing Secret %s/%s: %w", secret.Namespace, secret.Name, conflict(err))
}

// conflict makes a lost race an ErrConflict.
func conflict(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return err
}
