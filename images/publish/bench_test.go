package publish_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/build"
	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/images/publish"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// relabelBar is how long changing a label may take (design D11).
const relabelBar = time.Second

// BenchmarkBarRelabelPublish changes a label of an index whose layers are in the
// registry.
func BenchmarkBarRelabelPublish(b *testing.B) {
	s := newServer(b)
	tag := s.tag(b, "mod:v1")
	o := quick(b)
	o.Progress = nil
	if _, err := publish.Publish(b.Context(), setOf(b, index(b)), []name.Tag{tag}, o); err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		n++
		change := publish.Changes{Labels: map[string]string{"io.captf.capacity": fmt.Sprintf(`{"cpu":"%d"}`, n)}}
		result, err := publish.Relabel(b.Context(), tag.Name(), nil, change, o)
		if err != nil {
			b.Fatal(err)
		}
		if result.Old == result.New {
			b.Fatal("nothing was changed")
		}
	}
	each := b.Elapsed() / time.Duration(b.N)
	b.ReportMetric(float64(each.Microseconds())/1000, "ms")
	b.ReportMetric(each.Seconds()/relabelBar.Seconds(), "of-bar")
}

// arm64Runtime is a copy of a runtime that says it is for arm64: what is built is
// the same work, and nothing runs it.
func arm64Runtime(b *testing.B, path string) string {
	b.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	const machine, aarch64 = 18, 183 // where an ELF header has it
	raw[machine], raw[machine+1] = aarch64, 0
	out := filepath.Join(b.TempDir(), "tofu")
	if err := os.WriteFile(out, raw, 0o755); err != nil {
		b.Fatal(err)
	}
	return out
}

// BenchmarkBarBuildPublish builds and publishes an image for two platforms with
// real OpenTofu, and does with crane what comes nearest: append a tar archive for
// each platform, and put the images into an index.
func BenchmarkBarBuildPublish(b *testing.B) {
	tofu := runtimetest.OpenTofu(b)
	p, err := build.PlatformOf(tofu.Path)
	if err != nil || p.Arch != "amd64" {
		b.Skip("needs OpenTofu for linux/amd64")
	}
	amd64, arm64 := tofu.Path, arm64Runtime(b, tofu.Path)
	s := newServer(b)
	var ours, theirs time.Duration
	n := 0
	for b.Loop() {
		n++
		// Every round has content that the registry does not know yet.
		dir := b.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(fmt.Sprintf("# %d\n", n)), 0o600); err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		result, err := build.Build(b.Context(), build.Options{
			Dir: dir, Role: contract.RoleMachine, Contract: "v1alpha1", RuntimeVersion: tofu.Version, Created: time.Unix(int64(n), 0), TempDir: b.TempDir(),
			Binaries: map[image.Platform]string{{OS: "linux", Arch: "amd64"}: amd64, {OS: "linux", Arch: "arm64"}: arm64},
		})
		if err != nil {
			b.Fatal(err)
		}
		set, err := content.FromIndex(b.Context(), result.Index)
		if err != nil {
			b.Fatal(err)
		}
		o := quick(b)
		o.Progress = nil
		if _, err := publish.Publish(b.Context(), set, []name.Tag{s.tag(b, fmt.Sprintf("ours:v%d", n))}, o); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(start)
		if err := result.Close(); err != nil {
			b.Fatal(err)
		}

		start = time.Now()
		craneAppend(b, s.host, n, map[string]string{"amd64": amd64, "arm64": arm64})
		theirs += time.Since(start)
	}
	b.ReportMetric(float64(ours.Milliseconds())/float64(b.N), "ms")
	b.ReportMetric(float64(theirs.Milliseconds())/float64(b.N), "crane-ms")
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "of-crane")
}

// craneAppend does what "crane append" for each platform and "crane index append"
// do: a layer from an archive with the binary, pushed as an image, and an index.
func craneAppend(b *testing.B, host string, n int, binaries map[string]string) {
	b.Helper()
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range []string{"amd64", "arm64"} {
		file := filepath.Join(b.TempDir(), "layer.tar")
		writeTar(b, file, binaries[arch], n)
		img, err := crane.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), file)
		if err != nil {
			b.Fatal(err)
		}
		ref := fmt.Sprintf("%s/theirs:v%d-%s", host, n, arch)
		if err := crane.Push(img, ref); err != nil {
			b.Fatal(err)
		}
		pushed, err := crane.Pull(ref)
		if err != nil {
			b.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: pushed, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	tag, err := name.NewTag(fmt.Sprintf("%s/theirs:v%d", host, n))
	if err != nil {
		b.Fatal(err)
	}
	if err := remote.WriteIndex(tag, index); err != nil {
		b.Fatal(err)
	}
}

func writeTar(b *testing.B, file, binary string, n int) {
	b.Helper()
	in, err := os.Open(binary)
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		b.Fatal(err)
	}
	out, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	defer out.Close()
	w := tar.NewWriter(out)
	for name, r := range map[string]io.Reader{"usr/local/bin/tofu": in, "round": bytes.NewReader([]byte{byte(n)})} {
		size := int64(1)
		if r == io.Reader(in) {
			size = info.Size()
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: size}); err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(w, r); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}
