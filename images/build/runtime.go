package build

import (
	"context"
	"fmt"
	"path/filepath"
	goruntime "runtime"
	"strings"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/binary"
	"github.com/captf-toolkit/captf/images/regular"
	"github.com/captf-toolkit/captf/sdk/runtime"
)

// executable is what is known of a runtime's executable.
type executable struct {
	binary.Info
	// path is where it lies on this machine.
	path string
	// revision is the commit that it was built from, if it tells.
	revision string
}

// inspect tells what a runtime's executable is, without running it.
func inspect(path string) (*executable, error) {
	f, _, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading runtime: %w", err)
	}
	defer f.Close()
	e := &executable{path: path}
	if e.Info, err = binary.Read(f); err != nil {
		return nil, fmt.Errorf("reading runtime %s: %w; modules run on Linux, so give the binary for linux", path, err)
	}
	if e.Build == nil {
		return e, nil
	}
	for _, s := range e.Build.Settings {
		if s.Key == "vcs.revision" {
			e.revision = s.Value
		}
	}
	return e, nil
}

// host is the platform of this machine.
func host() image.Platform { return image.Platform{OS: goruntime.GOOS, Arch: goruntime.GOARCH} }

// runtimes are the executables of an image by platform, all of one runtime and
// version.
type runtimes struct {
	kind    image.Runtime
	version string
	// given are what the caller says of all of them.
	given struct {
		kind    image.Runtime
		version string
	}
	binaries map[image.Platform]*executable
}

func newRuntimes(o Options) *runtimes {
	r := &runtimes{kind: o.Runtime, version: o.RuntimeVersion, binaries: map[image.Platform]*executable{}}
	r.given.kind, r.given.version = o.Runtime, o.RuntimeVersion
	return r
}

// inspectRuntimes looks at the executables that were given.
func inspectRuntimes(ctx context.Context, o Options) (*runtimes, error) {
	r := newRuntimes(o)
	for _, p := range o.Platforms {
		path, ok := o.Binaries[p]
		if !ok {
			continue
		}
		b, err := inspect(path)
		if err != nil {
			return nil, err
		}
		if b.Platform != p {
			return nil, fmt.Errorf("reading runtime %s: it is built for %s, but was given for %s", path, b.Platform, p)
		}
		if b.Interpreter != "" && o.Base == "" {
			return nil, fmt.Errorf("reading runtime %s: it needs the loader %s, which an image without base does not have: give a static binary, or a base image",
				path, b.Interpreter)
		}
		r.binaries[p] = b
	}
	r.fill(ctx)
	for _, p := range o.Platforms {
		b := r.binaries[p]
		if b == nil {
			continue
		}
		if err := r.agree(b); err != nil {
			return nil, err
		}
		switch {
		case b.Runtime == "" && b.Version == "":
			o.progress("note: the runtime %s does not tell what it is; %s %s is what was said", b.path, r.kind, r.version)
		case b.Runtime == "":
			o.progress("note: the runtime %s does not tell what it is; %s is what was said", b.path, r.kind)
		case b.Version == "":
			o.progress("note: the runtime %s does not tell its version; %s is what was said", b.path, r.version)
		}
	}
	return r, nil
}

// fill finds out what the files alone do not tell: by asking the one that runs
// here, and by what binaries of one release have in common.
func (r *runtimes) fill(ctx context.Context) {
	if b := r.binaries[host()]; b != nil && (b.Runtime == "" || b.Version == "") {
		if path, err := filepath.Abs(b.path); err == nil {
			b.ask(ctx, path)
		}
	}
	for _, b := range r.binaries {
		if b.Runtime == "" {
			b.Runtime = image.RuntimeOfFile(b.path)
		}
		for _, other := range r.binaries {
			if b.Version == "" && other.Version != "" && b.Runtime == other.Runtime && b.revision != "" && b.revision == other.revision {
				b.Version = other.Version
			}
		}
	}
}

// ask runs the binary for its version. A binary that does not answer, for
// example because it is not executable here, just stays unknown.
func (b *executable) ask(ctx context.Context, path string) {
	found, err := runtime.Find(ctx, runtime.Options{Path: path})
	if err != nil {
		return
	}
	b.Version = found.Version
	switch found.Kind {
	case runtime.OpenTofu:
		b.Runtime = image.OpenTofu
	case runtime.Terraform:
		b.Runtime = image.Terraform
	}
}

// agree takes over what a binary is, or says in what it differs from what is
// known already. What a binary does not tell has to be given: that of another
// platform says nothing about it.
func (r *runtimes) agree(b *executable) error {
	switch {
	case b.Runtime == "" && r.given.kind == "":
		return fmt.Errorf("reading runtime %s: it does not tell whether it is OpenTofu or Terraform: say it with --runtime-kind", b.path)
	case b.Runtime != "" && r.kind != "" && b.Runtime != r.kind:
		return fmt.Errorf("reading runtime %s: it is %s, not %s", b.path, b.Runtime, r.kind)
	case r.kind == "":
		r.kind = b.Runtime
	}
	want := strings.TrimPrefix(r.version, "v")
	switch {
	case b.Version == "" && r.given.version == "":
		return fmt.Errorf("reading runtime %s: it does not tell its version, and it cannot be asked on %s: say it with --runtime-version", b.path, host())
	case b.Version != "" && want != "" && b.Version != want:
		return fmt.Errorf("reading runtime %s: its version is %s, not %s", b.path, b.Version, want)
	case want == "":
		want = b.Version
	}
	r.version = want
	return nil
}

// PlatformOf returns the platform that an executable is built for.
func PlatformOf(path string) (image.Platform, error) {
	e, err := inspect(path)
	if err != nil {
		return image.Platform{}, err
	}
	return e.Platform, nil
}
