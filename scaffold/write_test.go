package scaffold

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/contract"
)

// listing returns what a directory holds, staging directories included.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestWrite(t *testing.T) {
	t.Parallel()
	tree := generate(t, Options{Role: contract.RoleMachine})
	want := map[string]string{}
	for _, f := range tree.Files {
		want[f.Path] = string(f.Content)
	}
	tests := []struct {
		name    string
		prepare func(t *testing.T, parent string) string
		extra   []string
	}{
		{"new directory", func(_ *testing.T, parent string) string { return filepath.Join(parent, "new") }, nil},
		{"new directory below others", func(_ *testing.T, parent string) string { return filepath.Join(parent, "a", "b", "new") }, nil},
		{"trailing slash", func(_ *testing.T, parent string) string { return filepath.Join(parent, "new") + "/" }, nil},
		{"empty directory", func(_ *testing.T, parent string) string { return parent }, nil},
		{"repository without content", func(t *testing.T, parent string) string {
			mkdir(t, parent, ".git")
			return parent
		}, []string{".git"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			dir := test.prepare(t, parent)
			if err := tree.Write(context.Background(), dir); err != nil {
				t.Fatal(err)
			}
			got := files(t, dir)
			if _, ok := got[RecordName]; !ok {
				t.Error("there is no record")
			}
			delete(got, RecordName)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("written (-generated +written):\n%s", diff)
			}
			for _, name := range append(listing(t, parent), listing(t, dir)...) {
				if strings.HasPrefix(name, stagePrefix) {
					t.Errorf("%s was left behind", name)
				}
			}
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o050 != 0o050 {
				t.Errorf("the directory is %v, %v: others cannot read it", info.Mode(), err)
			}
		})
	}
}

func mkdir(t *testing.T, elem ...string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(elem...), 0o755); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, content string, elem ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(elem...), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestWriteRefuses asserts that a target that will not do is refused with the
// reason, and that nothing at all changes.
func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	tree := generate(t, Options{Set: true})
	tests := []struct {
		name    string
		prepare func(t *testing.T, parent string) (dir string)
		want    string
	}{
		{"not empty", func(t *testing.T, parent string) string {
			write(t, "mine", parent, "main.tf")
			return parent
		}, "it holds main.tf"},
		{"hidden file", func(t *testing.T, parent string) string {
			write(t, "mine", parent, ".gitignore")
			return parent
		}, "it holds .gitignore"},
		{"scaffold", func(t *testing.T, parent string) string {
			write(t, "{}", parent, RecordName)
			return parent
		}, "--update"},
		{"file", func(t *testing.T, parent string) string {
			write(t, "mine", parent, "new")
			return filepath.Join(parent, "new")
		}, "it is a file"},
		{"file as parent", func(t *testing.T, parent string) string {
			write(t, "mine", parent, "new")
			return filepath.Join(parent, "new", "deeper")
		}, "not a directory"},
		{"file as grandparent", func(t *testing.T, parent string) string {
			mkdir(t, parent, "a")
			write(t, "mine", parent, "a", "new")
			return filepath.Join(parent, "a", "new", "x", "y")
		}, "not a directory"},
		{"link", func(t *testing.T, parent string) string {
			mkdir(t, parent, "real")
			if err := os.Symlink("real", filepath.Join(parent, "new")); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(parent, "new")
		}, "symbolic link"},
		{"dangling link", func(t *testing.T, parent string) string {
			if err := os.Symlink("nowhere", filepath.Join(parent, "new")); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(parent, "new")
		}, "symbolic link"},
		{"name too long", func(_ *testing.T, parent string) string {
			return filepath.Join(parent, "made", strings.Repeat("x", 300))
		}, "file name too long"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			dir := test.prepare(t, parent)
			before := snapshot(t, parent)
			err := tree.Write(context.Background(), dir)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("got %v, want %q and the directory", err, test.want)
			}
			if diff := cmp.Diff(before, snapshot(t, parent)); diff != "" {
				t.Errorf("the directory changed (-before +after):\n%s", diff)
			}
		})
	}
}

// snapshot returns everything below dir, directories and links included.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.Walk(dir, func(p string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		all[p] = info.Mode().String()
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(p)
			all[p] += string(content)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// cancelAfter is a context that is cancelled when it was asked n times.
type cancelAfter struct {
	context.Context
	n *int
}

func (c cancelAfter) Err() error {
	if *c.n--; *c.n < 0 {
		return context.Canceled
	}
	return nil
}

// TestWriteStopsAnywhere interrupts the write before each file: nothing may stay.
func TestWriteStopsAnywhere(t *testing.T) {
	t.Parallel()
	tree := generate(t, Options{Role: contract.RoleMachine})
	for _, target := range []string{".", "new", "a/b"} {
		for n := range len(tree.Files) + 1 {
			parent := t.TempDir()
			before := snapshot(t, parent)
			err := tree.Write(cancelAfter{context.Background(), &n}, filepath.Join(parent, target))
			if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "nothing was changed") {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(before, snapshot(t, parent)); diff != "" {
				t.Fatalf("the directory changed (-before +after):\n%s", diff)
			}
		}
	}
}

// TestWriteTakesBack lets the last move of a write fail: the moves before it must
// be taken back.
func TestWriteTakesBack(t *testing.T) {
	t.Parallel()
	tree := generate(t, Options{Role: contract.RoleMachine})
	dir := t.TempDir()
	// A file that appears while the staged files are written.
	appear := appearing{Context: context.Background(), path: filepath.Join(dir, "versions.tf")}
	err := tree.Write(&appear, dir)
	if err == nil || !strings.Contains(err.Error(), "versions.tf appeared meanwhile") {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff([]string{"versions.tf"}, listing(t, dir)); diff != "" {
		t.Errorf("left in the directory (-want +got):\n%s", diff)
	}
	if got := files(t, dir)["versions.tf"]; got != "mine" {
		t.Errorf("the file that appeared holds %q", got)
	}
}

// appearing is a context that makes a file when it is asked.
type appearing struct {
	context.Context
	path string
}

func (a *appearing) Err() error {
	return os.WriteFile(a.path, []byte("mine"), 0o644)
}

func TestDecodeRecord(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"empty", "", "r:1:0"},
		{"no JSON", "{\n  \"scaffold\": 1,\n  oops\n}", "r:3:3"},
		{"wrong type", "{\"scaffold\": \"one\"}", "r:1:"},
		{"newer", `{"scaffold": 99, "news": {}}`, "update captf"},
		{"unknown key", `{"scaffold": 1, "extra": true}`, "unknown field"},
		{"no generation", `{"contract": "v1alpha1"}`, "scaffold is 0"},
		{"outside", `{"scaffold": 1, "files": {"../x": "sha256:0"}}`, "not inside"},
		{"absolute", `{"scaffold": 1, "files": {"/etc/passwd": "sha256:0"}}`, "not inside"},
		{"not clean", `{"scaffold": 1, "files": {"a/../b": "sha256:0"}}`, "not inside"},
		{"backslash", `{"scaffold": 1, "files": {"a\\..\\..\\b": "sha256:0"}}`, "not inside"},
	}
	for _, test := range tests {
		if _, err := decodeRecord("r", []byte(test.in)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s gives %v, want %q", test.name, err, test.want)
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	tree, err := Generate(Options{Role: contract.RoleCluster, Provider: &Provider{"hashicorp/aws", "6.25.0"}})
	if err != nil {
		f.Fatal(err)
	}
	data, err := newRecord(tree).encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"scaffold":1,"files":{"..":""}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeRecord("r", data)
		if err != nil {
			return
		}
		for p := range r.Files {
			if !filepath.IsLocal(p) {
				t.Fatalf("%q is not inside the directory", p)
			}
		}
	})
}
