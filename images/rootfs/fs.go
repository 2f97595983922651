package rootfs

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/captf-toolkit/captf/images/source"
)

var errNotExist = fs.ErrNotExist

// FS is the merged file system of an image. Paths are absolute and
// slash-separated; symbolic links never leave the image. Errors of paths are
// *fs.PathError. Methods may be called from several goroutines.
type FS struct {
	r        *Reader
	img      *source.Image
	meter    *meter
	tree     *tree
	listings []*listing
	own      bool
}

// Entry is a file, a directory or another thing in the image.
type Entry struct {
	// Path is absolute. After Stat it is where the links ended.
	Path string
	// Type is its type; hard links have that of what they are links to.
	Type Type
	// Mode are the permissions with the set-id and sticky bits, as in stat(2).
	Mode uint32
	// UID and GID are its owner.
	UID, GID int
	// Size is that of a regular file, in bytes.
	Size int64
	// Link is the target of a symbolic link, as it was written.
	Link string
	// ModTime is when it was changed.
	ModTime time.Time
	// Layer is the index of the layer that it comes from.
	Layer int
	// Implicit says of a directory that no layer has an entry for it; runtimes make
	// it with mode 0755 for root.
	Implicit bool
}

// IsDir says whether it is a directory.
func (e Entry) IsDir() bool { return e.Type == Directory }

// IsRegular says whether it is a regular file.
func (e Entry) IsRegular() bool { return e.Type == Regular }

// Name is the last part of its path.
func (e Entry) Name() string { return path.Base(e.Path) }

func entry(p string, n *node) Entry {
	if n.rec == nil {
		return Entry{Path: p, Type: Directory, Mode: 0o755, Layer: n.layer, Implicit: true, ModTime: time.Unix(0, 0).UTC()}
	}
	e := Entry{Path: p, Type: n.rec.typ, Mode: n.rec.mode, UID: n.rec.uid, GID: n.rec.gid, Size: n.rec.size,
		Layer: n.layer, ModTime: time.Unix(n.rec.mtime, 0).UTC()}
	if n.rec.typ == Symlink {
		e.Link = n.rec.link
	}
	return e
}

func pathError(op, p string, err error) error { return &fs.PathError{Op: op, Path: p, Err: err} }

func (f *FS) find(op, p string, last bool) (*node, error) {
	if p == "" || p[0] != '/' || len(p) > maxPath {
		return nil, pathError(op, p, fs.ErrInvalid)
	}
	n, err := f.tree.resolve(p, last)
	if err != nil {
		return nil, pathError(op, p, err)
	}
	return n, nil
}

// Lstat returns an entry without following it when it is a symbolic link.
func (f *FS) Lstat(p string) (Entry, error) {
	n, err := f.find("lstat", p, false)
	if err != nil {
		return Entry{}, err
	}
	return entry(n.path(), n), nil
}

// Stat returns the entry that a path leads to.
func (f *FS) Stat(p string) (Entry, error) {
	n, err := f.find("stat", p, true)
	if err != nil {
		return Entry{}, err
	}
	return entry(n.path(), n), nil
}

// ReadLink returns the target of a symbolic link, as it was written.
func (f *FS) ReadLink(p string) (string, error) {
	n, err := f.find("readlink", p, false)
	if err != nil {
		return "", err
	}
	if n.typ() != Symlink {
		return "", pathError("readlink", p, fs.ErrInvalid)
	}
	return n.rec.link, nil
}

// ReadDir returns the entries of a directory, sorted by name.
func (f *FS) ReadDir(p string) ([]Entry, error) {
	n, err := f.find("readdir", p, true)
	if err != nil {
		return nil, err
	}
	if n.typ() != Directory {
		return nil, pathError("readdir", p, ErrNotDir)
	}
	at := n.path()
	out := make([]Entry, 0, len(n.children))
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		out = append(out, entry(path.Join(at, name), n.children[name]))
	}
	return out, nil
}

// SkipDir ends the walk of a directory.
var SkipDir = fs.SkipDir

// Walk calls visit for a directory and everything in it, in the order of their
// paths, parts compared one by one. Links are not followed, but the directory may
// be one. visit may return SkipDir, or an error that ends the walk.
func (f *FS) Walk(dir string, visit func(Entry) error) error {
	n, err := f.find("walk", dir, true)
	if err != nil {
		return err
	}
	type item struct {
		n *node
		p string
	}
	stack := []item{{n, n.path()}}
	for len(stack) > 0 {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		switch err := visit(entry(it.p, it.n)); {
		case errors.Is(err, SkipDir):
			continue
		case err != nil:
			return err
		}
		names := slices.Sorted(maps.Keys(it.n.children))
		slices.Reverse(names)
		for _, name := range names {
			stack = append(stack, item{it.n.children[name], path.Join(it.p, name)})
		}
	}
	return nil
}

// Problems returns what the image should not contain, the lowest layer first.
func (f *FS) Problems() []Problem { return slices.Clone(f.tree.problems) }

// Image returns the image that is shown.
func (f *FS) Image() *source.Image { return f.img }

// Stats returns the work of the reader up to now.
func (f *FS) Stats() Stats { return f.r.Stats() }

// Close releases what Open made for this file system; of a Reader's, nothing.
func (f *FS) Close() error {
	if !f.own {
		return nil
	}
	return f.r.Close()
}

func (f *FS) regular(op, p string) (*node, error) {
	n, err := f.find(op, p, true)
	if err != nil {
		return nil, err
	}
	if n.typ() != Regular {
		return nil, pathError(op, p, ErrNotRegular)
	}
	return n, nil
}

// ReadFile returns the content of a file, links followed. A file over the limit is
// a LimitError; a limit of 0 is that of KeepMax. A file that was not kept is read
// from its layer: by chunks with a table of contents, else by streaming the layer.
func (f *FS) ReadFile(ctx context.Context, p string, limit int64) ([]byte, error) {
	if limit <= 0 {
		limit = f.r.opts.KeepMax
	}
	n, err := f.regular("open", p)
	if err != nil {
		return nil, err
	}
	if n.rec.size > limit {
		return nil, &LimitError{Where: show(p), What: "it has", Limit: limit}
	}
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	if n.rec.kept {
		return bytes.Clone(n.rec.data), nil
	}
	if n.rec.size == 0 {
		return []byte{}, nil
	}
	if n.rec.chunks == nil && n.rec.spooled == nil {
		var buf bytes.Buffer
		err := f.again(ctx, n, func(body io.Reader) error {
			_, err := io.CopyN(&buf, body, n.rec.size)
			return err
		})
		return buf.Bytes(), err
	}
	at, err := f.at(ctx, n)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	out := make([]byte, n.rec.size)
	if _, err := at.ReadAt(out, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return out, nil
}

// File gives the content of a file by offset.
type File interface {
	io.ReaderAt
	io.Closer
	// Size is that of the file, in bytes.
	Size() int64
}

// OpenReaderAt opens a file, links followed, for reading parts of it: chunks with
// a table of contents; else what was spooled, or the layer streamed again to a
// temporary file.
func (f *FS) OpenReaderAt(ctx context.Context, p string) (File, error) {
	n, err := f.regular("open", p)
	if err != nil {
		return nil, err
	}
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	if n.rec.kept || n.rec.size == 0 {
		return f.at(ctx, n)
	}
	return &pagedFile{ctx: ctx, f: f, n: n}, nil
}

func (f *FS) at(ctx context.Context, n *node) (File, error) {
	rec := n.rec
	switch {
	case rec.kept || rec.size == 0:
		return memoryFile{bytes.NewReader(rec.data)}, nil
	case rec.spooled != nil:
		return sectionFile{io.NewSectionReader(rec.spooled, 0, rec.size)}, nil
	case rec.chunks != nil:
		l := f.img.Layers()[n.src]
		blob, err := l.ReaderAt(ctx)
		if err != nil {
			return nil, err
		}
		return &chunkFile{r: f.r, m: f.meter, where: l.Name(), rec: rec, blob: blob, ctx: ctx}, nil
	}
	if rec.size > f.r.opts.Limits.Spooled-f.r.spooled {
		return nil, &LimitError{Where: show(n.path()), What: "temporary files take", Limit: f.r.opts.Limits.Spooled}
	}
	err := f.again(ctx, n, func(body io.Reader) (err error) {
		rec.spooled, err = f.r.spool(body, rec.size)
		return err
	})
	if err != nil {
		rec.spooled = nil
		return nil, err
	}
	return sectionFile{io.NewSectionReader(rec.spooled, 0, rec.size)}, nil
}

// again streams the layer of a file once more; each time has the whole limit.
func (f *FS) again(ctx context.Context, n *node, take func(io.Reader) error) error {
	l := f.img.Layers()[n.src]
	f.r.stats.Restreamed++
	m := &meter{limit: f.r.opts.Limits.Scanned}
	found := false
	// The places of a table of contents are not those of the archive, so there the
	// name counts.
	byName := f.listings[n.src].toc
	_, err := stream(ctx, l, m, nil, func(ordinal int, h *tar.Header, body io.Reader) error {
		if found || !byName && ordinal != n.rec.ordinal {
			return nil
		}
		if byName {
			var scratch listing
			if name, ok := scratch.cleanName(h.Name); !ok || name != n.rec.name || tarTypes[h.Typeflag] != Regular || h.Typeflag == tar.TypeXGlobalHeader || h.Size != n.rec.size {
				return nil
			}
		}
		found = true
		return take(body)
	})
	if err == nil && !found {
		err = &layerError{l.Name(), "its table of contents shows " + show(n.rec.name) + ", which it does not hold"}
	}
	return err
}

type memoryFile struct{ *bytes.Reader }

// Close implements io.Closer.
func (memoryFile) Close() error { return nil }

type sectionFile struct{ *io.SectionReader }

// Close implements io.Closer.
func (sectionFile) Close() error { return nil }

// chunkFile reads a file by its chunks and keeps the last few.
type chunkFile struct {
	r     *Reader
	m     *meter
	where string
	rec   *record
	blob  source.Blob
	ctx   context.Context

	mu     sync.Mutex
	recent []loadedChunk
}

type loadedChunk struct {
	at   int64
	data []byte
}

// recentBytes bounds the chunks that one open file keeps.
const recentBytes = 16 << 20

// Size implements File.
func (c *chunkFile) Size() int64 { return c.rec.size }

// Close implements io.Closer.
func (c *chunkFile) Close() error { return c.blob.Close() }

// ReadAt implements io.ReaderAt.
func (c *chunkFile) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, pathError("read", c.rec.name, fs.ErrInvalid)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for n < len(p) && off < c.rec.size {
		if err := c.ctx.Err(); err != nil {
			return n, fmt.Errorf("reading %s: %w", show(c.rec.name), context.Cause(c.ctx))
		}
		part, err := c.load(off)
		if err != nil {
			return n, err
		}
		done := copy(p[n:], part.data[off-part.at:])
		n += done
		off += int64(done)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (c *chunkFile) load(off int64) (loadedChunk, error) {
	for i, have := range c.recent {
		if off >= have.at && off < have.at+int64(len(have.data)) {
			c.recent = append(append(c.recent[:i:i], c.recent[i+1:]...), have)
			return have, nil
		}
	}
	i, exact := slices.BinarySearchFunc(c.rec.chunks, off, func(k chunk, off int64) int { return int(min(max(k.at-off, -1), 1)) })
	if !exact {
		i--
	}
	k := c.rec.chunks[i]
	packed := make([]byte, k.end-k.off)
	if _, err := c.blob.ReadAt(packed, k.off); err != nil && !errors.Is(err, io.EOF) {
		return loadedChunk{}, err
	}
	data, err := readChunk(c.where, c.rec, k, bytes.NewReader(packed), &meter{limit: 4 * maxChunk})
	if err != nil {
		return loadedChunk{}, err
	}
	c.recent = append(c.recent, loadedChunk{k.at, data})
	total := int64(0)
	for _, have := range c.recent {
		total += int64(len(have.data))
	}
	for total > recentBytes && len(c.recent) > 1 {
		total -= int64(len(c.recent[0].data))
		c.recent = c.recent[1:]
	}
	return c.recent[len(c.recent)-1], nil
}

const (
	// prefetchGap is how much unneeded data is read rather than sending another request.
	prefetchGap = 32 << 10
	// prefetchMax bounds one range of a prefetch.
	prefetchMax = 4 << 20
)

// prefetch keeps the files that are wanted and visible of layers with a table of
// contents, with as few ranges as make sense.
func (f *FS) prefetch(ctx context.Context) error {
	wanted := map[int][]*record{}
	seen := map[*record]bool{}
	stack := []*node{f.tree.root}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, c := range n.children {
			stack = append(stack, c)
		}
		rec := n.rec
		if rec == nil || rec.typ != Regular || rec.kept || len(rec.chunks) == 0 || rec.size > f.r.opts.KeepMax || seen[rec] || !f.r.opts.Keep(n.path()) {
			continue
		}
		seen[rec] = true
		wanted[n.src] = append(wanted[n.src], rec)
	}
	for _, layer := range slices.Sorted(maps.Keys(wanted)) {
		if err := f.prefetchLayer(ctx, layer, wanted[layer]); err != nil {
			return err
		}
	}
	return nil
}

func (f *FS) prefetchLayer(ctx context.Context, layer int, recs []*record) error {
	type part struct {
		rec *record
		c   chunk
	}
	l := f.img.Layers()[layer]
	var parts []part
	for _, rec := range recs {
		if err := f.r.charge(f.listings[layer], l.Name(), rec.size); err != nil {
			return err
		}
		rec.data = make([]byte, rec.size)
		for _, c := range rec.chunks {
			parts = append(parts, part{rec, c})
		}
	}
	slices.SortFunc(parts, func(a, b part) int {
		if a.c.off != b.c.off {
			return int(min(max(a.c.off-b.c.off, -1), 1))
		}
		return int(min(max(a.c.inner-b.c.inner, -1), 1))
	})
	blob, err := l.ReaderAt(ctx)
	if err != nil {
		return err
	}
	defer blob.Close()
	for len(parts) > 0 {
		start, end, n := parts[0].c.off, parts[0].c.end, 1
		for n < len(parts) && parts[n].c.off <= end+prefetchGap && parts[n].c.end-start <= prefetchMax {
			end = max(end, parts[n].c.end)
			n++
		}
		packed := make([]byte, end-start)
		if _, err := blob.ReadAt(packed, start); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		for _, p := range parts[:n] {
			data, err := readChunk(l.Name(), p.rec, p.c, bytes.NewReader(packed[p.c.off-start:p.c.end-start]), f.meter)
			if err != nil {
				return err
			}
			copy(p.rec.data[p.c.at:], data)
			f.r.stats.Chunks++
		}
		parts = parts[n:]
	}
	for _, rec := range recs {
		rec.kept = true
	}
	f.listings[layer].dirty = true
	return nil
}
