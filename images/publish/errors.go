package publish

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/captf-toolkit/captf/images/source"
)

// explain turns what the library says into what a user can act on. Errors are
// *source.Error or the end of a context.
func explain(op string, repo name.Repository, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if own, ok := errors.AsType[*source.Error](err); ok {
		return &source.Error{Kind: own.Kind, Op: op, Msg: own.Op + ": " + own.Msg, Hint: own.Hint}
	}
	if answer, ok := errors.AsType[*transport.Error](err); ok {
		return explainStatus(op, repo, answer)
	}
	e := &source.Error{Kind: source.ErrUnavailable, Op: op, Msg: printable(err.Error())}
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		dns       *net.DNSError
	)
	switch {
	case strings.Contains(err.Error(), "stopped after 10 redirects"):
		e.Kind, e.Msg, e.Hint = source.ErrFormat, repo.RegistryStr()+" redirects again and again", "look at its configuration, or that of a proxy before it"
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"), errors.As(err, &record):
		e.Kind, e.Msg, e.Hint = source.ErrPlainHTTP, repo.RegistryStr()+" speaks plain HTTP", "use --insecure if that is meant"
	case errors.As(err, &authority), errors.As(err, &host), errors.As(err, &invalid):
		e.Kind, e.Hint = source.ErrTLS, "add the registry's certificate authority to the system's, or to SSL_CERT_FILE"
	case errors.As(err, &dns):
		e.Msg, e.Hint = repo.RegistryStr()+" has no address", "check the name of the registry"
	case dropped(err):
		e.Msg, e.Hint = "the connection was lost again and again", "try later; what was sent completely is not sent again"
	}
	return e
}

func explainStatus(op string, repo name.Repository, answer *transport.Error) error {
	e := &source.Error{Kind: source.ErrUnavailable, Op: op, Msg: fmt.Sprintf("%s answers %d %s", repo.RegistryStr(), answer.StatusCode, http.StatusText(answer.StatusCode))}
	for i, d := range answer.Errors {
		if i == 3 {
			break
		}
		e.Msg += fmt.Sprintf(" (%s)", printable(string(d.Code)+": "+d.Message))
	}
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Kind, e.Hint = source.ErrAuth, "log in with docker login or podman login as somebody who may write to "+repo.Name()
	case http.StatusNotFound:
		e.Kind, e.Hint = source.ErrNotFound, "check the name of the repository; some registries want it to be made first"
	case http.StatusTooManyRequests:
		e.Kind, e.Hint = source.ErrRateLimit, "try later; what was sent completely is not sent again"
	case http.StatusRequestEntityTooLarge:
		e.Kind, e.Hint = source.ErrTooLarge, "the registry, or a proxy before it, takes no blob of that size"
	case http.StatusMethodNotAllowed:
		e.Hint = "the registry may be a read-only mirror"
	case http.StatusBadRequest, http.StatusConflict:
		e.Hint = "the registry refuses the image; the tag may be protected"
	}
	return e
}

// printable makes one short line of what a registry sent.
func printable(s string) string {
	const limit = 300
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\n' }), " ")
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "..."
	}
	return s
}
