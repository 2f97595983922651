package source

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/captf-toolkit/captf/images/ctxio"
)

const (
	// maxArchiveEntries bounds the entries of an archive.
	maxArchiveEntries = 100_000
	// maxArchive bounds an archive that is compressed, in unpacked bytes.
	maxArchive = 16 << 30
	// maxArchiveLinks bounds the links that lead to one file.
	maxArchiveLinks = 8
)

// archive is a tar file with a table of where its entries are. Nothing is
// extracted, and names are keys only.
type archive struct {
	file  *os.File
	temp  bool
	files map[string]extent
	links map[string]string
}

type extent struct{ off, size int64 }

func openTarball(ctx context.Context, ref Reference, opts Options, count *counters) (store, error) {
	op := "opening " + ref.Text
	info, err := os.Stat(ref.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail(ErrNotFound, op, "there is no file %s", ref.Path).hint("check the path; it is relative to the working directory")
	case err != nil:
		return nil, fail(ErrNotFound, op, "%s", err)
	case info.IsDir():
		return nil, fail(ErrFormat, op, "%s is a directory", ref.Path).hint("for an OCI layout directory write oci:%s", ref.Path)
	case !info.Mode().IsRegular():
		return nil, fail(ErrFormat, op, "%s is not a regular file", ref.Path).hint("write the archive to a file")
	}
	f, err := os.Open(ref.Path)
	if err != nil {
		return nil, fail(ErrNotFound, op, "%s", err)
	}
	a := &archive{file: f}
	if err := a.load(ctx, op, opts); err != nil {
		return nil, errors.Join(err, a.close())
	}
	s, err := a.store(ctx, op, ref, count)
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	return s, nil
}

// load unpacks a compressed archive to a temporary file, and reads the headers.
func (a *archive) load(ctx context.Context, op string, opts Options) error {
	var magic [4]byte
	_, _ = io.ReadFull(a.file, magic[:])
	if _, err := a.file.Seek(0, io.SeekStart); err != nil {
		return fail(ErrCorrupt, op, "%s", err)
	}
	var unpacked io.Reader
	switch {
	case bytes.HasPrefix(magic[:], []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(a.file)
		if err != nil {
			return fail(ErrCorrupt, op, "%s", printable(err.Error()))
		}
		unpacked = z
	case magic == [4]byte{0x28, 0xb5, 0x2f, 0xfd}:
		z, err := zstd.NewReader(a.file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return fail(ErrCorrupt, op, "%s", printable(err.Error()))
		}
		defer z.Close()
		unpacked = z
	}
	if unpacked != nil {
		temp, err := os.CreateTemp(opts.TempDir, "captf-archive-*")
		if err != nil {
			return fmt.Errorf("%s: making a temporary file: %w", op, err)
		}
		packed := a.file
		a.file, a.temp = temp, true
		n, err := io.Copy(temp, io.LimitReader(ctxio.Reader(ctx, unpacked), maxArchive+1))
		_ = packed.Close()
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%s: %w", op, context.Cause(ctx))
		case err != nil:
			return fail(ErrCorrupt, op, "unpacking it: %s", printable(err.Error())).hint("export the image again")
		case n > maxArchive:
			return fail(ErrTooLarge, op, "it unpacks to more than %d GiB", maxArchive>>30)
		}
		if _, err := temp.Seek(0, io.SeekStart); err != nil {
			return fail(ErrCorrupt, op, "%s", err)
		}
	}
	return a.scan(ctx, op)
}

func (a *archive) scan(ctx context.Context, op string) error {
	a.files, a.links = map[string]extent{}, map[string]string{}
	info, err := a.file.Stat()
	if err != nil {
		return fail(ErrCorrupt, op, "%s", err)
	}
	tr := tar.NewReader(a.file)
	for n := 0; ; n++ {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			if n == 0 {
				return fail(ErrFormat, op, "it is empty").hint("export the image again")
			}
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", op, context.Cause(ctx))
		}
		if err != nil {
			if n == 0 {
				return fail(ErrFormat, op, "it is not a tar archive").hint("export the image with docker save, podman save or skopeo copy ... oci-archive:FILE")
			}
			return fail(ErrCorrupt, op, "reading entry %d: %s", n+1, printable(err.Error())).hint("export the image again: it may be truncated")
		}
		if n >= maxArchiveEntries {
			return fail(ErrTooLarge, op, "it has more than %d entries", maxArchiveEntries)
		}
		off, err := a.file.Seek(0, io.SeekCurrent)
		if err != nil {
			return fail(ErrCorrupt, op, "%s", err)
		}
		name := entryName(h.Name)
		delete(a.files, name)
		delete(a.links, name)
		switch h.Typeflag {
		case tar.TypeReg:
			if sparse(h) {
				continue
			}
			if h.Size > info.Size()-off {
				return fail(ErrCorrupt, op, "entry %s has %d bytes, but the archive ends after %d of them", printable(name), h.Size, info.Size()-off).
					hint("export the image again: it is truncated")
			}
			a.files[name] = extent{off, h.Size}
		case tar.TypeSymlink:
			a.links[name] = entryName(path.Join(path.Dir(name), h.Linkname)) //nolint:gosec // A key of a table, never a path of this machine.
		case tar.TypeLink:
			a.links[name] = entryName(h.Linkname)
		}
	}
}

// entryName makes names comparable; what leads out of the archive stays inside.
func entryName(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

func sparse(h *tar.Header) bool {
	for k := range h.PAXRecords {
		if strings.HasPrefix(k, "GNU.sparse.") {
			return true
		}
	}
	return h.Typeflag == tar.TypeGNUSparse
}

func (a *archive) find(name string) (extent, bool) {
	name = entryName(name)
	for range maxArchiveLinks {
		if e, ok := a.files[name]; ok {
			return e, true
		}
		next, ok := a.links[name]
		if !ok {
			break
		}
		name = next
	}
	return extent{}, false
}

// open implements layoutFiles.
func (a *archive) open(name string) (section, int64, error) {
	e, ok := a.find(name)
	if !ok {
		return nil, 0, fs.ErrNotExist
	}
	return openSection{io.NewSectionReader(a.file, e.off, e.size)}, e.size, nil
}

type openSection struct{ *io.SectionReader }

func (openSection) Close() error { return nil }

func (a *archive) close() error {
	err := a.file.Close()
	if a.temp {
		err = errors.Join(err, os.Remove(a.file.Name()))
	}
	return err
}

// store reads the archive as an OCI layout when it is one, else as docker save
// wrote it before there were layouts.
func (a *archive) store(ctx context.Context, op string, ref Reference, count *counters) (store, error) {
	layout := &layoutStore{ref: ref, files: a, count: count}
	if _, ok := a.find("oci-layout"); ok {
		if _, ok := a.find("index.json"); ok {
			return layout, nil
		}
	}
	if _, ok := a.find("manifest.json"); !ok {
		return nil, fail(ErrFormat, op, "it holds neither an OCI layout (oci-layout, index.json) nor a docker save archive (manifest.json)").
			hint("export the image with docker save, podman save or skopeo copy ... oci-archive:FILE; docker export does not keep an image")
	}
	return newDockerArchive(ctx, op, ref, a, layout)
}

// dockerArchive gives an archive of docker save as if it were an OCI layout: its
// manifests are made from manifest.json.
type dockerArchive struct {
	*layoutStore
	main document
}

type dockerEntry struct {
	Config   string
	RepoTags []string
	Layers   []string
}

func newDockerArchive(ctx context.Context, op string, ref Reference, a *archive, layout *layoutStore) (store, error) {
	raw, _, err := layout.small("manifest.json", MaxManifest)
	if err != nil {
		return nil, layout.blobError(op, err)
	}
	var entries []dockerEntry
	if err := json.Unmarshal(raw, &entries); err != nil {
		return nil, fail(ErrFormat, op, "its manifest.json is not valid: %s", jsonText(err))
	}
	entry, err := chooseDocker(op, ref, entries)
	if err != nil {
		return nil, err
	}
	d := &dockerArchive{layoutStore: layout}
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.DockerManifestSchema2}
	rawConfig, size, err := layout.small(entry.Config, MaxConfig)
	if err != nil {
		return nil, layout.blobError(op+": reading its config "+printable(entry.Config), err)
	}
	digest, _, err := v1.SHA256(bytes.NewReader(rawConfig))
	if err != nil {
		return nil, fail(ErrCorrupt, op, "%s", err)
	}
	config, err := v1.ParseConfigFile(bytes.NewReader(rawConfig))
	if err != nil {
		return nil, fail(ErrFormat, op, "its config is not valid: %s", jsonText(err))
	}
	m.Config = v1.Descriptor{MediaType: types.DockerConfigJSON, Digest: digest, Size: size}
	a.alias(digest, entry.Config)
	if len(entry.Layers) != len(config.RootFS.DiffIDs) {
		return nil, fail(ErrCorrupt, op, "its manifest.json lists %d layers, but its config lists %d", len(entry.Layers), len(config.RootFS.DiffIDs)).hint("export the image again")
	}
	if len(entry.Layers) > MaxLayers {
		return nil, fail(ErrTooLarge, op, "it has %d layers, more than %d", len(entry.Layers), MaxLayers)
	}
	m.Layers = []v1.Descriptor{}
	for i, name := range entry.Layers {
		layer, err := a.layer(ctx, op, name, config.RootFS.DiffIDs[i])
		if err != nil {
			return nil, err
		}
		m.Layers = append(m.Layers, layer)
	}
	if d.main.raw, err = json.Marshal(m); err != nil {
		return nil, fail(ErrFormat, op, "%s", err)
	}
	d.main.mediaType = types.DockerManifestSchema2
	if err := d.main.verify(op, v1.Descriptor{Size: -1}); err != nil {
		return nil, err
	}
	if ref.Digest != (v1.Hash{}) && ref.Digest != d.main.digest && ref.Digest != digest {
		return nil, fail(ErrNotFound, op, "it holds no image %s, but %s", ref.Digest, digest)
	}
	return d, nil
}

// alias makes a file known under the name that its digest has in a layout.
func (a *archive) alias(digest v1.Hash, name string) {
	if e, ok := a.find(name); ok {
		a.files[blobPath(digest)] = e
	}
}

// layer describes a layer of docker save. Its digest is that of the config when it
// is not compressed, else what its name claims, else computed; reading checks it.
func (a *archive) layer(ctx context.Context, op, name string, diffID v1.Hash) (v1.Descriptor, error) {
	f, size, err := a.open(name)
	if err != nil {
		return v1.Descriptor{}, fail(ErrCorrupt, op, "it does not hold the layer %s", printable(name)).hint("export the image again")
	}
	d := v1.Descriptor{MediaType: types.DockerUncompressedLayer, Size: size, Digest: diffID}
	var magic [4]byte
	_, _ = f.ReadAt(magic[:], 0)
	if bytes.HasPrefix(magic[:], []byte{0x1f, 0x8b}) || magic == [4]byte{0x28, 0xb5, 0x2f, 0xfd} {
		d.MediaType = types.DockerLayer
		hex := strings.TrimSuffix(path.Base(entryName(name)), ".tar.gz")
		if d.Digest, err = v1.NewHash("sha256:" + hex); err != nil {
			if d.Digest, _, err = v1.SHA256(ctxio.Reader(ctx, io.NewSectionReader(f, 0, size))); err != nil {
				return d, fail(ErrCorrupt, op, "reading the layer %s: %s", printable(name), printable(err.Error()))
			}
		}
	}
	a.alias(d.Digest, name)
	return d, nil
}

func chooseDocker(op string, ref Reference, entries []dockerEntry) (dockerEntry, error) {
	var names []string
	var found []dockerEntry
	for _, e := range entries {
		names = append(names, e.RepoTags...)
		matches := ref.Select == ""
		for _, tag := range e.RepoTags {
			matches = matches || tag == ref.Select
		}
		if matches {
			found = append(found, e)
		}
	}
	var shown strings.Builder
	for i, n := range names {
		if i == 10 {
			fmt.Fprintf(&shown, " and %d more", len(names)-i)
			break
		}
		fmt.Fprintf(&shown, " %s%s:%s", tarballPrefix, ref.Path, printable(n))
	}
	switch {
	case len(entries) == 0:
		return dockerEntry{}, fail(ErrFormat, op, "it lists no image").hint("export the image again")
	case len(found) == 0:
		return dockerEntry{}, fail(ErrNotFound, op, "it lists no image named %q, only:%s", ref.Select, shown.String()).hint("name one of these")
	case len(found) > 1:
		return dockerEntry{}, fail(ErrReference, op, "it lists several images:%s", shown.String()).hint("name one of these")
	}
	return found[0], nil
}

func (d *dockerArchive) root(context.Context) (document, error) { return d.main, nil }
