package runtime_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

// BenchmarkOverhead compares a replacing apply and the reading of its outputs through the
// package with the bare runtime doing the same work (bar of design D11: 10 % at most).
func BenchmarkOverhead(b *testing.B) {
	bin := runtimetest.OpenTofu(b)
	prepare := func(b *testing.B) *runtime.Workdir {
		dir := b.TempDir()
		runtimetest.Write(b, dir, map[string]string{
			"root/main.tf.json":          rootJSON,
			"root/terraform.tfvars.json": `{"name": "one", "token": "s3cr3t-value"}`,
			"module/main.tf":             moduleHCL,
		})
		w := runtimetest.Workdir(b, bin, filepath.Join(dir, "root"), runtime.WorkdirOptions{Secrets: []string{"s3cr3t-value"}})
		if _, err := w.Init(b.Context(), runtime.InitOptions{}); err != nil {
			b.Fatal(err)
		}
		return w
	}
	const address = "module.role.terraform_data.first"
	b.Run("bare", func(b *testing.B) {
		w := prepare(b)
		env := append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.DevNull, "CHECKPOINT_DISABLE=1")
		for b.Loop() {
			cmd := exec.Command(bin.Path, "apply", "-json", "-input=false", "-auto-approve", "-replace="+address)
			cmd.Dir, cmd.Env = w.Dir(), env
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("package", func(b *testing.B) {
		w := prepare(b)
		for b.Loop() {
			if _, err := w.Init(b.Context(), runtime.InitOptions{}); err != nil { // to be skipped
				b.Fatal(err)
			}
			if _, err := w.Apply(b.Context(), runtime.ApplyOptions{Replace: []string{address}}); err != nil {
				b.Fatal(err)
			}
			if v, err := w.Outputs(b.Context()); err != nil || len(v) != 1 {
				b.Fatalf("outputs %v, %v", v, err)
			}
		}
	})
}
