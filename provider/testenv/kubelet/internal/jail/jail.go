// Package jail starts programs in namespaces of their own: with another directory for a root, mounts where the program
// expects them, users, and a process namespace, so that killing the program kills everything that it started. The
// network is that of this machine.
//
// A program becomes the one in the jail by starting itself again, see init. The package imports no more than it needs,
// so that init runs before those of packages that take their time.
//
// Not in this package: what a container is.
package jail

import (
	"errors"
	"fmt"
	"os"
)

// ErrUnsupported says that this system has no namespaces.
var ErrUnsupported = errors.New("this system has no namespaces")

// Spec describes a program and its jail.
type Spec struct {
	// Root is the directory that becomes the root; Mounts are put into it.
	Root     string
	ReadOnly bool
	Mounts   []Mount
	// Hostname is what the program takes this machine's name for.
	Hostname string
	// Args are the program, which is looked for in PATH of Env, and its arguments.
	Args, Env []string
	// Dir is where it starts; it is made if it is not there.
	Dir string
	// UID, GID and Groups are whom it runs as. Without AllUsers there is no other user in the jail, and no groups.
	UID, GID int
	Groups   []int
	// AllUsers needs a privileged caller: the users of the jail are those of this machine. Otherwise the only one is
	// UID, which is the caller outside.
	AllUsers bool
	// Capabilities are what UID 0 may do in the jail, a bit each.
	Capabilities uint64
	// Proc mounts /proc, which not every machine allows.
	Proc bool
}

// Mount is a file or a directory of this machine that is to be seen in the jail.
type Mount struct {
	Source, Target string
	ReadOnly       bool
	// File tells that it is a file.
	File bool
}

// SetupError tells that the jail could not be made, or the program not be started.
type SetupError struct {
	// Start tells that it is the program: the jail was ready.
	Start bool
	Text  string
}

// Error implements error.
func (e *SetupError) Error() string { return e.Text }

// Result is how a program ended.
type Result struct {
	// Code is its exit code, 128 more than the signal when one ended it.
	Code int
	// Signal is that signal, else 0.
	Signal int
}

func resultOf(s *os.ProcessState) Result {
	code := s.ExitCode()
	if sig := signalOf(s); sig > 0 {
		return Result{Code: 128 + sig, Signal: sig}
	}
	return Result{Code: code}
}

// Process is a program that was started.
type Process struct {
	// PID is its id on this machine.
	PID int
	// Done is closed when it and all its descendants have ended, Result is set then.
	Done   chan struct{}
	Result Result

	group bool
	os    *os.Process
}

// String is for messages.
func (p *Process) String() string { return fmt.Sprintf("process %d", p.PID) }
