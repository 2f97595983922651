package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// TestHarnessFullDisk plays on a file system that is too small for it.
func TestHarnessFullDisk(t *testing.T) {
	set := tiny(t, nil)
	for _, size := range []string{"4k", "16k", "64k", "128k"} {
		t.Run(size, func(t *testing.T) {
			dir := t.TempDir()
			if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
				t.Skipf("mounting a small file system: %v; the case \"the disk is full\" covers what the runtime says", err)
			}
			t.Cleanup(func() {
				if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
					t.Errorf("unmounting %s: %v", dir, err)
				}
			})
			t.Setenv("TMPDIR", dir)
			code, stdout, stderr := captf(t, "harness", "run", "--runtime", runtimetest.OpenTofu(t).Path, "-o", "json", set)
			if code != exitError || !strings.Contains(stderr, "no space left on device") {
				t.Errorf("exit %d\n%s", code, stderr)
			}
			var r harness.Result
			if err := json.Unmarshal([]byte(stdout), &r); err != nil || r.Verdict != harness.VerdictError {
				t.Errorf("%v: %s", err, stdout)
			}
		})
	}
}
