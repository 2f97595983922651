package attest

import (
	"archive/zip"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/binary"
	"github.com/captf-toolkit/captf/images/rootfs"
)

// Description is what is in the image of one platform.
type Description struct {
	// Digest is that of the image's manifest.
	Digest v1.Hash
	// Platform is what it is for.
	Platform image.Platform
	// Created is when it was made, by its config.
	Created time.Time
	// Labels are those of its config, Annotations those of its manifest.
	Labels, Annotations map[string]string
	// Runtime is the program at /captf/runtime.
	Runtime Program
	// RuntimeKind and RuntimeVersion are by its own record, else by the labels.
	RuntimeKind    image.Runtime
	RuntimeVersion string
	// Providers are those in the mirror for the platform, sorted.
	Providers []Provider
}

// Program is an executable.
type Program struct {
	// Path is where it is in the image; of a packed provider, in its archive.
	Path string
	// SHA256 is its digest in hexadecimal.
	SHA256 string
	// Build is what the Go linker recorded, or nil.
	Build *debug.BuildInfo
}

// Provider is a provider in the mirror.
type Provider struct {
	image.Package
	// SHA256 is the digest of the archive, or empty for an unpacked provider.
	SHA256 string
	// Programs are its executables, usually one.
	Programs []Program
}

// Limits of a provider's archive.
const (
	maxProgram    = 2 << 30
	maxZipEntries = 10000
)

// Spool says which files of an image Describe reads in parts; give it to
// rootfs.Options, so that layers without a table of contents are read once.
func Spool(p string) bool {
	return image.Within(image.ProvidersPath, p) || p == image.RuntimePath || strings.HasPrefix(p, "/usr/local/bin/")
}

// Describe reads what the documents tell. An image without a runtime, and a mirror
// with damaged archives, are errors.
func Describe(ctx context.Context, files *rootfs.FS) (Description, error) {
	img := files.Image()
	d := Description{
		Digest: img.Digest, Platform: image.Platform{OS: img.Platform.OS, Arch: img.Platform.Architecture},
		Created: img.Config.Created.UTC(), Labels: img.Labels(), Annotations: img.Manifest.Annotations,
	}
	if d.Created.IsZero() {
		d.Created = time.Unix(0, 0).UTC()
	}
	runtime, info, err := program(ctx, files, image.RuntimePath)
	if err != nil {
		return Description{}, fmt.Errorf("describing the runtime: %w", err)
	}
	// What the runtime tells itself comes before labels, which may be wrong.
	d.Runtime = runtime
	d.RuntimeKind = cmp.Or(info.Runtime, image.Runtime(d.Labels[string(image.LabelRuntime)]))
	d.RuntimeVersion = cmp.Or(info.Version, d.Labels[string(image.LabelRuntimeVersion)])
	if d.Providers, err = providers(ctx, files, d.Platform); err != nil {
		return Description{}, fmt.Errorf("describing the providers: %w", err)
	}
	return d, nil
}

// program describes an executable of the image. One that is not ELF has no
// more than a digest.
func program(ctx context.Context, files *rootfs.FS, p string) (Program, binary.Info, error) {
	f, err := files.OpenReaderAt(ctx, p)
	if err != nil {
		return Program{}, binary.Info{}, err
	}
	defer f.Close()
	out := Program{Path: p}
	if e, err := files.Stat(p); err == nil {
		out.Path = e.Path
	}
	if out.SHA256, err = digest(&interruptible{ctx, io.NewSectionReader(f, 0, f.Size())}); err != nil {
		return Program{}, binary.Info{}, fmt.Errorf("reading %s: %w", p, err)
	}
	info, err := binary.Read(f)
	if err != nil {
		info = binary.Info{}
	}
	out.Build = info.Build
	return out, info, nil
}

func digest(r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// providers describes those in the mirror.
func providers(ctx context.Context, files *rootfs.FS, on image.Platform) ([]Provider, error) {
	var list []string
	err := files.Walk(image.ProvidersPath, func(e rootfs.Entry) error {
		if e.IsRegular() {
			list = append(list, strings.TrimPrefix(e.Path, image.ProvidersPath+"/"))
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []Provider
	for _, pkg := range image.ParseMirror(list).Packages {
		if pkg.Platform != on {
			continue
		}
		p := Provider{Package: pkg}
		if pkg.Packed {
			p.SHA256, p.Programs, err = packed(ctx, files, path.Join(image.ProvidersPath, pkg.Path))
		} else {
			p.Programs, err = unpacked(ctx, files, pkg.Path, list)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// isProgram tells a provider's executable from its licence and documentation.
func isProgram(name string) bool { return strings.HasPrefix(path.Base(name), "terraform-provider-") }

func unpacked(ctx context.Context, files *rootfs.FS, dir string, list []string) ([]Program, error) {
	var out []Program
	for _, name := range list {
		if path.Dir(name) != dir || !isProgram(name) {
			continue
		}
		p, _, err := program(ctx, files, path.Join(image.ProvidersPath, name))
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func packed(ctx context.Context, files *rootfs.FS, p string) (sum string, programs []Program, err error) {
	f, err := files.OpenReaderAt(ctx, p)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	if sum, err = digest(&interruptible{ctx, io.NewSectionReader(f, 0, f.Size())}); err != nil {
		return "", nil, fmt.Errorf("reading %s: %w", p, err)
	}
	z, err := zip.NewReader(f, f.Size())
	if err != nil {
		return sum, nil, fmt.Errorf("reading %s: it is not a zip archive; build the mirror again", p)
	}
	if len(z.File) > maxZipEntries {
		return sum, nil, fmt.Errorf("reading %s: it has %d entries; at most %d are read", p, len(z.File), maxZipEntries)
	}
	for _, e := range z.File {
		if strings.Contains(e.Name, "/") || !isProgram(e.Name) {
			continue
		}
		program, err := zipped(ctx, e)
		if err != nil {
			return sum, nil, fmt.Errorf("reading %s: %w", p, err)
		}
		programs = append(programs, program)
	}
	slices.SortFunc(programs, func(a, b Program) int { return strings.Compare(a.Path, b.Path) })
	return sum, programs, nil
}
