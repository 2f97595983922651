package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Annotations that name an image inside of a layout.
const (
	refNameAnnotation    = "org.opencontainers.image.ref.name"
	containerdAnnotation = "io.containerd.image.name"
)

// section is a file that can be read from any place.
type section interface {
	io.ReaderAt
	io.Closer
}

// layoutFiles are the files of an OCI layout, in a directory or an archive.
type layoutFiles interface {
	// open returns a regular file by its slash-separated name, and its size. The
	// error of a missing file is fs.ErrNotExist.
	open(name string) (section, int64, error)
	close() error
}

// layoutStore reads an OCI layout.
type layoutStore struct {
	ref   Reference
	files layoutFiles
	count *counters
}

func openLayout(ref Reference, count *counters) (store, error) {
	op := "opening " + ref.Text
	info, err := os.Stat(ref.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail(ErrNotFound, op, "there is no directory %s", ref.Path).hint("check the path; it is relative to the working directory")
	case err != nil:
		return nil, fail(ErrNotFound, op, "%s", err)
	case !info.IsDir():
		return nil, fail(ErrFormat, op, "%s is not a directory", ref.Path).hint("for a tar archive write tarball:%s", ref.Path)
	}
	root, err := os.OpenRoot(ref.Path)
	if err != nil {
		return nil, fail(ErrNotFound, op, "%s", err)
	}
	s := &layoutStore{ref: ref, files: rootFiles{root}, count: count}
	if _, _, err := s.small("oci-layout", 1<<20); errors.Is(err, fs.ErrNotExist) {
		_ = root.Close()
		return nil, fail(ErrFormat, op, "%s has no file oci-layout, so it is no OCI layout", ref.Path).
			hint("export the image with podman save --format oci-dir, skopeo copy ... oci:DIR, or captf image build")
	}
	return s, nil
}

// rootFiles are the files under a directory, which links cannot leave.
type rootFiles struct{ root *os.Root }

func (r rootFiles) open(name string) (section, int64, error) {
	info, err := r.root.Stat(name) // Before it is opened: a pipe would block.
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := r.root.Open(name)
	if err != nil {
		return nil, 0, err
	}
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, 0, fmt.Errorf("%s is not a regular file", name)
	}
	return f, info.Size(), nil
}

func (r rootFiles) close() error { return r.root.Close() }

func (s *layoutStore) local() bool  { return true }
func (s *layoutStore) Close() error { return s.files.close() }

// small reads a document under a limit.
func (s *layoutStore) small(name string, limit int64) ([]byte, int64, error) {
	f, size, err := s.files.open(name)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	if size > limit {
		return nil, size, fail(ErrTooLarge, "reading "+name, "it is larger than %d MiB", limit>>20)
	}
	raw := make([]byte, size)
	if _, err := f.ReadAt(raw, 0); err != nil && !(errors.Is(err, io.EOF) && size >= 0) {
		return nil, size, err
	}
	s.count.bytes.Add(size)
	return raw, size, nil
}

func blobPath(d v1.Hash) string { return "blobs/" + d.Algorithm + "/" + d.Hex }

// blobError names what is wrong with the file of a blob.
func (s *layoutStore) blobError(op string, err error) error {
	var own *Error
	switch {
	case errors.As(err, &own):
		own.Op = op
		return own
	case errors.Is(err, fs.ErrNotExist):
		return fail(ErrNotFound, op, "%s does not hold it", s.ref).hint("export the image again, with all of its blobs")
	}
	return fail(ErrCorrupt, op, "%s", printable(err.Error()))
}

func (s *layoutStore) manifest(_ context.Context, d v1.Descriptor) (document, error) {
	op := "reading manifest " + d.Digest.String()
	raw, _, err := s.small(blobPath(d.Digest), MaxManifest)
	if err != nil {
		return document{}, s.blobError(op, err)
	}
	doc := document{raw: raw, mediaType: d.MediaType}
	err = doc.verify(op, d)
	return doc, err
}

func (s *layoutStore) open(_ context.Context, d v1.Descriptor, off, _ int64) (io.ReadCloser, int64, error) {
	op := "reading blob " + d.Digest.String()
	f, size, err := s.files.open(blobPath(d.Digest))
	if err != nil {
		return nil, 0, s.blobError(op, err)
	}
	if size != d.Size {
		_ = f.Close()
		return nil, 0, sizeError(op, d.Size, size).hint("export the image again")
	}
	return &sectionBody{SectionReader: io.NewSectionReader(f, off, size-off), close: f.Close}, off, nil
}

func (s *layoutStore) file(d v1.Descriptor) (Blob, error) {
	op := "reading blob " + d.Digest.String()
	f, size, err := s.files.open(blobPath(d.Digest))
	if err != nil {
		return nil, s.blobError(op, err)
	}
	if size != d.Size {
		_ = f.Close()
		return nil, sizeError(op, d.Size, size).hint("export the image again")
	}
	return &fileBlob{ReaderAt: f, size: size, count: s.count, close: f.Close}, nil
}

type sectionBody struct {
	*io.SectionReader
	close func() error
}

// Close implements io.Closer.
func (s *sectionBody) Close() error { return s.close() }

// root picks what the reference means out of index.json.
func (s *layoutStore) root(ctx context.Context) (document, error) {
	op := "reading index.json of " + s.ref.Path
	raw, _, err := s.small("index.json", MaxManifest)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return document{}, fail(ErrFormat, op, "there is none").hint("export the image again")
		}
		return document{}, s.blobError(op, err)
	}
	whole := document{raw: raw, mediaType: types.OCIImageIndex}
	if err := whole.verify(op, v1.Descriptor{Size: -1}); err != nil {
		return document{}, err
	}
	index, _, err := whole.parse(op)
	if err != nil {
		return document{}, err
	}
	if index == nil {
		return document{}, fail(ErrFormat, op, "it is no index")
	}
	var images []v1.Descriptor
	for i, d := range index.Manifests {
		if err := checkDescriptor(op, fmt.Sprintf("manifest %d", i+1), d); err != nil {
			return document{}, err
		}
		images = append(images, d)
	}
	if s.ref.Digest != (v1.Hash{}) {
		if s.ref.Digest == whole.digest {
			return whole, nil
		}
		return s.manifest(ctx, v1.Descriptor{Digest: s.ref.Digest, Size: -1, MediaType: mediaTypeOf(images, s.ref.Digest)})
	}
	chosen := choose(images, s.ref.Select)
	switch {
	case len(images) == 0:
		return document{}, fail(ErrFormat, op, "it lists no image").hint("export the image again")
	case len(chosen) == 0:
		return document{}, fail(ErrNotFound, op, "it lists no image named %q, only:%s", s.ref.Select, list(s.ref, images)).hint("name one of these")
	case len(chosen) == 1:
		return s.manifest(ctx, chosen[0])
	case s.ref.Select == "" && onePerPlatform(chosen):
		return whole, nil // The layout was written as one index.
	case onePerPlatform(chosen):
		return selection(op, index, chosen)
	}
	return document{}, fail(ErrReference, op, "it lists several images:%s", list(s.ref, chosen)).hint("name one of these")
}

func mediaTypeOf(images []v1.Descriptor, digest v1.Hash) types.MediaType {
	for _, d := range images {
		if d.Digest == digest {
			return d.MediaType
		}
	}
	return ""
}

// choose returns the images of a name, or all without a name.
func choose(images []v1.Descriptor, name string) []v1.Descriptor {
	var out []v1.Descriptor
	for _, d := range images {
		if name == "" && skipped(d) {
			continue
		}
		if name == "" || d.Annotations[refNameAnnotation] == name || d.Annotations[containerdAnnotation] == name {
			out = append(out, d)
		}
	}
	return distinct(out)
}

// distinct drops further names of the same image.
func distinct(in []v1.Descriptor) []v1.Descriptor {
	seen := map[v1.Hash]bool{}
	var out []v1.Descriptor
	for _, d := range in {
		if !seen[d.Digest] {
			out = append(out, d)
		}
		seen[d.Digest] = true
	}
	return out
}

// skipped says that a descriptor is an attestation or an artifact. Some writers put
// the media type of the config where the type of an artifact goes.
func skipped(d v1.Descriptor) bool {
	return d.Annotations[attestationType] != "" ||
		d.ArtifactType != "" && !types.MediaType(d.ArtifactType).IsConfig() ||
		d.Platform != nil && d.Platform.OS == "unknown" && d.Platform.Architecture == "unknown"
}

// IsUnnamed says that a descriptor in index.json is that of an image which no
// name stands for.
func IsUnnamed(d v1.Descriptor) bool {
	return !skipped(d) && d.Annotations[refNameAnnotation] == "" && d.Annotations[containerdAnnotation] == ""
}

// onePerPlatform says that the descriptors are the images of one index: each has
// a platform, no two the same, and their names do not differ.
func onePerPlatform(images []v1.Descriptor) bool {
	seen := map[string]bool{}
	for _, d := range images {
		if d.Platform == nil || seen[d.Platform.String()] || d.Annotations[refNameAnnotation] != images[0].Annotations[refNameAnnotation] {
			return false
		}
		seen[d.Platform.String()] = true
	}
	return true
}

// selection is an index of the images of one name.
func selection(op string, index *v1.IndexManifest, images []v1.Descriptor) (document, error) {
	part := *index
	part.Manifests = images
	if part.MediaType == "" {
		part.MediaType = types.OCIImageIndex
	}
	raw, err := json.Marshal(part)
	if err != nil {
		return document{}, fail(ErrFormat, op, "%s", err)
	}
	doc := document{raw: raw, mediaType: part.MediaType}
	err = doc.verify(op, v1.Descriptor{Size: -1})
	return doc, err
}

// list shows images as references that can be used, at most ten.
func list(ref Reference, images []v1.Descriptor) string {
	prefix := layoutPrefix
	if ref.Kind == Tarball {
		prefix = tarballPrefix
	}
	var b strings.Builder
	for i, d := range images {
		if i == 10 {
			fmt.Fprintf(&b, " and %d more", len(images)-i)
			break
		}
		name := d.Annotations[refNameAnnotation]
		if name == "" {
			name = d.Annotations[containerdAnnotation]
		}
		if name == "" {
			fmt.Fprintf(&b, " %s%s@%s", prefix, ref.Path, d.Digest)
		} else {
			fmt.Fprintf(&b, " %s%s:%s", prefix, ref.Path, printable(name))
		}
	}
	return b.String()
}
