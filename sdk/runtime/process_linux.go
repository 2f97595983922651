package runtime

import "syscall"

// processAttributes puts the runtime in a process group of its own, and has it
// interrupted, as gently as by ourselves, if we die without a chance to do so.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
}
