package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// withLabels takes the labels that a state has, or else those of its backups, where none were given.
func (s *Store) withLabels(ctx context.Context, k Key) (Key, error) {
	if len(k.Labels) > 0 {
		return k, nil
	}
	all, err := s.objects(ctx, k)
	if err != nil {
		return k, err
	}
	for _, part := range all.parts {
		if part != nil {
			k.Labels = without(part.Labels, slices.Collect(maps.Keys(k.stock()))...)
			return k, nil
		}
	}
	sets, err := s.Backups(ctx, k)
	if err != nil {
		return k, err
	}
	if len(sets) > 0 {
		k.Labels = without(sets[0].objects[0].Labels, infrav1.LabelStateBackup, labelBackupSuffix)
		return k, nil
	}
	return k, fmt.Errorf("storing state %s/%s: neither it nor a backup of it is there whose labels could be taken: give the five of its object"+
		" with --label, as %s=KIND, %s=NAME, %s=CLUSTER, %s=true and %s=", k.Namespace, k.Secret(0),
		infrav1.LabelOwnerKind, infrav1.LabelOwnerName, infrav1.LabelCluster, infrav1.LabelManaged, infrav1.LabelMove)
}

func without(labels map[string]string, keys ...string) map[string]string {
	left := maps.Clone(labels)
	for _, key := range keys {
		delete(left, key)
	}
	return left
}

// recall finds what a state that is stored by hand is marked with (B-412). Of an object that can be applied again the file may
// be of any time, also from the middle of an apply, and a mark that is not of just that time would keep back an apply that is
// needed: it gets none, so that the object is applied again. A machine is applied once; it has the marks of the backup of
// the file's content, or else those of the newest backup that is not newer. The second value tells a user what
// came of it; it is "" if the state has its marks yet.
func (s *Store) recall(ctx context.Context, k Key, v *version) (Marks, string, error) {
	cur, all, err := s.before(ctx, k)
	switch unreadable := (*Unreadable)(nil); {
	case err != nil && !errors.Is(err, ErrNotFound) && !errors.As(err, &unreadable):
		return Marks{}, "", err
	case !k.once() && cur != nil && content(cur.raw) == content(v.raw):
		return Marks{}, "", nil
	case !k.once():
		return Marks{InputsHash: new(string)}, "the object is applied again, since it is not known which inputs this state is of", nil
	case len(all.parts) > 0 && all.parts[0] != nil && all.parts[0].Annotations[infrav1.AnnotationInputsHash] != "":
		return Marks{}, "", nil
	}
	sets, err := s.Backups(ctx, k)
	if err != nil {
		return Marks{}, "", err
	}
	b := source(sets, v)
	if b == nil {
		return Marks{}, fmt.Sprintf("the hash of the inputs could not be recalled: there is no complete backup of lineage %s up to serial %d. %s",
			v.state.Lineage, v.state.Serial, k.unmarked()), nil
	}
	if b.InputsHash == "" {
		return Marks{}, fmt.Sprintf("the hash of the inputs could not be recalled: backup %s, of serial %d, has none, since no apply had succeeded"+
			" when it was taken. %s", b.Set, b.Serial, k.unmarked()), nil
	}
	m := Marks{InputsHash: &b.InputsHash, Settled: true}
	if b.Image != "" {
		m.Image = &b.Image
	}
	return m, fmt.Sprintf("the hash of the inputs, %s, is that of backup %s, of serial %d", b.InputsHash, b.Set, b.Serial), nil
}

// source returns the backup whose marks a version takes, nil for none.
func source(sets []Backup, v *version) *Backup {
	of := slices.DeleteFunc(slices.Clone(sets), func(b Backup) bool {
		return !b.Complete || b.Lineage != v.state.Lineage
	})
	same := content(v.raw)
	if i := slices.IndexFunc(of, func(b Backup) bool { return b.Digest == v.id || b.Content != "" && b.Content == same }); i >= 0 {
		return &of[i]
	}
	of = slices.DeleteFunc(of, func(b Backup) bool { return b.Serial > v.state.Serial })
	if len(of) == 0 {
		return nil
	}
	slices.SortStableFunc(of, func(a, b Backup) int { return cmp.Compare(b.Serial, a.Serial) })
	return &of[0]
}

// once tells that the state is that of a machine, which is applied once (B-400).
func (k Key) once() bool { return strings.HasSuffix(k.Suffix, "-"+contract.RoleMachine.ShortKind()) }

// unmarked says what a machine's state without a hash means, and how it gets one.
func (k Key) unmarked() string {
	return fmt.Sprintf("The machine stays StateLost until you set it: kubectl annotate -n %s secret %s %s=HASH. The record of its newest success,"+
		" the Secret captf-applied-…, has the hash of that in an annotation of the same name", k.Namespace, k.Secret(0), infrav1.AnnotationInputsHash)
}

// lacks tells that a base Secret has not got a mark of those that were recalled.
func (m Marks) lacks(base *corev1.Secret) bool {
	return m.recalled(base.DeepCopy())
}

// recalled sets marks where there are none, or takes them away, and tells whether it did.
func (m Marks) recalled(base *corev1.Secret) bool {
	changed := false
	for key, value := range map[string]*string{infrav1.AnnotationInputsHash: m.InputsHash, infrav1.AnnotationImage: m.Image} {
		if base.Annotations[key] == "" || value != nil && *value == "" {
			changed = note(base, key, value) || changed
		}
	}
	return m.Settled && note(base, annotationApply, new(string)) || changed
}
