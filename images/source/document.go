package source

import (
	"bytes"
	"encoding/hex"
	"encoding/json"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// document is a manifest or an index as it was read.
type document struct {
	raw       []byte
	mediaType types.MediaType
	digest    v1.Hash
}

// verify compares with a descriptor, as far as it says something, and sets the digest.
func (d *document) verify(op string, want v1.Descriptor) error {
	if want.Size >= 0 && want.Size != int64(len(d.raw)) {
		return fail(ErrCorrupt, op, "it has %d bytes, but its index says %d", len(d.raw), want.Size).hint("push or export the image again")
	}
	algorithm := want.Digest.Algorithm
	if algorithm == "" {
		algorithm = "sha256"
	}
	h, err := v1.Hasher(algorithm)
	if err != nil {
		return fail(ErrFormat, op, "its digest is of the unknown kind %q", printable(algorithm))
	}
	h.Write(d.raw)
	d.digest = v1.Hash{Algorithm: algorithm, Hex: hex.EncodeToString(h.Sum(nil))}
	if want.Digest != (v1.Hash{}) && d.digest != want.Digest {
		return fail(ErrCorrupt, op, "its content has the digest %s", d.digest).
			hint("it was changed or damaged: push or export the image again")
	}
	return nil
}

// probe is what tells the kinds of documents apart.
type probe struct {
	SchemaVersion int             `json:"schemaVersion"`
	MediaType     types.MediaType `json:"mediaType"`
	Manifests     json.RawMessage `json:"manifests"`
	Layers        json.RawMessage `json:"layers"`
	Config        json.RawMessage `json:"config"`
	FSLayers      json.RawMessage `json:"fsLayers"`
}

// parse returns an index or a manifest, never both. Exactly one result is set.
func (d *document) parse(op string) (*v1.IndexManifest, *v1.Manifest, error) {
	var p probe
	if looksLikeHTML(d.raw) {
		return nil, nil, fail(ErrFormat, op, "it is a web page, not a manifest")
	}
	if err := json.Unmarshal(d.raw, &p); err != nil {
		return nil, nil, fail(ErrFormat, op, "it is not a JSON object: %s", jsonText(err))
	}
	switch {
	case d.mediaType.IsSchema1(), p.MediaType.IsSchema1(), p.SchemaVersion == 1 || p.FSLayers != nil:
		return nil, nil, fail(ErrFormat, op, "it is of Docker's schema 1, which is not supported").hint("push the image again with a current client")
	case p.SchemaVersion != 2:
		return nil, nil, fail(ErrFormat, op, "it is no image manifest (schemaVersion %d, not 2)", p.SchemaVersion)
	case p.Manifests != nil && (p.Layers != nil || p.Config != nil):
		return nil, nil, fail(ErrFormat, op, "it is an index and an image at once, which readers take differently").hint("build the image again")
	}
	mediaType := p.MediaType
	if mediaType == "" {
		mediaType = d.mediaType
	}
	known := mediaType.IsIndex() || mediaType.IsImage()
	if known && mediaType.IsIndex() != (p.Manifests != nil) {
		return nil, nil, fail(ErrFormat, op, "its media type is %s, but its content is not", mediaType)
	}
	if p.MediaType != "" && d.mediaType != p.MediaType && (d.mediaType.IsIndex() || d.mediaType.IsImage()) {
		return nil, nil, fail(ErrFormat, op, "it is served as %s, but says of itself %s", d.mediaType, printable(string(p.MediaType)))
	}
	if !known {
		if p.MediaType != "" {
			return nil, nil, fail(ErrFormat, op, "its media type %s is no image", printable(string(p.MediaType)))
		}
		mediaType = types.OCIManifestSchema1
		if p.Manifests != nil {
			mediaType = types.OCIImageIndex
		}
	}
	d.mediaType = mediaType
	if p.Manifests != nil {
		index, err := v1.ParseIndexManifest(bytes.NewReader(d.raw))
		if err != nil {
			return nil, nil, fail(ErrFormat, op, "it is not a valid index: %s", jsonText(err))
		}
		return index, nil, nil
	}
	if p.Config == nil {
		return nil, nil, fail(ErrFormat, op, "it has no config, so it is no image")
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(d.raw))
	if err != nil {
		return nil, nil, fail(ErrFormat, op, "it is not a valid manifest: %s", jsonText(err))
	}
	return nil, manifest, nil
}

// isArtifact says that a manifest is something else than an image to run.
func isArtifact(m *v1.Manifest) bool {
	return m.ArtifactType != "" || !m.Config.MediaType.IsConfig()
}
