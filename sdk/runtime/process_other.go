//go:build unix && !linux

package runtime

import "syscall"

// processAttributes puts the runtime in a process group of its own.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
