package binary

import (
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract/image"
)

// Info is what an executable tells about itself.
type Info struct {
	// Platform is what it is built for.
	Platform image.Platform
	// Interpreter is the dynamic linker that it needs in the image, "" for a
	// static program.
	Interpreter string
	// Runtime is what it is, "" when it is neither OpenTofu nor Terraform or
	// does not tell.
	Runtime image.Runtime
	// Version is the version of the main module, without a v; "" when the build
	// did not record it, as builds from a work tree do not.
	Version string
	// Build is what the Go linker recorded, nil for a program in another
	// language or one that was stripped of it.
	Build *debug.BuildInfo
}

// ErrNotExecutable tells that a file is no ELF executable, which is the only
// kind that a Linux image can start.
var ErrNotExecutable = errors.New("it is no ELF executable")

// machines are the platforms by ELF machine and byte order.
var machines = []struct {
	machine elf.Machine
	class   elf.Class
	data    elf.Data
	arch    string
}{
	{elf.EM_X86_64, elf.ELFCLASS64, elf.ELFDATA2LSB, "amd64"},
	{elf.EM_AARCH64, elf.ELFCLASS64, elf.ELFDATA2LSB, "arm64"},
	{elf.EM_386, elf.ELFCLASS32, elf.ELFDATA2LSB, "386"},
	{elf.EM_ARM, elf.ELFCLASS32, elf.ELFDATA2LSB, "arm"},
	{elf.EM_S390, elf.ELFCLASS64, elf.ELFDATA2MSB, "s390x"},
	{elf.EM_PPC64, elf.ELFCLASS64, elf.ELFDATA2LSB, "ppc64le"},
	{elf.EM_RISCV, elf.ELFCLASS64, elf.ELFDATA2LSB, "riscv64"},
}

// Read looks at an executable. It reads headers and the record of the Go
// linker, not the whole file. The error of a file that is no executable for
// Linux is ErrNotExecutable.
func Read(r io.ReaderAt) (Info, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return Info{}, fmt.Errorf("reading the headers: %w", ErrNotExecutable)
	}
	if f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		return Info{}, fmt.Errorf("reading the headers: the file is of the type %s: %w", f.Type, ErrNotExecutable)
	}
	var info Info
	if info.Platform, err = platformOf(f); err != nil {
		return Info{}, err
	}
	info.Interpreter = interpreter(f)
	// A program without the record is still one; what it is then is not known.
	if build, err := buildinfo.Read(r); err == nil {
		info.Build = build
		info.Runtime, info.Version = identify(build)
	}
	return info, nil
}

func platformOf(f *elf.File) (image.Platform, error) {
	for _, m := range machines {
		if f.Machine == m.machine && f.Class == m.class && f.Data == m.data {
			return image.Platform{OS: "linux", Arch: m.arch}, nil
		}
	}
	return image.Platform{}, fmt.Errorf("reading the headers: the machine %s is not known", f.Machine)
}

// maxInterpreter is the longest path of a dynamic linker, PATH_MAX of Linux.
const maxInterpreter = 4096

func interpreter(f *elf.File) string {
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP || p.Filesz > maxInterpreter {
			continue
		}
		b, err := io.ReadAll(p.Open())
		if err == nil {
			return strings.TrimRight(string(b), "\x00")
		}
	}
	return ""
}

// modules are the main modules of the runtimes.
var modules = []struct {
	path    string
	runtime image.Runtime
}{
	{"github.com/opentofu/opentofu", image.OpenTofu},
	{"github.com/hashicorp/terraform", image.Terraform},
}

// identify tells which runtime a build is of and in which version.
func identify(build *debug.BuildInfo) (image.Runtime, string) {
	for _, m := range modules {
		if build.Path == m.path || strings.HasPrefix(build.Path, m.path+"/cmd/") {
			return m.runtime, versionOf(build, m.path)
		}
	}
	return "", ""
}

// version is the syntax of a released version; a pseudo-version and what was
// changed after it says no more than that a work tree was built.
var version = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+(?:-(?:alpha|beta|rc)[0-9]*)?)(?:\+incompatible)?$`)

// versionOf finds the version of the module path: that of the module itself,
// that of the module as a dependency, or one set by the linker.
func versionOf(build *debug.BuildInfo, path string) string {
	mods := append([]*debug.Module{&build.Main}, build.Deps...)
	i := slices.IndexFunc(mods, func(m *debug.Module) bool { return m.Path == path })
	if i >= 0 {
		if found := version.FindStringSubmatch(mods[i].Version); found != nil {
			return found[1]
		}
	}
	for _, s := range build.Settings {
		if s.Key != "-ldflags" {
			continue
		}
		for field := range strings.FieldsSeq(s.Value) {
			name, value, ok := strings.Cut(strings.Trim(field, `"'`), "=")
			if found := version.FindStringSubmatch(value); ok && name == path+"/version.Version" && found != nil {
				return found[1]
			}
		}
	}
	return ""
}
