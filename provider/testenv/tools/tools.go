// Package tools gives the tests of this repository their control plane: from the programs that the repository's own
// build script made, one for all the tests of a test binary.
//
//	func TestMain(m *testing.M) { os.Exit(tools.Main(m, testenv.Options{ControllerManager: true})) }
//
//	func TestSomething(t *testing.T) {
//		env := tools.Environment(t)
//		namespace := tools.Namespace(t)
//		...
//	}
//
// Not in this package: anything that a binary needs.
package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/captf-toolkit/captf/provider/testenv"
)

// Prefix begins the names of the environment variables with paths of programs, such as CAPTF_KUBE_APISERVER.
const Prefix = "CAPTF"

// Find finds a program of the control plane: by the environment variable, else among those that the repository's build
// script made. It builds nothing: a test that compiles for minutes looks like one that hangs.
func Find(ctx context.Context, program string) (string, error) {
	if os.Getenv(testenv.Variable(Prefix, program)) != "" {
		return testenv.FromEnvironment(Prefix)(ctx, program)
	}
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(root, ".ci", "tools", "build"), program)
	cmd.Env = append(os.Environ(), "CAPTF_NO_BUILD=1")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && len(exit.Stderr) > 0 {
			err = errors.New(strings.TrimSpace(string(exit.Stderr)))
		}
		return "", fmt.Errorf("finding %s: %w; run `make tools`, or set %s to the program", program, err, testenv.Variable(Prefix, program))
	}
	return strings.TrimSpace(string(out)), nil
}

// repositoryRoot is the directory above that has .ci/tools.
func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, ".ci", "tools")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("finding the repository: the tests do not run in it")
		}
		dir = parent
	}
}

// shared is the control plane of this test binary.
var shared struct {
	sync.Mutex
	options testenv.Options
	main    bool
	env     *testenv.Environment
	err     error
}

// Main runs the tests of a binary, and stops the control plane afterwards if one of them started it, before that what
// the tests share and which talks to it. It returns what to exit with.
func Main(m *testing.M, o testenv.Options, stop ...func() error) int {
	if o.Binaries == nil {
		o.Binaries = Find
	}
	shared.options, shared.main = o, true
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.env != nil {
		stop = append(stop, shared.env.Stop)
	}
	for _, s := range stop {
		if err := s(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	return code
}

// Environment returns the control plane that the tests of this binary share, and starts it when it is asked for the
// first time, so that tests which need none do not wait for it.
func Environment(t testing.TB) *testenv.Environment {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if !shared.main {
		t.Fatal("the tests of this package have no TestMain that calls tools.Main")
	}
	if shared.env == nil && shared.err == nil {
		// It lives longer than the test that needs it first.
		shared.env, shared.err = testenv.Start(context.WithoutCancel(t.Context()), shared.options)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.env
}

// Namespace makes a namespace for a test in the shared control plane. It is not deleted: the control plane goes away
// as a whole.
func Namespace(t testing.TB) string {
	t.Helper()
	ns, err := Environment(t).Namespace(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	return ns
}
