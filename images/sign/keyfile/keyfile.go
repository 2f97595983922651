// Package keyfile reads private keys for signing: PEM files as openssl writes them
// (PKCS#8, SEC 1, PKCS#1, encrypted or not), and those of cosign
// generate-key-pair, which are encrypted.
//
// Neither keys nor passwords are ever in an error.
//
// Not in this package: public keys and signing (images/sign), and keys in hardware
// or in the services of clouds.
package keyfile

import (
	"bytes"
	"crypto"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/captf-toolkit/captf/images/regular"
	"github.com/captf-toolkit/captf/images/sign"
)

// PasswordVariable is the environment variable with the password of an encrypted
// key, the one that cosign has.
const PasswordVariable = "COSIGN_PASSWORD"

// ErrPassword tells that a key is encrypted and the password is wrong or missing.
var ErrPassword = errors.New("the key is encrypted, and the password does not open it")

// Password returns the password of a key; it is asked only for encrypted keys.
type Password func() ([]byte, error)

// Load reads the private key in a file.
func Load(path string, password Password) (crypto.Signer, error) {
	raw, err := regular.Read(path, sign.MaxKey)
	if err != nil {
		return nil, fmt.Errorf("reading private key: %w", err)
	}
	signer, err := Parse(raw, password)
	if err != nil {
		return nil, fmt.Errorf("reading private key %s: %w", path, err)
	}
	return signer, nil
}

// Parse reads a private key in PEM.
func Parse(raw []byte, password Password) (crypto.Signer, error) {
	if len(raw) > sign.MaxKey {
		return nil, sign.Errorf(sign.ErrTooLarge, "it is larger than %d KiB, which no key is", sign.MaxKey>>10)
	}
	block, rest := pem.Decode(raw)
	if block != nil && block.Type == "EC PARAMETERS" { // openssl ecparam writes it before the key.
		raw = rest
		block, rest = pem.Decode(rest)
	}
	switch {
	case block == nil:
		return nil, sign.Errorf(sign.ErrFormat, "it is not PEM; a private key begins with -----BEGIN PRIVATE KEY-----")
	case block.Type == "OPENSSH PRIVATE KEY":
		return nil, sign.Errorf(sign.ErrFormat, "it is a key of OpenSSH; make one with \"openssl genpkey\" or \"cosign generate-key-pair\"")
	case strings.HasSuffix(block.Type, "PUBLIC KEY"):
		return nil, sign.Errorf(sign.ErrFormat, "it is a public key, not a private key; sign with the private key, and verify with the public one")
	case !strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return nil, sign.Errorf(sign.ErrFormat, "it is not a private key; a private key begins with -----BEGIN PRIVATE KEY-----")
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, sign.Errorf(sign.ErrFormat, "something follows the key; keep one key in a file")
	}
	encrypted := false
	var asked error
	key, err := cryptoutils.UnmarshalPEMToPrivateKey(raw, func(bool) ([]byte, error) {
		encrypted = true
		b, err := password()
		asked = err
		return b, err
	})
	switch {
	case asked != nil:
		return nil, asked
	case err != nil && encrypted:
		return nil, ErrPassword // What the library says could quote what it decrypted.
	case err != nil:
		return nil, sign.Errorf(sign.ErrFormat, "it is not a valid %s", block.Type)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, sign.Errorf(sign.ErrKeyType, "it cannot sign (%T)", key)
	}
	if _, err := sign.NewPublicKey(signer.Public()); err != nil {
		return nil, err
	}
	return signer, nil
}
