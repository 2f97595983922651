// Package regular opens files that a user names. What is no regular file is
// refused before it is opened, because opening a named pipe that nobody writes to
// waits for ever.
//
// Not in this package: what is in the files, and files inside of images
// (images/rootfs).
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrType is the cause of the error for what is no regular file.
var ErrType = errors.New("not a regular file")

// Open opens a regular file, through symbolic links. The errors are
// *fs.PathError, so they name the file.
func Open(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if err := check(path, info); err != nil {
		return nil, nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	// It may be another file by now.
	if info, err = f.Stat(); err == nil {
		err = check(path, info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

func check(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("it is a %s, %w", Kind(info.Mode()), ErrType)}
}

// Kind names what is no regular file.
func Kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "directory"
	case m&fs.ModeNamedPipe != 0:
		return "named pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

// Read reads a regular file whole, but not more than one byte above the limit:
// a longer result says that the file is too large.
func Read(path string, limit int64) ([]byte, error) {
	f, _, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}
