// Package management runs management clusters on this machine as they are in the field, with the real parts of all: a
// control plane, a node that runs pods, Cluster API, and the provider as its release installs it, whose Jobs run OpenTofu in
// images from a registry.
//
// Not in this package: workload clusters, and what is tested.
package management

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/provider/internal/realtest"
	"github.com/captf-toolkit/captf/provider/internal/release"
	"github.com/captf-toolkit/captf/provider/test/e2e/capi"
	"github.com/captf-toolkit/captf/provider/testenv/registry"
)

// Version is that of the release: one that its metadata lists.
const Version = "v0.1.0"

// Release is a release of this work tree and images of the no-op modules, in a registry on loopback. Management clusters
// share it.
type Release struct {
	// Dir has the files of the release, Root is the directory of the repository.
	Dir, Root string
	// Config is a configuration of clusterctl whose repositories are directories: the release, and Cluster API's.
	Config string
	// CAPI is the version of Cluster API.
	CAPI string
	// Clusterctl is the path of clusterctl.
	Clusterctl    string
	work, kubectl string
	// Images are the references of the module images, by role.
	Images   map[contract.Role]string
	Registry *registry.Registry
	builder  *realtest.Images
	base     registry.Pushed
}

// ReleaseOptions say what to make.
type ReleaseOptions struct {
	// Root is the directory of the repository.
	Root string
	// Kubectl, Clusterctl and Runtime are the paths of programs, the last of OpenTofu or Terraform.
	Kubectl, Clusterctl, Runtime string
	// Progress gets a line for each step; nil is silent.
	Progress func(line string)
}

// MakeRelease makes a release for this machine. Whoever calls it has to call Close.
func MakeRelease(ctx context.Context, o ReleaseOptions) (_ *Release, err error) {
	r := &Release{Root: o.Root, Clusterctl: o.Clusterctl, kubectl: o.Kubectl, Images: map[contract.Role]string{}}
	defer func() {
		if err != nil {
			_ = r.Close()
		}
	}()
	if r.Registry, err = registry.Start(context.WithoutCancel(ctx), registry.Options{}); err != nil {
		return nil, err
	}
	if r.work, err = os.MkdirTemp("", "captf-e2e-"); err != nil {
		return nil, fmt.Errorf("making a directory for the release: %w", err)
	}
	repository := filepath.Join(r.work, "repository")
	r.Dir = filepath.Join(repository, "infrastructure-"+Provider, Version)
	if _, err := release.Make(ctx, release.Options{
		Root: o.Root, Version: Version, Image: r.Registry.Host() + "/captf/manager", Insecure: true, Out: r.Dir, Kubectl: o.Kubectl,
		Platforms: []image.Platform{{OS: "linux", Arch: goruntime.GOARCH}}, Progress: o.Progress,
	}); err != nil {
		return nil, err
	}
	if r.CAPI, err = capi.WriteRepository(ctx, repository, o.Kubectl); err != nil {
		return nil, err
	}
	if r.Config, err = writeConfig(r.work, repository, r.CAPI); err != nil {
		return nil, err
	}
	r.builder = &realtest.Images{Registry: r.Registry, Root: o.Root, Runtime: o.Runtime, Progress: o.Progress}
	if r.base, err = r.builder.Base(ctx, "captf/base:test"); err != nil {
		return nil, err
	}
	pushed, err := r.builder.Noop(ctx, r.base, Version)
	if err != nil {
		return nil, err
	}
	for role, p := range pushed {
		r.Images[role] = p.Tag
	}
	return r, nil
}

// Module builds the no-op module of a role with some files over it, and pushes it under a name.
func (r *Release) Module(ctx context.Context, role contract.Role, files map[string]string, name string) (ref string, err error) {
	dir, err := os.MkdirTemp("", "captf-module-")
	if err != nil {
		return "", fmt.Errorf("making a directory for a module: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(r.Root, "modules", "noop", string(role)))); err != nil {
		return "", fmt.Errorf("copying a module: %w", err)
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("changing a module: %w", err)
		}
	}
	pushed, err := r.builder.Module(ctx, r.base, role, dir, "", name)
	return pushed.Tag, err
}

// File reads a file of the release.
func (r *Release) File(name string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(r.Dir, name))
	if err != nil {
		return nil, fmt.Errorf("reading the release: %w", err)
	}
	return text, nil
}

// Close ends the registry and removes the files.
func (r *Release) Close() error {
	var err error
	if r.Registry != nil {
		err = r.Registry.Close()
	}
	if r.work != "" {
		if gone := os.RemoveAll(r.work); err == nil && gone != nil {
			err = fmt.Errorf("removing the release: %w", gone)
		}
	}
	return err
}
