package rootfs

import (
	"archive/tar"
	"context"
	"fmt"
	"io"

	"github.com/captf-toolkit/captf/images/source"
)

// Files gives the content of every regular file, for unpacking the image: each
// layer that a file comes from is streamed once. same holds the paths with one
// content, more than one for hard links; the content has to be read, if at all,
// before visit returns. An error of visit ends the run.
func (f *FS) Files(ctx context.Context, visit func(same []Entry, content io.Reader) error) error {
	wanted := make([]map[*record][]Entry, len(f.listings))
	f.regularFiles(f.tree.root, "/", func(p string, n *node) {
		if wanted[n.src] == nil {
			wanted[n.src] = map[*record][]Entry{}
		}
		wanted[n.src][n.rec] = append(wanted[n.src][n.rec], entry(p, n))
	})
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	m := &meter{limit: f.r.opts.Limits.Scanned}
	for i, layer := range f.img.Layers() {
		if len(wanted[i]) > 0 {
			if err := f.layerFiles(ctx, layer, m, i, wanted[i], visit); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *FS) layerFiles(ctx context.Context, layer *source.Layer, m *meter, i int, wanted map[*record][]Entry, visit func([]Entry, io.Reader) error) error {
	// The places of a table of contents are not those of the archive, so there the
	// name counts. A name that is there twice is its last entry, but a table has each
	// once.
	byPlace, byName := map[int]*record{}, map[string]*record{}
	for rec := range wanted {
		if f.listings[i].toc {
			byName[rec.name] = rec
		} else {
			byPlace[rec.ordinal] = rec
		}
	}
	left := len(wanted)
	f.r.stats.Restreamed++
	_, err := stream(ctx, layer, m, nil, func(ordinal int, h *tar.Header, body io.Reader) error {
		rec := byPlace[ordinal]
		if f.listings[i].toc {
			var scratch listing
			name, ok := scratch.cleanName(h.Name)
			if rec = byName[name]; !ok || rec == nil || tarTypes[h.Typeflag] != Regular || h.Typeflag == tar.TypeXGlobalHeader || h.Size != rec.size {
				return nil
			}
			delete(byName, name)
		}
		if rec == nil {
			return nil
		}
		left--
		same := wanted[rec]
		if err := visit(same, body); err != nil {
			return fmt.Errorf("unpacking %s: %w", show(same[0].Path), err)
		}
		return nil
	})
	if err == nil && left > 0 {
		return &layerError{layer.Name(), "its table of contents shows files that it does not hold"}
	}
	return err
}

// regularFiles visits the regular files below a node.
func (f *FS) regularFiles(n *node, p string, visit func(p string, n *node)) {
	type item struct {
		n *node
		p string
	}
	for stack := []item{{n, p}}; len(stack) > 0; {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if it.n.typ() == Regular {
			visit(it.p, it.n)
		}
		for name, child := range it.n.children {
			stack = append(stack, item{child, joinRoot(it.p, name)})
		}
	}
}

func joinRoot(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}
