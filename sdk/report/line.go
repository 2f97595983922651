package report

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Line makes a text one that can stand on one line of a terminal, whatever a
// module put into it.
func Line(s string) string { return line(s) }

// line makes a text one that can stand on one line of a terminal: line ends and
// tabs become spaces, other control characters are left out.
func line(s string) string {
	if isLine(s) {
		return s
	}
	var b strings.Builder
	space := false
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == ' ' || r == '\n' || r == '\r' || r == '\t':
			space = b.Len() > 0
		case !printable(r):
		default:
			if space {
				b.WriteByte(' ')
				space = false
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isLine(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	last := rune(0)
	for _, r := range s {
		if !printable(r) || r == ' ' && last == ' ' {
			return false
		}
		last = r
	}
	return true
}

// printable leaves out control characters and those that change the direction
// of the text around them.
func printable(r rune) bool {
	return !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) && r != '\u2028' && r != '\u2029'
}

// virtual is a virtual time as H:MM:SS.
func virtual(seconds float64) string {
	s := max(0, int64(seconds+0.5))
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// real is a measured time, short.
func real(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// The few styles there are; the codes are those that every terminal knows.
const (
	bold  = "\x1b[1m"
	dim   = "\x1b[2m"
	red   = "\x1b[31m"
	green = "\x1b[32m"
	reset = "\x1b[0m"
)

// painter puts styles around texts, or leaves them plain.
type painter bool

func (p painter) paint(style, s string) string {
	if !p || s == "" {
		return s
	}
	return style + s + reset
}

// pad fills a text up with spaces to a width in characters.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// printer writes and remembers the first error, so that not every line needs a check.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}
