package build_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/build"
	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/sdk/module"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

func TestOptions(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(o *build.Options)
		option string
		want   string
	}{
		"no directory":       {func(o *build.Options) { o.Dir = "" }, "Dir", "directory is missing"},
		"no role":            {func(o *build.Options) { o.Role = "" }, "Role", "parsing role"},
		"no contract":        {func(o *build.Options) { o.Contract = "" }, "Contract", "is missing"},
		"contract":           {func(o *build.Options) { o.Contract = "v1 alpha" }, "Contract", "one word"},
		"other system":       {func(o *build.Options) { o.Platforms = []image.Platform{{OS: "windows", Arch: "amd64"}} }, "Platforms", "modules run on Linux"},
		"no binary":          {func(o *build.Options) { delete(o.Binaries, arm64) }, "Binaries", "no runtime for linux/arm64"},
		"no binaries":        {func(o *build.Options) { o.Binaries = nil }, "Binaries", "no runtime for linux/amd64"},
		"binary too many":    {func(o *build.Options) { o.Platforms = []image.Platform{arm64} }, "Binaries", "none of the platforms"},
		"runtime":            {func(o *build.Options) { o.Runtime = "pulumi" }, "Runtime", "it is tofu or terraform"},
		"runtime version":    {func(o *build.Options) { o.RuntimeVersion = "1 2" }, "RuntimeVersion", "one word"},
		"banana":             {func(o *build.Options) { o.RuntimeVersion = "banana" }, "RuntimeVersion", "no semantic version"},
		"half a version":     {func(o *build.Options) { o.RuntimeVersion = "1.12" }, "RuntimeVersion", "no semantic version"},
		"image version":      {func(o *build.Options) { o.About.Version = "v1\n2" }, "About", "it should be the tag"},
		"image version, two": {func(o *build.Options) { o.About.Version = "v1 2" }, "About", "it should be the tag"},
		"mirror":             {func(o *build.Options) { o.Mirror = "network" }, "Mirror", "no mirror mode"},
		"no mirror dir":      {func(o *build.Options) { o.Mirror = build.MirrorDir }, "MirrorDir", "is missing"},
		"level":              {func(o *build.Options) { o.Level = 10 }, "Level", "levels are 1 to 9"},
		"time":               {func(o *build.Options) { o.Created = time.Unix(-1, 0) }, "Created", "before 1970"},
		"file size":          {func(o *build.Options) { o.MaxFile = -1 }, "MaxFile", "negative"},
		"capacity":           {func(o *build.Options) { o.Capacity = `{"cpu":4}` }, "Capacity", "must be a string"},
		"node info":          {func(o *build.Options) { o.NodeInfo = `{}` }, "NodeInfo", "not empty"},
		"schema":             {func(o *build.Options) { o.VariablesSchema = `{"type":"string"}` }, "VariablesSchema", "describe an object"},
		"label":              {func(o *build.Options) { o.Labels = map[string]string{"io.captf.role": "x"} }, "Labels", "option of its own"},
		"certificates, base": {func(o *build.Options) { o.Base, o.CABundle = "oci:x", "ca.pem" }, "CABundle", "without base"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, noop)
			tt.change(&o)
			_, err := build.Build(t.Context(), o)
			var wrong *build.OptionError
			if !errors.As(err, &wrong) {
				t.Fatalf("got error %v", err)
			}
			if wrong.Option != tt.option || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got option %s and error %v, want %s and %q", wrong.Option, err, tt.option, tt.want)
			}
		})
	}
}

func TestParseEpoch(t *testing.T) {
	for value, want := range map[string]int64{"0": 0, "1700000000": 1_700_000_000, "8589934591": 8_589_934_591} {
		if got, err := build.ParseEpoch(value); err != nil || got.Unix() != want {
			t.Errorf("%s: got %v, error %v", value, got, err)
		}
	}
	if got, err := build.ParseEpoch(""); err != nil || !got.IsZero() {
		t.Errorf("empty: got %v, error %v", got, err)
	}
	for _, value := range []string{"-1", "x", "1.5", "0x10", "8589934592", " 1"} {
		if got, err := build.ParseEpoch(value); err == nil {
			t.Errorf("%q: got %v, want an error", value, got)
		}
	}
}

func TestBadRuntimes(t *testing.T) {
	write := func(t *testing.T, b string) string {
		path := filepath.Join(t.TempDir(), "tofu")
		if err := os.WriteFile(path, []byte(b), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, tt := range map[string]struct {
		change func(t *testing.T, o *build.Options)
		want   string
	}{
		"missing":             {func(_ *testing.T, o *build.Options) { o.Binaries[arm64] = "/nowhere/tofu" }, "/nowhere/tofu"},
		"directory":           {func(t *testing.T, o *build.Options) { o.Binaries[arm64] = t.TempDir() }, "not a regular file"},
		"script":              {func(t *testing.T, o *build.Options) { o.Binaries[arm64] = write(t, "#!/bin/sh\n") }, "give the binary for linux"},
		"empty":               {func(t *testing.T, o *build.Options) { o.Binaries[arm64] = write(t, "") }, "give the binary for linux"},
		"for another machine": {func(_ *testing.T, o *build.Options) { o.Binaries[arm64] = o.Binaries[amd64] }, "is built for linux/amd64, but was given for linux/arm64"},
		"unknown version":     {func(_ *testing.T, o *build.Options) { o.RuntimeVersion = "" }, "does not tell its version"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, noop)
			tt.change(t, &o)
			_, err := build.Build(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one that says %q", err, tt.want)
			}
		})
	}
}

const needsProviders = `terraform {
  required_providers {
    alpha = {
      source  = "registry.example.com/acme/alpha"
      version = ">= 1.0.0, < 2.0.0"
    }
  }
}

resource "terraform_data" "x" {}

resource "random_id" "x" {
  byte_length = 4
}

module "net" {
  source = "./net"
}
`

const netNeeds = `terraform {
  required_providers {
    alpha = {
      source  = "registry.example.com/acme/alpha"
      version = "!= 1.2.0"
    }
  }
}
`

func TestRequirements(t *testing.T) {
	tree, err := module.Load(writeModule(t, map[string]string{"main.tf": needsProviders, "net/main.tf": netNeeds}), module.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"registry.terraform.io", "registry.opentofu.org"} {
		view := tree.Terraform
		if host == "registry.opentofu.org" {
			view = tree.OpenTofu
		}
		want := []build.Requirement{
			{Provider: "registry.example.com/acme/alpha", Constraint: "!= 1.2.0, >= 1.0.0, < 2.0.0"}, {Provider: host + "/hashicorp/random"},
		}
		slices.SortFunc(want, func(a, b build.Requirement) int { return strings.Compare(a.Provider, b.Provider) })
		if diff := cmp.Diff(want, build.Requirements(view)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", host, diff)
		}
	}
}

// mirrorOf writes a mirror with files whose content is their name.
func mirrorOf(t *testing.T, files ...string) string {
	t.Helper()
	content := map[string]string{}
	for _, f := range files {
		content[f] = f
	}
	return writeModule(t, content)
}

func TestMirror(t *testing.T) {
	const random = "registry.opentofu.org/hashicorp/random/"
	const alpha = "registry.example.com/acme/alpha/"
	dir := writeModule(t, map[string]string{"main.tf": needsProviders, "net/main.tf": netNeeds})
	o := options(t, dir)
	o.Mirror = build.MirrorDir
	o.MirrorDir = mirrorOf(t,
		random+"terraform-provider-random_3.7.2_linux_amd64.zip", random+"terraform-provider-random_3.7.2_linux_arm64.zip", random+"index.json", random+"3.7.2.json",
		// The newest version is not there for all platforms, and 1.2.0 is excluded.
		alpha+"1.3.0/linux_amd64/terraform-provider-alpha", alpha+"1.2.0/linux_amd64/terraform-provider-alpha", alpha+"1.2.0/linux_arm64/terraform-provider-alpha",
		alpha+"1.1.0/linux_amd64/terraform-provider-alpha", alpha+"1.1.0/linux_amd64/LICENSE", alpha+"1.1.0/linux_arm64/terraform-provider-alpha",
		alpha+"1.0.0/linux_amd64/terraform-provider-alpha", alpha+"1.0.0/linux_arm64/terraform-provider-alpha", alpha+"1.1.0/darwin_arm64/terraform-provider-alpha",
		"registry.example.com/acme/other/terraform-provider-other_1.0.0_linux_amd64.zip",
	)
	if err := os.Chmod(filepath.Join(o.MirrorDir, alpha+"1.1.0/linux_amd64/terraform-provider-alpha"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := mustBuild(t, o)
	if err := validate.Index(r.Index); err != nil {
		t.Error(err)
	}
	want := map[string]string{}
	at := "captf/providers"
	for part := range strings.SplitSeq(alpha+"1.1.0/linux_amd64", "/") {
		want[at] = "dir 0755 65532:65532"
		at += "/" + part
	}
	want[at] = "dir 0755 65532:65532"
	want[at+"/LICENSE"] = "file 0644 65532:65532"
	want[at+"/terraform-provider-alpha"] = "file 0755 65532:65532"
	at = "captf/providers"
	for part := range strings.SplitSeq(strings.TrimSuffix(random, "/"), "/") {
		at += "/" + part
		want[at] = "dir 0755 65532:65532"
	}
	want[at+"/terraform-provider-random_3.7.2_linux_amd64.zip"] = "file 0644 65532:65532"
	if diff := cmp.Diff(want, listLayer(t, r, "providers")); diff != "" {
		t.Errorf("the layer of the mirror (-want +got):\n%s", diff)
	}
	var contents []string
	for _, l := range r.Platforms[1].Layers {
		contents = append(contents, l.Content)
	}
	if diff := cmp.Diff([]string{"runtime", "providers", "module"}, contents); diff != "" {
		t.Errorf("layers (-want +got):\n%s", diff)
	}

	t.Run("incomplete", func(t *testing.T) {
		o := o
		o.MirrorDir = mirrorOf(t, random+"terraform-provider-random_3.7.2_linux_amd64.zip", alpha+"1.2.0/linux_amd64/terraform-provider-alpha")
		_, err := build.Build(t.Context(), o)
		for _, want := range []string{
			"provider registry.opentofu.org/hashicorp/random is missing for linux/arm64; there is 3.7.2 for linux/amd64",
			"provider registry.example.com/acme/alpha != 1.2.0, >= 1.0.0, < 2.0.0 is missing for linux/amd64; there is 1.2.0 for linux/amd64",
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got error %v, want one that says %q", err, want)
			}
		}
	})
	t.Run("no mirror", func(t *testing.T) {
		o := o
		o.Mirror = build.MirrorNone
		if r := mustBuild(t, o); len(r.Platforms[0].Layers) != 2 {
			t.Errorf("there are %d layers", len(r.Platforms[0].Layers))
		}
	})
	t.Run("no provider needed", func(t *testing.T) {
		o := o
		o.Dir = noop
		// An empty mirror says that nothing is to be downloaded.
		if r := mustBuild(t, o); len(r.Platforms[0].Layers) != 3 {
			t.Errorf("there are %d layers", len(r.Platforms[0].Layers))
		}
	})
	t.Run("missing directory", func(t *testing.T) {
		o := o
		o.MirrorDir = filepath.Join(t.TempDir(), "none")
		if _, err := build.Build(t.Context(), o); err == nil || !strings.Contains(err.Error(), "reading provider mirror") {
			t.Errorf("got error %v", err)
		}
	})
}

// TestBase builds on an image that this builder made.
func TestBase(t *testing.T) {
	o := options(t, noop)
	o.About, o.Labels = build.About{Title: "the base", Vendor: "somebody"}, map[string]string{"com.example.kept": "yes"}
	o.Capacity = `{"cpu":"1"}`
	below := mustBuild(t, o)
	set, err := content.FromIndex(t.Context(), below.Index)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "base")
	if err := set.WriteLayout(t.Context(), dir, "v1"); err != nil {
		t.Fatal(err)
	}
	on := options(t, writeModule(t, map[string]string{"main.tf": ""}))
	on.Role, on.Binaries, on.Runtime, on.RuntimeVersion, on.Base = contract.RoleCluster, nil, "", "", "oci:"+dir
	on.About = build.About{Title: "on top"}
	r := mustBuild(t, on)
	if err := validate.Index(r.Index); err != nil {
		t.Error(err)
	}
	if r.Runtime != image.OpenTofu || r.RuntimeVersion != "1.12.6" {
		t.Errorf("the runtime is %s %s", r.Runtime, r.RuntimeVersion)
	}
	for i, p := range r.Platforms {
		img, err := r.Index.Image(p.Digest)
		if err != nil {
			t.Fatal(err)
		}
		m, err := img.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Layers) != 3 || len(config.History) != 3 || len(config.RootFS.DiffIDs) != 3 || m.Layers[0].Digest != below.Platforms[i].Layers[0].Digest {
			t.Errorf("%s: the layers are %+v", p.Platform, m.Layers)
		}
		if m.Layers[0].Annotations["containerd.io/snapshot/stargz/toc.digest"] == "" {
			t.Errorf("%s: the layer of the base lost its annotations", p.Platform)
		}
		labels := config.Config.Labels
		want := map[string]string{
			"io.captf.contract": "v1alpha1", "io.captf.role": "cluster", "io.captf.runtime": "tofu", "io.captf.runtime.version": "1.12.6",
			"com.example.kept": "yes", "org.opencontainers.image.title": "on top", "org.opencontainers.image.created": "1970-01-01T00:00:00Z",
			"org.opencontainers.image.base.digest": below.Digest.String(),
		}
		if diff := cmp.Diff(want, labels); diff != "" {
			t.Errorf("%s: labels (-want +got):\n%s", p.Platform, diff)
		}
	}
	if again := mustBuild(t, on); again.Digest != r.Digest {
		t.Errorf("the digest is %s, then %s", r.Digest, again.Digest)
	}
	// It can be written with all layers.
	set, err = content.FromIndex(t.Context(), r.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.WriteLayout(t.Context(), filepath.Join(t.TempDir(), "out"), ""); err != nil {
		t.Error(err)
	}

	t.Run("another runtime", func(t *testing.T) {
		on := on
		on.RuntimeVersion = "1.11.0"
		if _, err := build.Build(t.Context(), on); err == nil || !strings.Contains(err.Error(), "its version is 1.12.6, not 1.11.0") {
			t.Errorf("got error %v", err)
		}
	})
	t.Run("its runtime replaced", func(t *testing.T) {
		on := on
		on.Binaries, on.Runtime, on.RuntimeVersion = options(t, noop).Binaries, image.OpenTofu, "1.13.0"
		r := mustBuild(t, on)
		want := map[string]string{"captf/runtime": "link 0777 0:0 -> /usr/local/bin/tofu", "usr/local/bin/tofu": "file 0755 0:0"}
		if diff := cmp.Diff(want, listLayer(t, r, "runtime")); diff != "" {
			t.Errorf("the runtime layer (-want +got):\n%s", diff)
		}
	})
	t.Run("platform missing", func(t *testing.T) {
		on := on
		on.Platforms = []image.Platform{{OS: "linux", Arch: "s390x"}}
		if _, err := build.Build(t.Context(), on); err == nil || !strings.Contains(err.Error(), "linux/s390x") {
			t.Errorf("got error %v", err)
		}
	})
}

// TestBaseInRegistry makes sure that the layers of a base can be taken from where
// it is, and that the image says what it is built on.
func TestBaseInRegistry(t *testing.T) {
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer s.Close()
	tag, err := name.NewTag(strings.TrimPrefix(s.URL, "http://") + "/base:v1")
	if err != nil {
		t.Fatal(err)
	}
	below := mustBuild(t, options(t, noop))
	if err := remote.WriteIndex(tag, below.Index); err != nil {
		t.Fatal(err)
	}
	on := options(t, writeModule(t, map[string]string{"main.tf": ""}))
	on.Binaries, on.Runtime, on.RuntimeVersion, on.Base = nil, "", "", tag.Name()
	r := mustBuild(t, on)
	if err := validate.Index(r.Index); err != nil {
		t.Error(err)
	}
	if got := r.Labels["org.opencontainers.image.base.name"]; got != tag.Name() {
		t.Errorf("the base is %q, want %q", got, tag.Name())
	}
	set, err := content.FromIndex(t.Context(), r.Index)
	if err != nil {
		t.Fatal(err)
	}
	origins := 0
	for _, b := range set.Blobs {
		if b.Origin != nil {
			origins++
			if b.Origin.Context().Name() != tag.Context().Name() {
				t.Errorf("%s is from %s", b.Descriptor.Digest, b.Origin)
			}
		}
	}
	if origins != 3 { // a runtime each, and the module
		t.Errorf("%d layers can be taken from the base's repository, want 3", origins)
	}
}

func TestCertificates(t *testing.T) {
	for name, tt := range map[string]struct{ content, want string }{
		"none":        {"hello", "has none in PEM form"},
		"private key": {cert + key, "has a private key"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, noop)
			o.CABundle = filepath.Join(t.TempDir(), "ca.pem")
			if err := os.WriteFile(o.CABundle, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := build.Build(t.Context(), o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one that says %q", err, tt.want)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("interrupted by the test")
	cancel(reason)
	o := options(t, noop)
	if _, err := build.Build(ctx, o); !errors.Is(err, reason) {
		t.Errorf("got error %v, want %v", err, reason)
	}
	if left, err := os.ReadDir(o.TempDir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, error %v", left, err)
	}
}

// TestRealRuntime builds with real OpenTofu, which tells what it is.
func TestRealRuntime(t *testing.T) {
	b := runtimetest.OpenTofu(t)
	p, err := build.PlatformOf(b.Path)
	if err != nil {
		t.Skipf("%s is not for Linux: %v", b.Path, err)
	}
	o := options(t, "../../modules/noop/cluster")
	o.Role, o.Platforms, o.Binaries = contract.RoleCluster, []image.Platform{p}, map[image.Platform]string{p: b.Path}
	o.Runtime, o.RuntimeVersion, o.Mirror = "", "", build.MirrorMake
	r := mustBuild(t, o)
	if r.Runtime != image.OpenTofu || r.RuntimeVersion != b.Version {
		t.Errorf("the runtime is %s %s, want tofu %s", r.Runtime, r.RuntimeVersion, b.Version)
	}
	if err := validate.Index(r.Index); err != nil {
		t.Error(err)
	}
	o.RuntimeVersion = "1.0.0"
	if _, err := build.Build(t.Context(), o); err == nil || !strings.Contains(err.Error(), "its version is "+b.Version+", not 1.0.0") {
		t.Errorf("got error %v", err)
	}
}
