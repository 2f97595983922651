package build

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/stargz-snapshotter/estargz"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"

	"github.com/captf-toolkit/captf/images/ctxio"
)

// DefaultLevel is the compression level that is used when none is given. Higher
// ones take much longer and make little difference: of a runtime of 115 MB level
// 4 leaves 37 MB, level 6 takes half as long again and leaves 36 MB.
const DefaultLevel = 4

// The modes that everything in a layer has.
const (
	dirMode  = 0o755
	fileMode = 0o644
	execMode = 0o755
)

// entry is a file, directory or symbolic link in a layer.
type entry struct {
	// name is the path in the image, without a slash at the begin or end.
	name string
	typ  byte
	mode int64
	uid  int
	link string
	size int64
	// open returns the content of a file.
	open func() (io.ReadCloser, error)
}

func dir(name string, uid int) entry {
	return entry{name: name, typ: tar.TypeDir, mode: dirMode, uid: uid}
}

func symlink(name, target string, uid int) entry {
	return entry{name: name, typ: tar.TypeSymlink, mode: 0o777, uid: uid, link: target}
}

// text is a file of root with a content of ours.
func text(name string, content []byte) entry {
	return entry{
		name: name, typ: tar.TypeReg, mode: fileMode, size: int64(len(content)),
		open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
	}
}

// file is a file of the machine. Of its mode only whether it can be executed counts.
func file(name, path string, info os.FileInfo, uid int) entry {
	e := entry{
		name: name, typ: tar.TypeReg, mode: fileMode, uid: uid, size: info.Size(),
		open: func() (io.ReadCloser, error) { return os.Open(path) },
	}
	if info.Mode()&0o111 != 0 {
		e.mode = execMode
	}
	return e
}

// layer is a finished layer in a file.
type layer struct {
	path           string
	digest, diffID v1.Hash
	toc            string
	size           int64
}

var _ v1.Layer = (*layer)(nil)

func (l *layer) Digest() (v1.Hash, error)            { return l.digest, nil }
func (l *layer) DiffID() (v1.Hash, error)            { return l.diffID, nil }
func (l *layer) Size() (int64, error)                { return l.size, nil }
func (l *layer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }
func (l *layer) Compressed() (io.ReadCloser, error)  { return os.Open(l.path) }
func (l *layer) Uncompressed() (io.ReadCloser, error) {
	f, err := os.Open(l.path)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil, closing(f, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{z, f}, nil
}

func closing(c io.Closer, err error) error {
	_ = c.Close()
	return err
}

// layerWriter writes layers into a directory.
type layerWriter struct {
	dir     string
	created time.Time
	level   int
}

// write writes a layer with the entries, in the order of their names.
func (w layerWriter) write(ctx context.Context, entries []entry) (_ *layer, err error) {
	slices.SortFunc(entries, func(a, b entry) int { return compareNames(a.name, b.name) })
	for _, e := range entries {
		if isWhiteout(e.name) {
			return nil, fmt.Errorf("writing a layer: /%s would delete files of the layers below: rename it", e.name)
		}
	}
	for i, e := range entries[1:] {
		if e.name == entries[i].name {
			return nil, fmt.Errorf("writing a layer: /%s is in it twice", e.name)
		}
	}
	f, err := os.CreateTemp(w.dir, "layer-")
	if err != nil {
		return nil, fmt.Errorf("writing a layer: %w", err)
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}()
	sum := sha256.New()
	counted := &counter{w: io.MultiWriter(f, sum)}
	out := estargz.NewWriterWithCompressor(counted, &compressor{
		GzipCompressor: estargz.NewGzipCompressorWithLevel(w.level), level: w.level,
	})
	out.ChunkSize = chunkSize
	r, pipe := io.Pipe()
	go func() { pipe.CloseWithError(w.archive(ctx, pipe, entries)) }()
	err = out.AppendTar(r)
	_ = r.Close() // ends the goroutine, whatever happened
	if err != nil {
		return nil, cause(ctx, fmt.Errorf("writing a layer: %w", err))
	}
	toc, err := out.Close()
	if err != nil {
		return nil, fmt.Errorf("writing a layer: %w", err)
	}
	diffID, err := v1.NewHash(out.DiffID())
	if err != nil {
		return nil, fmt.Errorf("writing a layer: %w", err)
	}
	return &layer{path: f.Name(), digest: hashOf(sum), diffID: diffID, toc: toc.String(), size: counted.n}, nil
}

func hashOf(sum hash.Hash) v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum.Sum(nil))}
}

// compareNames puts a directory right before what is in it.
func compareNames(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

// archive writes the entries as a tar archive.
func (w layerWriter) archive(ctx context.Context, to io.Writer, entries []entry) error {
	t := tar.NewWriter(to)
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		h := &tar.Header{
			Name: e.name, Typeflag: e.typ, Mode: e.mode, Uid: e.uid, Gid: e.uid, Linkname: e.link, Size: e.size, ModTime: w.created,
		}
		if e.typ == tar.TypeDir {
			h.Name += "/"
		}
		if err := t.WriteHeader(h); err != nil {
			return fmt.Errorf("/%s: %w", e.name, err)
		}
		if e.typ != tar.TypeReg {
			continue
		}
		if err := copyEntry(ctx, t, e); err != nil {
			return err
		}
	}
	return t.Close()
}

// chunkSize is how much of a file a reader has to unpack for any part of it, in
// bytes. Who looks at a runtime of 100 MB needs a few KB of it in five places.
const chunkSize = 1 << 20

// isWhiteout tells whether a path is, or is in, what container runtimes take for
// the mark of something deleted.
func isWhiteout(name string) bool { return strings.Contains("/"+name, "/.wh.") }

func copyEntry(ctx context.Context, to io.Writer, e entry) error {
	r, err := e.open()
	if err != nil {
		return fmt.Errorf("reading /%s of the image: %w", e.name, err)
	}
	defer r.Close()
	n, err := io.Copy(to, ctxio.Reader(ctx, io.LimitReader(r, e.size+1)))
	switch {
	case err != nil && n <= e.size && !strings.Contains(err.Error(), "write too long"):
		return fmt.Errorf("reading /%s of the image: %w", e.name, err)
	case err != nil || n != e.size:
		return fmt.Errorf("reading /%s of the image: the file changed its size meanwhile; run the command again", e.name)
	}
	return nil
}

// counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// compressor compresses chunks with a faster gzip than the standard library's,
// whose result does not depend on the release of Go.
type compressor struct {
	*estargz.GzipCompressor
	level int
	free  sync.Pool
}

// Writer implements estargz.Compressor.
func (c *compressor) Writer(w io.Writer) (estargz.WriteFlushCloser, error) {
	if z, ok := c.free.Get().(*gzip.Writer); ok {
		z.Reset(w)
		return &chunk{z, c}, nil
	}
	z, err := gzip.NewWriterLevel(w, c.level)
	if err != nil {
		return nil, err
	}
	return &chunk{z, c}, nil
}

// chunk is the writer of one chunk; its big tables are used again.
type chunk struct {
	*gzip.Writer
	c *compressor
}

// Close implements io.Closer.
func (c *chunk) Close() error {
	err := c.Writer.Close()
	c.c.free.Put(c.Writer)
	return err
}

// removeAll removes the layers' directory.
func (w layerWriter) removeAll() error {
	if w.dir == "" {
		return nil
	}
	return os.RemoveAll(filepath.Clean(w.dir))
}
