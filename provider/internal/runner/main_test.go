package runner

import (
	"fmt"
	"os"
	"syscall"
	"testing"
)

// The test binary plays other programs, by the variable with this name: the runner as a process of its own, a provider's
// plugin, and runtimes that misbehave.
const envRole = "CAPTF_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(envRole); role {
	case "":
		os.Exit(m.Run())
	case "runner":
		os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr, "v0.0.0-test"))
	case "provider":
		serveProvider()
	default:
		f, ok := fakes[role]
		if !ok {
			fmt.Fprintf(os.Stderr, "no role %q\n", role)
			syscall.Exit(99)
		}
		// Not os.Exit: with coverage it would warn on stderr that it does not know where to leave its data.
		syscall.Exit(f(os.Args[1:]))
	}
}

// program is a script that starts the test binary in a role. Its arguments are handed on.
func program(t *testing.T, path, role string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n%s=%s exec '%s' \"$@\"\n", envRole, role, self)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
