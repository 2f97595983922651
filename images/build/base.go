package build

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/binary"
	"github.com/captf-toolkit/captf/images/source"
)

// base is the image that is built on; nil for none.
type base struct {
	src    *source.Source
	images map[image.Platform]*source.Image
}

// openBase opens the base image and reads what it has for each platform.
func openBase(ctx context.Context, o *Options) (*base, error) {
	if o.Base == "" {
		return nil, nil //nolint:nilnil // no base
	}
	src, err := source.Open(ctx, o.Base, o.Open)
	if err != nil {
		return nil, fmt.Errorf("opening base image: %w", err)
	}
	b := &base{src: src, images: map[image.Platform]*source.Image{}}
	for _, p := range o.Platforms {
		img, err := src.Image(ctx, &v1.Platform{OS: p.OS, Architecture: p.Arch})
		if err != nil {
			return nil, closing(src, fmt.Errorf("opening base image: %w", err))
		}
		b.images[p] = img
	}
	return b, nil
}

func (b *base) close() error {
	if b == nil {
		return nil
	}
	return b.src.Close()
}

// runtimes are the runtime of the base, by its labels.
func (b *base) runtimes(o Options) (*runtimes, error) {
	r := newRuntimes(o)
	for _, p := range o.Platforms {
		labels := b.images[p].Labels()
		kind, v := labels[string(image.LabelRuntime)], labels[string(image.LabelRuntimeVersion)]
		if kind == "" && o.Runtime == "" || v == "" && o.RuntimeVersion == "" {
			return nil, fmt.Errorf("reading base image %s: it has no labels %s and %s for %s: say which runtime it has, or give a binary",
				o.Base, image.LabelRuntime, image.LabelRuntimeVersion, p)
		}
		at := fmt.Sprintf("%s for %s", o.Base, p)
		if err := r.agree(&executable{path: at, Info: binary.Info{Runtime: image.Runtime(kind), Version: strings.TrimPrefix(v, "v")}}); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// ociPrefix begins the labels by which an image describes itself.
const ociPrefix = "org.opencontainers.image."

// labels are those that an image inherits: all but those by which the base
// describes itself.
func (b *base) labels(p image.Platform) map[string]string {
	if b == nil {
		return map[string]string{}
	}
	out := maps.Clone(b.images[p].Labels())
	if out == nil {
		out = map[string]string{}
	}
	maps.DeleteFunc(out, func(k, _ string) bool { return strings.HasPrefix(k, ociPrefix) })
	return out
}

// annotations say which base an image has.
func (b *base) annotations() map[string]string {
	if b == nil {
		return nil
	}
	out := map[string]string{ocispec.AnnotationBaseImageDigest: b.src.Digest.String()}
	if n := b.src.Reference.Name; n != nil {
		out[ocispec.AnnotationBaseImageName] = n.Context().Name() + ":" + b.src.Reference.Tag
		if b.src.Reference.Tag == "" {
			out[ocispec.AnnotationBaseImageName] = n.Name()
		}
	}
	return out
}

// baseLayer is a layer of a base as the library wants it.
type baseLayer struct {
	ctx context.Context //nolint:containedctx // the library's interface has none
	*source.Layer
}

func (l baseLayer) Digest() (v1.Hash, error)            { return l.Descriptor.Digest, nil }
func (l baseLayer) DiffID() (v1.Hash, error)            { return l.Layer.DiffID, nil }
func (l baseLayer) Size() (int64, error)                { return l.Descriptor.Size, nil }
func (l baseLayer) MediaType() (types.MediaType, error) { return ociType(l.Descriptor.MediaType), nil }
func (l baseLayer) Compressed() (io.ReadCloser, error)  { return l.Reader(l.ctx) }

// layer returns the layer in a form that a registry can mount if the base is there.
func (b *base) layer(ctx context.Context, l *source.Layer) (v1.Layer, error) {
	out, err := partial.CompressedToLayer(baseLayer{ctx, l})
	if n := b.src.Reference.Name; err == nil && n != nil {
		return &remote.MountableLayer{Layer: out, Reference: n}, nil
	}
	return out, err
}

// ociTypes are the media types of OCI for those of Docker, which mean the same.
var ociTypes = map[types.MediaType]types.MediaType{
	types.DockerLayer:                                   types.OCILayer,
	types.DockerUncompressedLayer:                       types.OCIUncompressedLayer,
	"application/vnd.docker.image.rootfs.diff.tar.zstd": types.OCILayerZStd,
}

func ociType(t types.MediaType) types.MediaType { return cmp.Or(ociTypes[t], t) }
