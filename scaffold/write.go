package scaffold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// stagePrefix starts the name of the directory in which files are prepared.
const stagePrefix = ".captf-scaffold-"

// CheckTarget tells why the tree cannot be written into dir: it is no directory,
// a symbolic link, or holds anything but the metadata of a version control
// system. A directory that does not exist is fine.
func CheckTarget(dir string) error {
	_, err := checkTarget(dir)
	return err
}

func checkTarget(dir string) (exists bool, err error) {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("scaffolding into %s: %w", dir, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return false, fmt.Errorf("scaffolding into %s: it is a symbolic link; name the directory itself", dir)
	case !info.IsDir():
		return false, fmt.Errorf("scaffolding into %s: it is a file; name a new or empty directory", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, fmt.Errorf("scaffolding into %s: %w", dir, err)
	}
	for _, e := range entries {
		switch e.Name() {
		case ".git":
		case RecordName:
			return false, fmt.Errorf("scaffolding into %s: it holds a scaffold already; use --update to bring it forward", dir)
		default:
			return false, fmt.Errorf("scaffolding into %s: it holds %s, and nothing is ever overwritten; name a new or empty directory", dir, e.Name())
		}
	}
	return true, nil
}

// Write writes the tree and its record into dir, which must pass CheckTarget. It
// is all or nothing: files are prepared beside their place and then moved, and
// what was moved or made is removed again when anything fails.
func (t *Tree) Write(ctx context.Context, dir string) (err error) {
	exists, err := checkTarget(dir)
	if err != nil {
		return err
	}
	rec, err := newRecord(t).encode()
	if err != nil {
		return err
	}
	files := append(append([]File{}, t.Files...), File{Path: RecordName, Content: rec})

	var undo undoList
	defer func() {
		if err != nil {
			err = undo.back(fmt.Errorf("scaffolding into %s: %w", dir, err))
		}
	}()

	// A new directory is prepared whole beside its place; an existing one must stay
	// the one that it is, so its content is prepared inside.
	home := dir
	if !exists {
		home = filepath.Dir(filepath.Clean(dir))
		if err := mkdirAll(home, &undo); err != nil {
			return err
		}
	}
	stage, err := os.MkdirTemp(home, stagePrefix)
	if err != nil {
		return err
	}
	undo.add(func() error { return os.RemoveAll(stage) })
	if err := fill(ctx, stage, files); err != nil {
		return err
	}
	if !exists {
		if err := os.Chmod(stage, 0o755); err != nil {
			return err
		}
		return os.Rename(stage, dir)
	}
	entries, err := os.ReadDir(stage)
	if err != nil {
		return err
	}
	for _, e := range entries {
		to := filepath.Join(dir, e.Name())
		if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s appeared meanwhile", to)
		}
		if err := os.Rename(filepath.Join(stage, e.Name()), to); err != nil {
			return err
		}
		undo.add(func() error { return os.RemoveAll(to) })
	}
	return os.Remove(stage)
}

// fill writes files below dir, which is empty.
func fill(ctx context.Context, dir string, files []File) error {
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, f.Content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// mkdirAll makes dir with its parents, and notes how to remove what it made.
func mkdirAll(dir string, undo *undoList) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := mkdirAll(parent, undo); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	undo.add(func() error { return os.Remove(dir) })
	return nil
}

// undoList holds what takes a failed write back, in the order of the steps.
type undoList []func() error

func (u *undoList) add(f func() error) { *u = append(*u, f) }

// back takes all steps back, the last one first, and goes on when one fails. It
// returns the reason for it with what came of it.
func (u *undoList) back(reason error) error {
	var errs []error
	for _, step := range slices.Backward(*u) {
		errs = append(errs, step())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w; taking back what was done failed too: %w", reason, err)
	}
	return fmt.Errorf("%w; nothing was changed", reason)
}
