//go:build unix

package runtime_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/captf-toolkit/captf/sdk/runtime"
)

// killCaller applies dir from a process that it kills in the middle. The function it returns
// waits until all descendants of that process have ended.
func killCaller(t *testing.T, b *runtime.Binary, dir string) (wait func()) {
	t.Helper()
	// Every descendant that inherits the writing end keeps this pipe open.
	lifeR, lifeW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lifeR.Close() })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envHarness+"="+dir, runtime.EnvRuntime+"="+b.Path)
	// Above the numbers that the package gives to files of the runtime.
	cmd.ExtraFiles = []*os.File{nil, nil, nil, lifeW}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = lifeW.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the caller said %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	return func() {
		t.Helper()
		if _, err := io.Copy(io.Discard, lifeR); err != nil {
			t.Fatal(err)
		}
	}
}
