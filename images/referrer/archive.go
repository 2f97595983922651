package referrer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/captf-toolkit/captf/images/source"
)

// archive reads what an archive of a layout lists beside its image.
type archive struct{ src *source.Source }

// Of returns the store beside an opened image. That of an archive can be read
// only.
func Of(src *source.Source, opts source.Options) (Store, error) {
	if src.Reference.Kind == source.Tarball {
		return &archive{src}, nil
	}
	return At(src.Reference, opts)
}

// List implements Store.
func (a *archive) List(ctx context.Context, subject v1.Hash) ([]v1.Descriptor, error) {
	op := "listing the referrers of " + subject.String() + " in " + a.src.Reference.Path
	listed, err := a.src.Listed()
	if err != nil {
		return nil, err
	}
	return referring(op, listed, subject, func(d v1.Descriptor) ([]byte, error) {
		raw, err := a.src.Document(ctx, d)
		if errors.Is(err, source.ErrNotFound) {
			return nil, ErrNotFound
		}
		return raw, err
	})
}

// Content implements Store.
func (a *archive) Content(ctx context.Context, d v1.Descriptor, limit int64) ([]byte, string, error) {
	return content(ctx, a, d, limit)
}

func (a *archive) manifest(ctx context.Context, d v1.Descriptor) ([]byte, error) {
	return a.src.Document(ctx, d)
}

func (a *archive) blob(ctx context.Context, d v1.Descriptor) ([]byte, error) {
	body, err := a.src.Content(ctx, d)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return readBlob("reading blob "+d.Digest.String(), body, d)
}

// Attach implements Store.
func (a *archive) Attach(context.Context, Artifact) (v1.Descriptor, error) {
	return v1.Descriptor{}, fmt.Errorf("%s: %w", a.src.Reference, ErrArchive)
}

// referring returns those of the listed manifests that refer to the subject. read
// returns ErrNotFound for what an export of one platform lists and does not hold.
func referring(op string, listed []v1.Descriptor, subject v1.Hash, read func(v1.Descriptor) ([]byte, error)) ([]v1.Descriptor, error) {
	if len(listed) > MaxReferrers {
		return nil, fmt.Errorf("%s: index.json lists %d manifests; at most %d are read: %w", op, len(listed), MaxReferrers, ErrTooLarge)
	}
	var list []v1.Descriptor
	for _, d := range listed {
		if d.MediaType.IsIndex() {
			continue // An index of images refers to none of them by a subject.
		}
		raw, err := read(d)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var m v1.Manifest
		if json.Unmarshal(raw, &m) != nil || m.Subject == nil || m.Subject.Digest != subject {
			continue
		}
		d.ArtifactType = artifactType(m)
		list = append(list, d)
	}
	return sorted(list), nil
}
