package registry_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/captf-toolkit/captf/provider/testenv/registry"
)

func image(t *testing.T) v1.Image {
	t.Helper()
	img, err := registry.Image(map[string]registry.File{"/a/file": {Content: []byte("x"), UID: 7}, "/a/link": {Link: "file"}, "/b": {Dir: true}}, v1.Config{User: "7"})
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func TestRegistry(t *testing.T) {
	for kind, dir := range map[string]string{"memory": "", "files": t.TempDir()} {
		r, err := registry.Start(t.Context(), registry.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		img := image(t)
		pushed, err := r.Push(t.Context(), "some/image:v1", img)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(pushed.Tag, r.Host()+"/some/image:") || !strings.HasPrefix(pushed.Digest, r.Host()+"/some/image@sha256:") {
			t.Errorf("%s: pushed %v", kind, pushed)
		}
		for _, text := range []string{pushed.Tag, pushed.Digest} {
			ref, err := name.ParseReference(text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := remote.Image(ref)
			if err == nil {
				err = validate.Image(got)
			}
			if err != nil {
				t.Errorf("%s: %s: %v", kind, text, err)
			}
		}
		if _, err := r.Push(t.Context(), "some/index:v1", mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: img})); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if _, err := r.Push(t.Context(), "No Name", img); err == nil {
			t.Errorf("%s: a name that is none: no error", kind)
		}
		if n := r.Requests(http.MethodGet, "manifests"); n < 2 {
			t.Errorf("%s: it counted %d manifests", kind, n)
		}
		r.SetDown(true)
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.Host()+"/v2/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Error(err)
		}
		if answer.Body.Close(); answer.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s: while it is down it answers %s", kind, answer.Status)
		}
		if err := r.Close(); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestImage(t *testing.T) {
	first, err := image(t).Digest()
	if err != nil {
		t.Fatal(err)
	}
	second, err := image(t).Digest()
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Errorf("the same files give %s and %s", first, second)
	}
	for _, p := range []string{"relative", "/a/../b", "/a/"} {
		if _, err := registry.Image(map[string]registry.File{p: {}}, v1.Config{}); err == nil {
			t.Errorf("%s: no error", p)
		}
	}
}
