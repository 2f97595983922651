package management

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/provider/internal/release"
	"github.com/captf-toolkit/captf/provider/testenv/deploy"
)

// Next makes the release of the next version of the provider from the same work tree, beside those that are in the repository.
func (r *Release) Next(ctx context.Context) (version string, err error) {
	repository := filepath.Dir(r.Dir)
	made, err := os.ReadDir(repository)
	if err != nil {
		return "", fmt.Errorf("reading the repository: %w", err)
	}
	version = fmt.Sprintf("v0.1.%d", len(made))
	_, err = release.Make(ctx, release.Options{
		Root: r.Root, Version: version, Image: r.Registry.Host() + "/captf/manager", Insecure: true, Out: filepath.Join(repository, version), Kubectl: r.kubectl,
		Platforms: []image.Platform{{OS: "linux", Arch: goruntime.GOARCH}}, Progress: r.builder.Progress,
	})
	return version, err
}

// Upgrade upgrades the provider by clusterctl to the newest version in the repository, and waits until that is available. What
// clusterctl installs is fitted to this machine before a pod of it starts; pods that run go on.
func (c *Cluster) Upgrade(ctx context.Context) error {
	if err := c.cordon(ctx, true); err != nil {
		return err
	}
	if _, err := c.release.Run(ctx, nil, "upgrade", "apply", "--contract", "v1beta2", "--kubeconfig", c.Env.KubeconfigFile()); err != nil {
		return err
	}
	installed, err := deploy.Installed(ctx, c.Env, Namespace)
	if err != nil {
		return err
	}
	if err := c.stopped(ctx, installed); err != nil {
		return err
	}
	if err := c.cordon(ctx, false); err != nil {
		return err
	}
	return c.provider(ctx)
}

// cordon keeps new pods from the node, or lets them start.
func (c *Cluster) cordon(ctx context.Context, on bool) error {
	nodes := &corev1.NodeList{}
	if err := c.Client.List(ctx, nodes); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	for i := range nodes.Items {
		base := nodes.Items[i].DeepCopy()
		nodes.Items[i].Spec.Unschedulable = on
		if err := c.Client.Patch(ctx, &nodes.Items[i], client.MergeFrom(base)); err != nil {
			return fmt.Errorf("cordoning Node %s: %w", base.Name, err)
		}
	}
	return nil
}
