package source

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// acceptManifests are the media types that we ask for, schema 1 too so that its
// error can say what it is.
var acceptManifests = strings.Join([]string{
	string(types.OCIImageIndex), string(types.OCIManifestSchema1),
	string(types.DockerManifestList), string(types.DockerManifestSchema2),
	string(types.DockerManifestSchema1Signed), string(types.DockerManifestSchema1),
}, ", ")

// registryStore reads from one repository of a registry.
type registryStore struct {
	ref   Reference
	repo  name.Repository
	opts  Options
	count *counters

	mu       sync.Mutex
	client   *http.Client
	scheme   string
	keychain authn.Keychain
}

func newRegistryStore(ref Reference, opts Options, count *counters) *registryStore {
	s := &registryStore{ref: ref, repo: ref.Name.Context(), opts: opts, count: count, keychain: opts.Keychain}
	if s.keychain == nil {
		s.keychain = NewKeychain(nil)
	}
	return s
}

// connect does the handshake of the registry protocol once.
func (s *registryStore) connect(ctx context.Context) (*http.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		return s.client, nil
	}
	op := "opening " + s.repo.RegistryStr()
	auth, err := authn.Resolve(ctx, s.keychain, s.repo)
	if err != nil {
		return nil, fail(ErrAuth, op, "looking for credentials: %s", printable(err.Error()))
	}
	base := s.opts.Transport
	if base == nil {
		base = defaultTransport()
	}
	agent := transport.NewUserAgent(&guard{base: base, insecure: s.opts.Insecure, retry: s.opts.Retry, count: s.count}, s.opts.UserAgent)
	rt, err := transport.NewWithContext(ctx, s.repo.Registry, auth, agent, []string{s.repo.Scope(transport.PullScope)})
	if err != nil {
		return nil, s.failed(ctx, op, err, true)
	}
	s.client = &http.Client{Transport: rt, CheckRedirect: checkRedirect}
	s.scheme = s.repo.Scheme() // The transport changes it to what the handshake found.
	return s.client, nil
}

func (s *registryStore) get(ctx context.Context, op, kind, id string, header http.Header) (*http.Response, error) {
	client, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	url := fmt.Sprintf("%s://%s/v2/%s/%s/%s", s.scheme, s.repo.RegistryStr(), s.repo.RepositoryStr(), kind, id)
	ctx, cancel := context.WithCancelCause(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		cancel(nil)
		return nil, fail(ErrReference, op, "%s", printable(err.Error()))
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := client.Do(req)
	if err != nil {
		defer cancel(nil)
		return nil, s.failed(ctx, op, err, false)
	}
	resp.Body = newStallReader(resp.Body, s.opts.Retry.Stall, cancel)
	return resp, nil
}

// failed names an error of the transport.
func (s *registryStore) failed(ctx context.Context, op string, err error, handshake bool) error {
	var answer *transport.Error
	var untrusted *tls.CertificateVerificationError // With plain HTTP tried second, there are two errors.
	if !errors.As(err, &answer) || errors.As(err, &untrusted) || ctx.Err() != nil {
		return networkError(ctx, op, s.repo.RegistryStr(), err)
	}
	var texts []string
	for _, d := range answer.Errors {
		texts = append(texts, strings.TrimSpace(string(d.Code)+" "+d.Message))
	}
	return s.status(op, answer.StatusCode, printable(strings.Join(texts, ", ")), "", handshake)
}

// refused makes an error of an answer with another status than wanted, and closes it.
func (s *registryStore) refused(op string, resp *http.Response) error {
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var doc struct {
		Errors []struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	_ = json.Unmarshal(body, &doc) // Only some registries, and no proxies, send this.
	var texts []string
	for _, d := range doc.Errors {
		texts = append(texts, strings.TrimSpace(d.Code+" "+d.Message))
	}
	if to := resp.Request.URL.Host; to != s.repo.RegistryStr() && resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests {
		return fail(ErrUnavailable, op, "%s redirects to %s, which answers %d %s", s.repo.RegistryStr(), to, resp.StatusCode, http.StatusText(resp.StatusCode)).
			hint("try again; if it stays, the registry's storage is not set up rightly")
	}
	return s.status(op, resp.StatusCode, printable(strings.Join(texts, ", ")), resp.Header.Get("Retry-After"), false)
}

func (s *registryStore) status(op string, status int, text, after string, handshake bool) error {
	says := fmt.Sprintf("%s answers %d %s", s.repo.RegistryStr(), status, http.StatusText(status))
	if text != "" {
		says += " (" + text + ")"
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fail(ErrAuth, op, "%s%s", says, s.lookedAt()).
			hint("log in with docker login %s or podman login %[1]s, or check the name: many registries answer this for what does not exist", s.repo.RegistryStr())
	case status == http.StatusNotFound && handshake:
		return fail(ErrFormat, op, "%s is not a registry: /v2/ answers 404", s.repo.RegistryStr()).hint("check the registry's name and port")
	case status == http.StatusNotFound && strings.Contains(text, string(transport.NameUnknownErrorCode)):
		return fail(ErrNotFound, op, "%s has no repository %s", s.repo.RegistryStr(), s.repo.RepositoryStr()).hint("check the repository's name")
	case status == http.StatusNotFound && strings.Contains(text, string(transport.ManifestUnknownErrorCode)):
		return fail(ErrNotFound, op, "repository %s has no %s", s.repo.Name(), s.what()).hint("check the tag or digest")
	case status == http.StatusNotFound && strings.Contains(text, string(transport.BlobUnknownErrorCode)):
		return fail(ErrNotFound, op, "%s lacks the blob", s.repo.Name()).hint("push the image again")
	case status == http.StatusNotFound:
		return fail(ErrNotFound, op, "%s", says).hint("check the repository's name and the tag or digest")
	case status == http.StatusTooManyRequests:
		e := fail(ErrRateLimit, op, "%s", says).hint("try again later, or log in for a higher limit")
		if d, ok := RetryAfter(after); ok && d > 0 {
			e.Hint = fmt.Sprintf("try again in %s, or log in for a higher limit", d.Round(1e9))
		}
		return e
	case status >= 500:
		return fail(ErrUnavailable, op, "%s", says).hint("try again later")
	}
	return fail(ErrFormat, op, "%s", says).hint("check that %s is a registry", s.repo.RegistryStr())
}

func (s *registryStore) what() string {
	if s.ref.Digest != (v1.Hash{}) {
		return "manifest " + s.ref.Digest.String()
	}
	return "tag " + s.ref.Tag
}

// lookedAt says where credentials were searched.
func (s *registryStore) lookedAt() string {
	k, ok := s.keychain.(*Keychain)
	if !ok {
		return ""
	}
	if notes := k.Notes(); len(notes) > 0 {
		return "; credentials: " + strings.Join(notes, "; ")
	}
	return ""
}

// root reads what the reference names.
func (s *registryStore) root(ctx context.Context) (document, error) {
	if s.ref.Digest != (v1.Hash{}) {
		return s.manifest(ctx, v1.Descriptor{Digest: s.ref.Digest, Size: -1})
	}
	return s.fetch(ctx, "reading manifest of "+s.ref.String(), s.ref.Tag, v1.Descriptor{Size: -1})
}

// manifest reads a manifest by digest; a size below zero is not known.
func (s *registryStore) manifest(ctx context.Context, d v1.Descriptor) (document, error) {
	return s.fetch(ctx, "reading manifest "+d.Digest.String(), d.Digest.String(), d)
}

func (s *registryStore) fetch(ctx context.Context, op, id string, d v1.Descriptor) (document, error) {
	var doc document
	err := s.attempts(ctx, func() error {
		resp, err := s.get(ctx, op, "manifests", id, http.Header{"Accept": {acceptManifests}})
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return s.refused(op, resp)
		}
		defer resp.Body.Close()
		raw, err := readSmall(ctx, op, s.repo.RegistryStr(), resp.Body, MaxManifest)
		if err != nil {
			return err
		}
		if resp.ContentLength > int64(len(raw)) {
			return networkError(ctx, op, s.repo.RegistryStr(), io.ErrUnexpectedEOF)
		}
		s.count.bytes.Add(int64(len(raw)))
		mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		if mediaType == "text/html" || looksLikeHTML(raw) {
			return fail(ErrFormat, op, "%s answers with a web page instead of a manifest", s.repo.RegistryStr()).
				hint("check that this is a registry, and that no proxy or login page is in between")
		}
		doc = document{raw: raw, mediaType: types.MediaType(mediaType)}
		return nil
	})
	if err != nil {
		return document{}, err
	}
	err = doc.verify(op, d)
	return doc, err
}

// attempts repeats what failed because an answer ended early.
func (s *registryStore) attempts(ctx context.Context, try func() error) error {
	for attempt := 1; ; attempt++ {
		err := try()
		var e *Error
		if err == nil || attempt >= s.opts.Retry.Attempts || ctx.Err() != nil ||
			!errors.As(err, &e) || !strings.Contains(e.Msg, "closed the connection") {
			return err
		}
		if err := s.opts.Retry.Sleep(ctx, s.opts.Retry.Delay); err != nil {
			return err
		}
		s.count.retries.Add(1)
	}
}

// open sends for the bytes of a blob from off on, n of them. It may return more
// than was asked for: start says where the body begins.
func (s *registryStore) open(ctx context.Context, d v1.Descriptor, off, n int64) (body io.ReadCloser, start int64, err error) {
	op := "reading blob " + d.Digest.String()
	whole := off == 0 && n == d.Size
	header := http.Header{}
	if !whole {
		header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+n-1))
	}
	resp, err := s.get(ctx, op, "blobs", d.Digest.String(), header)
	if err != nil {
		return nil, 0, err
	}
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		_ = resp.Body.Close()
		return nil, 0, fail(ErrFormat, op, "%s sends it with the encoding %q, which was not asked for", s.repo.RegistryStr(), printable(enc))
	}
	switch resp.StatusCode {
	case http.StatusOK:
		if mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); mediaType == "text/html" {
			_ = resp.Body.Close()
			return nil, 0, fail(ErrFormat, op, "%s answers with a web page instead of a blob", s.repo.RegistryStr()).
				hint("check that no proxy or login page is in between")
		}
		if resp.ContentLength >= 0 && resp.ContentLength != d.Size {
			_ = resp.Body.Close()
			return nil, 0, sizeError(op, d.Size, resp.ContentLength)
		}
		return resp.Body, 0, nil
	case http.StatusPartialContent:
		var first, last int64
		var total string
		if _, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%s", &first, &last, &total); err != nil || first != off || last < first || last > off+n-1 {
			_ = resp.Body.Close()
			return nil, 0, fail(ErrFormat, op, "%s answers with the range %q instead of bytes %d-%d", s.repo.RegistryStr(), printable(resp.Header.Get("Content-Range")), off, off+n-1)
		}
		if total != "*" && total != strconv.FormatInt(d.Size, 10) {
			_ = resp.Body.Close()
			var actual int64
			_, _ = fmt.Sscan(total, &actual)
			return nil, 0, sizeError(op, d.Size, actual)
		}
		return resp.Body, off, nil
	case http.StatusRequestedRangeNotSatisfiable:
		_ = resp.Body.Close()
		return nil, 0, fail(ErrCorrupt, op, "it ends before byte %d, but the manifest says that it has %d bytes", off, d.Size).
			hint("push the image again")
	}
	return nil, 0, s.refused(op, resp)
}

func sizeError(op string, want, got int64) *Error {
	return fail(ErrCorrupt, op, "it has %d bytes, but the manifest says %d", got, want).hint("push the image again")
}

func (s *registryStore) local() bool  { return false }
func (s *registryStore) Close() error { return nil }

// readSmall reads a document under its limit.
func readSmall(ctx context.Context, op, host string, r io.Reader, limit int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, networkError(ctx, op, host, err)
	}
	if int64(len(raw)) > limit {
		return nil, fail(ErrTooLarge, op, "it is larger than %d MiB", limit>>20)
	}
	return raw, nil
}

func looksLikeHTML(raw []byte) bool {
	start := strings.ToLower(strings.TrimSpace(string(raw[:min(len(raw), 256)])))
	return strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html")
}
