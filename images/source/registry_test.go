package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// TestRegistry reads what a well-behaved registry holds, by each kind of reference.
func TestRegistry(t *testing.T) {
	w := newWorld(t)
	index := indexFor(t, "linux/amd64", "linux/arm64/v8")
	ref := w.push(index)
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	repo := strings.TrimSuffix(ref, ":v1")
	for _, r := range []string{ref, repo + "@" + digest.String(), ref + "@" + digest.String()} {
		s, err := w.open(r, w.options())
		if err != nil {
			t.Fatal(err)
		}
		if s.Digest != digest || !s.IsIndex() || len(s.Platforms()) != 2 {
			t.Errorf("%s: digest %s, %d platforms", r, s.Digest, len(s.Platforms()))
		}
		img, err := s.Image(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := img.Platform.String(); got != "linux/amd64" {
			t.Errorf("%s: the default platform is %s", r, got)
		}
		if img.Labels()["io.captf.role"] != "machine" {
			t.Errorf("%s: labels %v", r, img.Labels())
		}
		before := s.Stats()
		if before.LayerBytes != 0 || before.Streams != 0 || before.Ranges != 0 {
			t.Errorf("%s: layers were read before they were asked for: %+v", r, before)
		}
		l := img.Layers()[0]
		raw, err := readAll(l)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(raw)) != l.Descriptor.Size || s.Stats().LayerBytes != l.Descriptor.Size {
			t.Errorf("%s: read %d of %d bytes, %+v", r, len(raw), l.Descriptor.Size, s.Stats())
		}
		at, err := l.ReaderAt(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		part := make([]byte, 100)
		if _, err := at.ReadAt(part, 77); err != nil || !bytes.Equal(part, raw[77:177]) {
			t.Errorf("%s: range differs (%v)", r, err)
		}
		if n, err := at.ReadAt(part, at.Size()-10); n != 10 || !errors.Is(err, io.EOF) {
			t.Errorf("%s: range over the end: %d, %v", r, n, err)
		}
		if got := s.Stats().LayerBytes - l.Descriptor.Size; got != 110 {
			t.Errorf("%s: two ranges of 110 bytes read %d", r, got)
		}
	}
}

// TestPick shows which image is taken.
func TestPick(t *testing.T) {
	w := newWorld(t)
	index, err := w.open(w.push(indexFor(t, "linux/arm64/v8", "linux/amd64", "linux/arm/v7")), w.options())
	if err != nil {
		t.Fatal(err)
	}
	single, err := w.open(w.push(imageFor(t, "linux/s390x")), w.options())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		src        *Source
		want, have string // have is empty for an error
		text       string
	}{
		{index, "", "linux/amd64", ""},
		{index, "linux/arm64", "linux/arm64/v8", ""},
		{index, "linux/arm64/v8", "linux/arm64/v8", ""},
		{index, "linux/arm", "linux/arm/v7", ""},
		{index, "linux/arm/v6", "", "only for linux/arm64/v8, linux/amd64, linux/arm/v7"},
		{index, "linux/riscv64", "", "has no image for linux/riscv64"},
		{index, "windows/amd64", "", "has no image for windows/amd64"},
		{single, "", "linux/s390x", ""},
		{single, "linux/s390x", "linux/s390x", ""},
		{single, "linux/amd64", "", "is a single image for linux/s390x, not for linux/amd64"},
	} {
		var want *v1.Platform
		if c.want != "" {
			want, _ = v1.ParsePlatform(c.want)
		}
		p, err := c.src.Pick(want)
		if c.have == "" {
			var e *PlatformError
			if !errors.As(err, &e) || !errors.Is(err, ErrPlatform) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%q: %v", c.want, err)
			}
			continue
		}
		if err != nil || p.String() != c.have {
			t.Errorf("%q: %s, %v; want %s", c.want, p, err, c.have)
		}
	}
}

// TestMisbehaving shows the error of each way in which a registry can fail, and
// that it is found within bounds.
func TestMisbehaving(t *testing.T) {
	answer := func(status int, contentType, body string) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, r *http.Request, inner http.Handler) {
			if !isManifest(r) {
				inner.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	blobs := func(h func(w http.ResponseWriter, r *http.Request, raw []byte)) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, r *http.Request, inner http.Handler) {
			if !isBlob(r) {
				inner.ServeHTTP(w, r)
				return
			}
			rec := httptest.NewRecorder()
			plain := r.Clone(r.Context())
			plain.Header.Del("Range")
			inner.ServeHTTP(rec, plain)
			h(w, r, rec.Body.Bytes())
		}
	}
	for name, c := range map[string]struct {
		front func(http.ResponseWriter, *http.Request, http.Handler)
		kind  error
		text  string
	}{
		"html":         {answer(200, "text/html; charset=utf-8", "<!DOCTYPE html><html>log in</html>"), ErrFormat, "web page"},
		"html as json": {answer(200, "application/json", "\n <html>"), ErrFormat, "web page"},
		"not json":     {answer(200, "application/vnd.oci.image.manifest.v1+json", "{"), ErrFormat, "not a JSON object"},
		"no manifest":  {answer(200, "application/json", `{"schemaVersion":2}`), ErrFormat, "no config"},
		"schema 1":     {answer(200, "application/vnd.docker.distribution.manifest.v1+prettyjws", `{"schemaVersion":1,"fsLayers":[]}`), ErrFormat, "schema 1"},
		"both":         {answer(200, "application/json", `{"schemaVersion":2,"manifests":[],"layers":[],"config":{}}`), ErrFormat, "at once"},
		"other type":   {answer(200, "application/vnd.oci.image.index.v1+json", `{"schemaVersion":2,"layers":[],"config":{}}`), ErrFormat, "media type"},
		"huge":         {answer(200, "application/json", strings.Repeat(" ", MaxManifest+1)), ErrTooLarge, "larger than 4 MiB"},
		"negative":     {answer(200, "application/json", `{"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":-1,"digest":"sha256:`+strings.Repeat("0", 64)+`"},"layers":[]}`), ErrFormat, "negative size"},
		"huge config":  {answer(200, "application/json", `{"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":99999999999,"digest":"sha256:`+strings.Repeat("0", 64)+`"},"layers":[]}`), ErrTooLarge, "more than 4 MiB"},
		"bad digest":   {answer(200, "application/json", `{"schemaVersion":2,"config":{"size":1,"digest":"sha256:../../etc/passwd"},"layers":[]}`), ErrFormat, "not a valid manifest"},
		"artifact":     {answer(200, "application/json", `{"schemaVersion":2,"artifactType":"text/x","config":{"mediaType":"application/vnd.oci.empty.v1+json","size":2,"digest":"sha256:`+strings.Repeat("0", 64)+`"},"layers":[]}`), ErrFormat, "artifact"},
		"no tag":       {answer(404, "application/json", `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"x"}]}`), ErrNotFound, "has no tag v1"},
		"no repo":      {answer(404, "application/json", `{"errors":[{"code":"NAME_UNKNOWN","message":"x"}]}`), ErrNotFound, "has no repository demo/module"},
		"nothing":      {answer(404, "text/plain", ``), ErrNotFound, "404"},
		"denied":       {answer(403, "application/json", `{"errors":[{"code":"DENIED","message":"no \u001b[31mpull"}]}`), ErrAuth, "docker login"},
		"broken":       {answer(500, "text/html", `<html>oops`), ErrUnavailable, "500"},
		"busy":         {answer(429, "text/plain", ``), ErrRateLimit, "429"},
		"teapot":       {answer(418, "text/plain", ``), ErrFormat, "418"},
		"no registry": {func(w http.ResponseWriter, r *http.Request, _ http.Handler) { http.NotFound(w, r) },
			ErrFormat, "is not a registry"},
		"loop": {func(w http.ResponseWriter, r *http.Request, inner http.Handler) {
			if isManifest(r) {
				http.Redirect(w, r, r.URL.String(), http.StatusFound)
				return
			}
			inner.ServeHTTP(w, r)
		}, ErrFormat, "loop"},
		"endless": {func(w http.ResponseWriter, r *http.Request, inner http.Handler) {
			if isManifest(r) {
				http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
				return
			}
			inner.ServeHTTP(w, r)
		}, ErrFormat, "more than 10 times"},
		"changed blob":  {blobs(func(w http.ResponseWriter, _ *http.Request, raw []byte) { raw[len(raw)/2] ^= 1; _, _ = w.Write(raw) }), ErrCorrupt, "digest"},
		"long blob":     {blobs(func(w http.ResponseWriter, _ *http.Request, raw []byte) { _, _ = w.Write(append(raw, 1)) }), ErrCorrupt, "bytes, but the manifest says"},
		"short blob":    {blobs(func(w http.ResponseWriter, _ *http.Request, raw []byte) { _, _ = w.Write(raw[1:]) }), ErrCorrupt, "bytes, but the manifest says"},
		"long chunked":  {blobs(func(w http.ResponseWriter, _ *http.Request, raw []byte) { flush(w); _, _ = w.Write(append(raw, 1)) }), ErrCorrupt, "longer than"},
		"short chunked": {blobs(func(w http.ResponseWriter, _ *http.Request, raw []byte) { flush(w); _, _ = w.Write(raw[:len(raw)-1]) }), ErrCorrupt, "ends after"},
		"html blob":     {blobs(func(w http.ResponseWriter, _ *http.Request, _ []byte) { w.Header().Set("Content-Type", "text/html") }), ErrFormat, "web page"},
		"encoded blob": {blobs(func(w http.ResponseWriter, _ *http.Request, raw []byte) {
			w.Header().Set("Content-Encoding", "br")
			_, _ = w.Write(raw)
		}), ErrFormat, "encoding"},
		"no blob": {blobs(func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			http.Error(w, `{"errors":[{"code":"BLOB_UNKNOWN"}]}`, http.StatusNotFound)
		}), ErrNotFound, "lacks the blob"},
		"always dropped": {blobs(func(http.ResponseWriter, *http.Request, []byte) { panic(http.ErrAbortHandler) }), ErrUnavailable, "closed the connection"},
		"dropped early": {blobs(func(w http.ResponseWriter, _ *http.Request, raw []byte) {
			w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
			flush(w)
			panic(http.ErrAbortHandler)
		}), ErrCorrupt, "in a row"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ref := w.push(imageFor(t, "linux/amd64"))
			w.misbehave(c.front)
			requests := 0
			opts := w.options()
			s, err := w.open(ref, opts)
			if err == nil {
				img, imgErr := s.Image(context.Background(), nil)
				if err = imgErr; err == nil {
					_, err = readAll(img.Layers()[0])
				}
				requests = int(s.Stats().Requests)
			}
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("error %v (%v)\nwant one with %q (%v)", err, errors.Unwrap(err), c.text, c.kind)
			}
			if strings.ContainsAny(err.Error(), "\x1b\n") {
				t.Errorf("the error is not printable: %q", err)
			}
			if requests > 40 {
				t.Errorf("%d requests were sent", requests)
			}
		})
	}
}

func flush(w http.ResponseWriter) { w.(http.Flusher).Flush() }

// TestRetry shows that what goes away is waited for, within bounds.
func TestRetry(t *testing.T) {
	for name, c := range map[string]struct {
		after  string
		times  int
		kind   error
		sleeps []time.Duration
	}{
		"gone after two": {"", 2, nil, []time.Duration{500 * time.Millisecond, time.Second}},
		"as asked":       {"7", 1, nil, []time.Duration{7 * time.Second}},
		"too long":       {"3600", 1, ErrRateLimit, nil},
		"forever":        {"1", 100, ErrRateLimit, []time.Duration{time.Second, time.Second, 2 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ref := w.push(imageFor(t, "linux/amd64"))
			left := c.times
			w.misbehave(func(rw http.ResponseWriter, r *http.Request, inner http.Handler) {
				if isManifest(r) && left > 0 {
					left--
					if c.after != "" {
						rw.Header().Set("Retry-After", c.after)
					}
					rw.WriteHeader(http.StatusTooManyRequests)
					return
				}
				inner.ServeHTTP(rw, r)
			})
			_, err := w.open(ref, w.options())
			if !errors.Is(err, c.kind) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(c.sleeps, w.sleeps); diff != "" {
				t.Errorf("pauses (-want +got):\n%s", diff)
			}
		})
	}
}

// TestResume shows that a stream goes on where its connection broke, with and
// without ranges, and that ranges are read again.
func TestResume(t *testing.T) {
	for _, ranges := range []bool{true, false} {
		w := newWorld(t)
		ref := w.push(imageFor(t, "linux/amd64"))
		s, l := w.layer(ref, w.options())
		want, err := readAll(l)
		if err != nil {
			t.Fatal(err)
		}
		drops := 0
		w.misbehave(func(rw http.ResponseWriter, r *http.Request, inner http.Handler) {
			if !isBlob(r) {
				inner.ServeHTTP(rw, r)
				return
			}
			if !ranges {
				r.Header.Del("Range")
			}
			rec := httptest.NewRecorder()
			inner.ServeHTTP(rec, r)
			maps.Copy(rw.Header(), rec.Header())
			body := rec.Body.Bytes()
			if drops++; drops <= 3 {
				rw.Header().Set("Content-Length", strconv.Itoa(len(body)))
				rw.WriteHeader(rec.Code)
				_, _ = rw.Write(body[:min(len(body), 9000)])
				flush(rw)
				panic(http.ErrAbortHandler)
			}
			rw.WriteHeader(rec.Code)
			_, _ = rw.Write(body)
		})
		got, err := readAll(l)
		if err != nil || !bytes.Equal(want, got) {
			t.Fatalf("ranges %v: %v, %d of %d bytes", ranges, err, len(got), len(want))
		}
		if n := s.Stats().Retries; n != 3 {
			t.Errorf("ranges %v: %d retries", ranges, n)
		}
		drops = 0
		at, err := l.ReaderAt(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		part := make([]byte, 30_000)
		if _, err := at.ReadAt(part, 5000); err != nil || !bytes.Equal(part, want[5000:35_000]) {
			t.Errorf("ranges %v: a range of a dropped connection: %v", ranges, err)
		}
		strict, err := l.Ranges(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if _, err = strict.ReadAt(part, 100); errors.Is(err, ErrNoRange) == ranges {
			t.Errorf("ranges %v: %v", ranges, err)
		}
	}
}

// TestSpoolIsRemoved shows that nothing stays behind.
func TestSpoolIsRemoved(t *testing.T) {
	w := newWorld(t)
	ref := w.push(imageFor(t, "linux/amd64"))
	w.misbehave(func(rw http.ResponseWriter, r *http.Request, inner http.Handler) {
		r.Header.Del("Range")
		inner.ServeHTTP(rw, r)
	})
	opts := w.options()
	s, err := Open(context.Background(), ref, opts)
	if err != nil {
		t.Fatal(err)
	}
	img, err := s.Image(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	at, err := img.Layers()[0].ReaderAt(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := at.ReadAt(make([]byte, 10), 10); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(opts.TempDir, "*")); len(left) != 1 {
		t.Errorf("temporary files: %v", left)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(opts.TempDir, "*")); len(left) != 0 {
		t.Errorf("temporary files after Close: %v", left)
	}
}

// TestCancel shows that the end of the context ends everything.
func TestCancel(t *testing.T) {
	w := newWorld(t)
	ref := w.push(imageFor(t, "linux/amd64"))
	ctx, cancel := context.WithCancel(context.Background())
	w.misbehave(func(rw http.ResponseWriter, r *http.Request, inner http.Handler) {
		if isManifest(r) {
			cancel()
			<-r.Context().Done()
			return
		}
		inner.ServeHTTP(rw, r)
	})
	if _, err := Open(ctx, ref, w.options()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestStall shows that a connection that sends nothing is given up.
func TestStall(t *testing.T) {
	w := newWorld(t)
	ref := w.push(imageFor(t, "linux/amd64"))
	opts := w.options()
	opts.Retry.Stall = 50 * time.Millisecond
	_, l := w.layer(ref, opts)
	w.misbehave(func(rw http.ResponseWriter, r *http.Request, inner http.Handler) {
		rw.Header().Set("Content-Length", strconv.FormatInt(l.Descriptor.Size, 10))
		flush(rw)
		<-r.Context().Done()
	})
	if _, err := readAll(l); !errors.Is(err, ErrCorrupt) {
		t.Errorf("error %v", err)
	}
}

const secret = "s3cret-Value"

// TestCredentials shows who gets credentials, and that errors never hold them.
func TestCredentials(t *testing.T) {
	w := newWorld(t)
	ref := w.push(imageFor(t, "linux/amd64"))
	keys := t.TempDir()
	auth := fmt.Sprintf(`{"auths":{%q:{"username":"user","password":%q}}}`, w.host, secret)
	if err := os.WriteFile(filepath.Join(keys, "config.json"), []byte(auth), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(pairs ...string) *Keychain {
		return NewKeychain(func(k string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == k {
					return pairs[i+1]
				}
			}
			return ""
		})
	}
	var leaked string
	cdn := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		leaked += r.Header.Get("Authorization")
		if r.URL.Query().Get("ok") == "" {
			http.Error(rw, "expired", http.StatusForbidden)
			return
		}
		r2 := r.Clone(r.Context())
		r2.Header.Set("Authorization", "")
		w.inner.ServeHTTP(rw, r2)
	}))
	defer cdn.Close()
	query := "?ok=1&sig=" + secret
	bearer := false
	allowed := func(r *http.Request) bool {
		if bearer {
			return r.Header.Get("Authorization") == "Bearer "+secret
		}
		_, pass, _ := r.BasicAuth()
		return pass == secret
	}
	w.misbehave(func(rw http.ResponseWriter, r *http.Request, inner http.Handler) {
		if _, pass, _ := r.BasicAuth(); r.URL.Path == "/token" {
			if pass != secret {
				rw.WriteHeader(http.StatusUnauthorized)
				return
			}
			_ = json.NewEncoder(rw).Encode(map[string]string{"token": secret})
			return
		}
		if !allowed(r) {
			rw.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			if bearer {
				rw.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://%s/token",service="x"`, w.host))
			}
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		if isBlob(r) {
			http.Redirect(rw, r, cdn.URL+r.URL.Path+query, http.StatusTemporaryRedirect)
			return
		}
		inner.ServeHTTP(rw, r)
	})
	check := func(what string, err error, kind error, texts ...string) {
		t.Helper()
		if !errors.Is(err, kind) {
			t.Errorf("%s: error %v, want %v", what, err, kind)
			return
		}
		for _, text := range texts {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: error %q lacks %q", what, err, text)
			}
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error holds the secret: %v", what, err)
		}
	}
	empty := filepath.Join(t.TempDir(), "auth.json")
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(empty, []byte(`{"auths":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(broken, []byte(`{"auths":"`+secret), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bearer = range []bool{false, true} {
		opts := w.options()
		opts.Keychain = env("DOCKER_CONFIG", keys)
		query = "?ok=1&sig=" + secret
		s, l := w.layer(ref, opts)
		raw, err := readAll(l)
		check("good credentials", err, nil)
		if int64(len(raw)) != l.Descriptor.Size {
			t.Errorf("%d of %d bytes; %+v", len(raw), l.Descriptor.Size, s.Stats())
		}
		at, err := l.Ranges(context.Background())
		check("ranges", err, nil)
		_, err = at.ReadAt(make([]byte, 10), 10)
		check("a range over a redirect", err, nil)
		query = "?sig=" + secret
		_, err = readAll(l)
		check("expired redirect", err, ErrUnavailable, "redirects to "+strings.TrimPrefix(cdn.URL, "http://")+", which answers 403")
		query = "?ok=1&sig=" + secret

		opts.Keychain = env("DOCKER_CONFIG", t.TempDir(), "REGISTRY_AUTH_FILE", empty, "XDG_RUNTIME_DIR", t.TempDir())
		_, err = w.open(ref, opts)
		check("no credentials", err, ErrAuth, "does not exist", empty+": has no entry for", "auth.json", "docker login "+w.host)

		opts.Keychain = env("DOCKER_CONFIG", t.TempDir(), "REGISTRY_AUTH_FILE", broken)
		_, err = w.open(ref, opts)
		check("broken file", err, ErrAuth, "is not a valid configuration")

		opts.Keychain = env("REGISTRY_AUTH_FILE", filepath.Join(keys, "config.json"), "HOME", t.TempDir())
		_, err = w.open(ref, opts)
		check("second file", err, nil)
	}
	if leaked != "" {
		t.Errorf("the redirect's target got %q", leaked)
	}
}

// TestTransport shows the errors of the layers below the registry's protocol.
func TestTransport(t *testing.T) {
	w := newWorld(t)
	w.push(imageFor(t, "linux/amd64"))
	opts := w.options()
	opts.Transport = dialTo(w.host)
	_, err := w.open("registry.test/demo/module:v1", opts)
	if !errors.Is(err, ErrPlainHTTP) || !strings.Contains(err.Error(), "--insecure") {
		t.Errorf("plain HTTP: %v", err)
	}
	opts.Insecure = true
	if _, err = w.open("registry.test/demo/module:v1", opts); err != nil {
		t.Errorf("plain HTTP with permission: %v", err)
	}
	opts = w.options()
	opts.Transport = dialTo(w.host)
	if _, err = w.open("10.0.0.1:5000/demo/module:v1", opts); !errors.Is(err, ErrPlainHTTP) {
		t.Errorf("a private address is no reason for plain HTTP: %v", err)
	}

	s := httptest.NewTLSServer(w)
	defer s.Close()
	s.Config.ErrorLog = nil
	host := strings.TrimPrefix(s.URL, "https://")
	if _, err = w.open(host+"/demo/module:v1", w.options()); !errors.Is(err, ErrTLS) || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("unknown authority: %v", err)
	}
	opts = w.options()
	trusting := dialTo(host)
	trusting.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig
	opts.Transport = trusting
	if _, err = w.open("other.test/demo/module:v1", opts); !errors.Is(err, ErrTLS) || !strings.Contains(err.Error(), "not valid") {
		t.Errorf("wrong name: %v", err)
	}
	if _, err = w.open("example.com/demo/module:v1", opts); err != nil {
		t.Errorf("right name: %v", err)
	}
	s.Close()
	if _, err = w.open(host+"/demo/module:v1", w.options()); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("no server: %v", err)
	}
}

// TestLocalRedirect shows that a registry elsewhere cannot make us read from here.
func TestLocalRedirect(t *testing.T) {
	w := newWorld(t)
	w.push(imageFor(t, "linux/amd64"))
	for _, target := range []string{"http://127.0.0.1:1/x", "http://169.254.169.254/latest/meta-data", "http://localhost/", "http://[::1]/", "http://[::ffff:127.0.0.1]/"} {
		w.misbehave(func(rw http.ResponseWriter, r *http.Request, inner http.Handler) {
			if isManifest(r) {
				http.Redirect(rw, r, target, http.StatusFound)
				return
			}
			inner.ServeHTTP(rw, r)
		})
		opts := w.options()
		opts.Insecure = true
		opts.Transport = dialTo(w.host)
		if _, err := w.open("registry.test/demo/module:v1", opts); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "local address") {
			t.Errorf("%s: %v", target, err)
		}
	}
}
