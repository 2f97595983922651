package jail

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// allowed tells whether this machine has such jails.
func allowed(t *testing.T, allUsers bool) {
	t.Helper()
	if allUsers && os.Geteuid() != 0 {
		t.Skip("only root has all users")
	}
	if err := Probe(t.TempDir(), allUsers, true); err != nil {
		t.Skipf("this machine has no jails: %v", err)
	}
}

// image is a directory with podtool.
func image(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", filepath.Join(root, "bin", "podtool"), "../podtool")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return root
}

// run starts a program, waits for its end and returns what it wrote.
func run(t *testing.T, s Spec) (string, Result) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p, err := Start(s, out)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text), p.Result
}

// TestJail runs a program both ways: with all users of the machine, and as the only one, which is what a caller without
// privileges has.
func TestJail(t *testing.T) {
	root := image(t)
	for name, allUsers := range map[string]bool{"all users": true, "one user": false} {
		t.Run(name, func(t *testing.T) {
			allowed(t, allUsers)
			mine, theirs := t.TempDir(), t.TempDir()
			for _, d := range []string{mine, theirs} {
				if err := os.Chmod(d, 0o777); err != nil {
					t.Fatal(err)
				}
			}
			text, result := run(t, Spec{
				Root: root, ReadOnly: true, Hostname: "inside", Dir: "/work", UID: 65532, GID: 65532, AllUsers: allUsers, Proc: true,
				Args: strings.Split("podtool id , hostname , pwd , pid , write /rw/a b , write /ro/a b , write /bin/a b , ls /proc/self/fd , ls /ro , exit 9", " "),
				Env:  []string{"PATH=/bin"}, Mounts: []Mount{{Source: mine, Target: "/rw"}, {Source: theirs, Target: "/ro", ReadOnly: true}},
			})
			for _, want := range []string{"id 65532 65532 ", "hostname inside\n", "pwd /work\n", "pid 1\n", "open /ro/a: read-only file system\n", "open /bin/a: read-only file system\n"} {
				if !strings.Contains(text, want) {
					t.Errorf("there is no %q in\n%s", want, text)
				}
			}
			if strings.Contains(text, "/rw/a") || result.Code != 9 {
				t.Errorf("exit code %d\n%s", result.Code, text)
			}
			// Nothing of this program is open in it but its output: the rest is what it opens to look.
			if n := strings.Count(text, "/proc/self/fd/"); n > 6 {
				t.Errorf("%d files are open\n%s", n, text)
			}
			if b, err := os.ReadFile(filepath.Join(mine, "a")); err != nil || string(b) != "b" {
				t.Errorf("what it wrote is %q, %v", b, err)
			}
		})
	}
}

// TestKill takes children along, also those that are no children any more.
func TestKill(t *testing.T) {
	allowed(t, false)
	root := image(t)
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p, err := Start(Spec{Root: root, Args: []string{"/bin/podtool", "spawn", ",", "echo", "ready", ",", "forever"}, Dir: "/", Proc: true}, out)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; <-time.After(5 * time.Millisecond) {
		if text, err := os.ReadFile(out.Name()); err == nil && strings.Contains(string(text), "ready") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not start")
		}
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.Done
	if p.Result != (Result{Code: 137, Signal: 9}) {
		t.Errorf("it ended with %+v", p.Result)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("a signal for what has ended: %v", err)
	}
}

// TestSetupFails says what does not work.
func TestSetupFails(t *testing.T) {
	allowed(t, false)
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for want, s := range map[string]Spec{
		"mounting: mounting /x: no such file or directory": {Root: t.TempDir(), Mounts: []Mount{{Source: "/none/at/all", Target: "/x"}}, Dir: "/", Args: []string{"x"}},
		"executable file not found in $PATH":               {Root: t.TempDir(), Dir: "/", Args: []string{"x"}},
		`exec: "/x": no such file or directory`:            {Root: t.TempDir(), Dir: "/", Args: []string{"/x"}},
	} {
		_, err := Start(s, null)
		failed, ok := errors.AsType[*SetupError](err)
		if !ok || !strings.Contains(failed.Text, want) || failed.Start != strings.HasPrefix(failed.Text, "exec") {
			t.Errorf("got %+v, want %s", err, want)
		}
	}
}
