package runner

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// log writes lines, with secrets replaced, as they come. That a line cannot be written is no reason to stop a run.
type log struct {
	mu      sync.Mutex
	w       io.Writer
	secrets *redactor
}

// say writes a line of the runner itself.
func (l *log) say(format string, args ...any) {
	l.write("runner", l.secrets.text(fmt.Sprintf(format, args...)))
}

// write writes text that has no secrets, each line with its source before it.
func (l *log) write(source, text string) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(source + ": " + strings.TrimRight(line, "\r\n") + "\n")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = io.WriteString(l.w, b.String())
}
