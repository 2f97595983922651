package module_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"golang.org/x/tools/txtar"

	"github.com/captf-toolkit/captf/sdk/module"
)

// FuzzLoad loads directories made of a txtar archive. Whatever is in them, Load
// does not panic, and it succeeds only if every file that a runtime reads
// parses.
func FuzzLoad(f *testing.F) {
	module.PanicsPass()
	for _, name := range cases(f, "*") {
		f.Add(archive(f, caseDir(name)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fsys := fstest.MapFS{}
		for _, file := range txtar.Parse(data).Files {
			if fs.ValidPath(file.Name) && file.Name != "." && !clashes(fsys, file.Name) {
				mode := fs.FileMode(0o644)
				if before, ok := strings.CutSuffix(file.Name, ".link"); ok {
					file.Name = before
					file.Data = []byte(strings.TrimSpace(string(file.Data)))
					mode = fs.ModeSymlink
				}
				fsys[file.Name] = &fstest.MapFile{Data: file.Data, Mode: mode}
			}
		}
		tree, err := module.LoadFS(fsys, "/m", module.Options{MaxFileBytes: 1 << 16, MaxFiles: 50})
		if err != nil {
			if tree != nil || err.Error() == "" {
				t.Fatalf("error %q beside a tree %v", err, tree)
			}
			return
		}
		checkTree(t, fsys, tree)
	})
}

// clashes tells whether a name is a file and a directory at once.
func clashes(fsys fstest.MapFS, name string) bool {
	name = strings.TrimSuffix(name, ".link")
	for other := range fsys {
		if other == name || strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/") {
			return true
		}
	}
	return false
}

func checkTree(t *testing.T, fsys fstest.MapFS, tree *module.Tree) {
	t.Helper()
	for name, file := range fsys {
		if strings.Contains(name, "/") || file.Mode != 0o644 || module.Ignored(name) || !module.ModuleFile(name) {
			continue
		}
		if tree.File(name) == nil {
			t.Errorf("%s was not read", name)
		}
	}
	for _, file := range tree.Files {
		var diags hcl.Diagnostics
		if file.JSON {
			_, diags = hcljson.Parse(file.Bytes, file.Name)
		} else {
			_, diags = hclsyntax.ParseConfig(file.Bytes, file.Name, hcl.InitialPos)
		}
		if diags.HasErrors() {
			t.Errorf("loads in spite of %v", diags)
		}
	}
	if tree.Primary == nil {
		t.Fatal("no primary view")
	}
	for _, r := range module.Runtimes() {
		for _, m := range tree.Modules(r) {
			for _, ref := range m.References() {
				if tree.File(ref.Range().Filename) == nil || len(ref.Owner.Path) == 0 {
					t.Errorf("reference without a place or an owner: %v", ref)
				}
			}
			if !slices.IsSortedFunc(m.Variables, func(a, b *module.Variable) int { return strings.Compare(a.Name, b.Name) }) {
				t.Error("variables are not sorted")
			}
			for _, v := range m.Variables {
				if m.Variable(v.Name) != v || tree.File(v.DefRange.Filename).Line(v.DefRange.Start.Line) == nil {
					t.Errorf("variable %q is not found", v.Name)
				}
			}
		}
	}
}

// archive packs a folder.
func archive(t testing.TB, dir string) []byte {
	t.Helper()
	a := &txtar.Archive{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "want.") {
			return err
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		a.Files = append(a.Files, txtar.File{Name: filepath.ToSlash(rel), Data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return txtar.Format(a)
}
