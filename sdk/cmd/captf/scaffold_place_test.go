package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestPlaceName(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for in, want := range map[string]string{
		".": "the working directory", "./": "the working directory", "modules": "modules",
		"..": filepath.Dir(dir), "../..": filepath.Dir(filepath.Dir(dir)),
	} {
		if got := placeName(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestScaffoldIntoTheWorkingDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	code, _, stderr := captf(t, "scaffold", "--role", "machine", ".")
	if want := " files in the working directory. README.md says what to do next.\n"; code != exitOK || !strings.HasSuffix(stderr, want) {
		t.Errorf("exit code %d, standard error %q does not end in %q", code, stderr, want)
	}
}
