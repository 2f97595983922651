package lint

import (
	"encoding/json"
	"regexp"
	"sync"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/module"
)

// Report is the result for one module.
type Report struct {
	// Dir is the directory as it was given.
	Dir string
	// Role is the role that was checked, Contract the version.
	Role     contract.Role
	Contract string
	// Runtime is the one whose file set was read (lint.md 3).
	Runtime module.Runtime
	// Findings are sorted by file, line and ID.
	Findings []Finding
}

// Summary counts findings.
type Summary struct {
	Error   int `json:"error"`
	Warning int `json:"warning"`
	Info    int `json:"info"`
}

// Count counts findings by severity.
func Count(findings []Finding) Summary {
	var s Summary
	for _, f := range findings {
		switch f.Severity {
		case SeverityError:
			s.Error++
		case SeverityWarning:
			s.Warning++
		default:
			s.Info++
		}
	}
	return s
}

// Summary counts the report's findings.
func (r *Report) Summary() Summary { return Count(r.Findings) }

// Failed tells that there is an error, or in strict mode a warning.
func (s Summary) Failed(strict bool) bool { return s.Error > 0 || strict && s.Warning > 0 }

// MarshalJSON writes the binding keys findings and summary (lint.md 2.4).
func (r *Report) MarshalJSON() ([]byte, error) {
	findings := r.Findings
	if findings == nil {
		findings = []Finding{}
	}
	return json.Marshal(struct {
		Findings []Finding `json:"findings"`
		Summary  Summary   `json:"summary"`
	}{findings, r.Summary()})
}

// quoted finds the quoted strings of a line; their content is what may be secret.
var quoted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(?:[^"\\]|\\.)*"?`) })

// assignment finds where the value of an argument or object key starts.
var assignment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:"[^"]*"|[\w.-]+)\s*[=:]\s*`)
})

// Mask hides the strings on a source line that sets something with the name of
// a credential, and on a line that is known to hold a secret also a value that
// is no string.
func Mask(line string, secret bool) string {
	if !secret && !credentialLine().MatchString(line) {
		return line
	}
	head := assignment().FindString(line)
	rest := quoted().ReplaceAllString(line[len(head):], `"…"`)
	if secret && rest == line[len(head):] {
		rest = "…"
	}
	return head + rest
}
