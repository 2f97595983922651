package regular_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/captf-toolkit/captf/images/regular"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "file")
	if err := os.WriteFile(at, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, limit := range map[string]int64{"file": 100, "link": 7} {
		if got, err := regular.Read(filepath.Join(dir, name), limit); err != nil || string(got) != "content" {
			t.Errorf("%s: got %q, error %v", name, got, err)
		}
	}
	if got, err := regular.Read(at, 3); err != nil || len(got) != 4 {
		t.Errorf("limit: got %q, error %v", got, err)
	}
	if _, err := regular.Read(filepath.Join(dir, "none"), 3); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: got error %v", err)
	}
}

// TestOtherTypes would not end if one of them were opened.
func TestOtherTypes(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{pipe: "named pipe", link: "named pipe", dir: "directory", os.DevNull: "device"} {
		_, _, err := regular.Open(path)
		if !errors.Is(err, regular.ErrType) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got error %v, want one that says %q", path, err, want)
		}
	}
}
