package runner

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Copy writes this program to a file that others may execute. The file is there whole or not at all.
func Copy(dest string) (err error) {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("copying the runner: %w", err)
	}
	from, err := os.Open(self)
	if err != nil {
		return fmt.Errorf("copying the runner: %w", err)
	}
	defer from.Close()
	to, err := os.CreateTemp(filepath.Dir(dest), ".runner-*")
	if err != nil {
		return fmt.Errorf("copying the runner: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(to.Name())
		}
	}()
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Chmod(0o755), to.Close()); err != nil {
		return fmt.Errorf("copying the runner: %w", err)
	}
	if err = os.Rename(to.Name(), dest); err != nil {
		return fmt.Errorf("copying the runner: %w", err)
	}
	return nil
}
