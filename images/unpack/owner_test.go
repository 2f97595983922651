//go:build unix

package unpack_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"
)

// owner says whom a file belongs to and who may do what.
func owner(t *testing.T, file string) string {
	t.Helper()
	info, err := os.Lstat(file)
	if err != nil {
		t.Fatal(err)
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Skip("this system's files have other owners")
	}
	return fmt.Sprintf("%d:%d %s", s.Uid, s.Gid, info.Mode())
}
