package main

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/images/inspect"
)

// fakeRuntimes writes executables for both platforms that have headers and
// nothing to run.
func fakeRuntimes(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, machine := range []uint16{62, 183} { // x86-64 and AArch64
		raw := make([]byte, 64, 100)
		copy(raw, "\x7fELF\x02\x01\x01")
		binary.LittleEndian.PutUint16(raw[16:], 2)
		binary.LittleEndian.PutUint16(raw[18:], machine)
		binary.LittleEndian.PutUint32(raw[20:], 1)
		binary.LittleEndian.PutUint16(raw[52:], 64)
		path := filepath.Join(t.TempDir(), "tofu")
		if err := os.WriteFile(path, append(raw, "no real runtime"...), 0o755); err != nil {
			t.Fatal(err)
		}
		out = append(out, "--runtime", path)
	}
	return append(out, "--runtime-kind", "tofu", "--runtime-version", "1.12.6")
}

func registryHost(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// lastLine is the last line of an output.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	return lines[len(lines)-1]
}

// must runs a command line that has to work.
func must(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := captf(t, args...)
	if code != exitOK {
		t.Fatalf("captf %s: exit %d\n%s", strings.Join(args, " "), code, stderr)
	}
	return stdout, stderr
}

const noopMachine = "../../../modules/noop/machine"

// TestImageRoundTrip builds into a layout, an archive and a registry, publishes,
// and compares what another client pulls.
func TestImageRoundTrip(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	host, dir := registryHost(t), t.TempDir()
	layout, archive := "oci:"+filepath.Join(dir, "out")+":v1.0.0", "tarball:"+filepath.Join(dir, "out.tar")
	args := append([]string{"image", "build", "--role", "machine", "--capacity", `{"cpu":"4"}`, "--title", "no-op", "--verbose",
		"--to", layout, "--to", archive, "--to", host + "/direct:v1.0.0", "--tag", "v1.0"}, fakeRuntimes(t)...)
	stdout, stderr := must(t, append(args, noopMachine)...)
	digest := lastLine(stdout)
	if !regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(digest) {
		t.Fatalf("the last line is %q", digest)
	}
	for _, want := range []string{"left out tests/ (test)", "wrote the layer with the module", "wrote " + layout} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr does not say %q:\n%s", want, stderr)
		}
	}
	stdout, _ = must(t, "image", "publish", layout, host+"/one:v1.0.0", host+"/two:v1")
	if lastLine(stdout) != digest {
		t.Errorf("published %s, want %s", lastLine(stdout), digest)
	}
	stdout, _ = must(t, "image", "publish", "--output", "json", archive, host+"/three:v1")
	var published publishResult
	if err := json.Unmarshal([]byte(stdout), &published); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{host + "/three:v1"}, published.Tags); diff != "" || published.Digest != digest {
		t.Errorf("published %+v", published)
	}
	stdout, _ = must(t, "image", "publish", host+"/three:v1", host+"/four:v1")
	if lastLine(stdout) != digest {
		t.Errorf("copied %s, want %s", lastLine(stdout), digest)
	}
	for _, ref := range []string{"/direct:v1.0.0", "/direct:v1.0", "/one:v1.0.0", "/two:v1", "/three:v1", "/four:v1"} {
		if got, err := crane.Digest(host + ref); err != nil || got != digest {
			t.Errorf("%s is %s, error %v", ref, got, err)
		}
	}
	tag, err := name.NewTag(host + "/four:v1")
	if err != nil {
		t.Fatal(err)
	}
	idx, err := remote.Index(tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(idx); err != nil {
		t.Error(err)
	}
	config, err := crane.Config(host + "/four:v1")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"io.captf.role":"machine"`, `"io.captf.capacity":"{\"cpu\":\"4\"}"`, `"created":"2023-11-14T22:13:20Z"`, "io.captf.variables-schema"} {
		if !strings.Contains(string(config), want) {
			t.Errorf("the config has no %s:\n%s", want, config)
		}
	}

	// Labels change where the image is.
	for _, ref := range []string{layout, host + "/four:v1"} {
		stdout, _ = must(t, "image", "label", "--set", `io.captf.capacity={"cpu":"8"}`, "--remove", "org.opencontainers.image.title", ref)
		changed := lastLine(stdout)
		stdout, _ = must(t, "image", "inspect", "--output", "json", ref)
		var report inspect.Report
		if err := json.Unmarshal([]byte(stdout), &report); err != nil {
			t.Fatal(err)
		}
		if report.Digest != changed || changed == digest || len(report.Platforms) != 2 || report.Annotations["org.opencontainers.image.title"] != "" {
			t.Errorf("%s: the report is %+v", ref, report)
		}
		for _, p := range report.Platforms {
			if p.Labels.Capacity["cpu"] != "8" || len(p.Problems) > 0 || len(p.Module) != 9 || p.Runtime == nil {
				t.Errorf("%s: %s is %+v", ref, p.Platform, p)
			}
		}
	}
}

func TestImageInspectText(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "0")
	out, module := filepath.Join(t.TempDir(), "out"), t.TempDir()
	for name, text := range map[string]string{
		"main.tf": "variable \"size\" {\n  type = string\n}\n\nvariable \"disks\" {\n  type    = list(number)\n  default = []\n}\n", "notes.txt": "x",
	} {
		if err := os.WriteFile(filepath.Join(module, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("notes.txt", filepath.Join(module, "link.txt")); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"image", "build", "--role", "machine", "--no-lint", "--capacity", `{"memory":"16Gi","cpu":"4"}`,
		"--node-info", `{"architecture":"amd64"}`, "--label", "com.example.team=x\x1b", "--to", "oci:" + out}, fakeRuntimes(t)...)
	must(t, append(args, module)...)
	stdout, _ := must(t, "image", "inspect", "oci:"+out)
	stdout = strings.ReplaceAll(stdout, out, "DIR")
	stdout = regexp.MustCompile(`sha256:[0-9a-f]{64}`).ReplaceAllString(stdout, "sha256:DIGEST")
	stdout = regexp.MustCompile(`[0-9.]+ KiB`).ReplaceAllString(stdout, "SIZE KiB") // that of what is compressed
	golden.Assert(t, "testdata/image/inspect.txt", []byte(stdout))
}

func TestImageBuildRefusesFindings(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "")
	module, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(filepath.Join(module, "main.tf"), []byte("# no contract\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"image", "build", "--role", "machine", "--to", "oci:" + out}, fakeRuntimes(t)...)
	code, stdout, stderr := captf(t, append(args, module)...)
	if code != exitFailed || stdout != "" || !strings.Contains(stderr, "input/required") || !strings.Contains(stderr, "--no-lint") {
		t.Errorf("exit %d, stdout %q, stderr\n%s", code, stdout, stderr)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("an image was written")
	}
	stdout, _ = must(t, append(args, "--no-lint", "--no-schema", "--output", "json", module)...)
	var result buildResult
	if err := json.Unmarshal([]byte(stdout), &result); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"main.tf"}, result.Files); diff != "" || len(result.Platforms) != 2 || result.Labels["io.captf.variables-schema"] != "" {
		t.Errorf("the result is %+v", result)
	}
}

func TestImageCommandsUsage(t *testing.T) {
	runtimes := fakeRuntimes(t)
	build := func(args ...string) []string {
		return append(append([]string{"image", "build", "--role", "machine", "--no-lint"}, runtimes...), args...)
	}
	for _, tt := range []struct {
		name  string
		args  []string
		epoch string
		want  string
	}{
		{"no role", []string{"image", "build", "--to", "oci:x", "."}, "", "--role is missing"},
		{"no destination", build(noopMachine), "", "--to is missing"},
		{"no path", build("--to", "oci:", noopMachine), "", "names no path"},
		{"layout that is none", build("--to", "oci:.", noopMachine), "", "is no OCI layout"},
		{"no tag", build("--to", "ghcr.io/o/m", noopMachine), "", "has no tag"},
		{"tag without registry", build("--to", "oci:x", "--tag", "v1", noopMachine), "", "goes with a registry"},
		{"bad tag", build("--to", "ghcr.io/o/m:v1", "--tag", "a b", noopMachine), "", "parsing --tag"},
		{"bad time", build("--to", "oci:x", noopMachine), "yesterday", "SOURCE_DATE_EPOCH"},
		{"bad platform", build("--to", "oci:x", "--platform", "amd64", noopMachine), "", "os/arch"},
		{"two mirrors", build("--to", "oci:x", "--mirror", "m", "--no-mirror", noopMachine), "", "exclude each other"},
		{"bad capacity", build("--to", "oci:x", "--capacity", "4", noopMachine), "", "io.captf.capacity"},
		{"bad label", build("--to", "oci:x", "--label", "x", noopMachine), "", "KEY=VALUE"},
		{"two labels", build("--to", "oci:x", "--label", "x=1", "--label", "x=2", noopMachine), "", "given twice"},
		{"runtime twice", append(build("--to", "oci:x"), runtimes[0], runtimes[1], noopMachine), "", "are both for linux/amd64"},
		{"bad runtime", build("--to", "oci:x", "--runtime", "image_test.go", noopMachine), "", "image_test.go"},
		{"bad level", build("--to", "oci:x", "--compression-level", "10", noopMachine), "", "1 to 9"},
		{"bad jobs", build("--to", "oci:x", "--jobs", "0", noopMachine), "", "--jobs"},
		{"publish nothing", []string{"image", "publish", "oci:x"}, "", "at least one tag"},
		{"publish to a layout", []string{"image", "publish", "oci:x", "oci:y"}, "", "registry/repository:tag"},
		{"publish a path", []string{"image", "publish", "./x", "ghcr.io/o/m:v1"}, "", "oci:DIR"},
		{"label nothing", []string{"image", "label", "oci:x"}, "", "nothing to change"},
		{"label wrong", []string{"image", "label", "--set", "io.captf.role=node", "oci:x"}, "", "must be one of"},
		{"inspect what", []string{"image", "inspect"}, "", "one image is needed"},
		{"inspect platform", []string{"image", "inspect", "--platform", "x", "oci:x"}, "", "os/arch"},
		{"inspect format", []string{"image", "inspect", "--output", "yaml", "oci:x"}, "", "text, json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("SOURCE_DATE_EPOCH", tt.epoch)
			code, stdout, stderr := captf(t, tt.args...)
			if code != exitUsage || stdout != "" || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit %d, stdout %q, stderr %q, want %q", code, stdout, stderr, tt.want)
			}
		})
	}
	if _, err := os.Stat("x"); err == nil {
		t.Error("a wrong command line wrote something")
	}
}

func TestImageCommandsErrors(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "")
	for _, args := range [][]string{
		{"image", "publish", "oci:" + t.TempDir(), "localhost:1/m:v1"},
		{"image", "inspect", "oci:" + filepath.Join(t.TempDir(), "none")},
		{"image", "label", "--set", "a=b", registryHost(t) + "/none:v1"},
		{"image", "build", "--role", "machine", "--platform", "linux/s390x", "--base", "oci:none", "--to", "oci:x", noopMachine},
	} {
		code, stdout, stderr := captf(t, args...)
		if code != exitError || stdout != "" || !strings.Contains(stderr, "Error: ") {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}
