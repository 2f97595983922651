package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/images/source"
)

// Attached lists the documents that a registry knows to be attached to others,
// such as SBOMs and signatures, each once.
func Attached(ctx context.Context, repo name.Repository, subjects []v1.Hash, o Options) ([]v1.Descriptor, error) {
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	seen := map[v1.Hash]bool{}
	var out []v1.Descriptor
	for _, subject := range subjects {
		index, err := remote.Referrers(repo.Digest(subject.String()), slices.Concat(c.options, []remote.Option{remote.WithContext(ctx)})...)
		if err != nil {
			return nil, explain("asking what is attached to "+subject.String(), repo, err)
		}
		m, err := index.IndexManifest()
		if err != nil {
			return nil, explain("asking what is attached to "+subject.String(), repo, err)
		}
		for _, d := range m.Manifests {
			if !seen[d.Digest] {
				seen[d.Digest] = true
				out = append(out, d)
			}
		}
	}
	return out, nil
}

// Collect returns an opened image as a set to publish, with what is attached to
// it unless bare is set.
func Collect(ctx context.Context, src *source.Source, bare bool, o Options) (*content.Set, error) {
	set, err := content.FromSource(ctx, src, !bare)
	if err != nil || bare || src.Reference.Kind != source.Registry {
		return set, err
	}
	queue := make([]v1.Hash, 0, len(set.Documents))
	for _, d := range set.Documents {
		queue = append(queue, d.Descriptor.Digest)
	}
	for depth := 0; len(queue) > 0 && depth < source.MaxIndexDepth; depth++ {
		found, err := Attached(ctx, src.Reference.Name.Context(), queue, o)
		if e, ok := errors.AsType[*source.Error](err); ok {
			e.Hint = "leave behind what is attached, with --no-referrers"
		}
		if err != nil {
			return nil, err
		}
		if err := set.Attach(ctx, src, found); err != nil {
			return nil, fmt.Errorf("reading what is attached to %s: %w", src.Reference, err)
		}
		queue = nil
		for _, d := range found {
			queue = append(queue, d.Digest)
		}
	}
	return set, nil
}
