package unpack_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/captf-toolkit/captf/images/unpack"
)

// TestRemove: what an image makes unreadable is removed as well.
func TestRemove(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "image")
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "a"), 0); err != nil {
		t.Fatal(err)
	}
	if err := unpack.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestLocal(t *testing.T) {
	for p, want := range map[string]string{"/": ".", "/a/b": filepath.Join("a", "b")} {
		if got := unpack.Local(p); got != want {
			t.Errorf("%s: got %s, want %s", p, got, want)
		}
	}
}
