package runtimetest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/captf-toolkit/captf/sdk/runtime"
)

// ModuleTests checks format and declarations of the module in dir, and runs its
// own tests/*.tftest.hcl. It works on a copy, so that nothing is left behind.
func ModuleTests(t testing.TB, b *runtime.Binary, dir string) {
	t.Helper()
	copied := filepath.Join(t.TempDir(), filepath.Base(dir))
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatalf("copying %s: %v", dir, err)
	}
	for _, args := range [][]string{
		{"fmt", "-check", "-diff", "-recursive"},
		{"init", "-input=false", "-no-color", "-backend=false"},
		{"validate", "-no-color"},
		{"test", "-no-color"},
	} {
		cmd := exec.CommandContext(context.Background(), b.Path, args...)
		cmd.Dir = copied
		cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.DevNull, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v in %s: %v\n%s", b, args, dir, err, out)
		}
	}
}
