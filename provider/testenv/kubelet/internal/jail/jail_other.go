//go:build unix && !linux

package jail

import (
	"os"
	"syscall"
)

// Start is for systems with namespaces.
func Start(Spec, *os.File) (*Process, error) { return nil, ErrUnsupported }

// Probe is for systems with namespaces.
func Probe(string, bool, bool) error { return ErrUnsupported }

func groupAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func onThread(f func()) { f() }
