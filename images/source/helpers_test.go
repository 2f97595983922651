package source

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// anonymous never looks at the machine's files.
var anonymous = authn.NewMultiKeychain()

// imageFor is an image of two layers for a platform.
func imageFor(t testing.TB, platform string) v1.Image {
	t.Helper()
	return imageSized(t, platform, 40_000)
}

func imageSized(t testing.TB, platform string, size int64) v1.Image {
	t.Helper()
	p, err := v1.ParsePlatform(platform)
	if err != nil {
		t.Fatal(err)
	}
	img, err := random.Image(size, 2)
	if err != nil {
		t.Fatal(err)
	}
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c = c.DeepCopy()
	c.OS, c.Architecture, c.Variant = p.OS, p.Architecture, p.Variant
	c.Config.Labels = map[string]string{"io.captf.role": "machine"}
	if img, err = mutate.ConfigFile(img, c); err != nil {
		t.Fatal(err)
	}
	return mutate.ConfigMediaType(mutate.MediaType(img, types.OCIManifestSchema1), types.OCIConfigJSON)
}

func indexFor(t testing.TB, platforms ...string) v1.ImageIndex {
	t.Helper()
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		platform, err := v1.ParsePlatform(p)
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: imageFor(t, p), Descriptor: v1.Descriptor{Platform: platform}})
	}
	return index
}

// world is a registry on the loopback interface with a handler in front of it,
// which is switched on after the images were pushed.
type world struct {
	t     testing.TB
	host  string
	inner http.Handler

	mu     sync.Mutex
	front  func(w http.ResponseWriter, r *http.Request, inner http.Handler)
	sleeps []time.Duration
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, inner: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	s := httptest.NewServer(w)
	t.Cleanup(s.Close)
	w.host = strings.TrimPrefix(s.URL, "http://")
	return w
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	front := w.front
	w.mu.Unlock()
	if front == nil {
		w.inner.ServeHTTP(rw, r)
		return
	}
	front(rw, r, w.inner)
}

func (w *world) misbehave(front func(w http.ResponseWriter, r *http.Request, inner http.Handler)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.front = front
}

func (w *world) push(what any) string {
	w.t.Helper()
	ref, err := name.ParseReference(w.host + "/demo/module:v1")
	if err != nil {
		w.t.Fatal(err)
	}
	switch what := what.(type) {
	case v1.ImageIndex:
		err = remote.WriteIndex(ref, what)
	case v1.Image:
		err = remote.Write(ref, what)
	default:
		err = fmt.Errorf("%T", what)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return ref.String()
}

// options never wait, and note how long they would have.
func (w *world) options() Options {
	return Options{Keychain: anonymous, TempDir: w.t.TempDir(), Retry: Retry{Sleep: func(ctx context.Context, d time.Duration) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.sleeps = append(w.sleeps, d)
		return ctx.Err()
	}}}
}

func (w *world) open(ref string, opts Options) (*Source, error) {
	w.t.Helper()
	s, err := Open(context.Background(), ref, opts)
	if err == nil {
		w.t.Cleanup(func() {
			if err := s.Close(); err != nil {
				w.t.Error(err)
			}
		})
	}
	return s, err
}

// layer opens the image and returns its last layer.
func (w *world) layer(ref string, opts Options) (*Source, *Layer) {
	w.t.Helper()
	s, err := w.open(ref, opts)
	if err != nil {
		w.t.Fatal(err)
	}
	img, err := s.Image(context.Background(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	layers := img.Layers()
	return s, layers[len(layers)-1]
}

func readAll(l *Layer) ([]byte, error) {
	r, err := l.Reader(context.Background())
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// dialTo sends every connection to one address, whatever the host's name.
func dialTo(addr string) *http.Transport {
	t := defaultTransport().(*http.Transport)
	t.Proxy = nil
	t.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	return t
}

func isBlob(r *http.Request) bool {
	return strings.Contains(r.URL.Path, "/blobs/") && r.Method == http.MethodGet
}

func isManifest(r *http.Request) bool { return strings.Contains(r.URL.Path, "/manifests/") }
