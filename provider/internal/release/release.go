package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"sigs.k8s.io/yaml"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/build"
	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/images/publish"
)

// Options are what a release is made from.
type Options struct {
	// Root is the directory of the repository.
	Root string
	// Version is that of the release, such as v0.1.0.
	Version string
	// Commit that it is made from; empty is left out.
	Commit string
	// Image is the repository of the image, such as registry.example.com/captf/manager.
	Image string
	// Out is the directory that the files are written into. With Layout the image is written there, too, as the OCI layout
	// image, and is not sent.
	Out    string
	Layout bool
	// Digest of the image, if it is there already: then it is neither built nor sent.
	Digest string
	// Insecure allows a registry that speaks plain HTTP.
	Insecure bool
	// Platforms of the image; nil is all that module images are made for.
	Platforms []image.Platform
	// Created is the time of everything in the image; the zero value is 1970.
	Created time.Time
	// Kubectl is a kubectl with kustomize, Go the Go command; empty are those on PATH.
	Kubectl, Go string
	// Progress gets a line for each step; nil is silent.
	Progress func(line string)
}

// Result is what was made.
type Result struct {
	// Image is the reference of the image by its digest.
	Image string
	// Files are the paths of the files.
	Files []string
}

var versionPattern = regexp.MustCompile(`^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$`)

// Make makes a release. Whatever can be refused is refused before something is built, and nothing is written before the image
// is there.
func Make(ctx context.Context, o Options) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	files, err := o.templates()
	if err != nil {
		return nil, err
	}
	digest := o.Digest
	if digest == "" {
		if digest, err = o.makeImage(ctx); err != nil {
			return nil, err
		}
	}
	r := &Result{Image: o.Image + "@" + digest}
	if files["infrastructure-components.yaml"], err = Components(ctx, o.Root, o.Kubectl, r.Image); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil { //nolint:gosec // files for everyone to read
		return nil, fmt.Errorf("making the directory of the release: %w", err)
	}
	for name, text := range files {
		path := filepath.Join(o.Out, name)
		if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // files for everyone to read
			return nil, fmt.Errorf("writing the release: %w", err)
		}
		r.Files = append(r.Files, path)
	}
	slices.Sort(r.Files)
	return r, nil
}

// templates are the files that a release has as they are. One of them must list the version's series.
func (o *Options) templates() (map[string][]byte, error) {
	paths, err := filepath.Glob(filepath.Join(o.Root, "provider", "templates", "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("looking for templates: %w", err)
	}
	files := map[string][]byte{}
	for _, path := range paths {
		if files[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("reading a template: %w", err)
		}
	}
	return files, hasSeries(files["metadata.yaml"], o.Version)
}

func (o *Options) check() error {
	if !versionPattern.MatchString(o.Version) {
		return fmt.Errorf("parsing version %q: it is like v0.1.0 or v0.1.0-rc.1", o.Version)
	}
	if _, err := name.NewRepository(o.Image); err != nil {
		return fmt.Errorf("parsing image %q: it is a repository without tag or digest, such as registry.example.com/captf/manager", o.Image)
	}
	if o.Digest != "" {
		if _, err := name.NewDigest(o.Image + "@" + o.Digest); err != nil {
			return fmt.Errorf("parsing digest %q: it is sha256: and 64 hexadecimal digits", o.Digest)
		}
	}
	if o.Out == "" {
		return errors.New("the directory of the release is missing")
	}
	if len(o.Platforms) == 0 {
		o.Platforms = image.Platforms()
	}
	if o.Kubectl == "" {
		o.Kubectl = "kubectl"
	}
	if o.Go == "" {
		o.Go = "go"
	}
	return nil
}

// programs are the packages of the image's programs, by name.
var programs = map[string]string{"manager": "./provider/cmd/manager", "runner": "./provider/cmd/runner"}

// makeImage builds the programs and the image, sends it, and returns its digest.
func (o *Options) makeImage(ctx context.Context) (string, error) {
	send := publish.Options{Insecure: o.Insecure, UserAgent: "captf-release", Jobs: publish.DefaultJobs}
	var tags []name.Tag
	if !o.Layout {
		tag, err := publish.ParseTag(o.Image+":"+o.Version, o.Insecure)
		if err != nil {
			return "", err
		}
		tags = append(tags, tag)
		if err := publish.Check(tags, send); err != nil {
			return "", err
		}
	}
	dir, err := os.MkdirTemp("", "captf-release-")
	if err != nil {
		return "", fmt.Errorf("making a directory for programs: %w", err)
	}
	defer os.RemoveAll(dir)
	var built []build.Program
	for _, p := range o.Platforms {
		for name, pkg := range programs {
			start := time.Now()
			to := filepath.Join(dir, p.OS+"_"+p.Arch+"_"+name)
			if err := o.compile(ctx, p, pkg, to); err != nil {
				return "", err
			}
			o.tell("built %s for %s in %s", name, p, time.Since(start).Round(10*time.Millisecond))
			built = append(built, build.Program{Name: name, Path: to})
		}
	}
	r, err := build.Programs(ctx, build.ProgramOptions{
		Programs: built, Entrypoint: "manager", Created: o.Created, TempDir: dir, Progress: o.Progress,
		About: build.About{
			Title: "CAPTF manager and runner", Version: o.Version, Revision: o.Commit, Licenses: "Apache-2.0",
			Source: "https://github.com/captf-toolkit/captf", Description: "Cluster API infrastructure provider for Terraform and OpenTofu modules",
		},
	})
	if err != nil {
		return "", err
	}
	defer r.Close()
	set, err := content.FromIndex(ctx, r.Index)
	if err != nil {
		return "", err
	}
	if o.Layout {
		if err = os.MkdirAll(o.Out, 0o755); err == nil { //nolint:gosec // files for everyone to read
			err = set.WriteLayout(ctx, filepath.Join(o.Out, "image"), o.Version)
		}
	} else {
		_, err = publish.Publish(ctx, set, tags, send)
	}
	if err != nil {
		return "", err
	}
	o.tell("the image is %s@%s", o.Image, r.Digest)
	return r.Digest.String(), nil
}

// compile builds a static program, the same from the same sources.
func (o *Options) compile(ctx context.Context, p image.Platform, pkg, to string) error {
	const at = "github.com/captf-toolkit/captf/provider/internal/version."
	flags := "-s -w -X " + at + "version=" + o.Version
	if o.Commit != "" {
		flags += " -X " + at + "commit=" + o.Commit
	}
	cmd := exec.CommandContext(ctx, o.Go, "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", to, pkg)
	cmd.Dir = o.Root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s for %s: %w\n%s", pkg, p, err, out)
	}
	return nil
}

func (o *Options) tell(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}

// managerImage is the image in the manifests, which an overlay replaces.
const managerImage = "captf-manager"

// Components returns the manifests of provider/config/default with an image: what clusterctl installs. Kubectl has kustomize.
func Components(ctx context.Context, root, kubectl, ref string) ([]byte, error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return nil, fmt.Errorf("parsing image %q: %w", ref, err)
	}
	dir, err := os.MkdirTemp("", "captf-components-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for manifests: %w", err)
	}
	defer os.RemoveAll(dir)
	// kustomize reads only what is below its root or is a kustomization itself, so the manifests are copied.
	if err := os.CopyFS(filepath.Join(dir, "config"), os.DirFS(filepath.Join(root, "provider", "config"))); err != nil {
		return nil, fmt.Errorf("copying the manifests: %w", err)
	}
	override := map[string]any{"name": managerImage, "newName": parsed.Context().Name()}
	switch at := parsed.(type) {
	case name.Digest:
		override["digest"] = at.DigestStr()
	case name.Tag:
		override["newTag"] = at.TagStr()
	}
	for at, text := range map[string]map[string]any{
		"image":   {"resources": []string{"../config/default"}, "images": []any{override}},
		"overlay": {"resources": []string{"../image"}, "components": []string{"../config/manager/image"}},
	} {
		raw, err := yaml.Marshal(text)
		if err != nil {
			return nil, fmt.Errorf("writing an overlay: %w", err)
		}
		if err := os.MkdirAll(filepath.Join(dir, at), 0o700); err != nil {
			return nil, fmt.Errorf("writing an overlay: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, at, "kustomization.yaml"), raw, 0o600); err != nil {
			return nil, fmt.Errorf("writing an overlay: %w", err)
		}
	}
	return kustomize(ctx, kubectl, filepath.Join(dir, "overlay"))
}

// kustomize builds a kustomization.
func kustomize(ctx context.Context, kubectl, dir string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, kubectl, "kustomize", dir)
	cmd.Stdout, cmd.Stderr = &stdout, io.Writer(&stderr)
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("building the manifests with %s kustomize: %w\n%s", kubectl, err, strings.TrimSpace(stderr.String()))
	}
	return stdout.Bytes(), nil
}

// hasSeries tells whether metadata.yaml lists the series of a version, without which clusterctl refuses the release.
func hasSeries(metadata []byte, version string) error {
	var m struct {
		ReleaseSeries []struct {
			Major, Minor int
		} `json:"releaseSeries"`
	}
	if err := yaml.Unmarshal(metadata, &m); err != nil {
		return fmt.Errorf("reading metadata.yaml: %w", err)
	}
	for _, s := range m.ReleaseSeries {
		if strings.HasPrefix(version, fmt.Sprintf("v%d.%d.", s.Major, s.Minor)) {
			return nil
		}
	}
	return fmt.Errorf("reading metadata.yaml: it does not list the series of %s: add it to provider/templates/metadata.yaml", version)
}
