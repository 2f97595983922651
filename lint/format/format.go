// Package format writes lint results: text for people, and JSON, SARIF, GitHub
// workflow commands and JUnit for other programs. Every format gets the same
// [Result] and holds nothing that the result does not.
//
// Not in this package: what is a finding (package lint), exit codes (the
// command), and the reference page (generated from package rules).
package format

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/captf-toolkit/captf/lint"
)

// Result is what one run found.
type Result struct {
	// Modules are the modules checked, in the order in which they are reported.
	Modules []Module
	// Recursive tells that the run covered a tree: findings then say in which
	// module they are.
	Recursive bool
	// Image is the image in which the modules are, one a platform; nil for
	// directories.
	Image *Image
	// Rules are the checks that were made.
	Rules []lint.Rule
	// Version is the version of the linter.
	Version string
}

// Image is what was checked of an image.
type Image struct {
	// Reference is the reference as it was given, Digest that of the index or the
	// single image.
	Reference, Digest string
	// Platforms are those that were checked, such as linux/amd64.
	Platforms []string
}

// Module is the result for one module.
type Module struct {
	// Path is the module directory, relative to the directory of the run if it
	// lies below, with forward slashes; in an image it is the reference, and the
	// findings have absolute paths.
	Path string
	// Name is what the user called the module: in a recursive run its path in
	// the tree.
	Name string
	// Role is the role that it was checked for.
	Role string
	// Strict tells that a warning fails the module.
	Strict bool
	// Report is nil when the module could not be read.
	Report *lint.Report
	// Err says why not.
	Err error
	// Problems are the parts of Err with a place, if it has any.
	Problems []Problem
}

// Problem is a reason for which a module cannot be read.
type Problem struct {
	// File is relative to the module directory, empty for the directory itself.
	File string
	// Line and Column count from 1; 0 when not known. UTF16Column is the column
	// in UTF-16 code units.
	Line, Column, UTF16Column int
	// Source is the line, with what may be secret masked; empty when not known.
	Source string
	// Message says what is wrong and what to do.
	Message string
}

// Place is where a problem of the module lies: a path as that of the module,
// with line and column if known.
func (m Module) Place(p Problem) string {
	switch {
	case p.File == "":
		return m.Path
	case p.Line == 0:
		return joinPath(m.Path, p.File)
	}
	return fmt.Sprintf("%s:%d:%d", joinPath(m.Path, p.File), p.Line, p.Column)
}

// MaxProblems is how many problems of one module are listed for people.
const MaxProblems = 20

// errorText says why the module cannot be read, a problem a line; empty when it
// was read.
func (m Module) errorText() string {
	if m.Report != nil {
		return ""
	}
	if len(m.Problems) == 0 {
		return fmt.Sprint(m.Err)
	}
	var lines []string
	for i, p := range m.Problems {
		if i == MaxProblems {
			lines = append(lines, fmt.Sprintf("and %d more problems", len(m.Problems)-i))
			break
		}
		lines = append(lines, m.Place(p)+": "+p.Message)
	}
	return strings.Join(lines, "\n")
}

// Summary counts the findings of all modules.
func (r Result) Summary() lint.Summary {
	var all lint.Summary
	for _, m := range r.Modules {
		if m.Report != nil {
			s := m.Report.Summary()
			all.Error += s.Error
			all.Warning += s.Warning
			all.Info += s.Info
		}
	}
	return all
}

// Format writes results in one way.
type Format struct {
	// Name is the value of --output.
	Name string
	// Doc says in a few words what it is for.
	Doc string
	// Write writes a result.
	Write func(w io.Writer, r Result, o Options) error
}

// Options are about the terminal.
type Options struct {
	// Color allows colours.
	Color bool
}

// All returns the formats, the default first.
func All() []Format {
	return []Format{
		{"text", "a line a finding, with the source below", Text},
		{"json", "one JSON object", JSON},
		{"sarif", "SARIF 2.1.0, for code scanning", SARIF},
		{"github", "workflow commands that annotate a pull request", GitHub},
		{"junit", "JUnit XML, a test case a check", JUnit},
	}
}

// Find returns the format with the given name.
func Find(name string) (Format, error) {
	var names []string
	for _, f := range All() {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Format{}, fmt.Errorf("unknown output format %q: it is one of %s", name, strings.Join(names, ", "))
}

// printable makes text of a module safe to print: on one line, without control
// or other invisible characters that could fool a terminal or a reviewer, and
// in UTF-8.
func printable(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	runes := []rune(strings.ToValidUTF8(s, string(utf8.RuneError)))
	for i, r := range runes {
		switch {
		case r == joiner && i > 0 && i+1 < len(runes) && isPictograph(runes[i-1]) && isPictograph(runes[i+1]):
			b.WriteRune(r)
		case r == '\t':
			b.WriteByte('\t')
		case r == '\n', r == '\r':
			b.WriteByte(' ')
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co):
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// joiner makes one emoji of two. Anywhere else it is invisible.
const joiner = '\u200d'

// isPictograph tells that a character is an emoji, or what follows one: a
// variation selector or a skin tone.
func isPictograph(r rune) bool {
	return unicode.Is(unicode.So, r) || r == '\ufe0f' || r >= 0x1f3fb && r <= 0x1f3ff
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// withRemedy joins what is wrong and what to do.
func withRemedy(f lint.Finding) string {
	if f.Remedy == "" {
		return f.Text()
	}
	return f.Text() + "; to fix it, " + f.Remedy
}

// joinPath puts a file behind its module's path.
func joinPath(module, file string) string {
	if module == "" || module == "." || strings.HasPrefix(file, "/") {
		return file
	}
	return strings.TrimSuffix(module, "/") + "/" + file
}
