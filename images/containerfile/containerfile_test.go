package containerfile_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/containerfile"
)

// TestFiles compares the files below images/ with what the tables say; go
// generate writes them.
func TestFiles(t *testing.T) {
	for _, k := range containerfile.Kinds() {
		for _, r := range image.Runtimes() {
			b, err := containerfile.Render(k, r)
			if err != nil {
				t.Fatal(err)
			}
			golden.Assert(t, filepath.Join("..", filepath.FromSlash(containerfile.Path(k, r))), b)
		}
	}
}

// TestNothingStale: a base image that is not named is an error of the build,
// never an old default.
func TestNothingStale(t *testing.T) {
	for _, r := range image.Runtimes() {
		b, err := containerfile.Render(containerfile.Module, r)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), "\nARG BASE\n") {
			t.Errorf("the module image for %s has a default base", r)
		}
		if strings.Contains(string(b), "latest") {
			t.Errorf("the module image for %s uses a moving tag", r)
		}
	}
}
