package image

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	contractimage "github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/rootfs"
	"github.com/captf-toolkit/captf/sdk/module"
)

// moduleFS shows the module directory of an image as a file system. Links are
// followed inside the image; what leads out of the module directory is not
// there.
type moduleFS struct{ c *checker }

// keep chooses the files whose content is kept when a layer is streamed: those
// of the module, the indexes of the mirror, and the accounts.
func keep(p string) bool {
	return contractimage.Within(contractimage.ModulePath, p) ||
		contractimage.Within(contractimage.ProvidersPath, p) && path.Ext(p) == ".json" ||
		p == "/etc/passwd" || p == "/etc/group"
}

// spool chooses the large files that are looked into: runtimes.
func spool(p string) bool {
	return p == contractimage.RuntimePath || contractimage.RuntimeOfFile(p) != "" && strings.Contains(p, "/bin/")
}

func (f moduleFS) resolve(op, name string) (rootfs.Entry, error) {
	if !fs.ValidPath(name) {
		return rootfs.Entry{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	e, err := f.c.fs.Stat(path.Join(contractimage.ModulePath, name))
	if err != nil {
		return rootfs.Entry{}, &fs.PathError{Op: op, Path: name, Err: cause(err)}
	}
	if !contractimage.Within(f.c.moduleDir(), e.Path) {
		return rootfs.Entry{}, &fs.PathError{Op: op, Path: name, Err: errors.New("path escapes from parent")}
	}
	return e, nil
}

func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// Open implements fs.FS.
func (f moduleFS) Open(name string) (fs.File, error) {
	e, err := f.resolve("open", name)
	if err != nil {
		return nil, err
	}
	info := fileInfo{name: path.Base(name), e: e}
	if e.IsDir() {
		return &directory{info: info, fs: f, name: name}, nil
	}
	b, err := f.c.fs.ReadFile(f.c.ctx, e.Path, module.DefaultMaxFileBytes)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &file{info: info, Reader: bytes.NewReader(b)}, nil
}

// ReadDir implements fs.ReadDirFS; links are listed as such.
func (f moduleFS) ReadDir(name string) ([]fs.DirEntry, error) {
	e, err := f.resolve("readdir", name)
	if err != nil {
		return nil, err
	}
	entries, err := f.c.fs.ReadDir(e.Path)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: cause(err)}
	}
	out := make([]fs.DirEntry, 0, len(entries))
	for _, e := range entries {
		if !e.IsDir() && !e.IsRegular() && e.Type != rootfs.Symlink {
			continue // image/layer-entry is about devices and pipes
		}
		out = append(out, fs.FileInfoToDirEntry(fileInfo{name: e.Name(), e: e}))
	}
	return out, nil
}

// Lstat implements fs.ReadLinkFS.
func (f moduleFS) Lstat(name string) (fs.FileInfo, error) {
	dir, err := f.resolve("lstat", path.Dir(name))
	if err != nil {
		return nil, err
	}
	e := dir
	if name != "." {
		if e, err = f.c.fs.Lstat(path.Join(dir.Path, path.Base(name))); err != nil {
			return nil, &fs.PathError{Op: "lstat", Path: name, Err: cause(err)}
		}
	}
	return fileInfo{name: path.Base(name), e: e}, nil
}

// ReadLink implements fs.ReadLinkFS.
func (f moduleFS) ReadLink(name string) (string, error) {
	dir, err := f.resolve("readlink", path.Dir(name))
	if err != nil {
		return "", err
	}
	target, err := f.c.fs.ReadLink(path.Join(dir.Path, path.Base(name)))
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: cause(err)}
	}
	return target, nil
}

type fileInfo struct {
	name string
	e    rootfs.Entry
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.e.Size }
func (i fileInfo) ModTime() time.Time { return i.e.ModTime }
func (i fileInfo) IsDir() bool        { return i.e.IsDir() }
func (i fileInfo) Sys() any           { return nil }

func (i fileInfo) Mode() fs.FileMode {
	mode := fs.FileMode(i.e.Mode & 0o777)
	switch {
	case i.e.IsDir():
		return mode | fs.ModeDir
	case i.e.Type == rootfs.Symlink:
		return mode | fs.ModeSymlink
	case !i.e.IsRegular():
		return mode | fs.ModeIrregular
	}
	return mode
}

type file struct {
	info fileInfo
	*bytes.Reader
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

// directory is an open directory that is read whole.
type directory struct {
	info fileInfo
	fs   moduleFS
	name string
	rest []fs.DirEntry
	read bool
}

func (d *directory) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *directory) Close() error               { return nil }

func (d *directory) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: errors.New("is a directory")}
}

// ReadDir implements fs.ReadDirFile.
func (d *directory) ReadDir(n int) ([]fs.DirEntry, error) {
	if !d.read {
		entries, err := d.fs.ReadDir(d.name)
		if err != nil {
			return nil, err
		}
		d.rest, d.read = entries, true
	}
	if n <= 0 || n > len(d.rest) {
		n = len(d.rest)
	}
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out, nil
}
