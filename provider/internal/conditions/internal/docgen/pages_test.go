package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/provider/internal/conditions"
)

// TestUpToDate fails when the catalogue was edited and the pages were not generated again.
func TestUpToDate(t *testing.T) {
	repository := filepath.Join("..", "..", "..", "..", "..")
	data, err := catalogueData()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{filepath.Join("sdk", "diagnose", dataFile): data}
	for name, want := range pages(tests(t)) {
		files[filepath.Join("docs", "reference", name)] = want
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			t.Errorf("reading a generated file: %v; run go generate ./provider/internal/conditions", err)
			continue
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is out of date, run go generate ./provider/internal/conditions (-catalogue +file):\n%s", name, diff)
		}
	}
}

// tests reads what the tests of the provider show.
func tests(t *testing.T) shown {
	t.Helper()
	s, err := readShown(os.DirFS(filepath.Join("..", "..", "..", "..")))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestEverythingIsShown fails for each reason that no test shows and that waits for nothing, for those that wait and are
// shown all the same, and for those that are shown and not in the catalogue.
func TestEverythingIsShown(t *testing.T) {
	s := tests(t)
	known := map[string]bool{}
	check := func(what string, waits conditions.Feature) {
		known[what] = true
		switch {
		case waits == "" && len(s[what]) == 0:
			t.Errorf("no test shows %s", what)
		case waits != "" && len(s[what]) > 0:
			t.Errorf("%s waits for %s, and %s shows it", what, waits, s[what])
		}
	}
	for _, row := range conditions.Catalogue() {
		for _, r := range row.Reasons {
			check(conditionKey(row, r), r.Waits)
		}
	}
	for _, e := range conditions.Events() {
		check(e.Reason, e.Waits)
	}
	for what, by := range s {
		if !known[what] {
			t.Errorf("%s shows %q, which is not in the catalogue", by, what)
		}
	}
}

// TestPagesTellEverything looks for each row of the catalogue and for rows that do not fit their table.
func TestPagesTellEverything(t *testing.T) {
	made := pages(tests(t))
	for _, row := range conditions.Catalogue() {
		for _, r := range row.Reasons {
			if !strings.Contains(string(made["conditions.md"]), "| "+string(r.Status)+" | `"+r.Name+"` |") {
				t.Errorf("the page does not tell %s/%s", row.Name, r.Name)
			}
		}
	}
	for _, e := range conditions.Events() {
		if !strings.Contains(string(made["events.md"]), "| `"+e.Reason+"` |") {
			t.Errorf("the page does not tell %s", e.Reason)
		}
	}
	for name, page := range made {
		columns := 0
		for n, line := range strings.Split(string(page), "\n") {
			if !strings.HasPrefix(line, "|") {
				columns = 0
				continue
			}
			bars := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
			if columns != 0 && bars != columns {
				t.Errorf("%s:%d has %d bars, want %d: %s", name, n+1, bars, columns, line)
			}
			columns = bars
		}
	}
}

func TestRun(t *testing.T) {
	provider, dir := filepath.Join("..", "..", "..", ".."), t.TempDir()
	var stderr bytes.Buffer
	if code := run([]string{dir, provider, dir}, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	for name, want := range pages(tests(t)) {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what was made (%v)", name, err)
		}
	}
	if code := run(nil, &stderr); code != 2 || !strings.Contains(stderr.String(), "folder") {
		t.Errorf("without an argument: exit code %d, %s", code, &stderr)
	}
	if code := run([]string{dir, filepath.Join(dir, "missing"), dir}, &stderr); code != 1 {
		t.Errorf("no folder of the provider: exit code %d", code)
	}
	if code := run([]string{filepath.Join(dir, "missing"), provider, dir}, &stderr); code != 1 {
		t.Errorf("a folder that is missing: exit code %d", code)
	}
}
