package referrer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Limits of what is read.
const (
	// MaxManifest is the limit of a manifest or index, in bytes.
	MaxManifest = 4 << 20
	// MaxReferrers is how many referrers of one subject are listed.
	MaxReferrers = 1024
)

var (
	// ErrNotFound tells that there is no such image.
	ErrNotFound = errors.New("not found")
	// ErrFormat tells that a referrer is not what it should be.
	ErrFormat = errors.New("malformed referrer")
	// ErrTooLarge tells that a referrer is over a limit.
	ErrTooLarge = errors.New("referrer too large")
)

// emptyConfig is the config of an artifact (OCI image-spec 1.1, "Guidance for an
// empty descriptor").
var emptyConfig = []byte("{}")

const emptyType = "application/vnd.oci.empty.v1+json"

// Artifact is what is attached to a manifest.
type Artifact struct {
	// Type is the artifact type.
	Type string
	// Subject is the manifest that it belongs to.
	Subject v1.Descriptor
	// MediaType is that of the content, usually the artifact type.
	MediaType string
	// Content is the one layer.
	Content []byte
	// Annotations are those of the manifest.
	Annotations map[string]string
}

// Manifest returns the manifest byte by byte, and its descriptor as it stands in
// a list of referrers.
func (a Artifact) Manifest() ([]byte, v1.Descriptor, error) {
	config, layer := digestOf(emptyConfig), digestOf(a.Content)
	raw, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: a.Type,
		Config:      v1.Descriptor{MediaType: emptyType, Digest: config, Size: int64(len(emptyConfig)), Data: emptyConfig},
		Layers:      []v1.Descriptor{{MediaType: types.MediaType(a.MediaType), Digest: layer, Size: int64(len(a.Content))}},
		Subject:     &v1.Descriptor{MediaType: a.Subject.MediaType, Digest: a.Subject.Digest, Size: a.Subject.Size},
		Annotations: a.Annotations,
	})
	if err != nil {
		return nil, v1.Descriptor{}, fmt.Errorf("writing manifest of %s: %w", a.Type, err)
	}
	return raw, v1.Descriptor{
		MediaType: types.OCIManifestSchema1, Digest: digestOf(raw), Size: int64(len(raw)),
		ArtifactType: a.Type, Annotations: a.Annotations,
	}, nil
}

func digestOf(b []byte) v1.Hash {
	h, _, err := v1.SHA256(bytes.NewReader(b))
	if err != nil {
		panic("hashing bytes in memory: " + err.Error())
	}
	return h
}

// Store keeps referrers.
type Store interface {
	// List returns the descriptors of what refers to the manifest, in the order of
	// their digests, with their artifact types.
	List(ctx context.Context, subject v1.Hash) ([]v1.Descriptor, error)
	// Content returns the one layer of a referrer, which has at most limit bytes,
	// and its media type.
	Content(ctx context.Context, referrer v1.Descriptor, limit int64) (content []byte, mediaType string, err error)
	// Attach writes an artifact, and returns its descriptor. What is there already
	// is left alone.
	Attach(ctx context.Context, a Artifact) (v1.Descriptor, error)
}

// blobs are how a place is read.
type blobs interface {
	// manifest returns a manifest, checked against its digest.
	manifest(ctx context.Context, d v1.Descriptor) ([]byte, error)
	// blob returns a blob of at most d.Size bytes, checked against its digest.
	blob(ctx context.Context, d v1.Descriptor) ([]byte, error)
}

// content reads the one layer of a referrer.
func content(ctx context.Context, from blobs, d v1.Descriptor, limit int64) ([]byte, string, error) {
	raw, err := from.manifest(ctx, d)
	if err != nil {
		return nil, "", err
	}
	var m v1.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, "", fmt.Errorf("reading referrer %s: it is not a valid manifest: %w", d.Digest, ErrFormat)
	}
	if len(m.Layers) != 1 {
		return nil, "", fmt.Errorf("reading referrer %s: it has %d layers instead of one: %w", d.Digest, len(m.Layers), ErrFormat)
	}
	layer := m.Layers[0]
	if layer.Size < 0 || layer.Size > limit {
		return nil, "", fmt.Errorf("reading referrer %s: its layer has %d bytes, more than %d: %w", d.Digest, layer.Size, limit, ErrTooLarge)
	}
	b, err := from.blob(ctx, layer)
	if err != nil {
		return nil, "", err
	}
	return b, string(layer.MediaType), nil
}

// artifactType is the type of a manifest, which is that of its config when it
// names none (OCI distribution-spec 1.1, "Listing Referrers").
func artifactType(m v1.Manifest) string {
	if m.ArtifactType != "" {
		return m.ArtifactType
	}
	return string(m.Config.MediaType)
}
