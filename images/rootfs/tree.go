package rootfs

import (
	"path"
	"slices"
	"strings"
)

// maxLinks bounds the symbolic links that lead to one file.
const maxLinks = 40

// node is a name in the merged file system. Hard links share their record.
type node struct {
	rec      *record // nil for the root and for directories without an entry
	layer    int
	src      int // the layer that holds the content; differs for hard links
	children map[string]*node
	parent   *node
	name     string
}

func (n *node) typ() Type {
	if n.rec == nil {
		return Directory
	}
	return n.rec.typ
}

func (n *node) path() string {
	if n.parent == nil {
		return "/"
	}
	var parts []string
	for ; n.parent != nil; n = n.parent {
		parts = append(parts, n.name)
	}
	slices.Reverse(parts)
	return "/" + strings.Join(parts, "/")
}

// tree is the merged file system.
type tree struct {
	root     *node
	problems []Problem
	count    map[int]int // problems of each layer
}

func newTree() *tree { return &tree{root: &node{}, count: map[int]int{}} }

func (t *tree) problem(layer int, p Problem) {
	if t.count[layer]++; t.count[layer] > 2*maxProblems {
		return
	}
	p.Layer = layer
	t.problems = append(t.problems, p)
}

// apply puts a layer on top. What it hides is that of the layers below only,
// wherever the whiteout stands in the archive.
func (t *tree) apply(layer int, l *listing, eStargz bool) {
	for _, p := range l.problems {
		t.problem(layer, p)
	}
	for _, rec := range l.records {
		switch rec.typ {
		case whiteout:
			if dir := t.walk(path.Dir(rec.name)); dir != nil {
				delete(dir.children, path.Base(rec.name))
			}
		case opaque:
			if dir := t.walk(rec.name); dir != nil && dir.typ() == Directory {
				clear(dir.children)
			}
		}
	}
	for _, rec := range l.records {
		if rec.typ != whiteout && rec.typ != opaque && !(eStargz && eStargzName(rec.name)) {
			t.put(layer, rec)
		}
	}
}

// walk finds the directory of a path through links, without making anything.
func (t *tree) walk(p string) *node {
	n, err := t.resolve(p, true)
	if err != nil {
		return nil
	}
	return n
}

// put adds an entry.
func (t *tree) put(layer int, rec *record) {
	if rec.name == "/" {
		if rec.typ == Directory {
			t.root.rec, t.root.layer = rec, layer
		}
		return
	}
	dir := t.parent(layer, rec.name)
	if dir == nil {
		return
	}
	made := &node{rec: rec, layer: layer, src: layer}
	if rec.typ == hardLink {
		var l listing // Its problems are those of the layer.
		target, ok := l.cleanName(rec.link)
		var to *node
		if ok {
			if parent := t.walk(path.Dir(target)); parent != nil {
				to = parent.children[path.Base(target)]
			}
		}
		switch {
		case !ok:
			t.problem(layer, Problem{Kind: ProblemHardLink, Path: rec.name, Message: "the hard link " + show(rec.name) + " points to " + show(rec.link) + ", which is not in the image; it is left out"})
			return
		case to == nil:
			t.problem(layer, Problem{Kind: ProblemHardLink, Path: rec.name, Message: "the hard link " + show(rec.name) + " points to " + show(rec.link) + ", which does not exist before it; it is left out"})
			return
		case to.typ() == Directory:
			t.problem(layer, Problem{Kind: ProblemHardLink, Path: rec.name, Message: "the hard link " + show(rec.name) + " points to the directory " + show(rec.link) + "; it is left out"})
			return
		}
		made.rec, made.src = to.rec, to.src
	}
	t.set(dir, path.Base(rec.name), made)
}

// set replaces what has a name; a directory over a directory keeps what is in it.
func (t *tree) set(dir *node, name string, made *node) {
	made.parent, made.name = dir, name
	if old := dir.children[name]; old != nil && old.typ() == Directory && made.typ() == Directory {
		old.rec, old.layer, old.src = made.rec, made.layer, made.src
		return
	}
	if dir.children == nil {
		dir.children = map[string]*node{}
	}
	dir.children[name] = made
}

// parent finds the directory of an entry, and makes what is missing.
func (t *tree) parent(layer int, name string) *node {
	n := t.root
	dir := path.Dir(name)
	at := ""
	for part := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		if part == "" {
			continue
		}
		at += "/" + part
		next := n.children[part]
		if next != nil && next.typ() == Symlink {
			to, err := t.resolve(next.path(), true)
			if err == nil && to.typ() == Directory {
				t.problem(layer, Problem{Kind: ProblemThroughLink, Path: name, Message: show(name) + " is below the symbolic link " + show(at) + ", which runtimes take differently; it is put where the link points"})
				n = to
				continue
			}
		}
		if next == nil || next.typ() != Directory {
			if next != nil {
				t.problem(layer, Problem{Kind: ProblemThroughFile, Path: name, Message: show(name) + " is below " + show(at) + ", which is a " + next.typ().String() + " and no directory; it is replaced by one"})
			}
			made := &node{layer: layer, src: layer}
			t.set(n, part, made)
			next = made
		}
		n = next
	}
	return n
}

// resolve follows links inside of the image.
func (t *tree) resolve(p string, last bool) (*node, error) {
	var todo []string
	push := func(p string) {
		parts := strings.Split(p, "/")
		slices.Reverse(parts)
		todo = append(todo, parts...)
	}
	push(p)
	n, links := t.root, 0
	for len(todo) > 0 {
		part := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch part {
		case "", ".":
			continue
		case "..":
			if n.parent != nil {
				n = n.parent
			}
			continue
		}
		if n.typ() != Directory {
			return nil, ErrNotDir
		}
		next := n.children[part]
		if next == nil {
			return nil, errNotExist
		}
		if next.typ() == Symlink && (last || hasMore(todo)) {
			if links++; links > maxLinks {
				return nil, ErrLoop
			}
			if strings.HasPrefix(next.rec.link, "/") {
				n = t.root
			}
			if next.rec.link == "" {
				return nil, errNotExist
			}
			push(next.rec.link)
			continue
		}
		n = next
	}
	return n, nil
}

func hasMore(parts []string) bool {
	for _, p := range parts {
		if p != "" && p != "." {
			return true
		}
	}
	return false
}
