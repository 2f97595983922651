package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/build"
	"github.com/captf-toolkit/captf/images/imagetest"
	"github.com/captf-toolkit/captf/images/smoke"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// nativeImage is an image of a module with the real runtime, for this machine.
func nativeImage(t *testing.T, dir string) string {
	t.Helper()
	here := image.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}
	return imagetest.Layout(t, dir, contract.RoleMachine, func(o *build.Options) {
		o.Platforms = []image.Platform{here}
		o.Binaries = map[image.Platform]string{here: runtimetest.OpenTofu(t).Path}
		o.RuntimeVersion, o.Level = "", 1
	})
}

func TestImageTest(t *testing.T) {
	machine := filepath.Join(noop, "machine")
	broken := t.TempDir()
	if err := os.CopyFS(broken, os.DirFS(machine)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "broken.tf"), []byte("locals {\n  a = terraform_data.nowhere.id\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	good := nativeImage(t, machine)
	for _, tc := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"passes", []string{good}, exitOK, "passed: tofu"},
		{"with a variable", []string{"--var", "interruptible=true", good}, exitOK, "passed: tofu"},
		{"unknown variable", []string{"--var", "nope=1", good}, exitFailed, "nope"},
		{"not isolated", []string{"--isolation", "never", good}, exitOK, "not isolated"},
		{"a broken module", []string{nativeImage(t, broken)}, exitFailed, "validate -json -no-color failed: Reference to undeclared resource"},
		{"unknown isolation", []string{"--isolation", "some", good}, exitUsage, "--isolation"},
		{"unknown role", []string{"--role", "node", good}, exitUsage, "node"},
		{"bad variable", []string{"--var", "nope", good}, exitUsage, "--var"},
		{"no timeout", []string{"--step-timeout", "0s", good}, exitUsage, "--step-timeout"},
		{"no image", nil, exitUsage, "one image"},
		{"not there", []string{"oci:" + t.TempDir() + "/none"}, exitError, "none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, errs strings.Builder
			code := run(t.Context(), append([]string{"image", "test"}, tc.args...), strings.NewReader(""), &out, &errs)
			if code != tc.code || !strings.Contains(out.String()+errs.String(), tc.want) {
				t.Errorf("exit %d, want %d with %q\nstdout:\n%s\nstderr:\n%s", code, tc.code, tc.want, out.String(), errs.String())
			}
		})
	}
	var out, errs strings.Builder
	if code := run(t.Context(), []string{"image", "test", "--output", "json", good}, strings.NewReader(""), &out, &errs); code != exitOK {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	var report smoke.Report
	if err := json.Unmarshal([]byte(out.String()), &report); err != nil || !report.Passed || len(report.Steps) != 7 {
		t.Errorf("%v: %+v", err, report)
	}
}
