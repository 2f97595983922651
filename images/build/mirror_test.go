package build_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/build"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// providerRegistry serves the provider acme/alpha 1.0.0, and returns a CLI
// configuration by which OpenTofu takes it for its own registry.
func providerRegistry(t *testing.T, arches ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("terraform-provider-alpha_v1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, "not a real provider")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	file := func(arch string) string { return "terraform-provider-alpha_1.0.0_linux_" + arch + ".zip" }
	sum := fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))
	var sums string
	var platforms []any
	for _, arch := range arches {
		sums += sum + "  " + file(arch) + "\n"
		platforms = append(platforms, map[string]string{"os": "linux", "arch": arch})
	}
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("GET /v1/providers/acme/alpha/versions", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"versions": []any{map[string]any{"version": "1.0.0", "protocols": []string{"5.0"}, "platforms": platforms}}})
	})
	mux.HandleFunc("GET /v1/providers/acme/alpha/1.0.0/download/linux/{arch}", func(w http.ResponseWriter, r *http.Request) {
		arch := r.PathValue("arch")
		if !strings.Contains(sums, file(arch)) {
			http.NotFound(w, r)
			return
		}
		answer(w, map[string]any{
			"protocols": []string{"5.0"}, "os": "linux", "arch": arch, "filename": file(arch), "download_url": s.URL + "/f/" + file(arch),
			"shasums_url": s.URL + "/f/SHA256SUMS", "shasums_signature_url": s.URL + "/f/SHA256SUMS.sig", "shasum": sum,
			"signing_keys": map[string]any{"gpg_public_keys": []any{}},
		})
	})
	mux.HandleFunc("GET /f/{name}", func(w http.ResponseWriter, r *http.Request) {
		switch name := r.PathValue("name"); {
		case name == "SHA256SUMS":
			fmt.Fprint(w, sums)
		case strings.HasSuffix(name, ".zip"):
			_, _ = w.Write(b.Bytes())
		default:
			fmt.Fprint(w, "none")
		}
	})
	config := filepath.Join(t.TempDir(), "cli.tfrc")
	text := fmt.Sprintf("host \"registry.opentofu.org\" {\n  services = { \"providers.v1\" = \"%s/v1/providers/\" }\n}\n", s.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config
}

// TestMakeMirror lets real OpenTofu download a provider for two platforms.
func TestMakeMirror(t *testing.T) {
	t.Setenv("TF_CLI_ARGS", "-nonsense") // the caller's settings do not count
	t.Setenv("TF_DATA_DIR", "/nonexistent")
	dir := writeModule(t, map[string]string{
		"main.tf":     "terraform {\n  required_providers {\n    alpha = {\n      source  = \"acme/alpha\"\n      version = \"1.0.0\"\n    }\n  }\n}\n\nmodule \"net\" {\n  source = \"./net\"\n}\n",
		"net/main.tf": "resource \"terraform_data\" \"x\" {}\n",
	})
	o := options(t, dir)
	o.Mirror, o.MirrorRuntime, o.CLIConfig = build.MirrorMake, runtimetest.OpenTofu(t).Path, providerRegistry(t, "amd64", "arm64")
	r := mustBuild(t, o)
	for _, p := range r.Platforms {
		want := []image.Package{{
			Provider: "registry.opentofu.org/acme/alpha", Version: "1.0.0", Platform: p.Platform, Packed: true,
			Path: "registry.opentofu.org/acme/alpha/terraform-provider-alpha_1.0.0_" + p.Platform.Underscored() + ".zip",
		}}
		if diff := cmp.Diff(want, p.Providers); diff != "" {
			t.Errorf("%s: providers (-want +got):\n%s", p.Platform, diff)
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
		t.Errorf("the module directory holds %v, error %v", list, err)
	}

	o.CLIConfig = providerRegistry(t, "amd64")
	_, err := build.Build(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "making provider mirror: running tofu providers mirror") || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("without a package for arm64: got error %v", err)
	}
	o.MirrorRuntime = filepath.Join(t.TempDir(), "none")
	if _, err := build.Build(t.Context(), o); err == nil || !strings.Contains(err.Error(), "making provider mirror") {
		t.Errorf("without runtime: got error %v", err)
	}
}
