// Package inspect describes a module image for people: what runs where, what its
// labels say, and what is inside of it. It judges nothing.
//
// Not in this package: checks (lint/image), and changing anything.
package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/images/rootfs"
	"github.com/captf-toolkit/captf/images/source"
)

// Report describes an image.
type Report struct {
	Reference string `json:"reference"`
	Digest    string `json:"digest"`
	MediaType string `json:"mediaType"`
	// Annotations are those of the index, or of the single image.
	Annotations map[string]string `json:"annotations"`
	Platforms   []Platform        `json:"platforms"`
	// Attached are documents such as SBOMs and signatures.
	Attached []Attached `json:"attached"`
}

// Platform describes the image of one platform.
type Platform struct {
	Platform string `json:"platform"`
	Digest   string `json:"digest"`
	// Size is what a node downloads, in bytes.
	Size       int64     `json:"size"`
	Created    time.Time `json:"created"`
	User       string    `json:"user"`
	Entrypoint []string  `json:"entrypoint"`
	Layers     []Layer   `json:"layers"`
	Labels     Labels    `json:"labels"`
	// Runtime is the executable, and Module and Providers what is in the fixed
	// paths; they are missing in a report that did not look inside.
	Runtime   *File    `json:"runtime,omitempty"`
	Module    []File   `json:"module,omitempty"`
	Providers []string `json:"providers,omitempty"`
	// Problems are what could not be read, and what an image should not contain.
	Problems []string `json:"problems"`
}

// Layer is a layer.
type Layer struct {
	Digest string `json:"digest"`
	// Size is the compressed size in bytes.
	Size int64 `json:"size"`
	// Content says what it holds, if its history does.
	Content string `json:"content,omitempty"`
}

// File is a file in the image.
type File struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	// Link is where a symbolic link leads.
	Link string `json:"link,omitempty"`
}

// Labels are the labels, those of CAPTF decoded.
type Labels struct {
	Role           string            `json:"role,omitempty"`
	Contract       string            `json:"contract,omitempty"`
	Runtime        string            `json:"runtime,omitempty"`
	RuntimeVersion string            `json:"runtimeVersion,omitempty"`
	Capacity       map[string]string `json:"capacity,omitempty"`
	NodeInfo       *image.NodeInfo   `json:"nodeInfo,omitempty"`
	// Variables are those that a user can set; nil when the image does not say.
	Variables []Variable        `json:"variables,omitempty"`
	Others    map[string]string `json:"others,omitempty"`
}

// Variable is a variable that a user can set.
type Variable struct {
	Name string `json:"name"`
	// Type is such as string, empty for any.
	Type     string `json:"type"`
	Required bool   `json:"required"`
}

// Attached is a document that is attached to the image or to one of its platforms.
type Attached struct {
	Digest       string `json:"digest"`
	ArtifactType string `json:"artifactType"`
	Subject      string `json:"subject"`
	Size         int64  `json:"size"`
}

// Options say what to look at.
type Options struct {
	// Platform is the one to describe, nil all of them.
	Platform *v1.Platform
	// Shallow reads manifests and configs only, not what is inside of layers.
	Shallow bool
	// Set are the documents and what is attached; nil describes nothing attached.
	Set *content.Set
}

// Inspect describes an opened image.
func Inspect(ctx context.Context, src *source.Source, o Options) (*Report, error) {
	r := &Report{
		Reference: src.Reference.String(), Digest: src.Digest.String(), MediaType: string(src.MediaType),
		Annotations: map[string]string{}, Platforms: []Platform{}, Attached: []Attached{},
	}
	if src.Index != nil {
		maps.Copy(r.Annotations, src.Index.Annotations)
	}
	platforms := src.Platforms()
	if o.Platform != nil {
		p, err := src.Pick(o.Platform)
		if err != nil {
			return nil, err
		}
		platforms = []source.Platform{p}
	}
	reader := rootfs.NewReader(rootfs.Options{})
	defer reader.Close()
	for _, p := range platforms {
		img, err := src.Load(ctx, p)
		if err != nil {
			return nil, err
		}
		if src.Index == nil {
			maps.Copy(r.Annotations, img.Manifest.Annotations)
		}
		described := describe(img)
		if !o.Shallow {
			if err := lookInside(ctx, reader, img, &described); err != nil {
				return nil, err
			}
		}
		r.Platforms = append(r.Platforms, described)
	}
	return r, r.attached(o.Set)
}

// attached describes what is attached.
func (r *Report) attached(set *content.Set) error {
	if set == nil {
		return nil
	}
	for _, d := range set.Attached {
		var m struct {
			ArtifactType string         `json:"artifactType"`
			Config       *v1.Descriptor `json:"config"`
			Subject      *v1.Descriptor `json:"subject"`
		}
		if err := json.Unmarshal(d.Raw, &m); err != nil {
			return fmt.Errorf("reading manifest %s: %w", d.Descriptor.Digest, err)
		}
		a := Attached{Digest: d.Descriptor.Digest.String(), ArtifactType: m.ArtifactType, Size: d.Descriptor.Size}
		if a.ArtifactType == "" && m.Config != nil {
			a.ArtifactType = string(m.Config.MediaType)
		}
		if m.Subject != nil {
			a.Subject = m.Subject.Digest.String()
		}
		r.Attached = append(r.Attached, a)
	}
	return nil
}

func describe(img *source.Image) Platform {
	p := Platform{
		Platform: img.Platform.String(), Digest: img.Digest.String(), Created: img.Config.Created.Time.UTC(),
		User: img.Config.Config.User, Entrypoint: append([]string{}, img.Config.Config.Entrypoint...), Layers: []Layer{}, Problems: []string{},
		Size: int64(len(img.RawManifest)) + img.Manifest.Config.Size,
	}
	var contents []string
	for _, h := range img.Config.History {
		if !h.EmptyLayer {
			contents = append(contents, h.Comment)
		}
	}
	for i, l := range img.Layers() {
		described := Layer{Digest: l.Descriptor.Digest.String(), Size: l.Descriptor.Size}
		if i < len(contents) && len(contents) == len(img.Layers()) {
			described.Content = contents[i]
		}
		p.Size += l.Descriptor.Size
		p.Layers = append(p.Layers, described)
	}
	p.decode(img.Labels())
	return p
}

// decode takes the labels apart. What is invalid is a problem and stays as it is.
func (p *Platform) decode(labels map[string]string) {
	others := maps.Clone(labels)
	for _, l := range image.Labels() {
		value, ok := labels[string(l.Key)]
		if !ok {
			continue
		}
		if vs := l.Check(value); len(vs) > 0 {
			p.Problems = append(p.Problems, vs.Error())
			continue
		}
		delete(others, string(l.Key))
		switch l.Key {
		case image.LabelRole:
			p.Labels.Role = value
		case image.LabelContract:
			p.Labels.Contract = value
		case image.LabelRuntime:
			p.Labels.Runtime = value
		case image.LabelRuntimeVersion:
			p.Labels.RuntimeVersion = value
		case image.LabelCapacity:
			capacity, _ := image.ParseCapacity(value)
			p.Labels.Capacity = map[string]string{}
			for name, q := range capacity {
				p.Labels.Capacity[name] = q.String()
			}
		case image.LabelNodeInfo:
			info, _ := image.ParseNodeInfo(value)
			p.Labels.NodeInfo = &info
		case image.LabelVariablesSchema:
			schema, _ := image.ParseSchema(value)
			p.Labels.Variables = []Variable{}
			for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
				p.Labels.Variables = append(p.Labels.Variables, Variable{
					Name: name, Type: schema.Properties[name].Type, Required: slices.Contains(schema.Required, name),
				})
			}
		}
	}
	p.Labels.Others = others
}

// lookInside lists what is in the fixed paths.
func lookInside(ctx context.Context, reader *rootfs.Reader, img *source.Image, p *Platform) error {
	files, err := reader.Open(ctx, img)
	if err != nil {
		return err
	}
	defer files.Close()
	if p.Runtime, err = runtimeOf(files); err != nil {
		p.Problems = append(p.Problems, err.Error())
	}
	var mirrored []string
	for _, dir := range []string{image.ModulePath, image.ProvidersPath} {
		err := files.Walk(dir, func(e rootfs.Entry) error {
			switch {
			case e.IsDir():
			case dir == image.ModulePath:
				p.Module = append(p.Module, File{Path: below(dir, e.Path), Size: e.Size, Link: e.Link})
			default:
				mirrored = append(mirrored, below(dir, e.Path))
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, pkg := range image.ParseMirror(mirrored).Packages {
		p.Providers = append(p.Providers, fmt.Sprintf("%s %s (%s)", pkg.Provider, pkg.Version, pkg.Platform))
	}
	for _, problem := range files.Problems() {
		p.Problems = append(p.Problems, fmt.Sprintf("layer %d: %s: %s", problem.Layer+1, problem.Path, problem.Message))
	}
	return nil
}

func below(dir, p string) string { return strings.TrimPrefix(strings.TrimPrefix(p, dir), "/") }

func runtimeOf(files *rootfs.FS) (*File, error) {
	at, err := files.Lstat(image.RuntimePath)
	if err != nil {
		return nil, fmt.Errorf("%s is missing", image.RuntimePath)
	}
	end, err := files.Stat(image.RuntimePath)
	if err != nil {
		return nil, fmt.Errorf("%s leads nowhere", image.RuntimePath)
	}
	return &File{Path: end.Path, Size: end.Size, Link: at.Link}, nil
}
