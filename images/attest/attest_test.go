package attest_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	slsa "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/attest"
	"github.com/captf-toolkit/captf/images/build"
	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/images/referrer"
	"github.com/captf-toolkit/captf/images/sign"
	"github.com/captf-toolkit/captf/images/source"
)

// machines are the ELF machines by architecture.
var machines = map[string]uint16{"amd64": 62, "arm64": 183}

// native is the platform that has a real Go program in the images of these tests.
var native = image.Platform{OS: "linux", Arch: runtime.GOARCH}

// goProgram builds testdata/program.
var goProgram = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "captf-attest-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "program")
	cmd := exec.Command("go", "build", "-o", file, "./testdata/program")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return os.ReadFile(file)
})

// program returns an executable for a platform: a real one for ours, else headers
// with nothing to run.
func program(t testing.TB, p image.Platform) []byte {
	t.Helper()
	if p == native {
		raw, err := goProgram()
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	b := bytes.NewBuffer([]byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	for _, field := range []any{
		uint16(2), machines[p.Arch], uint32(1), uint64(0), uint64(0), uint64(0), uint32(0), uint16(64), uint16(0), uint16(0), uint16(0), uint16(0), uint16(0),
	} {
		if err := binary.Write(b, binary.LittleEndian, field); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func write(t testing.TB, file string, content []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

const provider = "registry.opentofu.org/hashicorp/null"

// index builds an image for two platforms with a runtime, a packed and an unpacked provider.
func index(t testing.TB) *build.Result {
	t.Helper()
	return indexWith(t, func(archive []byte) []byte { return archive })
}

// indexWith changes the archives of the packed provider.
func indexWith(t testing.TB, change func([]byte) []byte) *build.Result {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "module/main.tf"), []byte(`terraform {
  required_providers {
    null = { source = "hashicorp/null", version = "3.2.3" }
    time = { source = "hashicorp/time", version = "0.12.1" }
  }
}
`))
	o := build.Options{
		Dir: filepath.Join(dir, "module"), Role: contract.RoleMachine, Contract: "v1alpha1", Runtime: image.OpenTofu, RuntimeVersion: "1.12.6",
		Binaries: map[image.Platform]string{}, Mirror: build.MirrorDir, MirrorDir: filepath.Join(dir, "mirror"), TempDir: t.TempDir(),
		About: build.About{Title: "machine", Version: "v1.2.3", Licenses: "Apache-2.0", Source: "https://git.example.com/machine",
			Revision: strings.Repeat("ab", 20)},
		Level: 1,
	}
	for _, p := range image.Platforms() {
		o.Binaries[p] = write(t, filepath.Join(dir, p.Underscored(), "tofu"), program(t, p))
		var archive bytes.Buffer
		z := zip.NewWriter(&archive)
		for name, content := range map[string][]byte{"terraform-provider-null_v3.2.3": program(t, p), "LICENSE": []byte("MPL")} {
			w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(content); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(o.MirrorDir, provider, "terraform-provider-null_3.2.3_"+p.Underscored()+".zip"), change(archive.Bytes()))
		write(t, filepath.Join(o.MirrorDir, "registry.opentofu.org/hashicorp/time/0.12.1", p.Underscored(), "terraform-provider-time_v0.12.1_x5"), []byte("not an executable"))
	}
	r, err := build.Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func layout(t testing.TB, r *build.Result) string {
	t.Helper()
	set, err := content.FromIndex(t.Context(), r.Index)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "layout")
	if err := set.WriteLayout(t.Context(), dir, ""); err != nil {
		t.Fatal(err)
	}
	return "oci:" + dir
}

// pushed publishes to a registry on loopback, with the referrers API or without.
func pushed(t testing.TB, r *build.Result, api bool) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(api)))
	t.Cleanup(server.Close)
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/machine:v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, r.Index, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	return ref.String()
}

func open(t testing.TB, ref string) (*source.Source, referrer.Store) {
	t.Helper()
	src, err := source.Open(t.Context(), ref, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	store, err := referrer.At(src.Reference, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return src, store
}

func describe(t testing.TB, src *source.Source, p image.Platform) attest.Description {
	t.Helper()
	img, err := src.Image(t.Context(), &v1.Platform{OS: p.OS, Architecture: p.Arch})
	if err != nil {
		t.Fatal(err)
	}
	d, err := attest.DescribeImage(t.Context(), img, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func sha(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func TestSBOM(t *testing.T) {
	src, _ := open(t, layout(t, index(t)))
	d := describe(t, src, native)
	raw, err := attest.SBOM(d, "captf-test")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := attest.SBOM(describe(t, src, native), "captf-test"); err != nil || !bytes.Equal(again, raw) {
		t.Errorf("the second bill differs, %v", err)
	}
	doc, err := spdxjson.Read(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := spdxjson.Write(doc, &b, spdxjson.EscapeHTML(false), spdxjson.Indent(" ")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(raw), b.String()); diff != "" {
		t.Errorf("does not round trip (-ours +library's):\n%s", diff)
	}
	if doc.SPDXVersion != "SPDX-2.3" || !strings.HasPrefix(doc.DocumentNamespace, "urn:captf:spdx:"+d.Digest.Hex+":") || doc.CreationInfo.Created != "1970-01-01T00:00:00Z" {
		t.Errorf("document %s %s %s", doc.SPDXVersion, doc.DocumentNamespace, doc.CreationInfo.Created)
	}
	type row struct{ Name, Version, License, Source, SHA256, URL string }
	want := []row{
		{"machine", "v1.2.3", "NOASSERTION", "NOASSERTION", d.Digest.Hex, ""},
		{"machine module", "v1.2.3", "Apache-2.0", "git+https://git.example.com/machine@" + strings.Repeat("ab", 20), "", ""},
		{"OpenTofu", "1.12.6", "NOASSERTION", "NOASSERTION", sha(program(t, native)), "pkg:golang/github.com/captf-toolkit/captf@v1.12.6"},
		{provider, "3.2.3", "NOASSERTION", "NOASSERTION", d.Providers[0].SHA256, "pkg:terraform/registry.opentofu.org/hashicorp/null@3.2.3?arch=" + native.Arch + "&os=linux"},
		{"registry.opentofu.org/hashicorp/time", "0.12.1", "NOASSERTION", "NOASSERTION", sha([]byte("not an executable")), "pkg:terraform/registry.opentofu.org/hashicorp/time@0.12.1?arch=" + native.Arch + "&os=linux"},
	}
	var got []row
	libraries := map[string]string{}
	ids := map[string]string{}
	for _, p := range doc.Packages {
		r := row{p.PackageName, p.PackageVersion, p.PackageLicenseDeclared, p.PackageDownloadLocation, "", ""}
		if len(p.PackageChecksums) > 0 {
			r.SHA256 = p.PackageChecksums[0].Value
		}
		if len(p.PackageExternalReferences) > 0 {
			r.URL = p.PackageExternalReferences[0].Locator
		}
		id := string(p.PackageSPDXIdentifier)
		if other, twice := ids[id]; twice {
			t.Errorf("%s and %s have the identifier %s", other, r.Name, id)
		}
		ids[id] = r.Name
		if p.PrimaryPackagePurpose == "LIBRARY" {
			libraries[r.URL] = id
		} else {
			got = append(got, r)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
	needs := relations(doc)
	for _, u := range []string{"pkg:golang/stdlib@" + strings.TrimPrefix(strings.Fields(runtime.Version())[0], "go"), "pkg:golang/github.com/hashicorp/go-version@v1.9.0"} {
		id := libraries[u]
		for _, from := range []string{"runtime", string(doc.Packages[3].PackageSPDXIdentifier)} {
			if id == "" || !slices.Contains(needs[from+" DEPENDS_ON"], id) {
				t.Errorf("%s does not depend on %s (%q)", from, u, id)
			}
		}
	}
	if len(needs["image CONTAINS"]) != 4 || !slices.Equal(needs["DOCUMENT DESCRIBES"], []string{"image"}) {
		t.Errorf("relations %v", needs)
	}
}

func relations(doc *spdx.Document) map[string][]string {
	out := map[string][]string{}
	for _, r := range doc.Relationships {
		k := string(r.RefA.ElementRefID) + " " + r.Relationship
		out[k] = append(out[k], string(r.RefB.ElementRefID))
	}
	return out
}

func TestOddLicense(t *testing.T) {
	d := attest.Description{Labels: map[string]string{"org.opencontainers.image.licenses": "do what you want"}, Digest: v1.Hash{Algorithm: "sha256", Hex: sha(nil)}}
	raw, err := attest.SBOM(d, "captf-test")
	if err != nil || !strings.Contains(string(raw), "which is no SPDX expression") || strings.Contains(string(raw), `"licenseDeclared": "do`) {
		t.Errorf("%s, %v", raw, err)
	}
}

// TestProvenance has in-toto's library check the statement.
func TestProvenance(t *testing.T) {
	src, _ := open(t, layout(t, index(t)))
	var all []attest.Description
	for _, p := range image.Platforms() {
		all = append(all, describe(t, src, p))
	}
	predicate, err := attest.Provenance(all, attest.Builder{ID: "https://ci.example.com/release", Version: "1.0.0", Invocation: "https://ci.example.com/runs/7"})
	if err != nil {
		t.Fatal(err)
	}
	payload, err := sign.NewStatement("machine", src.Digest, sign.PredicateProvenance, predicate).Payload()
	if err != nil {
		t.Fatal(err)
	}
	var statement intoto.Statement
	if err := protojson.Unmarshal(payload, &statement); err != nil {
		t.Fatal(err)
	}
	if err := statement.Validate(); err != nil {
		t.Error(err)
	}
	var p slsa.Provenance
	if err := protojson.Unmarshal(predicate, &p); err != nil {
		t.Fatal(err)
	}
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
	wantParameters := map[string]any{
		"source": "https://git.example.com/machine", "revision": strings.Repeat("ab", 20), "version": "v1.2.3", "contract": "v1alpha1",
		"role": "machine", "runtime": "tofu@1.12.6", "platforms": []any{"linux/amd64", "linux/arm64"},
	}
	if diff := cmp.Diff(wantParameters, p.GetBuildDefinition().GetExternalParameters().AsMap()); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	var names []string
	for _, d := range p.GetBuildDefinition().GetResolvedDependencies() {
		names = append(names, d.GetName())
		if len(d.GetDigest()) == 0 {
			t.Errorf("%s has no digest", d.GetName())
		}
	}
	want := []string{"module", "runtime linux/amd64", "provider " + provider + " linux/amd64", "provider registry.opentofu.org/hashicorp/time linux/amd64",
		"runtime linux/arm64", "provider " + provider + " linux/arm64", "provider registry.opentofu.org/hashicorp/time linux/arm64"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("dependencies (-want +got):\n%s", diff)
	}
	if _, err := attest.Provenance(nil, attest.Builder{}); err == nil {
		t.Error("a provenance of nothing")
	}
}

// TestEverywhere attaches, signs and verifies in each place that images are.
func TestEverywhere(t *testing.T) {
	r := index(t)
	public, private, err := ed25519.GenerateKey(bytes.NewReader(make([]byte, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	key, err := sign.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	var results []string
	for place, ref := range map[string]string{"layout": layout(t, r), "registry": pushed(t, r, true), "old registry": pushed(t, r, false)} {
		t.Run(place, func(t *testing.T) {
			src, store := open(t, ref)
			_, err := sign.VerifyKey(t.Context(), store, src.Digest, key, sign.PredicateSignature)
			if !errors.Is(err, sign.ErrNoSignature) {
				t.Fatalf("before signing: %v", err)
			}
			signatures, err := attest.Sign(t.Context(), src, store, private, true)
			if err != nil {
				t.Fatal(err)
			}
			o := attest.Options{SBOM: true, Provenance: true, Tool: "captf-test"}
			plain, err := attest.Attach(t.Context(), src, store, o)
			if err != nil {
				t.Fatal(err)
			}
			o.Signer = private
			signed, err := attest.Attach(t.Context(), src, store, o)
			if err != nil {
				t.Fatal(err)
			}
			if len(signatures) != 3 || len(plain) != 5 || len(signed) != 5 {
				t.Errorf("%d signatures, %d documents, %d signed", len(signatures), len(plain), len(signed))
			}
			results = append(results, fmt.Sprint(signatures, plain, signed))
			if again, err := attest.Sign(t.Context(), src, store, private, true); err != nil || !slices.Equal(again, signatures) {
				t.Errorf("signing again: %v, %v", again, err)
			}
			for _, s := range attest.Subjects(src, true) {
				list, err := store.List(t.Context(), s.Digest)
				if err != nil {
					t.Fatal(err)
				}
				var types []string
				for _, d := range list {
					types = append(types, d.ArtifactType)
				}
				slices.Sort(types)
				want := []string{attest.TypeStatement, sign.MediaType, sign.MediaType}
				if s.Platform != "" {
					want = []string{attest.TypeSPDX, attest.TypeStatement, sign.MediaType, sign.MediaType, sign.MediaType}
				}
				slices.Sort(want)
				if diff := cmp.Diff(want, types); diff != "" {
					t.Errorf("attached to %q (-want +got):\n%s", s.Platform, diff)
				}
				for _, predicate := range []string{sign.PredicateSignature, sign.PredicateProvenance, sign.PredicateSPDX} {
					if predicate == sign.PredicateSPDX && s.Platform == "" {
						continue
					}
					if _, err := sign.VerifyKey(t.Context(), store, s.Digest, key, predicate); err != nil {
						t.Error(err)
					}
				}
			}
			// The image is what it was.
			after, _ := open(t, ref)
			if after.Digest != r.Digest {
				t.Errorf("the digest is %s, was %s", after.Digest, r.Digest)
			}
		})
	}
	slices.Sort(results)
	if len(slices.Compact(results)) != 1 {
		t.Errorf("digests depend on the place:\n%s", strings.Join(results, "\n"))
	}
}

func TestAttachBundle(t *testing.T) {
	src, store := open(t, layout(t, index(t)))
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for digest, want := range map[v1.Hash]error{src.Digest: nil, {Algorithm: "sha256", Hex: sha(nil)}: sign.ErrSubject} {
		b, err := sign.Sign(sign.NewSignature(digest), private)
		if err != nil {
			t.Fatal(err)
		}
		got, err := attest.AttachBundle(t.Context(), src, store, b)
		if !errors.Is(err, want) || err == nil && (len(got) != 1 || got[0].Subject != src.Digest) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
}

// TestDamagedProviders: an archive that cannot be believed is an error that names it.
func TestDamagedProviders(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{
		"no archive": func([]byte) []byte { return []byte("<html>") },
		"truncated":  func(b []byte) []byte { return b[:len(b)/2] },
		// The middle of the archive is in the executable, which is stored as it is.
		"changed": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"larger than it says": func(b []byte) []byte {
			// The directory at the end has the sizes; a smaller one cuts the content off.
			at := bytes.LastIndex(b, []byte("terraform-provider-null"))
			binary.LittleEndian.PutUint32(b[at-46+24:], 10)
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			src, _ := open(t, layout(t, indexWith(t, change)))
			img, err := src.Image(t.Context(), &v1.Platform{OS: native.OS, Architecture: native.Arch})
			if err != nil {
				t.Fatal(err)
			}
			_, err = attest.DescribeImage(t.Context(), img, "")
			if err == nil || !strings.Contains(err.Error(), "terraform-provider-null_3.2.3_"+native.Underscored()+".zip") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	src, _ := open(t, layout(t, index(t)))
	img, err := src.Image(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := attest.DescribeImage(ctx, img, ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestArchive: what is attached in a layout is read from an archive of it, where
// nothing can be attached.
func TestArchive(t *testing.T) {
	src, store := open(t, layout(t, index(t)))
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := attest.Sign(t.Context(), src, store, private, true)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "machine.tar")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(f)
	if err := errors.Join(w.AddFS(os.DirFS(src.Reference.Path)), w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	packed, err := source.Open(t.Context(), "tarball:"+file, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	archive, err := referrer.Of(packed, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := sign.NewPublicKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range want {
		if _, err := sign.VerifyKey(t.Context(), archive, s.Subject, key, sign.PredicateSignature); err != nil {
			t.Error(err)
		}
	}
	if _, err := attest.Sign(t.Context(), packed, archive, private, true); !errors.Is(err, referrer.ErrArchive) {
		t.Error(err)
	}
	if _, err := referrer.At(packed.Reference, source.Options{}); !errors.Is(err, referrer.ErrArchive) {
		t.Error(err)
	}
}

// TestStored reads what is stored with a client that knows nothing of us.
func TestStored(t *testing.T) {
	ref := pushed(t, index(t), true)
	src, store := open(t, ref)
	list, err := attest.Attach(t.Context(), src, store, attest.Options{SBOM: true, Tool: "captf-test"})
	if err != nil {
		t.Fatal(err)
	}
	repo := src.Reference.Name.Context()
	for _, a := range list {
		img, err := remote.Image(repo.Digest(a.Referrer.String()))
		if err != nil {
			t.Fatal(err)
		}
		m, err := img.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		if m.Subject == nil || m.Subject.Digest != a.Subject || m.ArtifactType != attest.TypeSPDX || string(m.Config.MediaType) != "application/vnd.oci.empty.v1+json" {
			t.Errorf("manifest %+v", m)
		}
		layers, err := img.Layers()
		if err != nil {
			t.Fatal(err)
		}
		body, err := layers[0].Compressed()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := json.Unmarshal(raw, &doc); err != nil || doc["spdxVersion"] != "SPDX-2.3" {
			t.Errorf("content %v, %v", doc["spdxVersion"], err)
		}
	}
}

// TestPages: the URIs of builds and builders lead to sections of a page.
func TestPages(t *testing.T) {
	page, err := os.ReadFile("../../docs/supply-chain.md")
	if err != nil {
		t.Fatal(err)
	}
	for uri, heading := range map[string]string{attest.BuildType: "### Build type: image v1\n", attest.DefaultBuilder: "### Builder: local\n"} {
		_, anchor, _ := strings.Cut(uri, "docs/supply-chain.md#")
		slug := strings.NewReplacer("### ", "", ":", "", " ", "-", "\n", "").Replace(strings.ToLower(heading))
		if slug != anchor || !strings.Contains(string(page), heading) {
			t.Errorf("%s leads nowhere", uri)
		}
	}
}
