package keyfile_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"

	"github.com/captf-toolkit/captf/images/sign"
	"github.com/captf-toolkit/captf/images/sign/keyfile"
)

const secret = "correct horse"

func known() ([]byte, error) { return []byte(secret), nil }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func block(kind string, b []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}) }

func TestKeys(t *testing.T) {
	p256 := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	_, ed, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey := must(rsa.GenerateKey(rand.Reader, 2048))
	pkcs8 := func(k any) []byte { return must(x509.MarshalPKCS8PrivateKey(k)) }
	sealed := must(encrypted.Encrypt(pkcs8(p256), []byte(secret)))
	cases := map[string]struct {
		raw []byte
		key crypto.Signer
	}{
		"PKCS#8 ECDSA":   {block("PRIVATE KEY", pkcs8(p256)), p256},
		"PKCS#8 Ed25519": {block("PRIVATE KEY", pkcs8(ed)), ed},
		"PKCS#1":         {block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey)), rsaKey},
		"SEC 1":          {append(block("EC PARAMETERS", []byte{6, 1, 0}), block("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(p256)))...), p256},
		"cosign":         {block("ENCRYPTED SIGSTORE PRIVATE KEY", sealed), p256},
		"older cosign":   {block("ENCRYPTED COSIGN PRIVATE KEY", sealed), p256},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "key.pem")
			if err := os.WriteFile(path, c.raw, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := keyfile.Load(path, known)
			if err != nil {
				t.Fatal(err)
			}
			if public := c.key.Public().(interface{ Equal(crypto.PublicKey) bool }); !public.Equal(got.Public()) {
				t.Error("is another key")
			}
		})
	}
	if _, err := keyfile.Parse(cases["cosign"].raw, func() ([]byte, error) { return []byte("battery staple"), nil }); !errors.Is(err, keyfile.ErrPassword) {
		t.Errorf("wrong password: %v", err)
	}
	asked := errors.New("asked")
	if _, err := keyfile.Parse(cases["cosign"].raw, func() ([]byte, error) { return nil, asked }); !errors.Is(err, asked) {
		t.Errorf("no password: %v", err)
	}
	if _, err := keyfile.Load("nowhere.pem", known); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	good := block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)))))
	small := must(rsa.GenerateKey(rand.Reader, 1024))
	cases := map[string]struct {
		raw  []byte
		kind error
		text string
	}{
		"not PEM": {[]byte(secret), sign.ErrFormat, "not PEM"},
		"public":  {block("PUBLIC KEY", []byte(secret)), sign.ErrFormat, "it is a public key, not a private key; sign with the private key"},
		"OpenSSH": {block("OPENSSH PRIVATE KEY", []byte(secret)), sign.ErrFormat, "OpenSSH"},
		"broken":  {block("PRIVATE KEY", []byte(secret)), sign.ErrFormat, "not a valid PRIVATE KEY"},
		"sealed":  {block("ENCRYPTED SIGSTORE PRIVATE KEY", []byte(secret)), keyfile.ErrPassword, "encrypted"},
		"two":     {append(append([]byte{}, good...), good...), sign.ErrFormat, "something follows"},
		"large":   {make([]byte, sign.MaxKey+1), sign.ErrTooLarge, "64 KiB"},
		"weak":    {block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(small)), sign.ErrKeyType, "1024 bits"},
		"P-224":   {block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(must(ecdsa.GenerateKey(elliptic.P224(), rand.Reader))))), sign.ErrKeyType, "P-224"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := keyfile.Parse(c.raw, known)
			if !errors.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.text) || strings.Contains(fmt.Sprint(err), secret) {
				t.Errorf("got %v, want %v with %q", err, c.kind, c.text)
			}
		})
	}
}
