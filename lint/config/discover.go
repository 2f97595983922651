package config

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/module"
)

// Target is one module of a tree that is to be checked.
type Target struct {
	// Path is the directory, relative to the tree, with forward slashes; "." for
	// the tree itself.
	Path string
	// Dir is the directory.
	Dir    string
	Role   contract.Role
	Strict bool
	Allow  []Allowance
}

// Targets returns the modules of a tree, by path: those that the configuration
// lists, and, unless it says otherwise, every directory with module files whose
// name is that of a role. A directory that one of the other modules calls is a
// part of that module, and no target unless it is listed. Hidden directories and
// excluded ones are not looked into, and symbolic links are not followed.
func (c Config) Targets(root string) ([]Target, error) {
	listed := map[string]Module{}
	for _, m := range c.Modules {
		listed[m.Path] = m
	}
	var out []Target
	for _, m := range c.Modules {
		dir, err := inside(root, m.Path)
		if err != nil {
			return nil, err
		}
		t := c.target(m.Path, dir, m.Role)
		if m.Strict != nil {
			t.Strict = *m.Strict
		}
		t.Allow = append(t.Allow, m.Allow...)
		out = append(out, t)
	}
	if c.Discover {
		found, err := c.discover(root, listed)
		if err != nil {
			return nil, err
		}
		out = append(out, withoutCalled(append(out, found...), listed)...)
	}
	slices.SortFunc(out, func(a, b Target) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

func (c Config) target(path, dir string, role contract.Role) Target {
	return Target{Path: path, Dir: dir, Role: role, Strict: c.Strict, Allow: slices.Clone(c.Allow)}
}

// inside returns the directory of a listed module, which has to lie in the tree
// also behind symbolic links.
func inside(root, path string) (string, error) {
	dir := filepath.Join(root, filepath.FromSlash(path))
	realRoot, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", fmt.Errorf("looking for modules: %w", err)
	}
	realDir, err := filepath.EvalSymlinks(dir)
	if isNotExist(err) {
		return "", fmt.Errorf("looking for modules: %s lists %s, which does not exist", FileName, path)
	}
	if err != nil {
		return "", fmt.Errorf("looking for modules: %w", err)
	}
	rel, err := filepath.Rel(realRoot, realDir)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("looking for modules: %s lists %s, which leads out of the tree", FileName, path)
	}
	return dir, nil
}

func (c Config) discover(root string, listed map[string]Module) ([]Target, error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, fmt.Errorf("looking for modules: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("looking for modules: %s is not a directory", root)
	}
	// A link is followed here, for it was asked for by name.
	start, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, fmt.Errorf("looking for modules: %w", err)
	}
	var out []Target
	err = filepath.WalkDir(start, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(start, p)
		if err != nil {
			return err
		}
		path := filepath.ToSlash(rel)
		if path != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains(c.Exclude, path)) {
			return fs.SkipDir
		}
		if _, known := listed[path]; known {
			return nil
		}
		role, err := roleOf(root, path, d.Name())
		if err != nil || role == "" || !holdsModule(p) {
			return err
		}
		out = append(out, c.target(path, filepath.Join(root, rel), role))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking for modules: %w", err)
	}
	return out, nil
}

// withoutCalled leaves out those targets that are not listed and lie below
// another one which calls them. It returns none of the listed ones.
func withoutCalled(all []Target, listed map[string]Module) []Target {
	called := map[string]bool{}
	for _, outer := range all {
		if !slices.ContainsFunc(all, func(t Target) bool { return below(t.Path, outer.Path) }) {
			continue
		}
		tree, err := module.Load(outer.Dir, module.Options{})
		if err != nil {
			continue // checking it says why
		}
		for _, r := range module.Runtimes() {
			for _, m := range tree.Modules(r) {
				if p := path.Join(outer.Path, m.Dir); p != outer.Path {
					called[p] = true
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(t Target) bool {
		_, known := listed[t.Path]
		return known || called[t.Path]
	})
}

// below tells that a path lies in a directory, both relative to the tree.
func below(path, dir string) bool {
	return path != dir && (dir == "." || strings.HasPrefix(path, dir+"/"))
}

// roleOf returns the role that a directory's name tells, "" if it tells none.
func roleOf(root, path, name string) (contract.Role, error) {
	if path == "." {
		abs, err := filepath.Abs(root)
		if err != nil {
			return "", err
		}
		name = filepath.Base(abs)
	}
	if role := contract.Role(name); slices.Contains(contract.Roles(), role) {
		return role, nil
	}
	return "", nil
}

// holdsModule tells that a directory holds a file that a runtime reads. A
// directory that cannot be listed counts, so that loading it says why.
func holdsModule(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !e.IsDir() && module.ModuleFile(e.Name()) && !module.Ignored(e.Name())
	})
}
