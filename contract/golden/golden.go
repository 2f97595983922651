// Package golden compares what a test produced with a file under testdata and
// owns the one -update flag of the repository, which rewrites such files:
//
//	go test ./contract/... -update
//
// Not in this package: any choice of what to compare or how to make it
// deterministic; that is the test's work.
package golden

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files instead of comparing with them")

// Updating tells that the tests run with -update, for a test that keeps more
// than one file by itself.
func Updating() bool { return *update }

// Assert fails the test unless the file at path holds exactly got. With
// -update it writes the file instead, creating its folder.
func Assert(t testing.TB, path string, got []byte) {
	t.Helper()
	if *update {
		write(t, path, got)
		return
	}
	want, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Errorf("golden file %s does not exist; run the test with -update to create it", path)
		return
	}
	if err != nil {
		t.Errorf("reading golden file: %v", err)
		return
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-file +test); if the new content is right, run the test with -update:\n%s", path, diff)
	}
}

// write leaves a file alone that holds the content already, so that its
// modification time says when it really changed.
func write(t testing.TB, path string, got []byte) {
	t.Helper()
	if old, err := os.ReadFile(path); err == nil && string(old) == string(got) {
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatalf("creating the folder of a golden file: %v", err)
	}
	if err := os.WriteFile(path, got, 0o644); err != nil {
		t.Fatalf("writing golden file: %v", err)
	}
	t.Logf("wrote %s", path)
}
