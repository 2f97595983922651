package referrer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/captf-toolkit/captf/images/referrer"
)

func digest(t *testing.T, s string) v1.Hash {
	t.Helper()
	h, _, err := v1.SHA256(strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

const subject = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`

// newLayout writes a layout with an empty index as the image.
func newLayout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "oci-layout", `{"imageLayoutVersion":"1.0.0"}`)
	blob(t, dir, subject)
	write(t, dir, "index.json", fmt.Sprintf(`{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","digest":%q,"size":%d,"annotations":{"a":"b"}}]}`,
		digest(t, subject), len(subject)))
	return dir
}

func write(t *testing.T, dir, file, content string) {
	t.Helper()
	at := filepath.Join(dir, file)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func blob(t *testing.T, dir, content string) v1.Hash {
	t.Helper()
	h := digest(t, content)
	write(t, dir, filepath.Join("blobs", h.Algorithm, h.Hex), content)
	return h
}

func artifact(t *testing.T, content string) referrer.Artifact {
	t.Helper()
	return referrer.Artifact{
		Type: "application/spdx+json", MediaType: "text/plain", Content: []byte(content), Annotations: map[string]string{"k": "v"},
		Subject: v1.Descriptor{MediaType: types.OCIImageIndex, Digest: digest(t, subject), Size: int64(len(subject))},
	}
}

func repository(t *testing.T, h http.Handler) name.Repository {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	repo, err := name.NewRepository(strings.TrimPrefix(server.URL, "http://") + "/machine")
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

func TestStores(t *testing.T) {
	dir := newLayout(t)
	before, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	for place, store := range map[string]referrer.Store{
		"layout":       referrer.Layout(dir),
		"registry":     referrer.Registry(repository(t, registry.New(registry.WithReferrersSupport(true)))),
		"old registry": referrer.Registry(repository(t, registry.New())),
	} {
		t.Run(place, func(t *testing.T) {
			if list, err := store.List(t.Context(), digest(t, subject)); err != nil || len(list) > 0 {
				t.Fatalf("at first: %v, %v", list, err)
			}
			for _, content := range []string{"one", "two", "one"} {
				a := artifact(t, content)
				got, err := store.Attach(t.Context(), a)
				if err != nil {
					t.Fatal(err)
				}
				_, want, err := a.Manifest()
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("%v, descriptor (-want +got):\n%s", err, diff)
				}
			}
			list, err := store.List(t.Context(), digest(t, subject))
			if err != nil || len(list) != 2 {
				t.Fatalf("%v, %v", list, err)
			}
			var contents []string
			for _, d := range list {
				if d.ArtifactType != "application/spdx+json" {
					t.Errorf("artifact type %q", d.ArtifactType)
				}
				b, mediaType, err := store.Content(t.Context(), d, 3)
				if err != nil || mediaType != "text/plain" {
					t.Errorf("%q, %v", mediaType, err)
				}
				contents = append(contents, string(b))
				if _, _, err := store.Content(t.Context(), d, 2); !errors.Is(err, referrer.ErrTooLarge) {
					t.Errorf("over the limit: %v", err)
				}
			}
			if len(contents) == 2 && contents[0]+contents[1] != "onetwo" && contents[0]+contents[1] != "twoone" {
				t.Errorf("contents %v", contents)
			}
			if list, err := store.List(t.Context(), digest(t, "nothing")); err != nil || len(list) > 0 {
				t.Errorf("of something else: %v, %v", list, err)
			}
		})
	}
	// The image in the layout is listed as before, and first.
	after, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var a, b v1.IndexManifest
	if err := errors.Join(json.Unmarshal(before, &a), json.Unmarshal(after, &b)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a.Manifests[0], b.Manifests[0]); diff != "" {
		t.Error(diff)
	}
	left, err := filepath.Glob(filepath.Join(dir, "blobs/sha256/*.tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestBadLayouts: each is an error, and writes nothing.
func TestBadLayouts(t *testing.T) {
	manifest := func(m string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			h := blob(t, dir, m)
			write(t, dir, "index.json", fmt.Sprintf(`{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":%q,"size":%d}]}`, h, len(m)))
		}
	}
	of := fmt.Sprintf(`,"subject":{"digest":%q,"size":1,"mediaType":"x"}}`, digest(t, subject))
	hash := digest(t, "x").String()
	cases := map[string]struct {
		damage func(*testing.T, string)
		kind   error
	}{
		"no index":     {func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "index.json")) }, referrer.ErrNotFound},
		"not an index": {func(t *testing.T, dir string) { write(t, dir, "index.json", "<html>") }, referrer.ErrFormat},
		"large index": {func(t *testing.T, dir string) {
			write(t, dir, "index.json", strings.Repeat(" ", referrer.MaxManifest+1))
		}, referrer.ErrTooLarge},
		"many": {func(t *testing.T, dir string) {
			write(t, dir, "index.json", `{"manifests":[`+strings.Repeat(`{"digest":"`+hash+`"},`, referrer.MaxReferrers)+`{"digest":"`+hash+`"}]}`)
		}, referrer.ErrTooLarge},
		"other content": {func(t *testing.T, dir string) {
			manifest(`{"x":1`+of)(t, dir)
			h := digest(t, `{"x":1`+of)
			write(t, dir, "blobs/sha256/"+h.Hex, `{"x":2`+of)
		}, referrer.ErrFormat},
		"directory": {func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, "index.json"))
			write(t, dir, "index.json/x", "")
		}, referrer.ErrFormat},
		"no layer":     {manifest(`{"layers":[]` + of), referrer.ErrFormat},
		"two layers":   {manifest(`{"layers":[{"digest":"` + hash + `","size":1},{"digest":"` + hash + `","size":1}]` + of), referrer.ErrFormat},
		"size below 0": {manifest(`{"layers":[{"digest":"` + hash + `","size":-1}]` + of), referrer.ErrTooLarge},
		"size": {func(t *testing.T, dir string) {
			blob(t, dir, "x")
			manifest(`{"layers":[{"digest":"`+hash+`","size":2}]`+of)(t, dir)
		}, referrer.ErrFormat},
		"layer missing": {manifest(`{"layers":[{"digest":"` + hash + `","size":1}]` + of), os.ErrNotExist},
		"layer changed": {func(t *testing.T, dir string) {
			write(t, dir, "blobs/sha256/"+digest(t, "x").Hex, "y")
			manifest(`{"layers":[{"digest":"`+hash+`","size":1}]`+of)(t, dir)
		}, referrer.ErrFormat},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := newLayout(t)
			c.damage(t, dir)
			if err := readAll(t.Context(), referrer.Layout(dir), digest(t, subject)); !errors.Is(err, c.kind) {
				t.Errorf("got %v, want %v", err, c.kind)
			}
		})
	}
	t.Run("link out", func(t *testing.T) {
		dir := newLayout(t)
		remove(t, filepath.Join(dir, "index.json"))
		outside := filepath.Join(t.TempDir(), "index.json")
		write(t, filepath.Dir(outside), "index.json", `{"manifests":[]}`)
		if err := os.Symlink(outside, filepath.Join(dir, "index.json")); err != nil {
			t.Fatal(err)
		}
		if err := readAll(t.Context(), referrer.Layout(dir), digest(t, subject)); err == nil {
			t.Error("it is followed")
		}
	})
	t.Run("no subject", func(t *testing.T) {
		a := artifact(t, "one")
		a.Subject.Digest = digest(t, "nothing")
		if _, err := referrer.Layout(newLayout(t)).Attach(t.Context(), a); !errors.Is(err, referrer.ErrNotFound) || !strings.Contains(fmt.Sprint(err), "captf image build") {
			t.Error(err)
		}
	})
	t.Run("no directory", func(t *testing.T) {
		if _, err := referrer.Layout("nowhere").Attach(t.Context(), artifact(t, "one")); !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	})
}

func remove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

func readAll(ctx context.Context, s referrer.Store, of v1.Hash) error {
	list, err := s.List(ctx, of)
	if err != nil {
		return err
	}
	for _, d := range list {
		if _, _, err := s.Content(ctx, d, 100); err != nil {
			return err
		}
	}
	return nil
}

// TestBadRegistries: a clear error, and no URL with a signature in it.
func TestBadRegistries(t *testing.T) {
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v2/" {
				return
			}
			w.Header().Set("Content-Type", string(types.OCIImageIndex))
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		text    string
	}{
		"login":  {answer(http.StatusUnauthorized, `{"errors":[{"code":"UNAUTHORIZED","message":"token=secret"}]}`), "docker login"},
		"denied": {answer(http.StatusForbidden, ""), "docker login"},
		"teapot": {answer(http.StatusTeapot, ""), "answers 418"},
		"html":   {answer(http.StatusOK, "<html>"), "no valid index"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v2/" {
				http.Redirect(w, r, "http://127.0.0.1:1/x?signature=secret", http.StatusFound)
			}
		}, "talking to"},
	} {
		t.Run(name, func(t *testing.T) {
			store := referrer.Registry(repository(t, c.handler), remote.WithRetryPredicate(func(error) bool { return false }))
			_, err := store.Attach(t.Context(), artifact(t, "one"))
			if err == nil || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %q", err, c.text)
			}
		})
	}
}
