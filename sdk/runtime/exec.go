package runtime

import (
	"context"
	"io"
	"time"
)

// Command is one process for [Execute].
type Command struct {
	// Path of the binary, its arguments, the directory it runs in, and its whole environment.
	Path string
	Args []string
	Dir  string
	Env  []string
	// Stdout and Stderr take the output, one line at a time without its end, each from its own goroutine. The text is
	// valid during the call only; cut tells that the line was longer than what is kept of one, 16 MiB.
	Stdout, Stderr func(text []byte, cut bool)
	// Document, if set, takes all of the standard output instead of Stdout.
	Document func(io.Reader) error
	// Grace is the time from the interrupt to the kill; zero means no limit.
	Grace time.Duration
}

// Ending says how a [Command] ended.
type Ending struct {
	// ExitCode is -1 if a signal ended the process, which Signal then names.
	ExitCode int
	Signal   string
	// Interrupted tells that the context ended before the process, Killed that the grace period was not enough.
	Interrupted, Killed bool
	// ReadErr is a problem of taking the output.
	ReadErr error
}

// Execute runs a command as the steps of a [Workdir] are run, for a caller that has its own arguments and environment: one
// interrupt when the context ends, a kill of the whole process group after the grace period, and nothing of the group left
// when it returns. The error is set only if the process could not be started. It replaces no secrets.
func Execute(ctx context.Context, c Command) (Ending, error) {
	discard := func([]byte, bool) {}
	if c.Stdout == nil {
		c.Stdout = discard
	}
	if c.Stderr == nil {
		c.Stderr = discard
	}
	end, err := execute(ctx, command{
		path: c.Path, args: c.Args, dir: c.Dir, env: c.Env, document: c.Document, grace: c.Grace,
		stdout: func(l line) { c.Stdout(l.text, l.cut) },
		stderr: func(l line) { c.Stderr(l.text, l.cut) },
	})
	return Ending{
		ExitCode: end.exitCode, Signal: end.signal, Interrupted: end.interrupted, Killed: end.killed, ReadErr: end.readErr,
	}, err
}

// DecodeValidation reads the document of `validate -json`.
func DecodeValidation(doc []byte) ([]Diagnostic, error) { return decodeValidation(doc) }

// TextDiagnostics reads the errors and warnings that runtimes print as text for people.
func TextDiagnostics(text string) []Diagnostic { return humanDiagnostics(text) }

// Tail keeps the last lines of a text within a limit of bytes.
type Tail struct{ t *tail }

// NewTail returns a tail with a limit in bytes.
func NewTail(limit int) *Tail { return &Tail{t: newTail(limit)} }

// Add adds a line.
func (t *Tail) Add(text []byte) { t.t.add(text) }

// String is the kept text, without colours and cleaned of bytes that are not UTF-8.
func (t *Tail) String() string { return t.t.String() }
