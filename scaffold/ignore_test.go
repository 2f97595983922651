package scaffold

import (
	"strings"
	"testing"

	"github.com/moby/patternmatcher"

	"github.com/captf-toolkit/captf/contract/image"
)

// TestIgnoredByContainerBuilds: what must not ship is left out by a build with a
// Containerfile as well, at any depth; the module's own files are not.
func TestIgnoredByContainerBuilds(t *testing.T) {
	b, err := render("templates/module/any/dockerignore.tmpl", nil)
	if err != nil {
		t.Fatal(err)
	}
	var patterns []string
	for line := range strings.SplitSeq(string(b), "\n") {
		if line != "" && !strings.HasPrefix(line, "#") {
			patterns = append(patterns, line)
		}
	}
	m, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range image.Clutter() {
		if r.Content != "" || r.Kind.Harmless() {
			continue
		}
		name := strings.ReplaceAll(r.Pattern, "*", "x")
		for _, at := range []string{name, "network/" + name} {
			if left, err := m.MatchesOrParentMatches(at); err != nil || !left {
				t.Errorf("%s (%s) is shipped: %v", at, r.Kind, err)
			}
		}
	}
	for _, name := range []string{"main.tf", "network/main.tf", "templates/user-data.tftpl", "files/ca.pem", "main.tofu", "versions.tf.json"} {
		if left, err := m.MatchesOrParentMatches(name); err != nil || left {
			t.Errorf("%s is left out: %v", name, err)
		}
	}
}
