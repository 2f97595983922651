package harness

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A provisioner may print megabytes; a line of the story stays one that is read.
func TestFirstErrorIsShort(t *testing.T) {
	run := &Run{Failed: true, Diagnostics: []Diagnostic{{
		Severity: "error", Summary: "local-exec provisioner error", Detail: "exit status 7. Output: " + strings.Repeat("é all is well\n", 100_000) + "disk full",
	}}}
	text := firstError(run)
	if len(text) > 1000 || !utf8.ValidString(text) || !strings.Contains(text, "exit status 7") || !strings.HasSuffix(text, "disk full") {
		t.Errorf("%d bytes: %q", len(text), text)
	}
	run.Diagnostics[0].Detail = "short"
	if got := firstError(run); got != "local-exec provisioner error: short" {
		t.Errorf("%q", got)
	}
}
