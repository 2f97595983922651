package build_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/build"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// TestPipes would not end if one of them were opened: nobody writes to it.
func TestPipes(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(o *build.Options){
		"runtime":      func(o *build.Options) { o.Binaries[amd64] = pipe },
		"certificates": func(o *build.Options) { o.CABundle = pipe },
		"base":         func(o *build.Options) { o.Base, o.Binaries = "tarball:"+pipe, nil },
		"configuration": func(o *build.Options) {
			o.Dir = writeModule(t, map[string]string{"main.tf": needsProviders, "net/main.tf": netNeeds})
			o.Mirror, o.MirrorRuntime, o.CLIConfig = build.MirrorMake, "/nowhere/tofu", pipe
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, noop)
			change(&o)
			if _, err := build.Build(t.Context(), o); err == nil || !strings.Contains(err.Error(), "not a regular file") || !strings.Contains(err.Error(), pipe) {
				t.Errorf("got error %v", err)
			}
		})
	}
	if _, err := build.PlatformOf(pipe); err == nil {
		t.Error("a pipe has a platform")
	}
}

// TestRuntimeErrorsAreOfOptions makes sure that whoever gave the runtime gets to
// know that it is wrong.
func TestRuntimeErrorsAreOfOptions(t *testing.T) {
	script := filepath.Join(t.TempDir(), "tofu")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(o *build.Options){
		"missing":      func(o *build.Options) { o.Binaries[arm64] = "/nowhere/tofu" },
		"a script":     func(o *build.Options) { o.Binaries[arm64] = script },
		"another one":  func(o *build.Options) { o.Binaries[arm64] = o.Binaries[amd64] },
		"unidentified": func(o *build.Options) { o.RuntimeVersion = "" },
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, noop)
			change(&o)
			_, err := build.Build(t.Context(), o)
			var wrong *build.OptionError
			if !errors.As(err, &wrong) || wrong.Option != "Binaries" {
				t.Errorf("got error %v", err)
			}
		})
	}
}

// TestUnidentifiedNeighbour makes sure that a program does not pass for the
// runtime because that of another platform is one.
func TestUnidentifiedNeighbour(t *testing.T) {
	found := runtimetest.OpenTofu(t)
	here := image.Platform{OS: "linux", Arch: runtime.GOARCH}
	other := map[image.Platform]image.Platform{amd64: arm64, arm64: amd64}[here]
	if p, err := build.PlatformOf(found.Path); err != nil || p != here || other == (image.Platform{}) {
		t.Skipf("%s is not for one of the platforms of an image", found.Path)
	}
	fake := fakeRuntime(t, other.Arch)
	nameless := filepath.Join(filepath.Dir(fake), "program")
	if err := os.Rename(fake, nameless); err != nil {
		t.Fatal(err)
	}
	o := options(t, noop)
	o.Binaries = map[image.Platform]string{here: found.Path, other: nameless}
	var lines []string
	o.Progress = func(line string) { lines = append(lines, line) }
	for _, tt := range []struct {
		kind    image.Runtime
		version string
		want    string
	}{
		{"", "", "does not tell whether it is OpenTofu or Terraform"},
		{"", found.Version, "does not tell whether it is OpenTofu or Terraform"},
		{image.OpenTofu, "", "does not tell its version"},
	} {
		o.Runtime, o.RuntimeVersion = tt.kind, tt.version
		if _, err := build.Build(t.Context(), o); err == nil || !strings.Contains(err.Error(), nameless+": it "+tt.want) {
			t.Errorf("%q %q: got error %v", tt.kind, tt.version, err)
		}
	}
	o.Runtime, o.RuntimeVersion = image.OpenTofu, found.Version
	mustBuild(t, o)
	if said := strings.Join(lines, "\n"); !strings.Contains(said, "note: the runtime "+nameless+" does not tell what it is") {
		t.Errorf("no note:\n%s", said)
	}
}

// TestLayoutInModule makes sure that an image which was built into the module
// directory does not get into the next one.
func TestLayoutInModule(t *testing.T) {
	dir := writeModule(t, map[string]string{"main.tf": "", "out/oci-layout": "{}", "out/blobs/sha256/x": "big", "data/x": ""})
	r := mustBuild(t, options(t, dir))
	if diff := cmp.Diff([]string{"data/x", "main.tf"}, r.Files); diff != "" {
		t.Errorf("what ships (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]build.LeftOut{{Path: "out/", Why: "OCI layout"}}, r.LeftOut); diff != "" {
		t.Errorf("what is left out (-want +got):\n%s", diff)
	}
}
