package publish

import (
	"errors"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/captf-toolkit/captf/images/source"
)

// patient is a transport that tries again what is worth it and can be repeated.
// Uploads of blobs cannot be repeated one request at a time; they are started
// over by whoever sends them, and are only kept waiting here.
type patient struct {
	base     http.RoundTripper
	insecure bool
	retry    source.Retry
	// tell gets a line for each pause.
	tell func(format string, args ...any)

	// mounts are the paths of uploads that the registry answered by taking the
	// blob, the second part, from another repository.
	mounts sync.Map
}

// tookOver tells whether a registry took a blob from another repository.
func (p *patient) tookOver(repo name.Repository, blob v1.Hash) bool {
	_, ok := p.mounts.Load([2]string{"/v2/" + repo.RepositoryStr() + "/blobs/uploads/", blob.String()})
	return ok
}

// RoundTrip implements http.RoundTripper.
func (p *patient) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == "http" && !p.insecure && !source.Loopback(req.URL.Hostname()) {
		return nil, &source.Error{
			Kind: source.ErrPlainHTTP, Op: "connecting to " + req.URL.Host, Msg: "the registry speaks plain HTTP",
			Hint: "use --insecure if that is meant",
		}
	}
	if circular(req) {
		return nil, &source.Error{
			Kind: source.ErrFormat, Op: "connecting to " + req.URL.Host, Msg: "the registry redirects in circles",
			Hint: "look at its configuration, or that of a proxy before it",
		}
	}
	delay := p.retry.Delay
	for attempt := 1; ; attempt++ {
		resp, err := p.base.RoundTrip(req)
		if req.Method == http.MethodPost && err == nil && resp.StatusCode == http.StatusCreated {
			p.mounts.Store([2]string{req.URL.Path, req.URL.Query().Get("mount")}, true)
		}
		if err == nil && isWebPage(req, resp) {
			_ = resp.Body.Close()
			return nil, &source.Error{
				Kind: source.ErrFormat, Op: "connecting to " + req.URL.Host, Msg: "it answers with a web page, not as a registry does",
				Hint: "check the name of the registry, and whether a proxy wants a login",
			}
		}
		if attempt >= p.retry.Attempts || req.Context().Err() != nil || !passing(resp, err) {
			return resp, err
		}
		wait := time.Duration(float64(delay) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // it spreads clients, nothing more
		if resp != nil {
			if asked, ok := source.RetryAfter(resp.Header.Get("Retry-After")); ok {
				if asked > p.retry.MaxDelay {
					return resp, nil
				}
				wait = max(wait, asked)
			}
		}
		again := repeatable(req)
		if !again && (resp == nil || resp.Header.Get("Retry-After") == "") {
			return resp, err
		}
		p.tell("%s, trying again in %s", reason(req.URL.Host, resp, err), wait.Round(time.Millisecond))
		if sleepErr := p.retry.Sleep(req.Context(), min(wait, p.retry.MaxDelay)); sleepErr != nil || !again {
			return resp, err
		}
		if resp != nil {
			_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
			_ = resp.Body.Close()
		}
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
		delay = min(2*delay, p.retry.MaxDelay)
	}
}

// circular tells whether a redirect leads to where it, or one before it, came from.
func circular(req *http.Request) bool {
	for from := req.Response; from != nil && from.Request != nil; from = from.Request.Response {
		if from.Request.Method == req.Method && from.Request.URL.String() == req.URL.String() {
			return true
		}
	}
	return false
}

// isWebPage tells whether an answer about a blob or manifest, or to where a
// redirect has led, is a page for people. Some registries call empty answers HTML,
// but those have headers that only registries send.
func isWebPage(req *http.Request, resp *http.Response) bool {
	about := strings.Contains(req.URL.Path, "/blobs/") || strings.Contains(req.URL.Path, "/manifests/") || req.Response != nil
	if !about || resp.StatusCode/100 != 2 {
		return false
	}
	for _, header := range []string{"Docker-Content-Digest", "Docker-Distribution-Api-Version", "Docker-Upload-Uuid", "Location"} {
		if resp.Header.Get(header) != "" {
			return false
		}
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && (kind == "text/html" || kind == "application/xhtml+xml")
}

// repeatable tells whether a request means the same when it is sent twice. The
// requests of an upload that was begun do not.
func repeatable(req *http.Request) bool {
	if req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
		return false
	}
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
		return true
	case http.MethodPut:
		return strings.Contains(req.URL.Path, "/manifests/")
	}
	return false
}

// uploadBroke tells whether an error is that of an upload which may work when it
// is started over.
func uploadBroke(err error) bool {
	if answer, ok := errors.AsType[*transport.Error](err); ok {
		return answer.Request != nil && !repeatable(answer.Request) && passing(&http.Response{StatusCode: answer.StatusCode}, nil)
	}
	var broken *url.Error
	return errors.As(err, &broken) && (broken.Op == "Patch" || broken.Op == "Put" && !strings.Contains(broken.URL, "/manifests/")) && passing(nil, err)
}

// passing tells whether an answer, or its absence, has a reason that may pass.
func passing(resp *http.Response, err error) bool {
	if err != nil {
		var own *source.Error
		var timeout net.Error
		return !errors.As(err, &own) && (dropped(err) || errors.As(err, &timeout) && timeout.Timeout())
	}
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// dropped tells whether a connection was lost, rather than never made.
func dropped(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) || strings.Contains(err.Error(), "server sent GOAWAY") ||
		strings.Contains(err.Error(), "server closed idle connection")
}

func reason(host string, resp *http.Response, err error) string {
	switch {
	case err != nil:
		return "the connection to " + host + " was lost"
	case resp.StatusCode == http.StatusTooManyRequests:
		return host + " asks for fewer requests"
	}
	return host + " answers " + strconv.Itoa(resp.StatusCode)
}

func defaultTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	t.MaxIdleConnsPerHost = 16
	t.ResponseHeaderTimeout = 5 * time.Minute // a registry may check a large blob before it answers
	t.DisableCompression = true
	return t
}
