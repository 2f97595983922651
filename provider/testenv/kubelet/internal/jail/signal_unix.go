//go:build unix

package jail

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

func signalOf(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return int(w.Signal())
	}
	return 0
}

// Signal sends a signal to the program, not to its children. One that has ended is no error.
func (p *Process) Signal(s syscall.Signal) error {
	if err := p.os.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("sending %s to %s: %w", s, p, err)
	}
	return nil
}

// Kill kills the program and everything that it started.
func (p *Process) Kill() error {
	if p.group {
		_ = syscall.Kill(-p.PID, syscall.SIGKILL)
	}
	return p.Signal(syscall.SIGKILL)
}

// Open starts a program without any jail, but in a process group of its own. Output is its standard output and error.
func Open(cmd *exec.Cmd, output *os.File) (*Process, error) {
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = groupAttributes()
	var err error
	onThread(func() { err = cmd.Start() })
	if err != nil {
		return nil, &SetupError{Start: true, Text: err.Error()}
	}
	return wait(cmd, true), nil
}

func wait(cmd *exec.Cmd, group bool) *Process {
	p := &Process{PID: cmd.Process.Pid, Done: make(chan struct{}), os: cmd.Process, group: group}
	go func() {
		_ = cmd.Wait() // the state says it all
		if group {
			_ = syscall.Kill(-p.PID, syscall.SIGKILL) // what it left running
		}
		p.Result = resultOf(cmd.ProcessState)
		close(p.Done)
	}()
	return p
}
