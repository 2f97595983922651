package capi

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Module is the path of Cluster API's Go module.
const Module = "sigs.k8s.io/cluster-api"

// Source returns the version of Cluster API that tests are built with, and the directory of its sources.
func Source(ctx context.Context) (version, dir string, err error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", Module).Output()
	if err != nil {
		return "", "", fmt.Errorf("finding the sources of Cluster API: %w", err)
	}
	version, dir, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
	if dir == "" {
		return "", "", fmt.Errorf("finding the sources of Cluster API: they are not in the module cache; run `go mod download %s`", Module)
	}
	return version, dir, nil
}

// Provider is one of Cluster API's providers in the terms of clusterctl.
type Provider struct {
	// Name and Type are those of a clusterctl configuration, Label begins the path of a release in a local repository.
	Name, Type, Label string
	// File is the name of the manifests of a release.
	File string
	// dir is the directory of Cluster API's module that has the provider's kustomization.
	dir string
}

// Providers are Cluster API's providers that Start runs.
func Providers() []Provider {
	return []Provider{
		{Name: "cluster-api", Type: "CoreProvider", Label: "cluster-api", File: "core-components.yaml", dir: "core"},
		{Name: "kubeadm", Type: "BootstrapProvider", Label: "bootstrap-kubeadm", File: "bootstrap-components.yaml", dir: "bootstrap/kubeadm"},
		{Name: "kubeadm", Type: "ControlPlaneProvider", Label: "control-plane-kubeadm", File: "control-plane-components.yaml", dir: "controlplane/kubeadm"},
	}
}

// Namespaces are those of the providers.
func Namespaces() []string {
	var out []string
	for _, p := range all() {
		out = append(out, p.namespace)
	}
	return out
}

// WriteRepository writes releases of the providers, as clusterctl reads them from a directory, and returns their version. The
// kubectl has kustomize.
func WriteRepository(ctx context.Context, dir, kubectl string) (version string, err error) {
	version, source, err := Source(ctx)
	if err != nil {
		return "", err
	}
	metadata, err := os.ReadFile(filepath.Join(source, "metadata.yaml"))
	if err != nil {
		return "", fmt.Errorf("reading the metadata of Cluster API: %w", err)
	}
	for _, p := range Providers() {
		var stderr bytes.Buffer
		cmd := exec.CommandContext(ctx, kubectl, "kustomize", filepath.Join(source, filepath.FromSlash(p.dir), "config", "default"))
		cmd.Stderr = &stderr
		manifests, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("building the manifests of %s: %w\n%s", p.Label, err, strings.TrimSpace(stderr.String()))
		}
		at := filepath.Join(dir, p.Label, version)
		if err := os.MkdirAll(at, 0o755); err != nil { //nolint:gosec // files for everyone to read
			return "", fmt.Errorf("writing a repository: %w", err)
		}
		for name, text := range map[string][]byte{p.File: manifests, "metadata.yaml": metadata} {
			if err := os.WriteFile(filepath.Join(at, name), text, 0o644); err != nil { //nolint:gosec // files for everyone to read
				return "", fmt.Errorf("writing a repository: %w", err)
			}
		}
	}
	return version, nil
}
