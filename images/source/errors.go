package source

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Kinds of failure, for errors.Is. Every error of this package is one of them,
// or the end of the caller's context.
var (
	// ErrReference is a reference that cannot be understood. It is a mistake of
	// usage (exit status 3 of the linter, lint.md 2.2); all the other kinds mean
	// that the image cannot be read (exit status 2).
	ErrReference = errors.New("invalid image reference")
	// ErrAuth is an answer of 401 or 403.
	ErrAuth = errors.New("access denied")
	// ErrNotFound is a repository, tag, manifest, blob, directory or file that
	// does not exist.
	ErrNotFound = errors.New("not found")
	// ErrRateLimit is an answer of 429 that did not go away.
	ErrRateLimit = errors.New("rate limited")
	// ErrUnavailable is a registry that cannot be reached or that fails.
	ErrUnavailable = errors.New("registry unavailable")
	// ErrPlainHTTP is a registry that speaks HTTP where HTTPS is required.
	ErrPlainHTTP = errors.New("registry speaks plain HTTP")
	// ErrTLS is a certificate that is not trusted, or a failed handshake.
	ErrTLS = errors.New("connection not trusted")
	// ErrCorrupt is content with another digest or size than announced.
	ErrCorrupt = errors.New("corrupt content")
	// ErrFormat is content that is not what it claims to be: HTML, an artifact
	// that is no image, a format that is not supported.
	ErrFormat = errors.New("not a readable image")
	// ErrTooLarge is a document over its limit.
	ErrTooLarge = errors.New("too large")
	// ErrPlatform is a platform that the image does not have; see PlatformError.
	ErrPlatform = errors.New("platform not available")
	// ErrNoRange says of Layer.Ranges that the registry sends whole blobs only.
	ErrNoRange = errors.New("byte ranges not supported")
)

// Error is a failure to read an image. Its text never holds credentials.
type Error struct {
	// Kind is one of the Err variables above.
	Kind error
	// Op is what was being done, a gerund and an object.
	Op string
	// Msg says what is wrong.
	Msg string
	// Hint says what to do; empty when there is nothing to add.
	Hint string
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Op != "" {
		b.WriteString(e.Op)
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	if e.Hint != "" {
		b.WriteString("; ")
		b.WriteString(e.Hint)
	}
	return scrub(b.String())
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

func fail(kind error, op, format string, args ...any) *Error {
	return &Error{Kind: kind, Op: op, Msg: fmt.Sprintf(format, args...)}
}

func (e *Error) hint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// PlatformError says which platforms there are when the wanted one is not among
// them.
type PlatformError struct {
	// Reference is the image.
	Reference string
	// Want is the platform that was asked for.
	Want v1.Platform
	// Have are the platforms of the image, in its order.
	Have []v1.Platform
	// Index says whether the image is an index; otherwise it is a single image.
	Index bool
	// Implied says that the platform is the default, not one that was asked for.
	Implied bool
}

// Error implements error.
func (e *PlatformError) Error() string {
	have := make([]string, len(e.Have))
	for i, p := range e.Have {
		have[i] = p.String()
	}
	switch {
	case len(have) == 0:
		return fmt.Sprintf("%s has no image for any platform; build it for %s", e.Reference, e.Want)
	case !e.Index:
		return fmt.Sprintf("%s is a single image for %s, not for %s; build it for %[3]s, or ask for %[2]s", e.Reference, have[0], e.Want)
	case e.Implied:
		return fmt.Sprintf("%s has no image for %s (the default), only for %s; ask for one of these, or build it", e.Reference, e.Want, strings.Join(have, ", "))
	}
	return fmt.Sprintf("%s has no image for %s, only for %s; ask for one of these, or build it", e.Reference, e.Want, strings.Join(have, ", "))
}

// Unwrap returns ErrPlatform.
func (e *PlatformError) Unwrap() error { return ErrPlatform }

// maxErrorText bounds what a registry may add to an error.
const maxErrorText = 300

var (
	urlPattern    = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s"'<>\\]+`)
	bearerPattern = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}`)
)

// scrub takes out of a text what may be secret: user information and queries of
// URLs (a redirect's query is often a signature), and authorization headers.
func scrub(s string) string {
	s = urlPattern.ReplaceAllStringFunc(s, func(raw string) string {
		trimmed := strings.TrimRight(raw, ".,;:)")
		tail := raw[len(trimmed):]
		u, err := url.Parse(trimmed)
		if err != nil {
			scheme, _, _ := strings.Cut(trimmed, "://")
			return scheme + "://(unreadable)" + tail
		}
		if u.User == nil && u.RawQuery == "" && u.Fragment == "" {
			return raw
		}
		u.User, u.RawQuery, u.Fragment, u.RawFragment = nil, "", "", ""
		return u.String() + tail
	})
	return bearerPattern.ReplaceAllString(s, "$1 (hidden)")
}

// printable makes a short line of a foreign text.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || r == 0x2028 || r == 0x2029 || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxErrorText {
		s = strings.ToValidUTF8(s[:maxErrorText], "") + "..."
	}
	return s
}

// jsonText says what is wrong with a document without the names of Go's types.
func jsonText(err error) string {
	var typ *json.UnmarshalTypeError
	if !errors.As(err, &typ) {
		return printable(err.Error())
	}
	what, _, _ := strings.Cut(typ.Value, " ")
	if typ.Field == "" {
		return fmt.Sprintf("it is of the type %s, not an object", what)
	}
	return fmt.Sprintf("%s has the wrong type or range: %s", typ.Field, printable(typ.Value))
}

// networkError makes an Error of what an HTTP client returned. Errors of ours
// that come out of a transport, and the end of the context, stay what they are.
func networkError(ctx context.Context, op, host string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", op, context.Cause(ctx))
	}
	if own, ok := errors.AsType[*Error](err); ok {
		if own.Op == "" {
			named := *own
			named.Op = op
			return &named
		}
		return own
	}
	var (
		unknown  x509.UnknownAuthorityError
		wrong    x509.HostnameError
		invalid  x509.CertificateInvalidError
		verify   *tls.CertificateVerificationError
		record   tls.RecordHeaderError
		alert    tls.AlertError
		dns      *net.DNSError
		opErr    *net.OpError
		timeout  net.Error
		urlError *url.Error
	)
	text := err.Error()
	if errors.As(err, &urlError) {
		text = urlError.Err.Error()
	}
	text = printable(text)
	switch {
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"),
		errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/":
		return fail(ErrPlainHTTP, op, "%s answers in plain HTTP", host).
			hint("use --insecure if that is meant, or fix the registry's TLS")
	case errors.As(err, &unknown):
		return fail(ErrTLS, op, "the certificate of %s is signed by an unknown authority", host).
			hint("add the authority to the system's trust store, or name it in SSL_CERT_FILE")
	case errors.As(err, &wrong), errors.As(err, &invalid), errors.As(err, &verify):
		return fail(ErrTLS, op, "the certificate of %s is not valid: %s", host, text).
			hint("fix the certificate, or use the name that it is for")
	case errors.As(err, &record), errors.As(err, &alert):
		return fail(ErrTLS, op, "the TLS handshake with %s did not work: %s", host, text).
			hint("check the port, and that the registry speaks TLS 1.2 or newer")
	case errors.As(err, &dns):
		return fail(ErrUnavailable, op, "%s cannot be resolved: %s", host, text).
			hint("check the registry's name and the network")
	case errors.As(err, &opErr) && opErr.Op == "dial":
		return fail(ErrUnavailable, op, "%s cannot be reached: %s", host, text).
			hint("check the registry's address, the network and the proxy settings")
	case errors.As(err, &timeout) && timeout.Timeout():
		return fail(ErrUnavailable, op, "%s does not answer in time: %s", host, text).hint("try again later")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fail(ErrUnavailable, op, "%s closed the connection before its answer was complete", host).hint("try again later")
	}
	return fail(ErrUnavailable, op, "talking to %s: %s", host, text)
}
