package build_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/build"
	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/images/rootfs"
	"github.com/captf-toolkit/captf/images/source"
)

// program builds a program of a few lines for a platform.
func program(t *testing.T, p image.Platform) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example.com/hello\n\ngo 1.26\n",
		"main.go": "package main\n\nfunc main() { println(\"hello\") }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	to := filepath.Join(dir, "hello")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", to, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Arch, "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building a program: %v\n%s", err, out)
	}
	return to
}

func TestPrograms(t *testing.T) {
	var programs []build.Program
	for _, p := range image.Platforms() {
		at := program(t, p)
		programs = append(programs, build.Program{Name: "manager", Path: at}, build.Program{Name: "runner", Path: at})
	}
	options := build.ProgramOptions{
		Programs: programs, Entrypoint: "manager", About: build.About{Title: "captf-manager", Version: "v0.1.0"}, TempDir: t.TempDir(),
	}
	r, err := build.Programs(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	set, err := content.FromIndex(t.Context(), r.Index)
	if err != nil {
		t.Fatal(err)
	}
	layout := filepath.Join(t.TempDir(), "layout")
	if err := set.WriteLayout(t.Context(), layout, "v0.1.0"); err != nil {
		t.Fatal(err)
	}
	src, err := source.Open(t.Context(), "oci:"+layout, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if len(r.Platforms) != len(image.Platforms()) {
		t.Errorf("platforms: %v", r.Platforms)
	}
	for _, p := range src.Platforms() {
		img, err := src.Load(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if c := img.Config.Config; c.User != image.User || !slices.Equal(c.Entrypoint, []string{"/manager"}) || c.Labels["org.opencontainers.image.version"] != "v0.1.0" {
			t.Errorf("config: %+v", c)
		}
		fsys, err := rootfs.Open(t.Context(), img, rootfs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer fsys.Close()
		for _, name := range []string{"/manager", "/runner", "/tmp", "/etc/passwd"} {
			if _, err := fsys.Stat(name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}

	again, err := build.Programs(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.Digest != r.Digest {
		t.Errorf("built again the image has another digest")
	}
}

func TestProgramsRefused(t *testing.T) {
	at := program(t, image.DefaultPlatform())
	arm := program(t, image.Platform{OS: "linux", Arch: "arm64"})
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		options build.ProgramOptions
		want    string
	}{
		"none":             {build.ProgramOptions{Entrypoint: "a"}, "there are none"},
		"a script":         {build.ProgramOptions{Programs: []build.Program{{"a", script}}, Entrypoint: "a"}, "no ELF executable"},
		"no file":          {build.ProgramOptions{Programs: []build.Program{{"a", script + "x"}}, Entrypoint: "a"}, "reading program"},
		"no name":          {build.ProgramOptions{Programs: []build.Program{{"", at}}, Entrypoint: "a"}, "no name of a program"},
		"a path as a name": {build.ProgramOptions{Programs: []build.Program{{"../a", at}}, Entrypoint: "a"}, "no name of a program"},
		"twice":            {build.ProgramOptions{Programs: []build.Program{{"a", at}, {"a", at}}, Entrypoint: "a"}, "two programs a"},
		"entrypoint":       {build.ProgramOptions{Programs: []build.Program{{"a", at}}, Entrypoint: "b"}, `no program "b"`},
		"not everywhere":   {build.ProgramOptions{Programs: []build.Program{{"a", at}, {"b", at}, {"a", arm}}, Entrypoint: "a"}, "1 programs of 2"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := build.Programs(t.Context(), test.options)
			if err == nil {
				_ = r.Close()
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %q does not say %q", err, test.want)
			}
		})
	}
}
