package testenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Every environment has a directory below one of the user's, in which are:
//
//	lock         locked for as long as the program that started it lives
//	NAME.sh      starts the program NAME after writing down its process id
//	NAME.pid     that id
//	NAME.log     what the program says
//
// A guard, which is a shell that waits for this program to end, kills what is left and removes the directory. Should
// somebody kill the guard as well, the next Start does it.

// base is where the directories of this user's environments are.
func base(dir string) (string, error) {
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "testenv-"+strconv.Itoa(os.Getuid()))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making the directory of test control planes: %w", err)
	}
	return dir, nil
}

// claim makes a new directory below base and locks it.
func claim(base string) (dir string, lock *os.File, err error) {
	dir, err = os.MkdirTemp(base, "env-")
	if err != nil {
		return "", nil, fmt.Errorf("making the directory of the control plane: %w", err)
	}
	lock, err = os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("locking %s: %w", dir, err), os.RemoveAll(dir))
	}
	return dir, lock, nil
}

// sweep ends what programs left that were killed together with their guards.
func sweep(base string) {
	dirs, _ := filepath.Glob(filepath.Join(base, "env-*"))
	for _, dir := range dirs {
		lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
		if err != nil {
			continue // it is being made or removed just now
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			killAll(dir)
			_ = os.RemoveAll(dir)
		}
		_ = lock.Close()
	}
}

// pids are the process ids that are written down in dir.
func pids(dir string) (out []int) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.pid"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && pid > 1 {
			out = append(out, pid)
		}
	}
	return out
}

// killAll kills the processes whose ids are in dir, if they are still the ones that were started there.
func killAll(dir string) {
	for _, pid := range pids(dir) {
		if strings.Contains(commandLine(pid), dir) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// commandLine is that of a process, empty when it is gone. All our processes have files in their environment's
// directory among their arguments.
func commandLine(pid int) string {
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
		return string(text)
	}
	text, _ := exec.CommandContext(context.Background(), "ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return string(text)
}

// wrapper writes a script that starts a program and keeps its process id in dir. Setting envtest's path to it is the
// only way to learn the ids of the processes that envtest starts.
func wrapper(dir, program, path string) (string, error) {
	script := filepath.Join(dir, program+".sh")
	// The help is asked for flags that went away with Kubernetes 1.24, at a third of a second each time.
	text := fmt.Sprintf("#!/bin/sh\n[ \"$1\" != --help ] || exit 0\necho $$ >%s\nexec %s \"$@\"\n",
		quote(filepath.Join(dir, program+".pid")), quote(path))
	// A process that is started elsewhere at this moment must not inherit the open file: it would be busy.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil { //nolint:gosec // a program
		return "", fmt.Errorf("writing %s: %w", script, err)
	}
	return script, nil
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// guardScript kills what it was told of and what is written down when its input ends without the word done: this
// program, which has the other end of the pipe, is dead then.
const guardScript = `pids=
while read -r line; do
  [ "$line" != done ] || exit 0
  pids="$pids $line"
done
for file in "$1"/*.pid; do [ ! -f "$file" ] || pids="$pids $(cat "$file")"; done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
rm -rf "$1"`

// guardian is the process that cleans up when this one ends without doing so.
type guardian struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

func guard(dir string) (*guardian, error) {
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", guardScript, "testenv-guard", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // an interrupt at the terminal is not for it
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("starting the guard of the control plane: %w", err)
	}
	return &guardian{cmd, in}, nil
}

// watch tells it of the processes that are written down now, for the case that somebody removes the directory first.
func (g *guardian) watch(dir string) error {
	for _, pid := range pids(dir) {
		if _, err := fmt.Fprintln(g.in, pid); err != nil {
			return fmt.Errorf("telling the guard of the control plane what to guard: %w", err)
		}
	}
	return nil
}

// release calls it off.
func (g *guardian) release() error {
	_, err := io.WriteString(g.in, "done\n")
	return errors.Join(err, g.in.Close(), g.cmd.Wait())
}

// tail is the end of a program's log, for messages.
func tail(dir, program string) string {
	const most = 2000
	text, err := os.ReadFile(filepath.Join(dir, program+".log"))
	if err != nil || len(text) == 0 {
		return ""
	}
	return fmt.Sprintf("\nthe end of the log of %s:\n%s", program, text[max(0, len(text)-most):])
}
