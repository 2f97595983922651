package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/build"
	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/deploy"
	"github.com/captf-toolkit/captf/provider/testenv/registry"
	opentofu "github.com/captf-toolkit/captf/sdk/runtime"
)

// version is that of the release and of the images: one that the release's metadata lists.
const version = "v0.1.0"

// release makes a release of this work tree for this machine, with its image in the registry.
func (d *demo) release(ctx context.Context) error {
	out := filepath.Join(d.dir, "release")
	made, err := run1(ctx, "", "go", "run", "./provider/cmd/release", "--version", version, "--image", d.registry.Host()+"/captf/manager",
		"--insecure", "--platform", "linux/"+goruntime.GOARCH, "--kubectl", d.kubectl, "--out", out)
	if err != nil {
		return err
	}
	d.components = filepath.Join(out, "infrastructure-components.yaml")
	for line := range strings.Lines(made) {
		d.say("made %s", strings.TrimPrefix(strings.TrimSpace(line), d.dir+"/"))
	}
	return nil
}

// modules builds the images of the no-op modules on a base that has OpenTofu, so that it is sent and kept once.
func (d *demo) modules(ctx context.Context) error {
	path, err := testenv.FromEnvironment(prefix)(ctx, "opentofu")
	if err != nil {
		return err
	}
	found, err := opentofu.Find(ctx, opentofu.Options{Path: path})
	if err != nil {
		return err
	}
	content, err := os.ReadFile(found.Path)
	if err != nil {
		return fmt.Errorf("reading OpenTofu: %w", err)
	}
	base, err := registry.Image(map[string]registry.File{
		image.RuntimePath: {Content: content}, "/tmp": {Dir: true, Mode: 0o1777},
	}, v1.Config{Labels: map[string]string{
		string(image.LabelRuntime): string(image.OpenTofu), string(image.LabelRuntimeVersion): found.Version,
	}})
	if err != nil {
		return err
	}
	pushed, err := d.registry.Push(ctx, "opentofu:"+found.Version, base)
	if err != nil {
		return err
	}
	d.images = map[contract.Role]string{}
	for _, role := range contract.Roles() {
		r, err := build.Build(ctx, build.Options{
			Dir: filepath.Join("modules", "noop", string(role)), Role: role, Contract: "v1alpha1",
			Platforms: []image.Platform{{OS: "linux", Arch: goruntime.GOARCH}}, Base: pushed.Digest, Mirror: build.MirrorNone, Level: 1,
			About: build.About{Title: "no-op " + string(role), Version: version},
		})
		if err != nil {
			return fmt.Errorf("building the image of the %s module: %w", role, err)
		}
		module, err := d.registry.Push(ctx, "noop/"+string(role)+":"+version, r.Index)
		if err = errors.Join(err, r.Close()); err != nil {
			return err
		}
		d.images[role] = module.Tag
		d.say("pushed %s", module.Tag)
	}
	return nil
}

// install installs the kinds of Cluster API and the release. What differs from a cluster: the webhooks are called on
// loopback, with a certificate that cert-manager would make, and all pods share this machine's ports.
func (d *demo) install(ctx context.Context) error {
	at, err := run1(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api")
	if err != nil {
		return err
	}
	crds := testenv.CRDs{}
	for _, kind := range []string{"clusters", "machines", "machinepools"} {
		crds.Paths = append(crds.Paths, filepath.Join(strings.TrimSpace(at), "core", "config", "crd", "bases", "cluster.x-k8s.io_"+kind+".yaml"))
	}
	text, err := os.ReadFile(d.components)
	if err != nil {
		return fmt.Errorf("reading the manifests: %w", err)
	}
	manifests, err := deploy.Read(text)
	if err != nil {
		return err
	}
	if err := d.env.InstallCRDs(ctx, crds); err != nil {
		return err
	}
	serving, err := manifests.Install(ctx, d.env)
	if err != nil {
		return err
	}
	d.say("installed %d kinds of Cluster API and %d of the provider", len(crds.Paths), len(manifests.CRDs))
	for _, o := range manifests.Others {
		d.say("applied %s %s", o.GetKind(), o.GetName())
	}
	d.say("applied the webhooks, called at %s:%d", serving.Host, serving.Port)
	for _, name := range manifests.Certificates {
		d.say("created Secret %s, in the place of cert-manager", name.Name)
	}
	for _, deployment := range manifests.Deployments {
		// A registry on loopback is one that the manager must be allowed to ask about images.
		if err := deploy.OnLoopback(ctx, deployment, serving, "--image-inspect-allowed-networks=127.0.0.0/8"); err != nil {
			return err
		}
		if err := d.client.Create(ctx, deployment); err != nil {
			return fmt.Errorf("creating the Deployment: %w", err)
		}
		container := deployment.Spec.Template.Spec.Containers[0]
		d.say("applied Deployment %s: %s\n  %s", deployment.Name, container.Image, strings.Join(container.Args, "\n  "))
	}
	return nil
}

// awaitManager waits for the Deployment.
func (d *demo) awaitManager(ctx context.Context) error {
	if _, err := d.kube(ctx, "", "-n", system, "wait", "deployment", "--all", "--for=condition=Available", "--timeout=90s"); err != nil {
		return errors.Join(err, d.show(ctx, "-n", system, "get", "deployments,replicasets,pods", "-o", "wide"), d.show(ctx, "-n", system, "get", "events"))
	}
	return d.show(ctx, "-n", system, "get", "deployments,pods")
}

// tellManager prints the end of the manager's log, after something went wrong.
func (d *demo) tellManager() {
	if d.node == nil || d.client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	pods := &corev1.PodList{}
	if err := d.client.List(ctx, pods, client.InNamespace(system)); err != nil {
		return
	}
	for i := range pods.Items {
		log, err := d.node.Logs(types.NamespacedName{Namespace: system, Name: pods.Items[i].Name}, "manager")
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(log)), "\n")
		d.say("the end of the manager's log:\n%s", strings.Join(lines[max(0, len(lines)-30):], "\n"))
	}
	for _, kind := range []string{"terraformclusters", "terraformmachines", "terraformmachinepools"} {
		if out, err := d.kube(ctx, "", "-n", namespace, "get", kind, "-o", "yaml"); err == nil {
			d.say("%s", out)
		}
	}
}

// controls is an owner reference as controllers make it.
func controls(owner client.Object, kind, version string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: new(true), BlockOwnerDeletion: new(true)}}
}
