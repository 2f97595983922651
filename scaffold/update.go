package scaffold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/aymanbagabas/go-udiff"
)

// Action is what an update does with one file.
type Action string

// The actions.
const (
	// ActionCreate writes a file that is new in this release, or everything when
	// nothing was there.
	ActionCreate Action = "create"
	// ActionReplace writes the new text over one that the author never edited.
	ActionReplace Action = "replace"
	// ActionConflict leaves a file that the author edited, and writes the new text
	// beside it, because it changed as well. It lasts until the author has merged
	// and removed what was written.
	ActionConflict Action = "conflict"
	// ActionKeep leaves a file that the author edited; the text that it was made
	// from did not change.
	ActionKeep Action = "keep"
	// ActionDeleted leaves a file out that the author deleted.
	ActionDeleted Action = "deleted"
	// ActionRemove removes a file that is no longer generated and was never edited.
	ActionRemove Action = "remove"
	// ActionRelease leaves a file that is no longer generated and that the author
	// edited; it is the author's alone from now on.
	ActionRelease Action = "release"
	// ActionNone leaves a file that is up to date.
	ActionNone Action = "unchanged"
)

// NewSuffix ends the name of the file that holds the new text of one that the
// author edited.
const NewSuffix = ".new"

// Change is what an update does with one file.
type Change struct {
	Path   string
	Action Action
	// WrittenTo is the file that is written or removed; empty when none is. That of
	// a conflict may hold the new text already.
	WrittenTo string
	// Diff is the unified difference from what is there to what is generated now;
	// empty when there is none, or nothing to compare with.
	Diff string
}

// Update is a planned update of a scaffold.
type Update struct {
	// Dir is the directory of the scaffold.
	Dir string
	// Options are those that the update generates with.
	Options Options
	// Changes are sorted by path.
	Changes []Change

	steps []step
}

// step is one file of an update that is written, or removed if content is nil.
type step struct {
	path string
	// before is what the plan saw at the path, nil for nothing.
	before  []byte
	content []byte
}

// PlanUpdate compares the scaffold in dir with what would be generated now, with
// the options that it was made with. What is set in o takes their place: another
// provider, runtime or contract is a reason to update; another role is an error.
// Nothing is written.
func PlanUpdate(dir string, o Options) (*Update, error) {
	root, err := openScaffold(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	old, err := readRecord(root, dir)
	if err != nil {
		return nil, err
	}
	merged, err := mergeOptions(old.options(), o)
	if err != nil {
		return nil, fmt.Errorf("updating %s: %w", dir, err)
	}
	tree, err := Generate(merged)
	if err != nil {
		return nil, fmt.Errorf("updating %s: %w", dir, err)
	}
	u := &Update{Dir: dir, Options: tree.Options}
	generated := map[string][]byte{}
	for _, f := range tree.Files {
		generated[f.Path] = f.Content
	}
	paths := slices.Sorted(maps.Keys(generated))
	for p := range old.Files {
		if _, ok := generated[p]; !ok {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	for _, p := range paths {
		if err := u.plan(root, p, old.Files[p], generated[p]); err != nil {
			return nil, fmt.Errorf("updating %s: reading %s: %w", dir, p, err)
		}
	}
	return u, u.planRecord(root, tree)
}

func openScaffold(dir string) (*os.Root, error) {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("updating %s: it does not exist; leave out --update to scaffold into a new directory", dir)
	case err != nil:
		return nil, fmt.Errorf("updating %s: %w", dir, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("updating %s: it is a symbolic link; name the directory itself", dir)
	case !info.IsDir():
		return nil, fmt.Errorf("updating %s: it is a file; name the directory of a scaffold", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("updating %s: %w", dir, err)
	}
	return root, nil
}

func mergeOptions(old, asked Options) (Options, error) {
	if (asked.Set || asked.Role != "") && !asked.equalRoles(old) {
		return old, fmt.Errorf("it was scaffolded for %s; scaffold another role into a directory of its own", old.what())
	}
	if asked.Contract != "" {
		old.Contract = asked.Contract
	}
	if asked.Provider != nil {
		old.Provider = asked.Provider
	}
	if asked.Runtime != "" {
		old.Runtime = asked.Runtime
	}
	return old, nil
}

// what names the modules that the options ask for.
func (o Options) what() string {
	if o.Set {
		return "a set"
	}
	return "role " + string(o.Role)
}

// plan decides about the file at p. recorded is the digest of what was generated
// before, empty if nothing was; generated is what is generated now, nil if
// nothing is.
func (u *Update) plan(root *os.Root, p, recorded string, generated []byte) error {
	current, err := readFile(root, filepath.FromSlash(p), maxFile)
	missing := errors.Is(err, fs.ErrNotExist)
	foreign := errors.Is(err, errNotRegular)
	if err != nil && !missing && !foreign {
		return err
	}
	edited := foreign || !missing && digest(current) != recorded
	same := generated != nil && digest(generated) == recorded

	c := Change{Path: p}
	switch {
	case generated == nil && missing:
		return nil
	case generated == nil && edited:
		c.Action = ActionRelease
	case generated == nil:
		c.Action = ActionRemove
		u.write(&c, p, current, nil)
	case missing && recorded == "":
		c.Action = ActionCreate
		u.write(&c, p, nil, generated)
	case missing:
		c.Action = ActionDeleted
	case !foreign && digest(current) == digest(generated):
		c.Action = ActionNone
	case edited && same:
		c.Action = ActionKeep
		if err := u.remind(root, &c, current, generated); err != nil {
			return err
		}
	case edited:
		c.Action = ActionConflict
		return u.offer(root, c, recorded, current, generated)
	default:
		c.Action = ActionReplace
		u.write(&c, p, current, generated)
	}
	u.Changes = append(u.Changes, c)
	return nil
}

// write notes that content takes the place of before, and how they differ.
func (u *Update) write(c *Change, to string, before, content []byte) {
	c.WrittenTo = to
	c.Diff = diff(c.Path, before, content)
	u.steps = append(u.steps, step{path: to, before: before, content: content})
}

// offer notes that generated is written beside the author's own text. A file
// that is there already must be an offer that the author left as it was.
func (u *Update) offer(root *os.Root, c Change, recorded string, current, generated []byte) error {
	to := c.Path + NewSuffix
	there, err := readFile(root, filepath.FromSlash(to), maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		there = nil
	case err != nil:
		return fmt.Errorf("%s is in the way: %w", to, err)
	case digest(there) != recorded && digest(there) != digest(generated):
		return fmt.Errorf("%s is in the way; merge it into %s and remove it, then update again", to, c.Path)
	}
	c.WrittenTo = to
	c.Diff = diff(c.Path, current, generated)
	u.steps = append(u.steps, step{path: to, before: there, content: generated})
	u.Changes = append(u.Changes, c)
	return nil
}

// remind makes a conflict of a file that the author keeps while the new text that
// an earlier update wrote is still beside it.
func (u *Update) remind(root *os.Root, c *Change, current, generated []byte) error {
	offered := c.Path + NewSuffix
	switch _, err := root.Lstat(filepath.FromSlash(offered)); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	c.Action, c.WrittenTo, c.Diff = ActionConflict, offered, diff(c.Path, current, generated)
	return nil
}

// planRecord adds the new record as the last step, unless it is the same.
func (u *Update) planRecord(root *os.Root, tree *Tree) error {
	before, err := readFile(root, RecordName, maxRecord)
	if err != nil {
		return fmt.Errorf("reading %s: %w", filepath.Join(u.Dir, RecordName), err)
	}
	after, err := newRecord(tree).encode()
	if err != nil {
		return err
	}
	if digest(before) != digest(after) {
		u.steps = append(u.steps, step{path: RecordName, before: before, content: after})
	}
	return nil
}

func diff(p string, before, after []byte) string {
	from, to := "a/"+p, "b/"+p
	if before == nil {
		from = "/dev/null"
	}
	if after == nil {
		to = "/dev/null"
	}
	return udiff.Unified(from, to, string(before), string(after))
}

// Conflicts returns the changes that the author has to merge.
func (u *Update) Conflicts() []Change {
	var all []Change
	for _, c := range u.Changes {
		if c.Action == ActionConflict {
			all = append(all, c)
		}
	}
	return all
}

// Apply carries the update out, whole or not at all. It fails before it writes
// anything if a file is no longer what the plan saw.
func (u *Update) Apply(ctx context.Context) error {
	if len(u.steps) == 0 {
		return nil
	}
	root, err := openScaffold(u.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var undo undoList
	stage, err := u.carryOut(ctx, root, &undo)
	if err != nil {
		return undo.back(fmt.Errorf("updating %s: %w", u.Dir, err))
	}
	// The update is done. Taking it back now would need what is being removed here.
	if err := root.RemoveAll(stage); err != nil {
		return fmt.Errorf("updating %s: it is done, but %s, where files were prepared, could not be removed: %w", u.Dir, stage, err)
	}
	return nil
}

// carryOut verifies, prepares and commits all steps. It returns the directory in
// which they were prepared, and which now holds what was replaced.
func (u *Update) carryOut(ctx context.Context, root *os.Root, undo *undoList) (string, error) {
	for _, s := range u.steps {
		if err := s.verify(root); err != nil {
			return "", err
		}
	}
	full, err := os.MkdirTemp(u.Dir, stagePrefix)
	if err != nil {
		return "", err
	}
	stage := filepath.Base(full)
	undo.add(func() error { return root.RemoveAll(stage) })
	for i, s := range u.steps {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if s.content == nil {
			continue
		}
		if err := root.WriteFile(path.Join(stage, "new-"+strconv.Itoa(i)), s.content, 0o644); err != nil {
			return "", err
		}
	}
	for i, s := range u.steps {
		if err := s.commit(root, stage, i, undo); err != nil {
			return "", err
		}
	}
	return stage, nil
}

// verify tells that the file is no longer what the plan saw.
func (s step) verify(root *os.Root) error {
	now, err := readFile(root, filepath.FromSlash(s.path), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		now, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", s.path, err)
	}
	if (now == nil) != (s.before == nil) || string(now) != string(s.before) {
		return fmt.Errorf("%s changed meanwhile; update again", s.path)
	}
	return nil
}

// commit moves what is at the path aside and what was prepared into its place.
func (s step) commit(root *os.Root, stage string, i int, undo *undoList) error {
	name := filepath.FromSlash(s.path)
	if s.before != nil {
		aside := filepath.Join(stage, "old-"+strconv.Itoa(i))
		if err := root.Rename(name, aside); err != nil {
			return err
		}
		undo.add(func() error { return root.Rename(aside, name) })
	}
	if s.content == nil {
		return nil
	}
	if err := mkdirAllIn(root, filepath.Dir(name), undo); err != nil {
		return err
	}
	if err := root.Rename(filepath.Join(stage, "new-"+strconv.Itoa(i)), name); err != nil {
		return err
	}
	undo.add(func() error { return root.Remove(name) })
	return nil
}

// mkdirAllIn makes dir below root, and notes how to remove what it made.
func mkdirAllIn(root *os.Root, dir string, undo *undoList) error {
	if dir == "." {
		return nil
	}
	if _, err := root.Stat(dir); err == nil {
		return nil
	}
	if err := mkdirAllIn(root, filepath.Dir(dir), undo); err != nil {
		return err
	}
	if err := root.Mkdir(dir, 0o755); err != nil {
		return err
	}
	undo.add(func() error { return root.Remove(dir) })
	return nil
}
