package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/secure-systems-lab/go-securesystemslib/encrypted"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/build"
	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/images/sign/keyfile"
)

// signedImage is an image in a layout and in a registry, and a pair of keys.
type signedImage struct{ layout, registry, key, public string }

const keyPassword = "correct horse battery staple"

func newSignedImage(t *testing.T) signedImage {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o755); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("module/main.tf", []byte("locals {}\n"))
	o := build.Options{
		Dir: filepath.Join(dir, "module"), Role: contract.RoleMachine, Contract: "v1alpha1", Runtime: image.OpenTofu, RuntimeVersion: "1.12.6",
		Binaries: map[image.Platform]string{}, Mirror: build.MirrorNone, TempDir: t.TempDir(),
	}
	for arch, machine := range map[string]uint16{"amd64": 62, "arm64": 183} {
		// The headers of an executable are enough: nothing runs it.
		b := bytes.NewBuffer([]byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0})
		for _, field := range []any{uint16(2), machine, uint32(1), [3]uint64{}, uint32(0), uint16(64), [5]uint16{}} {
			if err := binary.Write(b, binary.LittleEndian, field); err != nil {
				t.Fatal(err)
			}
		}
		o.Binaries[image.Platform{OS: "linux", Arch: arch}] = write(arch+"/tofu", b.Bytes())
	}
	r, err := build.Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	set, err := content.FromIndex(t.Context(), r.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.WriteLayout(t.Context(), filepath.Join(dir, "layout"), ""); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New())
	t.Cleanup(server.Close)
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/machine:v1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, r.Index, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := encrypted.Encrypt(private, []byte(keyPassword))
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return signedImage{
		layout: "oci:" + filepath.Join(dir, "layout"), registry: ref.String(),
		key:    write("cosign.key", pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED SIGSTORE PRIVATE KEY", Bytes: sealed})),
		public: write("cosign.pub", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
	}
}

// exits runs the command, which must end with the code.
func exits(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := captf(t, args...)
	if code != want {
		t.Fatalf("captf %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, stdout, stderr)
	}
	if strings.Contains(stdout+stderr, keyPassword) {
		t.Errorf("captf %s shows the password", strings.Join(args, " "))
	}
	return stdout, stderr
}

func TestImageSupplyChain(t *testing.T) {
	s := newSignedImage(t)
	for place, ref := range map[string]string{"layout": s.layout, "registry": s.registry} {
		t.Run(place, func(t *testing.T) {
			if _, stderr := exits(t, exitFailed, "image", "verify", "--key", s.public, ref); !strings.Contains(stderr, "no signature is attached") {
				t.Error(stderr)
			}
			if _, stderr := exits(t, exitError, "image", "sign", "--key", s.key, ref); !strings.Contains(stderr, keyfile.PasswordVariable) {
				t.Error(stderr)
			}
			t.Setenv(keyfile.PasswordVariable, keyPassword+"?")
			exits(t, exitError, "image", "sign", "--key", s.key, ref)
			t.Setenv(keyfile.PasswordVariable, keyPassword)
			stdout, _ := exits(t, exitOK, "image", "sign", "--key", s.key, ref)
			if n := strings.Count(stdout, "signature"); n != 3 {
				t.Errorf("%d signatures:\n%s", n, stdout)
			}
			if again, _ := exits(t, exitOK, "image", "sign", "--key", s.key, ref); again != stdout {
				t.Errorf("signing again differs:\n%s%s", stdout, again)
			}
			if stdout, _ := exits(t, exitOK, "image", "verify", "--key", s.public, "--recursive", ref); strings.Count(stdout, "verified") != 3 {
				t.Error(stdout)
			}
			if _, stderr := exits(t, exitFailed, "image", "verify", "--key", s.public, "--predicate", "sbom", ref); !strings.Contains(stderr, "signed statement https://spdx.dev/Document") {
				t.Error(stderr)
			}
			exits(t, exitOK, "image", "attest", ref)
			exits(t, exitFailed, "image", "verify", "--key", s.public, "--predicate", "sbom", ref) // Those are not signed.
			stdout, _ = exits(t, exitOK, "image", "attest", "--key", s.key, "--builder-id", "https://ci.example.com/release", "-o", "json", ref)
			var attached struct {
				Attached []struct{ Signed bool }
			}
			if err := json.Unmarshal([]byte(stdout), &attached); err != nil || len(attached.Attached) != 5 || !attached.Attached[0].Signed {
				t.Errorf("%v\n%s", err, stdout)
			}
			stdout, _ = exits(t, exitOK, "image", "verify", "--key", s.public, "--predicate", "signature,sbom,provenance", "--statement", ref)
			var types []string
			for line := range strings.Lines(stdout) {
				var statement struct{ PredicateType string }
				if err := json.Unmarshal([]byte(line), &statement); err != nil {
					t.Fatal(err)
				}
				types = append(types, statement.PredicateType)
			}
			if strings.Join(types, " ") != "https://sigstore.dev/cosign/sign/v1 https://spdx.dev/Document https://spdx.dev/Document https://slsa.dev/provenance/v1" {
				t.Error(types)
			}
			stdout, _ = exits(t, exitOK, "image", "sbom", "--platform", "linux/arm64", ref)
			if !strings.Contains(stdout, `"spdxVersion": "SPDX-2.3"`) || !strings.Contains(stdout, "linux/arm64") {
				t.Error(stdout)
			}
		})
	}
}

func TestImageSignBundle(t *testing.T) {
	s := newSignedImage(t)
	fixture := "../../../images/sign/testdata/bundle.json"
	if _, stderr := exits(t, exitError, "image", "sign", "--bundle", fixture, s.layout); !strings.Contains(stderr, "it is about sha256:") {
		t.Error(stderr)
	}
	// The signature of one place is attached in another.
	t.Setenv(keyfile.PasswordVariable, keyPassword)
	stdout, _ := exits(t, exitOK, "image", "sign", "--key", s.key, "--recursive=false", "-o", "json", s.layout)
	var result struct {
		Attached []struct{ Referrer string }
	}
	if err := json.Unmarshal([]byte(stdout), &result); err != nil || len(result.Attached) != 1 {
		t.Fatalf("%v\n%s", err, stdout)
	}
	dir := strings.TrimPrefix(s.layout, "oci:")
	blob := func(digest string) string { return filepath.Join(dir, "blobs", strings.Replace(digest, ":", "/", 1)) }
	raw, err := os.ReadFile(blob(result.Attached[0].Referrer))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Layers []struct{ Digest string } }
	if err := json.Unmarshal(raw, &manifest); err != nil {
		t.Fatal(err)
	}
	exits(t, exitFailed, "image", "verify", "--key", s.public, s.registry)
	exits(t, exitOK, "image", "sign", "--bundle", blob(manifest.Layers[0].Digest), s.registry)
	exits(t, exitOK, "image", "verify", "--key", s.public, s.registry)
}

func TestImageUsage(t *testing.T) {
	for name, args := range map[string][]string{
		"no image":            {"sign", "--key", "k"},
		"no key":              {"sign", "oci:x"},
		"key and bundle":      {"sign", "--key", "k", "--bundle", "b", "oci:x"},
		"nothing to attest":   {"attest", "--sbom=false", "--provenance=false", "oci:x"},
		"builder":             {"attest", "--builder-id", "me", "oci:x"},
		"platform":            {"sbom", "--platform", "amd64", "oci:x"},
		"no way to verify":    {"verify", "oci:x"},
		"key and identity":    {"verify", "--key", "k", "--certificate-identity", "x", "oci:x"},
		"identity, no root":   {"verify", "--certificate-identity", "x", "oci:x"},
		"root, no identity":   {"verify", "--trusted-root", "x", "oci:x"},
		"identity, no issuer": {"verify", "--trusted-root", "x", "--certificate-identity", "x", "oci:x"},
		"format":              {"verify", "--key", "k", "-o", "xml", "oci:x"},
	} {
		t.Run(name, func(t *testing.T) { exits(t, exitUsage, append([]string{"image"}, args...)...) })
	}
	s := newSignedImage(t)
	for name, args := range map[string][]string{
		"no such image":      {"verify", "--key", s.public, "oci:" + t.TempDir()},
		"no such key":        {"sign", "--key", "nowhere.pem", s.layout},
		"no such bundle":     {"sign", "--bundle", "nowhere.json", s.layout},
		"no such root":       {"verify", "--trusted-root", "nowhere", "--certificate-identity", "x", "--certificate-oidc-issuer", "x", s.layout},
		"private for public": {"verify", "--key", s.key, s.layout},
		"public for private": {"sign", "--key", s.public, s.layout},
	} {
		t.Run(name, func(t *testing.T) { exits(t, exitError, append([]string{"image"}, args...)...) })
	}
}
