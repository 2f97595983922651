package sign

import (
	"encoding/json"
	"fmt"
	"strings"
)

// MediaType is that of the bundles that are written.
const MediaType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// mediaTypePrefix begins the media types of all versions of bundles.
const mediaTypePrefix = "application/vnd.dev.sigstore.bundle"

// MaxBundle is the limit of a bundle in bytes. The bill of materials of a large
// runtime is below 1 MiB.
const MaxBundle = 16 << 20

// Bundle is a Sigstore bundle with a DSSE envelope. Bundles with certificates are
// told from those of a key, but only package keyless looks into them.
type Bundle struct {
	// Raw is the bundle byte by byte, as it was read or is to be written.
	Raw []byte
	// KeyHint says which key has signed: the base64 SHA-256 of the DER public key
	// as Sigstore's tools write it. It is not signed; empty when there is none.
	KeyHint string
	// Certificate tells that a certificate is to verify it, not a key.
	Certificate bool
	// Payload is what is signed, of the type PayloadType.
	Payload []byte
	// Signature is over the pre-authentication encoding of the payload.
	Signature []byte
}

// bundleJSON is the part of a bundle that is read and written here.
type bundleJSON struct {
	MediaType string       `json:"mediaType"`
	Material  materialJSON `json:"verificationMaterial"`
	Envelope  *envelope    `json:"dsseEnvelope,omitempty"`
	Message   *struct{}    `json:"messageSignature,omitempty"`
}

type materialJSON struct {
	PublicKey   *publicKeyJSON `json:"publicKey,omitempty"`
	Certificate *struct{}      `json:"certificate,omitempty"`
	Chain       *struct{}      `json:"x509CertificateChain,omitempty"`
}

type publicKeyJSON struct {
	Hint string `json:"hint,omitempty"`
}

type envelope struct {
	Payload     []byte          `json:"payload"`
	PayloadType string          `json:"payloadType"`
	Signatures  []signatureJSON `json:"signatures"`
}

type signatureJSON struct {
	Sig []byte `json:"sig"`
}

// IsBundle tells whether a media type or artifact type is that of a bundle.
func IsBundle(mediaType string) bool {
	rest, ok := strings.CutPrefix(mediaType, mediaTypePrefix)
	return ok && (rest == "+json" || strings.HasPrefix(rest, ".v") || strings.HasPrefix(rest, "+json;"))
}

// supported are the versions of bundles that are read, which differ in what comes
// with certificates only.
func supported(mediaType string) bool {
	switch mediaType {
	case MediaType, mediaTypePrefix + "+json;version=0.3", mediaTypePrefix + "+json;version=0.2", mediaTypePrefix + "+json;version=0.1":
		return true
	}
	return false
}

// ParseBundle reads a bundle. It verifies nothing.
func ParseBundle(raw []byte) (*Bundle, error) {
	if len(raw) > MaxBundle {
		return nil, Errorf(ErrTooLarge, "it has %d bytes; a bundle has at most %d MiB", len(raw), MaxBundle>>20)
	}
	var doc bundleJSON
	if err := unmarshal(raw, &doc); err != nil {
		return nil, Errorf(ErrFormat, "it is not a valid bundle: %s", printable(err.Error()))
	}
	switch {
	case !supported(doc.MediaType):
		return nil, Errorf(ErrFormat, "its media type is %q; bundles are read up to %s", printable(doc.MediaType), MediaType)
	case doc.Envelope == nil && doc.Message != nil:
		return nil, Errorf(ErrFormat, "it holds the signature of a file, not a DSSE envelope: sign the image with \"captf image sign\" or cosign 3")
	case doc.Envelope == nil:
		return nil, Errorf(ErrFormat, "it holds no DSSE envelope")
	case doc.Envelope.PayloadType != PayloadType:
		return nil, Errorf(ErrFormat, "its payload has the type %q instead of %s", printable(doc.Envelope.PayloadType), PayloadType)
	case len(doc.Envelope.Signatures) != 1 || len(doc.Envelope.Signatures[0].Sig) == 0:
		return nil, Errorf(ErrFormat, "its envelope has %d signatures instead of one", len(doc.Envelope.Signatures))
	}
	b := &Bundle{
		Raw: raw, Payload: doc.Envelope.Payload, Signature: doc.Envelope.Signatures[0].Sig,
		Certificate: doc.Material.Certificate != nil || doc.Material.Chain != nil,
	}
	switch key := doc.Material.PublicKey; {
	case key != nil && b.Certificate:
		return nil, Errorf(ErrFormat, "it names both a key and a certificate")
	case key != nil:
		b.KeyHint = key.Hint
	case !b.Certificate:
		return nil, Errorf(ErrFormat, "it names neither a key nor a certificate")
	}
	return b, nil
}

// Statement reads the payload. Only the statement of a verified bundle is to be
// believed.
func (b *Bundle) Statement() (Statement, error) { return ParseStatement(b.Payload) }

// newBundle makes the bundle of a signature by a key.
func newBundle(payload, signature []byte, hint string) (*Bundle, error) {
	raw, err := json.Marshal(bundleJSON{
		MediaType: MediaType,
		Material:  materialJSON{PublicKey: &publicKeyJSON{Hint: hint}},
		Envelope:  &envelope{Payload: payload, PayloadType: PayloadType, Signatures: []signatureJSON{{Sig: signature}}},
	})
	if err != nil {
		return nil, fmt.Errorf("writing bundle: %w", err)
	}
	if len(raw) > MaxBundle {
		return nil, Errorf(ErrTooLarge, "writing bundle: it has %d bytes; a bundle has at most %d MiB", len(raw), MaxBundle>>20)
	}
	return &Bundle{Raw: raw, KeyHint: hint, Payload: payload, Signature: signature}, nil
}

// preAuthEncoding is what an envelope's signature is over (DSSE 1.0).
func preAuthEncoding(payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(PayloadType), PayloadType, len(payload), payload)
}

// Annotations are those of the manifest that a bundle is attached with; cosign
// filters by them.
func (b *Bundle) Annotations() (map[string]string, error) {
	s, err := b.Statement()
	if err != nil {
		return nil, err
	}
	return map[string]string{
		"dev.sigstore.bundle.content":       "dsse-envelope",
		"dev.sigstore.bundle.predicateType": s.PredicateType,
	}, nil
}
