package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/captf-toolkit/captf/contract"
	contractimage "github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/build"
	"github.com/captf-toolkit/captf/images/imagetest"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// The bars of these benchmarks (design.md D11): one module in a cold process
// takes at most 30 ms and is at least 3 times faster than `tofu validate`; 200
// modules take at most 0.6 s on 2 cores.

const noopModules = "../../../modules/noop"

// buildBinary builds the command as a release does.
func buildBinary(b *testing.B) string {
	b.Helper()
	bin := filepath.Join(b.TempDir(), "tfcapi-lint")
	cmd := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("building: %v\n%s", err, out)
	}
	return bin
}

func copyModule(b *testing.B, role contract.Role, to string) {
	b.Helper()
	if err := os.CopyFS(to, os.DirFS(filepath.Join(noopModules, string(role)))); err != nil {
		b.Fatal(err)
	}
	// Tests are not part of what either program reads here.
	if err := os.RemoveAll(filepath.Join(to, "tests")); err != nil {
		b.Fatal(err)
	}
}

func timed(b *testing.B, cmd *exec.Cmd) time.Duration {
	b.Helper()
	start := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(start)
	if err != nil {
		b.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return took
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

// validator makes commands that validate a module with OpenTofu.
func validator(b *testing.B, dir string) func() *exec.Cmd {
	b.Helper()
	tofu := runtimetest.OpenTofu(b)
	config := filepath.Join(b.TempDir(), "tofurc")
	if err := os.WriteFile(config, nil, 0o644); err != nil {
		b.Fatal(err)
	}
	return func() *exec.Cmd {
		cmd := exec.CommandContext(b.Context(), tofu.Path, "validate", "-no-color")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+config, "CHECKPOINT_DISABLE=1")
		return cmd
	}
}

// BenchmarkBarColdLint runs both programs in turn, so that a busy machine slows
// both, and compares medians.
func BenchmarkBarColdLint(b *testing.B) {
	bin := buildBinary(b)
	dir := filepath.Join(b.TempDir(), "machine")
	copyModule(b, contract.RoleMachine, dir)
	validate := validator(b, dir)
	var lints, validates []time.Duration
	for b.Loop() {
		lints = append(lints, timed(b, exec.CommandContext(b.Context(), bin, "module", "--role", "machine", dir)))
		validates = append(validates, timed(b, validate()))
	}
	b.ReportMetric(0, "ns/op") // the sum of both programs says nothing
	b.ReportMetric(float64(median(lints).Microseconds())/1000, "lint-ms")
	b.ReportMetric(float64(median(validates).Microseconds())/1000, "validate-ms")
	b.ReportMetric(float64(median(validates))/float64(median(lints)), "x-faster")
}

func BenchmarkBarLint200Modules(b *testing.B) {
	bin := buildBinary(b)
	dir := b.TempDir()
	for i := range 200 {
		role := contract.Roles()[i%len(contract.Roles())]
		copyModule(b, role, filepath.Join(dir, fmt.Sprintf("set%03d", i/len(contract.Roles())), string(role)))
	}
	validate := validator(b, filepath.Join(dir, "set000", string(contract.RoleMachine)))
	var runs, validates []time.Duration
	for b.Loop() {
		validates = append(validates, timed(b, validate()))
		runs = append(runs, timed(b, exec.CommandContext(b.Context(), bin, "module", "--recursive", dir)))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(median(runs).Microseconds())/1000, "ms")
	b.ReportMetric(200/median(runs).Seconds(), "modules/s")
	b.ReportMetric(200*float64(median(validates))/float64(median(runs)), "x-faster-than-200-validates")
}

// BenchmarkBarLintImage lints an image of 330 MB with a small module layer, from
// a registry on the loopback interface: OpenTofu, and a provider of 215 MB. A
// cold process without a cache takes at most 0.5 s and reads no layer that it
// does not need (design.md D11). The yardstick is reading all layers.
func BenchmarkBarLintImage(b *testing.B) {
	dir := b.TempDir()
	copyModule(b, contract.RoleMachine, dir)
	text := "terraform {\n  required_providers {\n    cloud = {\n      source  = \"" + imagetest.ProviderSource + "\"\n      version = \"" + imagetest.ProviderVersion + "\"\n    }\n  }\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "cloud.tf"), []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
	platform := contractimage.DefaultPlatform()
	mirror := filepath.Join(b.TempDir(), "mirror")
	file := filepath.Join(mirror, filepath.FromSlash(imagetest.ProviderSource), imagetest.ProviderVersion, platform.Underscored(), "terraform-provider-cloud")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.Fatal(err)
	}
	provider := make([]byte, 215_000_000) // which no compression makes smaller
	rand.NewChaCha8([32]byte{}).Read(provider)
	copy(provider, imagetest.Program(b, platform.String(), ""))
	if err := os.WriteFile(file, provider, 0o755); err != nil {
		b.Fatal(err)
	}
	layout := imagetest.Layout(b, dir, contract.RoleMachine, func(o *build.Options) {
		o.Platforms = []contractimage.Platform{platform}
		o.Binaries = map[contractimage.Platform]string{platform: runtimetest.OpenTofu(b).Path}
		o.RuntimeVersion, o.Mirror, o.MirrorDir = "", build.MirrorDir, mirror
	})
	ref := push(b, imagetest.Registry(b, registry.WithBlobHandler(registry.NewDiskBlobHandler(b.TempDir()))), layout)
	bin := buildBinary(b)
	var ours, all []time.Duration
	for b.Loop() {
		ours = append(ours, timed(b, exec.CommandContext(b.Context(), bin, "image", "--role", "machine", "--strict", "--no-cache", ref)))
		all = append(all, timed(b, exec.CommandContext(b.Context(), bin, "image", "--role", "machine", "--strict", "--no-cache", "--read-all-layers", ref)))
	}
	took, whole := median(ours), median(all)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(took.Microseconds())/1000, "image-ms")
	b.ReportMetric(whole.Seconds()/took.Seconds(), "x-faster-than-reading-all")
}
