package referrer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// layout keeps referrers in an OCI layout directory.
type layout struct{ dir string }

// Layout returns the store of an OCI layout directory. Two processes must not
// attach to the same one at once.
func Layout(dir string) Store { return &layout{dir: dir} }

// open opens the directory; nothing outside of it is read or written, whatever
// links are in it.
func (l *layout) open(op string) (*os.Root, error) {
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return root, nil
}

func read(root *os.Root, op, file string, limit int64) ([]byte, error) {
	f, err := root.Open(file)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: there is no %s: %w", op, file, ErrNotFound)
		}
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %s is not a regular file: %w", op, file, ErrFormat)
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s: %s has more than %d bytes: %w", op, file, limit, ErrTooLarge)
	}
	return b, nil
}

func blobPath(d v1.Hash) string { return path.Join("blobs", d.Algorithm, d.Hex) }

func (l *layout) index(root *os.Root, op string) (*v1.IndexManifest, error) {
	raw, err := read(root, op, "index.json", MaxManifest)
	if err != nil {
		return nil, err
	}
	var index v1.IndexManifest
	if err := json.Unmarshal(raw, &index); err != nil {
		return nil, fmt.Errorf("%s: index.json is not a valid index: %w", op, ErrFormat)
	}
	return &index, nil
}

// List implements Store.
func (l *layout) List(ctx context.Context, subject v1.Hash) ([]v1.Descriptor, error) {
	op := "listing the referrers of " + subject.String() + " in " + l.dir
	root, err := l.open(op)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	index, err := l.index(root, op)
	if err != nil {
		return nil, err
	}
	return referring(op, index.Manifests, subject, func(d v1.Descriptor) ([]byte, error) { return l.manifest(ctx, d) })
}

// Content implements Store.
func (l *layout) Content(ctx context.Context, d v1.Descriptor, limit int64) ([]byte, string, error) {
	return content(ctx, l, d, limit)
}

func (l *layout) manifest(_ context.Context, d v1.Descriptor) ([]byte, error) {
	digest := d.Digest
	op := "reading manifest " + digest.String()
	root, err := l.open(op)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	raw, err := read(root, op, blobPath(digest), MaxManifest)
	if err != nil {
		return nil, err
	}
	if digestOf(raw) != digest {
		return nil, fmt.Errorf("%s: its digest is %s: %w", op, digestOf(raw), ErrFormat)
	}
	return raw, nil
}

func (l *layout) blob(_ context.Context, d v1.Descriptor) ([]byte, error) {
	op := "reading blob " + d.Digest.String()
	root, err := l.open(op)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(blobPath(d.Digest))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	defer f.Close()
	return readBlob(op, f, d)
}

// Attach implements Store. Blobs come first and index.json last, each under a
// name of its own until it is whole.
func (l *layout) Attach(_ context.Context, a Artifact) (v1.Descriptor, error) {
	raw, d, err := a.Manifest()
	if err != nil {
		return v1.Descriptor{}, err
	}
	op := fmt.Sprintf("attaching %s to %s in %s", a.Type, a.Subject.Digest, l.dir)
	root, err := l.open(op)
	if err != nil {
		return v1.Descriptor{}, err
	}
	defer root.Close()
	if _, err := root.Stat(blobPath(a.Subject.Digest)); err != nil {
		// The digest can be that of index.json itself, which attaching would change.
		return v1.Descriptor{}, fmt.Errorf("%s: the layout has no manifest with this digest: name an image of it, or build it again with \"captf image build\": %w", op, ErrNotFound)
	}
	index, err := l.index(root, op)
	if err != nil {
		return v1.Descriptor{}, err
	}
	if slices.ContainsFunc(index.Manifests, func(have v1.Descriptor) bool { return have.Digest == d.Digest }) {
		return d, nil
	}
	for _, b := range [][]byte{emptyConfig, a.Content, raw} {
		if err := writeFile(root, op, blobPath(digestOf(b)), b); err != nil {
			return v1.Descriptor{}, err
		}
	}
	index.Manifests = append(index.Manifests, d)
	out, err := json.Marshal(index)
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("%s: %w", op, err)
	}
	if len(out) > MaxManifest {
		return v1.Descriptor{}, fmt.Errorf("%s: index.json would have more than %d MiB: %w", op, MaxManifest>>20, ErrTooLarge)
	}
	if err := writeFile(root, op, "index.json", out); err != nil {
		return v1.Descriptor{}, err
	}
	return d, nil
}

// writeFile writes a file whole or not at all.
func writeFile(root *os.Root, op, file string, b []byte) (err error) {
	if err := root.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	temp := file + ".tmp"
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	defer func() {
		if err != nil {
			_ = root.Remove(temp)
		}
	}()
	if _, err := f.Write(b); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", op, err), f.Close())
	}
	if err := f.Sync(); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", op, err), f.Close())
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if err := root.Rename(temp, file); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}
