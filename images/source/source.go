package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// DefaultPlatform is taken from an index when none is asked for (lint.md 5.1).
var DefaultPlatform = v1.Platform{OS: "linux", Architecture: "amd64"}

// Source is an opened reference: one image, or an index of images.
type Source struct {
	// Reference is the reference as it was given.
	Reference Reference
	// Digest is that of the index, or of the manifest of a single image. For an
	// archive of docker save it is that of a manifest made from its contents.
	Digest v1.Hash
	// MediaType is that of the same document.
	MediaType types.MediaType
	// Raw is the same document, byte by byte.
	Raw []byte
	// Index is the index; nil for a single image.
	Index *v1.IndexManifest

	opts      Options
	count     counters
	store     store
	single    *v1.Manifest
	platforms []Platform
	spool     spool
	wholeOnly atomic.Bool // the registry ignores byte ranges
	reporting sync.Mutex  // Progress is told one line at a time.
}

// Platform is an image of an index, or the single image.
type Platform struct {
	v1.Platform
	// Descriptor is that of the index; of a single image it is made up.
	Descriptor v1.Descriptor
	// Path are the digests of the nested indexes that lead to it, the outermost
	// first; empty for a manifest of the index itself.
	Path []v1.Hash
}

// Open opens a reference and reads what it names, and the nested indexes and the
// config of a single image, so that its platforms are known. Errors are *Error or
// *PlatformError; errors.Is tells the kinds. Close the source when done.
func Open(ctx context.Context, ref string, opts Options) (*Source, error) {
	parsed, err := ParseReference(ref, opts.Insecure)
	if err != nil {
		return nil, err
	}
	opts.Retry = opts.Retry.withDefaults()
	s := &Source{Reference: parsed, opts: opts}
	switch parsed.Kind {
	case Registry:
		s.store = newRegistryStore(parsed, opts, &s.count)
	case Layout:
		s.store, err = openLayout(parsed, &s.count)
	case Tarball:
		s.store, err = openTarball(ctx, parsed, opts, &s.count)
	}
	if err != nil {
		return nil, err
	}
	if err := s.load(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Source) load(ctx context.Context) error {
	doc, err := s.store.root(ctx)
	if err != nil {
		return err
	}
	op := "reading " + s.Reference.String()
	index, manifest, err := doc.parse(op)
	if err != nil {
		return err
	}
	s.Digest, s.MediaType, s.Raw, s.Index, s.single = doc.digest, doc.mediaType, doc.raw, index, manifest
	if manifest == nil {
		return s.flatten(ctx, op, index, nil)
	}
	if isArtifact(manifest) {
		return fail(ErrFormat, op, "it is an artifact (%s), not an image", artifactName(manifest)).hint("name the image that it belongs to")
	}
	p, err := s.configPlatform(ctx, manifest)
	if err != nil {
		return err
	}
	s.platforms = []Platform{{Platform: p, Descriptor: v1.Descriptor{
		MediaType: doc.mediaType, Digest: doc.digest, Size: int64(len(doc.raw)), Annotations: manifest.Annotations, Platform: &p,
	}}}
	return nil
}

func artifactName(m *v1.Manifest) string {
	if m.ArtifactType != "" {
		return printable(m.ArtifactType)
	}
	return printable(string(m.Config.MediaType))
}

// attestationType is the annotation with which buildx marks what is no image.
const attestationType = "vnd.docker.reference.type"

// flatten lists the images of an index, and of the indexes in it.
func (s *Source) flatten(ctx context.Context, op string, index *v1.IndexManifest, path []v1.Hash) error {
	if len(path) >= MaxIndexDepth {
		return fail(ErrFormat, op, "indexes are nested more than %d deep", MaxIndexDepth).hint("publish one index")
	}
	for i, d := range index.Manifests {
		what := fmt.Sprintf("manifest %d of the index", i+1)
		if err := checkDescriptor(op, what, d); err != nil {
			return err
		}
		if skipped(d) {
			continue
		}
		switch {
		case d.MediaType.IsSchema1():
			return fail(ErrFormat, op, "%s is of Docker's schema 1, which is not supported", what).hint("push the image again with a current client")
		case d.MediaType.IsIndex():
			if d.Digest == s.Digest || slices.Contains(path, d.Digest) {
				return fail(ErrFormat, op, "the index %s is inside of itself", d.Digest)
			}
			doc, err := s.store.manifest(ctx, d)
			if err != nil {
				if s.store.local() && errors.Is(err, ErrNotFound) {
					continue // An export of one platform keeps the indexes above it.
				}
				return err
			}
			nested, _, err := doc.parse("reading index " + d.Digest.String())
			if err != nil {
				return err
			}
			if nested == nil {
				return fail(ErrFormat, op, "%s is an image, but the index says that it is an index", what)
			}
			if err := s.flatten(ctx, op, nested, append(path[:len(path):len(path)], d.Digest)); err != nil {
				return err
			}
		case d.MediaType.IsImage():
			p, ok, err := s.platform(ctx, d)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			s.platforms = append(s.platforms, Platform{Platform: p, Descriptor: d, Path: path})
		}
		if len(s.platforms) > MaxPlatforms {
			return fail(ErrTooLarge, op, "it lists more than %d images", MaxPlatforms)
		}
	}
	return nil
}

// platform is what a descriptor says, or else what the image's config says.
func (s *Source) platform(ctx context.Context, d v1.Descriptor) (v1.Platform, bool, error) {
	if d.Platform != nil && d.Platform.OS != "" && d.Platform.Architecture != "" {
		return *d.Platform, true, nil
	}
	doc, err := s.store.manifest(ctx, d)
	if err != nil {
		return v1.Platform{}, false, err
	}
	_, m, err := doc.parse("reading manifest " + d.Digest.String())
	if err != nil || m == nil || isArtifact(m) {
		return v1.Platform{}, false, err
	}
	p, err := s.configPlatform(ctx, m)
	return p, err == nil, err
}

func (s *Source) configPlatform(ctx context.Context, m *v1.Manifest) (v1.Platform, error) {
	_, config, err := s.config(ctx, m)
	if err != nil {
		return v1.Platform{}, err
	}
	return v1.Platform{OS: config.OS, Architecture: config.Architecture, Variant: config.Variant, OSVersion: config.OSVersion}, nil
}

// Platforms lists the images, in the order of the index; images of nested indexes
// are included, attestations and artifacts are not.
func (s *Source) Platforms() []Platform { return append([]Platform(nil), s.platforms...) }

// IsIndex says whether the reference names an index rather than a single image.
func (s *Source) IsIndex() bool { return s.Index != nil }

// Stats returns what was read up to now.
func (s *Source) Stats() Stats { return s.count.snapshot() }

// Report tells the caller of Open a line of progress.
func (s *Source) Report(format string, args ...any) {
	if s.opts.Progress != nil {
		s.reporting.Lock()
		defer s.reporting.Unlock()
		s.opts.Progress(fmt.Sprintf(format, args...))
	}
}

// Close removes temporary files and closes what is open. Images and layers of the
// source cannot be read afterwards.
func (s *Source) Close() error { return errors.Join(s.spool.close(), s.store.Close()) }

// Pick returns the platform that a caller means: nil is the single image whatever
// its platform, and DefaultPlatform of an index. The first match of an index
// counts, as for container runtimes. The error is a *PlatformError.
func (s *Source) Pick(want *v1.Platform) (Platform, error) {
	if want == nil && !s.IsIndex() {
		return s.platforms[0], nil
	}
	asked := DefaultPlatform
	if want != nil {
		asked = *want
	}
	for _, p := range s.platforms {
		if satisfies(p.Platform, asked) {
			return p, nil
		}
	}
	e := &PlatformError{Reference: s.Reference.String(), Want: asked, Index: s.IsIndex(), Implied: want == nil}
	for _, p := range s.platforms {
		e.Have = append(e.Have, p.Platform)
	}
	return Platform{}, e
}

// satisfies compares what was asked for; what was not said matches everything.
func satisfies(have, want v1.Platform) bool {
	return have.OS == want.OS && have.Architecture == want.Architecture &&
		(want.Variant == "" || variant(have) == variant(want)) &&
		(want.OSVersion == "" || have.OSVersion == want.OSVersion)
}

// variant is the variant with the default that the architecture has.
func variant(p v1.Platform) string {
	switch {
	case p.Variant != "" && !(p.Architecture == "amd64" && p.Variant == "v1"):
		return p.Variant
	case p.Architecture == "arm64":
		return "v8"
	case p.Architecture == "arm":
		return "v7"
	}
	return ""
}
