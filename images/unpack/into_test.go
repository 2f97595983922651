//go:build unix

package unpack_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/captf-toolkit/captf/images/rootfs"
	"github.com/captf-toolkit/captf/images/source"
	"github.com/captf-toolkit/captf/images/unpack"
)

// open returns the files of an image whose layers have these entries.
func open(t *testing.T, layers ...[]tar.Header) *rootfs.FS {
	t.Helper()
	img := empty.Image
	for _, entries := range layers {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range entries {
			if h.Typeflag == tar.TypeReg {
				h.Size = int64(len(h.Name))
			}
			if err := w.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
			if h.Typeflag == tar.TypeReg {
				if _, err := io.WriteString(w, h.Name); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
		if err != nil {
			t.Fatal(err)
		}
		if img, err = mutate.AppendLayers(img, layer); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if _, err := layout.Write(dir, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}})); err != nil {
		t.Fatal(err)
	}
	src, err := source.Open(t.Context(), "oci:"+dir, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	found, err := src.Image(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := rootfs.Open(t.Context(), found, rootfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	return files
}

// TestInto unpacks an image that tries to write elsewhere, through links and by names.
func TestInto(t *testing.T) {
	outside := t.TempDir()
	files := open(t, []tar.Header{
		{Name: "dir/", Typeflag: tar.TypeDir, Mode: 0o500}, {Name: "dir/file", Typeflag: tar.TypeReg, Mode: 0o640},
		{Name: "hard", Typeflag: tar.TypeLink, Linkname: "dir/file"},
		{Name: "abs", Typeflag: tar.TypeSymlink, Linkname: outside}, {Name: "up", Typeflag: tar.TypeSymlink, Linkname: "../../../../.."}, {Name: "other", Typeflag: tar.TypeSymlink, Linkname: outside},
		{Name: "gone", Typeflag: tar.TypeReg, Mode: 0o644}, {Name: "null", Typeflag: tar.TypeChar, Mode: 0o666},
	}, []tar.Header{
		{Name: "other/written", Typeflag: tar.TypeReg, Mode: 0o644}, {Name: "../../escaped", Typeflag: tar.TypeReg, Mode: 0o644},
		{Name: ".wh.gone", Typeflag: tar.TypeReg},
	})
	dir := filepath.Join(t.TempDir(), "root")
	size, err := unpack.Into(t.Context(), files, dir, unpack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if size == 0 {
		t.Error("it has no size")
	}
	left, err := os.ReadDir(outside)
	if err != nil || len(left) > 0 {
		t.Errorf("it wrote outside: %v, %v", left, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "hard"))
	if err != nil || string(text) != "dir/file" {
		t.Errorf("the hard link: %s, %v", text, err)
	}
	if link, err := os.Readlink(filepath.Join(dir, "abs")); err != nil || link != outside {
		t.Errorf("the symbolic link: %s, %v", link, err)
	}
	modes := map[string]os.FileMode{}
	for _, name := range []string{"dir", "dir/file"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		modes[name] = info.Mode().Perm()
	}
	if diff := cmp.Diff(map[string]os.FileMode{"dir": 0o700, "dir/file": 0o640}, modes); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"gone", "null"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
}

// TestOwners: with the right to, files belong to whom the image says.
func TestOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	files := open(t, []tar.Header{
		{Name: "dir/", Typeflag: tar.TypeDir, Mode: 0o1555, Uid: 7, Gid: 8}, {Name: "dir/file", Typeflag: tar.TypeReg, Mode: 0o4711, Uid: 9, Gid: 10},
		{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc/shadow", Uid: 11, Gid: 12},
	})
	dir := filepath.Join(t.TempDir(), "root")
	if _, err := unpack.Into(t.Context(), files, dir, unpack.Options{Owners: true}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range []string{"dir", "dir/file", "link"} {
		got = append(got, owner(t, filepath.Join(dir, name)))
	}
	if diff := cmp.Diff([]string{"7:8 dtr-xr-xr-x", "9:10 -rwx--x--x", "11:12 Lrwxrwxrwx"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestRefuses says what keeps an image from being unpacked. What is there already is neither written nor followed.
func TestRefuses(t *testing.T) {
	entries := []tar.Header{
		{Name: "dir/", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "file", Typeflag: tar.TypeReg, Mode: 0o644},
		{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "file"}, {Name: "other", Typeflag: tar.TypeLink, Linkname: "file"},
	}
	for name, prepare := range map[string]func(dir string) error{
		"a file in the place of the root":   func(dir string) error { return os.WriteFile(dir, []byte("mine"), 0o600) },
		"a file in the place of the parent": func(dir string) error { return os.WriteFile(filepath.Dir(dir), []byte("mine"), 0o600) },
		"a directory that is there":         func(dir string) error { return os.MkdirAll(filepath.Join(dir, "dir"), 0o750) },
		"a file that is there":              func(dir string) error { return touch(dir, "file") },
		"a link that is there":              func(dir string) error { return touch(dir, "link") },
		"a hard link that is there":         func(dir string) error { return touch(dir, "other") },
	} {
		t.Run(name, func(t *testing.T) {
			parent := filepath.Join(t.TempDir(), "parent")
			dir := filepath.Join(parent, "root")
			if name != "a file in the place of the parent" {
				if err := os.Mkdir(parent, 0o750); err != nil {
					t.Fatal(err)
				}
			}
			if err := prepare(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := unpack.Into(t.Context(), open(t, entries), dir, unpack.Options{}); err == nil || !strings.HasPrefix(err.Error(), "unpacking the image: ") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// touch makes a file in a directory, which is made.
func touch(dir, name string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600)
}

// TestStops: who waits no longer gets nothing.
func TestStops(t *testing.T) {
	files := open(t, []tar.Header{{Name: "file", Typeflag: tar.TypeReg, Mode: 0o644}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := unpack.Into(ctx, files, filepath.Join(t.TempDir(), "root"), unpack.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
