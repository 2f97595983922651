package build

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/containerd/stargz-snapshotter/estargz"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/images/regular"
	"github.com/captf-toolkit/captf/sdk/module"
)

// What a layer holds, for people.
const (
	contentRuntime   = "runtime"
	contentProviders = "providers"
	contentModule    = "module"
)

// builder is a build at work.
type builder struct {
	Options
	result   *Result
	source   *contents
	runtimes *runtimes
	// packages are the providers for each platform, in mirror.
	packages map[image.Platform][]image.Package
	mirror   *mirror
	ca       []byte
}

// Build makes the image index. Close the result when it was written. An option
// that is wrong is an *OptionError.
func Build(ctx context.Context, o Options) (_ *Result, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp(o.TempDir, "captf-image-")
	if err != nil {
		return nil, fmt.Errorf("making the scratch directory: %w", err)
	}
	b := &builder{Options: o, result: &Result{writer: layerWriter{dir: scratch, created: o.Created, level: o.Level}}}
	defer func() {
		if err != nil {
			err = errors.Join(cause(ctx, err), b.result.Close())
		}
	}()
	if err := b.readInputs(ctx); err != nil {
		return nil, err
	}
	if err := b.readMirror(ctx, scratch); err != nil {
		return nil, err
	}
	images, err := b.images(ctx)
	if err != nil {
		return nil, err
	}
	return b.result, b.index(images)
}

// readInputs reads the module, the runtimes and the base.
func (b *builder) readInputs(ctx context.Context) error {
	tree, err := module.Load(b.Dir, module.Options{})
	if err != nil {
		return err
	}
	if b.source, err = readContents(tree, b.MaxFile); err != nil {
		return err
	}
	b.result.Files, b.result.LeftOut = b.source.names(), b.source.leftOut
	if b.result.base, err = openBase(ctx, &b.Options); err != nil {
		return err
	}
	if len(b.Binaries) > 0 {
		b.runtimes, err = inspectRuntimes(ctx, b.Options)
		err = option("Binaries", err)
	} else {
		b.runtimes, err = b.result.base.runtimes(b.Options)
		err = option("Base", err)
	}
	if err != nil {
		return err
	}
	b.result.Runtime, b.result.RuntimeVersion = b.runtimes.kind, b.runtimes.version
	view := tree.View(moduleRuntime(b.runtimes.kind))
	if view == nil {
		return fmt.Errorf("reading module %s: %s reads none of its files", b.Dir, b.runtimes.kind)
	}
	if view.Unsupported.HasErrors() {
		return fmt.Errorf("reading module %s: %s does not understand it: %s", b.Dir, b.runtimes.kind, module.Message(view.Unsupported[0]))
	}
	b.result.Requirements = Requirements(view)
	return b.readCA()
}

func moduleRuntime(r image.Runtime) module.Runtime {
	if r == image.Terraform {
		return module.Terraform
	}
	return module.OpenTofu
}

// maxCA bounds a file with certificates, in bytes.
const maxCA = 16 << 20

func (b *builder) readCA() error {
	if b.CABundle == "" {
		if b.Base == "" && len(b.result.Requirements) > 0 {
			b.progress("note: the image has no certificates of authorities, so providers cannot use TLS with public services: give a bundle, or a base image")
		}
		return nil
	}
	var err error
	if b.ca, err = regular.Read(b.CABundle, maxCA); err != nil {
		return fmt.Errorf("reading certificates: %w", err)
	}
	if len(b.ca) > maxCA {
		return fmt.Errorf("reading certificates: %s has more than %s", b.CABundle, content.Bytes(maxCA))
	}
	if !strings.Contains(string(b.ca), "-----BEGIN CERTIFICATE-----") {
		return fmt.Errorf("reading certificates: %s has none in PEM form", b.CABundle)
	}
	if strings.Contains(string(b.ca), "PRIVATE KEY-----") {
		return fmt.Errorf("reading certificates: %s has a private key in it, which must not ship", b.CABundle)
	}
	return nil
}

// readMirror finds or makes the provider mirror.
func (b *builder) readMirror(ctx context.Context, scratch string) error {
	needs := b.result.Requirements
	switch {
	case b.Mirror == MirrorNone:
		return nil
	case len(needs) == 0:
		if b.Mirror == MirrorDir {
			b.progress("note: the module requires no provider, so nothing is taken from the mirror")
		}
		// An empty mirror still says that nothing is to be downloaded.
		b.mirror = &mirror{}
		return nil
	case b.Mirror == MirrorMake:
		binary, err := mirrorBinary(b.runtimes, b.Options)
		if err != nil {
			return err
		}
		b.MirrorDir = filepath.Join(scratch, "mirror")
		if err := makeMirror(ctx, binary, b.source, lockFile(b.source.root), b.Options, scratch, b.MirrorDir); err != nil {
			return err
		}
	}
	var err error
	if b.mirror, err = readMirror(b.MirrorDir); err != nil {
		return err
	}
	b.packages, err = b.mirror.choose(needs, b.Platforms)
	return err
}

// added is a layer that is put on the base.
type added struct {
	content string
	layer   *layer
}

// images makes the image of each platform. Layers that are the same on all
// platforms are written once.
func (b *builder) images(ctx context.Context) ([]v1.Image, error) {
	layers := make([][]added, len(b.Platforms))
	images := make([]v1.Image, len(b.Platforms))
	var moduleLayer *layer
	outer := ctx // of the layers of a base, which are read later
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(goruntime.GOMAXPROCS(0), 2))
	g.Go(func() (err error) {
		moduleLayer, err = b.write(ctx, contentModule, "", b.source.entries(inImage(image.ModulePath)))
		return err
	})
	for i, p := range b.Platforms {
		layers[i] = make([]added, 0, 3)
		put := func(what string, entries []entry) error {
			l, err := b.write(ctx, what, p.String(), entries)
			if err == nil {
				layers[i] = append(layers[i], added{what, l})
			}
			return err
		}
		g.Go(func() error {
			if e := b.runtimes.binaries[p]; e != nil {
				entries, err := b.runtimeEntries(e)
				if err != nil {
					return err
				}
				if err := put(contentRuntime, entries); err != nil {
					return err
				}
			}
			if b.mirror == nil {
				return nil
			}
			entries, err := b.mirror.entries(inImage(image.ProvidersPath), b.packages[p])
			if err != nil {
				return err
			}
			return put(contentProviders, entries)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for i, p := range b.Platforms {
		layers[i] = append(layers[i], added{contentModule, moduleLayer})
		img, err := b.image(outer, p, layers[i])
		if err != nil {
			return nil, fmt.Errorf("making the image for %s: %w", p, err)
		}
		images[i] = img
	}
	return images, nil
}

// write writes a layer and tells about it.
func (b *builder) write(ctx context.Context, what, platform string, entries []entry) (*layer, error) {
	start := time.Now()
	l, err := b.result.writer.write(ctx, entries)
	if err != nil {
		return nil, err
	}
	if platform != "" {
		what += " for " + platform
	}
	b.progress("wrote the layer with the %s, %s, in %s", what, content.Bytes(l.size), since(start))
	return l, nil
}

// inImage is a path of the image as layers write it.
func inImage(p string) string { return strings.TrimPrefix(p, "/") }

// runtimeEntries are the files of the layer with the runtime. Without a base it
// is the lowest layer and has what a container needs besides; on top of a base
// it has no directories, because those are the base's.
func (b *builder) runtimeEntries(e *executable) ([]entry, error) {
	info, err := os.Stat(e.path)
	if err != nil {
		return nil, fmt.Errorf("reading runtime: %w", err)
	}
	at := image.BinaryPath(b.runtimes.kind)
	binary := file(inImage(at), e.path, info, 0)
	binary.mode = execMode
	out := []entry{binary, symlink(inImage(image.RuntimePath), at, 0)}
	if b.Base != "" {
		return out, nil
	}
	tmp := dir("tmp", 0)
	tmp.mode = 0o1777
	out = append(out, tmp, dir("captf", 0), dir("etc", 0), dir("usr", 0), dir("usr/local", 0), dir("usr/local/bin", 0))
	out = append(out, users()...)
	if b.ca != nil {
		out = append(out, dir("etc/ssl", 0), dir("etc/ssl/certs", 0), text("etc/ssl/certs/ca-certificates.crt", b.ca))
	}
	return out, nil
}

// image makes the image of a platform.
func (b *builder) image(ctx context.Context, p image.Platform, layers []added) (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	config := &v1.ConfigFile{Architecture: p.Arch, OS: p.OS}
	var adds []mutate.Addendum
	if b.result.base != nil {
		from := b.result.base.images[p]
		config = from.Config.DeepCopy()
		for _, l := range from.Layers() {
			layer, err := b.result.base.layer(ctx, l)
			if err != nil {
				return nil, err
			}
			adds = append(adds, mutate.Addendum{
				Layer: layer, Annotations: l.Descriptor.Annotations, URLs: l.Descriptor.URLs, MediaType: ociType(l.Descriptor.MediaType),
			})
		}
	}
	created := v1.Time{Time: b.Created}
	history := config.History
	report := PlatformResult{Platform: p, Providers: b.packages[p]}
	for _, a := range layers {
		adds = append(adds, mutate.Addendum{
			Layer: a.layer, MediaType: types.OCILayer, Annotations: map[string]string{estargz.TOCJSONDigestAnnotation: a.layer.toc},
		})
		history = append(history, v1.History{Created: created, CreatedBy: "captf image build", Comment: a.content})
		report.Layers = append(report.Layers, LayerResult{Content: a.content, Digest: a.layer.digest, Size: a.layer.size})
	}
	img, err := mutate.Append(img, adds...)
	if err != nil {
		return nil, err
	}
	appended, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config.RootFS, config.History, config.Created = appended.RootFS, history, created
	config.Config.User, config.Config.WorkingDir = image.User, image.WorkingDir
	if config.Config.Labels, err = b.labels(p); err != nil {
		return nil, err
	}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return nil, err
	}
	b.result.Labels = config.Config.Labels
	img = mutate.Annotations(img, b.annotations()).(v1.Image) //nolint:forcetypeassert // it returns the type that it is given
	if report.Digest, err = img.Digest(); err != nil {
		return nil, err
	}
	if report.Size, err = sizeOf(img); err != nil {
		return nil, err
	}
	b.result.Platforms = append(b.result.Platforms, report)
	return img, nil
}

// sizeOf is what has to be downloaded to run an image, in bytes.
func sizeOf(img v1.Image) (int64, error) {
	total, err := img.Size()
	if err != nil {
		return 0, err
	}
	m, err := img.Manifest()
	if err != nil {
		return 0, err
	}
	total += m.Config.Size
	for _, l := range m.Layers {
		total += l.Size
	}
	return total, nil
}

// labels are those of a platform. The ones of CAPTF are the same on all.
func (b *builder) labels(p image.Platform) (map[string]string, error) {
	out := b.result.base.labels(p)
	maps.Copy(out, b.annotations())
	maps.Copy(out, b.Labels)
	for key, value := range map[image.Key]string{
		image.LabelContract: b.Contract, image.LabelRole: string(b.Role),
		image.LabelRuntime: string(b.runtimes.kind), image.LabelRuntimeVersion: b.runtimes.version,
		image.LabelCapacity: b.Capacity, image.LabelNodeInfo: b.NodeInfo, image.LabelVariablesSchema: b.VariablesSchema,
	} {
		if value == "" {
			delete(out, string(key)) // a base may have it for another module
			continue
		}
		out[string(key)] = value
	}
	if vs := image.CheckLabels(out); len(vs) > 0 {
		return nil, vs
	}
	for _, l := range image.Labels() {
		if _, ok := out[string(l.Key)]; ok && !l.For(b.Role) && p == b.Platforms[0] {
			b.progress("note: the label %s has no effect on images of the role %s", l.Key, b.Role)
		}
	}
	return out, nil
}

// annotations are those of every manifest and of the index.
func (b *builder) annotations() map[string]string {
	out := b.About.annotations()
	out[ocispec.AnnotationCreated] = b.Created.Format(time.RFC3339)
	maps.Copy(out, b.result.base.annotations())
	return out
}

// index puts the images together.
func (b *builder) index(images []v1.Image) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for i, p := range b.Platforms {
		platform := v1.Platform{OS: p.OS, Architecture: p.Arch}
		if config, err := images[i].ConfigFile(); err == nil {
			platform.Variant = config.Variant
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: images[i], Descriptor: v1.Descriptor{Platform: &platform}})
	}
	b.result.Index = mutate.Annotations(index, b.annotations()).(v1.ImageIndex) //nolint:forcetypeassert // it returns the type that it is given
	var err error
	if b.result.Digest, err = b.result.Index.Digest(); err != nil {
		return fmt.Errorf("making the index: %w", err)
	}
	return nil
}
