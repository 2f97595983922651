package content_test

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
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/images/source"
)

// index is an index of an image and of another index.
func index(t *testing.T) v1.ImageIndex {
	t.Helper()
	inner, err := random.Index(1000, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	img, err := random.Image(2000, 2)
	if err != nil {
		t.Fatal(err)
	}
	return mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{Add: img}, mutate.IndexAddendum{Add: inner})
}

func setOf(t *testing.T, idx v1.ImageIndex) *content.Set {
	t.Helper()
	set, err := content.FromIndex(t.Context(), idx)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestFromIndex(t *testing.T) {
	idx := index(t)
	set := setOf(t, idx)
	digest, err := idx.Digest()
	if err != nil {
		t.Fatal(err)
	}
	// The image, the inner index with its image, and the index; a config and layers each.
	if set.Root.Descriptor.Digest != digest || len(set.Documents) != 4 || len(set.Blobs) != 3+3 {
		t.Errorf("%d documents and %d blobs of %s", len(set.Documents), len(set.Blobs), set.Root.Descriptor.Digest)
	}
	if got := set.Documents[len(set.Documents)-1].Descriptor.Digest; got != digest {
		t.Errorf("the last document is %s, not the root", got)
	}
}

// names lists what index.json of a layout names.
func names(t *testing.T, dir string) map[string]string {
	t.Helper()
	idx, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := idx.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, d := range m.Manifests {
		out[d.Annotations["org.opencontainers.image.ref.name"]] += d.Digest.String()
	}
	return out
}

func TestWriteLayout(t *testing.T) {
	a, b := setOf(t, index(t)), setOf(t, index(t))
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	write := func(s *content.Set, name string) {
		t.Helper()
		if err := s.WriteLayout(t.Context(), dir, name); err != nil {
			t.Fatal(err)
		}
		if idx, err := layout.ImageIndexFromPath(dir); err != nil {
			t.Fatal(err)
		} else if err := validate.Index(idx); err != nil {
			t.Error(err)
		}
	}
	write(a, "v1")
	write(a, "v1")
	if diff := cmp.Diff(map[string]string{"v1": a.Root.Descriptor.Digest.String()}, names(t, dir)); diff != "" {
		t.Errorf("written twice (-want +got):\n%s", diff)
	}
	write(b, "v2")
	write(b, "v1")
	bd := b.Root.Descriptor.Digest.String()
	if diff := cmp.Diff(map[string]string{"v1": bd, "v2": bd}, names(t, dir)); diff != "" {
		t.Errorf("the name moved (-want +got):\n%s", diff)
	}
	write(a, "")
	if diff := cmp.Diff(map[string]string{"v1": bd, "v2": bd, "": a.Root.Descriptor.Digest.String()}, names(t, dir)); diff != "" {
		t.Errorf("without name (-want +got):\n%s", diff)
	}
	write(b, "")
	if diff := cmp.Diff(map[string]string{"v1": bd, "v2": bd, "": bd}, names(t, dir)); diff != "" {
		t.Errorf("another one without name (-want +got):\n%s", diff)
	}
	left, err := filepath.Glob(filepath.Join(dir, "blobs", "sha256", ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, error %v", left, err)
	}
}

func TestLayoutsThatAreRefused(t *testing.T) {
	set := setOf(t, index(t))
	for name, tt := range map[string]struct{ file, content, want string }{
		"other files":     {"notes.txt", "mine", "is no OCI layout"},
		"another version": {"oci-layout", `{"imageLayoutVersion":"2.0.0"}`, "version 1"},
		"damaged":         {"oci-layout", `{`, "version 1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, err := range []error{set.WriteLayout(t.Context(), dir, ""), content.CheckLayout(dir)} {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got error %v, want one that says %q", err, tt.want)
				}
			}
			if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
				t.Errorf("there is %v, error %v", list, err)
			}
		})
	}
	for _, name := range []string{"a b", ".a", "a/b", "a\nb", strings.Repeat("a", 129)} {
		if err := set.WriteLayout(t.Context(), t.TempDir(), name); err == nil {
			t.Errorf("the name %q was accepted", name)
		}
	}
}

// TestDamagedBlob makes sure that nothing is left when content is not what its
// digest says.
func TestDamagedBlob(t *testing.T) {
	set := setOf(t, index(t))
	last := &set.Blobs[len(set.Blobs)-1]
	last.Open = func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("something else")), nil
	}
	parent := t.TempDir()
	if err := set.WriteLayout(t.Context(), filepath.Join(parent, "out"), ""); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("layout: got error %v", err)
	}
	if err := set.WriteTarball(t.Context(), filepath.Join(parent, "out.tar"), "", time.Unix(0, 0)); err == nil || !strings.Contains(err.Error(), last.Descriptor.Digest.String()) {
		t.Errorf("archive: got error %v", err)
	}
	if list, err := os.ReadDir(parent); err != nil || len(list) > 0 {
		t.Errorf("%v is left, error %v", list, err)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("interrupted by the test")
	cancel(reason)
	parent := t.TempDir()
	if err := setOf(t, index(t)).WriteLayout(ctx, filepath.Join(parent, "out"), ""); !errors.Is(err, reason) {
		t.Errorf("got error %v", err)
	}
	if list, err := os.ReadDir(parent); err != nil || len(list) > 0 {
		t.Errorf("%v is left, error %v", list, err)
	}
}

func TestWriteTarball(t *testing.T) {
	set := setOf(t, index(t))
	dir := t.TempDir()
	var archives [][]byte
	for _, name := range []string{"a.tar", "b.tar", "a.tar"} {
		file := filepath.Join(dir, name)
		if err := set.WriteTarball(t.Context(), file, "v1", time.Unix(1000, 0)); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, b)
	}
	if !bytes.Equal(archives[0], archives[1]) || !bytes.Equal(archives[0], archives[2]) {
		t.Error("the archives differ")
	}
	var first []string
	for r := tar.NewReader(bytes.NewReader(archives[0])); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.ModTime.Unix() != 1000 || h.Uid != 0 || h.Mode != 0o644 {
			t.Errorf("the header is %+v", h)
		}
		first = append(first, h.Name)
	}
	if diff := cmp.Diff([]string{"oci-layout", "index.json"}, first[:2]); diff != "" || len(first) != 2+4+6 {
		t.Errorf("the archive holds %v", first)
	}
	src, err := source.Open(t.Context(), "tarball:"+filepath.Join(dir, "a.tar")+":v1", source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	back, err := content.FromSource(t.Context(), src, true)
	if err != nil {
		t.Fatal(err)
	}
	if back.Root.Descriptor.Digest != set.Root.Descriptor.Digest || back.Size() != set.Size() {
		t.Errorf("read back %s with %d bytes, want %s with %d", back.Root.Descriptor.Digest, back.Size(), set.Root.Descriptor.Digest, set.Size())
	}
	if err := back.WriteLayout(t.Context(), filepath.Join(dir, "layout"), "v1"); err != nil {
		t.Error(err)
	}
	if err := set.WriteTarball(t.Context(), dir, "", time.Unix(0, 0)); err == nil {
		t.Error("a directory was replaced by an archive")
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 39_000_000: "37.2 MiB", 5 << 40: "5.0 TiB", 1<<63 - 1: "8.0 EiB"} {
		if got := content.Bytes(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}
