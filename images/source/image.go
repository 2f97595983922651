package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image is the image of one platform. Its manifest and config were read and
// checked; its layers were not touched.
type Image struct {
	// Reference is that of the source, for messages.
	Reference string
	// Platform is what the config says, which is what runtimes go by.
	Platform v1.Platform
	// Listed is the entry of the index; its platform may differ from the config's.
	Listed Platform
	// Digest is that of the manifest.
	Digest v1.Hash
	// MediaType is that of the manifest.
	MediaType types.MediaType
	// RawManifest and RawConfig are the documents, byte by byte.
	RawManifest, RawConfig []byte
	// Manifest and Config are the parsed documents.
	Manifest *v1.Manifest
	Config   *v1.ConfigFile

	src    *Source
	layers []*Layer
}

// Labels returns the labels of the config, never nil.
func (i *Image) Labels() map[string]string {
	if i.Config.Config.Labels == nil {
		return map[string]string{}
	}
	return i.Config.Config.Labels
}

// Layers returns the layers, the lowest first.
func (i *Image) Layers() []*Layer { return append([]*Layer(nil), i.layers...) }

// Report tells the caller of Open a line of progress.
func (i *Image) Report(format string, args ...any) { i.src.Report(format, args...) }

// Image reads the image of a platform; see Pick for what nil means.
func (s *Source) Image(ctx context.Context, want *v1.Platform) (*Image, error) {
	p, err := s.Pick(want)
	if err != nil {
		return nil, err
	}
	return s.Load(ctx, p)
}

// Load reads the manifest and config of one of Platforms.
func (s *Source) Load(ctx context.Context, p Platform) (*Image, error) {
	op := "reading manifest " + p.Descriptor.Digest.String()
	img := &Image{Reference: s.Reference.String(), Listed: p, src: s, Digest: p.Descriptor.Digest}
	if s.single != nil {
		img.Manifest, img.RawManifest, img.MediaType = s.single, s.Raw, s.MediaType
	} else {
		doc, err := s.store.manifest(ctx, p.Descriptor)
		if err != nil {
			if s.store.local() && errors.Is(err, ErrNotFound) {
				return nil, fail(ErrNotFound, op, "%s lists an image for %s, but does not hold it", s.Reference, p.Platform).hint("export the image with all platforms, or ask for one that is there")
			}
			return nil, err
		}
		_, manifest, err := doc.parse(op)
		if err != nil {
			return nil, err
		}
		if manifest == nil {
			return nil, fail(ErrFormat, op, "it is an index, but the index above says that it is an image")
		}
		if isArtifact(manifest) {
			return nil, fail(ErrFormat, op, "it is an artifact (%s), but the index says that it is the image for %s", artifactName(manifest), p.Platform)
		}
		img.Manifest, img.RawManifest, img.MediaType = manifest, doc.raw, doc.mediaType
	}
	var err error
	if img.RawConfig, img.Config, err = s.config(ctx, img.Manifest); err != nil {
		return nil, err
	}
	c := img.Config
	img.Platform = v1.Platform{OS: c.OS, Architecture: c.Architecture, Variant: c.Variant, OSVersion: c.OSVersion}
	if n := len(img.Manifest.Layers); n > MaxLayers {
		return nil, fail(ErrTooLarge, op, "it has %d layers, more than %d", n, MaxLayers)
	}
	if n, m := len(c.RootFS.DiffIDs), len(img.Manifest.Layers); n != m {
		return nil, fail(ErrCorrupt, op, "it has %d layers, but its config lists %d", m, n).hint("build the image again")
	}
	for n, d := range img.Manifest.Layers {
		what := fmt.Sprintf("layer %d", n+1)
		if err := checkDescriptor(op, what, d); err != nil {
			return nil, err
		}
		img.layers = append(img.layers, &Layer{Index: n, Descriptor: d, DiffID: c.RootFS.DiffIDs[n], src: s})
	}
	return img, nil
}

func (s *Source) config(ctx context.Context, m *v1.Manifest) ([]byte, *v1.ConfigFile, error) {
	op := "reading config " + m.Config.Digest.String()
	if err := checkDescriptor(op, "the config", m.Config); err != nil {
		return nil, nil, err
	}
	limit := int64(MaxConfig)
	if s.opts.MaxConfig > 0 {
		limit = min(limit, s.opts.MaxConfig)
	}
	if m.Config.Size > limit {
		return nil, nil, fail(ErrTooLarge, op, "the manifest says that it has %d bytes, more than %d MiB", m.Config.Size, limit>>20)
	}
	r, err := s.newBlobReader(ctx, m.Config, false)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, nil, err
	}
	config, err := v1.ParseConfigFile(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, fail(ErrFormat, op, "it is not a valid image config: %s", jsonText(err))
	}
	return raw, config, nil
}

// Layer is a layer of an image. Nothing of it is read before it is asked for.
type Layer struct {
	// Index is its place, 0 is the lowest.
	Index int
	// Descriptor is that of the manifest, with its annotations. Size is not negative.
	Descriptor v1.Descriptor
	// DiffID is the digest of the unpacked layer, from the config.
	DiffID v1.Hash

	src *Source
}

// Name says which layer it is, for messages: "layer 2 (sha256:0123456789ab)".
func (l *Layer) Name() string {
	return fmt.Sprintf("layer %d (%s:%.12s)", l.Index+1, l.Descriptor.Digest.Algorithm, l.Descriptor.Digest.Hex)
}

// usable refuses what is not in the registry, or no layer.
func (l *Layer) usable() error {
	op := "reading " + l.Name()
	mt := l.Descriptor.MediaType
	switch {
	case !mt.IsDistributable(), len(l.Descriptor.URLs) > 0:
		return fail(ErrFormat, op, "it is a foreign layer, which is not read").hint("build the image from a base without foreign layers")
	case !mt.IsLayer() && !strings.HasPrefix(string(mt), "application/vnd.oci.image.layer.v1.tar"):
		return fail(ErrFormat, op, "its media type %s is no layer of files", printable(string(mt))).hint("build the image again")
	}
	return nil
}

// Reader streams the compressed layer. At its end the size and digest were
// checked: io.EOF means that everything that was read is what the manifest says.
func (l *Layer) Reader(ctx context.Context) (io.ReadCloser, error) {
	if err := l.usable(); err != nil {
		return nil, err
	}
	r, err := l.src.newBlobReader(ctx, l.Descriptor, true)
	if err != nil {
		return nil, err
	}
	l.src.count.streams.Add(1)
	return r, nil
}

// Ranges reads byte ranges. Without support by the registry its first read fails
// with ErrNoRange; see ReaderAt for one that does not.
func (l *Layer) Ranges(ctx context.Context) (Blob, error) {
	if err := l.usable(); err != nil {
		return nil, err
	}
	switch s := l.src.store.(type) {
	case *registryStore:
		return &rangeBlob{ctx: ctx, src: l.src, d: l.Descriptor}, nil
	case fileStore:
		return s.file(l.Descriptor)
	}
	return nil, fail(ErrNoRange, "reading "+l.Name(), "byte ranges are not supported")
}

// ReaderAt reads byte ranges. Of a registry that sends whole blobs only, it spools
// the layer to a temporary file, which Source.Close removes.
func (l *Layer) ReaderAt(ctx context.Context) (Blob, error) {
	b, err := l.Ranges(ctx)
	if ranges, ok := b.(*rangeBlob); ok && err == nil {
		return &spoolingBlob{Blob: ranges, ranges: ranges}, nil
	}
	return b, err
}

// fileStore is a store whose blobs are in files.
type fileStore interface {
	file(d v1.Descriptor) (Blob, error)
}
