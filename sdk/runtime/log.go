package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxLog is the largest log of one run, in bytes.
const maxLog = 64 << 20

// logFile is the raw log of one run. That it cannot be written is no reason not to
// run: on a full disk a destroy must still be possible. It is then missing or short.
type logFile struct {
	path string
	f    *os.File
	left int
	size int
}

// openLog creates the log NNNN-STEP.log; numbers go on where earlier runs ended.
func (w *Workdir) openLog(c call) *logFile {
	l := &logFile{left: maxLog}
	if os.MkdirAll(w.logDir, 0o700) != nil {
		return l
	}
	if w.lastLog == 0 {
		old, _ := os.ReadDir(w.logDir) // an unreadable directory starts at 1
		for _, e := range old {
			number, _, _ := strings.Cut(e.Name(), "-")
			if n, err := strconv.Atoi(number); err == nil {
				w.lastLog = max(w.lastLog, n)
			}
		}
	}
	w.lastLog++
	path := filepath.Join(w.logDir, fmt.Sprintf("%04d-%s.log", w.lastLog, c.step))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return l
	}
	l.path, l.f = path, f
	l.write([]byte(w.redact.text("# " + w.bin.String() + ": " + shown(c.args))))
	return l
}

// shown are arguments without the values of backend settings, which may be credentials.
func shown(args []string) string {
	list := make([]string, len(args))
	for i, a := range args {
		list[i] = a
		if setting, ok := strings.CutPrefix(a, "-backend-config="); ok {
			if key, _, ok := strings.Cut(setting, "="); ok {
				list[i] = "-backend-config=" + key + "=…"
			}
		}
	}
	return strings.Join(list, " ")
}

// write adds a line at once, so that the log can be followed and survives us.
func (l *logFile) write(text []byte) {
	if l.f == nil || l.left <= 0 {
		return
	}
	if l.left -= len(text) + 1; l.left <= 0 {
		text = []byte("# the log ends here: it reached its limit")
	}
	n, _ := l.f.Write(append(text[:len(text):len(text)], '\n'))
	l.size += n
}

// close ends the log and returns its path, "" if there is nothing in it.
func (l *logFile) close() string {
	if l.f == nil {
		return ""
	}
	_ = l.f.Close()
	if l.size == 0 {
		_ = os.Remove(l.path)
		return ""
	}
	return l.path
}
