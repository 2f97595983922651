package smoke

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMountPointsAreNoLinks: an image cannot make this program mount, or make
// directories, elsewhere.
func TestMountPointsAreNoLinks(t *testing.T) {
	outside := t.TempDir()
	for _, p := range []string{"tmp", "dev", "captf", "captf/work"} {
		dir := t.TempDir()
		at := filepath.Join(dir, "rootfs", filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, at); err != nil {
			t.Fatal(err)
		}
		if _, _, err := newSandbox(t.Context(), dir, ""); err == nil || !strings.Contains(err.Error(), "/"+p+" is no directory") {
			t.Errorf("%s: got %v", p, err)
		}
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("made outside of the image: %v, %v", left, err)
	}
}
