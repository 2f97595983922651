package build_test

import (
	"bytes"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/build"
)

// fakeRuntime writes an executable for an architecture that has headers and
// nothing to run.
func fakeRuntime(t testing.TB, arch string) string {
	t.Helper()
	machine := map[string]uint16{"amd64": 62, "arm64": 183}[arch]
	var b bytes.Buffer
	b.Write([]byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	for _, field := range []any{
		uint16(2), machine, uint32(1), uint64(0), uint64(0), uint64(0), uint32(0), uint16(64), uint16(0), uint16(0), uint16(0), uint16(0), uint16(0),
	} {
		if err := binary.Write(&b, binary.LittleEndian, field); err != nil {
			t.Fatal(err)
		}
	}
	b.WriteString("not a real runtime for " + arch)
	path := filepath.Join(t.TempDir(), "tofu")
	if err := os.WriteFile(path, b.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// writeModule writes files; a name that ends in a slash is a directory.
func writeModule(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var (
	amd64 = image.Platform{OS: "linux", Arch: "amd64"}
	arm64 = image.Platform{OS: "linux", Arch: "arm64"}
)

// options are those of a build that works.
func options(t testing.TB, dir string) build.Options {
	return build.Options{
		Dir: dir, Role: contract.RoleMachine, Contract: "v1alpha1", Runtime: image.OpenTofu, RuntimeVersion: "1.12.6",
		Binaries: map[image.Platform]string{amd64: fakeRuntime(t, "amd64"), arm64: fakeRuntime(t, "arm64")},
		Mirror:   build.MirrorNone, TempDir: t.TempDir(), Progress: func(line string) { t.Log(line) },
	}
}

func mustBuild(t testing.TB, o build.Options) *build.Result {
	t.Helper()
	r, err := build.Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

const noop = "../../modules/noop/machine"

func TestBuild(t *testing.T) {
	o := options(t, noop)
	o.Capacity, o.NodeInfo = `{"cpu":"4"}`, `{"architecture":"amd64"}`
	o.About = build.About{Title: "no-op machine", Version: "v1.2.3"}
	r := mustBuild(t, o)
	if err := validate.Index(r.Index); err != nil {
		t.Errorf("the index is not valid: %v", err)
	}
	index, err := r.Index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	wantAnnotations := map[string]string{
		"org.opencontainers.image.created": "1970-01-01T00:00:00Z", "org.opencontainers.image.title": "no-op machine", "org.opencontainers.image.version": "v1.2.3",
	}
	if diff := cmp.Diff(wantAnnotations, index.Annotations); diff != "" {
		t.Errorf("annotations of the index (-want +got):\n%s", diff)
	}
	wantLabels := map[string]string{
		"io.captf.contract": "v1alpha1", "io.captf.role": "machine", "io.captf.runtime": "tofu", "io.captf.runtime.version": "1.12.6",
		"io.captf.capacity": `{"cpu":"4"}`, "io.captf.node-info": `{"architecture":"amd64"}`,
	}
	maps.Copy(wantLabels, wantAnnotations)
	var platforms []string
	var last []v1.Descriptor
	for _, d := range index.Manifests {
		platforms = append(platforms, d.Platform.String())
		img, err := r.Index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantLabels, config.Config.Labels); diff != "" {
			t.Errorf("%s: labels (-want +got):\n%s", d.Platform, diff)
		}
		if config.Config.User != "65532:65532" || config.Config.WorkingDir != "/captf" || len(config.Config.Entrypoint) > 0 || len(config.Config.Cmd) > 0 {
			t.Errorf("%s: config is %+v", d.Platform, config.Config)
		}
		if !config.Created.IsZero() && config.Created.Unix() != 0 {
			t.Errorf("%s: created at %s", d.Platform, config.Created)
		}
		m, err := img.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantAnnotations, m.Annotations); diff != "" {
			t.Errorf("%s: annotations (-want +got):\n%s", d.Platform, diff)
		}
		for _, l := range m.Layers {
			if l.Annotations["containerd.io/snapshot/stargz/toc.digest"] == "" {
				t.Errorf("%s: layer %s has no table of contents", d.Platform, l.Digest)
			}
		}
		last = append(last, m.Layers[len(m.Layers)-1])
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(last[0], last[1]); diff != "" {
		t.Errorf("the module layer differs between platforms:\n%s", diff)
	}
}
