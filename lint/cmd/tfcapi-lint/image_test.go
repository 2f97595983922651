package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/images/build"
	"github.com/captf-toolkit/captf/images/imagetest"
)

// noopImage builds an image of the no-op machine.
func noopImage(t testing.TB, edit func(*build.Options)) string {
	t.Helper()
	return imagetest.Layout(t, filepath.Join(noopModules, "machine"), contract.RoleMachine, edit)
}

// push copies the layout to a registry and returns the reference there.
func push(t testing.TB, host, ref string) string {
	t.Helper()
	to, err := name.ParseReference(host + "/modules/machine:v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(to, index(t, ref)); err != nil {
		t.Fatal(err)
	}
	return to.String()
}

func lintImage(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(append([]string{"image", "--cache-dir", t.TempDir()}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

func TestImageCommand(t *testing.T) {
	ref := noopImage(t, nil)
	inRegistry := push(t, imagetest.Registry(t), ref)
	for _, tc := range []struct {
		name string
		args []string
		code int
		want string // in either stream
	}{
		{"layout", []string{"--role", "machine", "--strict", "--all-platforms", ref}, exitClean, "0 error(s), 0 warning(s)"},
		{"registry", []string{inRegistry, "--role", "machine", "--strict", "--all-platforms"}, exitClean, "linux/amd64, linux/arm64"},
		{"default platform", []string{"--role", "machine", ref}, exitClean, "(linux/amd64)"},
		{"one platform", []string{"--role", "machine", "--platform", "linux/arm64", ref}, exitClean, "(linux/arm64)"},
		{"whole layers", []string{"--role", "machine", "--read-all-layers", ref}, exitClean, "0 error(s)"},
		{"verbose", []string{"--role", "machine", "-v", inRegistry}, exitClean, "by their table of contents"},
		{"other role", []string{"--role", "cluster", ref}, exitFindings, "image/label-role"},
		{"other platform", []string{"--role", "machine", "--platform", "linux/s390x", ref}, exitFindings, "image/platform"},
		{"no image", []string{"--role", "machine"}, exitUsage, "the image to check is missing"},
		{"two images", []string{"--role", "machine", ref, ref}, exitUsage, "one image is expected"},
		{"no role", []string{ref}, exitUsage, "--role is missing"},
		{"bad reference", []string{"--role", "machine", "UPPER:case:tag"}, exitUsage, "reference"},
		{"bad platform", []string{"--role", "machine", "--platform", "amd64", ref}, exitUsage, "--platform"},
		{"platform and all", []string{"--role", "machine", "--platform", "linux/amd64", "--all-platforms", ref}, exitUsage, "exclude each other"},
		{"unknown allowed", []string{"--role", "machine", "--allow-warning", "image/user", ref}, exitUsage, "image/user"},
		{"not there", []string{"--role", "machine", "oci:" + t.TempDir() + "/none"}, exitUnreadable, "none"},
		{"no such tag", []string{"--role", "machine", strings.TrimSuffix(inRegistry, "v1") + "v2"}, exitUnreadable, "v2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := lintImage(t, tc.args...)
			if code != tc.code {
				t.Errorf("exit %d, want %d", code, tc.code)
			}
			if !strings.Contains(stdout+stderr, tc.want) {
				t.Errorf("output lacks %q", tc.want)
			}
			if t.Failed() {
				t.Logf("stdout:\n%s\nstderr:\n%s", stdout, stderr)
			}
		})
	}
}

// TestImageStrictAndAllowed: a warning fails only with --strict, and not when it
// is allowed.
func TestImageStrictAndAllowed(t *testing.T) {
	ref := noopImage(t, func(o *build.Options) { o.VariablesSchema = `{"type":"object"}` })
	for _, tc := range []struct {
		args []string
		code int
	}{
		{nil, exitClean},
		{[]string{"--strict"}, exitFindings},
		{[]string{"--strict", "--allow-warning", "image/schema-drift"}, exitClean},
		// A list of allowed warnings serves both commands.
		{[]string{"--strict", "--allow-warning", "image/schema-drift,input/user-variable-default"}, exitClean},
	} {
		if code, stdout, stderr := lintImage(t, append(tc.args, "--role", "machine", ref)...); code != tc.code {
			t.Errorf("%v: exit %d, want %d\n%s%s", tc.args, code, tc.code, stdout, stderr)
		}
	}
}

func TestImageJSON(t *testing.T) {
	ref := noopImage(t, nil)
	code, stdout, stderr := lintImage(t, "--role", "cluster", "--all-platforms", "--json", ref)
	if code != exitFindings {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var report struct {
		Findings []struct{ ID, Severity, File, Message, Platform string }
		Summary  struct{ Error int }
		Image    struct{ Reference, Digest, Platform string }
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatal(err)
	}
	if report.Image.Reference != ref || !strings.HasPrefix(report.Image.Digest, "sha256:") || report.Image.Platform != "linux/amd64,linux/arm64" {
		t.Errorf("image: %+v", report.Image)
	}
	platforms := map[string]int{}
	for _, f := range report.Findings {
		platforms[f.Platform]++
		if strings.Contains(f.Message, f.Platform) && f.ID == "image/label-role" {
			t.Errorf("the message repeats the platform: %q", f.Message)
		}
		if f.File != "-" && !strings.HasPrefix(f.File, "/") {
			t.Errorf("%s: the file %q is no path of the image", f.ID, f.File)
		}
	}
	if len(platforms) != 2 || platforms["linux/amd64"] != platforms["linux/arm64"] || report.Summary.Error == 0 {
		t.Errorf("findings by platform: %v, summary %+v", platforms, report.Summary)
	}
}

// TestImageUnreadableModule: a module that no runtime can read is no clean result.
func TestImageUnreadableModule(t *testing.T) {
	for _, format := range []string{"text", "json", "sarif", "github", "junit"} {
		ref := brokenImage(t)
		code, stdout, stderr := lintImage(t, "--role", "machine", "--output", format, ref)
		if code != exitUnreadable || !strings.Contains(stdout+stderr, "/captf/module/broken.tf") {
			t.Errorf("%s: exit %d\n%s%s", format, code, stdout, stderr)
		}
	}
}

// TestImageFormats: every format tells a finding about a path that has no lines.
func TestImageFormats(t *testing.T) {
	ref := noopImage(t, func(o *build.Options) { o.VariablesSchema = `{"type":"object"}` })
	for _, format := range []string{"text", "sarif", "github", "junit"} {
		code, stdout, stderr := lintImage(t, "--role", "machine", "--strict", "--output", format, ref)
		if code != exitFindings || !strings.Contains(stdout, "image/schema-drift") {
			t.Errorf("%s: exit %d\n%s%s", format, code, stdout, stderr)
		}
		if strings.Contains(stdout, `"startLine": 0`) {
			t.Errorf("%s: a region without a line", format)
		}
	}
}

// index opens the image in a layout.
func index(t testing.TB, ref string) v1.ImageIndex {
	t.Helper()
	l, err := layout.FromPath(strings.TrimPrefix(ref, "oci:"))
	if err != nil {
		t.Fatal(err)
	}
	root, err := l.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	m, err := root.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	out, err := root.ImageIndex(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// brokenImage is an image whose module has a file that cannot be parsed: our own
// builder refuses to make one.
func brokenImage(t testing.TB) string {
	t.Helper()
	from := index(t, noopImage(t, nil))
	m, err := from.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	img, err := from.Image(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	const broken = "variable \"a\" {\n"
	if err := w.WriteHeader(&tar.Header{Name: "captf/module/broken.tf", Mode: 0o644, Size: int64(len(broken))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(broken)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	if img, err = mutate.AppendLayers(img, layer); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "broken")
	out, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.AppendImage(img); err != nil {
		t.Fatal(err)
	}
	return "oci:" + dir
}
