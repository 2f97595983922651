//go:build unix

package fix_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/captf-toolkit/captf/contract"
)

func TestOwnerAndModeStay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "main.tf")
	if err := os.WriteFile(path, []byte("variable \"bootstrap_data\" {\n  type = string\n}\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 1234, 2345); err != nil {
		t.Skipf("this file system keeps no owner: %v", err)
	}
	if err := makePlan(t, dir, contract.RoleMachine).Apply(dir); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid != 1234 || owner.Gid != 2345 || info.Mode().Perm() != 0o640 {
		t.Errorf("owner is %+v, mode %v", owner, info.Mode())
	}
}
