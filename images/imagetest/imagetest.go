// Package imagetest supports tests of images: executables of any platform, small
// images of modules, and a registry.
//
// Not in this package: anything that a binary needs.
package imagetest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/build"
	"github.com/captf-toolkit/captf/images/content"
)

// Program returns an executable for a platform, such as linux/arm64: headers
// without any code. With a loader it is one that is linked dynamically.
func Program(t testing.TB, platform, loader string) []byte {
	t.Helper()
	machines := map[string]elf.Machine{"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64, "linux/s390x": elf.EM_S390}
	m, ok := machines[platform]
	if !ok {
		t.Fatalf("there is no program for %q", platform)
	}
	const header, segment = 64, 56
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(m), Version: 1, Ehsize: header, Phentsize: segment}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	var b bytes.Buffer
	var segments []elf.Prog64
	if loader != "" {
		h.Phoff, h.Phnum = header, 1
		segments = []elf.Prog64{{Type: uint32(elf.PT_INTERP), Off: header + segment, Filesz: uint64(len(loader) + 1)}}
	}
	var order binary.ByteOrder = binary.LittleEndian
	if m == elf.EM_S390 {
		order, h.Ident[elf.EI_DATA] = binary.BigEndian, byte(elf.ELFDATA2MSB)
	}
	if err := binary.Write(&b, order, h); err != nil {
		t.Fatal(err)
	}
	for _, s := range segments {
		if err := binary.Write(&b, order, s); err != nil {
			t.Fatal(err)
		}
		b.WriteString(loader + "\x00")
	}
	return b.Bytes()
}

// Layout builds the image of a module for all platforms, with a runtime that
// has headers only, as an OCI layout in a new directory, and returns its reference. The
// options can be changed by edit.
func Layout(t testing.TB, dir string, role contract.Role, edit func(*build.Options)) string {
	t.Helper()
	o := build.Options{
		Dir: dir, Role: role, Contract: "v1alpha1", Runtime: image.OpenTofu, RuntimeVersion: "1.12.6",
		Binaries: map[image.Platform]string{}, Mirror: build.MirrorNone, TempDir: t.TempDir(),
	}
	for _, p := range image.Platforms() {
		file := filepath.Join(t.TempDir(), "tofu")
		if err := os.WriteFile(file, Program(t, p.String(), ""), 0o755); err != nil {
			t.Fatal(err)
		}
		o.Binaries[p] = file
	}
	if edit != nil {
		edit(&o)
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
	out := filepath.Join(t.TempDir(), "image")
	if err := set.WriteLayout(t.Context(), out, ""); err != nil {
		t.Fatal(err)
	}
	return "oci:" + out
}

// Registry starts a registry on the loopback interface, which serves referrers,
// and returns its host and port.
func Registry(t testing.TB, options ...registry.Option) string {
	t.Helper()
	options = append([]registry.Option{registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)}, options...)
	server := httptest.NewServer(registry.New(options...))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// The provider in mirrors that Mirror makes.
const (
	ProviderSource  = "registry.example/acme/cloud"
	ProviderVersion = "1.2.3"
)

// Mirror makes a provider mirror for the platforms, with the provider
// ProviderSource, which is real for this machine's platform: it has the resource
// cloud_instance with a required name. For other platforms it has headers only.
func Mirror(t testing.TB, platforms ...image.Platform) string {
	t.Helper()
	dir := t.TempDir()
	for _, p := range platforms {
		at := filepath.Join(dir, filepath.FromSlash(ProviderSource), ProviderVersion, p.Underscored())
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(at, "terraform-provider-cloud_v"+ProviderVersion)
		if p != (image.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}) {
			if err := os.WriteFile(file, Program(t, p.String(), ""), 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", file,
			"github.com/captf-toolkit/captf/images/imagetest/provider")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("building a provider: %v\n%s", err, b)
		}
	}
	return dir
}
