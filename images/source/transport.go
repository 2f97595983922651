package source

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// guard is the lowest transport: it counts requests, refuses plain HTTP where it
// is not allowed, and tries again what is worth it.
type guard struct {
	base     http.RoundTripper
	insecure bool
	retry    Retry
	count    *counters
}

// RoundTrip implements http.RoundTripper. The requests are all without a body.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == "http" && !g.insecure && !Loopback(req.URL.Hostname()) {
		return nil, fail(ErrPlainHTTP, "", "%s is plain HTTP", req.URL.Host).
			hint("use --insecure if that is meant")
	}
	ctx := req.Context()
	delay := g.retry.Delay
	for attempt := 1; ; attempt++ {
		g.count.requests.Add(1)
		resp, err := g.base.RoundTrip(req)
		if attempt >= g.retry.Attempts || ctx.Err() != nil || !again(resp, err) {
			return resp, err
		}
		wait := delay
		if resp != nil {
			if asked, ok := RetryAfter(resp.Header.Get("Retry-After")); ok {
				if asked > g.retry.MaxDelay {
					return resp, nil
				}
				wait = max(wait, asked)
			}
			_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
			_ = resp.Body.Close()
		}
		if err := g.retry.Sleep(ctx, min(wait, g.retry.MaxDelay)); err != nil {
			return nil, err
		}
		g.count.retries.Add(1)
		delay = min(2*delay, g.retry.MaxDelay)
	}
}

func again(resp *http.Response, err error) bool {
	if err != nil {
		var own *Error
		var timeout net.Error
		return !errors.As(err, &own) && (isDropped(err) || errors.As(err, &timeout) && timeout.Timeout())
	}
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// isDropped says whether a connection was lost, rather than never made.
func isDropped(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) ||
		strings.Contains(err.Error(), "http2: server sent GOAWAY") || strings.Contains(err.Error(), "stream error:")
}

// RetryAfter reads the header of that name: seconds, or a time.
func RetryAfter(value string) (time.Duration, bool) {
	if value == "" {
		return 0, false
	}
	if seconds, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0), true
	}
	return 0, false
}

// Loopback tells that a host is this machine by its name or address.
func Loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// checkRedirect bounds redirects and keeps a registry from sending us to places
// that only this machine can reach, such as a cloud's metadata service.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) >= MaxRedirects {
		return fail(ErrFormat, "", "%s redirects more than %d times", via[0].URL.Host, MaxRedirects).
			hint("look for a loop in the registry's or the proxy's configuration")
	}
	for _, v := range via {
		if v.URL.String() == req.URL.String() {
			return fail(ErrFormat, "", "%s redirects in a loop", via[0].URL.Host).
				hint("look at the registry's or the proxy's configuration")
		}
	}
	from, to := via[0].URL.Hostname(), req.URL.Hostname()
	if from == to || Loopback(from) {
		return nil
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(to, "."))
	if Loopback(to) || err == nil && (ip.Unmap().IsLoopback() || ip.Unmap().IsLinkLocalUnicast() || ip.IsUnspecified() || ip.IsMulticast()) {
		return fail(ErrFormat, "", "%s redirects to the local address %s, which is refused", from, req.URL.Host)
	}
	return nil
}

// stallReader ends a body that sends nothing for too long.
type stallReader struct {
	io.ReadCloser
	timer  *time.Timer
	limit  time.Duration
	cancel context.CancelCauseFunc
}

var errStalled = errors.New("no data for too long")

func newStallReader(body io.ReadCloser, limit time.Duration, cancel context.CancelCauseFunc) *stallReader {
	s := &stallReader{ReadCloser: body, limit: limit, cancel: cancel}
	s.timer = time.AfterFunc(limit, func() { cancel(errStalled) })
	return s
}

// Read implements io.Reader. The time that the reader's owner needs between two
// calls does not count.
func (s *stallReader) Read(p []byte) (int, error) {
	s.timer.Reset(s.limit)
	n, err := s.ReadCloser.Read(p)
	s.timer.Stop()
	return n, err
}

// Close implements io.Closer.
func (s *stallReader) Close() error {
	s.timer.Stop()
	err := s.ReadCloser.Close()
	s.cancel(context.Canceled)
	return err
}

func defaultTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 8
	t.ResponseHeaderTimeout = 60 * time.Second
	t.DisableCompression = true // A blob's digest is that of the bytes as they are.
	t.MaxResponseHeaderBytes = 256 << 10
	return t
}
