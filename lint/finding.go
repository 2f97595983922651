package lint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/captf-toolkit/captf/sdk/module"
)

// Severity is how much a finding matters (lint.md 2.3).
type Severity string

// The severities, most severe first.
const (
	// SeverityError fails the run and cannot be allowed.
	SeverityError Severity = "error"
	// SeverityWarning fails the run only in strict mode and can be allowed.
	SeverityWarning Severity = "warning"
	// SeverityInfo never fails.
	SeverityInfo Severity = "info"
)

// Severities returns every severity, most severe first.
func Severities() []Severity { return []Severity{SeverityError, SeverityWarning, SeverityInfo} }

// WholeModule is the file of a finding that has no place in a file; its line
// is 0 (lint.md 2.4).
const WholeModule = "-"

// Finding is one place where a module breaks a rule.
type Finding struct {
	// ID is the identifier of the check.
	ID string
	// Severity is how much it matters, after allowances.
	Severity Severity
	// File is relative to the module directory, with forward slashes, or
	// WholeModule.
	File string
	// Line and Column count from 1, columns in characters as a reader sees them,
	// combining marks with their base; 0 for the whole module.
	Line, Column int
	// EndLine and EndColumn are where the offending text ends; the end is exclusive.
	EndLine, EndColumn int
	// UTF16Column and UTF16EndColumn are the same columns in UTF-16 code units.
	UTF16Column, UTF16EndColumn int
	// Source is the line on which it starts. What may be secret on it is masked.
	Source string
	// Message says what is wrong. It holds no value of a secret.
	Message string
	// Remedy says what to do.
	Remedy string
	// Allowed is the reason for which a warning counts as info, empty when it
	// was not allowed.
	Allowed string
	// AllowedOutside tells that it was allowed on the command line or in the
	// configuration, not by a comment.
	AllowedOutside bool
	// Module is the module directory as the user named it; it is set only when
	// one run covers several modules.
	Module string
	// Platform is that of the image in which the finding is, such as linux/arm64;
	// it is set only when one run covers several platforms.
	Platform string
}

// WholeModule tells that the finding has no place in a file.
func (f Finding) WholeModule() bool { return f.File == WholeModule }

// Text returns the message as it is reported: with a note if the finding was allowed.
func (f Finding) Text() string {
	text := f.Message
	if f.Platform != "" {
		text += " [" + f.Platform + "]"
	}
	if f.Allowed != "" {
		text += fmt.Sprintf(" (allowed: %s)", f.Allowed)
	}
	return text
}

// MarshalJSON writes the keys of the JSON report; id, severity, file, line and
// message are binding (lint.md 2.4), the others are there when known.
func (f Finding) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID        string   `json:"id"`
		Severity  Severity `json:"severity"`
		File      string   `json:"file"`
		Line      int      `json:"line"`
		Message   string   `json:"message"`
		Column    int      `json:"column,omitempty"`
		EndLine   int      `json:"end_line,omitempty"`
		EndColumn int      `json:"end_column,omitempty"`
		Remedy    string   `json:"remedy,omitempty"`
		Allowed   string   `json:"allowed,omitempty"`
		Module    string   `json:"module,omitempty"`
		Platform  string   `json:"platform,omitempty"`
	}{f.ID, f.Severity, f.File, f.Line, f.platformless().Text(), f.Column, f.EndLine, f.EndColumn, f.Remedy, f.Allowed, f.Module, f.Platform})
}

// platformless is the finding for a report that has the platform in a field.
func (f Finding) platformless() Finding {
	f.Platform = ""
	return f
}

// place fills in where in the tree the finding is; a zero range means the whole
// module. Secret tells that the source line may hold a secret.
func (f *Finding) place(tree *module.Tree, r hcl.Range, secret bool) {
	if r.Filename == "" {
		f.File = WholeModule
		return
	}
	f.File = r.Filename
	f.Line, f.Column = max(r.Start.Line, 1), max(r.Start.Column, 1)
	f.EndLine, f.EndColumn = max(r.End.Line, f.Line), r.End.Column
	oneWide := f.EndLine == f.Line && f.EndColumn <= f.Column
	if oneWide {
		f.EndColumn = f.Column + 1
	}
	file := tree.File(r.Filename)
	if file == nil { // a link that leads out, which is not read
		f.UTF16Column, f.UTF16EndColumn = f.Column, f.EndColumn
		return
	}
	f.Source = Mask(string(file.Line(f.Line)), secret)
	f.UTF16Column, f.UTF16EndColumn = max(file.UTF16Column(r.Start), 1), file.UTF16Column(r.End)
	if oneWide {
		f.UTF16EndColumn = f.UTF16Column + 1
	}
}

// compareFindings is the order of a report: file, line, ID (lint.md 1), and
// beyond that whatever makes it total.
func compareFindings(a, b Finding) int {
	return cmp.Or(
		strings.Compare(a.Module, b.Module),
		strings.Compare(a.File, b.File),
		cmp.Compare(a.Line, b.Line),
		strings.Compare(a.ID, b.ID),
		cmp.Compare(a.Column, b.Column),
		cmp.Compare(slices.Index(Severities(), a.Severity), slices.Index(Severities(), b.Severity)),
		strings.Compare(a.Message, b.Message),
	)
}
