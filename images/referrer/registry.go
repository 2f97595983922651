package referrer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// registry keeps referrers in a repository of a registry.
type registry struct {
	repo    name.Repository
	options []remote.Option
}

// Registry returns the store of a repository. The options say how to talk to it.
func Registry(repo name.Repository, options ...remote.Option) Store {
	return &registry{repo: repo, options: options}
}

func (r *registry) with(ctx context.Context) []remote.Option {
	return append(slices.Clone(r.options), remote.WithContext(ctx))
}

// List implements Store.
func (r *registry) List(ctx context.Context, subject v1.Hash) ([]v1.Descriptor, error) {
	op := "listing the referrers of " + subject.String()
	index, err := remote.Referrers(r.repo.Digest(subject.String()), r.with(ctx)...)
	if err != nil {
		return nil, r.failed(op, err)
	}
	m, err := index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("%s: the registry sends no valid index: %w", op, ErrFormat)
	}
	if len(m.Manifests) > MaxReferrers {
		return nil, fmt.Errorf("%s: there are %d; at most %d are read: %w", op, len(m.Manifests), MaxReferrers, ErrTooLarge)
	}
	list := slices.Clone(m.Manifests)
	for i, d := range list {
		// Registries that do not know the field send the type of the config instead,
		// if anything.
		if d.ArtifactType != "" && d.ArtifactType != emptyType {
			continue
		}
		raw, err := r.manifest(ctx, d)
		if errors.Is(err, ErrNotFound) || errors.Is(err, ErrFormat) {
			continue // The tag of a registry without the API can name what was deleted.
		}
		if err != nil {
			return nil, err
		}
		var m v1.Manifest
		if json.Unmarshal(raw, &m) == nil {
			list[i].ArtifactType = artifactType(m)
		}
	}
	return sorted(list), nil
}

func sorted(list []v1.Descriptor) []v1.Descriptor {
	slices.SortFunc(list, func(a, b v1.Descriptor) int { return strings.Compare(a.Digest.String(), b.Digest.String()) })
	return list
}

// Content implements Store.
func (r *registry) Content(ctx context.Context, d v1.Descriptor, limit int64) ([]byte, string, error) {
	return content(ctx, r, d, limit)
}

func (r *registry) manifest(ctx context.Context, d v1.Descriptor) ([]byte, error) {
	got, err := remote.Get(r.repo.Digest(d.Digest.String()), r.with(ctx)...)
	if err != nil {
		return nil, r.failed("reading referrer "+d.Digest.String(), err)
	}
	return got.Manifest, nil
}

func (r *registry) blob(ctx context.Context, d v1.Descriptor) ([]byte, error) {
	op := "reading blob " + d.Digest.String()
	layer, err := remote.Layer(r.repo.Digest(d.Digest.String()), r.with(ctx)...)
	if err != nil {
		return nil, r.failed(op, err)
	}
	body, err := layer.Compressed()
	if err != nil {
		return nil, r.failed(op, err)
	}
	defer body.Close()
	return readBlob(op, body, d)
}

// readBlob reads a blob and compares it with its descriptor.
func readBlob(op string, body io.Reader, d v1.Descriptor) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(body, d.Size+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", op, err)
	case int64(len(b)) != d.Size:
		return nil, fmt.Errorf("%s: it does not have the %d bytes that its manifest says: %w", op, d.Size, ErrFormat)
	case digestOf(b) != d.Digest:
		return nil, fmt.Errorf("%s: its digest is %s: %w", op, digestOf(b), ErrFormat)
	}
	return b, nil
}

// Attach implements Store. The manifest comes last, so nobody sees half of it.
func (r *registry) Attach(ctx context.Context, a Artifact) (v1.Descriptor, error) {
	raw, d, err := a.Manifest()
	if err != nil {
		return v1.Descriptor{}, err
	}
	op := fmt.Sprintf("attaching %s to %s", a.Type, a.Subject.Digest)
	list, err := r.List(ctx, a.Subject.Digest)
	if err != nil {
		return v1.Descriptor{}, err
	}
	if slices.ContainsFunc(list, func(have v1.Descriptor) bool { return have.Digest == d.Digest }) {
		return d, nil
	}
	for _, b := range []v1.Layer{static.NewLayer(emptyConfig, emptyType), static.NewLayer(a.Content, types.MediaType(a.MediaType))} {
		if err := remote.WriteLayer(r.repo, b, r.with(ctx)...); err != nil {
			return v1.Descriptor{}, r.failed(op, err)
		}
	}
	if err := remote.Put(r.repo.Digest(d.Digest.String()), manifest(raw), r.with(ctx)...); err != nil {
		return v1.Descriptor{}, r.failed(op, err)
	}
	return d, nil
}

// manifest is a manifest to write.
type manifest []byte

// RawManifest implements remote.Taggable.
func (m manifest) RawManifest() ([]byte, error) { return m, nil }

// MediaType tells the registry's library what it writes.
func (m manifest) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// failed names an error of the library. Its text can hold URLs with the signature
// of a redirect, which are left out.
func (r *registry) failed(op string, err error) error {
	var answer *transport.Error
	if !errors.As(err, &answer) {
		return fmt.Errorf("%s: talking to %s: %w", op, r.repo.RegistryStr(), quiet(err))
	}
	text := fmt.Sprintf("%s answers %d %s", r.repo.RegistryStr(), answer.StatusCode, http.StatusText(answer.StatusCode))
	switch answer.StatusCode {
	case http.StatusNotFound:
		return fmt.Errorf("%s: %s: %w", op, text, ErrNotFound)
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%s: %s: log in with docker login %s or podman login %[3]s, with an account that may do this", op, text, r.repo.RegistryStr())
	}
	return fmt.Errorf("%s: %s", op, text)
}
