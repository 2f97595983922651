package runtime

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Errors that a [RunError] wraps, for errors.Is.
var (
	// ErrInterrupted: the context ended and the runtime stopped for it.
	ErrInterrupted = errors.New("interrupted")
	// ErrTimeout: the deadline of the step passed.
	ErrTimeout = errors.New("deadline passed")
	// ErrGarbage: the runtime ended well but its answer cannot be read.
	ErrGarbage = errors.New("unreadable answer")
)

// RunError says how a step failed. Everything in it has secrets replaced.
type RunError struct {
	Step Step
	// Dir is the working directory, as given.
	Dir string
	// Runtime is the name and version of the runtime.
	Runtime string
	// ExitCode is that of the runtime, -1 if a signal ended it or it did not start.
	ExitCode int
	// Signal that ended the runtime, such as "killed"; "" if it exited by itself.
	Signal string
	// Interrupted tells that the context ended; Timeout that the deadline After passed;
	// Killed that the grace period after either was not enough.
	Interrupted, Timeout, Killed bool
	After                        time.Duration
	// Diagnostics are the errors; warnings are in the result only.
	Diagnostics []Diagnostic
	// Crash is the line with which a runtime that crashed began to say so.
	Crash string
	// Output is the end of what the runtime printed, if it gave no diagnostics.
	Output string
	// RescuedState is the path of a state that could not be stored where it belongs. LostState
	// tells that there was no place for it either: it is in Result.EmergencyState only.
	RescuedState string
	LostState    bool
	// Log is the path of the raw log, "" if there is none.
	Log string
	// Err is the cause, if it is none of the above.
	Err error
}

// Error is one line: step, what happened, the first error with its place and
// address, how many more there are.
func (e *RunError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "running %s %s in %s: ", e.Runtime, e.Step, e.Dir)
	switch {
	case e.Timeout && e.Killed:
		fmt.Fprintf(&b, "not done after %s, and it ignored the interrupt, so it was killed", e.After)
	case e.Timeout:
		fmt.Fprintf(&b, "not done after %s, interrupted", e.After)
	case e.Interrupted && e.Killed:
		b.WriteString("interrupted, but it did not stop in time, so it was killed")
	case e.Interrupted:
		b.WriteString("interrupted")
	case e.Killed:
		b.WriteString("killed, as was asked for")
	case e.Signal != "":
		fmt.Fprintf(&b, "ended by signal %q, which nobody here sent", e.Signal)
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	case e.Crash != "":
		fmt.Fprintf(&b, "it crashed with exit code %d: %s", e.ExitCode, lastBytes(oneLine(e.Crash), 400))
	case len(e.Diagnostics) == 0:
		fmt.Fprintf(&b, "exit code %d", e.ExitCode)
	}
	sep := ": "
	if strings.HasSuffix(b.String(), ": ") {
		sep = ""
	}
	switch n := len(e.Diagnostics); {
	case n > 0:
		b.WriteString(sep + e.Diagnostics[0].String())
		if n == 2 {
			b.WriteString(" (and 1 more error)")
		} else if n > 2 {
			fmt.Fprintf(&b, " (and %d more errors)", n-1)
		}
	case e.Crash != "" || strings.TrimSpace(e.Output) == "":
	case !readable(e.Output):
		b.WriteString(sep + "what it printed is no text")
	default:
		fmt.Fprintf(&b, "%sit printed %q", sep, lastBytes(oneLine(e.Output), 400))
	}
	if e.RescuedState != "" {
		fmt.Fprintf(&b, " (the state could not be stored and was saved to %s)", e.RescuedState)
	}
	if e.LostState {
		b.WriteString(" (the state could be stored nowhere: what was created is not recorded)")
	}
	if e.Log != "" && (len(e.Diagnostics) == 0 || e.Killed) {
		fmt.Fprintf(&b, " (log: %s)", e.Log)
	}
	return b.String()
}

// Unwrap gives the cause and the sentinel errors that apply.
func (e *RunError) Unwrap() []error {
	var errs []error
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	if e.Interrupted && !e.Timeout {
		errs = append(errs, ErrInterrupted)
	}
	if e.Timeout {
		errs = append(errs, ErrTimeout)
	}
	return errs
}

// readable reports whether a text is one: at most a twentieth of it cannot be shown.
func readable(s string) bool {
	all, odd := 0, 0
	for _, r := range s {
		all++
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			odd++
		}
	}
	return odd*20 <= all
}

// lastBytes is the end of s, cut at a rune.
func lastBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "…" + strings.ToValidUTF8(s[len(s)-n:], "")
}
