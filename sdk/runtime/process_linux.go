package runtime

import (
	"os"

	"golang.org/x/sys/unix"
)

// roomy makes a pipe as large as anybody may, so that a runtime whose caller died can
// go on for hours before it fills it.
func roomy(f *os.File) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
	}
}
