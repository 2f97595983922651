// Package realtest holds the tests in which every part of the provider is the real one: a real control plane whose Jobs
// run as pods, images from a registry that were built by our builder, OpenTofu, the runner and its broker. What makes
// the images is exported, for a demonstration needs them, too.
//
// Not in this package: anything that ships.
package realtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/build"
	"github.com/captf-toolkit/captf/provider/testenv/registry"
	"github.com/captf-toolkit/captf/sdk/runtime"
)

// Images builds images for this machine's platform and pushes them to a registry.
type Images struct {
	Registry *registry.Registry
	// Root is the directory of the repository, which programs are built in and no-op modules are read from.
	Root string
	// Runtime is the executable of OpenTofu or Terraform that module images have.
	Runtime string
	// Progress gets a line for each image; nil is silent.
	Progress func(line string)
}

// platform is that of this machine's containers.
func platform() image.Platform { return image.Platform{OS: "linux", Arch: goruntime.GOARCH} }

// level is the compression of layers: nobody keeps these images, so the fastest.
const level = 1

// Compile builds a static program of the repository into a file.
func (i *Images) Compile(ctx context.Context, pkg, to string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", to, pkg)
	cmd.Dir = i.Root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+platform().OS, "GOARCH="+platform().Arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// Runner builds the image of the runner and pushes it. The image of a release has the manager beside it; Jobs need only
// the runner.
func (i *Images) Runner(ctx context.Context, repositoryTag string) (registry.Pushed, error) {
	dir, err := os.MkdirTemp("", "captf-runner-")
	if err != nil {
		return registry.Pushed{}, fmt.Errorf("making a directory for the runner: %w", err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "runner")
	if err := i.Compile(ctx, "./provider/cmd/runner", program); err != nil {
		return registry.Pushed{}, err
	}
	r, err := build.Programs(ctx, build.ProgramOptions{
		Programs: []build.Program{{Name: "runner", Path: program}}, Entrypoint: "runner", Level: level, TempDir: dir,
	})
	if err != nil {
		return registry.Pushed{}, fmt.Errorf("building the runner's image: %w", err)
	}
	return i.push(ctx, repositoryTag, r)
}

// Base pushes an image that has the runtime and nothing else. Module images that are built on it share its layer, so that
// the large part of them is compressed, sent and kept once.
func (i *Images) Base(ctx context.Context, repositoryTag string) (registry.Pushed, error) {
	found, err := runtime.Find(ctx, runtime.Options{Path: i.Runtime})
	if err != nil {
		return registry.Pushed{}, err
	}
	content, err := os.ReadFile(found.Path)
	if err != nil {
		return registry.Pushed{}, fmt.Errorf("reading the runtime: %w", err)
	}
	kind := image.OpenTofu
	if found.Kind == runtime.Terraform {
		kind = image.Terraform
	}
	img, err := registry.Image(map[string]registry.File{
		image.RuntimePath: {Content: content}, "/tmp": {Dir: true, Mode: 0o1777},
	}, v1.Config{Labels: map[string]string{
		string(image.LabelRuntime): string(kind), string(image.LabelRuntimeVersion): found.Version,
	}})
	if err != nil {
		return registry.Pushed{}, err
	}
	pushed, err := i.Registry.Push(ctx, repositoryTag, img)
	if err == nil {
		i.tell(pushed)
	}
	return pushed, err
}

// Module builds the image of a module on a base and pushes it. Providers are those in the mirror directory; empty means
// that the module needs none.
func (i *Images) Module(ctx context.Context, base registry.Pushed, role contract.Role, dir, mirror, repositoryTag string) (registry.Pushed, error) {
	o := build.Options{
		Dir: dir, Role: role, Contract: "v1alpha1", Platforms: []image.Platform{platform()}, Base: base.Digest,
		Mirror: build.MirrorNone, Level: level,
	}
	if mirror != "" {
		o.Mirror, o.MirrorDir = build.MirrorDir, mirror
	}
	r, err := build.Build(ctx, o)
	if err != nil {
		return registry.Pushed{}, fmt.Errorf("building the image of %s: %w", dir, err)
	}
	return i.push(ctx, repositoryTag, r)
}

// Noop builds the images of the no-op modules of all roles and pushes them, as noop/ROLE:TAG.
func (i *Images) Noop(ctx context.Context, base registry.Pushed, tag string) (map[contract.Role]registry.Pushed, error) {
	out := map[contract.Role]registry.Pushed{}
	for _, role := range contract.Roles() {
		pushed, err := i.Module(ctx, base, role, filepath.Join(i.Root, "modules", "noop", string(role)), "", "noop/"+string(role)+":"+tag)
		if err != nil {
			return nil, err
		}
		out[role] = pushed
	}
	return out, nil
}

// push sends what was built.
func (i *Images) push(ctx context.Context, repositoryTag string, r *build.Result) (registry.Pushed, error) {
	pushed, err := i.Registry.Push(ctx, repositoryTag, r.Index)
	if closing := r.Close(); err == nil && closing != nil {
		return registry.Pushed{}, fmt.Errorf("building %s: %w", repositoryTag, closing)
	}
	if err == nil {
		i.tell(pushed)
	}
	return pushed, err
}

func (i *Images) tell(p registry.Pushed) {
	if i.Progress != nil {
		i.Progress("pushed " + p.Tag)
	}
}
