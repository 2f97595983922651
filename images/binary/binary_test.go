package binary_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/binary"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// build compiles a program whose main package has the path, and returns its file.
func build(t testing.TB, path, arch, ldflags string) string {
	t.Helper()
	dir := t.TempDir()
	main := "package main\nfunc main() {}\n"
	mod, sub, _ := strings.Cut(path, "/cmd/")
	for name, text := range map[string]string{"go.mod": "module " + mod + "\n\ngo 1.26\n", filepath.Join("cmd", sub, "main.go"): main} {
		if sub == "" && strings.HasSuffix(name, ".go") {
			name = "main.go"
		}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "program")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags", ldflags, "-o", out, path)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0", "GOWORK=off")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", path, err, b)
	}
	return out
}

func read(t testing.TB, file string) (binary.Info, error) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return binary.Read(f)
}

func TestReadPrograms(t *testing.T) {
	for _, tc := range []struct {
		name, path, arch, ldflags string
		want                      image.Runtime
		version                   string
	}{
		{"tofu from a work tree", "github.com/opentofu/opentofu/cmd/tofu", "amd64", "-s -w", image.OpenTofu, ""},
		{"terraform from a work tree", "github.com/hashicorp/terraform", "arm64", "", image.Terraform, ""},
		{"terraform with a version", "github.com/hashicorp/terraform", "amd64",
			"-X github.com/hashicorp/terraform/version.Version=1.11.4", image.Terraform, "1.11.4"},
		{"version of another module", "github.com/hashicorp/terraform", "amd64",
			"-X example.com/version.Version=1.11.4", image.Terraform, ""},
		{"version that is none", "github.com/hashicorp/terraform", "amd64",
			"-X github.com/hashicorp/terraform/version.Version=main", image.Terraform, ""},
		{"another program", "example.com/other", "arm64", "", "", ""},
		{"a name that only begins alike", "github.com/hashicorp/terraform-docs", "amd64", "", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := read(t, build(t, tc.path, tc.arch, tc.ldflags))
			if err != nil {
				t.Fatal(err)
			}
			if got.Runtime != tc.want || got.Version != tc.version {
				t.Errorf("got %q %q, want %q %q", got.Runtime, got.Version, tc.want, tc.version)
			}
			if want := (image.Platform{OS: "linux", Arch: tc.arch}); got.Platform != want || got.Interpreter != "" || got.Build == nil {
				t.Errorf("got %+v, want a static program for %s", got, want)
			}
		})
	}
}

// TestReadOpenTofu looks at the real one.
func TestReadOpenTofu(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the runtime of this machine is no ELF executable")
	}
	got, err := read(t, runtimetest.OpenTofu(t).Path)
	if err != nil {
		t.Fatal(err)
	}
	if got.Runtime != image.OpenTofu || got.Platform.Arch != runtime.GOARCH {
		t.Errorf("got %s for %s", got.Runtime, got.Platform)
	}
}

func TestReadOthers(t *testing.T) {
	elf, err := os.ReadFile(build(t, "example.com/other", "amd64", ""))
	if err != nil {
		t.Fatal(err)
	}
	unknown := bytes.Clone(elf)
	unknown[18] = 0xfe // the machine
	relocatable := bytes.Clone(elf)
	relocatable[16] = 1 // the type
	for name, tc := range map[string]struct {
		content []byte
		want    string
	}{
		"empty":       {nil, "no ELF"},
		"script":      {[]byte("#!/bin/sh\nexec tofu\n"), "no ELF"},
		"truncated":   {elf[:80], "no ELF"},
		"object file": {relocatable, "ET_REL"},
		"machine":     {unknown, "machine"},
		"mach-o":      {[]byte("\xcf\xfa\xed\xfe\x07\x00\x00\x01"), "no ELF"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := binary.Read(bytes.NewReader(tc.content))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
			if strings.Contains(tc.want, "ELF") && !errors.Is(err, binary.ErrNotExecutable) {
				t.Errorf("%v is not ErrNotExecutable", err)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	b, err := os.ReadFile(build(f, "github.com/hashicorp/terraform", "amd64", "-s -w"))
	if err != nil {
		f.Fatal(err)
	}
	// The whole program would make every step slow; its beginning has the headers.
	f.Add(b[:4096])
	f.Add([]byte("\x7fELF"))
	f.Fuzz(func(t *testing.T, content []byte) {
		info, err := binary.Read(bytes.NewReader(content))
		if err == nil && !info.Platform.Valid() {
			t.Errorf("no platform: %+v", info)
		}
	})
}
