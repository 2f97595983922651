package smoke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/captf-toolkit/captf/contract/image"
)

// initName is what the program calls itself when it is to set up a sandbox and
// become the command in it.
const initName = "captf-sandbox"

// jail describes a sandbox to the process that sets it up.
type jail struct {
	Root, Work, Tmp string
	Dir             string
	Args, Env       []string
}

// setupFailed is the exit code of the setting up; what the command itself exits
// with is seen through a file descriptor that it does not get.
const setupFailed = 125

// Init has to be called first in the main function of a program that calls Run,
// and in TestMain: the program starts itself again to set up a sandbox. In all
// other cases it does nothing.
func Init() {
	if len(os.Args) != 2 || os.Args[0] != initName {
		return
	}
	runtime.LockOSThread()
	var j jail
	err := json.Unmarshal([]byte(os.Args[1]), &j)
	if err == nil {
		err = j.enter()
	}
	fmt.Fprintf(os.NewFile(3, "setup"), "%v", err)
	os.Exit(setupFailed)
}

// devices are those that programs take for granted.
var devices = []string{"null", "zero", "full", "random", "urandom"}

// enter makes the image the root and becomes the command. It returns only when
// something went wrong.
func (j jail) enter() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := unix.Mount(j.Root, j.Root, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mounting the image: %w", err)
	}
	if err := unix.Mount("tmpfs", filepath.Join(j.Root, "dev"), "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=0755,size=64k"); err != nil {
		return fmt.Errorf("mounting /dev: %w", err)
	}
	for _, d := range devices {
		to := filepath.Join(j.Root, "dev", d)
		if err := os.WriteFile(to, nil, 0o600); err != nil { // a mount point only
			return fmt.Errorf("making /dev/%s: %w", d, err)
		}
		if err := unix.Mount("/dev/"+d, to, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting /dev/%s: %w", d, err)
		}
	}
	for from, to := range map[string]string{j.Work: image.WorkPath, j.Tmp: "/tmp"} {
		if err := unix.Mount(from, filepath.Join(j.Root, to), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", to, err)
		}
	}
	// Not every kernel lets a namespace have /proc of its own; programs that
	// need it are rare.
	_ = unix.Mount("proc", filepath.Join(j.Root, "proc"), "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if err := readOnly(j.Root); err != nil {
		return fmt.Errorf("making the image read-only: %w", err)
	}
	if err := unix.Chroot(j.Root); err != nil {
		return fmt.Errorf("entering the image: %w", err)
	}
	if err := unix.Chdir(j.Dir); err != nil {
		return fmt.Errorf("entering %s: %w", j.Dir, err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("giving up capabilities: %w", err)
	}
	unix.CloseOnExec(3)
	if err := unix.Exec(j.Args[0], j.Args, j.Env); err != nil {
		return fmt.Errorf("starting %s: %w", j.Args[0], err)
	}
	return nil
}

// readOnly remounts the image without the right to write. Flags that the mount
// below has cannot be taken back in a namespace, so they are repeated.
func readOnly(root string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(root, &s); err != nil {
		return err
	}
	flags := uintptr(unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY | unix.MS_NOSUID)
	for have, flag := range map[int64]uintptr{unix.ST_NODEV: unix.MS_NODEV, unix.ST_NOEXEC: unix.MS_NOEXEC, unix.ST_NOATIME: unix.MS_NOATIME, unix.ST_RELATIME: unix.MS_RELATIME} {
		if s.Flags&have != 0 {
			flags |= flag
		}
	}
	return unix.Mount("", root, "", flags, "")
}

func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

// jailed runs commands in namespaces of their own.
type jailed struct {
	place
	uid int
}

func (jailed) seen(path string) string { return path }

// newSandbox makes the strictest sandbox that this machine allows, and says what
// it does not do.
func newSandbox(ctx context.Context, dir, user string) (sandbox, []string, error) {
	p := newPlace(dir)
	for _, d := range []string{p.work, p.tmp, filepath.Join(p.root, image.WorkPath), filepath.Join(p.root, "tmp"), filepath.Join(p.root, "dev"), filepath.Join(p.root, "proc")} {
		if err := mkdirInside(dir, d); err != nil {
			return nil, nil, fmt.Errorf("making mount points in the image: %w", err)
		}
	}
	box := jailed{place: p, uid: userID(user)}
	err := box.probe(ctx)
	if err == nil {
		return box, nil, nil
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	return open{p}, []string{
		fmt.Sprintf("the file system and the network of this machine: namespaces are not to be had (%v)", err),
	}, nil
}

// mkdirInside makes a directory below base and refuses links: the image decides
// about what lies there.
func mkdirInside(base, dir string) error {
	root, err := os.OpenRoot(base)
	if err != nil {
		return err
	}
	defer root.Close()
	rel, err := filepath.Rel(base, dir)
	if err != nil {
		return err
	}
	for p := rel; p != "."; p = filepath.Dir(p) {
		if info, err := root.Lstat(p); err == nil && !info.IsDir() {
			return fmt.Errorf("%s is no directory in the image", strings.TrimPrefix(p, "rootfs"))
		}
	}
	return root.MkdirAll(rel, 0o755)
}

// probe tries the sandbox out with a command that is not there: all but the last
// step has to work.
func (b jailed) probe(ctx context.Context) error {
	_, _, err := b.exec(ctx, nil, image.WorkPath, []string{image.WorkPath + "/none"})
	var setup *setupError
	if errors.As(err, &setup) && strings.HasPrefix(setup.text, "starting ") {
		return nil
	}
	if err == nil {
		return errors.New("a command that is not there ran")
	}
	return err
}

// setupError tells that the sandbox could not be set up, or the command not started.
type setupError struct{ text string }

func (e *setupError) Error() string { return e.text }

func (b jailed) exec(ctx context.Context, env []string, dir string, args []string) (out, errs []byte, err error) {
	description, err := json.Marshal(jail{Root: b.root, Work: b.work, Tmp: b.tmp, Dir: dir, Args: args, Env: env})
	if err != nil {
		return nil, nil, err
	}
	failure, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer failure.Close()
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = []string{initName, string(description)}
	cmd.Env = []string{}
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		// The one user of the namespace is the image's; outside it is whoever runs
		// this program.
		UidMappings:                []syscall.SysProcIDMap{{ContainerID: b.uid, HostID: os.Geteuid(), Size: 1}},
		GidMappings:                []syscall.SysProcIDMap{{ContainerID: b.uid, HostID: os.Getegid(), Size: 1}},
		GidMappingsEnableSetgroups: false,
		AmbientCaps:                []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT, unix.CAP_SETPCAP},
		Pdeathsig:                  syscall.SIGKILL,
	}
	// The first process of a process namespace takes all others with it.
	cmd.Cancel = func() error { return cmd.Process.Kill() }
	runtime.LockOSThread() // Pdeathsig is about the thread that starts it
	defer runtime.UnlockOSThread()
	done := make(chan []byte, 1)
	go func() {
		text := make([]byte, maxSummary)
		n, _ := failure.Read(text)
		done <- text[:n]
	}()
	var started bool
	out, errs, err = runClosing(cmd, w, &started)
	if !started {
		return nil, nil, fmt.Errorf("making namespaces: %w", err)
	}
	if text := <-done; len(text) > 0 {
		return nil, nil, &setupError{string(text)}
	}
	return out, errs, err
}

// runClosing is run for a command that inherits w, which is closed here as soon
// as the command has it.
func runClosing(cmd *exec.Cmd, w *os.File, started *bool) (out, errs []byte, err error) {
	var o, e limited
	cmd.Stdout, cmd.Stderr = &o, &e
	cmd.WaitDelay = grace
	err = cmd.Start()
	closing := w.Close()
	if err != nil {
		return nil, nil, err
	}
	*started = true
	err = errors.Join(cmd.Wait(), closing)
	return o.Bytes(), e.Bytes(), err
}
