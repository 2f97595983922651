// Package record keeps what an object's runs were started with, so that a run can be repeated and undone when the objects
// that its inputs came from are long gone: the newest attempt, the newest success, and the inputs of the run under way
// (B-360..B-380).
//
// A record is one Secret: the two files of the generated root, and annotations with what they belong to and how it ended.
// Record is the only reader and writer of these annotations.
//
// Not in this package: the state (provider/internal/state) and how inputs are rendered (contract).
package record

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/names"
)

// Keys of a record's Secret.
const (
	// KeyRoot is the generated root module.
	KeyRoot = "main.tf.json"
	// KeyValues are the values of its variables.
	KeyValues = "terraform.tfvars.json"
	// KeyResult is the result of a run, which the broker leaves in the per-run Secret.
	KeyResult = "result.json"
)

// maxUnpullable is how many images a record remembers as not to be had (B-173).
const maxUnpullable = 3

// Record is what one run was started with.
type Record struct {
	// Job is the Job that the record belongs to.
	Job string
	// InputsHash is the hash of the inputs, Image the reference of the module image as it was written.
	InputsHash, Image string
	// ImageDigest is the digest that ran, on an applied record (B-369).
	ImageDigest string
	// Identity is the name of the credentials; IdentityKind is empty for a TerraformClusterIdentity.
	Identity     string
	IdentityKind infrav1.IdentityKind
	// Root and Values are the two files. They hold secrets.
	Root, Values []byte

	// Applied tells that an apply of the object ever succeeded; on the attempt record, never cleared (B-367).
	Applied bool
	// MayHaveApplied tells that the attempt may have changed infrastructure though it did not succeed (B-368).
	MayHaveApplied bool
	// UnconfirmedApply is an apply Job whose outcome is not known (B-200).
	UnconfirmedApply string
	// Unpullable are images that could not be pulled, newest last (B-173).
	Unpullable []string
}

// Marks are the annotations of a Record without its files, as they are read from cached metadata.
func Marks(annotations map[string]string) Record {
	r := Record{
		Job:              annotations[infrav1.AnnotationJob],
		InputsHash:       annotations[infrav1.AnnotationInputsHash],
		Image:            annotations[infrav1.AnnotationImage],
		ImageDigest:      annotations[infrav1.AnnotationImageDigest],
		Identity:         annotations[infrav1.AnnotationIdentity],
		IdentityKind:     infrav1.IdentityKind(annotations[infrav1.AnnotationIdentityKind]),
		Applied:          annotations[infrav1.AnnotationApplied] == "true",
		MayHaveApplied:   annotations[infrav1.AnnotationMayHaveApplied] == "true",
		UnconfirmedApply: annotations[infrav1.AnnotationUnconfirmedApply],
	}
	// A list that somebody broke by hand only costs a try to pull an image again.
	_ = json.Unmarshal([]byte(annotations[infrav1.AnnotationUnpullableImages]), &r.Unpullable)
	return r
}

// annotations are the inverse of Marks. A mark that is not set has no annotation.
func (r Record) annotations() map[string]string {
	a := map[string]string{
		infrav1.AnnotationJob:              r.Job,
		infrav1.AnnotationInputsHash:       r.InputsHash,
		infrav1.AnnotationImage:            r.Image,
		infrav1.AnnotationImageDigest:      r.ImageDigest,
		infrav1.AnnotationIdentity:         r.Identity,
		infrav1.AnnotationUnconfirmedApply: r.UnconfirmedApply,
	}
	if r.IdentityKind == infrav1.IdentityKindSecret {
		a[infrav1.AnnotationIdentityKind] = string(r.IdentityKind)
	}
	if r.Applied {
		a[infrav1.AnnotationApplied] = "true"
	}
	if r.MayHaveApplied {
		a[infrav1.AnnotationMayHaveApplied] = "true"
	}
	if n := len(r.Unpullable); n > 0 {
		if list, err := json.Marshal(r.Unpullable[max(0, n-maxUnpullable):]); err == nil { // strings always encode
			a[infrav1.AnnotationUnpullableImages] = string(list)
		}
	}
	maps.DeleteFunc(a, func(_, v string) bool { return v == "" })
	return a
}

// Owner is the object that records are kept for.
type Owner struct {
	Role      contract.Role
	Namespace string
	Name      string
	// Reference makes the records go, and move, with the object.
	Reference metav1.OwnerReference
	// Cluster is the name of its cluster, "" if unknown.
	Cluster string
}

// AttemptName and AppliedName are the names of the owner's Secrets.
func (o Owner) AttemptName() string { return contract.InputsSecretName(o.Role, o.Name) }

// AppliedName is the name of the Secret of the newest success.
func (o Owner) AppliedName() string { return contract.AppliedSecretName(o.Role, o.Name) }

func (o Owner) labels() map[string]string {
	labels := map[string]string{
		infrav1.LabelManaged:   "true",
		infrav1.LabelOwnerKind: o.Role.Kind(),
		infrav1.LabelOwnerName: names.LabelValue(o.Name),
	}
	if o.Cluster != "" {
		labels[infrav1.LabelCluster] = names.LabelValue(o.Cluster)
	}
	return labels
}

// Store reads and writes records. Reads are live.
type Store struct {
	Writer client.Writer
	Live   client.Reader
}

// Get reads the record of that name, or returns nil if there is none.
func (s *Store) Get(ctx context.Context, namespace, name string) (*Record, error) {
	secret, err := s.secret(ctx, namespace, name)
	if err != nil || secret == nil {
		return nil, err
	}
	r := Marks(secret.Annotations)
	r.Root, r.Values = secret.Data[KeyRoot], secret.Data[KeyValues]
	return &r, nil
}

// Result reads the result that a broker left in a per-run Secret, or nil.
func (s *Store) Result(ctx context.Context, namespace, job string) ([]byte, error) {
	secret, err := s.secret(ctx, namespace, names.RunSecret(job))
	if err != nil || secret == nil {
		return nil, err
	}
	return secret.Data[KeyResult], nil
}

func (s *Store) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := s.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading secret %s/%s: %w", namespace, name, err)
	}
	return secret, nil
}

// CreateRun writes the inputs of a Job. A Secret of that name that belongs to another Job is replaced; the Job's own is
// kept as it is (B-140).
func (s *Store) CreateRun(ctx context.Context, o Owner, job metav1.OwnerReference, r Record) error {
	name := names.RunSecret(job.Name)
	secret := o.secret(name, r)
	secret.OwnerReferences = []metav1.OwnerReference{job}
	err := s.Writer.Create(ctx, secret)
	if !apierrors.IsAlreadyExists(err) {
		return wrap(err, "creating secret", o.Namespace, name)
	}
	existing, err := s.secret(ctx, o.Namespace, name)
	if err != nil {
		return err
	}
	if existing != nil {
		if slices.ContainsFunc(existing.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == job.UID }) {
			return nil
		}
		if err := s.delete(ctx, existing); err != nil {
			return err
		}
	}
	secret.ResourceVersion = ""
	return wrap(s.Writer.Create(ctx, secret), "creating secret", o.Namespace, name)
}

// DeleteRun deletes the inputs of a Job.
func (s *Store) DeleteRun(ctx context.Context, namespace, job string) error {
	return s.delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.RunSecret(job)}})
}

// WriteAttempt records a Job as the newest attempt. Whether an apply ever succeeded, what could not be pulled and an apply
// whose outcome is unknown are kept; that the former attempt may have applied is not (B-360, B-368).
func (s *Store) WriteAttempt(ctx context.Context, o Owner, r Record) error {
	return s.write(ctx, o, o.AttemptName(), func(current *Record) *Record {
		if current != nil {
			if current.Job == r.Job {
				if current.Identity == r.Identity && current.IdentityKind == r.IdentityKind {
					return nil
				}
				// A Job that was withdrawn is made again under its name, and may run with other credentials.
				same := *current
				same.Identity, same.IdentityKind = r.Identity, r.IdentityKind
				return &same
			}
			r.Applied, r.Unpullable, r.UnconfirmedApply = current.Applied, current.Unpullable, current.UnconfirmedApply
		}
		return &r
	})
}

// WriteApplied records a Job as the newest success. It changes nothing if that is recorded already (B-370).
func (s *Store) WriteApplied(ctx context.Context, o Owner, r Record) error {
	return s.write(ctx, o, o.AppliedName(), func(current *Record) *Record {
		if current == nil {
			return &r
		}
		if r.ImageDigest == "" && r.Image == current.Image {
			r.ImageDigest = current.ImageDigest
		}
		if current.Job == r.Job && current.ImageDigest == r.ImageDigest {
			return nil
		}
		return &r
	})
}

// ReplaceApplied rewrites the record of the newest success.
func (s *Store) ReplaceApplied(ctx context.Context, o Owner, r Record) error {
	return s.write(ctx, o, o.AppliedName(), func(*Record) *Record { return &r })
}

// Mark changes the marks of the newest attempt. Without an attempt there is nothing to mark, unless create is true: then a
// record without files is made, so that the mark is not lost.
func (s *Store) Mark(ctx context.Context, o Owner, create bool, change func(*Record)) error {
	return s.write(ctx, o, o.AttemptName(), func(current *Record) *Record {
		var changed Record
		switch {
		case current != nil:
			changed = *current
			changed.Unpullable = slices.Clone(current.Unpullable)
		case !create:
			return nil
		}
		change(&changed)
		if current != nil && maps.Equal(changed.annotations(), current.annotations()) {
			return nil
		}
		return &changed
	})
}

// write replaces a record by what next makes of the current one, nil for no change. A race with another writer is an error,
// and the pass is repeated.
func (s *Store) write(ctx context.Context, o Owner, name string, next func(current *Record) *Record) error {
	existing, err := s.secret(ctx, o.Namespace, name)
	if err != nil {
		return err
	}
	if existing == nil {
		r := next(nil)
		if r == nil {
			return nil
		}
		secret := o.secret(name, *r)
		secret.OwnerReferences = []metav1.OwnerReference{o.Reference}
		return wrap(s.Writer.Create(ctx, secret), "creating secret", o.Namespace, name)
	}
	if existing.Labels[infrav1.LabelManaged] != "true" {
		return fmt.Errorf("writing secret %s/%s: it exists and is not managed by captf: rename or delete it", o.Namespace, name)
	}
	current := Marks(existing.Annotations)
	current.Root, current.Values = existing.Data[KeyRoot], existing.Data[KeyValues]
	r := next(&current)
	if r == nil {
		return nil
	}
	secret := o.secret(name, *r)
	secret.ResourceVersion = existing.ResourceVersion
	secret.OwnerReferences = []metav1.OwnerReference{o.Reference}
	for key, value := range existing.Annotations {
		if _, ours := recordAnnotations[key]; !ours {
			secret.Annotations[key] = value
		}
	}
	return wrap(s.Writer.Update(ctx, secret), "updating secret", o.Namespace, name)
}

// recordAnnotations are the annotations that a Record owns; others on its Secret are left alone.
var recordAnnotations = map[string]struct{}{
	infrav1.AnnotationJob: {}, infrav1.AnnotationInputsHash: {}, infrav1.AnnotationImage: {}, infrav1.AnnotationImageDigest: {},
	infrav1.AnnotationIdentity: {}, infrav1.AnnotationIdentityKind: {}, infrav1.AnnotationApplied: {}, infrav1.AnnotationMayHaveApplied: {},
	infrav1.AnnotationUnconfirmedApply: {}, infrav1.AnnotationUnpullableImages: {},
}

// Own makes the owner that of its Secret again, for example after somebody took the reference away: without one the Secret
// neither moves nor goes with its object. One that is not there, or not managed, is left alone.
func (s *Store) Own(ctx context.Context, o Owner, name string) error {
	secret, err := s.secret(ctx, o.Namespace, name)
	if err != nil || secret == nil || secret.Labels[infrav1.LabelManaged] != "true" {
		return err
	}
	secret.OwnerReferences = []metav1.OwnerReference{o.Reference}
	return wrap(s.Writer.Update(ctx, secret), "updating secret", o.Namespace, name)
}

// planKeySize is the length of a plan key in bytes (B-363).
const planKeySize = 32

// EnsurePlanKey makes the key of the object's plan hashes if there is none, and returns the name of its Secret. A key is
// never replaced: every approval would be void (B-363, B-767).
func (s *Store) EnsurePlanKey(ctx context.Context, o Owner) (string, error) {
	name := names.PlanKeySecret(o.Role, o.Name)
	existing, err := s.secret(ctx, o.Namespace, name)
	if err != nil || existing != nil {
		return name, err
	}
	key := make([]byte, planKeySize)
	rand.Read(key) // never fails
	secret := o.secret(name, Record{})
	secret.OwnerReferences = []metav1.OwnerReference{o.Reference}
	secret.Data = map[string][]byte{"key": key}
	if err := s.Writer.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", wrap(err, "creating secret", o.Namespace, name)
	}
	return name, nil
}

// Delete deletes the records of an object that ends.
func (s *Store) Delete(ctx context.Context, o Owner) error {
	for _, name := range []string{o.AttemptName(), o.AppliedName(), names.PlanKeySecret(o.Role, o.Name)} {
		if err := s.delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: name}}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) delete(ctx context.Context, secret *corev1.Secret) error {
	return wrap(client.IgnoreNotFound(s.Writer.Delete(ctx, secret)), "deleting secret", secret.Namespace, secret.Name)
}

func (o Owner) secret(name string, r Record) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: name, Labels: o.labels(), Annotations: r.annotations()},
		Data:       map[string][]byte{KeyRoot: r.Root, KeyValues: r.Values},
	}
}

func wrap(err error, what, namespace, name string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s/%s: %w", what, namespace, name, err)
}
