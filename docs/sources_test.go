package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"
)

// root is the repository, seen from this package.
const root = ".."

// sources lists the files of the repository, slash-separated, without what git and builds keep there.
//
// It looks at every file, which also makes every file an input of these tests for go test's cache: a cached "ok" is not
// shown after a change elsewhere, though only the go command and the built commands read most of them.
func sources(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if name == ".git" || name == "bin" || path.Base(name) == ".terraform" {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() && d.Type() != fs.ModeSymlink {
			return nil
		}
		if _, err := os.Lstat(file); err != nil {
			return err
		}
		files = append(files, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
