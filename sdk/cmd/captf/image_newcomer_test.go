package main

import (
	"archive/tar"
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/build"
	"github.com/captf-toolkit/captf/images/imagetest"
)

// TestImageInModule makes sure that no image is written to where the next one
// would hold it.
func TestImageInModule(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "")
	dir := t.TempDir()
	module := filepath.Join(dir, "m")
	if err := os.CopyFS(module, os.DirFS(noopMachine)); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": module, "inside": filepath.Join(module, "modules")} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(module, "modules"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	runtimes := fakeRuntimes(t)
	for _, tt := range []struct{ to, dir string }{
		{"oci:m/out", "m"}, {"oci:m/out:v1", "m"}, {"tarball:m/out.tar", "./m"}, {"oci:" + module + "/a/b", "m"},
		{"oci:link/out", "m"}, {"oci:m/out", "link"}, {"tarball:inside/out.tar", "m"}, {"oci:m/../link/new/out", "m"},
	} {
		args := append([]string{"image", "build", "--role", "machine", "--no-lint", "--to", tt.to}, runtimes...)
		code, _, stderr := captf(t, append(args, tt.dir)...)
		if code != exitUsage || !strings.Contains(stderr, "is in the module directory "+tt.dir) {
			t.Errorf("%s, %s: exit %d\n%s", tt.to, tt.dir, code, stderr)
		}
	}
	// One whose name begins with that of the module is elsewhere.
	must(t, append(append([]string{"image", "build", "--role", "machine", "--to", "oci:m-out"}, runtimes...), "m")...)
}

// TestImageSeveral makes sure that a reference that does not say which image is
// meant is an error of usage everywhere, and that building again without a name
// does not lead there.
func TestImageSeveral(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "")
	out := "oci:" + filepath.Join(t.TempDir(), "out")
	runtimes := fakeRuntimes(t)
	image := func(to, title string) {
		t.Helper()
		must(t, append(append([]string{"image", "build", "--role", "machine", "--no-lint", "--title", title, "--to", to}, runtimes...), noopMachine)...)
	}
	image(out, "one")
	image(out, "two")
	if stdout, _ := must(t, "image", "inspect", out); !strings.Contains(stdout, "two") {
		t.Errorf("it is\n%s", stdout)
	}
	image(out+":v1", "three")
	key := filepath.Join(t.TempDir(), "key.pem")
	public := writeKeys(t, key)
	for _, args := range [][]string{
		{"inspect"}, {"sbom"}, {"attest"}, {"test"}, {"sign", "--key", key}, {"verify", "--key", public}, {"label", "--set", "a=b"}, {"publish"},
	} {
		all := append(append([]string{"image"}, args...), out)
		if args[0] == "publish" {
			all = append(all, registryHost(t)+"/m:v1")
		}
		code, _, stderr := captf(t, all...)
		if code != exitUsage || !strings.Contains(stderr, "it lists several images") {
			t.Errorf("%s: exit %d\n%s", args[0], code, stderr)
		}
	}
}

// TestImageWrongRuntime makes sure that a wrong runtime is an error of usage
// whatever is wrong with it, and however it is given.
func TestImageWrongRuntime(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "")
	dir := t.TempDir()
	script, pipe := filepath.Join(dir, "script"), filepath.Join(dir, "pipe")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	amd64, arm64 := fakeRuntimes(t)[1], fakeRuntimes(t)[3]
	for name, runtimes := range map[string][]string{
		"a script":        {script},
		"a script, named": {"linux/amd64=" + script, arm64},
		"a pipe":          {pipe},
		"a pipe, named":   {"linux/amd64=" + pipe, arm64},
		"missing":         {"linux/amd64=" + dir + "/none", arm64},
		"another machine": {"linux/amd64=" + arm64, "linux/arm64=" + amd64},
		"unidentified":    {amd64, arm64},
	} {
		args := []string{"image", "build", "--role", "machine", "--no-lint", "--to", "oci:" + dir + "/out"}
		for _, r := range runtimes {
			args = append(args, "--runtime", r)
		}
		if code, _, stderr := captf(t, append(args, noopMachine)...); code != exitUsage {
			t.Errorf("%s: exit %d\n%s", name, code, stderr)
		}
	}
	for _, key := range []string{pipe, dir} {
		for _, verb := range []string{"sign", "verify", "attest"} {
			code, _, stderr := captf(t, "image", verb, "--key", key, "oci:x")
			if code != exitError || !strings.Contains(stderr, "not a regular file") {
				t.Errorf("%s --key %s: exit %d\n%s", verb, key, code, stderr)
			}
		}
	}
}

// edited writes the image for this machine, changed, as a layout.
func edited(t *testing.T, change func(v1.Image) (v1.Image, error)) string {
	t.Helper()
	here := image.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}
	ref := imagetest.Layout(t, noopMachine, contract.RoleMachine, func(o *build.Options) {
		o.Platforms, o.Binaries = []image.Platform{here}, map[image.Platform]string{here: o.Binaries[here]}
	})
	idx, err := layout.ImageIndexFromPath(strings.TrimPrefix(ref, "oci:"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // index.json, then the index
		m, err := idx.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		if d := m.Manifests[0]; d.MediaType.IsIndex() {
			if idx, err = idx.ImageIndex(d.Digest); err != nil {
				t.Fatal(err)
			}
			continue
		}
		img, err := idx.Image(m.Manifests[0].Digest)
		if err != nil {
			t.Fatal(err)
		}
		if img, err = change(img); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "edited")
		to, err := layout.Write(dir, empty.Index)
		if err != nil {
			t.Fatal(err)
		}
		if err := to.AppendImage(img); err != nil {
			t.Fatal(err)
		}
		return "oci:" + dir
	}
	t.Fatal("there is no image")
	return ""
}

// replaceRuntime puts a layer with another runtime on an image.
func replaceRuntime(content []byte) func(v1.Image) (v1.Image, error) {
	return func(img v1.Image) (v1.Image, error) {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := w.WriteHeader(&tar.Header{Name: "usr/local/bin/tofu", Mode: 0o755, Typeflag: tar.TypeReg, Size: int64(len(content))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
		if err != nil {
			return nil, err
		}
		return mutate.AppendLayers(img, l)
	}
}

func TestImageTestThatCannotStart(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(v1.Image) (v1.Image, error)
		want   string
	}{
		"script": {replaceRuntime([]byte("#!/bin/sh -e\nexec tofu\n")), "/captf/runtime is a script for /bin/sh, which the image does not have"},
		"loader": {replaceRuntime(imagetest.Program(t, "linux/"+runtime.GOARCH, "/lib/ld-none.so")), "/captf/runtime needs the loader /lib/ld-none.so, which the image does not have"},
		"another diff ID": {func(img v1.Image) (v1.Image, error) {
			config, err := img.ConfigFile()
			if err != nil {
				return nil, err
			}
			config = config.DeepCopy()
			config.RootFS.DiffIDs[len(config.RootFS.DiffIDs)-1] = v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0", 64)}
			return mutate.ConfigFile(img, config)
		}, "damaged: "},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := captf(t, "image", "test", edited(t, tt.change))
			if code != exitFailed || !strings.Contains(stdout, tt.want) || !strings.Contains(stdout, "steps, sha256:") || strings.Contains(stdout, "failed:  ") {
				t.Errorf("exit %d\n%s%s", code, stdout, stderr)
			}
		})
	}
}

// writeKeys makes a pair of keys and returns the file of the public one.
func writeKeys(t *testing.T, private string) string {
	t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	publicDER, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{private: {Type: "PRIVATE KEY", Bytes: der}, private + ".pub": {Type: "PUBLIC KEY", Bytes: publicDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return private + ".pub"
}
