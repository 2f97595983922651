package module

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

var (
	errOutside = errors.New("leads outside the module's root directory")
	errLoop    = errors.New("is a symbolic link that leads in a circle")
	errNotFile = errors.New("is not a regular file")
)

// maxLinks is how many symbolic links one path may go through, as on Linux.
const maxLinks = 40

// source is the root directory as a file system whose paths cannot leave it.
type source struct {
	fsys fs.FS
	// abs is the root's own absolute path without symbolic links, by which
	// absolute links, and paths that leave and come back, are understood.
	abs string
	// evalLinks resolves an absolute path outside; nil when there is nothing
	// outside.
	evalLinks func(string) (string, error)
}

// resolve returns the path, relative to the root, of what name leads to once
// all symbolic links are followed.
func (s *source) resolve(name string) (string, error) {
	var done []string
	todo := strings.Split(name, "/")
	links := 0
	for len(todo) > 0 {
		next := todo[0]
		todo = todo[1:]
		switch next {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				// Leaves the root, and may come back by its name.
				rel, err := s.relative(path.Join(s.abs, "..", path.Join(todo...)))
				if err != nil {
					return "", err
				}
				if links++; links > maxLinks {
					return "", errLoop
				}
				todo = strings.Split(rel, "/")
				continue
			}
			done = done[:len(done)-1]
			continue
		}
		at := strings.Join(append(done[:len(done):len(done)], next), "/")
		if !fs.ValidPath(at) {
			return "", fs.ErrNotExist
		}
		info, err := fs.Lstat(s.fsys, at)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = append(done, next)
			continue
		}
		if links++; links > maxLinks {
			return "", errLoop
		}
		target, err := fs.ReadLink(s.fsys, at)
		if err != nil {
			return "", err
		}
		target = filepath.ToSlash(target)
		if path.IsAbs(target) {
			if target, err = s.relative(target); err != nil {
				return "", err
			}
			done = nil
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	if len(done) == 0 {
		return ".", nil
	}
	return strings.Join(done, "/"), nil
}

// relative turns an absolute path into one relative to the root.
func (s *source) relative(abs string) (string, error) {
	if rel, ok := cutDir(abs, s.abs); ok {
		return rel, nil
	}
	if s.evalLinks != nil {
		if real, err := s.evalLinks(filepath.FromSlash(abs)); err == nil {
			if rel, ok := cutDir(filepath.ToSlash(real), s.abs); ok {
				return rel, nil
			}
		}
	}
	return "", errOutside
}

// cutDir returns what of a path follows a directory's.
func cutDir(name, dir string) (string, bool) {
	name = path.Clean(name)
	if name == dir {
		return ".", true
	}
	rel, ok := strings.CutPrefix(name, strings.TrimSuffix(dir, "/")+"/")
	return rel, ok
}

// readFile reads a regular file of at most limit bytes, given its resolved
// path.
func (s *source) readFile(name string, limit int64) ([]byte, error) {
	info, err := fs.Lstat(s.fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotFile
	}
	f, err := s.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := bytes.NewBuffer(make([]byte, 0, min(info.Size(), limit)+bytes.MinRead))
	if _, err := buf.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, err
	}
	if int64(buf.Len()) > limit {
		return nil, fmt.Errorf("is larger than %d bytes", limit)
	}
	return buf.Bytes(), nil
}

// reason takes the operation and the path off an error of the file system,
// which the message already names.
func reason(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
