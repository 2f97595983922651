package format

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/captf-toolkit/captf/lint"
)

// commands are the workflow commands of the severities.
var commands = map[lint.Severity]string{
	lint.SeverityError: "error", lint.SeverityWarning: "warning", lint.SeverityInfo: "notice",
}

// GitHub escapes %, line ends and, in properties, the separators.
var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// GitHub writes a workflow command a finding, which annotates the line in a
// pull request, and the counts as the last line.
func GitHub(w io.Writer, r Result, _ Options) error {
	b := bufio.NewWriter(w)
	for _, m := range r.Modules {
		if m.Report == nil {
			for _, p := range problems(m) {
				place := ""
				if p.File != "" {
					place = githubPlace(joinPath(m.Path, p.File), p.Line, p.Line, p.UTF16Column, 0)
				}
				command(b, "error", place, "cannot read the module", p.Message)
			}
			continue
		}
		for _, f := range m.Report.Findings {
			place, text := "", withRemedy(f)
			if f.WholeModule() {
				text = m.Path + ": " + text
			} else {
				place = githubPlace(joinPath(m.Path, f.File), f.Line, f.EndLine, f.UTF16Column, f.UTF16EndColumn)
			}
			command(b, commands[f.Severity], place, f.ID, text)
		}
	}
	s := r.Summary()
	fmt.Fprintf(b, "%d error(s), %d warning(s), %d info, %s\n", s.Error, s.Warning, s.Info, whatWasRead(r))
	return b.Flush()
}

// problems returns what keeps a module from being read, at least one.
func problems(m Module) []Problem {
	if len(m.Problems) > 0 || m.Err == nil {
		return m.Problems
	}
	return []Problem{{Message: m.Err.Error()}}
}

// githubPlace returns the properties of a place. Columns are only understood
// within one line.
func githubPlace(file string, line, endLine, column, endColumn int) string {
	s := fmt.Sprintf("file=%s", githubProperty.Replace(printable(file)))
	if line > 0 {
		s += fmt.Sprintf(",line=%d,endLine=%d", line, max(line, endLine))
	}
	if column > 0 && line == endLine {
		s += fmt.Sprintf(",col=%d", column)
		if endColumn > column {
			s += fmt.Sprintf(",endColumn=%d", endColumn)
		}
	}
	return s + ","
}

func command(w io.Writer, name, place, title, message string) {
	fmt.Fprintf(w, "::%s %stitle=%s::%s\n", name, place,
		githubProperty.Replace(printable(title)), githubData.Replace(printable(message)))
}
