package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUpToDate fails when a table was edited and the files were not generated again.
func TestUpToDate(t *testing.T) {
	generated, err := files()
	if err != nil {
		t.Fatal(err)
	}
	if len(generated) < 7 {
		t.Errorf("%d files are generated, want the schemas of each role and the page", len(generated))
	}
	for name, want := range generated {
		path := filepath.Join("..", "..", name)
		got, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("reading a generated file: %v; run go generate ./contract/...", err)
			continue
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is out of date, run go generate ./contract/... (-tables +file):\n%s", path, diff)
		}
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join("a", "b.json")
	if err := write(dir, map[string][]byte{name: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != "{}" {
		t.Errorf("file holds %q, %v", got, err)
	}
	if err := write(filepath.Join(dir, "a", "b.json"), map[string][]byte{"x/y": nil}); err == nil {
		t.Error("writing below a file succeeds")
	}
	if err := write(dir, map[string][]byte{"a": nil}); err == nil {
		t.Error("writing over a folder succeeds")
	}
}

func TestRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "contract")
	var stderr bytes.Buffer
	if code := run(dir, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "..", "docs", "reference", "contract.md")); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := run(filepath.Join(dir, "file"), &stderr); code != 1 || stderr.Len() == 0 {
		t.Errorf("exit code %d, said %q", code, stderr.String())
	}
}
