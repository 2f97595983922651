package fix

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/aymanbagabas/go-udiff"
)

// Diff returns the changes as a unified diff, whose paths start with prefix: ""
// or a directory, with forward slashes.
func (p *Plan) Diff(prefix string) string {
	var b bytes.Buffer
	for _, c := range p.Changes {
		from, to := path.Join("a", prefix, c.File), path.Join("b", prefix, c.File)
		if c.Old == nil {
			from = "/dev/null"
		}
		b.WriteString(udiff.Unified(from, to, string(c.Old), string(c.New)))
	}
	return b.String()
}

// Apply writes the changes below dir, each file as a whole or not at all. A
// file that is no longer as it was when the plan was made is not written.
func (p *Plan) Apply(dir string) error {
	for _, c := range p.Changes {
		if err := c.apply(dir); err != nil {
			return fmt.Errorf("writing %s: %w", filepath.Join(dir, filepath.FromSlash(c.File)), err)
		}
	}
	return nil
}

func (c Change) apply(dir string) error {
	file := filepath.Join(dir, filepath.FromSlash(c.File))
	mode := fs.FileMode(0o644)
	if c.Old == nil {
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			return errors.New("the file exists, but was not read; nothing was written")
		}
		return replaceFile(file, c.New, mode)
	}
	// A link keeps its target; loading made sure that it lies in the module.
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	now, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, c.Old) {
		return errors.New("the file changed meanwhile; nothing was written, run it again")
	}
	return replaceFile(file, c.New, info.Mode().Perm())
}

// replaceFile writes a temporary file beside the file and moves it there.
func replaceFile(file string, content []byte, mode fs.FileMode) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(file), ".tfcapi-lint-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	if _, err = tmp.Write(content); err == nil {
		err = tmp.Chmod(mode)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	return err
}
