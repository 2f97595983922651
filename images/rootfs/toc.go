package rootfs

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/containerd/stargz-snapshotter/estargz"
	"github.com/klauspost/compress/gzip"

	"github.com/captf-toolkit/captf/images/source"
)

const (
	// tailSize is what is read of a layer's end at first: footer, and with luck the
	// whole table of contents.
	tailSize = 64 << 10
	// maxChunk bounds a chunk; a file with larger ones is streamed.
	maxChunk = 32 << 20
)

// tocDigest is the digest that the manifest announces of a layer's table of
// contents, empty for a layer without one.
func tocDigest(l *source.Layer) string {
	return l.Descriptor.Annotations[estargz.TOCJSONDigestAnnotation]
}

func tocName(name string) bool { return path.Clean("/"+name) == "/"+estargz.TOCTarName }

// eStargzName says that a file at the root is there for the format's sake.
func eStargzName(name string) bool {
	switch strings.TrimPrefix(name, "/") {
	case estargz.TOCTarName, estargz.PrefetchLandmark, estargz.NoPrefetchLandmark:
		return true
	}
	return false
}

// tocError is a table of contents that cannot be used.
type tocError struct{ msg string }

// Error implements error.
func (e *tocError) Error() string { return e.msg }

func tocErrorf(format string, args ...any) error { return &tocError{fmt.Sprintf(format, args...)} }

// readTOC makes a listing of a table of contents. A *tocError says that the layer
// has to be streamed instead, as does source.ErrNoRange.
func (r *Reader) readTOC(ctx context.Context, l *source.Layer, m *meter) (_ *listing, err error) {
	out := &listing{toc: true, key: tocKey(l), dirty: true}
	defer func() {
		if err != nil {
			r.free(out)
		}
	}()
	blob, err := l.Ranges(ctx)
	if err != nil {
		return nil, err
	}
	defer blob.Close()
	tail := make([]byte, min(blob.Size(), tailSize))
	start := blob.Size() - int64(len(tail))
	if _, err := blob.ReadAt(tail, start); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(tail) < estargz.FooterSize {
		return nil, tocErrorf("the layer is too short for a footer")
	}
	_, off, _, err := new(estargz.GzipDecompressor).ParseFooter(tail[len(tail)-estargz.FooterSize:])
	if err != nil {
		return nil, tocErrorf("the layer has no footer that points to it")
	}
	end := blob.Size() - estargz.FooterSize
	switch {
	case off <= 0 || off >= end:
		return nil, tocErrorf("the footer points to %d, which is not inside of the layer", off)
	case end-off > maxTOC:
		return nil, tocErrorf("it has %d bytes, more than %s", end-off, bytesText(maxTOC))
	}
	var packed io.Reader
	if off >= start {
		packed = bytes.NewReader(tail[off-start : len(tail)-estargz.FooterSize])
	} else {
		packed = io.MultiReader(bufio.NewReaderSize(io.NewSectionReader(blob, off, start-off), 1<<20), bytes.NewReader(tail[:len(tail)-estargz.FooterSize]))
	}
	src := &sourceReader{r: packed}
	doc, err := new(estargz.GzipDecompressor).DecompressTOC(src)
	if err != nil {
		if src.err != nil {
			return nil, src.err
		}
		return nil, tocErrorf("%s", err)
	}
	defer doc.Close()
	err = r.decodeTOC(out, l.Name(), &meterReader{r: doc, m: m, where: l.Name()}, tocDigest(l), off)
	if src.err != nil {
		return nil, src.err
	}
	if err != nil {
		return nil, err
	}
	r.stats.TOCs++
	return out, nil
}

// decodeTOC reads the entries of a table one by one, so that only what is counted
// is kept, and checks the digest of all of it.
func (r *Reader) decodeTOC(out *listing, where string, doc io.Reader, digest string, end int64) error {
	sum := sha256.New()
	limited := &io.LimitedReader{R: doc, N: maxTOC + 1}
	dec := json.NewDecoder(io.TeeReader(limited, sum))
	bad := func(err error) error {
		if _, over := errors.AsType[*LimitError](err); over {
			return err
		}
		return tocErrorf("it is damaged: %s", err)
	}
	var files fileChunks
	err := entries(dec, func(e *estargz.TOCEntry) error {
		if err := r.charge(out, where, cost(e.Name, e.LinkName)); err != nil {
			return err
		}
		return files.add(out, e)
	})
	if err != nil {
		return bad(err)
	}
	if _, err := io.Copy(sum, limited); err != nil {
		return bad(err)
	}
	if limited.N <= 0 {
		return tocErrorf("it has more than %s", bytesText(maxTOC))
	}
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != digest {
		return tocErrorf("it has the digest %s, but the manifest announces %s", got, show(digest))
	}
	files.finish(end)
	return nil
}

// entries decodes {"version":1,"entries":[...]}.
func entries(dec *json.Decoder, each func(*estargz.TOCEntry) error) error {
	expect := func(want json.Delim) error {
		t, err := dec.Token()
		if err == nil && t != want {
			err = fmt.Errorf("%s is missing", want)
		}
		return err
	}
	if err := expect('{'); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		if key != "entries" {
			var skipped json.RawMessage
			if err := dec.Decode(&skipped); err != nil {
				return err
			}
			continue
		}
		if err := expect('['); err != nil {
			return err
		}
		for dec.More() {
			var e estargz.TOCEntry
			if err := dec.Decode(&e); err != nil {
				return err
			}
			if err := each(&e); err != nil {
				return err
			}
		}
		if err := expect(']'); err != nil {
			return err
		}
	}
	return expect('}')
}

// fileChunks puts the chunks of files together.
type fileChunks struct {
	n       int
	current *record // the file that chunk entries continue; nil for one left out
	raw     string
	files   []*record
	offsets []int64
}

func (f *fileChunks) add(out *listing, e *estargz.TOCEntry) error {
	f.n++
	if e.Type == "chunk" {
		if f.raw == "" || e.Name != "" && e.Name != f.raw {
			return fmt.Errorf("a chunk of %s does not follow its file", show(e.Name))
		}
		f.chunk(e)
		return nil
	}
	f.current, f.raw = nil, e.Name
	if tocName(e.Name) {
		return nil
	}
	typ, ok := tocTypes[e.Type]
	if !ok {
		out.problem(ProblemType, show(e.Name), "%s has the unknown type %s; it is left out", show(e.Name), show(e.Type))
		return nil
	}
	if e.Size < 0 {
		return fmt.Errorf("%s has the negative size %d", show(e.Name), e.Size)
	}
	rec := out.add(e.Name, e.LinkName, typ, f.n)
	if rec == nil {
		return nil
	}
	rec.mode, rec.uid, rec.gid = uint32(e.Mode&0o7777), e.UID, e.GID
	if t, err := time.Parse(time.RFC3339, e.ModTime3339); err == nil {
		rec.mtime = t.Unix()
	}
	if rec.typ != Regular {
		return nil
	}
	rec.size, rec.digest = e.Size, strings.TrimPrefix(e.Digest, "sha256:")
	f.current = rec
	f.files = append(f.files, rec)
	if e.Size > 0 {
		f.chunk(e)
	}
	return nil
}

func (f *fileChunks) chunk(e *estargz.TOCEntry) {
	f.offsets = append(f.offsets, e.Offset)
	if f.current == nil {
		return
	}
	size := e.ChunkSize
	if size == 0 {
		size = f.current.size - e.ChunkOffset
	}
	f.current.chunks = append(f.current.chunks, chunk{off: e.Offset, inner: e.InnerOffset, at: e.ChunkOffset, size: size, digest: e.ChunkDigest})
}

// finish finds where each chunk ends in the blob, and drops the chunks of files
// that they do not make up: such a file is read by streaming.
func (f *fileChunks) finish(end int64) {
	slices.Sort(f.offsets)
	f.offsets = slices.Compact(f.offsets)
	for _, rec := range f.files {
		var at int64
		for i := range rec.chunks {
			c := &rec.chunks[i]
			c.end = end
			if n := sort.Search(len(f.offsets), func(n int) bool { return f.offsets[n] > c.off }); n < len(f.offsets) {
				c.end = f.offsets[n]
			}
			_, err := hex.DecodeString(strings.TrimPrefix(c.digest, "sha256:"))
			if c.at != at || c.size <= 0 || c.size > maxChunk || c.inner < 0 || c.inner > maxChunk || c.off < 0 || c.off >= c.end || c.end > end ||
				c.end-c.off > 2*maxChunk || len(c.digest) != len("sha256:")+64 || err != nil {
				at = -1
				break
			}
			at += c.size
		}
		if at != rec.size {
			rec.chunks = nil
		}
	}
}

// maxGrow is the size of a chunk that most writers use, in bytes.
const maxGrow = 4 << 20

// readChunk unpacks one chunk from the bytes of its range, and checks it.
func readChunk(where string, rec *record, c chunk, packed io.Reader, m *meter) ([]byte, error) {
	wrong := func(format string, args ...any) error {
		return &layerError{where, fmt.Sprintf("%s, bytes %d to %d: ", show(rec.name), c.at, c.at+c.size) + fmt.Sprintf(format, args...)}
	}
	z, err := gzip.NewReader(packed)
	if err != nil {
		return nil, wrong("%s", err)
	}
	defer z.Close()
	body := &meterReader{r: z, m: m, where: where}
	var limit *LimitError
	if _, err := io.CopyN(io.Discard, body, c.inner); err != nil {
		if errors.As(err, &limit) {
			return nil, err
		}
		return nil, wrong("%s", err)
	}
	var buf bytes.Buffer
	buf.Grow(int(min(c.size, maxGrow))) // sizes may lie, so not more than a usual chunk has
	if _, err := io.CopyN(&buf, body, c.size); err != nil {
		if errors.As(err, &limit) {
			return nil, err
		}
		return nil, wrong("%s", err)
	}
	if sum := sha256.Sum256(buf.Bytes()); "sha256:"+hex.EncodeToString(sum[:]) != c.digest {
		return nil, wrong("they do not have the digest that the table of contents says")
	}
	return buf.Bytes(), nil
}

// compareTOC lists what a table of contents says differently than the archive.
func compareTOC(out *listing, l *source.Layer, toc []byte, digest string) {
	if toc == nil {
		out.problem(ProblemTOC, "", "the manifest announces a table of contents of %s, but it has none", l.Name())
		return
	}
	said := &listing{}
	plain := &Reader{budget: budget{limit: 1 << 62}}
	if err := plain.decodeTOC(said, l.Name(), bytes.NewReader(toc), digest, 1<<62); err != nil {
		out.problem(ProblemTOC, "", "the table of contents of %s is not usable: %s", l.Name(), err)
		return
	}
	last, real := map[string]*record{}, map[string]*record{}
	for _, rec := range said.records {
		last[key(rec)] = rec
	}
	for _, rec := range out.records {
		real[key(rec)] = rec
	}
	for _, rec := range out.records {
		k := key(rec)
		if real[k] != rec || eStargzName(rec.name) {
			continue // A later entry counts, or it is there for the format.
		}
		other := last[k]
		delete(last, k)
		if other == nil {
			out.problem(ProblemTOC, rec.name, "the table of contents lacks %s", show(rec.name))
		} else if diff := difference(other, rec); diff != "" {
			out.problem(ProblemTOC, rec.name, "the table of contents shows another %s than the layer holds: %s", show(rec.name), diff)
		}
	}
	var more []string
	for _, rec := range last {
		if !eStargzName(rec.name) {
			more = append(more, rec.name)
		}
	}
	slices.Sort(more)
	for _, name := range more {
		out.problem(ProblemTOC, name, "the table of contents shows %s, which the layer does not hold", show(name))
	}
}

func key(rec *record) string {
	switch rec.typ {
	case whiteout, opaque:
		return rec.typ.String() + rec.name
	}
	return rec.name
}

func difference(toc, got *record) string {
	switch {
	case toc.typ != got.typ:
		return fmt.Sprintf("%s, not %s", toc.typ, got.typ)
	case got.typ == whiteout || got.typ == opaque:
		return ""
	case toc.link != got.link:
		return "another target"
	case toc.mode != got.mode:
		return fmt.Sprintf("mode %04o, not %04o", toc.mode, got.mode)
	case toc.uid != got.uid || toc.gid != got.gid:
		return fmt.Sprintf("owner %d:%d, not %d:%d", toc.uid, toc.gid, got.uid, got.gid)
	case toc.size != got.size:
		return fmt.Sprintf("%d bytes, not %d", toc.size, got.size)
	case got.typ == Regular && got.digest != "" && toc.digest != "" && toc.digest != got.digest:
		return "another content"
	}
	return ""
}
