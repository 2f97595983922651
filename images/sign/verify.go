package sign

import (
	"context"
	"errors"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// MaxReferrers is how many bundles of one image are looked at.
const MaxReferrers = 256

// Referrers reads what is attached to images.
type Referrers interface {
	// List returns the descriptors of what refers to the manifest, with their
	// artifact types.
	List(ctx context.Context, subject v1.Hash) ([]v1.Descriptor, error)
	// Content returns the one layer of a referrer, which has at most limit bytes,
	// and its media type.
	Content(ctx context.Context, referrer v1.Descriptor, limit int64) ([]byte, string, error)
}

// Verified is a bundle that was verified.
type Verified struct {
	// Referrer is the digest of the manifest that it is in.
	Referrer v1.Hash `json:"referrer"`
	// Signer is the key, or whose certificate it is.
	Signer string `json:"signer"`
	// Statement is what was signed.
	Statement Statement `json:"statement"`
}

// Checker verifies one bundle and says who has signed it.
type Checker func(*Bundle) (signer string, err error)

// Key returns the checker of a key.
func Key(key PublicKey) Checker {
	return func(b *Bundle) (string, error) {
		switch {
		case b.Certificate:
			return "", Errorf(ErrOtherKey, "it is signed with a certificate, not with a key")
		case key.Verify(b):
			return "key " + key.ID, nil
		case b.KeyHint == key.ID:
			return "", Errorf(ErrTampered, "it is of this key, but its payload or signature was changed after signing")
		case b.KeyHint == "":
			return "", Errorf(ErrOtherKey, "it is signed by another key, or was changed after signing")
		}
		return "", Errorf(ErrOtherKey, "it is signed by the key %s", printable(b.KeyHint))
	}
}

// VerifyKey returns the bundles attached to the image whose signature is by the
// key, and whose statement is about the image and of the predicate type. Without
// one the error is a *Failure, which says why others do not count, or an error of
// reading. The predicate type of signatures is PredicateSignature: that someone
// attested something about an image does not say that they want it used.
func VerifyKey(ctx context.Context, from Referrers, image v1.Hash, key PublicKey, predicate string) ([]Verified, error) {
	return Verify(ctx, from, image, predicate, "key "+key.ID, Key(key))
}

// Verify is VerifyKey with another checker; signer says for messages whom it
// wants.
func Verify(ctx context.Context, from Referrers, image v1.Hash, predicate, signer string, check Checker) ([]Verified, error) {
	list, err := from.List(ctx, image)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(slices.Clone(list), func(d v1.Descriptor) bool { return !IsBundle(d.ArtifactType) })
	failure := &Failure{Image: image, Predicate: predicate, Signer: signer}
	if len(list) > MaxReferrers {
		return nil, Errorf(ErrTooLarge, "verifying %s: %d bundles are attached; at most %d are looked at", image, len(list), MaxReferrers)
	}
	var out []Verified
	for _, d := range list {
		v, err := verify(ctx, from, d, image, check)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			failure.Problems = append(failure.Problems, Problem{Referrer: d.Digest, Err: err})
		case v.Statement.PredicateType == predicate:
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		return nil, failure
	}
	return out, nil
}

func verify(ctx context.Context, from Referrers, d v1.Descriptor, image v1.Hash, check Checker) (Verified, error) {
	raw, mediaType, err := from.Content(ctx, d, MaxBundle)
	if err != nil {
		return Verified{}, err
	}
	if !IsBundle(mediaType) {
		return Verified{}, Errorf(ErrFormat, "its layer has the media type %q instead of %s", printable(mediaType), MediaType)
	}
	b, err := ParseBundle(raw)
	if err != nil {
		return Verified{}, err
	}
	signer, err := check(b)
	if err != nil {
		return Verified{}, err
	}
	s, err := b.Statement()
	if err != nil {
		return Verified{}, err
	}
	if err := s.CheckSubject(image); err != nil {
		return Verified{}, err
	}
	return Verified{Referrer: d.Digest, Signer: signer, Statement: s}, nil
}

// IsUnsigned tells that an error means that the signature is not there, rather
// than that it could not be read.
func IsUnsigned(err error) bool {
	f, ok := errors.AsType[*Failure](err)
	if !ok {
		return false
	}
	for _, p := range f.Problems {
		if _, ok := errors.AsType[*Error](p.Err); !ok {
			return false
		}
	}
	return true
}
