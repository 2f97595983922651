package image_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/contract/image"
)

// TestMirrors parses the file list of each folder and compares with mirror.json.
func TestMirrors(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join("testdata", "mirrors", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join(dir, "files.txt"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(image.ParseMirror(strings.Fields(string(b))), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden.Assert(t, filepath.Join(dir, "mirror.json"), append(got, '\n'))
		})
	}
}

func TestMirrorFind(t *testing.T) {
	m := image.ParseMirror([]string{
		"registry.example/acme/cloud/terraform-provider-cloud_1.2.0_linux_amd64.zip",
		"registry.example/acme/cloud/1.3.0/linux_amd64/terraform-provider-cloud",
		"registry.example/acme/cloud/1.3.0/linux_arm64/terraform-provider-cloud",
		"registry.example/acme/cloud/2.0.0-beta1/linux_amd64/terraform-provider-cloud",
	})
	amd := image.DefaultPlatform()
	for _, tc := range []struct {
		provider, constraint string
		on                   image.Platform
		want                 int
	}{
		{"registry.example/acme/cloud", "", amd, 3},
		{"registry.example/acme/cloud", "= 1.2.0", amd, 1},
		{"registry.example/acme/cloud", "1.2.0", amd, 1},
		{"registry.example/acme/cloud", "~> 1.2", amd, 2},
		{"registry.example/acme/cloud", ">= 1.0, != 1.2.0", amd, 1},
		{"registry.example/acme/cloud", "2.0.0-beta1", amd, 1},
		{"registry.example/acme/cloud", ">= 3", amd, 0},
		{"registry.example/acme/cloud", "1.2.0", image.Platform{OS: "linux", Arch: "arm64"}, 0},
		{"registry.example/acme/other", "", amd, 0},
		{"other.example/acme/cloud", "", amd, 0},
	} {
		got, err := m.Find(tc.provider, tc.constraint, tc.on)
		if err != nil || len(got) != tc.want {
			t.Errorf("%s %q on %s: got %v, %v; want %d packages", tc.provider, tc.constraint, tc.on, got, err, tc.want)
		}
	}
	if _, err := m.Find("registry.example/acme/cloud", "about 1", amd); err == nil {
		t.Error("a constraint that cannot be parsed gives no error")
	}
	if !image.Builtin("terraform.io/builtin/terraform") || image.Builtin("registry.example/acme/cloud") {
		t.Error("only the providers of the runtimes are built in")
	}
}
