package keyless_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/captf-toolkit/captf/images/sign"
	"github.com/captf-toolkit/captf/images/sign/keyless"
)

const (
	workflow = "https://git.example.com/modules/.github/workflows/release.yaml@refs/tags/v1.0.0"
	issuer   = "https://token.example.com"
)

func digest(t *testing.T, s string) v1.Hash {
	t.Helper()
	h, _, err := v1.SHA256(strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// cloud is a Sigstore deployment in memory.
func cloud(t *testing.T) *ca.VirtualSigstore {
	t.Helper()
	c, err := ca.NewVirtualSigstore()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rootFile writes the trusted root of a deployment.
func rootFile(t *testing.T, c *ca.VirtualSigstore) string {
	t.Helper()
	logs := c.RekorLogs()
	for id, log := range logs { // It has the text of the identifier where its bytes belong.
		raw, err := hex.DecodeString(id)
		if err != nil {
			t.Fatal(err)
		}
		log.ID = raw
	}
	r, err := root.NewTrustedRoot(root.TrustedRootMediaType01, c.FulcioCertificateAuthorities(), nil, c.TimestampingAuthorities(), logs)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := r.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "trusted-root.json")
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// bundle signs a statement about the image in the deployment, at a time.
func bundle(t *testing.T, c *ca.VirtualSigstore, image v1.Hash, at time.Time) []byte {
	t.Helper()
	payload, err := sign.NewSignature(image).Payload()
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.AttestAtTime(workflow, issuer, payload, at, true)
	if err != nil {
		t.Fatal(err)
	}
	content, err := e.VerificationContent()
	if err != nil {
		t.Fatal(err)
	}
	signature, err := e.SignatureContent()
	if err != nil {
		t.Fatal(err)
	}
	times, err := e.Timestamps()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := e.TlogEntries()
	if err != nil {
		t.Fatal(err)
	}
	material := &protobundle.VerificationMaterial{
		Content:                   &protobundle.VerificationMaterial_Certificate{Certificate: &protocommon.X509Certificate{RawBytes: content.Certificate().Raw}},
		TimestampVerificationData: &protobundle.TimestampVerificationData{},
	}
	for _, entry := range entries {
		// The deployment's entries lack what only files need.
		log := entry.TransparencyLogEntry()
		log.KindVersion = &protorekor.KindVersion{Kind: "dsse", Version: "0.0.1"}
		promise, err := c.RekorSignPayload(tlog.RekorPayload{
			Body: base64.StdEncoding.EncodeToString(log.CanonicalizedBody), IntegratedTime: log.IntegratedTime,
			LogIndex: log.LogIndex, LogID: hex.EncodeToString(log.LogId.KeyId),
		})
		if err != nil {
			t.Fatal(err)
		}
		log.InclusionPromise = &protorekor.InclusionPromise{SignedEntryTimestamp: promise}
		material.TlogEntries = append(material.TlogEntries, log)
	}
	for _, stamp := range times {
		material.TimestampVerificationData.Rfc3161Timestamps = append(material.TimestampVerificationData.Rfc3161Timestamps, &protocommon.RFC3161SignedTimestamp{SignedTimestamp: stamp})
	}
	raw, err := protojson.Marshal(&protobundle.Bundle{
		MediaType: sign.MediaType, VerificationMaterial: material,
		Content: &protobundle.Bundle_DsseEnvelope{DsseEnvelope: &protodsse.Envelope{
			Payload: payload, PayloadType: sign.PayloadType, Signatures: []*protodsse.Signature{{Sig: signature.Signature()}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// one is a bundle that is attached.
type one []byte

func (o one) List(context.Context, v1.Hash) ([]v1.Descriptor, error) {
	return []v1.Descriptor{{ArtifactType: sign.MediaType}}, nil
}

func (o one) Content(context.Context, v1.Descriptor, int64) ([]byte, string, error) {
	return o, sign.MediaType, nil
}

func verifier(t *testing.T, rootFile string, who keyless.Identity) *keyless.Verifier {
	t.Helper()
	trusted, err := keyless.LoadRoot(rootFile)
	if err != nil {
		t.Fatal(err)
	}
	v, err := keyless.New(trusted, who)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVerify(t *testing.T) {
	c, image := cloud(t), digest(t, "image")
	now := time.Now().Add(5 * time.Minute) // When the certificates of the deployment are valid.
	good := bundle(t, c, image, now)
	other := cloud(t)
	change := func(edit func(envelope map[string]any)) []byte {
		var doc map[string]any
		if err := json.Unmarshal(good, &doc); err != nil {
			t.Fatal(err)
		}
		edit(doc["dsseEnvelope"].(map[string]any))
		raw, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	exact := keyless.Identity{Name: workflow, Issuer: issuer}
	cases := map[string]struct {
		raw  []byte
		who  keyless.Identity
		root *ca.VirtualSigstore
		kind error
	}{
		"exact":            {raw: good, who: exact},
		"expressions":      {raw: good, who: keyless.Identity{NameRegexp: `https://git\.example\.com/modules/.*`, IssuerRegexp: "https://token.*"}},
		"other name":       {raw: good, who: keyless.Identity{Name: "someone@example.com", Issuer: issuer}, kind: sign.ErrIdentity},
		"other issuer":     {raw: good, who: keyless.Identity{Name: workflow, Issuer: "https://evil.example.com"}, kind: sign.ErrIdentity},
		"part of the name": {raw: good, who: keyless.Identity{NameRegexp: `git\.example\.com`, Issuer: issuer}, kind: sign.ErrIdentity},
		"other image":      {raw: bundle(t, c, digest(t, "other"), now), who: exact, kind: sign.ErrSubject},
		"other root":       {raw: good, who: exact, root: other, kind: sign.ErrUntrusted},
		"payload": {raw: change(func(e map[string]any) {
			payload, err := sign.NewStatement("x", image, sign.PredicateSignature, json.RawMessage("{}")).Payload()
			if err != nil {
				t.Fatal(err)
			}
			e["payload"] = base64.StdEncoding.EncodeToString(payload)
		}), who: exact, kind: sign.ErrTampered},
		"signature": {raw: change(func(e map[string]any) {
			s := e["signatures"].([]any)[0].(map[string]any)
			raw, err := base64.StdEncoding.DecodeString(s["sig"].(string))
			if err != nil {
				t.Fatal(err)
			}
			raw[len(raw)-1] ^= 1
			s["sig"] = base64.StdEncoding.EncodeToString(raw)
		}), who: exact, kind: sign.ErrTampered},
		"expired": {raw: bundle(t, c, image, time.Now().Add(50*time.Minute)), who: exact, kind: sign.ErrExpired},
		"broken":  {raw: []byte(strings.Replace(string(good), `"certificate"`, `"x509CertificateChain"`, 1)), who: exact, kind: sign.ErrFormat},
	}
	for name, k := range cases {
		t.Run(name, func(t *testing.T) {
			from := k.root
			if from == nil {
				from = c
			}
			got, err := verifier(t, rootFile(t, from), k.who).Verify(t.Context(), one(k.raw), image, sign.PredicateSignature)
			if !errors.Is(err, k.kind) || k.kind != nil && !sign.IsUnsigned(err) {
				t.Fatalf("got %v, want %v", err, k.kind)
			}
			if k.kind == nil && (len(got) != 1 || got[0].Signer != workflow+" of "+issuer) {
				t.Errorf("got %+v", got)
			}
			if err != nil {
				t.Log(err)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for name, who := range map[string]keyless.Identity{
		"nobody": {}, "no issuer": {Name: "x"}, "no name": {Issuer: "x"},
		"name expression": {NameRegexp: "(", Issuer: "x"}, "issuer expression": {Name: "x", IssuerRegexp: "("},
	} {
		trusted, err := keyless.LoadRoot(rootFile(t, cloud(t)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keyless.New(trusted, who); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	dir := t.TempDir()
	for name, content := range map[string]string{"html": "<html>", "large": strings.Repeat(" ", 5<<20), "empty": "{}"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := keyless.LoadRoot(path); err == nil || !strings.Contains(fmt.Sprint(err), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := keyless.LoadRoot(filepath.Join(dir, "nowhere")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	// A bundle of a key is not one of an identity.
	raw, err := os.ReadFile("../testdata/bundle.json")
	if err != nil {
		t.Fatal(err)
	}
	v := verifier(t, rootFile(t, cloud(t)), keyless.Identity{Name: "x", Issuer: "x"})
	if _, err := v.Verify(t.Context(), one(raw), digest(t, "image"), sign.PredicateSignature); !errors.Is(err, sign.ErrIdentity) {
		t.Error(err)
	}
}
