package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/captf-toolkit/captf/images/source"
	"github.com/captf-toolkit/captf/provider/internal/metrics"
)

// Class is the kind of a failure.
type Class string

// Classes of failures.
const (
	// ClassReference is a reference that cannot be understood.
	ClassReference Class = "reference"
	// ClassPolicy is a registry or an address that the egress policy refuses.
	ClassPolicy Class = "policy"
	// ClassPullSecret is a pull secret that cannot be read.
	ClassPullSecret Class = "pull_secret"
	// ClassUnauthorized is a registry that refuses access.
	ClassUnauthorized Class = "unauthorized"
	// ClassNotFound is an image that does not exist.
	ClassNotFound Class = "not_found"
	// ClassRateLimited is a registry that asks for fewer requests.
	ClassRateLimited Class = "rate_limited"
	// ClassUnavailable is a registry that cannot be reached or that fails.
	ClassUnavailable Class = "unavailable"
	// ClassTimeout is a registry that is too slow.
	ClassTimeout Class = "timeout"
	// ClassTLS is a connection that is not trusted, or that is not encrypted.
	ClassTLS Class = "tls"
	// ClassTooLarge is a manifest, or a config of more than 1 MiB.
	ClassTooLarge Class = "too_large"
	// ClassPlatform is an image without any image for Linux.
	ClassPlatform Class = "platform"
	// ClassContent is what is no image, or is damaged.
	ClassContent Class = "content"
	// ClassLabel is a label that is invalid. Reading the image again does not help.
	ClassLabel Class = "label"
)

// metric returns the class as the label reason of captf_image_inspect_errors_total, which tells fewer apart.
func (c Class) metric() string {
	switch c {
	case ClassPolicy:
		return metrics.InspectRefused
	case ClassUnauthorized, ClassPullSecret:
		return metrics.InspectAuth
	case ClassTooLarge:
		return metrics.InspectTooLarge
	case ClassLabel:
		return metrics.InspectLabel
	}
	return metrics.InspectRegistry
}

// class is a row of the table of classes.
type class struct {
	Class
	kinds []error
	says  string
}

var classes = []class{
	{ClassReference, []error{source.ErrReference}, "the reference cannot be understood; write registry/repository:tag or registry/repository@sha256:..."},
	{ClassPolicy, []error{errPolicy}, "the manager's egress policy refuses it; see the flags --image-inspect-allowed-registries and --image-inspect-allowed-networks"},
	{ClassPullSecret, nil, "a pull secret cannot be read or parsed; look at jobs.imagePullSecrets"},
	{ClassUnauthorized, []error{source.ErrAuth}, "the registry refuses access; give credentials in jobs.imagePullSecrets, or check the name"},
	{ClassNotFound, []error{source.ErrNotFound}, "the registry does not have it; check the name, and push it"},
	{ClassRateLimited, []error{source.ErrRateLimit}, "the registry limits the rate of requests; give credentials in jobs.imagePullSecrets, or wait"},
	{ClassTimeout, []error{context.DeadlineExceeded, context.Canceled}, "the registry did not answer in time"},
	{ClassTLS, []error{source.ErrTLS, source.ErrPlainHTTP}, "the connection to the registry is not trusted or not encrypted"},
	{ClassTooLarge, []error{source.ErrTooLarge}, "its manifest or config is too large; the config may have 1 MiB"},
	{ClassPlatform, []error{source.ErrPlatform}, "it has no image for Linux"},
	{ClassContent, []error{source.ErrCorrupt, source.ErrFormat}, "it is not a readable image; build and push it again"},
	{ClassLabel, nil, "a label is invalid"},
	{ClassUnavailable, []error{source.ErrUnavailable}, "the registry cannot be reached or fails"},
}

// Classes returns the classes.
func Classes() []Class {
	out := make([]Class, len(classes))
	for i, c := range classes {
		out[i] = c.Class
	}
	return out
}

// Error is a failure to read an image. Its text holds nothing that a registry said.
type Error struct {
	Class Class
	// Image is the reference as it was given.
	Image string
	// Detail says more where that is ours to say, such as what is wrong with a label.
	Detail string
}

// Error implements error.
func (e *Error) Error() string {
	for _, c := range classes {
		if c.Class == e.Class {
			if e.Detail != "" {
				return fmt.Sprintf("image %s: %s: %s", e.Image, c.says, e.Detail)
			}
			return fmt.Sprintf("image %s: %s", e.Image, c.says)
		}
	}
	return fmt.Sprintf("image %s: cannot be read", e.Image)
}

// Permanent tells that the same image gives the same failure again.
func (e *Error) Permanent() bool { return e.Class == ClassReference || e.Class == ClassLabel }

// failure gives an error of images/source its class. The most telling one counts: a policy's refusal comes as a failure of
// the transport.
func failure(image string, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	for _, c := range classes {
		for _, kind := range c.kinds {
			if errors.Is(err, kind) {
				return &Error{Class: c.Class, Image: image}
			}
		}
	}
	return &Error{Class: ClassUnavailable, Image: image}
}

// shorten bounds a text for a condition.
func shorten(text string) string {
	const limit = 400
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}
