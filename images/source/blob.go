package source

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// store is a place that images are read from.
type store interface {
	// root reads the document that the reference names.
	root(ctx context.Context) (document, error)
	// manifest reads a manifest or an index by its descriptor.
	manifest(ctx context.Context, d v1.Descriptor) (document, error)
	// open returns bytes of a blob from start on, where start is off or 0; from a
	// registry the body may be longer than n or end early.
	open(ctx context.Context, d v1.Descriptor, off, n int64) (body io.ReadCloser, start int64, err error)
	// local says that reading costs no network.
	local() bool
	io.Closer
}

// Descriptor is a v1.Descriptor that was checked: its size is not negative and its
// digest is of a known kind.
func checkDescriptor(op, what string, d v1.Descriptor) error {
	if d.Size < 0 {
		return fail(ErrFormat, op, "%s has the negative size %d", what, d.Size)
	}
	if d.Digest == (v1.Hash{}) {
		return fail(ErrFormat, op, "%s has no digest", what)
	}
	if _, err := v1.Hasher(d.Digest.Algorithm); err != nil {
		return fail(ErrFormat, op, "%s has a digest of the unknown kind %q", what, printable(d.Digest.Algorithm))
	}
	return nil
}

// blobReader streams a blob, takes up lost connections where they broke, and
// checks size and digest before it says that the blob is at its end.
type blobReader struct {
	ctx    context.Context
	store  store
	desc   v1.Descriptor
	retry  Retry
	count  *counters
	layer  bool
	body   io.ReadCloser
	off    int64
	hash   hash.Hash
	failed int // attempts since bytes last arrived
	err    error
}

// maxResumes bounds the attempts that each bring at least one byte.
const maxResumes = 64

func (s *Source) newBlobReader(ctx context.Context, d v1.Descriptor, layer bool) (*blobReader, error) {
	h, err := v1.Hasher(d.Digest.Algorithm)
	if err != nil {
		return nil, fail(ErrFormat, "reading blob "+d.Digest.String(), "%s", err)
	}
	return &blobReader{ctx: ctx, store: s.store, desc: d, retry: s.opts.Retry, count: &s.count, layer: layer, hash: h}, nil
}

func (b *blobReader) op() string { return "reading blob " + b.desc.Digest.String() }

// Read implements io.Reader.
func (b *blobReader) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := b.read(p)
	b.err = err
	return n, err
}

func (b *blobReader) read(p []byte) (int, error) {
	resumes := 0
	for {
		if b.body == nil {
			if b.off == b.desc.Size && b.off > 0 {
				return 0, b.finish()
			}
			if err := b.connect(); err != nil {
				return 0, err
			}
		}
		n, err := b.body.Read(p)
		if n > 0 {
			b.off += int64(n)
			b.failed = 0
			b.count.bytes.Add(int64(n))
			if b.layer {
				b.count.layerBytes.Add(int64(n))
			}
			b.hash.Write(p[:n])
		}
		switch {
		case b.off > b.desc.Size:
			return 0, fail(ErrCorrupt, b.op(), "it is longer than the %d bytes that the manifest says", b.desc.Size).hint("push the image again")
		case err == nil && n > 0:
			return n, nil
		case err == nil:
			continue
		case b.off == b.desc.Size && errors.Is(err, io.EOF):
			if ended := b.finish(); !errors.Is(ended, io.EOF) {
				return 0, ended
			}
			return n, io.EOF
		case b.ctx.Err() != nil:
			return n, fmt.Errorf("%s: %w", b.op(), context.Cause(b.ctx))
		case b.store.local():
			if errors.Is(err, io.EOF) {
				return n, fail(ErrCorrupt, b.op(), "it ends after %d of the %d bytes that the manifest says", b.off, b.desc.Size).hint("export the image again")
			}
			return n, fail(ErrUnavailable, b.op(), "%s", printable(err.Error()))
		}
		_ = b.body.Close()
		b.body = nil
		b.failed++
		if resumes++; b.failed >= b.retry.Attempts || resumes > maxResumes {
			return n, fail(ErrCorrupt, b.op(), "it ends after %d of the %d bytes that the manifest says, %d times in a row", b.off, b.desc.Size, b.failed).
				hint("try again later, or push the image again if it is truncated")
		}
		if err := b.retry.Sleep(b.ctx, b.retry.Delay<<(b.failed-1)); err != nil {
			return n, fmt.Errorf("%s: %w", b.op(), err)
		}
		b.count.retries.Add(1)
		if n > 0 {
			return n, nil
		}
	}
}

// connect opens the body at the current offset.
func (b *blobReader) connect() error {
	body, start, err := b.store.open(b.ctx, b.desc, b.off, b.desc.Size-b.off)
	if err != nil {
		return err
	}
	if skip := b.off - start; skip > 0 { // A registry without ranges begins again.
		if n, err := io.CopyN(io.Discard, body, skip); err != nil {
			_ = body.Close()
			if b.ctx.Err() != nil {
				return fmt.Errorf("%s: %w", b.op(), context.Cause(b.ctx))
			}
			return fail(ErrCorrupt, b.op(), "it ended after %d bytes at first, after %d the second time", b.off, n).hint("try again later")
		}
	}
	b.body = body
	return nil
}

func (b *blobReader) finish() error {
	if got := hex.EncodeToString(b.hash.Sum(nil)); got != b.desc.Digest.Hex {
		return fail(ErrCorrupt, b.op(), "its content has the digest %s:%s", b.desc.Digest.Algorithm, got).
			hint("it was changed or damaged: push or export the image again")
	}
	return io.EOF
}

// Close implements io.Closer.
func (b *blobReader) Close() error {
	if b.err == nil {
		b.err = os.ErrClosed
	}
	if b.body == nil {
		return nil
	}
	err := b.body.Close()
	b.body = nil
	return err
}

// Blob gives the bytes of a layer by offset. They are not checked against the
// digest: check what is read by other means, such as the digests of a table of
// contents. It may be used by several goroutines.
type Blob interface {
	io.ReaderAt
	io.Closer
	// Size is that of the descriptor, in bytes.
	Size() int64
}

// rangeBlob reads each range with a request of its own.
type rangeBlob struct {
	ctx context.Context
	src *Source
	d   v1.Descriptor
}

func (r *rangeBlob) Size() int64  { return r.d.Size }
func (r *rangeBlob) Close() error { return nil }

// ReadAt implements io.ReaderAt.
func (r *rangeBlob) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > r.d.Size {
		return 0, fail(ErrCorrupt, "reading blob "+r.d.Digest.String(), "offset %d is not inside of its %d bytes", off, r.d.Size)
	}
	var end error
	if rest := r.d.Size - off; int64(len(p)) > rest {
		p, end = p[:rest], io.EOF
	}
	done, failed := 0, 0
	for done < len(p) {
		n, err := r.part(p[done:], off+int64(done))
		done += n
		if err == nil {
			failed = 0
			continue
		}
		if n > 0 {
			failed = 0
		}
		failed++
		if !errors.Is(err, io.ErrUnexpectedEOF) || r.ctx.Err() != nil {
			return done, err
		}
		if failed >= r.src.opts.Retry.Attempts {
			return done, fail(ErrCorrupt, "reading blob "+r.d.Digest.String(), "it ends after %d of %d bytes, %d times in a row", off+int64(done), r.d.Size, failed).
				hint("try again later, or push the image again if it is truncated")
		}
		if err := r.src.opts.Retry.Sleep(r.ctx, r.src.opts.Retry.Delay<<(failed-1)); err != nil {
			return done, err
		}
		r.src.count.retries.Add(1)
	}
	return done, end
}

// part reads what one answer gives; an answer that ends early is io.ErrUnexpectedEOF.
func (r *rangeBlob) part(p []byte, off int64) (int, error) {
	if r.src.wholeOnly.Load() {
		return 0, fail(ErrNoRange, "reading blob "+r.d.Digest.String(), "the registry ignores byte ranges")
	}
	body, start, err := r.src.store.open(r.ctx, r.d, off, int64(len(p)))
	if err != nil {
		return 0, err
	}
	defer body.Close()
	r.src.count.ranges.Add(1)
	if start != off {
		r.src.wholeOnly.Store(true)
		return 0, fail(ErrNoRange, "reading blob "+r.d.Digest.String(), "the registry ignores byte ranges")
	}
	n, err := io.ReadFull(body, p)
	r.src.count.bytes.Add(int64(n))
	r.src.count.layerBytes.Add(int64(n))
	if err == nil || r.ctx.Err() == nil {
		if err != nil {
			err = io.ErrUnexpectedEOF
		}
		return n, err
	}
	return n, context.Cause(r.ctx)
}

// spoolingBlob reads ranges until the registry turns out to ignore them.
type spoolingBlob struct {
	Blob
	ranges *rangeBlob
	mu     sync.Mutex
	file   Blob
}

// ReadAt implements io.ReaderAt.
func (s *spoolingBlob) ReadAt(p []byte, off int64) (int, error) {
	s.mu.Lock()
	file := s.file
	s.mu.Unlock()
	if file == nil {
		n, err := s.ranges.ReadAt(p, off)
		if !errors.Is(err, ErrNoRange) {
			return n, err
		}
		if file, err = s.ranges.src.spooled(s.ranges.ctx, s.ranges.d); err != nil {
			return 0, err
		}
		s.mu.Lock()
		s.file = file
		s.mu.Unlock()
	}
	return file.ReadAt(p, off)
}

// fileBlob is a blob in a file.
type fileBlob struct {
	io.ReaderAt
	size  int64
	count *counters
	close func() error
}

func (f *fileBlob) Size() int64 { return f.size }
func (f *fileBlob) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}

// ReadAt implements io.ReaderAt.
func (f *fileBlob) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.ReaderAt.ReadAt(p, off)
	f.count.ranges.Add(1)
	f.count.bytes.Add(int64(n))
	f.count.layerBytes.Add(int64(n))
	return n, err
}

// spool keeps whole blobs in temporary files, for registries without ranges.
type spool struct {
	mu    sync.Mutex
	files map[v1.Hash]*os.File
}

func (s *Source) spooled(ctx context.Context, d v1.Descriptor) (Blob, error) {
	s.spool.mu.Lock()
	defer s.spool.mu.Unlock()
	f := s.spool.files[d.Digest]
	if f == nil {
		r, err := s.newBlobReader(ctx, d, true)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		s.count.streams.Add(1)
		if f, err = os.CreateTemp(s.opts.TempDir, "captf-blob-*"); err != nil {
			return nil, fmt.Errorf("making a temporary file for a layer: %w", err)
		}
		if _, err = io.Copy(f, r); err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
			return nil, err
		}
		if s.spool.files == nil {
			s.spool.files = map[v1.Hash]*os.File{}
		}
		s.spool.files[d.Digest] = f
	}
	return &fileBlob{ReaderAt: f, size: d.Size, count: &s.count}, nil
}

func (s *spool) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close(), os.Remove(f.Name()))
	}
	s.files = nil
	return errors.Join(errs...)
}
