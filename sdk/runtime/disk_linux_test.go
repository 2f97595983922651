package runtime_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// bigModule has a state of some 90 kB, with the token in it.
const bigModule = `variable "name" {}
variable "token" {}

resource "terraform_data" "big" {
  input = join("", [for i in range(1000): "${i} ${nonsensitive(var.token)} and on it goes until the disk is full\n"])
}

output "id" {
  value = terraform_data.big.id
}

output "nothing" {
  value = null
}
`

// tinyDisk mounts a file system of 64 KiB; false if we may not.
func tinyDisk(t *testing.T) (string, bool) {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Logf("mounting a small file system: %v; using a limit on file sizes", err)
		return "", false
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmounting %s: %v", dir, err)
		}
	})
	return dir, true
}

func TestFullDisk(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		dir, ok := tinyDisk(t)
		if !ok {
			t.SkipNow() // TestFileLimit covers it without privileges
		}
		tmp := t.TempDir()
		t.Setenv("TMPDIR", tmp)
		runtimetest.Write(t, dir, map[string]string{
			"root/main.tf.json":          rootJSON,
			"root/terraform.tfvars.json": `{"name": "one", "token": "s3cr3t-value"}`,
			"module/main.tf":             bigModule,
		})
		w := runtimetest.Workdir(t, b, filepath.Join(dir, "root"), runtime.WorkdirOptions{Secrets: []string{"s3cr3t-value"}})
		mustInit(t, w)
		res, err := w.Apply(t.Context(), runtime.ApplyOptions{})
		re := mustFail(t, err, "apply", "no space left on device", "terraform.tfstate", "was saved to "+tmp)

		// The only copy of the state is safe, readable for us alone, and not in the log.
		info, serr := os.Stat(re.RescuedState)
		if serr != nil {
			t.Fatal(serr)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("the rescued state has mode %s", info.Mode())
		}
		raw, rerr := os.ReadFile(re.RescuedState)
		if rerr != nil {
			t.Fatal(rerr)
		}
		st, derr := runtime.DecodeState(raw)
		if derr != nil || len(st.Resources) != 1 || !strings.Contains(string(st.Resources[0].Attributes), "s3cr3t-value") {
			t.Errorf("rescued state: %v %.200s", derr, raw)
		}
		if res.EmergencyState != nil {
			t.Error("the rescued state is in the result as well")
		}
		if strings.Contains(err.Error(), "s3cr3t-value") {
			t.Errorf("the error shows the token: %.300s", err)
		}
		if log, err := os.ReadFile(res.Log); err == nil && strings.Contains(string(log), "s3cr3t-value") {
			t.Error("the log shows the token")
		}
	})
}

func TestFullDiskEverywhere(t *testing.T) {
	b := runtimetest.OpenTofu(t)
	dir, ok := tinyDisk(t)
	if !ok {
		t.SkipNow() // TestFileLimit covers it without privileges
	}
	t.Setenv("TMPDIR", dir)
	runtimetest.Write(t, dir, map[string]string{
		"root/main.tf.json":          rootJSON,
		"root/terraform.tfvars.json": `{"name": "one", "token": "x"}`,
		"module/main.tf":             bigModule,
	})
	w := runtimetest.Workdir(t, b, filepath.Join(dir, "root"), runtime.WorkdirOptions{})
	mustInit(t, w)
	res, err := w.Apply(t.Context(), runtime.ApplyOptions{})
	re := mustFail(t, err, "no space left on device", "stored nowhere")
	if re.RescuedState != "" || !json.Valid(res.EmergencyState) {
		t.Errorf("rescued to %q, %d bytes in the result", re.RescuedState, len(res.EmergencyState))
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "captf-state-*")); len(left) > 0 {
		t.Errorf("a part of the state was left in %v", left)
	}
}

func TestFileLimit(t *testing.T) {
	real := runtimetest.OpenTofu(t)
	path := filepath.Join(t.TempDir(), "tofu")
	script := "#!/bin/sh\n[ \"$1\" = apply ] && ulimit -f 16\nexec '" + real.Path + "' \"$@\"\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := runtime.Find(t.Context(), runtime.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir() // the rescued state goes there
	t.Setenv("TMPDIR", tmp)
	w := set(t, b, bigModule, runtime.WorkdirOptions{})
	mustInit(t, w)
	_, err = w.Apply(t.Context(), runtime.ApplyOptions{})
	mustFail(t, err, "apply", "file too large", "terraform.tfstate", "was saved to "+tmp)
}

func TestLogThatCannotBeWritten(t *testing.T) {
	// A file where the directory of logs should be.
	w := set(t, runtimetest.OpenTofu(t), moduleHCL, runtime.WorkdirOptions{})
	runtimetest.Write(t, w.Dir(), map[string]string{".captf": ""})
	mustInit(t, w)
	res, err := w.Apply(t.Context(), runtime.ApplyOptions{})
	if err != nil || res.Log != "" {
		t.Errorf("a run must not fail for want of a log: %v, log %q", err, res.Log)
	}
}
