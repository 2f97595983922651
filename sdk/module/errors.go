package module

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// maxShown is how many problems the text of a [LoadError] lists.
const maxShown = 20

// LoadError says why a directory does not load. Each problem says what is
// wrong, where, and what to do.
type LoadError struct {
	// Dir is the directory as it was given to [Load].
	Dir string
	// Problems holds at least one diagnostic of severity error. A Subject names
	// its file relative to Dir; a problem of the directory itself has none.
	Problems hcl.Diagnostics
	// Files holds what was read, to print source lines from.
	Files []*File

	cause error
}

// Error lists the problems, one a line, as "file:line:column: what: what to do".
func (e *LoadError) Error() string {
	var b strings.Builder
	shown := e.Problems
	if len(shown) > maxShown {
		shown = shown[:maxShown]
	}
	for i, p := range shown {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.Place(p))
		b.WriteString(": ")
		b.WriteString(Message(p))
	}
	if more := len(e.Problems) - len(shown); more > 0 {
		fmt.Fprintf(&b, "\n%s: and %d more problems", e.Dir, more)
	}
	return b.String()
}

// Unwrap returns the error of the operating system, if one was the cause.
func (e *LoadError) Unwrap() error { return e.cause }

// Place returns where a problem lies, as a path that starts at the directory
// given to [Load], with line and column if known.
func (e *LoadError) Place(p *hcl.Diagnostic) string {
	if p.Subject == nil {
		return e.Dir
	}
	path := filepath.Join(e.Dir, filepath.FromSlash(p.Subject.Filename))
	if p.Subject.Start.Line == 0 {
		return path
	}
	return fmt.Sprintf("%s:%d:%d", path, p.Subject.Start.Line, p.Subject.Start.Column)
}

// Message returns a diagnostic's text in one line, without its place.
func Message(p *hcl.Diagnostic) string {
	s := strings.TrimSuffix(p.Summary, ".")
	if p.Detail != "" {
		s += ": " + p.Detail
	}
	return strings.Join(strings.Fields(s), " ")
}

// problem makes an error diagnostic.
func problem(at *hcl.Range, summary, detail string, args ...any) *hcl.Diagnostic {
	if len(args) > 0 {
		detail = fmt.Sprintf(detail, args...)
	}
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: at}
}
