package content

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/captf-toolkit/captf/images/source"
)

// Document is an index or a manifest, byte by byte.
type Document struct {
	// Descriptor has its media type, size and digest.
	Descriptor v1.Descriptor
	Raw        []byte
}

// NewDocument describes a document.
func NewDocument(raw []byte, mediaType types.MediaType) (Document, error) {
	digest, size, err := v1.SHA256(bytes.NewReader(raw))
	if err != nil {
		return Document{}, err
	}
	return Document{Descriptor: v1.Descriptor{MediaType: mediaType, Size: size, Digest: digest}, Raw: raw}, nil
}

// RawManifest and MediaType make a Document something that remote can push.
func (d Document) RawManifest() ([]byte, error) { return d.Raw, nil }

// MediaType returns the media type.
func (d Document) MediaType() (types.MediaType, error) { return d.Descriptor.MediaType, nil }

// Blob is a config or a layer.
type Blob struct {
	Descriptor v1.Descriptor
	// Open streams the content.
	Open func(ctx context.Context) (io.ReadCloser, error)
	// Origin is the repository that has it, for registries to take it from;
	// nil when it is not in a registry.
	Origin name.Reference
}

// Set is an image with everything that belongs to it.
type Set struct {
	// Root is what a tag points at: an index, or the manifest of a single image.
	Root Document
	// Documents are the root and those below it, each after those that it names.
	Documents []Document
	// Attached are the documents whose subject is one of the others, such as an
	// SBOM or a signature, each after its subject.
	Attached []Document
	// Blobs are what all of the documents name, each once.
	Blobs []Blob
}

// Size is what the documents and blobs have together, in bytes.
func (s *Set) Size() int64 {
	var n int64
	for _, d := range slices.Concat(s.Documents, s.Attached) {
		n += d.Descriptor.Size
	}
	for _, b := range s.Blobs {
		n += b.Descriptor.Size
	}
	return n
}

// store is where a set is collected from.
type store interface {
	document(ctx context.Context, d v1.Descriptor) ([]byte, error)
	blob(d v1.Descriptor) Blob
}

// collector walks documents.
type collector struct {
	store store
	set   *Set
	seen  map[v1.Hash]bool
}

// FromIndex collects an index of the library, such as one that was just built.
func FromIndex(ctx context.Context, index v1.ImageIndex) (*Set, error) {
	raw, err := index.RawManifest()
	if err != nil {
		return nil, fmt.Errorf("reading index: %w", err)
	}
	mediaType, err := index.MediaType()
	if err != nil {
		return nil, fmt.Errorf("reading index: %w", err)
	}
	root, err := NewDocument(raw, mediaType)
	if err != nil {
		return nil, fmt.Errorf("reading index: %w", err)
	}
	c := newCollector(&indexStore{indexes: []v1.ImageIndex{index}, layers: map[v1.Hash]v1.Layer{}}, root)
	return c.set, c.walk(ctx, root, &c.set.Documents, 0)
}

// FromSource collects an opened image, and of a layout or archive also what is
// attached to it, if attached is set. An image in a registry keeps that there:
// see images/publish.
func FromSource(ctx context.Context, src *source.Source, attached bool) (*Set, error) {
	root := Document{Descriptor: v1.Descriptor{MediaType: src.MediaType, Digest: src.Digest, Size: int64(len(src.Raw))}, Raw: src.Raw}
	c := newCollector(&sourceStore{src}, root)
	if err := c.walk(ctx, root, &c.set.Documents, 0); err != nil {
		return nil, err
	}
	if !attached {
		return c.set, nil
	}
	listed, err := src.Listed()
	if err != nil {
		return nil, err
	}
	return c.set, c.attach(ctx, listed)
}

// Attach adds those of the listed documents of a source whose subject is in the
// set, and those whose subject is one of them in turn.
func (s *Set) Attach(ctx context.Context, src *source.Source, listed []v1.Descriptor) error {
	c := newCollector(&sourceStore{src}, s.Root)
	c.set = s
	for _, d := range slices.Concat(s.Documents, s.Attached) {
		c.seen[d.Descriptor.Digest] = true
	}
	for _, b := range s.Blobs {
		c.seen[b.Descriptor.Digest] = true
	}
	return c.attach(ctx, listed)
}

func newCollector(s store, root Document) *collector {
	return &collector{store: s, set: &Set{Root: root}, seen: map[v1.Hash]bool{root.Descriptor.Digest: true}}
}

// outline is what a document names, whichever kind it is.
type outline struct {
	Manifests []v1.Descriptor `json:"manifests"`
	Config    *v1.Descriptor  `json:"config"`
	Layers    []v1.Descriptor `json:"layers"`
	Subject   *v1.Descriptor  `json:"subject"`
}

// walk adds a document after all that it names.
func (c *collector) walk(ctx context.Context, d Document, to *[]Document, depth int) error {
	if depth > source.MaxIndexDepth {
		return fmt.Errorf("reading index %s: indexes are nested more than %d deep", d.Descriptor.Digest, source.MaxIndexDepth)
	}
	var o outline
	if err := json.Unmarshal(d.Raw, &o); err != nil {
		return fmt.Errorf("reading manifest %s: %w", d.Descriptor.Digest, err)
	}
	if o.Config != nil {
		c.add(*o.Config)
	}
	for _, l := range o.Layers {
		// A foreign layer is where its URLs say.
		if l.MediaType.IsDistributable() && len(l.URLs) == 0 {
			c.add(l)
		}
	}
	for _, child := range o.Manifests {
		if c.seen[child.Digest] {
			continue
		}
		if !child.MediaType.IsIndex() && !child.MediaType.IsImage() {
			c.add(child)
			continue
		}
		c.seen[child.Digest] = true
		raw, err := c.store.document(ctx, child)
		if err != nil {
			return err
		}
		child.Annotations, child.Platform = nil, nil
		if err := c.walk(ctx, Document{Descriptor: child, Raw: raw}, to, depth+1); err != nil {
			return err
		}
	}
	*to = append(*to, d)
	return nil
}

func (c *collector) add(d v1.Descriptor) {
	if !c.seen[d.Digest] {
		c.seen[d.Digest] = true
		c.set.Blobs = append(c.set.Blobs, c.store.blob(d))
	}
}

// maxAttached bounds the documents of a layout that are looked at.
const maxAttached = 1000

// attach adds those of the listed documents whose subject is in the set, and
// those whose subject is one of them in turn.
func (c *collector) attach(ctx context.Context, listed []v1.Descriptor) error {
	if len(listed) > maxAttached {
		return fmt.Errorf("reading index.json: it lists more than %d documents", maxAttached)
	}
	bySubject := map[v1.Hash][]Document{}
	for _, d := range listed {
		if c.seen[d.Digest] || !d.MediaType.IsImage() && !d.MediaType.IsIndex() {
			continue
		}
		raw, err := c.store.document(ctx, d)
		if errors.Is(err, source.ErrNotFound) {
			continue // an export of one image keeps the list of others
		}
		if err != nil {
			return err
		}
		var o outline
		if err := json.Unmarshal(raw, &o); err != nil || o.Subject == nil {
			continue // it is none of ours
		}
		d.Annotations, d.Platform = nil, nil
		bySubject[o.Subject.Digest] = append(bySubject[o.Subject.Digest], Document{Descriptor: d, Raw: raw})
	}
	queue := slices.Concat(c.set.Documents, c.set.Attached)
	for len(queue) > 0 {
		subject := queue[0].Descriptor.Digest
		queue = queue[1:]
		for _, d := range bySubject[subject] {
			if c.seen[d.Descriptor.Digest] {
				continue
			}
			c.seen[d.Descriptor.Digest] = true
			if err := c.walk(ctx, d, &c.set.Attached, 0); err != nil {
				return err
			}
			queue = append(queue, d)
		}
	}
	return nil
}

// sourceStore reads from an opened reference.
type sourceStore struct{ src *source.Source }

func (s *sourceStore) document(ctx context.Context, d v1.Descriptor) ([]byte, error) {
	return s.src.Document(ctx, d)
}

func (s *sourceStore) blob(d v1.Descriptor) Blob {
	b := Blob{Descriptor: d, Open: func(ctx context.Context) (io.ReadCloser, error) { return s.src.Content(ctx, d) }}
	if s.src.Reference.Kind == source.Registry {
		b.Origin = s.src.Reference.Name
	}
	return b
}

// indexStore reads from an index of the library.
type indexStore struct {
	indexes []v1.ImageIndex
	layers  map[v1.Hash]v1.Layer
}

func (s *indexStore) document(_ context.Context, d v1.Descriptor) ([]byte, error) {
	for _, index := range s.indexes {
		if d.MediaType.IsIndex() {
			if child, err := index.ImageIndex(d.Digest); err == nil {
				s.indexes = append(s.indexes, child)
				return child.RawManifest()
			}
			continue
		}
		img, err := index.Image(d.Digest)
		if err != nil {
			continue
		}
		layers, err := img.Layers()
		if err != nil {
			return nil, err
		}
		config, err := partial.ConfigLayer(img)
		if err != nil {
			return nil, err
		}
		for _, l := range append(layers, config) {
			digest, err := l.Digest()
			if err != nil {
				return nil, err
			}
			s.layers[digest] = l
		}
		return img.RawManifest()
	}
	return nil, fmt.Errorf("reading manifest %s: the index lists it, but does not have it", d.Digest)
}

// blob is called before the document that names it is left, so its layer is known.
func (s *indexStore) blob(d v1.Descriptor) Blob {
	l, ok := s.layers[d.Digest]
	if !ok {
		return Blob{Descriptor: d, Open: func(context.Context) (io.ReadCloser, error) {
			return nil, fmt.Errorf("reading blob %s: the index lists it, but does not have it", d.Digest)
		}}
	}
	b := Blob{Descriptor: d, Open: func(context.Context) (io.ReadCloser, error) { return l.Compressed() }}
	if m, ok := l.(*remote.MountableLayer); ok {
		b.Origin = m.Reference
	}
	return b
}
