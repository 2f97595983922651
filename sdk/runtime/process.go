package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"
)

// Once every process of the group has ended, only a process that left the group can hold a
// pipe open. Readers then wait drain for more, and get maxDrain in all for what is still in
// the pipe: on a busy machine they may be far behind.
const (
	drain    = 2 * time.Second
	maxDrain = time.Minute
)

// command is one process to run.
type command struct {
	path string
	args []string
	dir  string
	env  []string

	// Both are called from their own goroutine, one line at a time.
	stdout func(line)
	stderr func(line)
	// document, if set, takes all of stdout instead of lines.
	document func(io.Reader) error

	// deadline until the interrupt, and grace from it until the kill; zero means no limit.
	deadline time.Duration
	grace    time.Duration
	// force, when closed, ends the grace period.
	force <-chan struct{}
	// kill, when closed, kills at once.
	kill <-chan struct{}
}

// ending says how a process ended.
type ending struct {
	exitCode int
	// signal that ended the process, "" if it exited by itself.
	signal      string
	interrupted bool
	timedOut    bool
	killed      bool
	// readErr is a problem of taking the output.
	readErr error
}

// execute runs one command to its end and returns once nothing of its process group
// is left. The error is set only if the process could not be started. A cancelled
// context is no error: it is told by ending.interrupted.
func execute(ctx context.Context, c command) (ending, error) {
	outR, outW, err := os.Pipe()
	if err != nil {
		return ending{}, fmt.Errorf("opening a pipe: %w", err)
	}
	defer outR.Close()
	errR, errW, err := os.Pipe()
	if err != nil {
		_ = outW.Close()
		return ending{}, fmt.Errorf("opening a pipe: %w", err)
	}
	defer errR.Close()

	cmd := exec.Command(c.path, c.args...) //nolint:noctx // Its context would kill; we interrupt first.
	cmd.Dir, cmd.Env = c.dir, c.env
	cmd.Stdout, cmd.Stderr = outW, errW
	// The child holds the reading ends too, so that our death does not break its pipes: it
	// would die of its next line and lose the state of all it made so far. Having Linux
	// signal our death to it (Pdeathsig) is no way: the signal comes once for each of our
	// threads that dies, and a second interrupt makes it drop what it is creating.
	cmd.ExtraFiles = []*os.File{outR, errR}
	// A group of its own: the terminal's interrupt reaches us only, and all of it can be killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	roomy(outR)
	roomy(errR)

	err = cmd.Start()
	_ = outW.Close()
	_ = errW.Close()
	if err != nil {
		return ending{}, err
	}
	// Passing a file on made it blocking, for us as well.
	pollable(outR)
	pollable(errR)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	out, errOut := &pipe{file: outR}, &pipe{file: errR}
	read := make(chan error, 2)
	go func() {
		if c.document != nil {
			read <- c.document(out)
			return
		}
		read <- readLines(out, maxLine, c.stdout)
	}()
	go func() { read <- readLines(errOut, maxLine, c.stderr) }()

	end := attend(ctx, c, cmd.Process, ended)
	killRest(cmd.Process.Pid)

	out.end()
	errOut.end()
	for range 2 {
		if err := <-read; err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			end.readErr = errors.Join(end.readErr, err)
		}
	}
	return end, nil
}

// pipe is the reading end of one.
type pipe struct {
	file *os.File
	// last is when reading ends at the latest, in nanoseconds since 1970; zero while the process runs.
	last atomic.Int64
}

// end says that nothing more is expected than what is in the pipe.
func (p *pipe) end() {
	now := time.Now()
	p.last.Store(now.Add(maxDrain).UnixNano())
	_ = p.file.SetReadDeadline(now.Add(drain)) // ends a read that waits
}

// Read implements io.Reader.
func (p *pipe) Read(b []byte) (int, error) {
	if last := p.last.Load(); last != 0 {
		limit := time.Now().Add(drain)
		if end := time.Unix(0, last); end.Before(limit) {
			limit = end
		}
		_ = p.file.SetReadDeadline(limit)
	}
	return p.file.Read(b)
}

// pollable lets reads of a pipe have deadlines again.
func pollable(f *os.File) {
	raw, err := f.SyscallConn()
	if err != nil {
		return // without deadlines, reads end when the last process does
	}
	_ = raw.Control(func(fd uintptr) { _ = syscall.SetNonblock(int(fd), true) })
}

// killRest ends what the runtime left of its process group, which nobody would end later,
// and waits until it is gone. In the usual case nothing is left and it costs one call.
func killRest(group int) {
	for range 100 {
		if syscall.Kill(-group, syscall.SIGKILL) != nil {
			return
		}
		time.Sleep(2 * time.Millisecond) // they are children of init now: nothing to wait on
	}
}

// attend waits for the end of the process: one interrupt when the context ends or
// the deadline passes, a kill of the group when the grace period is over.
func attend(ctx context.Context, c command, p *os.Process, ended <-chan error) ending {
	var end ending
	var deadline, grace <-chan time.Time
	if c.deadline > 0 {
		t := time.NewTimer(c.deadline)
		defer t.Stop()
		deadline = t.C
	}
	done := ctx.Done()
	var force <-chan struct{}
	death := c.kill

	interrupt := func() {
		done, deadline = nil, nil
		end.interrupted = true
		// Only the runtime itself: it stops its plugins and provisioners in order, and a
		// launcher that passes signals on must not double them.
		_ = p.Signal(os.Interrupt)
		force = c.force
		if c.grace > 0 {
			grace = time.After(c.grace)
		}
	}
	kill := func() {
		force, grace, death = nil, nil, nil
		done, deadline = nil, nil
		end.killed = true
		_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	}
	for {
		select {
		case <-done:
			interrupt()
		case <-deadline:
			end.timedOut = true
			interrupt()
		case <-force:
			kill()
		case <-death:
			kill()
		case <-grace:
			kill()
		case err := <-ended:
			end.exitCode, end.signal = status(err)
			return end
		}
	}
}

// status reads how a process ended from what Wait returned.
func status(err error) (exitCode int, signal string) {
	var ee *exec.ExitError
	switch {
	case err == nil:
		return 0, ""
	case errors.As(err, &ee):
		if ws, ok := ee.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return -1, ws.Signal().String()
		}
		return ee.ExitCode(), ""
	}
	return -1, ""
}
