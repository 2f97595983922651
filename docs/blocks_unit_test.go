//go:build unix

package docs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseInfo(t *testing.T) {
	tests := []struct {
		info string
		want block
		err  string
	}{
		{info: "hcl", want: block{lang: "hcl"}},
		{info: "sh test", want: block{lang: "sh", action: run}},
		{info: "sh test repo exit=1", want: block{lang: "sh", action: run, repo: true, exit: 1}},
		{info: "sh skip: needs a cloud account", want: block{lang: "sh", action: skip, reason: "needs a cloud account"}},
		{info: "text expected", want: block{lang: "text", action: expect}},
		{info: "hcl file=machine/main.tf", want: block{lang: "hcl", action: write, file: "machine/main.tf"}},
		{info: "", err: "needs a language"},
		{info: "sh", err: `a command is marked "sh test"`},
		{info: "console", err: `a command is marked "sh test"`},
		{info: "bash test", err: `unknown word "test"`},
		{info: "sh skip:", err: "needs a reason"},
		{info: "hcl skip: no", err: "only sh blocks"},
		{info: "sh repo test", err: `unknown word "repo"`},
		{info: "sh test exit=none", err: "no exit code"},
		{info: "sh test exit=256", err: "no exit code"},
		{info: "hcl file=../main.tf", err: "does not stay"},
		{info: "hcl expected", err: `unknown word "expected"`},
	}
	for _, tt := range tests {
		t.Run(tt.info, func(t *testing.T) {
			got, err := parseInfo(tt.info)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(block{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestMatches(t *testing.T) {
	tests := []struct {
		name, expected, output string
		want                   bool
	}{
		{"the same", "a\nb\n", "a\nb\n", true},
		{"space at the ends", "a  \nb\n", "\na\nb \n\n", true},
		{"another line", "a\n", "a\nb\n", false},
		{"a missing line", "a\nb\n", "a\n", false},
		{"any lines before", "...\nb\n", "x\ny\nb\n", true},
		{"any lines between", "a\n...\nb\n", "a\nx\ny\nb\n", true},
		{"no line between", "a\n...\nb\n", "a\nb\n", true},
		{"any lines after", "a\n...\n", "a\nx\n", true},
		{"anything", "...\n", "", true},
		{"text in a line", "took ... s\n", "took 0.12 s\n", true},
		{"text in a line does not span lines", "took ... s\n", "took 1\nor 2 s\n", false},
		{"order counts", "b\n...\na\n", "a\nb\n", false},
		{"no expressions", "a.c\n", "abc\n", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := matches(tt.expected, tt.output); got != tt.want {
				t.Errorf("matches(%q, %q) = %v", tt.expected, tt.output, got)
			}
		})
	}
}

func TestParsePage(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("testdata", "page.md"))
	if err != nil {
		t.Fatal(err)
	}
	got := parsePage(source)
	want := page{
		blocks: []block{
			{line: 8, lang: "sh", body: "echo one\necho two\n", action: run},
			{line: 13, lang: "text", body: "one\n...\n", action: expect},
			{line: 20, lang: "sh", body: "make\n", action: skip, reason: "takes minutes"},
			{line: 26, lang: "sh", body: "oops\n"},
			{line: 31, lang: "text", body: "nothing printed this\n", action: expect},
			{line: 35, body: "no language\n"},
		},
		links: []link{{3, "other.md#a-heading"}, {5, "picture.svg"}, {38, "https://example.test/"}},
		anchors: map[string]bool{
			"a-page-with-code-and-all": true, "twice": true, "twice-1": true, "by-hand": true,
		},
		errs: []string{
			`line 26: a command is marked "sh test", or "sh skip: REASON" if it cannot be run here`,
			"line 31: expected output must follow the block that prints it",
			"line 35: a block needs a language, at least text",
			"line 43: an indented block has no language: use a fenced one",
		},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(page{}, block{}, link{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestCheckLink(t *testing.T) {
	pages := map[string]page{
		"docs/a.md":     {anchors: map[string]bool{"here": true}},
		"docs/doc.go":   {},
		"docs/guide.md": {},
	}
	tests := []struct{ target, err string }{
		{"https://example.test/x#y", ""},
		{"mailto:a@example.test", ""},
		{"#here", ""},
		{"#there", "docs/a.md has no heading #there"},
		{"doc.go", ""},
		{"../docs/doc.go", ""},
		{"../lint", ""},
		{"nowhere.md", "docs/nowhere.md does not exist"},
		{"../../other/x.md", "out of the repository"},
		{"/docs/doc.go", "out of the repository"},
		{"%zz", "invalid URL escape"},
	}
	for _, tt := range tests {
		t.Run(tt.target, func(t *testing.T) {
			err := checkLink(pages, "docs/a.md", tt.target)
			if tt.err == "" && err != nil {
				t.Errorf("unexpected: %v", err)
			}
			if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, want one with %q", err, tt.err)
			}
		})
	}
}

// testReader reads without the project's commands.
func testReader(t *testing.T) *reader {
	t.Helper()
	return &reader{tools: t.TempDir(), tempDir: t.TempDir, repository: func() string { return t.TempDir() }}
}

func TestReader(t *testing.T) {
	tests := []struct {
		name   string
		blocks []block
		err    string
	}{
		{"blocks share a directory", []block{
			{action: write, file: "d/in", body: "text\n"},
			{action: run, body: "cp d/in out"},
			{action: run, body: "cat out"},
			{action: expect, body: "text\n"},
		}, ""},
		{"a wanted exit code", []block{{action: run, body: "exit 3", exit: 3}}, ""},
		{"another exit code", []block{{line: 7, action: run, body: "echo why; exit 3"}}, "line 7: exit code 3, want 0; it printed:\nwhy"},
		{"the first failing command ends a block", []block{{action: run, body: "false\ntrue"}}, "exit code 1"},
		{"a pipe fails by any part", []block{{action: run, body: "false | cat"}}, "exit code 1"},
		{"a name that is not set", []block{{action: run, body: `echo "$UNSET_BY_ALL"`}}, "unbound variable"},
		{"stderr is output too", []block{{action: run, body: "echo x >&2"}, {action: expect, body: "x"}}, ""},
		{"other output", []block{{action: run, body: "echo x"}, {line: 9, action: expect, body: "y"}}, "line 9: the page expects"},
		{"the repository is another directory", []block{
			{action: run, body: "touch here"},
			{action: run, body: "test ! -e here", repo: true},
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := testReader(t).read(t.Context(), page{blocks: tt.blocks})
			if tt.err == "" && err != nil {
				t.Errorf("unexpected: %v", err)
			}
			if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, want one with %q", err, tt.err)
			}
		})
	}
}

func TestReaderNotesWhatItSkips(t *testing.T) {
	r := testReader(t)
	if err := r.read(t.Context(), page{blocks: []block{{line: 4, action: skip, body: "exit 1", reason: "no cloud"}}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"line 4: not run: no cloud"}, r.notes); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestReaderStopsWhatHangs(t *testing.T) {
	why := errors.New("out of time")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, why)
	defer cancel()
	if err := testReader(t).read(ctx, page{blocks: []block{{action: run, body: "read -r < <(sleep 1h)"}}}); !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
}

func TestCopyOfRepository(t *testing.T) {
	dir := copyOfRepository(t)
	for _, name := range []string{"go.mod", "docs/doc.go", ".ci/run"} {
		from, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		to, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if from.Size() != to.Size() || from.Mode() != to.Mode() {
			t.Errorf("%s: copied with size %d and mode %v, want %d and %v", name, to.Size(), to.Mode(), from.Size(), from.Mode())
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".git")); !os.IsNotExist(err) {
		t.Error("the copy has git's own files")
	}
}
