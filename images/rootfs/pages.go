package rootfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"maps"
	"sync"
)

const (
	pageSize = 16 << 10
	// maxPages bounds the pages that are remembered of one file, in bytes.
	maxPages = 2 << 20
)

func keysOf(m map[int64][]byte) iter.Seq[int64] { return maps.Keys(m) }

// page remembers a part of a file.
func (rec *record) page(at int64, data []byte) {
	if rec.pages == nil {
		rec.pages = map[int64][]byte{}
	}
	rec.pageBytes += int64(len(data) - len(rec.pages[at]))
	rec.pages[at] = data
}

// pagedFile remembers the parts of a large file that were read, so that a later
// run with the cache reads the same parts without its layer. The file is opened
// when a part is read that is not known.
type pagedFile struct {
	ctx context.Context
	f   *FS
	n   *node

	mu    sync.Mutex
	under File
}

// Size implements File.
func (p *pagedFile) Size() int64 { return p.n.rec.size }

// Close implements io.Closer.
func (p *pagedFile) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.under == nil {
		return nil
	}
	return p.under.Close()
}

// ReadAt implements io.ReaderAt.
func (p *pagedFile) ReadAt(buf []byte, off int64) (int, error) {
	if off < 0 {
		return 0, pathError("read", p.n.rec.name, fs.ErrInvalid)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n, size := 0, p.n.rec.size
	for n < len(buf) && off < size {
		if int64(len(buf)-n) > maxPages { // Too much to remember.
			got, err := p.open(buf[n:], off)
			return n + got, err
		}
		at := off - off%pageSize
		page, err := p.page(at, min(pageSize, size-at))
		if err != nil {
			return n, err
		}
		done := copy(buf[n:], page[off-at:])
		n += done
		off += int64(done)
	}
	if n < len(buf) {
		return n, io.EOF
	}
	return n, nil
}

func (p *pagedFile) page(at, size int64) ([]byte, error) {
	rec, r := p.n.rec, p.f.r
	r.mu.Lock()
	known := rec.pages[at]
	r.mu.Unlock()
	if int64(len(known)) == size {
		return known, nil
	}
	page := make([]byte, size)
	if _, err := p.open(page, at); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := p.f.listings[p.n.src]
	if rec.pageBytes+size <= maxPages && r.charge(l, rec.name, size) == nil {
		rec.page(at, page)
		l.dirty = l.dirty || l.key != "" && !l.private
	}
	return page, nil
}

// open reads from the file itself.
func (p *pagedFile) open(buf []byte, off int64) (int, error) {
	if p.under == nil {
		p.f.r.mu.Lock()
		under, err := p.f.at(p.ctx, p.n)
		p.f.r.mu.Unlock()
		if err != nil {
			return 0, err
		}
		p.under = under
	}
	return p.under.ReadAt(buf, off)
}
