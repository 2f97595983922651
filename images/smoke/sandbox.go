package smoke

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/captf-toolkit/captf/contract/image"
)

// sandbox runs commands in the unpacked image.
type sandbox interface {
	// rootfs is where the image was unpacked, host where a path of the work
	// directory is on this machine.
	rootfs() string
	host(path string) string
	// seen is where a command finds a path of the image.
	seen(path string) string
	// exec runs a command of the image and returns what it wrote. An error with
	// ExitCode is one of the command.
	exec(ctx context.Context, env []string, dir string, args []string) (out, errs []byte, err error)
}

// place are the directories of a sandbox.
type place struct {
	root, work, tmp string
}

func newPlace(dir string) place {
	return place{root: filepath.Join(dir, "rootfs"), work: filepath.Join(dir, "work"), tmp: filepath.Join(dir, "tmp")}
}

func (p place) rootfs() string { return p.root }

func (p place) host(path string) string {
	return filepath.Join(p.work, filepath.FromSlash(strings.TrimPrefix(path, image.WorkPath)))
}

// userID is the numeric user of an image, UserID for a name or root: a Job runs
// as no root.
func userID(user string) int {
	name, _, _ := strings.Cut(user, ":")
	if id, err := strconv.Atoi(name); err == nil && id > 0 {
		return id
	}
	return image.UserID
}

// grace is how long a command may take to end after it was interrupted.
const grace = 10 * time.Second

// maxOutput is how much of what a command writes is kept, in bytes.
const maxOutput = 8 << 20

// run starts the command and keeps what it writes, in bounds.
func run(cmd *exec.Cmd) (out, errs []byte, err error) {
	var o, e limited
	cmd.Stdout, cmd.Stderr = &o, &e
	cmd.WaitDelay = grace
	err = cmd.Run()
	return o.Bytes(), e.Bytes(), err
}

// limited keeps the first maxOutput bytes.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := maxOutput - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

// open is no sandbox: the command runs on this machine as it is, with the paths
// of the unpacked image instead of those in the image.
type open struct{ place }

func (b open) seen(path string) string { return filepath.Join(b.root, filepath.FromSlash(path)) }

func (b open) exec(ctx context.Context, env []string, dir string, args []string) (out, errs []byte, err error) {
	cmd := exec.CommandContext(ctx, b.seen(args[0]), args[1:]...)
	cmd.Dir = b.host(dir)
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case name == "TMPDIR":
			value = b.tmp
		case strings.HasPrefix(value, image.WorkPath):
			value = b.host(value)
		}
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return run(cmd)
}
