package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/captf-toolkit/captf/contract/golden"
)

// writeLayout writes images, each with a reference name unless that is empty.
func writeLayout(t testing.TB, named map[string]any) string {
	t.Helper()
	dir := t.TempDir()
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	for name, what := range named {
		var opts []layout.Option
		if name != "" {
			opts = append(opts, layout.WithAnnotations(map[string]string{refNameAnnotation: name}))
		}
		switch what := what.(type) {
		case v1.Image:
			err = p.AppendImage(what, opts...)
		case v1.ImageIndex:
			err = p.AppendIndex(what, opts...)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t testing.TB, ref string) (*Source, error) {
	t.Helper()
	s, err := Open(context.Background(), ref, Options{Keychain: anonymous, TempDir: t.TempDir()})
	if err == nil {
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return s, err
}

func tarDir(t testing.TB, dir string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "image.tar")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tar.NewWriter(f)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

func digestOf(t testing.TB, d interface{ Digest() (v1.Hash, error) }) v1.Hash {
	t.Helper()
	h, err := d.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// wantSame reads every layer, whole and by range, and compares with the image.
func wantSame(t testing.TB, s *Source, want v1.Image) {
	t.Helper()
	img, err := s.Image(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := want.Layers()
	if err != nil {
		t.Fatal(err)
	}
	if len(layers) != len(img.Layers()) {
		t.Fatalf("%d layers, want %d", len(img.Layers()), len(layers))
	}
	for i, l := range img.Layers() {
		got, err := readAll(l)
		if err != nil {
			t.Fatal(err)
		}
		rc, err := layers[i].Compressed()
		if l.Descriptor.MediaType == types.DockerUncompressedLayer {
			rc, err = layers[i].Uncompressed()
		}
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(rc)
		if err != nil || !bytes.Equal(raw, got) {
			t.Errorf("layer %d differs (%v)", i, err)
		}
		at, err := l.ReaderAt(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		part := make([]byte, 1000)
		if _, err := at.ReadAt(part, 500); err != nil || !bytes.Equal(part, raw[500:1500]) {
			t.Errorf("layer %d: range differs (%v)", i, err)
		}
		if err := at.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLayout reads layouts, as directories and as archives, packed and not.
func TestLayout(t *testing.T) {
	single, other := imageFor(t, "linux/arm64"), imageFor(t, "linux/amd64")
	index := indexFor(t, "linux/amd64", "linux/arm64")
	one := writeLayout(t, map[string]any{"v1": single})
	several := writeLayout(t, map[string]any{"example.com/demo:v1": single, "v2": other, "v3": index})
	asIndex := t.TempDir()
	if _, err := layout.Write(asIndex, index); err != nil {
		t.Fatal(err)
	}
	packed := filepath.Join(t.TempDir(), "image.tar.gz")
	raw, err := os.ReadFile(tarDir(t, one))
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, _ = z.Write(raw)
	_ = z.Close()
	if err := os.WriteFile(packed, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ref  string
		want interface{ Digest() (v1.Hash, error) }
	}{
		{"oci:" + one, single},
		{"oci:" + one + ":v1", single},
		{"oci:" + one + "@" + digestOf(t, single).String(), single},
		{"oci:" + several + ":example.com/demo:v1", single},
		{"oci:" + several + ":v2", other},
		{"oci:" + several + ":v3", index},
		{"oci:" + several + "@" + digestOf(t, index).String(), index},
		{"oci:" + asIndex, index},
		{"tarball:" + tarDir(t, one), single},
		{"tarball:" + tarDir(t, several) + ":v2", other},
		{"tarball:" + tarDir(t, asIndex), index},
		{"tarball:" + packed, single},
	} {
		s, err := open(t, c.ref)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Digest != digestOf(t, c.want) {
			t.Errorf("%s: digest %s", c.ref, s.Digest)
		}
		if img, ok := c.want.(v1.Image); ok {
			wantSame(t, s, img)
		} else if len(s.Platforms()) != 2 {
			t.Errorf("%s: platforms %v", c.ref, s.Platforms())
		}
	}
	for ref, want := range map[string]string{
		"oci:" + several:                  ":example.com/demo:v1",
		"oci:" + several + ":v9":          `no image named "v9"`,
		"tarball:" + tarDir(t, several):   ":example.com/demo:v1",
		"oci:" + t.TempDir():              "no file oci-layout",
		"oci:" + one + "/index.json":      "is not a directory",
		"tarball:" + one:                  "write oci:",
		"oci:" + one + "-missing":         "no directory",
		"tarball:" + one + "-missing":     "no file",
		"oci:" + one + "@sha256:" + zeros: "does not hold it",
	} {
		if _, err := open(t, ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v lacks %q", ref, err, want)
		}
	}
}

const zeros = "0000000000000000000000000000000000000000000000000000000000000000"

// TestDockerSave reads the archives of docker save, old and new.
func TestDockerSave(t *testing.T) {
	img, other := imageFor(t, "linux/amd64"), imageFor(t, "linux/arm64")
	tag := func(s string) name.Tag {
		n, err := name.NewTag(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	one, two := filepath.Join(t.TempDir(), "one.tar"), filepath.Join(t.TempDir(), "two.tar")
	if err := tarball.WriteToFile(one, tag("example.com/demo:v1"), img); err != nil {
		t.Fatal(err)
	}
	if err := tarball.MultiRefWriteToFile(two, map[name.Reference]v1.Image{tag("example.com/demo:v1"): img, tag("example.com/demo:v2"): other}); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]v1.Image{
		"tarball:" + one: img,
		"tarball:" + one + ":example.com/demo:v1": img,
		"tarball:" + two + ":example.com/demo:v2": other,
		"tarball:" + oldDockerSave(t, img):        img,
	} {
		s, err := open(t, ref)
		if err != nil {
			t.Error(err)
			continue
		}
		wantSame(t, s, want)
	}
	if _, err := open(t, "tarball:"+two); !errors.Is(err, ErrReference) || !strings.Contains(err.Error(), "tarball:"+two+":example.com/demo:v1") {
		t.Errorf("two images: %v", err)
	}
}

// oldDockerSave writes uncompressed layers in directories, a link among them.
func oldDockerSave(t testing.TB, img v1.Image) string {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	add := func(h tar.Header, content []byte) {
		h.Size, h.Mode = int64(len(content)), 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	config, err := img.RawConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	entry := dockerEntry{Config: "config.json", RepoTags: []string{"demo:v1"}}
	add(tar.Header{Name: "config.json"}, config)
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range layers {
		rc, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(rc)
		if err != nil {
			t.Fatal(err)
		}
		dir := string(rune('a' + i))
		add(tar.Header{Name: dir + "/real.tar"}, raw)
		add(tar.Header{Name: dir + "/layer.tar", Typeflag: tar.TypeSymlink, Linkname: "../" + dir + "/real.tar"}, nil)
		entry.Layers = append(entry.Layers, dir+"/layer.tar")
	}
	manifest, err := json.Marshal([]dockerEntry{entry})
	if err != nil {
		t.Fatal(err)
	}
	add(tar.Header{Name: "manifest.json"}, manifest)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "old.tar")
	if err := os.WriteFile(file, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestFlatten lists nested indexes and leaves out what is no image.
func TestFlatten(t *testing.T) {
	attestation := mutate.IndexAddendum{Add: imageFor(t, "linux/amd64"), Descriptor: v1.Descriptor{
		Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"}, Annotations: map[string]string{attestationType: "attestation-manifest"}}}
	artifact := mutate.IndexAddendum{Add: mutate.ConfigMediaType(mutate.MediaType(mutate.Subject(imageFor(t, "linux/amd64"), v1.Descriptor{}).(v1.Image), types.OCIManifestSchema1), "text/plain")}
	unlabelled := mutate.IndexAddendum{Add: imageFor(t, "linux/s390x")}
	docker := mutate.IndexMediaType(indexFor(t, "linux/ppc64le"), types.DockerManifestList)
	index := mutate.AppendManifests(indexFor(t, "linux/amd64"), attestation, artifact, unlabelled,
		mutate.IndexAddendum{Add: indexFor(t, "linux/arm64")}, mutate.IndexAddendum{Add: docker})
	s, err := open(t, "oci:"+writeLayout(t, map[string]any{"v1": index}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range s.Platforms() {
		got = append(got, p.Platform.String())
		if _, err := s.Load(context.Background(), p); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/s390x", "linux/arm64", "linux/ppc64le"}, got); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}

	deep := indexFor(t, "linux/amd64")
	for range MaxIndexDepth {
		deep = mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: deep})
	}
	if _, err := open(t, "oci:"+writeLayout(t, map[string]any{"v1": deep})); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "nested") {
		t.Errorf("nested indexes: %v", err)
	}
}

// TestPartialLayout opens an export that lacks a platform.
func TestPartialLayout(t *testing.T) {
	index := indexFor(t, "linux/amd64", "linux/arm64")
	dir := writeLayout(t, map[string]any{"v1": index})
	m, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, filepath.FromSlash(blobPath(m.Manifests[1].Digest)))); err != nil {
		t.Fatal(err)
	}
	s, err := open(t, "oci:"+dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Image(context.Background(), nil); err != nil {
		t.Error(err)
	}
	_, err = s.Image(context.Background(), &v1.Platform{OS: "linux", Architecture: "arm64"})
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "lists an image for linux/arm64, but does not hold it") {
		t.Errorf("missing platform: %v", err)
	}
}

// TestDamagedLayout shows what is said of files that are not what they should be.
func TestDamagedLayout(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(path string) error
		kind   error
		text   string
	}{
		"removed":   {os.Remove, ErrNotFound, "does not hold it"},
		"truncated": {func(p string) error { return os.Truncate(p, 100) }, ErrCorrupt, "it has 100 bytes, but the manifest says"},
		"changed": {func(p string) error {
			raw, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			raw[len(raw)/2] ^= 1
			return os.WriteFile(p, raw, 0o600)
		}, ErrCorrupt, "has the digest"},
		"a directory": {func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) }, ErrCorrupt, "not a regular file"},
		"a link out": {func(p string) error {
			out := filepath.Join(t.TempDir(), "x")
			return errors.Join(os.WriteFile(out, []byte("secret"), 0o600), os.Remove(p), os.Symlink(out, p))
		}, ErrCorrupt, "escapes"},
	} {
		img := imageFor(t, "linux/amd64")
		dir := writeLayout(t, map[string]any{"": img})
		m, err := img.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.damage(filepath.Join(dir, filepath.FromSlash(blobPath(m.Layers[0].Digest)))); err != nil {
			t.Fatal(err)
		}
		s, err := open(t, "oci:"+dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Image(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(got.Layers()[0]); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error %v", name, err)
		}
		if name != "changed" {
			if at, err := got.Layers()[0].ReaderAt(context.Background()); err == nil {
				t.Errorf("%s: ranges of it can be read: %v", name, at)
			}
		}
	}
}

// TestForeignLayer refuses what is not stored with the image.
func TestForeignLayer(t *testing.T) {
	img, err := mutate.Append(imageFor(t, "linux/amd64"), mutate.Addendum{
		Layer: static.NewLayer([]byte("x"), types.OCIRestrictedLayer), URLs: []string{"http://169.254.169.254/"}})
	if err != nil {
		t.Fatal(err)
	}
	second, err := mutate.Append(imageFor(t, "linux/amd64"), mutate.Addendum{Layer: static.NewLayer([]byte("x"), "text/plain")})
	if err != nil {
		t.Fatal(err)
	}
	for text, img := range map[string]v1.Image{"foreign layer": img, "no layer of files": second} {
		w := newWorld(t)
		_, l := w.layer(w.push(img), w.options())
		if _, err := l.Reader(context.Background()); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v", err)
		}
		if _, err := l.ReaderAt(context.Background()); !errors.Is(err, ErrFormat) {
			t.Errorf("error %v", err)
		}
	}
}

// TestReferences reads testdata/references.txt: each line a reference, where there
// are directories layout and with:colon and a file image.tar. The result is
// compared with references.golden.
func TestReferences(t *testing.T) {
	raw, err := os.ReadFile("testdata/references.txt")
	if err != nil {
		t.Fatal(err)
	}
	want, err := filepath.Abs("testdata/references.golden")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, dir := range []string{"layout", "with:colon"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("image.tar", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSuffix(line, "\n")
		ref, err := ParseReference(line, false)
		out.WriteString(line + "\n")
		switch {
		case err != nil:
			if !errors.Is(err, ErrReference) {
				t.Errorf("%s: %v is no ErrReference", line, err)
			}
			out.WriteString("  error: " + err.Error() + "\n")
		case ref.Kind == Registry:
			out.WriteString("  repository " + ref.Name.Context().Name() + " tag " + ref.Tag + " digest " + short(ref.Digest) + "\n")
		default:
			out.WriteString("  path " + ref.Path + " select " + ref.Select + " digest " + short(ref.Digest) + "\n")
		}
	}
	golden.Assert(t, want, []byte(out.String()))
}

func short(h v1.Hash) string {
	if h.Hex == "" {
		return ""
	}
	return h.String()[:15]
}

// TestManifests reads the folders of testdata/manifests: manifest.json, and
// result.golden with what is said of it. A file served-as holds a media type.
func TestManifests(t *testing.T) {
	names, err := fs.Glob(os.DirFS("testdata/manifests"), "*/manifest.json")
	if err != nil || len(names) == 0 {
		t.Fatal(err, len(names))
	}
	for _, name := range names {
		dir := filepath.Join("testdata/manifests", filepath.Dir(name))
		raw, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
		if err != nil {
			t.Fatal(err)
		}
		served, _ := os.ReadFile(filepath.Join(dir, "served-as"))
		doc := document{raw: raw, mediaType: types.MediaType(strings.TrimSpace(string(served)))}
		index, manifest, err := doc.parse("reading manifest")
		var out string
		switch {
		case err != nil:
			out = err.Error()
		case index != nil:
			out = "index " + string(doc.mediaType)
		case isArtifact(manifest):
			out = "artifact " + artifactName(manifest)
		default:
			out = "image " + string(doc.mediaType)
		}
		golden.Assert(t, filepath.Join(dir, "result.golden"), []byte(out+"\n"))
	}
}

// TestScrub shows that secrets do not get into texts.
func TestScrub(t *testing.T) {
	for in, want := range map[string]string{
		`Get "https://u:p@h/x?sig=1": EOF`:      `Get "https://h/x": EOF`,
		"see http://h/x.":                       "see http://h/x.",
		"redirect to https://h/x?a=b&c=d, done": "redirect to https://h/x, done",
		"Authorization: Bearer abcdefghijkl":    "Authorization: Bearer (hidden)",
		"https://u:p%zz@h/x":                    "https://(unreadable)",
		"plain":                                 "plain",
	} {
		if got := scrub(in); got != want {
			t.Errorf("scrub(%q) = %q, want %q", in, got, want)
		}
	}
}
