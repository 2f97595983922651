package golden

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestUpdate(t *testing.T) {
	old := *update
	*update = true
	defer func() { *update = old }()

	path := filepath.Join(t.TempDir(), "sub", "want.txt")
	Assert(t, path, []byte("one"))
	if got, err := os.ReadFile(path); err != nil || string(got) != "one" {
		t.Fatalf("file holds %q, %v", got, err)
	}
	past := time.Unix(1, 0)
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
	Assert(t, path, []byte("one"))
	if info, err := os.Stat(path); err != nil || !info.ModTime().Equal(past) {
		t.Errorf("a file that did not change was written: %v, %v", info.ModTime(), err)
	}
	Assert(t, path, []byte("two"))
	if got, _ := os.ReadFile(path); string(got) != "two" {
		t.Errorf("file holds %q", got)
	}
}
