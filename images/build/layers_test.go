package build_test

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"pgregory.net/rapid"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/build"
)

// listLayer describes the files of a layer of the first platform.
func listLayer(t testing.TB, r *build.Result, content string) map[string]string {
	t.Helper()
	return readLayer(t, r, content, func(h *tar.Header, _ io.Reader) string {
		switch h.Typeflag {
		case tar.TypeDir:
			return fmt.Sprintf("dir %04o %d:%d", h.Mode, h.Uid, h.Gid)
		case tar.TypeSymlink:
			return fmt.Sprintf("link %04o %d:%d -> %s", h.Mode, h.Uid, h.Gid, h.Linkname)
		}
		return fmt.Sprintf("file %04o %d:%d", h.Mode, h.Uid, h.Gid)
	})
}

func readLayer(t testing.TB, r *build.Result, content string, describe func(h *tar.Header, r io.Reader) string) map[string]string {
	t.Helper()
	img, err := r.Index.Image(r.Platforms[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	var digest v1.Hash
	for _, l := range r.Platforms[0].Layers {
		if l.Content == content {
			digest = l.Digest
		}
	}
	l, err := img.LayerByDigest(digest)
	if err != nil {
		t.Fatalf("there is no layer with the %s: %v", content, err)
	}
	rc, err := l.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer rc.Close()
	out := map[string]string{}
	previous := ""
	for archive := tar.NewReader(rc); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == "stargz.index.json" {
			continue
		}
		name := strings.TrimSuffix(h.Name, "/")
		if strings.Compare(strings.ReplaceAll(previous, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00")) >= 0 {
			t.Errorf("%s comes after %s", name, previous)
		}
		previous = name
		if !h.ModTime.Equal(time.Unix(0, 0)) || h.Uname != "" || h.Gname != "" || len(h.PAXRecords) > 0 {
			t.Errorf("the header of %s is %+v", name, h)
		}
		out[name] = describe(h, archive)
	}
}

func TestLayers(t *testing.T) {
	dir := writeModule(t, map[string]string{"main.tf": "", "bin/run.sh": "#!/bin/sh\n", "sub/data.txt": ""})
	for name, mode := range map[string]os.FileMode{"bin/run.sh": 0o700, "main.tf": 0o600, "sub": 0o700} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, []byte(cert), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options(t, dir)
	o.CABundle = ca
	r := mustBuild(t, o)
	want := map[string]string{
		"captf/module": "dir 0755 65532:65532", "captf/module/bin": "dir 0755 65532:65532", "captf/module/bin/run.sh": "file 0755 65532:65532",
		"captf/module/main.tf": "file 0644 65532:65532", "captf/module/sub": "dir 0755 65532:65532", "captf/module/sub/data.txt": "file 0644 65532:65532",
	}
	if diff := cmp.Diff(want, listLayer(t, r, "module")); diff != "" {
		t.Errorf("the module layer (-want +got):\n%s", diff)
	}
	want = map[string]string{
		"captf": "dir 0755 0:0", "captf/runtime": "link 0777 0:0 -> /usr/local/bin/tofu", "etc": "dir 0755 0:0", "etc/group": "file 0644 0:0",
		"etc/passwd": "file 0644 0:0", "etc/ssl": "dir 0755 0:0", "etc/ssl/certs": "dir 0755 0:0", "etc/ssl/certs/ca-certificates.crt": "file 0644 0:0",
		"tmp": "dir 1777 0:0", "usr": "dir 0755 0:0", "usr/local": "dir 0755 0:0", "usr/local/bin": "dir 0755 0:0", "usr/local/bin/tofu": "file 0755 0:0",
	}
	if diff := cmp.Diff(want, listLayer(t, r, "runtime")); diff != "" {
		t.Errorf("the runtime layer (-want +got):\n%s", diff)
	}
	passwd := readLayer(t, r, "runtime", func(h *tar.Header, r io.Reader) string {
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	})["etc/passwd"]
	if !strings.Contains(passwd, "captf:x:65532:65532:captf:/tmp:/usr/sbin/nologin\n") {
		t.Errorf("/etc/passwd is\n%s", passwd)
	}
}

// TestReproducible builds the same module under other circumstances.
func TestReproducible(t *testing.T) {
	files := map[string]string{"main.tf": "", "z.txt": "z", "a/b/c.txt": "c", "a.txt": "a", "a/b.txt": "b", "run.sh": "#!/bin/sh\n"}
	base := options(t, writeModule(t, files))
	if err := os.Chmod(filepath.Join(base.Dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	want := mustBuild(t, base)
	again := func(t *testing.T) build.Options {
		o := base
		o.Dir, o.TempDir = writeModule(t, files), t.TempDir()
		if err := os.Chmod(filepath.Join(o.Dir, "run.sh"), 0o755); err != nil {
			t.Fatal(err)
		}
		return o
	}
	for name, build := range map[string]func(t *testing.T) *build.Result{
		"again":           func(t *testing.T) *build.Result { return mustBuild(t, base) },
		"other directory": func(t *testing.T) *build.Result { return mustBuild(t, again(t)) },
		"one processor": func(t *testing.T) *build.Result {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			return mustBuild(t, base)
		},
		"many processors": func(t *testing.T) *build.Result {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(13))
			return mustBuild(t, base)
		},
		"umask": func(t *testing.T) *build.Result {
			defer syscall.Umask(syscall.Umask(0o077))
			return mustBuild(t, again(t))
		},
		"times": func(t *testing.T) *build.Result {
			o := again(t)
			at := time.Unix(1_700_000_000, 5)
			for name := range files {
				if err := os.Chtimes(filepath.Join(o.Dir, name), at, at); err != nil {
					t.Fatal(err)
				}
			}
			return mustBuild(t, o)
		},
		"modes": func(t *testing.T) *build.Result {
			o := again(t)
			for name := range files {
				mode := os.FileMode(0o600)
				if name == "run.sh" {
					mode = 0o700
				}
				if err := os.Chmod(filepath.Join(o.Dir, name), mode); err != nil {
					t.Fatal(err)
				}
			}
			return mustBuild(t, o)
		},
		"clutter": func(t *testing.T) *build.Result {
			o := again(t)
			if err := os.WriteFile(filepath.Join(o.Dir, "terraform.tfstate"), []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
			return mustBuild(t, o)
		},
		"platforms in another order": func(t *testing.T) *build.Result {
			o := base
			o.Platforms = []image.Platform{arm64, amd64, arm64}
			return mustBuild(t, o)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := build(t).Digest; got != want.Digest {
				t.Errorf("the digest is %s, want %s", got, want.Digest)
			}
		})
	}
	t.Run("another time differs", func(t *testing.T) {
		o := base
		o.Created = time.Unix(1_700_000_000, 0)
		if got := mustBuild(t, o).Digest; got == want.Digest {
			t.Error("the digest is the same")
		}
	})
	t.Run("shared layers", func(t *testing.T) {
		o := base
		o.Dir = writeModule(t, map[string]string{"main.tf": "# another module\n"})
		other := mustBuild(t, o)
		for i, p := range want.Platforms {
			if got := other.Platforms[i].Layers[0].Digest; got != p.Layers[0].Digest {
				t.Errorf("%s: the runtime layer differs between modules: %s and %s", p.Platform, p.Layers[0].Digest, got)
			}
		}
	})
}

// TestAnyModule builds modules of random files twice, the second time written in
// another order, and compares.
func TestAnyModule(t *testing.T) {
	name := rapid.StringMatching(`[a-z][a-z0-9-]{0,3}(/[a-z][a-z0-9-]{0,3}){0,2}\.txt`)
	binaries := map[image.Platform]string{amd64: fakeRuntime(t, "amd64")}
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfNDistinct(name, 0, 8, rapid.ID[string]).Draw(rt, "names")
		order := rapid.Permutation(names).Draw(rt, "order")
		var digests []v1.Hash
		for _, list := range [][]string{names, order} {
			dir := t.TempDir()
			for _, n := range append([]string{"main.tf"}, list...) {
				at := filepath.Join(dir, n)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					rt.Fatal(err)
				}
				text := []byte(strings.Repeat(n, 3))
				if n == "main.tf" {
					text = nil
				}
				if err := os.WriteFile(at, text, 0o644); err != nil {
					rt.Fatal(err)
				}
			}
			o := options(t, dir)
			o.Platforms, o.Binaries, o.Progress = []image.Platform{amd64}, binaries, nil
			r, err := build.Build(t.Context(), o)
			if err != nil {
				rt.Fatal(err)
			}
			if len(r.Files) != len(list)+1 {
				rt.Fatalf("%d files ship of %q", len(r.Files), list)
			}
			digests = append(digests, r.Digest)
			if err := r.Close(); err != nil {
				rt.Fatal(err)
			}
		}
		if digests[0] != digests[1] {
			rt.Fatalf("the digests differ: %v", digests)
		}
	})
}
