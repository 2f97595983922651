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

// Apply writes the changes below dir, each file as a whole or not at all, with
// the owner and the mode that it has. Nothing is written when one of the files
// is no longer as it was when the plan was made, or is read-only.
func (p *Plan) Apply(dir string) error {
	var writes []write
	for _, c := range p.Changes {
		w, err := c.prepare(dir)
		if err != nil {
			return fmt.Errorf("writing %s: %w; nothing was written", filepath.Join(dir, filepath.FromSlash(c.File)), err)
		}
		writes = append(writes, w)
	}
	for _, w := range writes {
		if err := w.replace(); err != nil {
			return fmt.Errorf("writing %s: %w", w.file, err)
		}
	}
	return nil
}

// write is a file that is ready to be written.
type write struct {
	file    string
	content []byte
	mode    fs.FileMode
	// old is the file that is replaced, nil for a new one.
	old fs.FileInfo
}

// prepare finds the file of a change and makes sure that it may be written.
func (c Change) prepare(dir string) (write, error) {
	file := filepath.Join(dir, filepath.FromSlash(c.File))
	if c.Old == nil {
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			return write{}, errors.New("the file exists, but was not read")
		}
		return write{file: file, content: c.New, mode: 0o644}, nil
	}
	// A link keeps its target; loading made sure that it lies in the module.
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		return write{}, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return write{}, err
	}
	if info.Mode().Perm()&0o222 == 0 {
		return write{}, fmt.Errorf("the file is read-only (mode %04o), make it writable first", info.Mode().Perm())
	}
	now, err := os.ReadFile(file)
	if err != nil {
		return write{}, err
	}
	if !bytes.Equal(now, c.Old) {
		return write{}, errors.New("the file changed meanwhile, run it again")
	}
	return write{file: file, content: c.New, mode: info.Mode().Perm(), old: info}, nil
}

// replace writes a temporary file beside the file and moves it there.
func (w write) replace() (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(w.file), ".tfcapi-lint-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(w.content)
	if err == nil && w.old != nil {
		err = keepOwner(tmp, w.old)
	}
	if err == nil {
		err = tmp.Chmod(w.mode)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), w.file)
	}
	return err
}
