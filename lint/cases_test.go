package lint_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/rules"
)

// A case is a folder lint/testdata/cases/<check>/<fires|clean>-<name> with a
// module, a file role with one line, and, if the check fires, findings.json.
// Findings of other checks do not count, so that a case stays small.
const casesDir = "testdata/cases"

// expected is one finding of a case.
type expected struct {
	Severity lint.Severity `json:"severity"`
	File     string        `json:"file"`
	Line     int           `json:"line"`
	Message  string        `json:"message"`
}

func TestCases(t *testing.T) {
	covered := map[string]map[string]bool{}
	for _, dir := range caseDirs(t) {
		rel := filepath.ToSlash(strings.TrimPrefix(dir, casesDir+string(filepath.Separator)))
		id, name := rel[:strings.LastIndex(rel, "/")], rel[strings.LastIndex(rel, "/")+1:]
		kind, _, _ := strings.Cut(name, "-")
		if covered[id] == nil {
			covered[id] = map[string]bool{}
		}
		covered[id][kind] = true
		t.Run(rel, func(t *testing.T) { checkCase(t, dir, id, kind) })
	}
	for _, rule := range rules.All() {
		for _, kind := range []string{"fires", "clean"} {
			if !covered[rule.ID][kind] {
				t.Errorf("%s has no case that is named %s-…", rule.ID, kind)
			}
		}
		delete(covered, rule.ID)
	}
	for id := range covered {
		t.Errorf("cases of %q: there is no such check", id)
	}
}

func checkCase(t *testing.T, dir, id, kind string) {
	report := run(t, dir, caseRole(t, dir))
	got := []expected{}
	for _, f := range report.Findings {
		if f.ID == id {
			got = append(got, expected{f.Severity, f.File, f.Line, f.Text()})
			checkSeverity(t, f)
		}
	}
	path := filepath.Join(dir, "findings.json")
	switch kind {
	case "clean":
		if len(got) > 0 {
			t.Errorf("%s fires, but the case says clean: %+v", id, got)
		}
	case "fires":
		if len(got) == 0 {
			t.Errorf("%s does not fire", id)
			return
		}
		if golden.Updating() {
			text, err := json.MarshalIndent(got, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden.Assert(t, path, append(text, '\n'))
			return
		}
		var want []expected
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("findings differ (-findings.json +got):\n%s", diff)
		}
	default:
		t.Errorf("the name of a case starts with fires- or clean-, not %q", kind)
	}
}

// checkSeverity fails on a severity that the rule does not declare.
func checkSeverity(t *testing.T, f lint.Finding) {
	t.Helper()
	rule, ok := lint.Find(rules.All(), f.ID)
	if !ok {
		t.Fatalf("finding of an unknown check: %+v", f)
	}
	for _, s := range rule.Severities {
		if s == f.Severity || f.Allowed != "" {
			return
		}
	}
	t.Errorf("%s reports %s, which it does not declare", f.ID, f.Severity)
}

func caseDirs(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(casesDir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "role" {
			dirs = append(dirs, filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(dirs) == 0 {
		t.Fatal("no case found")
	}
	return dirs
}

func caseRole(t testing.TB, dir string) contract.Role {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "role"))
	if err != nil {
		t.Fatal(err)
	}
	role, err := contract.ParseRole(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return role
}

func options(dir string, role contract.Role) lint.Options {
	return lint.Options{Dir: dir, Role: role, Contract: versions.Default(), Rules: rules.All()}
}

func run(t testing.TB, dir string, role contract.Role) *lint.Report {
	t.Helper()
	report, err := lint.Run(options(dir, role))
	if err != nil {
		t.Fatal(err)
	}
	return report
}
