package content

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/captf-toolkit/captf/images/ctxio"
	"github.com/captf-toolkit/captf/images/regular"
	"github.com/captf-toolkit/captf/images/source"
)

// The files of a layout.
const (
	layoutFile  = "oci-layout"
	indexFile   = "index.json"
	layoutText  = `{"imageLayoutVersion":"1.0.0"}`
	maxDocument = 4 << 20
)

func blobFile(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }

// WriteLayout writes the set into an OCI layout directory under a reference
// name, which may be empty. A directory that does not exist appears when it is
// complete; an OCI layout that exists is added to, where the set takes the place of
// the image of that name, or without a name of those without one; any other
// directory that is not empty is refused. Blobs that nothing names any more stay.
func (s *Set) WriteLayout(ctx context.Context, dir, refName string) error {
	fail := func(err error) error { return fmt.Errorf("writing OCI layout %s: %w", dir, err) }
	if err := checkRefName(refName); err != nil {
		return fail(err)
	}
	state, err := layoutState(dir)
	if err != nil {
		return fail(err)
	}
	if state != layoutAbsent {
		if err := s.addTo(ctx, dir, refName); err != nil {
			return fail(err)
		}
		return nil
	}
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // images are not secret
		return fail(err)
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-")
	if err != nil {
		return fail(err)
	}
	err = s.addTo(ctx, temp, refName)
	if err == nil {
		err = os.Chmod(temp, 0o755) //nolint:gosec // images are not secret
	}
	if err == nil {
		err = os.Rename(temp, dir)
	}
	if err != nil {
		return fail(errors.Join(err, os.RemoveAll(temp)))
	}
	return nil
}

// CheckLayout says whether WriteLayout would refuse the directory, before work
// is done for it.
func CheckLayout(dir string) error {
	if _, err := layoutState(dir); err != nil {
		return fmt.Errorf("writing OCI layout %s: %w", dir, err)
	}
	return nil
}

// refNamePattern is that of tags, so that an image can be published under its name.
var refNamePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

func checkRefName(name string) error {
	if name != "" && !refNamePattern.MatchString(name) {
		return fmt.Errorf("the reference name %q is no tag, which has up to 128 letters, digits, dots, dashes and underscores", name)
	}
	return nil
}

type state int

const (
	layoutAbsent state = iota
	layoutEmpty
	layoutThere
)

// layoutState tells what a directory is, or why it cannot be written to.
func layoutState(dir string) (state, error) {
	list, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return layoutAbsent, nil
	case err != nil:
		return 0, err
	case len(list) == 0:
		return layoutEmpty, nil
	}
	raw, err := readSmall(filepath.Join(dir, layoutFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, errors.New("the directory exists, is not empty and is no OCI layout: name another one, or remove it")
	}
	if err != nil {
		return 0, err
	}
	var l ocispec.ImageLayout
	if err := json.Unmarshal(raw, &l); err != nil || !strings.HasPrefix(l.Version, "1.") {
		return 0, fmt.Errorf("the file %s is not of an OCI layout of version 1", layoutFile)
	}
	return layoutThere, nil
}

func readSmall(file string) ([]byte, error) {
	raw, err := regular.Read(file, maxDocument)
	if err == nil && len(raw) > maxDocument {
		err = fmt.Errorf("%s is larger than %d bytes", file, maxDocument)
	}
	return raw, err
}

// Replace puts the set in the place of a document that a layout lists, under the
// name if it is not empty: its names and annotations stay. The blobs that the set
// does not have are there already.
func (s *Set) Replace(ctx context.Context, dir, refName string, old v1.Hash) error {
	fail := func(err error) error { return fmt.Errorf("changing OCI layout %s: %w", dir, err) }
	index, err := readIndex(dir)
	if err != nil {
		return fail(err)
	}
	replaced := false
	for i, d := range index.Manifests {
		if d.Digest == old && (refName == "" || d.Annotations[ocispec.AnnotationRefName] == refName) {
			index.Manifests[i].Digest, index.Manifests[i].Size = s.Root.Descriptor.Digest, s.Root.Descriptor.Size
			replaced = true
		}
	}
	if !replaced {
		return fail(fmt.Errorf("its %s does not list %s but the images themselves: name one of them by its digest", indexFile, old))
	}
	raw, err := json.Marshal(index)
	if err != nil {
		return fail(err)
	}
	if err := s.putContent(ctx, dir); err != nil {
		return fail(err)
	}
	if err := putFile(dir, indexFile, raw); err != nil {
		return fail(err)
	}
	return nil
}

// putContent writes blobs first, then the documents that name them.
func (s *Set) putContent(ctx context.Context, dir string) error {
	for _, b := range s.Blobs {
		if err := putBlob(ctx, dir, b); err != nil {
			return err
		}
	}
	for _, d := range slices.Concat(s.Documents, s.Attached) {
		if err := putFile(dir, blobFile(d.Descriptor.Digest), d.Raw); err != nil {
			return err
		}
	}
	return nil
}

// addTo writes the content first, and last the index that names it.
func (s *Set) addTo(ctx context.Context, dir, refName string) error {
	if err := s.putContent(ctx, dir); err != nil {
		return err
	}
	index, err := readIndex(dir)
	if err != nil {
		return err
	}
	raw, err := s.list(index, refName)
	if err != nil {
		return err
	}
	if err := putFile(dir, layoutFile, []byte(layoutText)); err != nil {
		return err
	}
	return putFile(dir, indexFile, raw)
}

func readIndex(dir string) (*v1.IndexManifest, error) {
	raw, err := readSmall(filepath.Join(dir, indexFile))
	if errors.Is(err, fs.ErrNotExist) {
		return &v1.IndexManifest{}, nil
	}
	if err != nil {
		return nil, err
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", indexFile, err)
	}
	return index, nil
}

// list adds the set to the index of a layout, in the place of the image with the
// same name, or without one.
func (s *Set) list(index *v1.IndexManifest, refName string) ([]byte, error) {
	index.SchemaVersion, index.MediaType = 2, types.OCIImageIndex
	listed := map[v1.Hash]bool{}
	index.Manifests = slices.DeleteFunc(index.Manifests, func(d v1.Descriptor) bool {
		name := d.Annotations[ocispec.AnnotationRefName]
		if refName != "" && name == refName || d.Digest == s.Root.Descriptor.Digest && name == "" || refName == "" && source.IsUnnamed(d) {
			return true
		}
		listed[d.Digest] = true
		return false
	})
	root := s.Root.Descriptor
	if refName != "" {
		root.Annotations = map[string]string{ocispec.AnnotationRefName: refName}
	}
	index.Manifests = append(index.Manifests, root)
	for _, d := range s.Attached {
		if !listed[d.Descriptor.Digest] {
			index.Manifests = append(index.Manifests, d.artifact())
		}
	}
	raw, err := json.Marshal(index)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", indexFile, err)
	}
	return raw, nil
}

// artifact is the descriptor of an attached document: its type tells that it is
// no image.
func (d Document) artifact() v1.Descriptor {
	var m struct {
		ArtifactType string         `json:"artifactType"`
		Config       *v1.Descriptor `json:"config"`
	}
	out := d.Descriptor
	if err := json.Unmarshal(d.Raw, &m); err != nil {
		return out
	}
	if out.ArtifactType = m.ArtifactType; out.ArtifactType == "" && m.Config != nil {
		out.ArtifactType = string(m.Config.MediaType)
	}
	return out
}

// putBlob copies a blob, unless it is there, and checks its digest.
func putBlob(ctx context.Context, dir string, b Blob) (err error) {
	to := filepath.Join(dir, filepath.FromSlash(blobFile(b.Descriptor.Digest)))
	if info, err := os.Stat(to); err == nil && info.Mode().IsRegular() && info.Size() == b.Descriptor.Size {
		return nil
	}
	return putNew(to, func(w io.Writer) error { return b.copyTo(ctx, w) })
}

// copyTo copies a blob and checks its size and digest.
func (b Blob) copyTo(ctx context.Context, to io.Writer) error {
	op := "reading blob " + b.Descriptor.Digest.String()
	r, err := b.Open(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	defer r.Close()
	sum, err := v1.Hasher(b.Descriptor.Digest.Algorithm)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	target := &writer{w: to}
	n, err := io.Copy(io.MultiWriter(target, sum), ctxio.Reader(ctx, io.LimitReader(r, b.Descriptor.Size+1)))
	if target.err != nil {
		return fmt.Errorf("writing blob %s: %w", b.Descriptor.Digest, target.err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); n != b.Descriptor.Size || got != b.Descriptor.Digest.Hex {
		return fmt.Errorf("%s: the content is damaged: it has %d bytes and the digest %s", op, n, got)
	}
	return nil
}

// writer remembers the error of writing, which is another one than that of reading.
type writer struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	w.err = err
	return n, err
}

// putFile writes a small file.
func putFile(dir, name string, raw []byte) error {
	return putNew(filepath.Join(dir, filepath.FromSlash(name)), func(w io.Writer) error {
		_, err := w.Write(raw)
		return err
	})
}

// putNew writes a file beside its place and moves it there when it is complete.
func putNew(to string, write func(io.Writer) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // images are not secret
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(to), ".tmp-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	err = errors.Join(write(f), f.Chmod(0o644), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), to)
}

// WriteTarball writes the set as an OCI layout in a tar archive, the same for the
// same set. The file appears when it is complete, and replaces an older one.
func (s *Set) WriteTarball(ctx context.Context, file, refName string, modified time.Time) error {
	fail := func(err error) error { return fmt.Errorf("writing archive %s: %w", file, err) }
	if err := checkRefName(refName); err != nil {
		return fail(err)
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return fail(errors.New("it exists and is not a regular file"))
	}
	index, err := s.list(&v1.IndexManifest{}, refName)
	if err != nil {
		return fail(err)
	}
	type member struct {
		name  string
		size  int64
		write func(io.Writer) error
	}
	raw := func(name string, b []byte) member {
		return member{name, int64(len(b)), func(w io.Writer) error { _, err := w.Write(b); return err }}
	}
	var blobs []member
	for _, d := range slices.Concat(s.Documents, s.Attached) {
		blobs = append(blobs, raw(blobFile(d.Descriptor.Digest), d.Raw))
	}
	for _, b := range s.Blobs {
		blobs = append(blobs, member{blobFile(b.Descriptor.Digest), b.Descriptor.Size, func(w io.Writer) error { return b.copyTo(ctx, w) }})
	}
	slices.SortFunc(blobs, func(a, b member) int { return strings.Compare(a.name, b.name) })
	members := append([]member{raw(layoutFile, []byte(layoutText)), raw(indexFile, index)}, blobs...)
	err = putNew(file, func(w io.Writer) error {
		t := tar.NewWriter(w)
		for _, m := range members {
			if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: m.name, Mode: 0o644, Size: m.size, ModTime: modified}); err != nil {
				return err
			}
			if err := m.write(t); err != nil {
				return err
			}
		}
		return t.Close()
	})
	if err != nil {
		return fail(err)
	}
	return nil
}
