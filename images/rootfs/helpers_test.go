package rootfs

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/containerd/stargz-snapshotter/estargz"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"

	"github.com/captf-toolkit/captf/images/source"
)

// tarOf writes an archive; entries with content are regular files unless they say
// another type.
func tarOf(t testing.TB, entries ...tarEntry) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		h := e.Header
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		h.Size = int64(len(e.content))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

type tarEntry struct {
	tar.Header
	content string
}

func file(name, content string) tarEntry {
	return tarEntry{tar.Header{Name: name}, content}
}

func dir(name string) tarEntry {
	return tarEntry{tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: 0o755}, ""}
}

func symlink(name, to string) tarEntry {
	return tarEntry{tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to, Mode: 0o777}, ""}
}

func hard(name, to string) tarEntry {
	return tarEntry{tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: to}, ""}
}

// compression of a layer in tests.
type compression int

const (
	gzipped compression = iota
	plain
	zstandard
	stargz
)

// layerOf makes a layer, and the annotations that belong to it.
func layerOf(t testing.TB, raw []byte, how compression) mutate.Addendum {
	t.Helper()
	add := mutate.Addendum{MediaType: types.OCILayer}
	packed := raw
	switch how {
	case plain:
		return mutate.Addendum{Layer: rawLayer{raw}, MediaType: types.OCIUncompressedLayer}
	case zstandard:
		z, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		packed = z.EncodeAll(raw, nil)
		add.MediaType = types.OCILayerZStd
	case stargz:
		b, err := estargz.Build(io.NewSectionReader(bytes.NewReader(raw), 0, int64(len(raw))), estargz.WithChunkSize(64<<10), estargz.WithParallelism(1))
		if err != nil {
			t.Fatal(err)
		}
		if packed, err = io.ReadAll(b); err != nil {
			t.Fatal(err)
		}
		add.Annotations = map[string]string{estargz.TOCJSONDigestAnnotation: b.TOCDigest().String()}
		_ = b.Close()
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil }, tarball.WithMediaType(add.MediaType))
	if err != nil {
		t.Fatal(err)
	}
	add.Layer = l
	return add
}

func imageOf(t testing.TB, adds ...mutate.Addendum) v1.Image {
	t.Helper()
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.Append(img, adds...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c = c.DeepCopy()
	c.OS, c.Architecture = "linux", "amd64"
	if img, err = mutate.ConfigFile(img, c); err != nil {
		t.Fatal(err)
	}
	return img
}

// server is a registry on the loopback interface, with a handler in front.
func server(t testing.TB, front func(http.Handler) http.Handler) string {
	t.Helper()
	h := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	if front != nil {
		h = front(h)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func push(t testing.TB, host string, img v1.Image) string {
	t.Helper()
	ref, err := name.ParseReference(host + "/demo/module:v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
	return ref.String()
}

func openSource(t testing.TB, ref string) (*source.Source, *source.Image) {
	t.Helper()
	src, err := source.Open(context.Background(), ref, source.Options{Keychain: authn.NewMultiKeychain()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	img, err := src.Image(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return src, img
}

func openFS(t testing.TB, img *source.Image, opts Options) *FS {
	t.Helper()
	opts.TempDir = t.TempDir()
	f, err := Open(context.Background(), img, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// snapshot is everything that a file system shows, with contents.
func snapshot(t testing.TB, f *FS) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := f.Walk("/", func(e Entry) error {
		var content []byte
		if e.IsRegular() {
			var err error
			if content, err = f.ReadFile(context.Background(), e.Path, 1<<30); err != nil {
				return err
			}
		}
		out[e.Path] = describe(e.Type, e.Mode, e.UID, e.GID, e.Link, content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// rawLayer is a blob that may be no layer at all.
type rawLayer struct{ blob []byte }

func (r rawLayer) Digest() (v1.Hash, error) {
	h, _, err := v1.SHA256(bytes.NewReader(r.blob))
	return h, err
}
func (r rawLayer) DiffID() (v1.Hash, error) { return r.Digest() }
func (r rawLayer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(r.blob)), nil
}
func (r rawLayer) Uncompressed() (io.ReadCloser, error) { return r.Compressed() }
func (r rawLayer) Size() (int64, error)                 { return int64(len(r.blob)), nil }
func (r rawLayer) MediaType() (types.MediaType, error)  { return types.OCILayer, nil }
func (r rawLayer) addendum() mutate.Addendum {
	return mutate.Addendum{Layer: r, MediaType: types.OCILayer}
}

func emptyIndex() v1.ImageIndex { return empty.Index }
