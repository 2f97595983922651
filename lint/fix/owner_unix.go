//go:build unix

package fix

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a new file the owner and group of the one that it replaces.
func keepOwner(f *os.File, old fs.FileInfo) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	was, ok := old.Sys().(*syscall.Stat_t)
	is, okNew := info.Sys().(*syscall.Stat_t)
	if !ok || !okNew || was.Uid == is.Uid && was.Gid == is.Gid {
		return nil
	}
	if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
		return fmt.Errorf("keeping the owner (user %d, group %d): %w; run it as that user", was.Uid, was.Gid, err)
	}
	return nil
}
