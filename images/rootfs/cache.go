package rootfs

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/captf-toolkit/captf/images/source"
)

const (
	// cacheVersion is part of the path, so that other versions do not see each
	// other's files. It changes with the format, and with what listings mean.
	cacheVersion = "layers-v2"
	cacheMagic   = "captf layer listing 1\n"
	// cacheFresh is how old a file's time may be before a use renews it.
	cacheFresh = time.Hour
)

// tocKey names what a table of contents says by the digest of the table. What came
// from a table has a name of its own: nothing proves that it belongs to the blob.
func tocKey(l *source.Layer) string {
	algorithm, hex, _ := strings.Cut(tocDigest(l), ":")
	return "toc-" + algorithm + "-" + hex
}

// cachePath is empty when nothing is cached under a key. Keys come from digests,
// but a table's is an annotation: a text of the publisher's.
func (r *Reader) cachePath(key string) string {
	if r.opts.CacheDir == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(key) > 200 {
		return ""
	}
	return filepath.Join(r.opts.CacheDir, cacheVersion, key)
}

// load reads a listing from the cache. What is not usable is nil, as if it were
// not there; the error is a LimitError.
func (r *Reader) load(key string, l *source.Layer) (_ *listing, err error) {
	path := r.cachePath(key)
	if path == "" {
		return nil, nil
	}
	payload, ok := readCacheFile(path, r.opts.Limits.Kept)
	if !ok {
		return nil, nil
	}
	out := &listing{key: key}
	defer func() {
		if err != nil {
			r.free(out)
		}
	}()
	d := &decoder{rest: payload}
	out.decode(d, func(n int64) error { return r.charge(out, l.Name(), n) })
	if _, over := errors.AsType[*LimitError](d.err); over {
		return nil, d.err
	}
	if d.err != nil || len(d.rest) > 0 || !r.sufficient(out) {
		r.free(out)
		return nil, nil
	}
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > cacheFresh {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // Only the order of pruning depends on it.
	}
	return out, nil
}

// readCacheFile returns the unpacked and checked content of a file.
func readCacheFile(path string, limit int64) ([]byte, bool) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > limit {
		return nil, false
	}
	raw, err := io.ReadAll(io.LimitReader(f, limit))
	head := len(cacheMagic) + sha256.Size
	if err != nil || len(raw) < head || string(raw[:len(cacheMagic)]) != cacheMagic {
		return nil, false
	}
	if sum := sha256.Sum256(raw[head:]); !bytes.Equal(sum[:], raw[len(cacheMagic):head]) {
		return nil, false
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(max(limit, 1))))
	if err != nil {
		return nil, false
	}
	defer z.Close()
	payload, err := z.DecodeAll(raw[head:], nil)
	return payload, err == nil
}

// sufficient says that a listing of a stream has all that is to be kept, and drops
// what is not.
func (r *Reader) sufficient(l *listing) bool {
	for _, rec := range l.records {
		if rec.typ != Regular {
			continue
		}
		wanted := rec.size <= r.opts.KeepMax && r.opts.Keep(rec.name)
		if wanted && !rec.kept && len(rec.chunks) == 0 && rec.size > 0 {
			return false
		}
		if !wanted && rec.kept {
			r.budget.release(int64(len(rec.data)))
			l.cost -= int64(len(rec.data))
			rec.kept, rec.data = false, nil
		}
	}
	return true
}

// store writes a listing that the cache does not hold. The cache is a help, so
// that failures are not errors.
func (r *Reader) store(l *listing) {
	path := r.cachePath(l.key)
	if path == "" || !l.dirty {
		return
	}
	l.dirty = false
	var e encoder
	l.encode(&e)
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return
	}
	packed := z.EncodeAll(e.buf, nil)
	_ = z.Close()
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return
	}
	f, err := os.CreateTemp(dir, "new-*.tmp")
	if err != nil {
		return
	}
	sum := sha256.Sum256(packed)
	_, err = f.Write(slices.Concat([]byte(cacheMagic), sum[:], packed))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return
	}
	prune(dir, r.opts.CacheMax)
}

// prune removes the files that were not used for the longest time, and what
// writers left that were killed.
func prune(dir string, limit int64) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var infos []os.FileInfo
	var total int64
	for _, n := range names {
		info, err := n.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if strings.HasSuffix(n.Name(), ".tmp") {
			if time.Since(info.ModTime()) > cacheFresh {
				_ = os.Remove(filepath.Join(dir, n.Name()))
			}
			continue
		}
		infos = append(infos, info)
		total += info.Size()
	}
	if total <= limit {
		return
	}
	slices.SortFunc(infos, func(a, b os.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	for _, info := range infos {
		if total <= limit-limit/10 {
			return
		}
		if os.Remove(filepath.Join(dir, info.Name())) == nil {
			total -= info.Size()
		}
	}
}

// encode writes a listing; decode is its inverse.
func (l *listing) encode(e *encoder) {
	e.flag(l.toc)
	e.text(l.unpacked)
	e.int(int64(len(l.problems)))
	for _, p := range l.problems {
		e.text(string(p.Kind))
		e.text(p.Path)
		e.text(p.Message)
	}
	e.int(int64(len(l.records)))
	for _, rec := range l.records {
		e.text(rec.name)
		e.text(rec.link)
		for _, n := range []int64{int64(rec.typ), int64(rec.mode), int64(rec.uid), int64(rec.gid), rec.size, rec.mtime, int64(rec.ordinal)} {
			e.int(n)
		}
		e.flag(rec.kept)
		if rec.kept {
			e.text(string(rec.data))
		}
		e.int(int64(len(rec.chunks)))
		for _, c := range rec.chunks {
			for _, n := range []int64{c.off, c.end, c.inner, c.at, c.size} {
				e.int(n)
			}
			e.text(c.digest)
		}
		e.int(int64(len(rec.pages)))
		for _, at := range slices.Sorted(keysOf(rec.pages)) {
			e.int(at)
			e.text(string(rec.pages[at]))
		}
	}
}

func (l *listing) decode(d *decoder, charge func(int64) error) {
	pay := func(n int64) {
		if d.err == nil {
			d.err = charge(n)
		}
	}
	l.toc = d.flag()
	l.unpacked = d.text()
	for range d.count() {
		l.problems = append(l.problems, Problem{Kind: ProblemKind(d.text()), Path: d.text(), Message: d.text()})
	}
	for range d.count() {
		rec := &record{name: d.text(), link: d.text()}
		rec.typ, rec.mode = Type(d.int()&0xff), uint32(d.int()&0o7777)
		rec.uid, rec.gid = int(d.int()), int(d.int())
		rec.size, rec.mtime, rec.ordinal = d.int(), d.int(), int(d.int())
		if rec.kept = d.flag(); rec.kept {
			rec.data = []byte(d.text())
		}
		for range d.count() {
			rec.chunks = append(rec.chunks, chunk{off: d.int(), end: d.int(), inner: d.int(), at: d.int(), size: d.int(), digest: d.text()})
		}
		for range d.count() {
			at, data := d.int(), []byte(d.text())
			rec.page(at, data)
		}
		if d.err == nil && (!strings.HasPrefix(rec.name, "/") || rec.kept && int64(len(rec.data)) != rec.size) {
			d.err = fmt.Errorf("entry %q is not consistent", rec.name)
		}
		pay(cost(rec.name, rec.link) + int64(len(rec.data)) + rec.pageBytes)
		if d.err != nil {
			return
		}
		l.records = append(l.records, rec)
	}
}
