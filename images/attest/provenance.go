package attest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/package-url/packageurl-go"

	"github.com/captf-toolkit/captf/contract/image"
)

// BuildType names what the parameters of a provenance mean; it leads to the page
// that says it.
const BuildType = "https://github.com/captf-toolkit/captf/blob/main/docs/supply-chain.md#build-type-image-v1"

// DefaultBuilder is the builder of an image that was built by hand, of which
// nothing is known.
const DefaultBuilder = "https://github.com/captf-toolkit/captf/blob/main/docs/supply-chain.md#builder-local"

// Builder is who has built an image.
type Builder struct {
	// ID is a URI that names the builder, such as a CI workflow; empty is
	// DefaultBuilder.
	ID string
	// Version is that of captf.
	Version string
	// Invocation is a URI of the run, or empty.
	Invocation string
}

// The types of a SLSA provenance 1.0, the fields that are used.
type provenance struct {
	BuildDefinition buildDefinition `json:"buildDefinition"`
	RunDetails      runDetails      `json:"runDetails"`
}

type buildDefinition struct {
	BuildType            string     `json:"buildType"`
	ExternalParameters   parameters `json:"externalParameters"`
	ResolvedDependencies []resource `json:"resolvedDependencies,omitempty"`
}

// parameters are what a user chose; docs/supply-chain.md describes them.
type parameters struct {
	Source    string   `json:"source,omitempty"`
	Revision  string   `json:"revision,omitempty"`
	Version   string   `json:"version,omitempty"`
	Contract  string   `json:"contract,omitempty"`
	Role      string   `json:"role,omitempty"`
	Runtime   string   `json:"runtime,omitempty"`
	Platforms []string `json:"platforms"`
}

type resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest,omitempty"`
}

type runDetails struct {
	Builder  builder   `json:"builder"`
	Metadata *metadata `json:"metadata,omitempty"`
}

type builder struct {
	ID      string            `json:"id"`
	Version map[string]string `json:"version,omitempty"`
}

type metadata struct {
	InvocationID string `json:"invocationId,omitempty"`
}

// Provenance returns the SLSA provenance of the images of an index, or of one of
// them, as a predicate.
func Provenance(images []Description, by Builder) (json.RawMessage, error) {
	if len(images) == 0 {
		return nil, errors.New("writing the provenance: there is no image")
	}
	labels := images[0].Labels
	p := provenance{
		BuildDefinition: buildDefinition{
			BuildType: BuildType,
			ExternalParameters: parameters{
				Source: labels[ocispec.AnnotationSource], Revision: labels[ocispec.AnnotationRevision], Version: labels[ocispec.AnnotationVersion],
				Contract: labels[string(image.LabelContract)], Role: labels[string(image.LabelRole)],
				Runtime: strings.TrimSuffix(string(images[0].RuntimeKind)+"@"+images[0].RuntimeVersion, "@"),
			},
		},
		RunDetails: runDetails{Builder: builder{ID: cmp.Or(by.ID, DefaultBuilder)}},
	}
	if by.Version != "" {
		p.RunDetails.Builder.Version = map[string]string{"captf": by.Version}
	}
	if by.Invocation != "" {
		p.RunDetails.Metadata = &metadata{InvocationID: by.Invocation}
	}
	var deps []resource
	if r, ok := moduleSource(labels); ok {
		deps = append(deps, r)
	}
	for _, d := range images {
		p.BuildDefinition.ExternalParameters.Platforms = append(p.BuildDefinition.ExternalParameters.Platforms, d.Platform.String())
		deps = append(deps, dependencies(d)...)
	}
	slices.Sort(p.BuildDefinition.ExternalParameters.Platforms)
	p.BuildDefinition.ResolvedDependencies = distinct(deps)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		return nil, fmt.Errorf("writing the provenance: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

var commit = regexp.MustCompile(`^[0-9a-f]{40}$|^[0-9a-f]{64}$`)

func moduleSource(labels map[string]string) (resource, bool) {
	at := sourceLocation(labels)
	if at == "" {
		return resource{}, false
	}
	r := resource{Name: "module", URI: at}
	if revision := labels[ocispec.AnnotationRevision]; commit.MatchString(revision) {
		r.Digest = map[string]string{"gitCommit": revision}
	}
	return r, true
}

// dependencies are what went into the image of a platform: base, runtime and
// providers.
func dependencies(d Description) []resource {
	var out []resource
	if base, err := v1.NewHash(d.Annotations[ocispec.AnnotationBaseImageDigest]); err == nil {
		name := d.Annotations[ocispec.AnnotationBaseImageName]
		r := resource{Name: "base image", Digest: map[string]string{base.Algorithm: base.Hex}}
		if name != "" {
			r.URI = "oci://" + name
		}
		out = append(out, r)
	}
	runtime := resource{Name: "runtime " + d.Platform.String(), Digest: map[string]string{"sha256": d.Runtime.SHA256}}
	if build := d.Runtime.Build; build != nil && build.Main.Path != "" && d.RuntimeVersion != "" {
		u := golangURL(build.Main.Path, "v"+d.RuntimeVersion)
		runtime.URI = u.ToString()
	}
	out = append(out, runtime)
	for _, p := range d.Providers {
		u := packageurl.PackageURL{
			Type: packageurl.TypeTerraform, Namespace: p.Provider[:strings.LastIndex(p.Provider, "/")],
			Name: p.Provider[strings.LastIndex(p.Provider, "/")+1:], Version: p.Version,
		}
		r := resource{Name: "provider " + p.Provider + " " + d.Platform.String(), URI: u.ToString()}
		switch {
		case p.SHA256 != "":
			r.Digest = map[string]string{"sha256": p.SHA256}
		case len(p.Programs) == 1:
			r.Digest = map[string]string{"sha256": p.Programs[0].SHA256}
		}
		out = append(out, r)
	}
	return out
}

// distinct drops what is the same for all platforms.
func distinct(in []resource) []resource {
	var out []resource
	seen := map[string]bool{}
	for _, r := range in {
		key := fmt.Sprint(r.Name, r.URI, r.Digest)
		if !seen[key] {
			seen[key] = true
			out = append(out, r)
		}
	}
	return out
}
