// Package keyless verifies Sigstore bundles with a certificate: who signed, by the
// identity and issuer in the certificate; when, by a transparency log or a
// timestamp; all under a trusted root in a file. Nothing is fetched.
//
// It imports sigstore-go, whose packages take long to start; what only verifies
// with keys uses images/sign.
//
// Not in this package: making such bundles, which needs an identity provider and
// the services of Sigstore; cosign makes them.
package keyless

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/captf-toolkit/captf/images/regular"
	"github.com/captf-toolkit/captf/images/sign"
)

// maxRoot is the limit of a trusted root in bytes.
const maxRoot = 4 << 20

// Identity is who may have signed. One of the two of each pair is needed.
type Identity struct {
	// Name is the identity in the certificate, such as an e-mail address or the
	// URI of a workflow; NameRegexp matches it as a whole.
	Name, NameRegexp string
	// Issuer is the OpenID Connect issuer that vouched for it.
	Issuer, IssuerRegexp string
}

// Check tells whether the identity is one that can be verified.
func (i Identity) Check() error {
	if i.Name == "" && i.NameRegexp == "" || i.Issuer == "" && i.IssuerRegexp == "" {
		return errors.New("verifying by identity: an identity and its issuer are both needed: anyone can get a certificate for some identity")
	}
	return nil
}

// Verifier verifies bundles.
type Verifier struct {
	trusted  root.TrustedMaterial
	verifier *verify.Verifier
	identity verify.CertificateIdentity
	text     string
}

// LoadRoot reads a trusted root in Sigstore's JSON.
func LoadRoot(path string) (*root.TrustedRoot, error) {
	raw, err := regular.Read(path, maxRoot)
	if err != nil {
		return nil, fmt.Errorf("reading trusted root: %w", err)
	}
	if len(raw) > maxRoot {
		return nil, fmt.Errorf("reading trusted root %s: it is larger than %d MiB", path, maxRoot>>20)
	}
	r, err := root.NewTrustedRootFromJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("reading trusted root %s: %w", path, err)
	}
	return r, nil
}

// New returns a verifier. What the trusted root has is demanded of a bundle: an
// entry in a transparency log if it has logs, a certificate timestamp if it has
// certificate logs; and always a trusted time.
func New(trusted root.TrustedMaterial, who Identity) (*Verifier, error) {
	if err := who.Check(); err != nil {
		return nil, err
	}
	// The library's expressions match a part, which makes most of them too weak.
	whole := func(expr string) (string, error) {
		if expr == "" {
			return "", nil
		}
		if _, err := regexp.Compile(expr); err != nil {
			return "", err
		}
		return `^(?:` + expr + `)$`, nil
	}
	name, err := whole(who.NameRegexp)
	if err != nil {
		return nil, fmt.Errorf("parsing the expression for the identity: %w", err)
	}
	issuer, err := whole(who.IssuerRegexp)
	if err != nil {
		return nil, fmt.Errorf("parsing the expression for the issuer: %w", err)
	}
	identity, err := verify.NewShortCertificateIdentity(who.Issuer, issuer, who.Name, name)
	if err != nil {
		return nil, fmt.Errorf("verifying by identity: %w", err)
	}
	options := []verify.VerifierOption{verify.WithObserverTimestamps(1)}
	if len(trusted.RekorLogs()) > 0 {
		options = append(options, verify.WithTransparencyLog(1))
	}
	if len(trusted.CTLogs()) > 0 {
		options = append(options, verify.WithSignedCertificateTimestamps(1))
	}
	v, err := verify.NewVerifier(trusted, options...)
	if err != nil {
		return nil, fmt.Errorf("verifying by identity: %w", err)
	}
	text := who.Name + who.NameRegexp + " of " + who.Issuer + who.IssuerRegexp
	return &Verifier{trusted: trusted, verifier: v, identity: identity, text: text}, nil
}

// Verify returns the bundles attached to the image that the identity signed and
// whose statement has the predicate type; see sign.VerifyKey for its errors.
func (v *Verifier) Verify(ctx context.Context, from sign.Referrers, image v1.Hash, predicate string) ([]sign.Verified, error) {
	return sign.Verify(ctx, from, image, predicate, v.text, func(b *sign.Bundle) (string, error) { return v.check(b, image) })
}

func (v *Verifier) check(b *sign.Bundle, image v1.Hash) (string, error) {
	if !b.Certificate {
		return "", sign.Errorf(sign.ErrIdentity, "it is signed with a key, not with a certificate: verify it with the key")
	}
	var entity bundle.Bundle
	if err := entity.UnmarshalJSON(b.Raw); err != nil {
		return "", sign.Errorf(sign.ErrFormat, "it is not a valid bundle: %v", err)
	}
	digest, err := hex.DecodeString(image.Hex)
	if err != nil {
		return "", fmt.Errorf("decoding digest %s: %w", image, err)
	}
	result, err := v.verifier.Verify(&entity, verify.NewPolicy(
		verify.WithArtifactDigest(image.Algorithm, digest), verify.WithCertificateIdentity(v.identity)))
	if err != nil {
		return "", v.explain(err, b, &entity, image)
	}
	c := result.Signature.Certificate
	return c.SubjectAlternativeName + " of " + c.Issuer, nil
}

// explain finds out why the library refused a bundle, where it does not tell.
func (v *Verifier) explain(err error, b *sign.Bundle, e *bundle.Bundle, image v1.Hash) error {
	if _, ok := errors.AsType[*verify.ErrNoMatchingCertificateIdentity](err); ok {
		return sign.Errorf(sign.ErrIdentity, "it is signed by someone else: %s", err)
	}
	if s, err := b.Statement(); err == nil && !s.About(image) {
		return s.CheckSubject(image)
	}
	content, contentErr := e.VerificationContent()
	if contentErr != nil || content.Certificate() == nil {
		return sign.Errorf(sign.ErrFormat, "it is not a valid bundle: %v", err)
	}
	leaf := content.Certificate()
	// The library has no types for these.
	outside := strings.Contains(err.Error(), "outside certificate validity")
	if strings.Contains(err.Error(), "not enough verified") || strings.Contains(err.Error(), "threshold not met") {
		return sign.Errorf(sign.ErrUntrusted, "no log or timestamp of the trusted root vouches for it: %s", err)
	}
	if !outside && !strings.Contains(err.Error(), "leaf certificate") {
		return sign.Errorf(sign.ErrTampered, "%s", err)
	}
	for _, authority := range v.trusted.FulcioCertificateAuthorities() {
		if _, err := authority.Verify(leaf, leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore)/2)); err == nil {
			return sign.Errorf(sign.ErrExpired, "its certificate was valid from %s to %s, and it was signed at another time",
				leaf.NotBefore.UTC().Format(time.RFC3339), leaf.NotAfter.UTC().Format(time.RFC3339))
		}
	}
	return sign.Errorf(sign.ErrUntrusted, "its certificate is not from an authority of the trusted root")
}
