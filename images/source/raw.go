package source

import (
	"context"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Document returns a manifest or index by its descriptor, byte by byte. Its size
// and digest were checked, its content was not looked at.
func (s *Source) Document(ctx context.Context, d v1.Descriptor) ([]byte, error) {
	if d.Digest == s.Digest {
		return s.Raw, nil
	}
	op := "reading manifest " + d.Digest.String()
	if err := checkDescriptor(op, "the descriptor", d); err != nil {
		return nil, err
	}
	doc, err := s.store.manifest(ctx, d)
	return doc.raw, err
}

// Content streams any blob by its descriptor. At its end the size and digest
// were checked, as for Layer.Reader.
func (s *Source) Content(ctx context.Context, d v1.Descriptor) (io.ReadCloser, error) {
	op := "reading blob " + d.Digest.String()
	if err := checkDescriptor(op, "the descriptor", d); err != nil {
		return nil, err
	}
	return s.newBlobReader(ctx, d, d.MediaType.IsLayer())
}

// Listed returns everything that the index.json of a layout or archive lists:
// the image, others, and what is attached to them. It is nil for a registry, and
// for an archive without index.json.
func (s *Source) Listed() ([]v1.Descriptor, error) {
	layout, ok := s.store.(*layoutStore)
	if !ok {
		return nil, nil
	}
	op := "reading index.json of " + s.Reference.Path
	raw, _, err := layout.small("index.json", MaxManifest)
	if err != nil {
		return nil, layout.blobError(op, err)
	}
	doc := document{raw: raw, mediaType: types.OCIImageIndex}
	index, _, err := doc.parse(op)
	if err != nil {
		return nil, err
	}
	if index == nil {
		return nil, fail(ErrFormat, op, "it is no index")
	}
	return index.Manifests, nil
}
