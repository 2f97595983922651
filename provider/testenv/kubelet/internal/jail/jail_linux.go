package jail

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// initName is what the program calls itself when it is to make a jail and become the program in it.
const initName = "testenv-jail"

// The file descriptors that it gets: the description, and where to tell of a failure.
const (
	describedBy = 3
	failureTo   = 4
)

func init() {
	if len(os.Args) != 1 || os.Args[0] != initName {
		return
	}
	runtime.LockOSThread()
	failed := enter(os.NewFile(describedBy, "description"))
	text, err := json.Marshal(failed)
	if err == nil {
		_, err = os.NewFile(failureTo, "failure").Write(text)
	}
	if err != nil {
		os.Exit(2)
	}
	os.Exit(1)
}

// enter makes the jail and becomes the program. It returns only when something went wrong.
func enter(description *os.File) *SetupError {
	var s Spec
	if err := json.NewDecoder(description).Decode(&s); err != nil {
		return &SetupError{Text: fmt.Sprintf("reading the description of the jail: %v", err)}
	}
	_ = description.Close()
	// Whoever started the tests may have left files open, such as locks. A kernel before 5.11 cannot do it at once.
	if err := unix.CloseRange(failureTo, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		unix.CloseOnExec(failureTo)
	}
	for _, step := range []struct {
		doing string
		do    func() error
	}{
		{"mounting", s.mount},
		{"setting the host name", func() error { return unix.Sethostname([]byte(s.Hostname)) }},
		{"changing users", s.becomeUser},
		{"entering " + s.Dir, func() error { return unix.Chdir(s.Dir) }},
	} {
		if err := step.do(); err != nil {
			return &SetupError{Text: fmt.Sprintf("%s: %v", step.doing, err)}
		}
	}
	program, err := lookPath(s.Args[0], s.Env)
	if err == nil {
		err = unix.Exec(program, s.Args, s.Env)
	}
	return &SetupError{Start: true, Text: fmt.Sprintf("exec: %q: %v", s.Args[0], err)}
}

// lookPath is exec.LookPath for the PATH of the program.
func lookPath(program string, env []string) (string, error) {
	if strings.Contains(program, "/") {
		return program, nil
	}
	path := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	for dir := range strings.SplitSeq(path, ":") {
		p := filepath.Join("/", dir, program)
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", errors.New("executable file not found in $PATH")
}

// mount makes Root the root. Mount points are made and resolved by the kernel when it is the root already, so that
// links in the image lead nowhere else.
func (s *Spec) mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := unix.Mount(s.Root, s.Root, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mounting the root: %w", err)
	}
	// Its name is not known to the image.
	before, err := os.MkdirTemp(s.Root, ".before-")
	if err != nil {
		return fmt.Errorf("making the mount point of the old root: %w", err)
	}
	if err := unix.PivotRoot(s.Root, before); err != nil {
		return fmt.Errorf("changing the root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("entering the root: %w", err)
	}
	before = "/" + filepath.Base(before)
	if err := s.mountSystem(before); err != nil {
		return err
	}
	for _, m := range s.Mounts {
		if err := m.mount(before); err != nil {
			return fmt.Errorf("mounting %s: %w", m.Target, err)
		}
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil { //nolint:gosec // as in an image
		return fmt.Errorf("making %s: %w", s.Dir, err)
	}
	if err := unix.Unmount(before, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leaving the old root: %w", err)
	}
	if err := os.Remove(before); err != nil {
		return fmt.Errorf("leaving the old root: %w", err)
	}
	if s.ReadOnly {
		return readOnly("/")
	}
	return nil
}

// devices are those that programs take for granted.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

func (s *Spec) mountSystem(before string) error {
	for _, d := range []string{"/proc", "/dev"} {
		if err := os.MkdirAll(d, 0o755); err != nil { //nolint:gosec // as in an image
			return fmt.Errorf("making %s: %w", d, err)
		}
	}
	if s.Proc {
		if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
			return fmt.Errorf("mounting /proc: %w", err)
		}
	}
	if err := unix.Mount("tmpfs", "/dev", "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=0755,size=1m"); err != nil {
		return fmt.Errorf("mounting /dev: %w", err)
	}
	for _, d := range devices {
		m := Mount{Source: "/dev/" + d, Target: "/dev/" + d, File: true}
		if _, err := os.Stat(before + m.Source); err != nil {
			continue
		}
		if err := m.mount(before); err != nil {
			return fmt.Errorf("mounting %s: %w", m.Target, err)
		}
	}
	for name, target := range map[string]string{"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"} {
		if err := os.Symlink("/proc/self/fd"+target, "/dev/"+name); err != nil {
			return fmt.Errorf("making /dev/%s: %w", name, err)
		}
	}
	if err := os.Mkdir("/dev/shm", 0o777); err != nil { //nolint:gosec // as everywhere
		return fmt.Errorf("making /dev/shm: %w", err)
	}
	return unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=1777,size=64m")
}

func (m Mount) mount(before string) error {
	if m.File {
		if err := os.MkdirAll(filepath.Dir(m.Target), 0o755); err != nil { //nolint:gosec // as in an image
			return err
		}
		f, err := os.OpenFile(m.Target, os.O_CREATE|os.O_RDONLY, 0o600)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	} else if err := os.MkdirAll(m.Target, 0o755); err != nil { //nolint:gosec // as above
		return err
	}
	if err := unix.Mount(before+m.Source, m.Target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	if m.ReadOnly {
		return readOnly(m.Target)
	}
	return nil
}

// readOnly takes the right to write from a mount. Flags that it has cannot be taken back in a namespace, so they are
// repeated.
func readOnly(target string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(target, &s); err != nil {
		return err
	}
	flags := uintptr(unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY | unix.MS_NOSUID)
	for have, flag := range map[int64]uintptr{
		unix.ST_NODEV: unix.MS_NODEV, unix.ST_NOEXEC: unix.MS_NOEXEC, unix.ST_NOATIME: unix.MS_NOATIME,
		unix.ST_NODIRATIME: unix.MS_NODIRATIME, unix.ST_RELATIME: unix.MS_RELATIME,
	} {
		if s.Flags&have != 0 {
			flags |= flag
		}
	}
	if err := unix.Mount("", target, "", flags, ""); err != nil {
		return fmt.Errorf("making it read-only: %w", err)
	}
	return nil
}

// becomeUser gives up what the program is not to have.
func (s *Spec) becomeUser() error {
	var allowed uint64
	if s.UID == 0 {
		allowed = s.Capabilities
	}
	for c := range uintptr(unix.CAP_LAST_CAP + 1) {
		if allowed&(1<<c) == 0 {
			// A kernel that is older than the list knows fewer.
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
				return fmt.Errorf("bounding capabilities: %w", err)
			}
		}
	}
	if s.AllUsers {
		if err := errors.Join(unix.Setgroups(s.Groups), unix.Setresgid(s.GID, s.GID, s.GID), unix.Setresuid(s.UID, s.UID, s.UID)); err != nil {
			return fmt.Errorf("becoming %d:%d: %w", s.UID, s.GID, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	low, high := uint32(allowed), uint32(allowed>>32)
	data := [2]unix.CapUserData{{Effective: low, Permitted: low}, {Effective: high, Permitted: high}}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("giving up capabilities: %w", err)
	}
	// Another user forgets it.
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
}

// thread runs functions on one thread that never ends: a process is killed when the thread that started it ends.
var thread = sync.OnceValue(func() chan func() {
	c := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range c {
			f()
		}
	}()
	return c
})

func onThread(f func()) {
	done := make(chan struct{})
	thread() <- func() {
		defer close(done)
		f()
	}
	<-done
}

func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// setupCapabilities are what making a jail takes.
var setupCapabilities = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT, unix.CAP_SETPCAP, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_DAC_OVERRIDE,
	unix.CAP_CHOWN, unix.CAP_FOWNER, unix.CAP_NET_BIND_SERVICE, unix.CAP_KILL, unix.CAP_FSETID,
}

// Start makes a jail and starts the program in it. An error of the kind *SetupError tells what did not work. Output is
// the program's standard output and error. The program dies with this one.
func Start(s Spec, output *os.File) (_ *Process, err error) {
	description, err := describe(s)
	if err != nil {
		return nil, err
	}
	defer description.Close()
	failure, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	defer failure.Close()
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{initName}, Env: []string{}, Stdout: output, Stderr: output}
	cmd.ExtraFiles = []*os.File{description, w}
	users := []syscall.SysProcIDMap{{ContainerID: s.UID, HostID: os.Geteuid(), Size: 1}}
	groups := []syscall.SysProcIDMap{{ContainerID: s.GID, HostID: os.Getegid(), Size: 1}}
	if s.AllUsers {
		if users, err = identity("/proc/self/uid_map"); err == nil {
			groups, err = identity("/proc/self/gid_map")
		}
		if err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		UidMappings: users, GidMappings: groups, GidMappingsEnableSetgroups: s.AllUsers,
		AmbientCaps: setupCapabilities, Pdeathsig: syscall.SIGKILL, Setsid: true,
	}
	onThread(func() { err = cmd.Start() })
	if closing := w.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, &SetupError{Text: fmt.Sprintf("making namespaces: %v", err)}
	}
	p := wait(cmd, false)
	text, err := io.ReadAll(io.LimitReader(failure, 64<<10)) // it ends when the program is started
	if err != nil || len(text) > 0 {
		_ = p.Kill()
		<-p.Done
		failed := &SetupError{Text: "the jail said nothing"}
		if err == nil {
			err = json.Unmarshal(text, failed)
		}
		if err != nil {
			failed.Text = fmt.Sprintf("reading what went wrong: %v", err)
		}
		return nil, failed
	}
	return p, nil
}

// describe puts the description into memory that only the jail can read: it holds the environment.
func describe(s Spec) (*os.File, error) {
	fd, err := unix.MemfdCreate("jail", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("describing the jail: %w", err)
	}
	f := os.NewFile(uintptr(fd), "jail")
	if err := json.NewEncoder(f).Encode(s); err != nil {
		return nil, errors.Join(fmt.Errorf("describing the jail: %w", err), f.Close())
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, errors.Join(fmt.Errorf("describing the jail: %w", err), f.Close())
	}
	return f, nil
}

// identity maps every user that this process knows to itself.
func identity(file string) (out []syscall.SysProcIDMap, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the users of this machine: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		var inside, outside, size int
		if _, err := fmt.Sscan(line, &inside, &outside, &size); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		out = append(out, syscall.SysProcIDMap{ContainerID: inside, HostID: inside, Size: size})
	}
	return out, nil
}

// Probe tries a jail out in an empty directory, with a program that is not there: everything before has to work.
func Probe(dir string, allUsers, proc bool) error {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	p, err := Start(Spec{
		Root: dir, ReadOnly: true, Args: []string{"/none"}, Dir: "/", UID: 65532, GID: 65532, AllUsers: allUsers, Proc: proc, Hostname: "probe",
	}, null)
	var failed *SetupError
	switch {
	case errors.As(err, &failed) && failed.Start:
		return nil
	case err == nil:
		return errors.Join(errors.New("a program that is not there was started"), p.Kill())
	}
	return err
}
