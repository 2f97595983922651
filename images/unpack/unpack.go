// Package unpack writes the files of an image to a directory, and nowhere else, whatever the image holds.
//
// Not in this package: reading images (images/source, images/rootfs), and running what was unpacked.
package unpack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/captf-toolkit/captf/images/rootfs"
)

// MaxSize bounds what an image may take on disk, in bytes.
const MaxSize = 8 << 30

// Options say how to unpack.
type Options struct {
	// Owners gives files the owners that the image says, and directories exactly its modes, which takes a privileged
	// process. Without it everything belongs to the process, which can write to every directory.
	Owners bool
}

// Into writes the files of an image below dir, which is made, and returns their size. Directories are made and files
// are opened through a root that links cannot leave. Devices are left out.
func Into(ctx context.Context, files *rootfs.FS, dir string, o Options) (size int64, err error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return 0, fmt.Errorf("unpacking the image: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, fmt.Errorf("unpacking the image: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	u := unpacker{root: root, owners: o.Owners}
	if size, err = u.unpack(ctx, files); err != nil {
		return 0, fmt.Errorf("unpacking the image: %w", err)
	}
	return size, nil
}

type unpacker struct {
	root   *os.Root
	owners bool
	links  []rootfs.Entry
	dirs   []rootfs.Entry
}

func (u *unpacker) unpack(ctx context.Context, files *rootfs.FS) (size int64, err error) {
	err = files.Walk("/", func(e rootfs.Entry) error {
		size += e.Size
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case size > MaxSize:
			return fmt.Errorf("it takes more than %d GiB", MaxSize>>30)
		case e.IsDir():
			u.dirs = append(u.dirs, e)
			if e.Path == "/" {
				return nil
			}
			// The process has to be able to write into it.
			return u.root.Mkdir(Local(e.Path), fs.FileMode(e.Mode&0o777)|0o700)
		case e.Type == rootfs.Symlink:
			u.links = append(u.links, e)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if err := files.Files(ctx, u.file); err != nil {
		return 0, err
	}
	// Links come after all files, so that nothing is written through them.
	for _, e := range u.links {
		if err := u.root.Symlink(e.Link, Local(e.Path)); err != nil {
			return 0, err
		}
		if u.owners {
			if err := u.root.Lchown(Local(e.Path), e.UID, e.GID); err != nil {
				return 0, err
			}
		}
	}
	if !u.owners {
		return size, nil
	}
	for _, e := range u.dirs {
		p := Local(e.Path)
		if err := errors.Join(u.root.Lchown(p, e.UID, e.GID), u.root.Chmod(p, permissions(e.Mode))); err != nil {
			return 0, err
		}
	}
	return size, nil
}

func (u *unpacker) file(same []rootfs.Entry, content io.Reader) error {
	first, mode := Local(same[0].Path), fs.FileMode(same[0].Mode&0o777)|0o400
	f, err := u.root.OpenFile(first, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, content); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	if u.owners {
		mode = permissions(same[0].Mode)
		if err := u.root.Lchown(first, same[0].UID, same[0].GID); err != nil {
			return err
		}
	}
	// The mode of a new file is cut by the process's mask.
	if err := u.root.Chmod(first, mode); err != nil {
		return err
	}
	for _, e := range same[1:] {
		if err := u.root.Link(first, Local(e.Path)); err != nil {
			return err
		}
	}
	return nil
}

// permissions are those of a mode as in stat(2); set-id bits have no place in what is tried out or tested.
func permissions(mode uint32) fs.FileMode {
	out := fs.FileMode(mode & 0o777)
	if mode&0o1000 != 0 {
		out |= fs.ModeSticky
	}
	return out
}

// Local is a path of an image below the root of the image.
func Local(p string) string {
	if p == "/" {
		return "."
	}
	return filepath.FromSlash(strings.TrimPrefix(p, "/"))
}

// Remove removes a directory also when parts of it may not be written.
func Remove(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(p, 0o700) //nolint:gosec // to remove it
		}
		return nil
	})
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing the unpacked image: %w", err)
	}
	return nil
}
