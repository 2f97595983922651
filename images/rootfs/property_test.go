package rootfs

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"pgregory.net/rapid"
)

// drawLayer makes a layer on top of what is there: files, directories, links and
// whiteouts below a few names, without what runtimes take differently. Hard links
// are in the top layer only: go-containerregistry flattens them by name, so that a
// target which changes later changes them too.
func drawLayer(t *rapid.T, lower map[string]bool, top bool) []tarEntry {
	names := rapid.SampledFrom([]string{"a", "b", "c"})
	var out []tarEntry
	done := map[string]bool{}  // names of this layer, whiteouts as what they hide
	dirs := map[string]bool{}  // directories of this layer
	files := map[string]bool{} // targets for hard links
	for range rapid.IntRange(1, 8).Draw(t, "entries") {
		depth := rapid.IntRange(0, 2).Draw(t, "depth")
		dir, usable := "", true
		for i := range depth {
			dir = path.Join(dir, "d"+names.Draw(t, "dir"))
			if done[dir] && !dirs[dir] {
				usable = false
			}
			if usable && !dirs[dir] && (i == depth-1 || rapid.Bool().Draw(t, "explicit")) {
				out = append(out, tarEntry{tar.Header{Name: dir + "/", Typeflag: tar.TypeDir, Mode: 0o750}, ""})
				done[dir], dirs[dir] = true, true
			}
		}
		name := path.Join(dir, names.Draw(t, "name"))
		if !usable || done[name] {
			continue
		}
		done[name] = true
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			out = append(out, symlink(name, rapid.SampledFrom([]string{"a", "b/c", "./nowhere"}).Draw(t, "target")))
		case 1:
			out = append(out, file(path.Join(dir, ".wh."+path.Base(name)), ""))
		case 2:
			if opaque := path.Join(dir, opaqueName); dir != "" && !done[opaque] {
				done[opaque] = true
				out = append(out, file(opaque, ""))
			}
		case 3:
			if targets := slices.Sorted(maps.Keys(files)); top && !lower[name] && len(targets) > 0 {
				out = append(out, hard(name, rapid.SampledFrom(targets).Draw(t, "link target")))
			}
		default:
			out = append(out, file(name, rapid.SampledFrom([]string{"", "x", "some content", strings.Repeat("long", 1000)}).Draw(t, "content")))
			files[name] = true
		}
	}
	for n := range done {
		lower[n] = true
	}
	return out
}

// TestFlattenedLikeOthers compares with go-containerregistry's view of the same
// random layers, and the view by tables of contents with the view by streams.
func TestFlattenedLikeOthers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lower := map[string]bool{}
		var streams, tables []mutate.Addendum
		layers := rapid.IntRange(1, 4).Draw(rt, "layers")
		for i := range layers {
			raw := tarOf(t, drawLayer(rt, lower, i == layers-1)...)
			streams = append(streams, layerOf(t, raw, gzipped))
			tables = append(tables, layerOf(t, raw, stargz))
		}
		img := imageOf(t, streams...)
		got := layoutView(t, img, Options{})
		if diff := cmp.Diff(extracted(t, img), got); diff != "" {
			rt.Errorf("files (-go-containerregistry +ours):\n%s", diff)
		}
		if diff := cmp.Diff(got, layoutView(t, imageOf(t, tables...), Options{SmallLayer: -1, Keep: func(p string) bool { return len(p)%2 == 0 }})); diff != "" {
			rt.Errorf("files (-streamed +by table):\n%s", diff)
		}
	})
}

func layoutView(t *testing.T, img v1.Image, opts Options) map[string]string {
	t.Helper()
	dir := t.TempDir()
	p, err := layout.Write(dir, mutate.AppendManifests(emptyIndex(), mutate.IndexAddendum{Add: img}))
	if err != nil {
		t.Fatal(err)
	}
	_, opened := openSource(t, "oci:"+string(p))
	f := openFS(t, opened, opts)
	out := map[string]string{}
	if err := f.Walk("/", func(e Entry) error {
		if e.Implicit || e.Path == "/" {
			return nil
		}
		var content []byte
		if e.IsRegular() {
			var err error
			if content, err = f.ReadFile(context.Background(), e.Path, 0); err != nil {
				return err
			}
		}
		out[e.Path] = describe(e.Type, e.Mode, e.UID, e.GID, e.Link, content)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, f)
	return out
}

// sameFiles compares the contents that Files gives with those that ReadFile gives.
func sameFiles(t *testing.T, f *FS) {
	t.Helper()
	want, got := map[string]string{}, map[string]string{}
	if err := f.Walk("/", func(e Entry) error {
		if !e.IsRegular() {
			return nil
		}
		b, err := f.ReadFile(context.Background(), e.Path, 0)
		want[e.Path] = string(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := f.Files(context.Background(), func(same []Entry, r io.Reader) error {
		b, err := io.ReadAll(r)
		for _, e := range same {
			if _, twice := got[e.Path]; twice {
				t.Errorf("%s is given twice", e.Path)
			}
			got[e.Path] = string(b)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("contents (-ReadFile +Files):\n%s", diff)
	}
}

// extracted is what another implementation unpacks.
func extracted(t *testing.T, img v1.Image) map[string]string {
	t.Helper()
	rc := mutate.Extract(img)
	defer rc.Close()
	out := map[string]string{}
	tr := tar.NewReader(rc)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		name := path.Clean("/" + h.Name)
		typ, link := tarTypes[h.Typeflag], ""
		switch typ {
		case Symlink:
			link = h.Linkname
		case hardLink:
			out[name] = out[path.Clean("/"+h.Linkname)]
			continue
		}
		out[name] = describe(typ, uint32(h.Mode), h.Uid, h.Gid, link, content)
	}
}
