package build

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/images/regular"
	"github.com/captf-toolkit/captf/sdk/module"
)

// IgnoreFile is the file in a module directory that says what else is to be left
// out, with the patterns of docker build.
const IgnoreFile = ".dockerignore"

// DefaultMaxFile is the largest file that ships without being asked for, in bytes.
const DefaultMaxFile = 64 << 20

// maxEntries bounds the files of a module directory, those left out included.
const maxEntries = 100_000

// LeftOut is a file or directory of the module directory that does not ship.
type LeftOut struct {
	// Path is relative to the module, with forward slashes; a directory has a
	// slash at its end and stands for all that it holds.
	Path string `json:"path"`
	// Why is the reason, such as "state" or ".dockerignore".
	Why string `json:"why"`
}

// contents are what of a module directory ships.
type contents struct {
	root    string
	maxFile int64
	ignore  *patternmatcher.PatternMatcher

	seen    int
	files   map[string]os.FileInfo
	links   map[string]string
	leftOut []LeftOut
}

// readContents decides what ships. The tree is the same directory, loaded.
func readContents(tree *module.Tree, maxFile int64) (*contents, error) {
	root, err := filepath.EvalSymlinks(tree.Root)
	if err != nil {
		return nil, fmt.Errorf("reading module %s: %w", tree.Root, err)
	}
	c := &contents{root: root, maxFile: cmp.Or(maxFile, DefaultMaxFile), files: map[string]os.FileInfo{}, links: map[string]string{}}
	if c.ignore, err = readIgnoreFile(root); err != nil {
		return nil, err
	}
	if err := c.walk(""); err != nil {
		return nil, err
	}
	if err := c.checkLinks(); err != nil {
		return nil, err
	}
	slices.SortFunc(c.leftOut, func(a, b LeftOut) int { return strings.Compare(a.Path, b.Path) })
	return c, c.checkComplete(tree)
}

func readIgnoreFile(root string) (*patternmatcher.PatternMatcher, error) {
	file := filepath.Join(root, IgnoreFile)
	f, _, err := regular.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // a nil matcher matches nothing
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", IgnoreFile, err)
	}
	defer f.Close()
	patterns, err := ignorefile.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	m, err := patternmatcher.New(patterns)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return m, nil
}

// ignored tells whether the ignore file leaves out a path.
func (c *contents) ignored(rel string) (bool, error) {
	if c.ignore == nil {
		return false, nil
	}
	ok, err := c.ignore.MatchesOrParentMatches(filepath.FromSlash(rel))
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", IgnoreFile, err)
	}
	return ok, nil
}

// walk visits the directory rel, "" for the module itself.
func (c *contents) walk(rel string) error {
	list, err := os.ReadDir(filepath.Join(c.root, filepath.FromSlash(rel)))
	if err != nil {
		return fmt.Errorf("reading module: %w", err)
	}
	for _, d := range list {
		if c.seen++; c.seen > maxEntries {
			return fmt.Errorf("reading module %s: it has more than %d files: is it the right directory?", c.root, maxEntries)
		}
		if err := c.visit(path.Join(rel, d.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (c *contents) leave(rel, why string) {
	c.leftOut = append(c.leftOut, LeftOut{Path: rel, Why: why})
}

func (c *contents) visit(rel string) error {
	at := filepath.Join(c.root, filepath.FromSlash(rel))
	info, err := os.Lstat(at)
	if err != nil {
		return fmt.Errorf("reading module: %w", err)
	}
	if !utf8.ValidString(rel) || strings.ContainsFunc(rel, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) {
		return fmt.Errorf("reading module: the name of %q cannot be used on every machine: rename it", at)
	}
	clutter, err := clutterOf(at, info)
	if err != nil {
		return err
	}
	ignored, err := c.ignored(rel)
	if err != nil {
		return err
	}
	switch {
	case clutter != "" && info.IsDir():
		c.leave(rel+"/", string(clutter))
		return nil
	case clutter != "":
		c.leave(rel, string(clutter))
		return nil
	case !ignored && isWhiteout(rel):
		return fmt.Errorf("reading module: the name of %s cannot be used on every machine: what begins with .wh. deletes files of an image: rename it, or list it in %s",
			at, IgnoreFile)
	case info.IsDir() && isLayout(at):
		c.leave(rel+"/", "OCI layout")
		return nil
	case info.IsDir():
		if ignored && !c.ignore.Exclusions() {
			c.leave(rel+"/", IgnoreFile)
			return nil
		}
		return c.walk(rel)
	case ignored:
		c.leave(rel, IgnoreFile)
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		return c.addLink(rel, at)
	case !info.Mode().IsRegular():
		return fmt.Errorf("reading module: %s is a %s; a module has files, directories and links only: remove it, or list it in %s",
			at, regular.Kind(info.Mode()), IgnoreFile)
	case info.Size() > c.maxFile:
		return fmt.Errorf("reading module: %s has %s, more than the %s that are allowed: list it in %s if it does not belong there, or raise the limit with --max-file-size",
			at, content.Bytes(info.Size()), content.Bytes(c.maxFile), IgnoreFile)
	}
	head, err := beginning(at)
	if err != nil {
		return err
	}
	// The module may need the file, so it cannot just be left out.
	if kind, secret := image.FindSecret(head); secret {
		return fmt.Errorf("reading module: %s holds a %s, which must not ship: move it out of the module, or list it in %s", at, kind, IgnoreFile)
	}
	c.files[rel] = info
	return nil
}

// isLayout tells whether a directory is an OCI layout, such as an image that was
// built before.
func isLayout(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, ocispec.ImageLayoutFile))
	return err == nil && info.Mode().IsRegular()
}

// clutterOf tells what something that does not ship is, "" for what does.
func clutterOf(at string, info fs.FileInfo) (image.ClutterKind, error) {
	rule, found := image.FindClutter(info.Name(), info.IsDir())
	if !found {
		return "", nil
	}
	if rule.Content == "" {
		return rule.Kind, nil
	}
	if !info.Mode().IsRegular() {
		return "", nil
	}
	head, err := beginning(at)
	if err != nil {
		return "", err
	}
	if rule.Holds(head) {
		return rule.Kind, nil
	}
	return "", nil
}

// beginning is enough of a file to tell what it holds.
func beginning(at string) ([]byte, error) {
	f, err := os.Open(at)
	if err != nil {
		return nil, fmt.Errorf("reading module: %w", err)
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, image.ClutterHead))
	if err != nil {
		return nil, fmt.Errorf("reading module: %w", err)
	}
	return head, nil
}

// addLink adds a symbolic link. In the image it is relative, so that it means
// the same wherever the module lies.
func (c *contents) addLink(rel, at string) error {
	target, err := os.Readlink(at)
	if err != nil {
		return fmt.Errorf("reading module: %w", err)
	}
	if filepath.IsAbs(target) {
		inside, err := filepath.Rel(c.root, target)
		if err != nil || !filepath.IsLocal(inside) {
			// The module may have been named by another path to the same place.
			if target, err = filepath.EvalSymlinks(at); err != nil {
				return fmt.Errorf("reading module: the link %s leads nowhere: %w", at, err)
			}
			inside, err = filepath.Rel(c.root, target)
		}
		if err != nil || !filepath.IsLocal(inside) {
			return c.escapes(at, target)
		}
		if target, err = filepath.Rel(filepath.Dir(filepath.FromSlash(rel)), inside); err != nil {
			return fmt.Errorf("reading module: %w", err)
		}
	}
	if !filepath.IsLocal(filepath.Join(filepath.Dir(filepath.FromSlash(rel)), target)) {
		return c.escapes(at, target)
	}
	c.links[rel] = filepath.ToSlash(target)
	return nil
}

func (c *contents) escapes(at, target string) error {
	return fmt.Errorf("reading module: the link %s leads to %s, which is not in the module directory and would be missing in the image: copy the file there, or list the link in %s",
		at, target, IgnoreFile)
}

// checkLinks makes sure that every link ends at something that ships.
func (c *contents) checkLinks() error {
	for _, rel := range sortedKeys(c.links) {
		at := filepath.Join(c.root, filepath.FromSlash(rel))
		end, err := filepath.EvalSymlinks(at)
		if err != nil {
			return fmt.Errorf("reading module: the link %s leads nowhere: remove it, or list it in %s", at, IgnoreFile)
		}
		inside, err := filepath.Rel(c.root, end)
		if err != nil || !filepath.IsLocal(inside) {
			return c.escapes(at, end)
		}
		inside = filepath.ToSlash(inside)
		if _, ok := c.files[inside]; !ok && !c.holds(inside) {
			return fmt.Errorf("reading module: the link %s leads to %s, which does not ship (%s)", at, inside, cmp.Or(c.why(inside), "nothing is in it"))
		}
	}
	return nil
}

// holds tells whether anything below a directory ships.
func (c *contents) holds(dir string) bool {
	for name := range c.files {
		if dir == "." || strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// why returns the reason for which a path does not ship, "" for none.
func (c *contents) why(rel string) string {
	for _, l := range c.leftOut {
		if l.Path == rel || strings.HasSuffix(l.Path, "/") && strings.HasPrefix(rel+"/", l.Path) {
			return l.Path + ": " + l.Why
		}
	}
	return ""
}

// checkComplete makes sure that what the runtime reads ships.
func (c *contents) checkComplete(tree *module.Tree) error {
	var problems []error
	for _, e := range tree.Escapes {
		at := filepath.Join(tree.Root, filepath.FromSlash(e.Range.Filename))
		switch e.Kind {
		case module.EscapeFile:
			problems = append(problems, fmt.Errorf("%s leads out of the module directory, to %s: copy the file there", at, e.Target))
		case module.EscapeOutside:
			problems = append(problems, fmt.Errorf("%s:%d: module %q is at %s, outside the module directory, and would be missing in the image: move it below the directory",
				at, e.Range.Start.Line, e.Call, e.Source))
		default:
			problems = append(problems, fmt.Errorf("%s:%d: module %q cannot be called at %q (%s)", at, e.Range.Start.Line, e.Call, e.Source, e.Kind))
		}
	}
	for _, f := range tree.Files {
		if _, ok := c.files[f.Name]; ok {
			continue
		}
		if _, ok := c.links[f.Name]; ok {
			continue
		}
		if why := c.why(f.Name); why != "" {
			problems = append(problems, fmt.Errorf("%s is part of the module but does not ship (%s): rename it, or do not call it",
				filepath.Join(tree.Root, filepath.FromSlash(f.Name)), why))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("reading module: %w", errors.Join(problems...))
	}
	return nil
}

// entries returns what ships below the directory at, which is part of it.
func (c *contents) entries(at string) []entry {
	dirs := map[string]bool{at: true}
	var out []entry
	add := func(rel string) string {
		name := path.Join(at, rel)
		for d := path.Dir(name); len(d) > len(at); d = path.Dir(d) {
			dirs[d] = true
		}
		return name
	}
	for rel, info := range c.files {
		out = append(out, file(add(rel), filepath.Join(c.root, filepath.FromSlash(rel)), info, image.UserID))
	}
	for rel, target := range c.links {
		out = append(out, symlink(add(rel), target, image.UserID))
	}
	for d := range dirs {
		out = append(out, dir(d, image.UserID))
	}
	return out
}

// names lists what ships.
func (c *contents) names() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for name := range c.files {
			if !yield(name) {
				return
			}
		}
		for name := range c.links {
			if !yield(name) {
				return
			}
		}
	})
}

// copyTo copies what ships into a directory of this machine.
func (c *contents) copyTo(to string) error {
	for rel := range c.files {
		if err := copyFile(filepath.Join(c.root, filepath.FromSlash(rel)), filepath.Join(to, filepath.FromSlash(rel))); err != nil {
			return fmt.Errorf("copying module: %w", err)
		}
	}
	for rel, target := range c.links {
		at := filepath.Join(to, filepath.FromSlash(rel))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return fmt.Errorf("copying module: %w", err)
		}
		if err := os.Symlink(filepath.FromSlash(target), at); err != nil {
			return fmt.Errorf("copying module: %w", err)
		}
	}
	return nil
}

func copyFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700) //nolint:gosec // a module may have scripts, and the directory is ours alone
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return closing(out, err)
	}
	return out.Close()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
