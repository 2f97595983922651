package publish_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/images/publish"
	"github.com/captf-toolkit/captf/images/source"
)

// request is what a test looks at of a request.
type request struct{ method, path, query string }

// server is a registry that tests can disturb.
type server struct {
	*httptest.Server
	host string
	// disturb answers a request itself and returns true, or lets it through.
	disturb atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool]

	mu       sync.Mutex
	requests []request
}

func newServer(t testing.TB) *server {
	t.Helper()
	s := &server{}
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, request{r.Method, r.URL.Path, r.URL.RawQuery})
		s.mu.Unlock()
		if f := s.disturb.Load(); f != nil && (*f)(w, r) {
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	s.host = strings.TrimPrefix(s.URL, "http://")
	return s
}

// seen returns the requests since the last call.
func (s *server) seen() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.requests
	s.requests = nil
	return out
}

func (s *server) on(f func(w http.ResponseWriter, r *http.Request) bool) { s.disturb.Store(&f) }

func (s *server) tag(t testing.TB, text string) name.Tag {
	t.Helper()
	tag, err := publish.ParseTag(s.host+"/"+text, false)
	if err != nil {
		t.Fatal(err)
	}
	return tag
}

// index is an image index with two platforms, one layer of which they share.
func index(t testing.TB) v1.ImageIndex {
	t.Helper()
	shared, err := random.Layer(100_000, types.OCILayer)
	if err != nil {
		t.Fatal(err)
	}
	idx := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range []string{"amd64", "arm64"} {
		own, err := random.Layer(200_000, types.OCILayer)
		if err != nil {
			t.Fatal(err)
		}
		img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
		if img, err = mutate.AppendLayers(img, own, shared); err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		config = config.DeepCopy()
		config.OS, config.Architecture = "linux", arch
		config.Config.Labels = map[string]string{"io.captf.role": "machine", "org.opencontainers.image.title": "x"}
		if img, err = mutate.ConfigFile(img, config); err != nil {
			t.Fatal(err)
		}
		idx = mutate.AppendManifests(idx, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	return idx
}

func setOf(t testing.TB, idx v1.ImageIndex) *content.Set {
	t.Helper()
	set, err := content.FromIndex(t.Context(), idx)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// quick are options that do not wait.
func quick(t testing.TB) publish.Options {
	return publish.Options{
		Retry: source.Retry{
			Attempts: 4, Delay: time.Millisecond, MaxDelay: time.Minute,
			Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		},
		Progress: func(line string) { t.Log(line) },
	}
}

// digest is what a tag points at, by another client; empty when it is not there.
func digest(t testing.TB, tag name.Tag, o ...crane.Option) string {
	t.Helper()
	got, err := crane.Digest(tag.Name(), o...)
	if err != nil && !strings.Contains(err.Error(), "404") && !strings.Contains(err.Error(), "_UNKNOWN") {
		t.Fatal(err)
	}
	return got
}

func TestPublish(t *testing.T) {
	s := newServer(t)
	idx := index(t)
	set := setOf(t, idx)
	a, b, other := s.tag(t, "one/mod:v1"), s.tag(t, "one/mod:v1.0"), s.tag(t, "two/mod:v1")
	report, err := publish.Publish(t.Context(), set, []name.Tag{a, b, other}, quick(t))
	if err != nil {
		t.Fatal(err)
	}
	want, err := idx.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if report.Digest != want || len(report.Tags) != 3 || report.Sent != 5 || report.Existing != 5 {
		t.Errorf("report is %+v", report)
	}
	for _, tag := range report.Tags {
		pulled, err := remote.Index(tag)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(pulled); err != nil {
			t.Error(err)
		}
		if got := digest(t, tag); got != want.String() {
			t.Errorf("%s is %s, want %s", tag, got, want)
		}
	}

	s.seen()
	again, err := publish.Publish(t.Context(), set, []name.Tag{s.tag(t, "one/mod:v2")}, quick(t))
	if err != nil {
		t.Fatal(err)
	}
	if again.Existing != 5 || again.Sent != 0 || again.SentBytes != 0 {
		t.Errorf("the second report is %+v", again)
	}
	for _, r := range s.seen() {
		if r.method == http.MethodPost || r.method == http.MethodPatch {
			t.Errorf("something was sent again: %v", r)
		}
	}
}

// TestMount publishes to two repositories of a registry that keeps them apart.
func TestMount(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		t.Run(fmt.Sprintf("allowed %v", allowed), func(t *testing.T) {
			s := newServer(t)
			s.on(func(w http.ResponseWriter, r *http.Request) bool {
				switch {
				case r.Method == http.MethodHead && strings.HasPrefix(r.URL.Path, "/v2/two/mod/blobs/"):
					w.WriteHeader(http.StatusNotFound)
				case allowed && r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/v2/two/") && r.URL.Query().Get("from") == "one/mod":
					w.Header().Set("Location", "/v2/two/mod/blobs/"+r.URL.Query().Get("mount"))
					w.WriteHeader(http.StatusCreated)
				default:
					return false
				}
				return true
			})
			report, err := publish.Publish(t.Context(), setOf(t, index(t)), []name.Tag{s.tag(t, "one/mod:v1"), s.tag(t, "two/mod:v1")}, quick(t))
			if err != nil {
				t.Fatal(err)
			}
			if want := when(allowed, 5); report.Mounted != want || report.Sent != 10-want {
				t.Errorf("report is %+v", report)
			}
		})
	}
}

// TestOrder makes sure that manifests come after blobs, the index after the
// manifests and the tag last of all.
func TestOrder(t *testing.T) {
	s := newServer(t)
	set := setOf(t, index(t))
	if _, err := publish.Publish(t.Context(), set, []name.Tag{s.tag(t, "mod:v1")}, quick(t)); err != nil {
		t.Fatal(err)
	}
	var puts []string
	for _, r := range s.seen() {
		if r.method == http.MethodPut || r.method == http.MethodPatch {
			puts = append(puts, r.path)
		}
	}
	var want []string
	for _, d := range set.Documents {
		want = append(want, "/v2/mod/manifests/"+d.Descriptor.Digest.String())
	}
	want = append(want, "/v2/mod/manifests/v1")
	if len(puts) < len(want) {
		t.Fatalf("only %q were put", puts)
	}
	if diff := cmp.Diff(want, puts[len(puts)-len(want):]); diff != "" {
		t.Errorf("what was put last (-want +got):\n%s", diff)
	}
}

// hangUp drops the connection of a request.
func hangUp(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

func TestTryAgain(t *testing.T) {
	upload := func(r *http.Request) bool { return r.Method == http.MethodPatch }
	manifest := func(r *http.Request) bool {
		return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/")
	}
	every := func(*http.Request) bool { return true }
	for _, tt := range []struct {
		name  string
		which func(*http.Request) bool
		do    func(w http.ResponseWriter, r *http.Request)
	}{
		{"rate limit", every, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		}},
		{"rate limit of uploads", upload, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		}},
		{"server error", every, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }},
		{"upload dropped midway", upload, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.CopyN(io.Discard, r.Body, 1000)
			hangUp(w)
		}},
		{"manifest dropped", manifest, func(w http.ResponseWriter, _ *http.Request) { hangUp(w) }},
		{"manifest refused for now", manifest, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t)
			var mu sync.Mutex
			failed := map[string]bool{}
			s.on(func(w http.ResponseWriter, r *http.Request) bool {
				key := r.Method + r.URL.Path
				if r.Method == http.MethodPatch || strings.Contains(r.URL.Path, "/uploads/") {
					key = r.Method // the paths of uploads differ each time
				}
				mu.Lock()
				first := tt.which(r) && !failed[key]
				if tt.which(r) {
					failed[key] = true
				}
				mu.Unlock()
				if first {
					tt.do(w, r)
				}
				return first
			})
			var mutex sync.Mutex
			var waited []time.Duration
			o := quick(t)
			o.Retry.Sleep = func(_ context.Context, d time.Duration) error {
				mutex.Lock()
				defer mutex.Unlock()
				waited = append(waited, d)
				return nil
			}
			tag := s.tag(t, "mod:v1")
			report, err := publish.Publish(t.Context(), setOf(t, index(t)), []name.Tag{tag}, o)
			if err != nil {
				t.Fatal(err)
			}
			if got := digest(t, tag); got != report.Digest.String() {
				t.Errorf("the tag is %s, want %s", got, report.Digest)
			}
			if len(failed) == 0 {
				t.Error("nothing failed")
			}
			if strings.HasPrefix(tt.name, "rate limit") && !slices.Contains(waited, 7*time.Second) {
				t.Errorf("waited %v, not the 7 s that were asked for", waited)
			}
		})
	}
}

// TestNoPartialTag lets publishing fail for good in several places, and makes
// sure that there is no tag afterwards.
func TestNoPartialTag(t *testing.T) {
	for _, tt := range []struct {
		name string
		fail func(r *http.Request) int
		want string
		kind error
	}{
		{"blobs", func(r *http.Request) int { return when(r.Method == http.MethodPatch, 500) }, "sending blob", source.ErrUnavailable},
		{"manifests", func(r *http.Request) int {
			return when(r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/sha256"), 500)
		}, "writing manifest", source.ErrUnavailable},
		{"manifests refused", func(r *http.Request) int {
			return when(r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/sha256"), 400)
		}, "writing manifest", source.ErrUnavailable},
		{"the tag", func(r *http.Request) int {
			return when(r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/v1"), 409)
		}, "writing tag", source.ErrUnavailable},
		{"forbidden", func(r *http.Request) int { return when(r.Method != http.MethodGet, 403) }, "docker login", source.ErrAuth},
		{"too large", func(r *http.Request) int { return when(r.Method == http.MethodPatch, 413) }, "takes no blob of that size", source.ErrTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t)
			s.on(func(w http.ResponseWriter, r *http.Request) bool {
				status := tt.fail(r)
				if status != 0 {
					_, _ = io.Copy(io.Discard, r.Body)
					w.WriteHeader(status)
					fmt.Fprint(w, "<html>\x1b[31mno\n</html>")
				}
				return status != 0
			})
			tag := s.tag(t, "mod:v1")
			report, err := publish.Publish(t.Context(), setOf(t, index(t)), []name.Tag{tag}, quick(t))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, tt.kind) {
				t.Errorf("got error %v, want one of the kind %q that says %q", err, tt.kind, tt.want)
			}
			if err != nil && (strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "\x1b")) {
				t.Errorf("the error has control characters: %q", err)
			}
			if len(report.Tags) > 0 {
				t.Errorf("the report says that %v were written", report.Tags)
			}
			s.on(func(http.ResponseWriter, *http.Request) bool { return false })
			if got := digest(t, tag); got != "" {
				t.Errorf("there is a tag: %s", got)
			}
		})
	}
}

func when(is bool, status int) int {
	if is {
		return status
	}
	return 0
}

func TestDamagedBlob(t *testing.T) {
	s := newServer(t)
	set := setOf(t, index(t))
	open := set.Blobs[0].Open
	set.Blobs[0].Open = func(ctx context.Context) (io.ReadCloser, error) {
		r, err := open(ctx)
		return struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(r, set.Blobs[0].Descriptor.Size-1), strings.NewReader("x")), r}, err
	}
	tag := s.tag(t, "mod:v1")
	if _, err := publish.Publish(t.Context(), set, []name.Tag{tag}, quick(t)); err == nil {
		t.Error("a damaged blob was published")
	}
	if got := digest(t, tag); got != "" {
		t.Errorf("there is a tag: %s", got)
	}
}

func TestRegistryThatLies(t *testing.T) {
	s := newServer(t)
	s.on(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodHead || !strings.HasSuffix(r.URL.Path, "/manifests/v1") {
			return false
		}
		w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
		w.Header().Set("Content-Type", string(types.OCIImageIndex))
		w.Header().Set("Content-Length", "10")
		return true
	})
	_, err := publish.Publish(t.Context(), setOf(t, index(t)), []name.Tag{s.tag(t, "mod:v1")}, quick(t))
	if !errors.Is(err, source.ErrCorrupt) {
		t.Errorf("got error %v", err)
	}
}

func TestAuth(t *testing.T) {
	s := newServer(t)
	const user, password = "robot", "s3cret-of-the-test"
	s.on(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") == "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)) {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	tag := s.tag(t, "mod:v1")
	o := quick(t)
	for _, wrong := range []authn.Authenticator{authn.Anonymous, &authn.Basic{Username: user, Password: "another-secret"}} {
		o.Keychain = keychain{wrong}
		_, err := publish.Publish(t.Context(), setOf(t, index(t)), []name.Tag{tag}, o)
		if !errors.Is(err, source.ErrAuth) || strings.Contains(err.Error(), "another-secret") {
			t.Errorf("got error %v", err)
		}
		if err := publish.Check([]name.Tag{tag}, o); !errors.Is(err, source.ErrAuth) || strings.Contains(err.Error(), "another-secret") {
			t.Errorf("asked before, got error %v", err)
		}
	}
	right := &authn.Basic{Username: user, Password: password}
	o.Keychain = keychain{right}
	if err := publish.Check([]name.Tag{tag}, o); err != nil {
		t.Error(err)
	}
	report, err := publish.Publish(t.Context(), setOf(t, index(t)), []name.Tag{tag}, o)
	if err != nil {
		t.Fatal(err)
	}
	if got := digest(t, tag, crane.WithAuth(right)); got != report.Digest.String() {
		t.Errorf("the tag is %s, want %s", got, report.Digest)
	}
}

type keychain struct{ authn.Authenticator }

func (k keychain) Resolve(authn.Resource) (authn.Authenticator, error) { return k.Authenticator, nil }

func TestCancelled(t *testing.T) {
	s := newServer(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("interrupted by the test")
	s.on(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch {
			cancel(reason)
			hangUp(w)
			return true
		}
		return false
	})
	_, err := publish.Publish(ctx, setOf(t, index(t)), []name.Tag{s.tag(t, "mod:v1")}, quick(t))
	if !errors.Is(err, reason) {
		t.Errorf("got error %v, want %v", err, reason)
	}
}

func TestParseTag(t *testing.T) {
	for text, want := range map[string]string{
		"ghcr.io/o/m:v1": "", "localhost:5000/m:v1": "", "ghcr.io/o/m:latest": "",
		"ghcr.io/o/m": "it has no tag",
		"oci:dir":     "is not registry/repository:tag",
		"ghcr.io/o/m@sha256:" + strings.Repeat("0", 64): "is not registry/repository:tag",
		"https://ghcr.io/o/m:v1":                        "scheme",
	} {
		_, err := publish.ParseTag(text, false)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, source.ErrReference)):
			t.Errorf("%s: got error %v, want one that says %q", text, err, want)
		}
	}
}

// attach makes a document that is attached to another.
func attach(t testing.TB, subject v1.Descriptor, text string) v1.Image {
	t.Helper()
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), "application/vnd.example.sbom")
	img, err := mutate.AppendLayers(img, static.NewLayer([]byte(text), "application/json"))
	if err != nil {
		t.Fatal(err)
	}
	return mutate.Subject(img, subject).(v1.Image)
}

func TestAttachedAreCopied(t *testing.T) {
	s := newServer(t)
	set := setOf(t, index(t))
	from := s.tag(t, "from:v1")
	if _, err := publish.Publish(t.Context(), set, []name.Tag{from}, quick(t)); err != nil {
		t.Fatal(err)
	}
	sbom := attach(t, set.Documents[0].Descriptor, "sbom")
	sbomDigest, err := sbom.Digest()
	if err != nil {
		t.Fatal(err)
	}
	size, err := sbom.Size()
	if err != nil {
		t.Fatal(err)
	}
	signature := attach(t, v1.Descriptor{MediaType: types.OCIManifestSchema1, Digest: sbomDigest, Size: size}, "signature of the sbom")
	for _, img := range []v1.Image{sbom, signature} {
		h, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(from.Context().Digest(h.String()), img); err != nil {
			t.Fatal(err)
		}
	}
	for _, bare := range []bool{false, true} {
		t.Run(fmt.Sprintf("bare %v", bare), func(t *testing.T) {
			src, err := source.Open(t.Context(), from.Name(), source.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			copied, err := publish.Collect(t.Context(), src, bare, quick(t))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := copied.WriteLayout(t.Context(), dir, "v1"); err != nil {
				t.Fatal(err)
			}
			layout, err := source.Open(t.Context(), "oci:"+dir+":v1", source.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer layout.Close()
			fromLayout, err := publish.Collect(t.Context(), layout, bare, quick(t))
			if err != nil {
				t.Fatal(err)
			}
			to := s.tag(t, fmt.Sprintf("to-%v:v1", bare))
			report, err := publish.Publish(t.Context(), fromLayout, []name.Tag{to}, quick(t))
			if err != nil {
				t.Fatal(err)
			}
			want := 2
			if bare {
				want = 0
			}
			if report.Attached != want || len(copied.Attached) != want {
				t.Errorf("%d documents were attached in the registry and %d in the layout, want %d", len(copied.Attached), report.Attached, want)
			}
			found, err := publish.Attached(t.Context(), to.Context(), []v1.Hash{set.Documents[0].Descriptor.Digest}, quick(t))
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != min(want, 1) {
				t.Errorf("%d documents are attached to the image, want %d", len(found), min(want, 1))
			}
		})
	}
}
