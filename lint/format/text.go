package format

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/sdk/module"
)

// colours of the severities and of what is beside the point.
var colours = map[lint.Severity]string{
	lint.SeverityError: "\x1b[31m", lint.SeverityWarning: "\x1b[33m", lint.SeverityInfo: "\x1b[36m",
}

const (
	faint = "\x1b[2m"
	plain = "\x1b[0m"
)

// Text writes a line a finding, `SEVERITY ID FILE:LINE MESSAGE`, with the source
// line, a marker and the remedy below, indented. The file can be opened from the
// working directory. The last line has the counts
// and says which files were read (lint.md 2.4).
func Text(w io.Writer, r Result, o Options) error {
	t := textWriter{Writer: bufio.NewWriter(w), color: o.Color, recursive: r.Recursive}
	for _, m := range r.Modules {
		if m.Report == nil {
			continue
		}
		for _, f := range m.Report.Findings {
			t.finding(m, f)
		}
	}
	s := r.Summary()
	fmt.Fprintf(t, "%d error(s), %d warning(s), %d info, %s\n", s.Error, s.Warning, s.Info, whatWasRead(r))
	return t.Flush()
}

type textWriter struct {
	*bufio.Writer
	color, recursive bool
}

func (t textWriter) paint(code, text string) string {
	if !t.color {
		return text
	}
	return code + text + plain
}

func (t textWriter) finding(m Module, f lint.Finding) {
	file := joinPath(m.Path, f.File)
	if f.WholeModule() && !t.recursive {
		file = f.File // as there is one module only
	}
	severity := t.paint(colours[f.Severity], string(f.Severity))
	fmt.Fprintf(t, "%s %s %s:%d %s\n", severity, f.ID, printable(file), f.Line, printable(f.Text()))
	if line, marker := excerpt(f.Source, f); line != "" {
		fmt.Fprintf(t, "    %s\n    %s\n", t.paint(faint, line), t.paint(colours[f.Severity], marker))
	}
	if f.Remedy != "" && f.Allowed == "" {
		fmt.Fprintf(t, "    fix: %s\n", printable(f.Remedy))
	}
}

// Excerpt returns a source line and a marker below the character that column,
// counted from 1 in UTF-16 code units, names; each indented and with a line end.
func Excerpt(source string, column int) string {
	line, marker := excerpt(source, lint.Finding{UTF16Column: column, UTF16EndColumn: column + 1})
	if line == "" {
		return ""
	}
	return "    " + line + "\n    " + marker + "\n"
}

// maxExcerpt is how many characters of a source line are shown.
const maxExcerpt = 160

// excerpt returns a source line and the line below it that marks the finding.
func excerpt(source string, f lint.Finding) (line, marker string) {
	if strings.TrimSpace(source) == "" {
		return "", ""
	}
	runes := []rune(printable(source))
	start := runesBefore(source, f.UTF16Column)
	end := len(runes)
	if f.EndLine == f.Line {
		end = runesBefore(source, f.UTF16EndColumn)
	}
	end = max(end, start+1)
	from := 0
	if start > maxExcerpt*3/4 {
		from = start - maxExcerpt/4
	}
	to := min(len(runes), from+maxExcerpt)
	head, tail := "", ""
	if from > 0 {
		head = "…"
	}
	if to < len(runes) {
		tail = "…"
	}
	var pad strings.Builder
	pad.WriteString(strings.Repeat(" ", utf8.RuneCountInString(head)))
	for _, r := range runes[from:start] {
		switch {
		case r == '\t': // keeps its width, whatever that is
			pad.WriteByte('\t')
		case !isMark(r):
			pad.WriteByte(' ')
		}
	}
	width := 0
	for _, r := range runes[start:min(end, to)] {
		if !isMark(r) {
			width++
		}
	}
	return head + string(runes[from:to]) + tail, pad.String() + strings.Repeat("^", max(width, 1))
}

// isMark tells that a character stands on the one before it.
func isMark(r rune) bool { return r == joiner || unicode.In(r, unicode.Mn, unicode.Me) }

// runesBefore returns how many code points of a line stand before a column that
// is counted from 1 in UTF-16 code units.
func runesBefore(line string, column int) int {
	n, at := 0, 1
	for _, r := range line {
		if at >= column {
			break
		}
		at += max(utf16.RuneLen(r), 1)
		n++
	}
	return n
}

// whatWasRead says which file set the checks ran on.
func whatWasRead(r Result) string {
	sets, unread := map[module.Runtime]int{}, 0
	for _, m := range r.Modules {
		if m.Report == nil {
			unread++
			continue
		}
		sets[m.Report.Runtime]++
	}
	var parts []string
	for _, rt := range module.Runtimes() {
		if sets[rt] > 0 {
			parts = append(parts, "read "+strings.ToLower(rt.String())+" files")
		}
	}
	if r.Recursive && unread < len(r.Modules) {
		parts[len(parts)-1] += fmt.Sprintf(" of %d module(s)", len(r.Modules)-unread)
	}
	text := strings.Join(parts, " and ")
	if r.Image != nil {
		text = fmt.Sprintf("checked %s (%s)", r.Image.Digest, strings.Join(r.Image.Platforms, ", "))
	}
	if unread > 0 {
		parts = []string{fmt.Sprintf("%d module(s) not readable", unread)}
		if text != "" {
			parts = append([]string{text}, parts...)
		}
		text = strings.Join(parts, ", ")
	}
	return text
}
