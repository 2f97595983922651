package main

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/images/attest"
	"github.com/captf-toolkit/captf/images/imagetest"
	"github.com/captf-toolkit/captf/images/referrer"
	"github.com/captf-toolkit/captf/images/sign"
	"github.com/captf-toolkit/captf/images/source"
)

// keyPair returns a private key and a file with the public one.
func keyPair(t *testing.T) (ed25519.PrivateKey, string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := sign.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := key.PEM()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "captf.pub")
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return private, file
}

func TestVerifyKey(t *testing.T) {
	private, ours := keyPair(t)
	_, other := keyPair(t)
	layout := noopImage(t, nil)
	for place, ref := range map[string]string{"layout": layout, "registry": push(t, imagetest.Registry(t), layout)} {
		t.Run(place, func(t *testing.T) {
			verify := func(key string, want int, text string) {
				t.Helper()
				code, stdout, stderr := lintImage(t, "--role", "machine", "--strict", "--all-platforms", "--verify-key", key, ref)
				if code != want || !strings.Contains(stdout+stderr, text) {
					t.Errorf("exit %d, want %d with %q\n%s%s", code, want, text, stdout, stderr)
				}
			}
			verify(ours, exitFindings, "image/signature")
			src, err := source.Open(t.Context(), ref, source.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			store, err := referrer.Of(src, source.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := attest.Sign(t.Context(), src, store, private, false); err != nil {
				t.Fatal(err)
			}
			verify(ours, exitClean, "0 error(s), 0 warning(s)")
			verify(other, exitFindings, "it is signed by the key")
			verify("nowhere.pub", exitUnreadable, "nowhere.pub")
			verify("main.go", exitUnreadable, "not PEM")
		})
	}
}
