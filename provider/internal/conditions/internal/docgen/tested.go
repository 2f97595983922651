package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/captf-toolkit/captf/provider/internal/conditions"
)

// shown is which tests make the provider show a condition ("<type> <status> <reason>") or an event ("<reason>").
type shown map[string][]string

// readShown reads what the tests of the provider's packages noted (controllerstest.Produced writes those files), and what the
// cases of provider/internal/outputs want.
func readShown(provider fs.FS) (shown, error) {
	s := shown{}
	err := fs.WalkDir(provider, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data := func() ([]byte, error) { return fs.ReadFile(provider, name) }
		switch dir := path.Dir(name); {
		case path.Base(name) == "produced.txt":
			return s.noted(path.Base(path.Dir(dir)), data)
		case path.Dir(dir) == "internal/outputs/testdata/cases" && path.Base(name) == "want.yaml":
			return s.wanted("outputs/"+path.Base(dir), data)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading what the tests show: %w", err)
	}
	return s, nil
}

// noted adds the lines of one file.
func (s shown) noted(pkg string, read func() ([]byte, error)) error {
	data, err := read()
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		what, test, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			return fmt.Errorf("line %q lacks a test", line)
		}
		s[what] = append(s[what], pkg+"."+test)
	}
	return nil
}

// wanted adds what one case wants.
func (s shown) wanted(test string, read func() ([]byte, error)) error {
	data, err := read()
	if err != nil {
		return err
	}
	var steps []struct {
		Conditions map[string]string `json:"conditions"`
		Events     []string          `json:"events"`
	}
	if err := yaml.Unmarshal(data, &steps); err != nil {
		return fmt.Errorf("case %s: %w", test, err)
	}
	add := func(what string) {
		if !slices.Contains(s[what], test) {
			s[what] = append(s[what], test)
		}
	}
	for _, step := range steps {
		for condition, text := range step.Conditions {
			status, reason, _ := strings.Cut(text, "/")
			reason, _, _ = strings.Cut(reason, ":")
			add(strings.Join([]string{condition, status, reason}, " "))
		}
		for _, event := range step.Events {
			_, reason, _ := strings.Cut(event, " ")
			reason, _, _ = strings.Cut(reason, ":")
			add(reason)
		}
	}
	return nil
}

// conditionKey is how the tests note a row.
func conditionKey(t conditions.Type, r conditions.Reason) string {
	return strings.Join([]string{t.Name, string(r.Status), r.Name}, " ")
}

func testedPage(s shown) []byte {
	var b bytes.Buffer
	b.WriteString(generated + `# Tests of conditions and events

For who changes the provider: each reason of a condition and of an event, with tests on a real API server that make the
provider show it, or the part of the product that will. The tests note what objects and events showed when they run with
` + "`-update`" + `; a reason that is new, and that none has shown, fails the tests.

## Conditions

| Condition | Status | Reason | Shown by |
| --- | --- | --- | --- |
`)
	for _, t := range conditions.Catalogue() {
		for _, r := range t.Reasons {
			fmt.Fprintf(&b, "| %s | %s | `%s` | %s |\n", t.Name, r.Status, r.Name, s.by(conditionKey(t, r), r.Waits))
		}
	}
	b.WriteString("\n## Events\n\n| Event | Shown by |\n| --- | --- |\n")
	for _, e := range conditions.Events() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", e.Reason, s.by(e.Reason, e.Waits))
	}
	return b.Bytes()
}

// by says who shows a row.
func (s shown) by(what string, waits conditions.Feature) string {
	if tests := s[what]; len(tests) > 0 {
		slices.Sort(tests)
		tests = tests[:min(len(tests), 3)] // enough to find them
		return "`" + strings.Join(tests, "`, `") + "`"
	}
	if waits != "" {
		return fmt.Sprintf("*comes with %s*", waits)
	}
	return "**no test**"
}
