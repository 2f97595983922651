package golden_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract/golden"
)

// recorder stands in for the test that uses the helper.
type recorder struct {
	testing.TB
	failed []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.failed = append(r.failed, fmt.Sprintf(format, args...))
}

func (r *recorder) Logf(string, ...any) {}

func TestAssert(t *testing.T) {
	if golden.Updating() {
		t.Skip("compares, which -update does not")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "want.txt")
	if err := os.WriteFile(path, []byte("one\ntwo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, path, got, want string }{
		{"equal", path, "one\ntwo\n", ""},
		{"different", path, "one\nthree\n", "three"},
		{"missing", filepath.Join(dir, "none.txt"), "", "-update"},
		{"folder", dir, "", "reading golden file"},
	} {
		r := &recorder{TB: t}
		golden.Assert(r, tt.path, []byte(tt.got))
		if tt.want == "" && len(r.failed) > 0 || tt.want != "" && (len(r.failed) != 1 || !strings.Contains(r.failed[0], tt.want)) {
			t.Errorf("%s: failed with %q, want %q", tt.name, r.failed, tt.want)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "one\ntwo\n" {
		t.Errorf("comparing changed the file to %q, %v", got, err)
	}
}
