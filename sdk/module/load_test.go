package module_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/sdk/module"
)

// tree makes a directory: a value that starts with "-> " is a symbolic link,
// with ROOT standing for the module's directory. The module is in "m".
func tree(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	base := t.TempDir()
	root = filepath.Join(base, "m")
	for name, content := range files {
		p := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		target, link := strings.CutPrefix(content, "-> ")
		var err error
		if link {
			err = os.Symlink(strings.ReplaceAll(target, "ROOT", root), p)
		} else {
			err = os.WriteFile(p, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const child = "output \"x\" {\n  value = 1\n}\n"

func call(name, source string) string {
	return fmt.Sprintf("module %q {\n  source = %q\n}\n", name, source)
}

// TestConfinement lets files and calls lead to all kinds of places.
func TestConfinement(t *testing.T) {
	for _, tc := range []struct {
		name    string
		files   map[string]string
		modules []string // directories of the modules that are read
		escapes []string // kind, name, target
		err     string   // in place of all that; ROOT is the directory
	}{
		{
			name:    "file linked inside",
			files:   map[string]string{"main.tf": "-> src/main.txt", "src/main.txt": child},
			modules: []string{"."},
		},
		{
			name:    "file linked inside by its absolute path",
			files:   map[string]string{"main.tf": "-> ROOT/src/main.txt", "src/main.txt": child},
			modules: []string{"."},
		},
		{
			name:    "file linked out of the root and back in",
			files:   map[string]string{"main.tf": "-> ../m/src/main.txt", "src/main.txt": child},
			modules: []string{"."},
		},
		{
			name:    "file linked outside",
			files:   map[string]string{"main.tf": child, "up.tf": "-> ../up.tf", "../up.tf": child, "sub.tf": "-> a/../../up.tf", "a/x": ""},
			modules: []string{"."},
			escapes: []string{"file sub.tf a/../../up.tf", "file up.tf ../up.tf"},
		},
		{
			name:    "file linked to an absolute path",
			files:   map[string]string{"main.tf": "-> /etc/hostname"},
			modules: []string{"."},
			escapes: []string{"file main.tf /etc/hostname"},
		},
		{
			name:  "file linked to nothing",
			files: map[string]string{"main.tf": "-> gone.tf"},
			err:   "ROOT/main.tf: Unreadable file: no such file or directory; fix or remove it",
		},
		{
			name:  "file linked to itself",
			files: map[string]string{"main.tf": "-> main.tf"},
			err:   "ROOT/main.tf: Unreadable file: is a symbolic link that leads in a circle; fix or remove it",
		},
		{
			name:  "file linked in a circle outside",
			files: map[string]string{"main.tf": "-> ../m/main.tf"},
			err:   "ROOT/main.tf: Unreadable file: is a symbolic link that leads in a circle; fix or remove it",
		},
		{
			name:  "file linked to a directory",
			files: map[string]string{"main.tf": "-> src", "src/x": ""},
			err:   "ROOT/main.tf: Unreadable file: is not a regular file; fix or remove it",
		},
		{
			name:    "directory named like a file",
			files:   map[string]string{"main.tf": child, "dir.tf/x.tf": "{"},
			modules: []string{"."},
		},
		{
			name:    "call through a link",
			files:   map[string]string{"main.tf": call("a", "./link"), "link": "-> real", "real/main.tf": child},
			modules: []string{".", "link"},
		},
		{
			name: "call up from a linked directory goes by its spelling",
			files: map[string]string{
				"main.tf": call("a", "./link"), "link": "-> deep/down/real",
				"deep/down/real/main.tf": call("b", "../b"), "b/main.tf": child,
			},
			modules: []string{".", "b", "link"},
		},
		{
			name:    "call through a link outside",
			files:   map[string]string{"main.tf": call("a", "./link"), "link": "-> ../other", "../other/main.tf": child},
			modules: []string{"."},
			escapes: []string{"outside a link"},
		},
		{
			name:    "call outside",
			files:   map[string]string{"main.tf": call("a", "../other"), "../other/main.tf": child},
			modules: []string{"."},
			escapes: []string{"outside a ../other"},
		},
		{
			name:    "call out and back in",
			files:   map[string]string{"main.tf": call("a", "../m/sub"), "sub/main.tf": child},
			modules: []string{".", "sub"},
		},
		{
			name:    "call of a sibling whose name starts alike",
			files:   map[string]string{"main.tf": call("a", "../m2"), "../m2/main.tf": child},
			modules: []string{"."},
			escapes: []string{"outside a ../m2"},
		},
		{
			name:    "call of the root",
			files:   map[string]string{"main.tf": call("a", "./")},
			modules: []string{"."},
			escapes: []string{"cycle a . -> ."},
		},
		{
			name:    "call back through a link",
			files:   map[string]string{"main.tf": call("a", "./sub"), "sub/main.tf": call("b", "./self"), "sub/self": "-> .."},
			modules: []string{".", "sub"},
			escapes: []string{"cycle b . -> sub -> sub/self"},
		},
		{
			name:    "call of a link to nothing",
			files:   map[string]string{"main.tf": call("a", "./link"), "link": "-> gone"},
			modules: []string{"."},
			escapes: []string{"unresolved a link"},
		},
		{
			name:    "call through a file",
			files:   map[string]string{"main.tf": call("a", "./main.tf/x")},
			modules: []string{"."},
			escapes: []string{"unresolved a main.tf/x"},
		},
		{
			name:    "call of a link in a circle",
			files:   map[string]string{"main.tf": call("a", "./link"), "link": "-> link"},
			modules: []string{"."},
			escapes: []string{"unresolved a link"},
		},
		{
			name:    "absolute sources",
			files:   map[string]string{"main.tf": call("a", "/srv/net") + call("b", "file:///srv/net") + call("c", "file::/srv/net") + call("d", "C:/net")},
			modules: []string{"."},
			escapes: []string{"absolute a /srv/net", "absolute b file:///srv/net", "absolute c file::/srv/net", "absolute d C:/net"},
		},
		{
			name:    "bare and refused sources",
			files:   map[string]string{"main.tf": call("a", ".") + call("b", "..") + call("c", "sub") + call("d", ""), "sub/main.tf": child},
			modules: []string{"."},
			escapes: []string{"bare-path a .", "bare-path b ..", "bare-path c sub", "bare-path d "},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := tree(t, tc.files)
			got, err := module.Load(root, module.Options{})
			if err != nil {
				if want := strings.ReplaceAll(tc.err, "ROOT", root); err.Error() != want {
					t.Fatalf("got error %q, want %q", err, want)
				}
				return
			}
			if tc.err != "" {
				t.Fatal("loads")
			}
			for _, r := range module.Runtimes() {
				var dirs []string
				for _, m := range got.Modules(r) {
					dirs = append(dirs, m.Dir)
				}
				if diff := cmp.Diff(tc.modules, dirs); diff != "" {
					t.Errorf("modules of %s (-want +got):\n%s", r, diff)
				}
			}
			var escapes []string
			for _, e := range got.Escapes {
				name := e.Call
				if name == "" {
					name = e.Source
				}
				escapes = append(escapes, fmt.Sprintf("%s %s %s", e.Kind, name, e.Target))
				if len(e.Runtimes) != 2 {
					t.Errorf("%v: not noted for both runtimes: %v", e, e.Runtimes)
				}
				if e.Range.Filename == "" || e.Range.Start.Line == 0 {
					t.Errorf("%v has no place", e)
				}
			}
			if diff := cmp.Diff(tc.escapes, escapes); diff != "" {
				t.Errorf("escapes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnreadableDirectory(t *testing.T) {
	root := tree(t, map[string]string{"main.tf": child})
	for name, tc := range map[string]struct {
		dir, want string
		is        error
	}{
		"missing":   {filepath.Join(root, "gone"), "Unreadable module directory: no such file or directory; name a directory", fs.ErrNotExist},
		"no folder": {filepath.Join(root, "main.tf"), "Unreadable module directory: is not a directory; name a directory", nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := module.Load(tc.dir, module.Options{})
			if err == nil || !strings.HasPrefix(err.Error(), tc.dir+": "+tc.want) {
				t.Errorf("got %v", err)
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("%v does not wrap %v", err, tc.is)
			}
		})
	}
}

func TestUnreadableFile(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	root := tree(t, map[string]string{"main.tf": child})
	if err := os.Chmod(filepath.Join(root, "main.tf"), 0); err != nil {
		t.Fatal(err)
	}
	_, err := module.Load(root, module.Options{})
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "main.tf: Unreadable file: permission denied") {
		t.Errorf("got %v", err)
	}
}

// TestText loads files in odd encodings.
func TestText(t *testing.T) {
	for name, tc := range map[string]struct {
		file, content, want string
	}{
		"byte order mark":             {"main.tf", "\xef\xbb\xbf" + child, ""},
		"carriage returns":            {"main.tf", strings.ReplaceAll(child, "\n", "\r\n"), ""},
		"no line end":                 {"main.tf", strings.TrimSuffix(child, "\n"), ""},
		"empty":                       {"main.tf", "", ""},
		"comments":                    {"main.tf", "# one\n// two\n/* three */\n", ""},
		"Latin-1":                     {"main.tf", "# ok\n# Gr\xfc\xdfe\n", "main.tf:2:5: Invalid character encoding: the file is not in UTF-8; save it as UTF-8"},
		"Latin-1 in JSON":             {"main.tf.json", "{\"//\": \"Gr\xfc\xdfe\"}", "main.tf.json:1:11: Invalid character encoding: the file is not in UTF-8; save it as UTF-8"},
		"UTF-16":                      {"main.tf", "\xff\xfeo\x00", "main.tf:1:1: Invalid character encoding: the file is not in UTF-8; save it as UTF-8"},
		"byte order mark inside":      {"main.tf", child + "\xef\xbb\xbf" + child, "main.tf:4:1: "},
		"byte order mark before JSON": {"main.tf.json", "\xef\xbb\xbf{}", "main.tf.json:1:1: "},
		"NUL":                         {"main.tf", "\x00", "main.tf:1:1: "},
		"archive":                     {"main.tf", "PK\x03\x04", "main.tf:1:1: "},
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, map[string]string{tc.file: tc.content})
			_, err := module.Load(root, module.Options{})
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("got %v", err)
			case tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), placed(root, tc.want))):
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	chain := map[string]string{}
	for i := range 5 {
		chain[fmt.Sprintf("d%d/main.tf", i)] = call("next", fmt.Sprintf("../d%d", i+1))
	}
	chain["main.tf"] = call("first", "./d0")
	chain["d5/main.tf"] = child
	for name, tc := range map[string]struct {
		files map[string]string
		opts  module.Options
		want  string
	}{
		"file size":    {map[string]string{"main.tf": child}, module.Options{MaxFileBytes: 10}, "main.tf: Unreadable file: is larger than 10 bytes"},
		"files":        {map[string]string{"a.tf": "", "b.tf": "", "c.tofu": "", "d.tf": ""}, module.Options{MaxFiles: 2}, "d.tf: Too many files: a module has at most 2 files"},
		"depth":        {chain, module.Options{MaxDepth: 4}, "d3/main.tf:1:1: Modules nested too deeply: local modules may call each other 4 levels deep"},
		"enough depth": {chain, module.Options{MaxDepth: 6}, ""},
		"enough files": {map[string]string{"a.tf": "", "b.tf": ""}, module.Options{MaxFiles: 2}, ""},
		"enough bytes": {map[string]string{"main.tf": child}, module.Options{MaxFileBytes: int64(len(child))}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, tc.files)
			_, err := module.Load(root, tc.opts)
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), placed(root, tc.want))):
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// TestNesting checks that no file makes the parsers recurse without bound, for
// a stack that overflows ends the process.
func TestNesting(t *testing.T) {
	const far = 20_000
	value := func(s string) string { return "output \"x\" {\n  value = " + s + "\n}\n" }
	for name, tc := range map[string]struct {
		file, content string
		deep          bool
	}{
		"parentheses":             {"main.tf", value(strings.Repeat("(", far)), true},
		"lists":                   {"main.tf", value(strings.Repeat("[", far)), true},
		"objects":                 {"main.tf", value(strings.Repeat("{a=", far)), true},
		"blocks":                  {"main.tf", strings.Repeat("a {\n", far), true},
		"calls":                   {"main.tf", value(strings.Repeat("f(", far)), true},
		"negations":               {"main.tf", value(strings.Repeat("!", far)), true},
		"signs":                   {"main.tf", value(strings.Repeat("-", far)), true},
		"sum":                     {"main.tf", value(strings.Repeat("a+", far) + "a"), true},
		"sum over lines":          {"main.tf", value("(" + strings.Repeat("a\n+", far) + "a)"), true},
		"conditions":              {"main.tf", value(strings.Repeat("a ? b : ", far) + "c"), true},
		"indices":                 {"main.tf", value("a" + strings.Repeat("[b]", far)), true},
		"splats":                  {"main.tf", value("a" + strings.Repeat("[*]", far)), true},
		"templates":               {"main.tf", value(strings.Repeat(`"${`, far)), true},
		"directives":              {"main.tf", value(`"` + strings.Repeat("%{if a}", far) + `"`), true},
		"heredoc of directives":   {"main.tf", value("<<X\n" + strings.Repeat("%{for a in b}\n", far) + "X"), true},
		"JSON lists":              {"main.tf.json", strings.Repeat("[", far), true},
		"JSON objects":            {"main.tf.json", strings.Repeat(`{"a":`, far), true},
		"JSON expression":         {"main.tf.json", `{"output":{"x":{"value":"${` + strings.Repeat("(", far) + `}"}}}`, true},
		"JSON sum":                {"main.tf.json", `{"output":{"x":{"value":"${` + strings.Repeat("a+", far) + `a}"}}}`, true},
		"JSON reference":          {"main.tf.json", `{"resource":{"a_b":{"x":{"provider":"` + strings.Repeat("!", far) + `a"}}}}`, true},
		"JSON type":               {"main.tf.json", `{"variable":{"x":{"type":"` + strings.Repeat("list(", far) + `"}}}`, true},
		"a long attribute path":   {"main.tf", value("a" + strings.Repeat(".b", 2000)), false},
		"a long list":             {"main.tf", value("[" + strings.Repeat("1+1, ", 2000) + "]"), false},
		"a long object":           {"main.tf", value("{\n" + strings.Repeat("a = -1\n", 1) + "}"), false},
		"many operators":          {"main.tf", strings.Repeat("# ((((((( ---- ++++\n", 2000), false},
		"brackets in a heredoc":   {"main.tf", value("<<X\n" + strings.Repeat("case ( a - b / c [ {\n", 2000) + "X"), false},
		"brackets in a string":    {"main.tf", value(`"` + strings.Repeat("([{-", 2000) + `"`), false},
		"directives side by side": {"main.tf", value("<<X\n" + strings.Repeat("%{if true}a%{endif}\n", 2000) + "X"), false},
		"brackets in JSON":        {"main.tf.json", `{"output":{"x":{"value":"` + strings.Repeat("([{-", 2000) + `"}}}`, false},
		"as deep as allowed":      {"main.tf", value(strings.Repeat("(", module.MaxNesting-10) + "1" + strings.Repeat(")", module.MaxNesting-10)), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := module.LoadFS(fstest.MapFS{tc.file: {Data: []byte(tc.content)}}, "/m", module.Options{})
			deep := err != nil && strings.Contains(err.Error(), "Too deeply nested: expressions and blocks may nest 1000 levels deep")
			if deep != tc.deep {
				text := fmt.Sprint(err)
				t.Errorf("got %s", text[:min(300, len(text))])
			}
			if !tc.deep && err != nil {
				t.Errorf("does not load: %v", err)
			}
		})
	}
}

// TestLoadFS reads a file system whose links are absolute in another world.
func TestLoadFS(t *testing.T) {
	fsys := fstest.MapFS{
		"main.tf":       {Data: []byte(call("a", "./a") + call("b", "./b"))},
		"a":             {Data: []byte("/captf/module/real"), Mode: fs.ModeSymlink},
		"b":             {Data: []byte("/etc"), Mode: fs.ModeSymlink},
		"real/main.tf":  {Data: []byte(child)},
		"versions.tofu": {Data: []byte("")},
	}
	got, err := module.LoadFS(fsys, "/captf/module", module.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m := got.Primary.Call("a").Module; m == nil || m.Dir != "a" {
		t.Errorf("the absolute link inside is not followed: %v", got.Escapes)
	}
	if len(got.Escapes) != 1 || got.Escapes[0].Kind != module.EscapeOutside || got.Escapes[0].Call != "b" {
		t.Errorf("got escapes %v", got.Escapes)
	}
}

// lockedFS refuses one operation on one directory, as a file system does that
// the user has no rights on; a superuser cannot make one of real directories.
type lockedFS struct {
	fstest.MapFS
	list, stat string
}

func (l lockedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == l.list {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return l.MapFS.ReadDir(name)
}

func (l lockedFS) Lstat(name string) (fs.FileInfo, error) {
	if name == l.stat {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrPermission}
	}
	return l.MapFS.Lstat(name)
}

// TestCalledDirectoryWithoutRights checks that no rights is not "not there".
func TestCalledDirectoryWithoutRights(t *testing.T) {
	files := fstest.MapFS{
		"main.tf":           {Data: []byte("module \"a\" {\n  source = \"./parts/net\"\n}\n")},
		"parts/net/main.tf": {Data: []byte("")},
	}
	for name, fsys := range map[string]lockedFS{
		"the directory": {MapFS: files, list: "parts/net"},
		"the one above": {MapFS: files, stat: "parts/net"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := module.LoadFS(fsys, "/m", module.Options{})
			const want = "main.tf:2:3: Unreadable module directory: reading parts/net: permission denied"
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("error is %v, want %s", err, want)
			}
			if !errors.Is(err, fs.ErrPermission) {
				t.Errorf("the cause is lost: %v", err)
			}
		})
	}
}

// TestLookups checks the small helpers.
func TestLookups(t *testing.T) {
	got, err := module.Load("testdata/valid/overrides", module.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := got.Primary
	if m != got.View(module.Terraform) || m.Runtime.String() != "Terraform" {
		t.Errorf("primary view is %v", m.Runtime)
	}
	v := m.Variable("size")
	if v == nil || m.Variable("gone") != nil || m.Local("a") == nil || m.Output("o") == nil || m.Call("m") == nil ||
		m.Resource("terraform_data.r") == nil || m.Required("terraform") == nil || m.Required("gone") != nil {
		t.Fatal("something is not found by its name")
	}
	if r := v.RangeOf("default"); r.Filename != "b_override.tf" || r.Start.Line != 3 {
		t.Errorf("default is at %v", r)
	}
	if r := v.RangeOf("deprecated"); r != v.DefRange {
		t.Errorf("an argument that is not set is at %v", r)
	}
	if line := got.File("b_override.tf").Line(3); string(line) != "  default = 3" {
		t.Errorf("line is %q", line)
	}
	for _, bad := range []int{-1, 0, 1000} {
		if line := got.File("b_override.tf").Line(bad); line != nil {
			t.Errorf("line %d is %q", bad, line)
		}
	}
	if got.File("gone.tf") != nil {
		t.Error("a file that is not there is found")
	}
	o := m.Output("o")
	if o.JSON() || !module.IsJSON(o.Attr("description").Range) {
		t.Error("the output's syntax is wrong")
	}
}

// TestFeatures checks the table of features, and that each one that a module
// without other providers can use has a case.
func TestFeatures(t *testing.T) {
	all := module.Features()
	if !slices.IsSortedFunc(all, func(a, b module.Feature) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("not sorted by ID")
	}
	seen := map[string]bool{"lifecycle.action_trigger": true}
	for _, group := range []string{"valid", "features"} {
		for _, name := range cases(t, group) {
			got, err := module.Load(caseDir(name), module.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range module.Runtimes() {
				for _, m := range got.Modules(r) {
					for _, use := range m.Features {
						seen[use.ID] = true
					}
				}
			}
		}
	}
	for _, f := range all {
		if !seen[f.ID] {
			t.Errorf("no case uses %s", f.ID)
		}
		if f.Construct == "" || f.Terraform == "" && f.OpenTofu == "" {
			t.Errorf("%s is incomplete", f.ID)
		}
		for _, r := range module.Runtimes() {
			if since := f.Since(r); since != "" && strings.Count(since, ".") != 2 {
				t.Errorf("%s: %q is no version of %s", f.ID, since, r)
			}
		}
	}
}

func TestProviderAddress(t *testing.T) {
	for _, tc := range []struct{ name, source, terraform, tofu string }{
		{"aws", "hashicorp/aws", "registry.terraform.io/hashicorp/aws", "registry.opentofu.org/hashicorp/aws"},
		{"aws", "", "registry.terraform.io/hashicorp/aws", "registry.opentofu.org/hashicorp/aws"},
		{"x", "Example.com/A/B", "example.com/a/b", "example.com/a/b"},
		{"x", "short", "registry.terraform.io/hashicorp/short", "registry.opentofu.org/hashicorp/short"},
		{"terraform", "", "terraform.io/builtin/terraform", "terraform.io/builtin/terraform"},
	} {
		p := &module.RequiredProvider{Name: tc.name, Source: tc.source}
		if got := p.Address(module.Terraform); got != tc.terraform {
			t.Errorf("%v: got %s", tc, got)
		}
		if got := p.Address(module.OpenTofu); got != tc.tofu {
			t.Errorf("%v: got %s", tc, got)
		}
	}
}

// TestSharedModule checks that diamonds do not multiply: 2^24 paths lead to the
// last module.
func TestSharedModule(t *testing.T) {
	files := fstest.MapFS{"main.tf": {Data: []byte(call("a", "./d0") + call("b", "./d0"))}}
	for i := range 24 {
		next := fmt.Sprintf("../d%d", i+1)
		files[fmt.Sprintf("d%d/main.tf", i)] = &fstest.MapFile{Data: []byte(call("a", next) + call("b", next))}
	}
	files["d24/main.tf"] = &fstest.MapFile{Data: []byte(child)}
	got, err := module.LoadFS(files, "/m", module.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(got.Modules(module.OpenTofu)); n != 26 {
		t.Errorf("got %d modules", n)
	}
}

// TestErrorText checks that many problems make a bounded text.
func TestErrorText(t *testing.T) {
	root := tree(t, map[string]string{"main.tf": strings.Repeat("variable \"x\" {}\n", 60)})
	_, err := module.Load(root, module.Options{})
	var le *module.LoadError
	if !errors.As(err, &le) {
		t.Fatalf("got %v", err)
	}
	if len(le.Problems) != 59 || len(le.Files) != 1 {
		t.Errorf("got %d problems, %d files", len(le.Problems), len(le.Files))
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 21 || lines[20] != root+": and 39 more problems" {
		t.Errorf("got %d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}

type brokenFS struct{ fstest.MapFS }

func (brokenFS) ReadDir(string) ([]fs.DirEntry, error) { panic("out of order") }

func TestPanicIsAnError(t *testing.T) {
	_, err := module.LoadFS(brokenFS{}, "/m", module.Options{})
	if want := "/m: Internal error: out of order while reading the directory; please report it together with the module"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// TestReferences checks the helpers of references.
func TestReferences(t *testing.T) {
	got, err := module.Load("testdata/valid/required-providers", module.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if refs := got.Primary.References(); len(refs) != 0 {
		t.Errorf("the iterator of a dynamic block is no reference: %v", refs)
	}
	got, err = module.Load("testdata/valid/local-modules", module.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var tags []module.Reference
	for _, ref := range got.Primary.References() {
		if ref.Is("var", "tags") {
			tags = append(tags, ref)
		}
	}
	if len(tags) != 1 || tags[0].Owner.Argument() != "tags" || tags[0].Owner.Call.Module.Dir != "modules/net" || tags[0].Name() != "tags" {
		t.Errorf("got %v", tags)
	}
	if n := len(got.Primary.Call("net").Body.HCL()); n != 1 {
		t.Errorf("the call's body has %d parts", n)
	}
	if (module.Owner{}).Argument() != "" || (module.Reference{}).Name() != "" {
		t.Error("zero values have names")
	}
}

// placed puts the root before the file of a message.
func placed(root, want string) string {
	file, rest, _ := strings.Cut(want, ":")
	return filepath.Join(root, file) + ":" + rest
}

func TestImportsOfACalledModule(t *testing.T) {
	fsys := fstest.MapFS{
		"main.tf":   {Data: []byte("module \"m\" {\n  source = \"./m\"\n}\n")},
		"m/main.tf": {Data: []byte("resource \"terraform_data\" \"a\" {}\n\nimport {\n  to = terraform_data.a\n  id = \"a\"\n}\n")},
	}
	tree, err := module.LoadFS(fsys, "/m", module.Options{})
	if err != nil {
		t.Fatal(err)
	}
	imports := tree.Primary.Call("m").Module.Imports
	if len(imports) != 1 || imports[0].DefRange.Filename != "m/main.tf" || imports[0].DefRange.Start.Line != 3 {
		t.Errorf("imports are %+v", imports)
	}
}
