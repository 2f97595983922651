package testenv

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Pids are the ids of the processes of an environment.
func Pids(dir string) []int { return pids(dir) }

// Alive are those of the processes that there are.
func Alive(pids []int) (out []int) {
	for _, pid := range pids {
		if line := commandLine(pid); line != "" {
			out = append(out, pid)
		}
	}
	return out
}

// KillGuard kills the guard of an environment.
func KillGuard(t *testing.T, dir string) {
	t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	if len(files) == 0 {
		t.Skip("there is no /proc to find the guard in")
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil || !strings.Contains(string(text), "testenv-guard\x00"+dir+"\x00") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(fmt.Errorf("killing the guard: %w", err))
		}
		return
	}
	t.Fatal("there is no guard")
}

// Sweep is what Start does first.
func Sweep(base string) { sweep(base) }

// Kill kills the processes that are left when a test failed.
func Kill(pids []int) {
	for _, pid := range Alive(pids) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
