// Package runtimetest finds the real runtimes for tests and opens working
// directories on them.
//
// Not in this package: fake runtimes; those are kept beside the tests that need
// bad behaviour.
package runtimetest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/captf-toolkit/captf/sdk/runtime"
)

// EnvTofu names the environment variable with the path of the OpenTofu binary
// that tests use.
const EnvTofu = "CAPTF_TOFU"

// Help is what a test says when it finds no OpenTofu.
const help = "no OpenTofu found: run `make tools`, or set " + EnvTofu + " to a binary"

var findTofu = sync.OnceValues(func() (*runtime.Binary, error) {
	ctx := context.Background()
	if p := os.Getenv(EnvTofu); p != "" {
		return runtime.Find(ctx, runtime.Options{Path: p})
	}
	var errs []error
	if p, err := cached(); err != nil {
		errs = append(errs, err)
	} else if b, err := runtime.Find(ctx, runtime.Options{Path: p}); err != nil {
		errs = append(errs, err)
	} else {
		return b, nil
	}
	b, err := runtime.Find(ctx, runtime.Options{Path: "tofu"})
	if err != nil {
		return nil, errors.Join(append(errs, err)...)
	}
	return b, nil
})

var findTerraform = sync.OnceValue(func() *runtime.Binary {
	if _, err := exec.LookPath("terraform"); err != nil {
		return nil
	}
	b, err := runtime.Find(context.Background(), runtime.Options{Path: "terraform"})
	if err != nil || b.Kind != runtime.Terraform {
		return nil
	}
	return b
})

// Binaries returns OpenTofu and, if a usable one is on PATH, Terraform. Without
// OpenTofu the test fails: tests on the real runtime are never skipped unseen.
func Binaries(t testing.TB) []*runtime.Binary {
	t.Helper()
	all := []*runtime.Binary{OpenTofu(t)}
	if tf := findTerraform(); tf != nil {
		all = append(all, tf)
	} else {
		t.Log("no usable terraform on PATH: testing with OpenTofu only")
	}
	return all
}

// OpenTofu returns the OpenTofu binary for tests: that of CAPTF_TOFU, else the one
// in the cache of built tools, else tofu on PATH. Without any the test fails.
func OpenTofu(t testing.TB) *runtime.Binary {
	t.Helper()
	b, err := findTofu()
	if err != nil {
		t.Fatalf("%s\n%v", help, err)
	}
	if b.Kind != runtime.OpenTofu {
		t.Fatalf("%s is %s; %s", b.Path, b, help)
	}
	return b
}

// Each runs fn once for every runtime, as a subtest named after its kind.
func Each(t *testing.T, fn func(t *testing.T, b *runtime.Binary)) {
	t.Helper()
	for _, b := range Binaries(t) {
		t.Run(string(b.Kind), func(t *testing.T) { fn(t, b) })
	}
}

// Write writes files below dir; keys are slash-separated relative paths.
func Write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Workdir opens a working directory; a problem fails the test.
func Workdir(t testing.TB, b *runtime.Binary, dir string, o runtime.WorkdirOptions) *runtime.Workdir {
	t.Helper()
	w, err := b.Workdir(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}
