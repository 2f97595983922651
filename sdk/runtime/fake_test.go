package runtime_test

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/captf-toolkit/captf/sdk/runtime"
)

// The test binary plays a bad runtime when this variable is set: its value names the
// behaviour, a key of [fakes].
const envFake = "CAPTF_TEST_FAKE"

// envHarness makes the test binary a user of the package that can be killed.
const envHarness = "CAPTF_TEST_HARNESS"

func TestMain(m *testing.M) {
	if name := os.Getenv(envFake); name != "" {
		f, ok := fakes[name]
		if !ok {
			fmt.Fprintf(os.Stderr, "no fake %q\n", name)
			os.Exit(99)
		}
		if len(os.Args) > 1 && os.Args[1] == "version" && !strings.HasPrefix(name, "version-") {
			if name == "old-init" {
				fmt.Println("Terraform v1.5.7")
			} else {
				fmt.Println("OpenTofu v1.12.6")
			}
			os.Exit(0)
		}
		os.Exit(f())
	}
	if dir := os.Getenv(envHarness); dir != "" {
		os.Exit(killableHarness(dir))
	}
	os.Exit(m.Run())
}

// event prints a message as a line of a stream.
func event(message string) {
	fmt.Printf("{\"@level\":\"info\",\"@message\":%q,\"type\":\"log\"}\n", message)
}

// forever keeps the process alive; a runtime without other goroutines would end as deadlocked.
func forever() int {
	for {
		time.Sleep(time.Hour)
	}
}

var fakes = map[string]func() int{
	"version-hangs": func() int {
		signal.Ignore(os.Interrupt)
		return forever()
	},
	"version-crashes": func() int { panic("no runtime today") },
	"version-fails": func() int {
		fmt.Fprintln(os.Stderr, "library not found")
		return 127
	},
	"version-garbage": func() int {
		_, _ = io.CopyN(os.Stdout, rand.Reader, 1<<20)
		return 0
	},
	"version-killed": func() int {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		return forever()
	},
	"version-old-tofu": func() int { fmt.Println("OpenTofu v1.5.9\non linux_amd64"); return 0 },
	"version-old-terraform": func() int {
		fmt.Println("Terraform v1.4.7\non linux_amd64\n\nYour version of Terraform is out of date!")
		return 0
	},
	"version-wrapped": func() int {
		fmt.Println("wrapper: picking a version\nTerraform v1.5.0-rc1\non linux_amd64")
		return 0
	},

	// What follows plays a good version and a bad run.
	"panics": func() int {
		event("starting")
		panic("index out of range [1] with length 0")
	},
	"killed": func() int {
		event("starting")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		return forever()
	},
	"garbage": func() int {
		fmt.Println("{\"@level\":")
		fmt.Println("{\"@level\":\"info\",\"@message\":7,\"type\":[],\"hook\":\"x\",\"change\":3}")
		fmt.Println(strings.Repeat("x", 20<<20))
		_, _ = io.CopyN(os.Stdout, rand.Reader, 1<<20)
		_, _ = io.CopyN(os.Stderr, rand.Reader, 1<<20)
		return 1
	},
	"garbage-but-well": func() int {
		_, _ = io.CopyN(os.Stdout, rand.Reader, 1<<16)
		return 0
	},
	// Its init knows no -json, as Terraform before 1.9 and OpenTofu before 1.8.
	"old-init": func() int {
		if slices.Contains(os.Args, "-json") {
			fmt.Fprint(os.Stderr, "Error: flag provided but not defined: -json\n")
			return 1
		}
		fmt.Print("Initializing the backend...\n")
		fmt.Fprint(os.Stderr, "\nError: Unreadable module directory\n\n  on main.tf.json line 4, in module.role:\n   4:   \"role\"\n\nThe directory could not be read.\n")
		return 1
	},
	"silent-failure": func() int { return 3 },
	"silent-success": func() int { return 0 },
	"text-error": func() int {
		fmt.Fprint(os.Stderr, "\n\x1b[31mError: \x1b[0mInvalid thing\n\n  on main.tf.json line 7, in module.role:\n   7:   \"thing\"\n\nThe thing s3cr3t-value is not\nvalid.\n")
		return 1
	},
	"json-error": func() int {
		fmt.Println(`{"@level":"error","@message":"Error: bad s3cr3t-value","type":"diagnostic","diagnostic":{"severity":"error","summary":"bad s3cr3t-value","detail":"because of czNjcjN0LXZhbHVl","address":"module.role.terraform_data.x","range":{"filename":"../module/main.tf","start":{"line":3,"column":5}},"snippet":{"code":"  x = \"s3cr3t-value\""}}}`)
		fmt.Println(`{"@level":"error","@message":"Error: two","type":"diagnostic","diagnostic":{"severity":"error","summary":"two","detail":""}}`)
		fmt.Fprintln(os.Stderr, "plain s3cr3t-value text")
		return 1
	},
	"prints-secret": func() int {
		fmt.Println("something with s3cr3t-value in it")
		return 1
	},
	// Prints how many interrupts it got, after having waited for more of them.
	"stops-slowly": func() int {
		c := make(chan os.Signal, 16)
		signal.Notify(c, os.Interrupt)
		event("ready")
		<-c
		n := 1
		for limit := time.After(300 * time.Millisecond); ; {
			select {
			case <-c:
				n++
				continue
			case <-limit:
			}
			break
		}
		event(fmt.Sprintf("interrupts: %d", n))
		return 1
	},
	"ignores-interrupt": func() int {
		signal.Ignore(os.Interrupt)
		event("ready")
		return forever()
	},
	"endless": func() int {
		signal.Ignore(os.Interrupt)
		w := bufio.NewWriter(os.Stdout)
		for {
			if _, err := w.WriteString("all work and no play makes a runtime\n"); err != nil {
				return 1
			}
		}
	},
	// Leaves a child of its group that ignores signals and holds the output.
	"leaves-child": func() int { return leave(false) },
	// Leaves a child outside its group that holds the output.
	"leaves-daemon": func() int { return leave(true) },
	"child": func() int {
		signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		event(fmt.Sprintf("child %d", os.Getpid()))
		return forever()
	},
	"empty-document":   func() int { fmt.Println(); return 0 },
	"document-is-text": func() int { fmt.Println("Success! The configuration is valid."); return 0 },
	"document-fails":   func() int { fmt.Println("{}"); fmt.Fprintln(os.Stderr, "Error: no"); return 1 },
}

func leave(daemon bool) int {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envFake+"=child")
	cmd.Stdout = os.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: daemon}
	// The child's line arrives before ours: wait for it through a pipe of our own.
	r, w, err := os.Pipe()
	if err != nil {
		return 98
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		return 98
	}
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		return 98
	}
	event(fmt.Sprintf("child %d", cmd.Process.Pid))
	return 0
}

// fake makes an executable that behaves like the named fake.
func fake(t *testing.T, name string) string {
	t.Helper()
	if _, ok := fakes[name]; !ok {
		t.Fatalf("no fake %q", name)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tofu")
	script := fmt.Sprintf("#!/bin/sh\n%s=%s exec '%s' \"$@\"\n", envFake, name, self)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// fakeWorkdir opens a directory on a fake that answers version requests well.
func fakeWorkdir(t *testing.T, name string, o runtime.WorkdirOptions) *runtime.Workdir {
	t.Helper()
	b, err := runtime.Find(t.Context(), runtime.Options{Path: fake(t, name)})
	if err != nil {
		t.Fatal(err)
	}
	w, err := b.Workdir(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// alive reports whether a process runs; one that only waits to be reaped does not.
func alive(t *testing.T, pid int) bool {
	t.Helper()
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		_, serr := os.Stat("/proc/self/stat")
		return serr != nil // no proc file system: the signal decides
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}
