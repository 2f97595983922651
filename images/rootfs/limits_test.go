package rootfs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/images/source"
)

// gzipOf packs what write makes, without holding it unpacked.
func gzipOf(t testing.TB, write func(w io.Writer) error) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	if err := errors.Join(write(z), z.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func zeros(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestLimits opens images that are small packed and large unpacked: the error names
// the layer, and what is kept never passes the limit.
func TestLimits(t *testing.T) {
	limits := Limits{Kept: 2 << 20, Scanned: 32 << 20, Spooled: 1 << 20}
	header := func(w io.Writer, name string, size int64) error {
		var buf bytes.Buffer
		tw := tar.NewWriter(&buf)
		err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size, Format: tar.FormatPAX})
		_, err2 := w.Write(buf.Bytes())
		return errors.Join(err, err2)
	}
	for name, c := range map[string]struct {
		write func(w io.Writer) error
		text  string
	}{
		"entries without end": {func(w io.Writer) error {
			for i := range 10_000 {
				if err := header(w, fmt.Sprintf("f%d", i), 0); err != nil {
					return err
				}
			}
			return nil
		}, "headers and the files that are kept take more than 2 MiB"},
		"one name again and again": {func(w io.Writer) error {
			for range 10_000 {
				if err := header(w, "same", 0); err != nil {
					return err
				}
			}
			return nil
		}, "more than 2 MiB"},
		"names that are left out": {func(w io.Writer) error {
			for range 10_000 {
				if err := header(w, "../../out", 0); err != nil {
					return err
				}
			}
			return nil
		}, "more than 2 MiB"},
		"long names": {func(w io.Writer) error {
			for i := range 2000 {
				if err := header(w, fmt.Sprintf("%s%d", strings.Repeat("long/", 600), i), 0); err != nil {
					return err
				}
			}
			return nil
		}, "more than 2 MiB"},
		"kept files": {func(w io.Writer) error {
			for i := range 8 {
				if err := header(w, fmt.Sprintf("%d.tf", i), 512<<10); err != nil {
					return err
				}
				if _, err := io.Copy(w, zeros(512<<10)); err != nil {
					return err
				}
			}
			return nil
		}, "more than 2 MiB"},
		"bomb": {func(w io.Writer) error {
			if err := header(w, "bomb", 1<<40); err != nil {
				return err
			}
			_, err := io.Copy(w, zeros(40<<20))
			return err
		}, "it unpacks to more than 32 MiB"},
		"bomb after the archive": {func(w io.Writer) error {
			_, err := io.Copy(w, zeros(40<<20))
			return err
		}, "it unpacks to more than 32 MiB"},
		"sparse": {func(w io.Writer) error {
			_, err := w.Write(sparseHeader("sparse", 1<<50))
			return err
		}, "it unpacks to more than 32 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			blob := gzipOf(t, c.write)
			_, img := openSource(t, push(t, server(t, nil), imageOf(t, layerOf(t, tarOf(t, file("a", "x")), gzipped), rawLayer{blob}.addendum())))
			r := NewReader(Options{Limits: limits, TempDir: t.TempDir(), IgnoreTOC: true, Keep: func(p string) bool { return strings.HasSuffix(p, ".tf") }})
			defer r.Close()
			_, err := r.Open(context.Background(), img)
			var limit *LimitError
			if !errors.Is(err, ErrTooLarge) || !errors.As(err, &limit) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "layer 2 (sha256:") {
				t.Errorf("error %v", err)
			}
			s := r.Stats()
			if s.Peak > limits.Kept || s.Kept > 4096 {
				t.Errorf("kept %d now, %d at most, of %d", s.Kept, s.Peak, limits.Kept)
			}
		})
	}
}

// sparseHeader is an old GNU sparse entry of one hole.
func sparseHeader(name string, size int64) []byte {
	h := make([]byte, 512)
	copy(h, name)
	copy(h[100:], "0000644\x000000000\x000000000\x00")
	copy(h[124:], "00000000000\x00") // Nothing is stored.
	copy(h[136:], "00000000000\x00")
	h[156] = 'S'
	copy(h[257:], "ustar  \x00")
	base256 := func(at int, n int64) {
		h[at] = 0x80
		for i := range 8 {
			h[at+11-i] = byte(n >> (8 * i))
		}
	}
	base256(386, size) // An empty part at the end.
	copy(h[398:], "00000000000\x00")
	base256(483, size)
	fixChecksum(h)
	return h
}

// TestMemory measures what a large image takes: the heap grows by about what is
// counted, not by what the layers unpack to.
func TestMemory(t *testing.T) {
	blob := gzipOf(t, func(w io.Writer) error {
		tw := tar.NewWriter(w)
		for i := range 4000 {
			size := int64(16 << 10)
			if err := tw.WriteHeader(&tar.Header{Name: fmt.Sprintf("usr/lib/file-%05d", i), Mode: 0o644, Size: size}); err != nil {
				return err
			}
			if _, err := io.Copy(tw, zeros(size)); err != nil {
				return err
			}
		}
		return tw.Close()
	})
	src, img := openSource(t, push(t, server(t, nil), imageOf(t, rawLayer{blob}.addendum())))
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	f := openFS(t, img, Options{})
	grown := heap() - before
	s := f.Stats()
	if s.Scanned < 4000*16<<10 {
		t.Errorf("scanned %d bytes only", s.Scanned)
	}
	if s.Kept < 4000*headerCost || s.Kept > 5000*headerCost {
		t.Errorf("4000 entries count as %d bytes", s.Kept)
	}
	if grown > 2*s.Kept {
		t.Errorf("the heap grew by %d bytes, of which %d are counted", grown, s.Kept)
	}
	runtime.KeepAlive(f)
	runtime.KeepAlive(src)
}

// TestEvict forgets layers of earlier images rather than failing.
func TestEvict(t *testing.T) {
	host := server(t, nil)
	r := NewReader(Options{Limits: Limits{Kept: 300 << 10}, Keep: func(string) bool { return true }})
	defer r.Close()
	for _, content := range []string{"a", "b", "c"} {
		_, img := openSource(t, push(t, host, imageOf(t, layerOf(t, tarOf(t, file("f", strings.Repeat(content, 200<<10))), gzipped))))
		f, err := r.Open(context.Background(), img)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.ReadFile(context.Background(), "/f", 0); err != nil || string(got) != strings.Repeat(content, 200<<10) {
			t.Errorf("%s: %d bytes, %v", content, len(got), err)
		}
	}
	if s := r.Stats(); s.Peak > 300<<10 {
		t.Errorf("%+v", s)
	}
}

// FuzzLayer reads layers of any content: there is an error or a file system, the
// limits hold, and every path stays in the image.
func FuzzLayer(f *testing.F) {
	raw := tarOf(f, dir("d"), file("d/f", "content"), symlink("l", "../d"), hard("h", "d/f"), file("d/.wh.x", ""), file("../out", "x"), file(".wh..wh..opq", ""))
	for _, how := range []compression{gzipped, plain, zstandard, stargz} {
		l := layerOf(f, raw, how)
		rc, err := l.Layer.Compressed()
		if err != nil {
			f.Fatal(err)
		}
		blob, err := io.ReadAll(rc)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(blob)
		f.Add(blob[:len(blob)/2])
	}
	f.Add(sparseHeader("s", 1<<50))
	f.Fuzz(func(t *testing.T, blob []byte) {
		r := NewReader(Options{Limits: Limits{Kept: 1 << 20, Scanned: 4 << 20, Spooled: 1 << 20}, TempDir: t.TempDir(), Keep: func(p string) bool { return len(p)%2 == 0 }})
		defer r.Close()
		out := &listing{}
		_, err := walkTar(bytes.NewReader(blob), "layer", &meter{limit: 4 << 20}, nil, func(n int, h *tar.Header, body io.Reader) error {
			return r.visit(out, "layer", &meter{limit: 4 << 20}, n, h, body, true)
		})
		if r.budget.peak > r.budget.limit {
			t.Errorf("kept %d", r.budget.peak)
		}
		if err != nil {
			if !errors.Is(err, ErrTooLarge) && !errors.Is(err, source.ErrCorrupt) {
				t.Errorf("error of no kind: %v", err)
			}
			return
		}
		checkTree(t, out)
	})
}

// FuzzTOC reads tables of contents of any content.
func FuzzTOC(f *testing.F) {
	f.Add([]byte(`{"version":1,"entries":[{"name":"a/","type":"dir"},{"name":"a/b","type":"reg","size":10,"offset":5,"chunkSize":6,"chunkDigest":"sha256:` + strings.Repeat("0", 64) + `"},{"name":"a/b","type":"chunk","offset":9,"chunkOffset":6,"chunkDigest":"sha256:` + strings.Repeat("0", 64) + `"},{"name":"l","type":"symlink","linkName":"/a"},{"name":"h","type":"hardlink","linkName":"a/b"}]}`))
	f.Add([]byte(`{"entries":[{"name":"x","type":"reg","size":-1}]}`))
	f.Add([]byte(`{"entries":[{"type":"chunk"}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		r := NewReader(Options{Limits: Limits{Kept: 1 << 20}})
		out := &listing{toc: true}
		err := r.decodeTOC(out, "layer", bytes.NewReader(doc), digestOf(doc), 1<<20)
		if r.budget.peak > r.budget.limit {
			t.Errorf("kept %d", r.budget.peak)
		}
		if err != nil {
			return
		}
		checkTree(t, out)
		for _, rec := range out.records {
			var at int64
			for _, c := range rec.chunks {
				if c.at != at || c.size <= 0 || c.off < 0 || c.end <= c.off || c.end > 1<<20 || c.inner < 0 {
					t.Errorf("%s: chunk %+v", rec.name, c)
				}
				at += c.size
			}
			if len(rec.chunks) > 0 && at != rec.size {
				t.Errorf("%s: chunks of %d bytes, %d in the file", rec.name, at, rec.size)
			}
		}
	})
}

// FuzzCache decodes listings of any content.
func FuzzCache(f *testing.F) {
	l := &listing{toc: true, problems: []Problem{{Kind: ProblemName, Path: "x", Message: "m"}}}
	rec := &record{name: "/a", link: "b", size: 3, kept: true, data: []byte("abc"), chunks: []chunk{{1, 2, 3, 4, 5, "d"}}}
	rec.page(0, []byte("abc"))
	l.records = append(l.records, rec, &record{name: "/b", typ: Symlink})
	var e encoder
	l.encode(&e)
	f.Add(e.buf)
	f.Fuzz(func(t *testing.T, raw []byte) {
		b := budget{limit: 1 << 20}
		out := &listing{}
		d := &decoder{rest: raw}
		out.decode(d, func(n int64) error { return b.charge("cache", n) })
		if d.err != nil {
			return
		}
		var again encoder
		out.encode(&again)
		second := &listing{}
		d2 := &decoder{rest: again.buf}
		second.decode(d2, func(int64) error { return nil })
		var third encoder
		second.encode(&third)
		if d2.err != nil || !bytes.Equal(again.buf, third.buf) {
			t.Errorf("it does not come back as it was: %v", d2.err)
		}
	})
}

// checkTree merges a listing twice and walks what comes out.
func checkTree(t *testing.T, l *listing) {
	t.Helper()
	tree := newTree()
	tree.apply(0, l, false)
	tree.apply(1, l, true)
	f := &FS{tree: tree}
	if err := f.Walk("/", func(e Entry) error {
		if got, err := f.Lstat(e.Path); err != nil || got.Path != e.Path {
			t.Errorf("Lstat(%q) = %q, %v", e.Path, got.Path, err)
		}
		_, _ = f.Stat(e.Path)
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func digestOf(doc []byte) string {
	sum := sha256.Sum256(doc)
	return "sha256:" + hex.EncodeToString(sum[:])
}
