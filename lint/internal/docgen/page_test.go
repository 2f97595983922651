package main

import (
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/lint/rules"
)

func TestPageIsUpToDate(t *testing.T) {
	golden.Assert(t, "../../../docs/reference/lint.md", page())
}

func TestEveryCheckHasASection(t *testing.T) {
	text := string(page())
	for _, r := range rules.All() {
		if !strings.Contains(text, "\n### `"+r.ID+"`\n") {
			t.Errorf("%s has no section", r.ID)
		}
		group, _, _ := strings.Cut(r.ID, "/")
		if groups[group] == "" {
			t.Errorf("the group %q has no heading", group)
		}
	}
}
