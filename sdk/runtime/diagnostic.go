package runtime

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Severity of a [Diagnostic].
type Severity string

// Severities.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Diagnostic is an error or a warning of the runtime, with secrets replaced.
type Diagnostic struct {
	Severity Severity
	Summary  string
	// Detail may have several lines and may be empty.
	Detail string
	// Address of the resource instance concerned, if the runtime tells it.
	Address string
	// File opens from the caller's current directory if the working directory's path
	// did; "" if the runtime names no place.
	File string
	// Line and Column start at 1; 0 if unknown.
	Line, Column int
	// Code is the source at that place, as the runtime quotes it.
	Code string
}

// Place is FILE:LINE:COLUMN as far as known, else "".
func (d Diagnostic) Place() string {
	switch {
	case d.File == "":
		return ""
	case d.Line <= 0:
		return d.File
	case d.Column <= 0:
		return fmt.Sprintf("%s:%d", d.File, d.Line)
	}
	return fmt.Sprintf("%s:%d:%d", d.File, d.Line, d.Column)
}

// String is one line: place, address, summary and detail.
func (d Diagnostic) String() string {
	var parts []string
	for _, p := range []string{d.Place(), d.Address, oneLine(d.Summary), oneLine(d.Detail)} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ": ")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

type wireDiagnostic struct {
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Detail   string `json:"detail"`
	Address  string `json:"address"`
	Range    *struct {
		Filename string `json:"filename"`
		Start    struct {
			Line   int `json:"line"`
			Column int `json:"column"`
		} `json:"start"`
	} `json:"range"`
	Snippet *struct {
		Code string `json:"code"`
	} `json:"snippet"`
}

func decodeDiagnostic(raw []byte) (Diagnostic, bool) {
	var w wireDiagnostic
	if json.Unmarshal(raw, &w) != nil || w.Summary == "" && w.Detail == "" {
		return Diagnostic{}, false
	}
	d := Diagnostic{Severity: SeverityError, Summary: w.Summary, Detail: w.Detail, Address: w.Address}
	if w.Severity == string(SeverityWarning) {
		d.Severity = SeverityWarning
	}
	if w.Range != nil {
		d.File = w.Range.Filename
		d.Line, d.Column = max(0, w.Range.Start.Line), max(0, w.Range.Start.Column)
	}
	if w.Snippet != nil {
		d.Code = w.Snippet.Code
	}
	return d, true
}

// finish redacts a diagnostic and makes its file name one that opens from here.
func (d Diagnostic) finish(dir string, r *redactor) Diagnostic {
	d.Summary, d.Detail, d.Code = r.text(d.Summary), r.text(d.Detail), r.text(d.Code)
	d.Address = r.text(d.Address)
	if d.File != "" && !filepath.IsAbs(d.File) && !strings.HasPrefix(d.File, "<") {
		d.File = filepath.Join(dir, d.File)
	}
	return d
}

var (
	ansi = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`)
	// "  on main.tf line 3, in module \"role\":".
	humanPlace = regexp.MustCompile(`^\s+on (.+?) line (\d+)(?:, in .*)?:?\s*$`)
	humanFrom  = regexp.MustCompile(`^\s+with (\S+),\s*$`)
	humanCode  = regexp.MustCompile(`^\s+\d+: `)
)

func stripANSI(s string) string { return ansi.ReplaceAllString(s, "") }

// humanDiagnostics reads the diagnostics that runtimes print as text: before their
// -json stream starts (wrong arguments, broken CLI configuration) and in commands
// that have no such stream.
func humanDiagnostics(text string) []Diagnostic {
	var found []Diagnostic
	var d *Diagnostic
	var detail, code []string
	flush := func() {
		if d == nil {
			return
		}
		d.Detail = strings.TrimSpace(strings.Join(detail, "\n"))
		d.Code = strings.Join(code, "\n")
		found = append(found, *d)
		d, detail, code = nil, nil, nil
	}
	for raw := range strings.Lines(stripANSI(text)) {
		l := strings.TrimRight(raw, "\r\n")
		// The frame around a diagnostic.
		if t := strings.TrimSpace(l); t == "╷" || t == "╵" {
			if t == "╵" {
				flush()
			}
			continue
		}
		if rest, ok := strings.CutPrefix(l, "│"); ok {
			l = strings.TrimPrefix(rest, " ")
		}
		if s, ok := strings.CutPrefix(l, "Error: "); ok {
			flush()
			d = &Diagnostic{Severity: SeverityError, Summary: strings.TrimSpace(s)}
			continue
		}
		if s, ok := strings.CutPrefix(l, "Warning: "); ok {
			flush()
			d = &Diagnostic{Severity: SeverityWarning, Summary: strings.TrimSpace(s)}
			continue
		}
		if d == nil {
			continue
		}
		if m := humanPlace.FindStringSubmatch(l); m != nil && d.File == "" {
			d.File = m[1]
			d.Line, _ = strconv.Atoi(m[2])
			continue
		}
		if m := humanFrom.FindStringSubmatch(l); m != nil && d.Address == "" {
			d.Address = m[1]
			continue
		}
		if humanCode.MatchString(l) {
			code = append(code, strings.TrimSpace(l[strings.IndexByte(l, ':')+1:]))
			continue
		}
		detail = append(detail, l)
	}
	flush()
	return found
}

// decodeValidation reads the document of validate -json.
func decodeValidation(doc []byte) ([]Diagnostic, error) {
	var v struct {
		Valid       *bool             `json:"valid"`
		Diagnostics []json.RawMessage `json:"diagnostics"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(doc), &v); err != nil {
		return nil, err
	}
	if v.Valid == nil {
		return nil, errors.New("the answer has no field \"valid\"")
	}
	var found []Diagnostic
	for _, raw := range v.Diagnostics {
		if d, ok := decodeDiagnostic(raw); ok {
			found = append(found, d)
		}
	}
	return found, nil
}
