package build_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/images/build"
)

const (
	cert = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	key  = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
)

func TestWhatShips(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		links map[string]string
		want  []string
		left  map[string]string
	}{
		{
			name: "clutter",
			files: map[string]string{
				"main.tf": "", "templates/init.tftpl": "x", "LICENSE": "x", "ca.pem": cert, "bin/run.sh": "#!/bin/sh\n",
				"terraform.tfstate": "{}", "terraform.tfstate.backup": "{}", ".terraform/modules/modules.json": "{}", ".terraform.lock.hcl": "",
				"tests/a.tftest.hcl": "", "b.tftest.hcl": "", ".git/config": "", ".github/workflows/ci.yaml": "", "prod.tfvars": "x = 1", ".env": "A=1",
				"server.pem": key, "sa.json": `{"private_key":"` + strings.ReplaceAll(key, "\n", `\n`) + `"}`, ".ssh/id_ed25519": key, "README.md": "", "sub/README": "", "crash.log": "",
			},
			want: []string{"LICENSE", "bin/run.sh", "ca.pem", "main.tf", "templates/init.tftpl"},
			left: map[string]string{
				"terraform.tfstate": "state", "terraform.tfstate.backup": "state", ".terraform/": "cache", ".terraform.lock.hcl": "lock file",
				"tests/": "test", "b.tftest.hcl": "test", ".git/": "version control", ".github/": "version control", "prod.tfvars": "credential",
				".env": "credential", "server.pem": "credential", "sa.json": "credential", ".ssh/": "credential", "README.md": "documentation",
				"sub/README": "documentation", "crash.log": "state",
			},
		},
		{
			name: "ignore file",
			files: map[string]string{
				"main.tf": "", ".dockerignore": "# what we do not need\nexamples\n**/*.bak\n!keep.bak\nterraform.tfstate\n!README.md\n",
				"examples/a/main.tf": "", "x.bak": "", "sub/x.bak": "", "sub/y.txt": "", "keep.bak": "", "README.md": "",
			},
			want: []string{"keep.bak", "main.tf", "sub/y.txt"},
			left: map[string]string{
				".dockerignore": "tool configuration", "README.md": "documentation", "examples/a/main.tf": ".dockerignore", "sub/x.bak": ".dockerignore", "x.bak": ".dockerignore",
			},
		},
		{
			name:  "ignored directory",
			files: map[string]string{"main.tf": "", ".dockerignore": "big/\n", "big/a": "", "big/b": ""},
			want:  []string{"main.tf"},
			left:  map[string]string{".dockerignore": "tool configuration", "big/": ".dockerignore"},
		},
		{
			name:  "local modules and links",
			files: map[string]string{"main.tf": "module \"net\" {\n  source = \"./modules/net\"\n}\n", "modules/net/main.tf": "", "data/a.txt": "x"},
			links: map[string]string{"modules/net/a.txt": "../../data/a.txt", "data/dir": "../modules"},
			want:  []string{"data/a.txt", "data/dir", "main.tf", "modules/net/a.txt", "modules/net/main.tf"},
			left:  map[string]string{},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := writeModule(t, tt.files)
			for name, target := range tt.links {
				if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
					t.Fatal(err)
				}
			}
			r := mustBuild(t, options(t, dir))
			if diff := cmp.Diff(tt.want, r.Files); diff != "" {
				t.Errorf("what ships (-want +got):\n%s", diff)
			}
			left := map[string]string{}
			for _, l := range r.LeftOut {
				left[l.Path] = l.Why
			}
			if diff := cmp.Diff(tt.left, left); diff != "" {
				t.Errorf("what is left out (-want +got):\n%s", diff)
			}
		})
	}
}

func TestModulesThatCannotShip(t *testing.T) {
	main := map[string]string{"main.tf": ""}
	for _, tt := range []struct {
		name   string
		files  map[string]string
		change func(t *testing.T, dir string, o *build.Options)
		want   string
	}{
		{"no module", map[string]string{"notes.txt": ""}, nil, "no"},
		{"local module outside", map[string]string{"main.tf": "module \"net\" {\n  source = \"../net\"\n}\n"}, nil, `main.tf:2: module "net" is at ../net, outside the module directory`},
		{"missing local module", map[string]string{"main.tf": "module \"net\" {\n  source = \"./net\"\n}\n"}, nil, `module "net" cannot be called`},
		{"ignored local module", map[string]string{"main.tf": "module \"net\" {\n  source = \"./net\"\n}\n", "net/main.tf": "", ".dockerignore": "net\n"}, nil, "net/main.tf is part of the module but does not ship (net/: .dockerignore)"},
		{"local module among tests", map[string]string{"main.tf": "module \"net\" {\n  source = \"./tests/net\"\n}\n", "tests/net/main.tf": ""}, nil, "does not ship (tests/: test)"},
		{"link out", main, link("../secret", "a.txt"), "a.txt leads to ../secret, which is not in the module directory"},
		{"absolute link out", main, link("/etc/passwd", "a.txt"), "a.txt leads to /etc/passwd, which is not in the module directory"},
		{"link through a link out", main, func(t *testing.T, dir string, _ *build.Options) {
			link("..", "up")(t, dir, nil)
			link("up/x", "a.txt")(t, dir, nil)
		}, "not in the module directory"},
		{"dangling link", main, link("nothing", "a.txt"), "a.txt leads nowhere"},
		{"link to what does not ship", map[string]string{"main.tf": "", "README.md": ""}, link("README.md", "a.txt"), "which does not ship (README.md: documentation)"},
		{"link in a circle", main, link("a.txt", "a.txt"), "a.txt leads nowhere"},
		{"pipe", main, func(t *testing.T, dir string, _ *build.Options) {
			if err := syscall.Mkfifo(filepath.Join(dir, "p"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "p is a named pipe"},
		{"control character", main, func(t *testing.T, dir string, _ *build.Options) {
			if err := os.WriteFile(filepath.Join(dir, "a\nb"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "cannot be used on every machine"},
		{"large file", map[string]string{"main.tf": "", "big.bin": strings.Repeat("x", 1001)}, func(_ *testing.T, _ string, o *build.Options) { o.MaxFile = 1000 }, "big.bin has 1001 B, more than the 1000 B that are allowed"},
		{"key in a template", map[string]string{"main.tf": "", "templates/a.tftpl": "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA0123456789\n"}, nil, "/templates/a.tftpl holds a credential"},
		{"state under another name", map[string]string{"main.tf": "", "prod.json": `{"terraform_version":"1.12.6","serial":1,"lineage":"a"}`}, nil, "/prod.json holds a state"},
		{"whiteout", map[string]string{"main.tf": "", "data/.wh.foo": ""}, nil, "/data/.wh.foo cannot be used on every machine"},
		{"opaque whiteout", map[string]string{"main.tf": "", ".wh..wh..opq": ""}, nil, "/.wh..wh..opq cannot be used on every machine"},
		{"directory named like a whiteout", map[string]string{"main.tf": "", ".wh.foo/a.txt": ""}, nil, "/.wh.foo cannot be used on every machine"},
		{"link named like a whiteout", main, link("main.tf", ".wh.foo"), "/.wh.foo cannot be used on every machine"},
		{"broken ignore file", map[string]string{"main.tf": "", ".dockerignore": "[\n"}, nil, ".dockerignore"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := writeModule(t, tt.files)
			o := options(t, dir)
			if tt.change != nil {
				tt.change(t, dir, &o)
			}
			r, err := build.Build(t.Context(), o)
			if err == nil {
				t.Fatalf("it was built: %v", r.Files)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one that says %q", err, tt.want)
			}
			left, err := os.ReadDir(o.TempDir)
			if err != nil || len(left) > 0 {
				t.Errorf("%v is left in the scratch directory, error %v", left, err)
			}
		})
	}
}

func link(target, name string) func(t *testing.T, dir string, _ *build.Options) {
	return func(t *testing.T, dir string, _ *build.Options) {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAbsoluteLinkInside makes sure that a link by an absolute path means the
// same in the image.
func TestAbsoluteLinkInside(t *testing.T) {
	dir := writeModule(t, map[string]string{"main.tf": "", "sub/data/a.txt": "x", "sub/b": ""})
	link(filepath.Join(dir, "sub/data/a.txt"), "sub/link")(t, dir, nil)
	files := listLayer(t, mustBuild(t, options(t, dir)), "module")
	if got := files["captf/module/sub/link"]; got != "link 0777 65532:65532 -> data/a.txt" {
		t.Errorf("the link is %q", got)
	}
}
