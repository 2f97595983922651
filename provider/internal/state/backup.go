package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// Keys of backups (B-452).
const (
	labelBackupSuffix    = infrav1.LabelStateBackup + "-suffix"
	backupSerial         = infrav1.LabelStateBackup + "-serial"
	backupLineage        = infrav1.LabelStateBackup + "-lineage"
	backupTakenAt        = infrav1.LabelStateBackup + "-taken-at"
	backupSourceJob      = infrav1.LabelStateBackup + "-source-job"
	backupDigest         = infrav1.LabelStateBackup + "-digest"
	backupContent        = infrav1.LabelStateBackup + "-content" // a digest without serial and check results
	backupResources      = infrav1.LabelStateBackup + "-resources"
	backupSet            = infrav1.LabelStateBackup + "-set"
	backupChunk          = infrav1.LabelStateBackup + "-chunk"
	backupChunks         = infrav1.LabelStateBackup + "-chunks"
	backupBytes          = infrav1.LabelStateBackup + "-bytes" // of the whole set, compressed; for status.stateBackups
	backupNamePrefix     = "captf-state-backup-"
	backupPartSeparator  = "-part-"
	backupConflictDigits = 8
)

// Backup is one set of Secrets with one version of a state.
type Backup struct {
	// Serial, Lineage, Digest, Resources and Bytes are those of the State.
	Serial    uint64
	Lineage   string
	Digest    string
	Resources int
	Bytes     int64
	// TakenAt is when the backup was begun.
	TakenAt time.Time
	// Job is the Job that was running, "" for none.
	Job string
	// Set tells sets of one serial apart; it is the name of the first Secret.
	Set string
	// Content is the same for versions that differ in nothing but serial and check results, "" if that is not known.
	Content string
	// InputsHash and Image are the annotations of the state, "" without, and for a version from the middle of an apply.
	InputsHash string
	Image      string
	// Secrets are the names of the Secrets that exist, by chunk.
	Secrets []string
	// Complete tells that none is missing (B-453).
	Complete bool

	chunks  int
	objects []metav1.PartialObjectMetadata
}

// BackupOptions say what is written on a backup.
type BackupOptions struct {
	// Job is the Job that wrote the version.
	Job string
	// Owner is the owner where the base Secret has none.
	Owner *metav1.OwnerReference
}

// Backup keeps the current version, if its serial is not 0, it has no complete backup yet (B-450), and more than its serial
// and check results differ from the newest one: refreshes must not push out what a restore needs. It tells whether it took
// one. The errors are those of Read, and of the API server.
func (s *Store) Backup(ctx context.Context, k Key, o BackupOptions) (bool, error) {
	cur, err := s.load(ctx, k)
	if err != nil || cur.state.Serial == 0 {
		return false, err
	}
	sets, err := s.Backups(ctx, k)
	if err != nil {
		return false, err
	}
	return s.kept(ctx, k, sets, cur, o.Job, o.Owner)
}

// kept sees to it that a version has a backup with its marks, and tells whether it took one.
func (s *Store) kept(ctx context.Context, k Key, sets []Backup, cur *current, job string, owner *metav1.OwnerReference) (bool, error) {
	if b := keeper(sets, cur); b != nil {
		return false, s.markBackup(ctx, b, cur)
	}
	return true, s.keep(ctx, k, cur, job, owner)
}

// marks are the marks of a version, as its backup has them: none if it was written by an apply that has not succeeded. Those
// on the state are then of the success before, whose version this is not.
func (c *current) marks() (hash, image string) {
	if c.parts[0].Annotations[annotationApply] != "" {
		return "", ""
	}
	return c.state.InputsHash, c.state.Image
}

// markBackup notes on a backup what a state of its content was marked with since: an apply that succeeds without a change
// writes no version, and one that ends with a check writes none that is worth a backup.
func (s *Store) markBackup(ctx context.Context, b *Backup, cur *current) error {
	hash, image := cur.marks()
	if hash == "" || b.InputsHash == hash && b.Image == image {
		return nil
	}
	var secret corev1.Secret
	key := client.ObjectKeyFromObject(&b.objects[0])
	if err := s.Live.Get(ctx, key, &secret); err != nil {
		return fmt.Errorf("reading backup %s: %w", key, err)
	}
	hashed := note(&secret, infrav1.AnnotationInputsHash, &hash)
	if !note(&secret, infrav1.AnnotationImage, &image) && !hashed {
		return nil
	}
	if err := s.Writer.Update(ctx, &secret); err != nil {
		return writing(&secret, err)
	}
	return nil
}

// keep writes a version as a backup. What an earlier try left of it is completed.
func (s *Store) keep(ctx context.Context, k Key, cur *current, job string, owner *metav1.OwnerReference) error {
	var owners []metav1.OwnerReference
	if len(cur.parts[0].OwnerReferences) > 0 {
		owners = cur.parts[0].OwnerReferences
	} else if owner != nil {
		owners = []metav1.OwnerReference{*owner}
	}
	st := cur.state
	hash, image := cur.marks()
	name := backupNamePrefix + k.Suffix + "-" + strconv.FormatUint(st.Serial, 10)
	taken := s.Clock.Now().UTC().Format(time.RFC3339Nano)
	parts := s.split(cur.gz)
	labels := maps.Clone(k.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[infrav1.LabelStateBackup], labels[labelBackupSuffix] = "true", k.Suffix
	said := content(cur.raw)
	for i := 0; i < len(parts); i++ {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: k.Namespace, Name: name, Labels: labels, OwnerReferences: owners,
				Annotations: map[string]string{
					annotationEncoding: encodingGzip,
					backupSerial:       strconv.FormatUint(st.Serial, 10), backupLineage: st.Lineage, backupTakenAt: taken, backupSourceJob: job,
					backupDigest: st.Digest, backupContent: said, backupResources: strconv.Itoa(st.Resources), backupBytes: strconv.Itoa(st.Bytes),
					backupSet: name, backupChunk: strconv.Itoa(i), backupChunks: strconv.Itoa(len(parts)),
				},
			},
			Data: map[string][]byte{secretKey: parts[i]},
		}
		if i > 0 {
			secret.Name += backupPartSeparator + strconv.Itoa(i)
		} else {
			note(secret, infrav1.AnnotationInputsHash, &hash)
			note(secret, infrav1.AnnotationImage, &image)
		}
		err := s.Writer.Create(ctx, secret)
		if apierrors.IsAlreadyExists(err) {
			var there corev1.Secret
			if err = s.Live.Get(ctx, client.ObjectKeyFromObject(secret), &there); err == nil && !same(&there, secret) {
				full := name + "-" + st.Digest[:backupConflictDigits]
				if i > 0 || name == full {
					return fmt.Errorf("backing up state %s/%s: Secret %s is something else: move it away", k.Namespace, k.Secret(0), secret.Name)
				}
				name, i = full, -1 // the same serial with another content is kept beside (B-451)
				continue
			}
		}
		if err != nil {
			return fmt.Errorf("backing up state %s/%s: writing Secret %s: %w", k.Namespace, k.Secret(0), secret.Name, conflict(err))
		}
	}
	return nil
}

// same tells whether a Secret is the same chunk of the same content.
func same(a, b *corev1.Secret) bool {
	for _, key := range []string{backupDigest, backupSet, backupChunk, backupChunks} {
		if a.Annotations[key] != b.Annotations[key] {
			return false
		}
	}
	return a.Labels[labelBackupSuffix] == b.Labels[labelBackupSuffix] && slices.Equal(a.Data[secretKey], b.Data[secretKey])
}

// Backups returns the backups of a state, the newest first, complete or not. It reads metadata only.
func (s *Store) Backups(ctx context.Context, k Key) ([]Backup, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := s.Live.List(ctx, list, client.InNamespace(k.Namespace),
		client.MatchingLabels{infrav1.LabelStateBackup: "true", labelBackupSuffix: k.Suffix})
	if err != nil {
		return nil, fmt.Errorf("listing the backups of state %s/%s: %w", k.Namespace, k.Secret(0), err)
	}
	return Gather(list.Items), nil
}

// Gather groups the metadata of Secrets into sets, the newest first. One whose annotations were damaged is a set of its own,
// incomplete.
func Gather(list []metav1.PartialObjectMetadata) []Backup {
	sets := map[string]*Backup{}
	seen := map[string]map[int]bool{}
	slices.SortFunc(list, func(a, b metav1.PartialObjectMetadata) int {
		return cmp.Or(cmp.Compare(number(&a, backupChunk), number(&b, backupChunk)), cmp.Compare(a.Name, b.Name))
	})
	for i := range list {
		m := &list[i]
		set := cmp.Or(m.Annotations[backupSet], m.Name)
		b := sets[set]
		if b == nil {
			b = &Backup{
				Set: set, Lineage: m.Annotations[backupLineage], Digest: m.Annotations[backupDigest], Job: m.Annotations[backupSourceJob],
				Resources: max(0, number(m, backupResources)), Bytes: int64(max(0, number(m, backupBytes))), chunks: number(m, backupChunks),
				Content:    m.Annotations[backupContent],
				InputsHash: m.Annotations[infrav1.AnnotationInputsHash], Image: m.Annotations[infrav1.AnnotationImage],
			}
			b.Serial, _ = strconv.ParseUint(m.Annotations[backupSerial], 10, 64)
			b.TakenAt, _ = time.Parse(time.RFC3339Nano, m.Annotations[backupTakenAt])
			sets[set], seen[set] = b, map[int]bool{}
		}
		b.Secrets = append(b.Secrets, m.Name)
		b.objects = append(b.objects, *m)
		if c := number(m, backupChunk); m.Annotations[backupDigest] == b.Digest && number(m, backupChunks) == b.chunks && c >= 0 && c < b.chunks {
			seen[set][c] = true
		}
	}
	all := make([]Backup, 0, len(sets))
	for set, b := range sets {
		b.Complete = b.Serial > 0 && b.chunks >= 1 && b.chunks <= MaxParts && len(seen[set]) == b.chunks && len(b.Secrets) == b.chunks
		all = append(all, *b)
	}
	slices.SortFunc(all, func(a, b Backup) int {
		return cmp.Or(b.TakenAt.Compare(a.TakenAt), cmp.Compare(b.Serial, a.Serial), cmp.Compare(a.Set, b.Set))
	})
	return all
}

func number(m *metav1.PartialObjectMetadata, key string) int {
	n, err := strconv.Atoi(m.Annotations[key])
	if err != nil {
		return -1
	}
	return n
}

// Prune keeps the newest complete sets and deletes the others (B-454). An incomplete set is deleted unless it is the newest
// of all, which may be in the making. Sets named in pinned, those of a restore that was asked for, neither go nor count.
// With keep 0 nothing is deleted (provider-ops.md 1.1).
func (s *Store) Prune(ctx context.Context, k Key, keep int, pinned ...string) error {
	if keep <= 0 {
		return nil
	}
	sets, err := s.Backups(ctx, k)
	if err != nil {
		return err
	}
	var errs []error
	for _, b := range surplus(sets, keep, pinned) {
		for _, meta := range slices.Backward(b.objects) { // chunk 0, which names the set, goes last
			key := client.ObjectKeyFromObject(&meta)
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
			if err := s.Writer.Delete(ctx, secret); err != nil && !apierrors.IsNotFound(err) {
				errs = append(errs, fmt.Errorf("deleting backup %s/%s: %w", key.Namespace, key.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// surplus returns the sets that go. The sets come newest first.
func surplus(sets []Backup, keep int, pinned []string) []Backup {
	var gone []Backup
	for i, b := range sets {
		switch {
		case slices.Contains(pinned, b.Set):
		case !b.Complete && i == 0:
		case !b.Complete:
			gone = append(gone, b)
		case keep > 0:
			keep--
		default:
			gone = append(gone, b)
		}
	}
	return gone
}
