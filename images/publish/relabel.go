package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/images/source"
)

// Changes are what to change of an image. A label of org.opencontainers.image is
// an annotation of every manifest and of the index as well.
type Changes struct {
	// Labels are set in the config of every platform, RemoveLabels taken out.
	Labels       map[string]string
	RemoveLabels []string
	// Annotations are set on every manifest and on the index, RemoveAnnotations
	// taken off.
	Annotations       map[string]string
	RemoveAnnotations []string
}

// ErrChanges is the kind of a change that is not allowed.
var ErrChanges = errors.New("invalid change")

// annotated begins the labels that are annotations too.
const annotated = "org.opencontainers.image."

// Check says what is wrong with the changes. Its errors are of the kind ErrChanges.
func (c Changes) Check() error {
	if len(c.Labels)+len(c.RemoveLabels)+len(c.Annotations)+len(c.RemoveAnnotations) == 0 {
		return fmt.Errorf("%w: there is nothing to change", ErrChanges)
	}
	var vs contract.Violations
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		if slices.Contains(c.RemoveLabels, key) {
			return fmt.Errorf("%w: the label %s is set and removed", ErrChanges, key)
		}
		if l, ours := image.FindLabel(image.Key(key)); ours {
			vs = append(vs, l.Check(c.Labels[key])...)
		} else if strings.HasPrefix(key, "io.captf.") {
			return fmt.Errorf("%w: there is no label %s; there are %s", ErrChanges, key, labelNames())
		}
	}
	if len(vs) > 0 {
		return fmt.Errorf("%w: %w", ErrChanges, vs)
	}
	for _, key := range slices.Concat(slices.Collect(maps.Keys(c.Labels)), slices.Collect(maps.Keys(c.Annotations)), c.RemoveLabels, c.RemoveAnnotations) {
		if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return fmt.Errorf("%w: %q is no key; keys are such as org.opencontainers.image.title", ErrChanges, key)
		}
	}
	for key := range c.Annotations {
		if slices.Contains(c.RemoveAnnotations, key) {
			return fmt.Errorf("%w: the annotation %s is set and removed", ErrChanges, key)
		}
	}
	return nil
}

func labelNames() string {
	var names []string
	for _, l := range image.Labels() {
		names = append(names, string(l.Key))
	}
	return strings.Join(names, ", ")
}

// annotations returns what is changed of annotations, labels that are ones included.
func (c Changes) annotations() (set map[string]string, remove []string) {
	set = map[string]string{}
	for k, v := range c.Labels {
		if strings.HasPrefix(k, annotated) {
			set[k] = v
		}
	}
	maps.Copy(set, c.Annotations)
	for _, k := range c.RemoveLabels {
		if strings.HasPrefix(k, annotated) {
			remove = append(remove, k)
		}
	}
	return set, append(remove, c.RemoveAnnotations...)
}

// Relabelled says what became of an image.
type Relabelled struct {
	// Old and New are the digests of the root; they are equal when nothing changed.
	Old, New v1.Hash
	// Platforms are the images, in the order of the index.
	Platforms []RelabelledPlatform
	// Warnings are what else a user should know.
	Warnings []string
	// Tags are the references in a registry that were written.
	Tags []name.Tag
}

// RelabelledPlatform is the image of a platform.
type RelabelledPlatform struct {
	Platform string
	Old, New v1.Hash
}

// Relabel changes labels and annotations on every platform of an image, where it
// is: in a registry, or in an OCI layout directory. No layer is read or sent.
// In a registry the tags are written, which have to be in the same repository;
// without any the one of the reference is. In a layout the name moves.
func Relabel(ctx context.Context, ref string, tags []name.Tag, changes Changes, o Options) (*Relabelled, error) {
	if err := changes.Check(); err != nil {
		return nil, err
	}
	src, err := source.Open(ctx, ref, source.Options{
		Insecure: o.Insecure, Keychain: o.Keychain, UserAgent: o.UserAgent, Retry: o.Retry, Transport: o.Transport,
	})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if tags, err = targets(src, tags); err != nil {
		return nil, err
	}
	r := &relabeller{src: src, changes: changes, set: &content.Set{}, result: &Relabelled{Old: src.Digest}}
	root, err := r.document(ctx, v1.Descriptor{MediaType: src.MediaType, Digest: src.Digest, Size: int64(len(src.Raw))}, src.Raw, "", 0)
	if err != nil {
		return nil, fmt.Errorf("changing labels of %s: %w", ref, err)
	}
	if len(r.result.Platforms) == 0 {
		return nil, fmt.Errorf("changing labels of %s: there is no image in it", ref)
	}
	r.set.Root, r.result.New = root, root.Descriptor.Digest
	r.warn()
	switch src.Reference.Kind {
	case source.Layout:
		if r.result.Old != r.result.New {
			err = r.set.Replace(ctx, src.Reference.Path, src.Reference.Select, r.result.Old)
		}
		if attached, attachErr := content.FromSource(ctx, src, true); attachErr == nil && len(attached.Attached) > 0 {
			r.warnAttached(len(attached.Attached))
		}
		return r.result, err
	default:
		return r.result, r.publish(ctx, tags, o)
	}
}

// targets are the tags to write.
func targets(src *source.Source, tags []name.Tag) ([]name.Tag, error) {
	fail := func(format string, args ...any) error {
		return &source.Error{Kind: source.ErrReference, Op: "changing labels of " + src.Reference.String(), Msg: fmt.Sprintf(format, args...)}
	}
	switch src.Reference.Kind {
	case source.Tarball:
		return nil, fail("an archive cannot be changed; change the image in an OCI layout directory or in a registry")
	case source.Layout:
		if len(tags) > 0 {
			return nil, fail("an image in an OCI layout has no tags")
		}
		return nil, nil
	}
	repo := src.Reference.Name.Context()
	for _, t := range tags {
		if t.Context().Name() != repo.Name() {
			return nil, fail("the tag %s is in another repository, where the layers may not be; publish it there afterwards", t.Name())
		}
	}
	if len(tags) == 0 {
		if src.Reference.Tag == "" {
			return nil, fail("a digest always means the same content; give the tag that is to point at the changed image")
		}
		tags = append(tags, repo.Tag(src.Reference.Tag))
	}
	return tags, nil
}

// relabeller rewrites documents.
type relabeller struct {
	src     *source.Source
	changes Changes
	set     *content.Set
	result  *Relabelled
	labels  []map[string]string
	// attestations counts the entries of indexes that describe others.
	attestations int
}

// attestationType marks an entry of an index that describes another one.
const attestationType = "vnd.docker.reference.type"

// document rewrites an index or a manifest, after everything below it.
func (r *relabeller) document(ctx context.Context, d v1.Descriptor, raw []byte, platform string, depth int) (content.Document, error) {
	if depth > source.MaxIndexDepth {
		return content.Document{}, fmt.Errorf("reading index %s: indexes are nested too deep", d.Digest)
	}
	var (
		now = raw
		err error
		o   struct {
			Manifests   []v1.Descriptor   `json:"manifests"`
			Config      *v1.Descriptor    `json:"config"`
			Annotations map[string]string `json:"annotations"`
		}
	)
	if err := json.Unmarshal(raw, &o); err != nil {
		return content.Document{}, fmt.Errorf("reading manifest %s: %w", d.Digest, err)
	}
	switch {
	case o.Config != nil:
		if now, platform, err = r.manifest(ctx, *o.Config, now, platform); err != nil {
			return content.Document{}, err
		}
	default:
		for i, child := range o.Manifests {
			if child.Annotations[attestationType] != "" {
				r.attestations++
				continue
			}
			if !child.MediaType.IsImage() && !child.MediaType.IsIndex() ||
				child.ArtifactType != "" && !types.MediaType(child.ArtifactType).IsConfig() {
				continue
			}
			childRaw, err := r.src.Document(ctx, child)
			if err != nil {
				return content.Document{}, err
			}
			name := ""
			if child.Platform != nil {
				name = child.Platform.String()
			}
			doc, err := r.document(ctx, child, childRaw, name, depth+1)
			if err != nil {
				return content.Document{}, err
			}
			if now, err = point(now, child, doc.Descriptor, doc.Raw, "manifests", i); err != nil {
				return content.Document{}, fmt.Errorf("changing index %s: %w", d.Digest, err)
			}
		}
	}
	set, remove := r.changes.annotations()
	if annotations, changed := apply(o.Annotations, set, remove); changed {
		if now, err = edit(now, annotations, "annotations"); err != nil {
			return content.Document{}, fmt.Errorf("changing manifest %s: %w", d.Digest, err)
		}
	}
	doc, err := content.NewDocument(now, d.MediaType)
	if err != nil {
		return content.Document{}, err
	}
	if o.Config != nil {
		r.result.Platforms = append(r.result.Platforms, RelabelledPlatform{Platform: platform, Old: d.Digest, New: doc.Descriptor.Digest})
	}
	r.set.Documents = append(r.set.Documents, doc)
	return doc, nil
}

// point makes a descriptor at a path name a new document or blob.
func point(raw []byte, old, now v1.Descriptor, content []byte, path ...any) ([]byte, error) {
	if old.Digest == now.Digest {
		return raw, nil
	}
	raw, err := edit(raw, now.Digest.String(), append(slices.Clone(path), "digest")...)
	if err != nil {
		return nil, err
	}
	if raw, err = edit(raw, now.Size, append(slices.Clone(path), "size")...); err != nil || old.Data == nil {
		return raw, err
	}
	return edit(raw, content, append(slices.Clone(path), "data")...) // as base64
}

// manifest rewrites the config that a manifest names, and the name.
func (r *relabeller) manifest(ctx context.Context, config v1.Descriptor, raw []byte, platform string) ([]byte, string, error) {
	if !config.MediaType.IsConfig() {
		return nil, "", fmt.Errorf("reading config %s: its media type %s is not that of an image", config.Digest, config.MediaType)
	}
	if config.Size > source.MaxConfig {
		return nil, "", fmt.Errorf("reading config %s: it has %d bytes, more than %d", config.Digest, config.Size, source.MaxConfig)
	}
	stream, err := r.src.Content(ctx, config)
	if err != nil {
		return nil, "", err
	}
	old, err := io.ReadAll(stream)
	if err = errors.Join(err, stream.Close()); err != nil {
		return nil, "", err
	}
	file, err := v1.ParseConfigFile(bytes.NewReader(old))
	if err != nil {
		return nil, "", fmt.Errorf("reading config %s: %w", config.Digest, err)
	}
	if platform == "" {
		platform = v1.Platform{OS: file.OS, Architecture: file.Architecture, Variant: file.Variant}.String()
	}
	labels, changed := apply(file.Config.Labels, r.changes.Labels, r.changes.RemoveLabels)
	r.labels = append(r.labels, labels)
	if !changed {
		return raw, platform, nil
	}
	now, err := edit(old, labels, "config", "Labels")
	if err != nil {
		return nil, "", fmt.Errorf("changing config %s: %w", config.Digest, err)
	}
	blob, err := content.NewDocument(now, config.MediaType)
	if err != nil {
		return nil, "", err
	}
	r.set.Blobs = append(r.set.Blobs, content.Blob{Descriptor: blob.Descriptor, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(now)), nil
	}})
	raw, err = point(raw, config, blob.Descriptor, now, "config")
	return raw, platform, err
}

// apply changes a map, and tells whether anything is different.
func apply(have, set map[string]string, remove []string) (map[string]string, bool) {
	now := maps.Clone(have)
	if now == nil {
		now = map[string]string{}
	}
	maps.Copy(now, set)
	for _, k := range remove {
		delete(now, k)
	}
	return now, !maps.Equal(now, have)
}

// warn notes what the labels are like now.
func (r *relabeller) warn() {
	note := func(format string, args ...any) {
		r.result.Warnings = append(r.result.Warnings, fmt.Sprintf(format, args...))
	}
	first := r.labels[0]
	role := contract.Role(first[string(image.LabelRole)])
	for _, l := range image.Labels() {
		key := string(l.Key)
		for i, labels := range r.labels {
			if labels[key] != first[key] {
				note("the label %s is not the same on %s and %s: readers may take it from either", key, r.result.Platforms[0].Platform, r.result.Platforms[i].Platform)
				break
			}
		}
		if _, set := r.changes.Labels[key]; set && role != "" && !l.For(role) {
			note("the label %s has no effect on images of the role %s", key, role)
		}
	}
	if r.attestations > 0 && r.result.Old != r.result.New {
		note("%d attestations in the index describe the images as they were; build the image again to have them describe it as it is", r.attestations)
	}
}

func (r *relabeller) warnAttached(n int) {
	if r.result.Old == r.result.New {
		return
	}
	r.result.Warnings = append(r.result.Warnings, fmt.Sprintf(
		"%d documents, such as signatures, are attached to %s and not to the changed image: sign it again", n, r.result.Old))
}

// publish sends the changed documents and configs.
func (r *relabeller) publish(ctx context.Context, tags []name.Tag, o Options) error {
	report, err := Publish(ctx, r.set, tags, o)
	if report != nil {
		r.result.Tags = report.Tags
	}
	if err != nil {
		return err
	}
	attached, err := Attached(ctx, r.src.Reference.Name.Context(), []v1.Hash{r.result.Old}, o)
	if err == nil && len(attached) > 0 {
		r.warnAttached(len(attached))
	}
	return nil
}
