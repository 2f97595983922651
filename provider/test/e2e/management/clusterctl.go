package management

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/captf-toolkit/captf/provider/test/e2e/capi"
)

// Provider is the name of the infrastructure provider in a configuration of clusterctl.
const Provider = "terraform"

// writeConfig writes a configuration of clusterctl whose repositories are directories.
func writeConfig(dir, repository, version string) (string, error) {
	type provider struct {
		Name string `json:"name"`
		Type string `json:"type"`
		URL  string `json:"url"`
	}
	all := []provider{{Provider, "InfrastructureProvider", filepath.Join(repository, "infrastructure-"+Provider, Version, "infrastructure-components.yaml")}}
	for _, p := range capi.Providers() {
		all = append(all, provider{p.Name, p.Type, filepath.Join(repository, p.Label, version, p.File)})
	}
	text, err := yaml.Marshal(map[string]any{
		"providers": all,
		// The control plane of tests has no cert-manager; what it would do is done by package deploy.
		"cert-manager": map[string]string{"externallyProvisioned": "true"},
		// Clusters of a class are to be tested.
		"CLUSTER_TOPOLOGY": "true",
	})
	if err != nil {
		return "", fmt.Errorf("writing the configuration of clusterctl: %w", err)
	}
	path := filepath.Join(dir, "clusterctl.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return "", fmt.Errorf("writing the configuration of clusterctl: %w", err)
	}
	return path, nil
}

// Run runs clusterctl with the repositories of the release and some variables, and returns its standard output. It reads
// nothing of the user's and asks nobody for newer versions.
func (r *Release) Run(ctx context.Context, variables map[string]string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, r.Clusterctl, append([]string{"--config", r.Config}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.work, "XDG_CONFIG_HOME=" + r.work, "CLUSTERCTL_DISABLE_VERSIONCHECK=true"}
	for name, value := range variables {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("running clusterctl %s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}
