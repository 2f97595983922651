package sign_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"
	"pgregory.net/rapid"

	"github.com/captf-toolkit/captf/images/sign"
)

// signers has a key of each type that is supported. They are made once, RSA takes long.
var signers = sync.OnceValue(func() map[string]crypto.Signer {
	out := map[string]crypto.Signer{}
	for name, curve := range map[string]elliptic.Curve{"p256": elliptic.P256(), "p384": elliptic.P384(), "p521": elliptic.P521()} {
		out[name] = must(ecdsa.GenerateKey(curve, rand.Reader))
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	out["ed25519"] = must(private, err)
	out["rsa"] = must(rsa.GenerateKey(rand.Reader, 2048))
	return out
})

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func digest(s string) v1.Hash { return must2(v1.SHA256(strings.NewReader(s))) }

func must2(h v1.Hash, _ int64, err error) v1.Hash { return must(h, err) }

func public(t *testing.T, s crypto.Signer) sign.PublicKey {
	t.Helper()
	key, err := sign.NewPublicKey(s.Public())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func signed(t *testing.T, image v1.Hash, s crypto.Signer) *sign.Bundle {
	t.Helper()
	b, err := sign.Sign(sign.NewSignature(image), s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// attached is a list of bundles in memory.
type attached struct {
	contents  [][]byte
	mediaType string
	err       error
}

func (a attached) List(context.Context, v1.Hash) ([]v1.Descriptor, error) {
	list := []v1.Descriptor{{ArtifactType: "application/spdx+json", Digest: digest("other")}}
	for _, c := range a.contents {
		list = append(list, v1.Descriptor{ArtifactType: sign.MediaType, Digest: digest(string(c))})
	}
	return list, nil
}

func (a attached) Content(_ context.Context, d v1.Descriptor, limit int64) ([]byte, string, error) {
	if a.err != nil {
		return nil, "", a.err
	}
	for _, c := range a.contents {
		if digest(string(c)) == d.Digest {
			mediaType := a.mediaType
			if mediaType == "" {
				mediaType = sign.MediaType
			}
			return c, mediaType, nil
		}
	}
	return nil, "", fmt.Errorf("nothing has the digest %s and %d bytes", d.Digest, limit)
}

func TestSignAndVerify(t *testing.T) {
	image := digest("image")
	for name, s := range signers() {
		t.Run(name, func(t *testing.T) {
			b := signed(t, image, s)
			got, err := sign.VerifyKey(t.Context(), attached{contents: [][]byte{b.Raw}}, image, public(t, s), sign.PredicateSignature)
			if err != nil {
				t.Fatal(err)
			}
			want := []sign.Verified{{Referrer: digest(string(b.Raw)), Signer: "key " + public(t, s).ID, Statement: sign.NewSignature(image)}}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if again := signed(t, image, s); !bytes.Equal(again.Raw, b.Raw) {
				t.Error("signing twice gives different bundles")
			}
			annotations, err := b.Annotations()
			if err != nil || annotations["dev.sigstore.bundle.predicateType"] != sign.PredicateSignature {
				t.Errorf("annotations %v, %v", annotations, err)
			}
		})
	}
}

// TestSigstoreVerifies has the verifier of Sigstore's own library verify our bundles.
func TestSigstoreVerifies(t *testing.T) {
	image := digest("image")
	raw := must(hexBytes(image))
	for name, s := range signers() {
		t.Run(name, func(t *testing.T) {
			b := signed(t, image, s)
			var theirs bundle.Bundle
			if err := theirs.UnmarshalJSON(b.Raw); err != nil {
				t.Fatal(err)
			}
			verifier, err := signature.LoadDefaultVerifier(s.Public())
			if err != nil {
				t.Fatal(err)
			}
			keys := root.NewTrustedPublicKeyMaterialFromMapping(map[string]*root.ExpiringKey{
				public(t, s).ID: root.NewExpiringKey(verifier, time.Time{}, time.Time{}),
			})
			v, err := verify.NewVerifier(keys, verify.WithNoObserverTimestamps())
			if err != nil {
				t.Fatal(err)
			}
			result, err := v.Verify(&theirs, verify.NewPolicy(verify.WithArtifactDigest("sha256", raw), verify.WithKey()))
			if err != nil {
				t.Fatal(err)
			}
			if result.Statement.GetPredicateType() != sign.PredicateSignature {
				t.Errorf("statement %v", result.Statement)
			}
			if err := result.Statement.Validate(); err != nil {
				t.Error(err)
			}
			other := must(hexBytes(digest("other")))
			if _, err := v.Verify(&theirs, verify.NewPolicy(verify.WithArtifactDigest("sha256", other), verify.WithKey())); err == nil {
				t.Error("verifies for another image")
			}
		})
	}
}

func hexBytes(h v1.Hash) ([]byte, error) {
	var out []byte
	_, err := fmt.Sscanf(h.Hex, "%x", &out)
	return out, err
}

// TestAnyFlippedBit: no bit of payload or signature can be changed.
func TestAnyFlippedBit(t *testing.T) {
	for name, s := range signers() {
		t.Run(name, func(t *testing.T) {
			key := public(t, s)
			rapid.Check(t, func(t *rapid.T) {
				statement := sign.NewStatement(rapid.String().Draw(t, "name"), digest(rapid.String().Draw(t, "image")),
					rapid.StringN(1, 20, 40).Draw(t, "predicate type"), json.RawMessage(`{"a":1}`))
				b, err := sign.Sign(statement, s)
				if err != nil {
					t.Fatal(err)
				}
				read, err := sign.ParseBundle(b.Raw)
				if err != nil {
					t.Fatal(err)
				}
				if !key.Verify(read) {
					t.Fatal("does not verify")
				}
				part := &read.Payload
				if rapid.Bool().Draw(t, "signature") {
					part = &read.Signature
				}
				changed := bytes.Clone(*part)
				changed[rapid.IntRange(0, len(changed)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
				*part = changed
				if key.Verify(read) {
					t.Fatal("verifies after a change")
				}
			})
		})
	}
}

// edit changes the JSON of a bundle.
func edit(t *testing.T, raw []byte, change func(map[string]any)) []byte {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	change(doc)
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRefused(t *testing.T) {
	image, ours, theirs := digest("image"), signers()["p256"], signers()["ed25519"]
	good := signed(t, image, ours).Raw
	in := func(doc map[string]any, key string) map[string]any { return doc[key].(map[string]any) }
	cases := map[string]struct {
		raw  []byte
		kind error
		text string
	}{
		"other key": {signed(t, image, theirs).Raw, sign.ErrOtherKey, "it is signed by the key " + public(t, theirs).ID},
		"no hint": {edit(t, good, func(d map[string]any) {
			in(d, "verificationMaterial")["publicKey"] = map[string]any{}
			in(d, "dsseEnvelope")["payload"] = "e30="
		}), sign.ErrOtherKey, "by another key, or was changed"},
		"payload": {edit(t, good, func(d map[string]any) {
			in(d, "dsseEnvelope")["payload"] = base64.StdEncoding.EncodeToString([]byte(`{}`))
		}), sign.ErrTampered, "changed after signing"},
		"signature": {edit(t, good, func(d map[string]any) { in(d, "dsseEnvelope")["signatures"] = []any{map[string]any{"sig": "MEUCIQ=="}} }), sign.ErrTampered, "changed after signing"},
		"subject":   {signed(t, digest("another image"), ours).Raw, sign.ErrSubject, "it is about " + digest("another image").String()},
		"certificate": {edit(t, good, func(d map[string]any) {
			d["verificationMaterial"] = map[string]any{"certificate": map[string]any{"rawBytes": "AA=="}}
		}), sign.ErrOtherKey, "with a certificate"},
		"both":         {edit(t, good, func(d map[string]any) { in(d, "verificationMaterial")["certificate"] = map[string]any{} }), sign.ErrFormat, "both a key and a certificate"},
		"neither":      {edit(t, good, func(d map[string]any) { d["verificationMaterial"] = map[string]any{} }), sign.ErrFormat, "neither a key nor"},
		"message":      {edit(t, good, func(d map[string]any) { delete(d, "dsseEnvelope"); d["messageSignature"] = map[string]any{} }), sign.ErrFormat, "the signature of a file"},
		"no envelope":  {edit(t, good, func(d map[string]any) { delete(d, "dsseEnvelope") }), sign.ErrFormat, "no DSSE envelope"},
		"payload type": {edit(t, good, func(d map[string]any) { in(d, "dsseEnvelope")["payloadType"] = "text/plain" }), sign.ErrFormat, `"text/plain"`},
		"two signatures": {edit(t, good, func(d map[string]any) {
			e := in(d, "dsseEnvelope")
			e["signatures"] = append(e["signatures"].([]any), e["signatures"].([]any)...)
		}), sign.ErrFormat, "2 signatures"},
		"version":       {edit(t, good, func(d map[string]any) { d["mediaType"] = "application/vnd.dev.sigstore.bundle.v0.9+json" }), sign.ErrFormat, "v0.9+json"},
		"not JSON":      {[]byte("<html>"), sign.ErrFormat, "not a valid bundle"},
		"empty":         {[]byte{}, sign.ErrFormat, "not a valid bundle"},
		"duplicate":     {append([]byte(`{"mediaType":"x",`), good[1:]...), sign.ErrFormat, "duplicate"},
		"too large":     {bytes.Repeat([]byte(" "), sign.MaxBundle+1), sign.ErrTooLarge, "at most 16 MiB"},
		"statement":     {signedPayload(t, ours, `{"_type":"x"}`), sign.ErrFormat, `its payload is "x"`},
		"no subject":    {signedPayload(t, ours, `{"_type":"https://in-toto.io/Statement/v1","predicateType":"x"}`), sign.ErrFormat, "no subject"},
		"no type":       {signedPayload(t, ours, `{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{}}]}`), sign.ErrFormat, "no predicate type"},
		"payload twice": {signedPayload(t, ours, `{"_type":"x","_type":"https://in-toto.io/Statement/v1"}`), sign.ErrFormat, "duplicate"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := sign.VerifyKey(t.Context(), attached{contents: [][]byte{c.raw}}, image, public(t, ours), sign.PredicateSignature)
			if !errors.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.text) || !sign.IsUnsigned(err) {
				t.Errorf("got %v, want %v with %q", err, c.kind, c.text)
			}
			// A bad one beside a good one does no harm.
			if _, err := sign.VerifyKey(t.Context(), attached{contents: [][]byte{c.raw, good}}, image, public(t, ours), sign.PredicateSignature); err != nil {
				t.Error(err)
			}
		})
	}
}

// signedPayload is a valid signature of any payload.
func signedPayload(t *testing.T, s crypto.Signer, payload string) []byte {
	t.Helper()
	pae := fmt.Sprintf("DSSEv1 %d %s %d %s", len(sign.PayloadType), sign.PayloadType, len(payload), payload)
	h := crypto.SHA256.New()
	h.Write([]byte(pae))
	sig, err := s.Sign(rand.Reader, h.Sum(nil), crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	return edit(t, signed(t, digest("x"), s).Raw, func(d map[string]any) {
		e := d["dsseEnvelope"].(map[string]any)
		e["payload"] = base64.StdEncoding.EncodeToString([]byte(payload))
		e["signatures"] = []any{map[string]any{"sig": base64.StdEncoding.EncodeToString(sig)}}
	})
}

func TestNothingAttached(t *testing.T) {
	key := public(t, signers()["p256"])
	_, err := sign.VerifyKey(t.Context(), attached{}, digest("image"), key, sign.PredicateSignature)
	if !errors.Is(err, sign.ErrNoSignature) || !strings.Contains(err.Error(), sign.MediaType) || !sign.IsUnsigned(err) {
		t.Error(err)
	}
	// A signed statement of another type is no signature.
	b, err := sign.Sign(sign.NewStatement("", digest("image"), sign.PredicateSPDX, json.RawMessage("{}")), signers()["p256"])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sign.VerifyKey(t.Context(), attached{contents: [][]byte{b.Raw}}, digest("image"), key, sign.PredicateSignature); !errors.Is(err, sign.ErrNoSignature) {
		t.Error(err)
	}
	if _, err := sign.VerifyKey(t.Context(), attached{contents: [][]byte{b.Raw}}, digest("image"), key, sign.PredicateSPDX); err != nil {
		t.Error(err)
	}
	// What cannot be read is not unsigned.
	_, err = sign.VerifyKey(t.Context(), attached{contents: [][]byte{b.Raw}, err: os.ErrDeadlineExceeded}, digest("image"), key, sign.PredicateSignature)
	if !errors.Is(err, os.ErrDeadlineExceeded) || sign.IsUnsigned(err) {
		t.Error(err)
	}
	_, err = sign.VerifyKey(t.Context(), attached{contents: [][]byte{b.Raw}, mediaType: "text/html"}, digest("image"), key, sign.PredicateSignature)
	if !errors.Is(err, sign.ErrFormat) || !strings.Contains(err.Error(), `"text/html"`) {
		t.Error(err)
	}
}

// TestFixture: a bundle that a release wrote is verified by all later ones.
func TestFixture(t *testing.T) {
	raw, err := os.ReadFile("testdata/bundle.json")
	if err != nil {
		t.Fatal(err)
	}
	keyFile, err := os.ReadFile("testdata/cosign.pub")
	if err != nil {
		t.Fatal(err)
	}
	key, err := sign.ParsePublicKey(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sign.VerifyKey(t.Context(), attached{contents: [][]byte{raw}}, digest("image"), key, sign.PredicateSignature); err != nil {
		t.Error(err)
	}
	again, err := key.PEM()
	if err != nil || !bytes.Equal(again, keyFile) {
		t.Errorf("%s, %v", again, err)
	}
}

func TestPublicKeys(t *testing.T) {
	block := func(kind string, b []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}) }
	small := must(rsa.GenerateKey(rand.Reader, 1024))
	good := must(public(t, signers()["p256"]).PEM())
	cases := map[string]struct {
		raw  []byte
		kind error
		text string
	}{
		"not PEM":     {[]byte("ssh-ed25519 AAAA"), sign.ErrFormat, "not PEM"},
		"private":     {block("PRIVATE KEY", []byte("secret")), sign.ErrFormat, "private key"},
		"certificate": {block("CERTIFICATE", nil), sign.ErrFormat, "certificate"},
		"other":       {block("PGP", nil), sign.ErrFormat, `"PGP"`},
		"broken":      {block("PUBLIC KEY", []byte("x")), sign.ErrFormat, "reading public key"},
		"two":         {append(bytes.Clone(good), good...), sign.ErrFormat, "something follows"},
		"large":       {make([]byte, sign.MaxKey+1), sign.ErrTooLarge, "64 KiB"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := sign.ParsePublicKey(c.raw)
			if !errors.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.text) {
				t.Errorf("got %v, want %v with %q", err, c.kind, c.text)
			}
		})
	}
	for name, key := range map[string]crypto.PublicKey{
		"of 1024 bits": small.Public(), "P-224": must(ecdsa.GenerateKey(elliptic.P224(), rand.Reader)).Public(), "type string": "x",
	} {
		if _, err := sign.NewPublicKey(key); !errors.Is(err, sign.ErrKeyType) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzBundle(f *testing.F) {
	raw, err := os.ReadFile("testdata/bundle.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","dsseEnvelope":{"payload":"e30=","payloadType":"application/vnd.in-toto+json","signatures":[{"sig":"AA=="}]},"verificationMaterial":{"certificate":{}}}`))
	key, err := sign.ParsePublicKey(must(os.ReadFile("testdata/cosign.pub")))
	if err != nil {
		f.Fatal(err)
	}
	want := must(sign.ParseBundle(raw)).Payload
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := sign.ParseBundle(raw)
		if err != nil {
			if _, ok := errors.AsType[*sign.Error](err); !ok {
				t.Errorf("error %T %v", err, err)
			}
			return
		}
		if key.Verify(b) && !bytes.Equal(b.Payload, want) {
			t.Errorf("verifies %q", b.Payload)
		}
		if s, err := b.Statement(); err == nil {
			_ = s.CheckSubject(digest("image"))
		}
	})
}
