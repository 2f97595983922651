package sign

import (
	"errors"
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Kinds of failure, for errors.Is.
var (
	// ErrNoSignature: nothing that could be a signature is attached.
	ErrNoSignature = errors.New("no signature")
	// ErrOtherKey: a bundle was signed by another key, or by none.
	ErrOtherKey = errors.New("signed by another key")
	// ErrTampered: a bundle names the key, but its payload or its signature was
	// changed.
	ErrTampered = errors.New("tampered with")
	// ErrSubject: a statement is about something else.
	ErrSubject = errors.New("about something else")
	// ErrFormat: a bundle, statement or key cannot be read.
	ErrFormat = errors.New("malformed")
	// ErrTooLarge: a bundle is over its limit.
	ErrTooLarge = errors.New("too large")
	// ErrKeyType: a key is of a type that is not supported.
	ErrKeyType = errors.New("unsupported key")
	// ErrExpired: a certificate was not valid when it signed.
	ErrExpired = errors.New("expired certificate")
	// ErrUntrusted: nothing that the trusted root knows vouches for a bundle.
	ErrUntrusted = errors.New("not vouched for")
	// ErrIdentity: a certificate is someone else's.
	ErrIdentity = errors.New("signed by someone else")
)

// Error is one thing that is wrong. Its text never holds secrets.
type Error struct {
	// Kind is one of the kinds above.
	Kind error
	// Msg says what is wrong, and what to do if that is known.
	Msg string
}

// Error implements error.
func (e *Error) Error() string { return e.Msg }

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

// Errorf returns an error of a kind.
func Errorf(kind error, format string, args ...any) error {
	return &Error{Kind: kind, Msg: fmt.Sprintf(format, args...)}
}

// Failure is an image without the signature that was asked for. It is of the
// kinds of its problems, or ErrNoSignature when there is none.
type Failure struct {
	// Image is the digest of the image.
	Image v1.Hash
	// Predicate is the type of statement that was looked for.
	Predicate string
	// Signer is who should have signed, for people.
	Signer string
	// Problems tell of each bundle why it is not the one.
	Problems []Problem
}

// Problem is a bundle that does not count.
type Problem struct {
	// Referrer is the digest of the manifest that the bundle is in.
	Referrer v1.Hash
	// Err says why; it is an *Error, or an error of reading.
	Err error
}

// shownProblems bounds the text of an error.
const shownProblems = 5

// Error implements error.
func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "verifying %s: ", f.Image)
	if len(f.Problems) == 0 {
		fmt.Fprintf(&b, "no %s is attached; looked for referrers of the artifact type %s: sign it with \"captf image sign\"",
			what(f.Predicate), MediaType)
		return b.String()
	}
	fmt.Fprintf(&b, "no %s by %s", what(f.Predicate), f.Signer)
	for i, p := range f.Problems {
		if i == shownProblems {
			fmt.Fprintf(&b, "; and %d more", len(f.Problems)-i)
			break
		}
		fmt.Fprintf(&b, "; referrer %s: %v", p.Referrer, p.Err)
	}
	return b.String()
}

// Unwrap returns the kinds.
func (f *Failure) Unwrap() []error {
	if len(f.Problems) == 0 {
		return []error{ErrNoSignature}
	}
	var out []error
	for _, p := range f.Problems {
		out = append(out, p.Err)
	}
	return out
}

func what(predicate string) string {
	if predicate == PredicateSignature {
		return "signature"
	}
	return "signed statement " + printable(predicate)
}

// printable makes text from a bundle fit for a message.
func printable(s string) string {
	const limit = 120
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfffd {
			return '?'
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > limit {
		s = string(runes[:limit]) + "…"
	}
	return s
}
