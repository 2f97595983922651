package smoke

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/rootfs"
)

// maxUnpacked bounds what an image may take on disk, in bytes.
const maxUnpacked = 8 << 30

// Host is the platform of this machine, the only one whose images can be tried out.
func Host() image.Platform { return image.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH} }

// unpack writes the files of an image below dir and returns their size. Nothing
// is written elsewhere, whatever the image holds: directories are made and files
// are opened through a root that links cannot leave. Devices are left out, and
// owners are those of the process.
func unpack(ctx context.Context, files *rootfs.FS, dir string) (size int64, err error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return 0, fmt.Errorf("unpacking the image: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, fmt.Errorf("unpacking the image: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	var links []rootfs.Entry
	err = files.Walk("/", func(e rootfs.Entry) error {
		size += e.Size
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case size > maxUnpacked:
			return fmt.Errorf("it takes more than %d GiB", maxUnpacked>>30)
		case e.IsDir() && e.Path != "/":
			// Whoever runs the test has to be able to write into it; the root is
			// mounted read-only later.
			return root.Mkdir(local(e.Path), fs.FileMode(e.Mode&0o777)|0o700)
		case e.Type == rootfs.Symlink:
			links = append(links, e)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("unpacking the image: %w", err)
	}
	if err := files.Files(ctx, func(same []rootfs.Entry, content io.Reader) error { return unpackFile(root, same, content) }); err != nil {
		return 0, fmt.Errorf("unpacking the image: %w", err)
	}
	// Links come last, so that nothing is written through them.
	for _, e := range links {
		if err := root.Symlink(e.Link, local(e.Path)); err != nil {
			return 0, fmt.Errorf("unpacking the image: %w", err)
		}
	}
	return size, nil
}

func unpackFile(root *os.Root, same []rootfs.Entry, content io.Reader) error {
	first := local(same[0].Path)
	mode := fs.FileMode(same[0].Mode&0o777) | 0o400
	f, err := root.OpenFile(first, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, content); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	// The mode of a new file is cut by the process's mask.
	if err := root.Chmod(first, mode); err != nil {
		return err
	}
	for _, e := range same[1:] {
		if err := root.Link(first, local(e.Path)); err != nil {
			return err
		}
	}
	return nil
}

// local is an image path below the root of the image.
func local(p string) string { return filepath.FromSlash(strings.TrimPrefix(p, "/")) }

// removeAll removes a directory also when parts of it may not be written.
func removeAll(dir string) error {
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
