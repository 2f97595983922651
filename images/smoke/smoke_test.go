package smoke_test

import (
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/images/build"
	"github.com/captf-toolkit/captf/images/imagetest"
	"github.com/captf-toolkit/captf/images/rootfs"
	"github.com/captf-toolkit/captf/images/smoke"
	"github.com/captf-toolkit/captf/images/source"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
)

func TestMain(m *testing.M) {
	smoke.Init()
	var err error
	if baseDir, err = os.MkdirTemp("", "captf-smoke-base-*"); err != nil {
		log.Fatal(err)
	}
	code := m.Run()
	_ = os.RemoveAll(baseDir)
	os.Exit(code)
}

// baseDir is where the base image with the real runtime is.
var baseDir string

var buildBase sync.Once

// base is an image with the real runtime, which is compressed only once: other
// images are built on it. Their modules replace its one file.
func base(t *testing.T) string {
	t.Helper()
	buildBase.Do(func() {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "versions.tf"), []byte("terraform {}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		layout := imagetest.Layout(t, dir, contract.RoleMachine, func(o *build.Options) {
			o.Platforms = []image.Platform{native}
			o.Binaries = map[image.Platform]string{native: runtimetest.OpenTofu(t).Path}
			o.RuntimeVersion, o.Level = "", 1
		})
		if err := os.CopyFS(baseDir, os.DirFS(strings.TrimPrefix(layout, "oci:"))); err != nil {
			t.Fatal(err)
		}
	})
	return "oci:" + baseDir
}

var native = image.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}

// imageFrom builds an image for this machine with the real runtime, or with the
// program given.
func imageFrom(t *testing.T, dir string, role contract.Role, program string) string {
	t.Helper()
	return imagetest.Layout(t, dir, role, func(o *build.Options) {
		o.Platforms = []image.Platform{native}
		o.Binaries = map[image.Platform]string{native: program}
		if program == "" {
			o.Base, o.Binaries, o.Runtime, o.RuntimeVersion = base(t), nil, "", ""
		}
	})
}

func try(t *testing.T, ref string, o smoke.Options) (*smoke.Report, error) {
	t.Helper()
	src, err := source.Open(t.Context(), ref, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	p, err := src.Image(t.Context(), nil)
	if _, ok := errors.AsType[*source.PlatformError](err); ok {
		p, err = src.Load(t.Context(), src.Platforms()[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	files, err := rootfs.Open(t.Context(), p, rootfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	o.Contract, o.TempDir = versions.Default(), t.TempDir()
	o.Progress = func(line string) { t.Log(line) }
	r, err := smoke.Run(t.Context(), files, o)
	left, readErr := os.ReadDir(o.TempDir)
	if readErr != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, readErr)
	}
	return r, err
}

func steps(r *smoke.Report) string {
	var names []string
	for _, s := range r.Steps {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}

// TestNoop tries every role with the real runtime: their whole life.
func TestNoop(t *testing.T) {
	for _, role := range contract.Roles() {
		t.Run(string(role), func(t *testing.T) {
			r, err := try(t, imageFrom(t, filepath.Join("..", "..", "modules", "noop", string(role)), role, ""), smoke.Options{Role: role})
			if err != nil {
				t.Fatal(err)
			}
			if !r.Passed || r.Runtime != "tofu" || r.Version == "" {
				t.Errorf("report: %+v", r)
			}
			if got := steps(r); got != "version init validate init apply output destroy" {
				t.Errorf("steps: %s", got)
			}
		})
	}
}

// program compiles a runtime that does what the Go statements say.
func program(t *testing.T, body string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/runtime\n\ngo 1.26\n",
		"main.go": `package main

import (
	"fmt"
	"net"
	"os"
	"time"
)

var _, _, _, _ = fmt.Sprint, net.Dial, os.Exit, time.Sleep

func main() {
` + body + `
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "program")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", out, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building a runtime: %v\n%s", err, b)
	}
	return out
}

const noop = "../../modules/noop/machine"

// isolated skips where the machine has no namespaces.
func isolated(t *testing.T) {
	t.Helper()
	r, err := try(t, imageFrom(t, noop, contract.RoleMachine, program(t, "")), smoke.Options{Role: contract.RoleMachine})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.NotIsolated) > 0 {
		t.Skip(r.NotIsolated)
	}
}

// TestIsolation: a runtime sees the image and nothing else, cannot write into it,
// reaches nobody, is no root and has the environment of a Job.
func TestIsolation(t *testing.T) {
	isolated(t)
	t.Setenv("CAPTF_SMOKE_SECRET", "from this machine")
	here := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for name, body := range map[string]string{
		"file of this machine": fmt.Sprintf(`if _, err := os.Stat(%q); err == nil { os.Exit(3) }`, here),
		"write into the image": `if err := os.WriteFile("/captf/module/a", nil, 0o600); err == nil { os.Exit(3) }`,
		"write to the root":    `if err := os.WriteFile("/a", nil, 0o600); err == nil { os.Exit(3) }`,
		"remount":              `if err := os.Mkdir("/new", 0o700); err == nil { os.Exit(3) }`,
		"network":              fmt.Sprintf(`if _, err := net.DialTimeout("tcp", %q, time.Second); err == nil { os.Exit(3) }`, listener.Addr().String()),
		"user":                 `if os.Getuid() != 65532 || os.Getgid() != 65532 { os.Exit(3) }`,
		"work":                 `if err := os.WriteFile("/captf/work/a", nil, 0o600); err != nil { fmt.Fprintln(os.Stderr, err); os.Exit(3) }`,
		"tmp":                  `if err := os.WriteFile("/tmp/a", nil, 0o600); err != nil { fmt.Fprintln(os.Stderr, err); os.Exit(3) }`,
		"null device":          `if f, err := os.OpenFile("/dev/null", os.O_RDWR, 0); err != nil { os.Exit(3) } else if _, err := f.Write([]byte("a")); err != nil { os.Exit(3) }`,
		"environment":          `if os.Getenv("CAPTF_SMOKE_SECRET") != "" || os.Getenv("HOME") != "/captf/work" || os.Getenv("TF_INPUT") != "0" { os.Exit(3) }`,
		"working directory":    `if wd, err := os.Getwd(); err != nil || wd != "/captf/work/root" { os.Exit(3) }`,
		"open files":           `if _, err := os.NewFile(3, "x").Stat(); err == nil { os.Exit(3) }`,
		"processes":            `if os.Getpid() != 1 { os.Exit(3) }`,
	} {
		t.Run(name, func(t *testing.T) {
			r, err := try(t, imageFrom(t, noop, contract.RoleMachine, program(t, body)), smoke.Options{Role: contract.RoleMachine, Isolation: smoke.IsolateStrictly})
			if err != nil {
				t.Fatal(err)
			}
			if r.Steps[0].Exit != 0 {
				t.Errorf("%+v", r.Steps[0])
			}
		})
	}
}

// TestNotIsolated: on a machine without namespaces the life works as well, and it
// is said what was not isolated.
func TestNotIsolated(t *testing.T) {
	r, err := try(t, imageFrom(t, noop, contract.RoleMachine, ""), smoke.Options{Role: contract.RoleMachine, Isolation: smoke.IsolateNever})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Passed || len(r.NotIsolated) == 0 || !strings.HasSuffix(steps(r), "apply output destroy") {
		t.Errorf("%+v", r)
	}
}

// TestFailures: what fails is named, and a run that cannot end is ended.
func TestFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		body, step, want string
		exit             int
	}{
		"exit code":       {`os.Exit(7)`, "version", "said nothing", 7},
		"error text":      {`if os.Args[1] == "init" { fmt.Fprintln(os.Stderr, "\n╷\n│ Error: Failed to query available provider packages\n│ \n│ could not"); os.Exit(1) }`, "init", "Failed to query available provider packages", 1},
		"json diagnostic": {`if os.Args[1] == "validate" { fmt.Println("{\"valid\":false,\"diagnostics\":[{\"severity\":\"error\",\"summary\":\"Unsupported argument\",\"detail\":\"An argument named x\"}]}"); os.Exit(1) }`, "validate", "Unsupported argument: An argument named x", 1},
		"hangs":           {`if os.Args[1] == "init" { time.Sleep(time.Hour) }`, "init", "did not end within", -1},
		"garbage output":  {`if os.Args[1] == "output" { fmt.Println("<html>") }`, "output", "no JSON", 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := try(t, imageFrom(t, noop, contract.RoleMachine, program(t, tc.body)), smoke.Options{Role: contract.RoleMachine, Timeout: 3 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if r.Passed {
				t.Error("it passed")
			}
			for _, s := range r.Steps {
				if s.Error == "" {
					continue
				}
				if s.Name != tc.step || s.Exit != tc.exit || !strings.Contains(s.Error, tc.want) {
					t.Errorf("step %+v, want %s with exit %d and %q", s, tc.step, tc.exit, tc.want)
				}
				return
			}
			t.Errorf("no step failed: %+v", r.Steps)
		})
	}
}

// TestBrokenModule: code that does not fit is found by the real runtime.
func TestBrokenModule(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(noop)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.tf"), []byte("locals {\n  a = terraform_data.nowhere.id\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := try(t, imageFrom(t, dir, contract.RoleMachine, ""), smoke.Options{Role: contract.RoleMachine})
	if err != nil {
		t.Fatal(err)
	}
	last := r.Steps[len(r.Steps)-1]
	if r.Passed || last.Name != "validate" || !strings.Contains(last.Error, "undeclared resource") {
		t.Errorf("%+v", r)
	}
}

// TestVariables: a module whose variables have no default is applied only with
// values for them.
func TestVariables(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(noop)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "region.tf"), []byte("variable \"region\" {\n  type = string\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ref := imageFrom(t, dir, contract.RoleMachine, "")
	r, err := try(t, ref, smoke.Options{Role: contract.RoleMachine})
	if err != nil || !r.Passed || steps(r) != "version init validate" || !strings.Contains(strings.Join(r.Notes, "\n"), "region") {
		t.Errorf("without a value: %+v, %v", r, err)
	}
	r, err = try(t, ref, smoke.Options{Role: contract.RoleMachine, Variables: []contract.Variable{{Name: "region", Value: []byte(`"eu"`)}}})
	if err != nil || !r.Passed || !strings.HasSuffix(steps(r), "apply output destroy") {
		t.Errorf("with a value: %+v, %v", r, err)
	}
}

// TestOtherPlatform: an image for another platform cannot run here.
func TestOtherPlatform(t *testing.T) {
	other := image.Platform{OS: "linux", Arch: "s390x"}
	ref := imagetest.Layout(t, noop, contract.RoleMachine, func(o *build.Options) {
		file := filepath.Join(t.TempDir(), "tofu")
		if err := os.WriteFile(file, imagetest.Program(t, other.String(), ""), 0o755); err != nil {
			t.Fatal(err)
		}
		o.Platforms, o.Binaries = []image.Platform{other}, map[image.Platform]string{other: file}
	})
	if _, err := try(t, ref, smoke.Options{Role: contract.RoleMachine}); err == nil || !strings.Contains(err.Error(), "linux/s390x") {
		t.Errorf("got %v", err)
	}
}

// TestMirror: a provider comes from the image's mirror and from nowhere else, and
// the module is held against its schema.
func TestMirror(t *testing.T) {
	module := func(body string) string {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(noop)); err != nil {
			t.Fatal(err)
		}
		text := "terraform {\n  required_providers {\n    cloud = {\n      source  = \"" + imagetest.ProviderSource + "\"\n      version = \"" + imagetest.ProviderVersion + "\"\n    }\n  }\n}\n\n" + body
		if err := os.WriteFile(filepath.Join(dir, "cloud.tf"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	mirror := imagetest.Mirror(t, native)
	good := "resource \"cloud_instance\" \"this\" {\n  name = var.machine_name\n}\n"
	for name, tc := range map[string]struct {
		body, mirror string
		mode         build.MirrorMode
		failed, want string
	}{
		"complete":     {good, mirror, build.MirrorDir, "", ""},
		"bad argument": {"resource \"cloud_instance\" \"this\" {\n  nane = var.machine_name\n}\n", mirror, build.MirrorDir, "validate", "\"name\" is required"},
		"no mirror":    {good, "", build.MirrorNone, "init", "registry.example"},
	} {
		t.Run(name, func(t *testing.T) {
			ref := imagetest.Layout(t, module(tc.body), contract.RoleMachine, func(o *build.Options) {
				o.Platforms = []image.Platform{native}
				o.Base, o.Binaries, o.Runtime, o.RuntimeVersion = base(t), nil, "", ""
				o.Mirror, o.MirrorDir = tc.mode, tc.mirror
			})
			r, err := try(t, ref, smoke.Options{Role: contract.RoleMachine})
			if err != nil {
				t.Fatal(err)
			}
			if r.Passed != (tc.failed == "") {
				t.Fatalf("%+v", r)
			}
			last := r.Steps[len(r.Steps)-1]
			if tc.failed == "" {
				if last.Name != "validate" {
					t.Errorf("a module that needs credentials was applied: %s", steps(r))
				}
				return
			}
			if last.Name != tc.failed || !strings.Contains(last.Error, tc.want) {
				t.Errorf("got %+v, want %s with %q", last, tc.failed, tc.want)
			}
		})
	}
}
