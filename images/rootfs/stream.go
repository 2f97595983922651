package rootfs

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/captf-toolkit/captf/images/source"
)

const (
	// maxWindow bounds the window of a zstd layer, in bytes; it is that of level 22.
	maxWindow = 128 << 20
	// maxTOC bounds a table of contents, in unpacked bytes.
	maxTOC = 128 << 20
)

// unpacked returns the archive of a layer, by what it begins with; the media type
// is often wrong, and runtimes look at the bytes too.
func unpacked(r io.Reader) (io.Reader, func(), error) {
	br := bufio.NewReaderSize(r, 64<<10)
	magic, err := br.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, nil, err
		}
		return z, func() { _ = z.Close() }, nil
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}), len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte{0x2a, 0x4d, 0x18}):
		z, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return br, func() {}, nil
}

// sourceReader remembers the error of the blob, which explains those of the
// formats above it.
type sourceReader struct {
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (s *sourceReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && s.err == nil {
		s.err = err
	}
	return n, err
}

// stream reads a layer from its first to its last byte and gives each entry to
// visit. Its digest was checked when it returns nil.
func stream(ctx context.Context, l *source.Layer, m *meter, sum hash.Hash, visit func(ordinal int, h *tar.Header, body io.Reader) error) (trailing bool, err error) {
	if l.Descriptor.Size > m.limit {
		return false, &LimitError{Where: l.Name(), What: "it has", Limit: m.limit}
	}
	blob, err := l.Reader(ctx)
	if err != nil {
		return false, err
	}
	defer blob.Close()
	src := &sourceReader{r: blob}
	trailing, err = walkTar(src, l.Name(), m, sum, visit)
	var limit *LimitError
	if errors.As(err, &limit) || ctx.Err() != nil && err != nil {
		return false, err
	}
	if src.err == nil { // What is damaged in transit explains what does not unpack.
		_, _ = io.Copy(io.Discard, src)
	}
	if src.err != nil {
		return false, src.err
	}
	return trailing, err
}

// walkTar unpacks an archive.
func walkTar(r io.Reader, where string, m *meter, sum hash.Hash, visit func(int, *tar.Header, io.Reader) error) (trailing bool, err error) {
	z, closeZ, err := unpacked(r)
	if err != nil {
		return false, &layerError{where, err.Error()}
	}
	defer closeZ()
	var body io.Reader = &meterReader{r: z, m: m, where: where}
	if sum != nil {
		body = io.TeeReader(body, sum)
	}
	tr := tar.NewReader(body)
	for n := 0; ; n++ {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = visit(n, h, tr)
		}
		if err != nil {
			return false, formatError(where, fmt.Sprintf("entry %d", n+1), err)
		}
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		trailing = trailing || strings.Trim(string(buf[:n]), "\x00") != ""
		if errors.Is(err, io.EOF) {
			return trailing, nil
		}
		if err != nil {
			return false, formatError(where, "after the last entry", err)
		}
	}
}

// formatError keeps errors that say enough, and names the layer for others.
func formatError(where, place string, err error) error {
	var limit *LimitError
	var src *source.Error
	var own *layerError
	if errors.As(err, &limit) || errors.As(err, &src) || errors.As(err, &own) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errTemp) {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &layerError{where, place + ": it ends early"}
	}
	return &layerError{where, place + ": " + err.Error()}
}

var errTemp = errors.New("writing a temporary file")

// scan streams a layer into a listing.
func (r *Reader) scan(ctx context.Context, l *source.Layer, m *meter) (_ *listing, err error) {
	out := &listing{key: layerKey(l), dirty: true}
	defer func() {
		if err != nil {
			r.free(out)
		}
	}()
	r.stats.Streamed++
	sum := sha256.New()
	annotated := tocDigest(l)
	var toc []byte
	trailing, err := stream(ctx, l, m, sum, func(n int, h *tar.Header, body io.Reader) (err error) {
		if r.opts.IgnoreTOC && annotated != "" && tocName(h.Name) && h.Typeflag == tar.TypeReg {
			toc, err = r.keep(out, l.Name(), body, h.Size, maxTOC)
			return err
		}
		return r.visit(out, l.Name(), m, n, h, body, r.opts.IgnoreTOC && annotated != "")
	})
	if err != nil {
		return nil, err
	}
	if trailing {
		out.problem(ProblemTrailing, "", "%s goes on after the end of its archive; the rest is not read", l.Name())
	}
	out.unpacked = hex.EncodeToString(sum.Sum(nil))
	if r.opts.IgnoreTOC && annotated != "" {
		compareTOC(out, l, toc, annotated)
	}
	return out, nil
}

// visit puts one entry of an archive into a listing.
func (r *Reader) visit(out *listing, where string, m *meter, n int, h *tar.Header, body io.Reader, digest bool) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	if isSparse(h) { // Holes are read without being in the archive.
		if h.Size > m.limit-m.used {
			return &LimitError{Where: where, What: "with the layers below it, it unpacks to", Limit: m.limit}
		}
		m.used += h.Size
	}
	if err := r.charge(out, where, cost(h.Name, h.Linkname)); err != nil {
		return err
	}
	typ, ok := tarTypes[h.Typeflag]
	if !ok {
		out.problem(ProblemType, show(h.Name), "%s has the unknown type %q; it is left out", show(h.Name), h.Typeflag)
		return nil
	}
	rec := out.add(h.Name, h.Linkname, typ, n)
	if rec == nil {
		return nil
	}
	rec.mode, rec.uid, rec.gid = uint32(h.Mode&0o7777), h.Uid, h.Gid
	rec.mtime = h.ModTime.Unix()
	if rec.typ != Regular {
		return nil
	}
	rec.size = h.Size
	return r.content(out, where, rec, body, digest)
}

func isSparse(h *tar.Header) bool {
	for k := range h.PAXRecords {
		if strings.HasPrefix(k, "GNU.sparse.") {
			return true
		}
	}
	return h.Typeflag == tar.TypeGNUSparse
}

// content keeps, spools, hashes or skips the content of a file.
func (r *Reader) content(out *listing, where string, rec *record, body io.Reader, digest bool) (err error) {
	var sum hash.Hash
	if digest {
		sum = sha256.New()
		body = io.TeeReader(body, sum)
		defer func() {
			if err == nil {
				_, err = io.Copy(io.Discard, body)
				rec.digest = hex.EncodeToString(sum.Sum(nil))
			}
		}()
	}
	switch {
	case r.opts.Keep(rec.name) && rec.size <= r.opts.KeepMax:
		if rec.data, err = r.keep(out, where, body, rec.size, r.opts.KeepMax); err != nil {
			return err
		}
		rec.kept = true
	case r.opts.Spool(rec.name) && rec.size <= r.opts.Limits.Spooled-r.spooled:
		rec.spooled, err = r.spool(body, rec.size)
	}
	return err
}

// keep reads a content into memory that was charged before.
func (r *Reader) keep(out *listing, where string, body io.Reader, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, &LimitError{Where: where, What: "its table of contents has", Limit: limit}
	}
	if err := r.charge(out, where, size); err != nil {
		return nil, err
	}
	var buf bytes.Buffer // Grows with what is there: sizes may lie.
	if _, err := io.CopyN(&buf, body, size); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return bytes.Clone(buf.Bytes()), nil
}

// spool writes a content to a temporary file.
func (r *Reader) spool(body io.Reader, size int64) (*os.File, error) {
	f, err := os.CreateTemp(r.opts.TempDir, "captf-file-*")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errTemp, err)
	}
	r.temps = append(r.temps, f)
	n, err := io.CopyN(tempWriter{f}, body, size)
	r.spooled += n
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return f, err
}

type tempWriter struct{ f *os.File }

// Write implements io.Writer.
func (t tempWriter) Write(p []byte) (int, error) {
	n, err := t.f.Write(p)
	if err != nil {
		err = fmt.Errorf("%w: %w", errTemp, err)
	}
	return n, err
}
