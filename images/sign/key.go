package sign

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"

	"github.com/captf-toolkit/captf/images/regular"
)

// minRSA is the smallest RSA key in bits.
const minRSA = 2048

// MaxKey is the limit of a key file in bytes.
const MaxKey = 64 << 10

// PublicKey verifies signatures.
type PublicKey struct {
	// ID is the hint that Sigstore's tools give of the key: the base64 SHA-256 of
	// its DER form.
	ID string

	key  crypto.PublicKey
	hash crypto.Hash // 0: the key takes the whole message
}

// NewPublicKey checks that a key is of a supported type: ECDSA on P-256, P-384 or
// P-521, Ed25519, or RSA of 2048 bits or more.
func NewPublicKey(key crypto.PublicKey) (PublicKey, error) {
	out := PublicKey{key: key}
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		switch k.Curve {
		case elliptic.P256():
			out.hash = crypto.SHA256
		case elliptic.P384():
			out.hash = crypto.SHA384
		case elliptic.P521():
			out.hash = crypto.SHA512
		default:
			return PublicKey{}, keyTypeError("an ECDSA key on the curve " + k.Curve.Params().Name)
		}
	case ed25519.PublicKey:
	case *rsa.PublicKey:
		if k.N.BitLen() < minRSA {
			return PublicKey{}, keyTypeError(fmt.Sprintf("an RSA key of %d bits", k.N.BitLen()))
		}
		out.hash = crypto.SHA256
	default:
		return PublicKey{}, keyTypeError(fmt.Sprintf("a key of the type %T", key))
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return PublicKey{}, Errorf(ErrKeyType, "reading public key: %s", printable(err.Error()))
	}
	sum := sha256.Sum256(der)
	out.ID = base64.StdEncoding.EncodeToString(sum[:])
	return out, nil
}

func keyTypeError(what string) error {
	return Errorf(ErrKeyType, "it is %s; use ECDSA on P-256, P-384 or P-521, Ed25519, or RSA of at least %d bits", what, minRSA)
}

// ReadPublicKey reads a public key from a file; see ParsePublicKey.
func ReadPublicKey(path string) (PublicKey, error) {
	raw, err := regular.Read(path, MaxKey)
	if err != nil {
		return PublicKey{}, fmt.Errorf("reading public key: %w", err)
	}
	key, err := ParsePublicKey(raw)
	if err != nil {
		return PublicKey{}, fmt.Errorf("reading public key %s: %w", path, err)
	}
	return key, nil
}

// ParsePublicKey reads a public key in PEM.
func ParsePublicKey(raw []byte) (PublicKey, error) {
	if len(raw) > MaxKey {
		return PublicKey{}, Errorf(ErrTooLarge, "reading public key: it has %d bytes; a key has at most %d KiB", len(raw), MaxKey>>10)
	}
	block, rest := pem.Decode(raw)
	switch {
	case block == nil:
		return PublicKey{}, Errorf(ErrFormat, "reading public key: it is not PEM; a public key begins with -----BEGIN PUBLIC KEY-----")
	case len(bytes.TrimSpace(rest)) > 0:
		return PublicKey{}, Errorf(ErrFormat, "reading public key: something follows the key; give one key only")
	}
	var key crypto.PublicKey
	var err error
	switch {
	case block.Type == "PUBLIC KEY":
		key, err = x509.ParsePKIXPublicKey(block.Bytes)
	case block.Type == "RSA PUBLIC KEY":
		key, err = x509.ParsePKCS1PublicKey(block.Bytes)
	case strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return PublicKey{}, Errorf(ErrFormat, "reading public key: it is a private key; give the public one")
	case block.Type == "CERTIFICATE":
		return PublicKey{}, Errorf(ErrFormat, "reading public key: it is a certificate; give a public key, or verify by identity")
	default:
		return PublicKey{}, Errorf(ErrFormat, "reading public key: it is of the type %q; a public key begins with -----BEGIN PUBLIC KEY-----", printable(block.Type))
	}
	if err != nil {
		return PublicKey{}, Errorf(ErrFormat, "reading public key: %s", printable(err.Error()))
	}
	out, err := NewPublicKey(key)
	if err != nil {
		return PublicKey{}, fmt.Errorf("reading public key: %w", err)
	}
	return out, nil
}

// PEM returns the key in the form that ParsePublicKey reads.
func (k PublicKey) PEM() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(k.key)
	if err != nil {
		return nil, fmt.Errorf("writing public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// Verify tells whether the signature of the bundle is by the key.
func (k PublicKey) Verify(b *Bundle) bool {
	message := preAuthEncoding(b.Payload)
	switch key := k.key.(type) {
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(key, k.digest(message), b.Signature)
	case ed25519.PublicKey:
		return ed25519.Verify(key, message, b.Signature)
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(key, k.hash, k.digest(message), b.Signature) == nil
	}
	return false
}

func (k PublicKey) digest(message []byte) []byte {
	if k.hash == 0 {
		return message
	}
	h := k.hash.New()
	h.Write(message)
	return h.Sum(nil)
}

// Sign signs a statement. With a key in memory the same statement gives the same
// bundle, so signing twice attaches one signature.
func Sign(s Statement, signer crypto.Signer) (*Bundle, error) {
	public, err := NewPublicKey(signer.Public())
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	payload, err := s.Payload()
	if err != nil {
		return nil, err
	}
	random := rand.Reader
	if _, ok := signer.(*ecdsa.PrivateKey); ok {
		random = nil // RFC 6979: the nonce is made of the key and the message.
	}
	signature, err := signer.Sign(random, public.digest(preAuthEncoding(payload)), public.hash)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	b, err := newBundle(payload, signature, public.ID)
	if err != nil {
		return nil, err
	}
	if !public.Verify(b) {
		return nil, Errorf(ErrTampered, "signing: the signature is not valid; the private and the public key do not belong together")
	}
	return b, nil
}
