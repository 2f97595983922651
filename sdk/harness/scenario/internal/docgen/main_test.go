package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract/golden"
)

// TestWrite: what is written is what is checked in.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	var stderr strings.Builder
	if code := run([]string{dir}, &stderr); code != 0 || stderr.Len() > 0 {
		t.Fatalf("exit %d: %s", code, &stderr)
	}
	for _, name := range []string{"harness-scenario.schema.json", "scenarios.md"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		golden.Assert(t, filepath.Join("../../../../../docs/reference", name), got)
	}
	if code := run([]string{filepath.Join(dir, "missing")}, &stderr); code != 2 || !strings.Contains(stderr.String(), "writing ") {
		t.Errorf("a directory that is not there: exit %d: %s", code, &stderr)
	}
	if code := run(nil, &stderr); code != 3 {
		t.Errorf("no directory: exit %d", code)
	}
}
