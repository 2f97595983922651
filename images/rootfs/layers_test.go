package rootfs

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/containerd/stargz-snapshotter/estargz"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/captf-toolkit/captf/images/source"
)

// view opens an image made of archives, lowest first.
func view(t testing.TB, how compression, opts Options, layers ...[]byte) *FS {
	t.Helper()
	var adds []mutate.Addendum
	for _, raw := range layers {
		adds = append(adds, layerOf(t, raw, how))
	}
	_, img := openSource(t, push(t, server(t, nil), imageOf(t, adds...)))
	return openFS(t, img, opts)
}

// TestPaths resolves paths with links, which never leave the image.
func TestPaths(t *testing.T) {
	f := view(t, gzipped, Options{Keep: func(string) bool { return true }}, tarOf(t,
		dir("a/b"), file("a/b/f", "content"), symlink("abs", "/a/b"), symlink("up", "../../../../a"), symlink("a/rel", "b/f"),
		symlink("loop", "loop2"), symlink("loop2", "/loop"), symlink("broken", "nowhere"), symlink("empty", ""), symlink("chain", "up/rel")))
	for p, want := range map[string]string{
		"/a/b/f": "/a/b/f", "/abs/f": "/a/b/f", "/up/b/f": "/a/b/f", "/a/rel": "/a/b/f", "/chain": "/a/b/f", "/a/../abs/../b/f": "/a/b/f",
		"/": "/", "/..": "/", "//a//./b": "/a/b", "/a/b/../../../..": "/",
	} {
		e, err := f.Stat(p)
		if err != nil || e.Path != want {
			t.Errorf("Stat(%s) = %s, %v; want %s", p, e.Path, err, want)
		}
	}
	for p, want := range map[string]error{
		"/loop": ErrLoop, "/broken": fs.ErrNotExist, "/empty": fs.ErrNotExist, "/a/b/f/x": ErrNotDir, "/nothing": fs.ErrNotExist,
		"": fs.ErrInvalid, "relative": fs.ErrInvalid, "/" + strings.Repeat("x", maxPath): fs.ErrInvalid,
	} {
		_, err := f.Stat(p)
		var pe *fs.PathError
		if !errors.Is(err, want) || !errors.As(err, &pe) {
			t.Errorf("Stat(%.20s): %v, want %v", p, err, want)
		}
	}
	if l, err := f.ReadLink("/abs"); err != nil || l != "/a/b" {
		t.Errorf("ReadLink: %q, %v", l, err)
	}
	if e, err := f.Lstat("/chain"); err != nil || e.Type != Symlink || e.Link != "up/rel" {
		t.Errorf("Lstat: %+v, %v", e, err)
	}
	if got, err := f.ReadFile(context.Background(), "/chain", 0); err != nil || string(got) != "content" {
		t.Errorf("ReadFile: %q, %v", got, err)
	}
	if _, err := f.ReadFile(context.Background(), "/chain", 3); !errors.Is(err, ErrTooLarge) {
		t.Errorf("ReadFile over its limit: %v", err)
	}
	if _, err := f.ReadFile(context.Background(), "/a", 0); !errors.Is(err, ErrNotRegular) {
		t.Errorf("ReadFile of a directory: %v", err)
	}
	list, err := f.ReadDir("/up")
	if err != nil || len(list) != 2 || list[0].Path != "/a/b" || list[1].Name() != "rel" {
		t.Errorf("ReadDir: %+v, %v", list, err)
	}
	var walked []string
	if err := f.Walk("/", func(e Entry) error {
		walked = append(walked, e.Path)
		if e.Path == "/a/b" {
			return SkipDir
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/", "/a", "/a/b", "/a/rel", "/abs", "/broken", "/chain", "/empty", "/loop", "/loop2", "/up"}, walked); diff != "" {
		t.Errorf("Walk (-want +got):\n%s", diff)
	}
}

// TestMerge puts layers on each other and says what is there, and what is wrong.
func TestMerge(t *testing.T) {
	base := tarOf(t, dir("d"), file("d/f", "low"), file("d/g", "low"), symlink("l", "d"), file("plain", "low"))
	for name, c := range map[string]struct {
		upper    []byte
		want     map[string]string // path to content, "" for what is gone
		problems []ProblemKind
	}{
		"whiteout":                 {tarOf(t, file("d/.wh.f", "")), map[string]string{"/d/f": "", "/d/g": "low"}, nil},
		"whiteout of a directory":  {tarOf(t, file(".wh.d", "")), map[string]string{"/d/f": "", "/d": "", "/plain": "low"}, nil},
		"whiteout after its file":  {tarOf(t, file("d/f", "new"), file("d/.wh.f", "")), map[string]string{"/d/f": "new"}, nil},
		"whiteout before its file": {tarOf(t, file("d/.wh.f", ""), file("d/f", "new")), map[string]string{"/d/f": "new"}, nil},
		"opaque":                   {tarOf(t, file("d/h", "new"), file("d/.wh..wh..opq", "")), map[string]string{"/d/f": "", "/d/g": "", "/d/h": "new"}, nil},
		"opaque root":              {tarOf(t, file(".wh..wh..opq", ""), file("x", "new")), map[string]string{"/d/f": "", "/plain": "", "/x": "new"}, nil},
		"whiteout of nothing":      {tarOf(t, file("d/.wh.", ""), file("q/.wh.z", "")), map[string]string{"/d/f": "low"}, []ProblemKind{ProblemWhiteout}},
		"driver's files":           {tarOf(t, file(".wh..wh.plnk", ""), file(".wh..wh.aufs", "")), map[string]string{"/d/f": "low"}, nil},
		"file over directory":      {tarOf(t, file("d", "new")), map[string]string{"/d": "new", "/d/f": ""}, nil},
		"directory over file":      {tarOf(t, dir("plain"), file("plain/x", "new")), map[string]string{"/plain/x": "new"}, nil},
		"below a file":             {tarOf(t, file("plain/x", "new")), map[string]string{"/plain/x": "new"}, []ProblemKind{ProblemThroughFile}},
		"through a link":           {tarOf(t, file("l/f", "new")), map[string]string{"/d/f": "new", "/l/g": "low"}, []ProblemKind{ProblemThroughLink}},
		"twice":                    {tarOf(t, file("x", "one"), file("x", "two")), map[string]string{"/x": "two"}, []ProblemKind{ProblemDuplicate}},
		"absolute":                 {tarOf(t, file("/x", "new")), map[string]string{"/x": "new"}, nil},
		"dots":                     {tarOf(t, file("./d/../x", "new")), map[string]string{"/x": "new"}, []ProblemKind{ProblemDotDot}},
		"out of the image":         {tarOf(t, file("../x", "new"), file("d/../../x", "new"), file("/../x", "new")), map[string]string{"/x": ""}, []ProblemKind{ProblemName, ProblemName, ProblemName}},
		"long names":               {tarOf(t, file(strings.Repeat("x", 300), "new"), file(strings.Repeat("x/", 2100)+"x", "new")), map[string]string{"/d/f": "low"}, []ProblemKind{ProblemName, ProblemName}},
		"hard link":                {tarOf(t, hard("x", "d/f"), hard("y", "/d/g"), file("d/f", "new")), map[string]string{"/x": "low", "/y": "low", "/d/f": "new"}, nil},
		"hard link out":            {tarOf(t, hard("x", "../../etc/passwd"), hard("y", "nothing"), hard("z", "d")), map[string]string{"/x": "", "/y": "", "/z": ""}, []ProblemKind{ProblemHardLink, ProblemHardLink, ProblemHardLink}},
		"hard link to later":       {tarOf(t, hard("x", "y"), file("y", "new")), map[string]string{"/x": "", "/y": "new"}, []ProblemKind{ProblemHardLink}},
		"hard link to itself":      {tarOf(t, hard("x", "x")), map[string]string{"/x": ""}, []ProblemKind{ProblemHardLink}},
		"symbolic link out":        {tarOf(t, symlink("x", "../../../../etc/passwd"), symlink("y", "/proc/self")), map[string]string{"/x": "", "/y": ""}, nil},
		"entry through a loop":     {tarOf(t, symlink("x", "x"), file("x/y", "new")), map[string]string{"/x/y": "new"}, []ProblemKind{ProblemThroughFile}},
		"odd type":                 {tarOf(t, tarEntry{tar.Header{Name: "x", Typeflag: 'V'}, ""}), map[string]string{"/x": ""}, []ProblemKind{ProblemType}},
		"trailing":                 {append(tarOf(t, file("x", "new")), tarOf(t, file("hidden", "new"))...), map[string]string{"/x": "new", "/hidden": ""}, []ProblemKind{ProblemTrailing}},
		"empty":                    {tarOf(t), map[string]string{"/d/f": "low"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := view(t, gzipped, Options{Keep: func(string) bool { return true }}, base, c.upper)
			for p, want := range c.want {
				got, err := f.ReadFile(context.Background(), p, 0)
				if want == "" {
					if !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("%s is there: %q, %v", p, got, err)
					}
				} else if string(got) != want {
					t.Errorf("%s holds %q (%v), want %q", p, got, err, want)
				}
			}
			var kinds []ProblemKind
			for _, p := range f.Problems() {
				kinds = append(kinds, p.Kind)
				if p.Layer != 1 || p.Message == "" {
					t.Errorf("problem %+v", p)
				}
			}
			if diff := cmp.Diff(c.problems, kinds, cmpopts.SortSlices(func(a, b ProblemKind) bool { return a < b })); diff != "" {
				t.Errorf("problems (-want +got):\n%s\n%+v", diff, f.Problems())
			}
		})
	}
}

// TestTypes keeps the types, modes and owners of entries.
func TestTypes(t *testing.T) {
	raw := tarOf(t,
		tarEntry{tar.Header{Name: "suid", Mode: 0o4755, Uid: 1, Gid: 2}, "x"},
		tarEntry{tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}, ""},
		tarEntry{tar.Header{Name: "fifo", Typeflag: tar.TypeFifo, Mode: 0o600}, ""},
		tarEntry{tar.Header{Name: "null", Typeflag: tar.TypeChar, Mode: 0o666, Devmajor: 1, Devminor: 3}, ""},
		tarEntry{tar.Header{Name: "disk", Typeflag: tar.TypeBlock, Mode: 0o660}, ""},
		tarEntry{tar.Header{Name: "deep/er/file", Mode: 0o640, Uid: 65532, Gid: 65532, Format: tar.FormatGNU}, "y"},
		tarEntry{tar.Header{Name: strings.Repeat("long/", 60) + "f", Mode: 0o600, Format: tar.FormatPAX, PAXRecords: map[string]string{"SCHILY.xattr.user.x": "1"}}, "z"})
	for _, how := range []compression{gzipped, stargz} {
		f := view(t, how, Options{SmallLayer: -1}, raw)
		for p, want := range map[string]Entry{
			"/suid":                                 {Type: Regular, Mode: 0o4755, UID: 1, GID: 2, Size: 1},
			"/tmp":                                  {Type: Directory, Mode: 0o1777},
			"/fifo":                                 {Type: Fifo, Mode: 0o600},
			"/null":                                 {Type: CharDevice, Mode: 0o666},
			"/disk":                                 {Type: BlockDevice, Mode: 0o660},
			"/deep":                                 {Type: Directory, Mode: 0o755, Implicit: true},
			"/deep/er/file":                         {Type: Regular, Mode: 0o640, UID: 65532, GID: 65532, Size: 1},
			"/" + strings.Repeat("long/", 60) + "f": {Type: Regular, Mode: 0o600, Size: 1},
		} {
			got, err := f.Lstat(p)
			want.Path = p
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Entry{}, "ModTime")); err != nil || diff != "" {
				t.Errorf("%s: %v\n%s", p, err, diff)
			}
		}
		if _, err := f.OpenReaderAt(context.Background(), "/fifo"); !errors.Is(err, ErrNotRegular) {
			t.Errorf("reading a pipe: %v", err)
		}
	}
}

// TestDamagedLayers shows the errors of layers that do not unpack.
func TestDamagedLayers(t *testing.T) {
	raw := tarOf(t, file("a", big(100<<10)), file("b", "x"))
	gz := func(b []byte) []byte {
		l := layerOf(t, b, gzipped)
		rc, err := l.Layer.Compressed()
		if err != nil {
			t.Fatal(err)
		}
		out, err := io.ReadAll(rc)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	lying := bytes.Clone(raw)
	copy(lying[124:], "77777777777\x00") // The size of the first entry.
	fixChecksum(lying[:512])
	for name, blob := range map[string][]byte{
		"cut archive":      gz(raw[:1000]),
		"cut gzip":         gz(raw)[:300],
		"damaged gzip":     append(gz(raw)[:200], bytes.Repeat([]byte{0xff}, 300)...),
		"no archive":       []byte(strings.Repeat("this is no archive ", 100)),
		"lying size":       gz(lying),
		"cut zstd":         {0x28, 0xb5, 0x2f, 0xfd, 0, 1, 2},
		"gzip header only": {0x1f, 0x8b, 8, 0},
	} {
		_, img := openSource(t, push(t, server(t, nil), imageOf(t, rawLayer{blob}.addendum())))
		_, err := Open(context.Background(), img, Options{TempDir: t.TempDir()})
		if !errors.Is(err, source.ErrCorrupt) || !strings.Contains(err.Error(), "layer 1 (sha256:") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func fixChecksum(header []byte) {
	copy(header[148:156], "        ")
	sum := 0
	for _, b := range header {
		sum += int(b)
	}
	copy(header[148:], []byte{'0' + byte(sum>>15&7), '0' + byte(sum>>12&7), '0' + byte(sum>>9&7), '0' + byte(sum>>6&7), '0' + byte(sum>>3&7), '0' + byte(sum&7), 0, ' '})
}

// TestTOCIsNotTrusted shows that a table of contents without the announced digest,
// and chunks without theirs, do not count.
func TestTOCIsNotTrusted(t *testing.T) {
	raw := tarOf(t, file("a", big(300<<10)), file("b.tf", "x"))
	good := layerOf(t, raw, stargz)
	other := layerOf(t, tarOf(t, file("evil", "x")), stargz)
	bad := good
	bad.Annotations = other.Annotations
	_, img := openSource(t, push(t, server(t, nil), imageOf(t, bad)))
	f := openFS(t, img, Options{SmallLayer: -1})
	if p := f.Problems(); len(p) != 1 || p[0].Kind != ProblemTOC || !strings.Contains(p[0].Message, "announces") {
		t.Errorf("problems %+v", p)
	}
	if f.Stats().Streamed != 1 {
		t.Errorf("the layer was not streamed: %+v", f.Stats())
	}
	if _, err := f.Stat("/b.tf"); err != nil {
		t.Error(err)
	}

	var damage atomic.Bool
	host := server(t, func(inner http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if damage.Load() && r.Header.Get("Range") != "" {
				w = &flipper{ResponseWriter: w}
			}
			inner.ServeHTTP(w, r)
		})
	})
	_, img = openSource(t, push(t, host, imageOf(t, good)))
	f = openFS(t, img, Options{SmallLayer: -1})
	damage.Store(true)
	if _, err := f.ReadFile(context.Background(), "/a", 1<<30); !errors.Is(err, source.ErrCorrupt) || !strings.Contains(err.Error(), "/a, bytes ") {
		t.Errorf("a damaged chunk: %v", err)
	}
}

// flipper changes what is in the middle of an answer.
type flipper struct{ http.ResponseWriter }

func (f *flipper) Write(p []byte) (int, error) {
	changed := bytes.Clone(p)
	changed[len(changed)/2] ^= 0x40
	return f.ResponseWriter.Write(changed)
}

// TestWholeLayersAreCompared finds a table of contents that shows other files than
// the layer holds, although its digest is the announced one.
func TestWholeLayersAreCompared(t *testing.T) {
	// The table of one layer at the end of another.
	shown := tarOf(t, file("main.tf", "good"), file("more", "x"))
	held := tarOf(t, file("main.tf", "evil"), file("hidden", "x"))
	unpack := func(b mutate.Addendum) []byte {
		rc, err := b.Layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(rc)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	good := layerOf(t, shown, stargz)
	tr := tar.NewReader(bytes.NewReader(unpack(good)))
	var toc []byte
	for {
		h, err := tr.Next()
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == estargz.TOCTarName {
			if toc, err = io.ReadAll(tr); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	forged := layerOf(t, append(held[:len(held)-1024], tarOf(t, file(estargz.NoPrefetchLandmark, "\x0f"), file(estargz.TOCTarName, string(toc)))...), gzipped)
	forged.Annotations = good.Annotations
	_, img := openSource(t, push(t, server(t, nil), imageOf(t, forged)))
	var paths []string
	for _, p := range openFS(t, img, Options{IgnoreTOC: true}).Problems() {
		if p.Kind != ProblemTOC {
			t.Errorf("problem %+v", p)
		}
		paths = append(paths, p.Path)
	}
	if diff := cmp.Diff([]string{"/main.tf", "/hidden", "/more"}, paths); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

// TestDiffID finds a config that lies about what a layer unpacks to.
func TestDiffID(t *testing.T) {
	img := imageOf(t, layerOf(t, tarOf(t, file("a", "x")), gzipped))
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c = c.DeepCopy()
	c.RootFS.DiffIDs[0] = v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0", 64)}
	if img, err = mutate.ConfigFile(img, c); err != nil {
		t.Fatal(err)
	}
	_, opened := openSource(t, push(t, server(t, nil), img))
	cache := t.TempDir()
	for _, o := range []Options{{IgnoreTOC: true}, {}, {CacheDir: cache}, {CacheDir: cache}} {
		if p := openFS(t, opened, o).Problems(); len(p) != 1 || p[0].Kind != ProblemDiffID {
			t.Errorf("%+v: problems %+v", o, p)
		}
	}
}

// TestLaziness counts what is read of a layer with a table of contents.
func TestLaziness(t *testing.T) {
	content := make([]byte, 8<<20)
	for i := range content { // Does not compress.
		content[i] = byte(i*i>>7 ^ i>>3*31)
	}
	for i, x := 0, uint32(1); i < len(content); i++ {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		content[i] = byte(x)
	}
	raw := tarOf(t, file("captf/runtime", string(content)), file("captf/module/a.tf", "a"), file("captf/module/b.tf", "b"), file("other", "x"))
	keep := func(p string) bool { return strings.HasSuffix(p, ".tf") }
	for _, whole := range []bool{false, true} {
		host := server(t, func(inner http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if whole {
					r.Header.Del("Range")
				}
				inner.ServeHTTP(w, r)
			})
		})
		src, img := openSource(t, push(t, host, imageOf(t, layerOf(t, raw, stargz))))
		f := openFS(t, img, Options{Keep: keep, CacheDir: t.TempDir()})
		before := src.Stats()
		if !whole && (before.LayerBytes > 200<<10 || before.Ranges > 2 || before.Streams != 0) {
			t.Errorf("opening read %+v", before)
		}
		if got, err := f.ReadFile(context.Background(), "/captf/module/b.tf", 0); err != nil || string(got) != "b" {
			t.Errorf("b.tf: %q, %v", got, err)
		}
		if after := src.Stats(); after != before {
			t.Errorf("reading a kept file read %+v after %+v", after, before)
		}
		at, err := f.OpenReaderAt(context.Background(), "/captf/runtime")
		if err != nil {
			t.Fatal(err)
		}
		part := make([]byte, 100_000)
		for _, off := range []int64{0, 5_000_000, int64(len(content) - 100_000), 5_000_000} {
			if _, err := at.ReadAt(part, off); err != nil || !bytes.Equal(part, content[off:off+100_000]) {
				t.Errorf("whole blobs %v: offset %d differs (%v)", whole, off, err)
			}
		}
		if n, err := at.ReadAt(part, int64(len(content)-5)); n != 5 || !errors.Is(err, io.EOF) {
			t.Errorf("over the end: %d, %v", n, err)
		}
		if err := at.Close(); err != nil {
			t.Error(err)
		}
		if after := src.Stats(); !whole && after.LayerBytes-before.LayerBytes > 2<<20 {
			t.Errorf("three parts of a file read %d bytes", after.LayerBytes-before.LayerBytes)
		}
		if s := f.Stats(); whole && s.Streamed+s.Restreamed > 2 {
			t.Errorf("without ranges the layer was streamed too often: %+v", s)
		}
	}
}

// TestStreamed reads files that were not kept of a layer without a table.
func TestStreamed(t *testing.T) {
	content := big(6 << 20)
	raw := tarOf(t, file("runtime", "old"), file("runtime", content), file("small", "s"), hard("again", "runtime"))
	for _, spool := range []bool{false, true} {
		src, img := openSource(t, push(t, server(t, nil), imageOf(t, layerOf(t, raw, gzipped))))
		temp := t.TempDir()
		f, err := Open(context.Background(), img, Options{TempDir: temp, Spool: func(p string) bool { return spool && p == "/runtime" }})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{"/runtime", "/again"} {
			at, err := f.OpenReaderAt(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			part := make([]byte, 64)
			if _, err := at.ReadAt(part, 4<<20); err != nil || string(part) != content[4<<20:4<<20+64] {
				t.Errorf("%s differs (%v)", p, err)
			}
		}
		want := int64(2)
		if spool {
			want = 1
		}
		if got := src.Stats().Streams; got != want {
			t.Errorf("spooled %v: the layer was streamed %d times", spool, got)
		}
		if got, err := f.ReadFile(context.Background(), "/small", 0); err != nil || string(got) != "s" {
			t.Errorf("small: %q, %v", got, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(temp); len(left) > 0 {
			t.Errorf("temporary files are left: %v", left)
		}
	}
}

// TestShared reads a layer that two images share once.
func TestShared(t *testing.T) {
	shared := layerOf(t, tarOf(t, file("shared", "x")), gzipped)
	host := server(t, nil)
	r := NewReader(Options{})
	defer r.Close()
	for i, own := range []string{"amd64", "arm64"} {
		src, img := openSource(t, push(t, host, imageOf(t, shared, layerOf(t, tarOf(t, file("own", own)), gzipped))))
		f, err := r.Open(context.Background(), img)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.ReadFile(context.Background(), "/own", 0); err != nil || string(got) != own {
			t.Errorf("own: %q, %v", got, err)
		}
		if want := int64(3 - i); src.Stats().Streams != want { // Two or one, and one for the file.
			t.Errorf("image %d: %d streams, want %d", i, src.Stats().Streams, want)
		}
	}
	if s := r.Stats(); s.Shared != 1 {
		t.Errorf("%+v", s)
	}
}

// TestCache shows that a second run reads no layer, that damaged files do not
// matter, and that nothing of the wrong layer is ever shown.
func TestCache(t *testing.T) {
	content := big(6 << 20)
	raw := tarOf(t, file("main.tf", "kept"), file("runtime", content), dir("d"), symlink("l", "d"), file("../bad", "x"))
	for _, how := range []compression{gzipped, stargz} {
		cache, ref := t.TempDir(), push(t, server(t, nil), imageOf(t, layerOf(t, raw, how)))
		run := func() (source.Stats, Stats, map[string]string) {
			t.Helper()
			src, img := openSource(t, ref)
			f, err := Open(context.Background(), img, Options{CacheDir: cache, SmallLayer: -1, TempDir: t.TempDir(), Keep: func(p string) bool { return strings.HasSuffix(p, ".tf") }})
			if err != nil {
				t.Fatal(err)
			}
			at, err := f.OpenReaderAt(context.Background(), "/runtime")
			if err != nil {
				t.Fatal(err)
			}
			part := make([]byte, 200)
			if _, err := at.ReadAt(part, 1<<20+7); err != nil || string(part) != content[1<<20+7:1<<20+207] {
				t.Errorf("runtime differs (%v)", err)
			}
			seen := map[string]string{}
			for _, p := range f.Problems() {
				seen["problem"] += string(p.Kind)
			}
			got, err := f.ReadFile(context.Background(), "/main.tf", 0)
			if err != nil {
				t.Fatal(err)
			}
			seen["main.tf"] = string(got)
			s := src.Stats()
			if err := errors.Join(at.Close(), f.Close()); err != nil {
				t.Fatal(err)
			}
			return s, f.Stats(), seen
		}
		_, _, want := run()
		s, st, got := run()
		if s.LayerBytes != 0 || st.Cached != 1 || cmp.Diff(want, got) != "" {
			t.Errorf("second run: %+v %+v\n%s", s, st, cmp.Diff(want, got))
		}
		files, err := filepath.Glob(filepath.Join(cache, cacheVersion, "*"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		good, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		for i, damaged := range [][]byte{nil, good[:len(good)/2], append(bytes.Clone(good), 0), bytes.Replace(good, []byte("listing 1"), []byte("listing 9"), 1), bytes.Repeat([]byte("x"), 1000)} {
			if err := os.WriteFile(files[0], damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			s, st, got := run()
			if s.LayerBytes == 0 || st.Cached != 0 || cmp.Diff(want, got) != "" {
				t.Errorf("damage %d: %+v %+v\n%s", i, s, st, cmp.Diff(want, got))
			}
			if again, err := os.ReadFile(files[0]); err != nil || !bytes.Equal(good, again) {
				t.Errorf("damage %d: the file was not written again (%v)", i, err)
			}
		}
	}
}

// TestPrune keeps the cache under its limit, the newest files last.
func TestPrune(t *testing.T) {
	cache, host := t.TempDir(), server(t, nil)
	var names []string
	for _, own := range []string{"a", "b", "c"} {
		_, img := openSource(t, push(t, host, imageOf(t, layerOf(t, tarOf(t, file("own", own)), gzipped))))
		f := openFS(t, img, Options{CacheDir: cache, CacheMax: 200})
		_ = f
		found, err := filepath.Glob(filepath.Join(cache, cacheVersion, "*"))
		if err != nil {
			t.Fatal(err)
		}
		names = found
	}
	var total int64
	for _, n := range names {
		info, err := os.Stat(n)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if len(names) == 0 || len(names) == 3 || total > 200 {
		t.Errorf("%d files of %d bytes", len(names), total)
	}
}
