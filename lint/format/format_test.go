package format_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/jstemmer/go-junit-report/v2/junit"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/format"
	"github.com/captf-toolkit/captf/lint/rules"
)

// schema is the published schema of SARIF 2.1.0.
func schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("sarif.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// result is a run over every case of the linter's tests, and a module that
// cannot be read.
func result(t testing.TB) format.Result {
	t.Helper()
	r, err := cases()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var cases = sync.OnceValues(func() (format.Result, error) {
	r := format.Result{Recursive: true, Rules: rules.All(), Version: "v1.2.3"}
	dirs, err := filepath.Glob("../testdata/cases/*/*/*/role")
	if err != nil || len(dirs) == 0 {
		return r, fmt.Errorf("no case: %w", err)
	}
	for _, role := range dirs {
		text, err := os.ReadFile(role)
		if err != nil {
			return r, err
		}
		dir := filepath.Dir(role)
		m := format.Module{Path: filepath.ToSlash(dir), Name: filepath.ToSlash(dir), Role: strings.TrimSpace(string(text))}
		m.Report, m.Err = lint.Run(lint.Options{
			Dir: dir, Role: contract.Role(m.Role), Contract: versions.Default(), Rules: r.Rules,
			Allow: []lint.Allowance{{ID: "input/user-variable-default", Reason: "by --allow-warning"}},
		})
		if m.Err != nil {
			return r, m.Err
		}
		r.Modules = append(r.Modules, m)
	}
	r.Modules = append(r.Modules,
		format.Module{Path: "a/b c", Name: "b c", Role: "machine", Err: errors.New("main.tf:1:2: bad"), Problems: []format.Problem{{File: "main.tf", Line: 1, Column: 2, Message: "bad"}}},
		format.Module{Path: "/abs/x", Name: "x", Role: "machine", Err: errors.New("gone")},
	)
	return r, nil
})

func write(t testing.TB, name string, r format.Result, o format.Options) string {
	t.Helper()
	f, err := format.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.Write(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSARIFIsValid(t *testing.T) {
	text := write(t, "sarif", result(t), format.Options{})
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema(t).Validate(doc); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct {
					Rules []struct {
						ID, HelpURI string
					}
				}
			}
			Invocations []struct{ ExecutionSuccessful bool }
			Results     []struct {
				RuleID    string
				RuleIndex int
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           *struct{ StartLine int }
					}
				}
				Suppressions []struct{ Kind, Justification string }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	kinds := map[string]bool{}
	for _, res := range run.Results {
		if res.RuleIndex >= len(run.Tool.Driver.Rules) || run.Tool.Driver.Rules[res.RuleIndex].ID != res.RuleID {
			t.Errorf("%s has ruleIndex %d", res.RuleID, res.RuleIndex)
		}
		at := res.Locations[0].PhysicalLocation
		if at.Region != nil && at.Region.StartLine < 1 {
			t.Errorf("%s starts on line %d", res.RuleID, at.Region.StartLine)
		}
		if strings.Contains(at.ArtifactLocation.URI, `\`) {
			t.Errorf("URI with backslash: %s", at.ArtifactLocation.URI)
		}
		for _, s := range res.Suppressions {
			kinds[s.Kind] = true
		}
	}
	if !kinds["inSource"] || !kinds["external"] {
		t.Errorf("kinds of suppression: %v", kinds)
	}
	for _, rule := range run.Tool.Driver.Rules {
		if !strings.HasPrefix(rule.HelpURI, format.DocsURI+"#") {
			t.Errorf("%s has no help: %q", rule.ID, rule.HelpURI)
		}
	}
	if run.Invocations[0].ExecutionSuccessful {
		t.Error("a module was not readable, but the run is called successful")
	}
	if !strings.Contains(text, `"a/b%20c/main.tf"`) || !strings.Contains(text, `"file:///abs/x"`) {
		t.Error("URIs of the unreadable modules are missing")
	}
}

func TestJSONHasTheBindingKeys(t *testing.T) {
	clean := format.Result{Modules: []format.Module{{Report: &lint.Report{}}}}
	want := "{\n  \"findings\": [],\n  \"summary\": {\n    \"error\": 0,\n    \"warning\": 0,\n    \"info\": 0\n  }\n}\n"
	if diff := cmp.Diff(want, write(t, "json", clean, format.Options{})); diff != "" {
		t.Errorf("a clean report (-want +got):\n%s", diff)
	}
	var got struct {
		Findings []map[string]any
		Summary  map[string]int
	}
	r := result(t)
	if err := json.Unmarshal([]byte(write(t, "json", r, format.Options{})), &got); err != nil {
		t.Fatal(err)
	}
	for _, f := range got.Findings {
		for _, key := range []string{"id", "severity", "file", "line", "message", "module"} {
			if _, ok := f[key]; !ok {
				t.Fatalf("no key %q in %v", key, f)
			}
		}
	}
	s := r.Summary()
	if diff := cmp.Diff(map[string]int{"error": s.Error, "warning": s.Warning, "info": s.Info}, got.Summary); diff != "" {
		t.Error(diff)
	}
	if len(got.Findings) != s.Error+s.Warning+s.Info {
		t.Errorf("%d findings, summary %+v", len(got.Findings), s)
	}
}

func TestJUnitFailsWhatTheRunFails(t *testing.T) {
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprintf("strict=%v", strict), func(t *testing.T) {
			r := result(t)
			for i := range r.Modules {
				r.Modules[i].Strict = strict
			}
			text := write(t, "junit", r, format.Options{})
			var suites junit.Testsuites
			if err := xml.Unmarshal([]byte(text), &suites); err != nil {
				t.Fatal(err)
			}
			if len(suites.Suites) != len(r.Modules) {
				t.Errorf("%d suites for %d modules", len(suites.Suites), len(r.Modules))
			}
			if suites.Errors != 2 {
				t.Errorf("%d errors, want the 2 unreadable modules", suites.Errors)
			}
			warned := false
			for i, m := range r.Modules {
				if m.Report == nil {
					continue
				}
				s := m.Report.Summary()
				warned = warned || s.Warning > 0
				if failed := suites.Suites[i].Failures > 0; failed != s.Failed(strict) {
					t.Errorf("%s: failures %d, summary %+v", m.Path, suites.Suites[i].Failures, s)
				}
			}
			if !warned || !strings.Contains(text, "warning ") {
				t.Error("no warning is shown")
			}
		})
	}
}

func TestTextLineIsGreppable(t *testing.T) {
	r := result(t)
	text := write(t, "text", r, format.Options{})
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	n := 0
	for _, line := range lines[:len(lines)-1] {
		if strings.HasPrefix(line, "    ") {
			continue
		}
		n++
		parts := strings.SplitN(line, " ", 4)
		if len(parts) != 4 || !strings.Contains(parts[2], ":") {
			t.Errorf("not SEVERITY ID FILE:LINE MESSAGE: %q", line)
		}
	}
	if s := r.Summary(); n != s.Error+s.Warning+s.Info {
		t.Errorf("%d lines, summary %+v", n, s)
	}
	if last := lines[len(lines)-1]; !strings.Contains(last, "error(s), ") || !strings.Contains(last, "read terraform files") {
		t.Errorf("last line is %q", last)
	}
}

// TestExcerptKeepsEmoji: a joiner between emoji makes one of them; anywhere else
// it hides what the line says, as other invisible characters do.
func TestExcerptKeepsEmoji(t *testing.T) {
	for in, want := range map[string]string{
		"a = \U0001f468\u200d\U0001f469\u200d\U0001f467":   "a = \U0001f468\u200d\U0001f469\u200d\U0001f467",
		"a = \U0001f3f3\ufe0f\u200d\U0001f308":             "a = \U0001f3f3\ufe0f\u200d\U0001f308",
		"a = \U0001f44d\U0001f3fd\u200d\u2642":             "a = \U0001f44d\U0001f3fd\u200d\u2642",
		"to\u200dken = \U0001f468\u200d\u200d\u202e\u200b": "to\ufffdken = \U0001f468\ufffd\ufffd\ufffd\ufffd",
		"\u200d\U0001f468\u200d":                           "\ufffd\U0001f468\ufffd",
	} {
		line, _, _ := strings.Cut(format.Excerpt(in, 1), "\n")
		if got := strings.TrimPrefix(line, "    "); got != want {
			t.Errorf("%+q is shown as %+q, want %+q", in, got, want)
		}
	}
}

func TestColoursOnlyWhenAllowed(t *testing.T) {
	r := result(t)
	if strings.Contains(write(t, "text", r, format.Options{}), "\x1b") {
		t.Error("colours without leave")
	}
	if !strings.Contains(write(t, "text", r, format.Options{Color: true}), "\x1b[31merror\x1b[0m") {
		t.Error("no colours")
	}
}

func TestGitHubEscapes(t *testing.T) {
	r := format.Result{Modules: []format.Module{{Path: "a,b:c", Report: &lint.Report{Findings: []lint.Finding{{
		ID: "x/y", Severity: lint.SeverityInfo, File: "m%n.tf", Line: 3, Column: 2, EndLine: 3, EndColumn: 4, UTF16Column: 2, UTF16EndColumn: 4, Message: "one\n::error::two 100%", Remedy: "do it",
	}}}}}}
	want := "::notice file=a%2Cb%3Ac/m%25n.tf,line=3,endLine=3,col=2,endColumn=4,title=x/y::one ::error::two 100%25; to fix it, do it\n"
	got := write(t, "github", r, format.Options{})
	if !strings.HasPrefix(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestUnknownFormatNamesAll(t *testing.T) {
	_, err := format.Find("xml")
	if err == nil || !strings.Contains(err.Error(), "text, json, sarif, github, junit") {
		t.Errorf("error is %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriteErrorsAreReported(t *testing.T) {
	for _, f := range format.All() {
		if err := f.Write(failing{}, result(t), format.Options{}); err == nil {
			t.Errorf("%s swallows an error of the writer", f.Name)
		}
	}
}

func FuzzFormatters(f *testing.F) {
	for _, seed := range []string{"plain", "a\x1b[31mb", "line\r\nbreak", "]]>", "\x00\xff\xfe", "::error::x", "100% , : \\", "\u202egnp.tf", "\ufffe", "é\u2028x"} {
		f.Add(seed, "x/y", "main.tf", 1, 1)
	}
	f.Fuzz(func(t *testing.T, message, id, file string, line, column int) {
		finding := lint.Finding{
			ID: "input/type", Severity: lint.SeverityWarning, File: file, Line: max(line, 1), Column: max(column, 1),
			EndLine: max(line, 1), EndColumn: max(column, 1) % 1000, Message: message, Remedy: id, Allowed: id,
		}
		r := format.Result{Recursive: line%2 == 0, Rules: rules.All(), Version: "v1", Modules: []format.Module{
			{Path: file, Name: id, Role: "machine", Report: &lint.Report{Role: contract.RoleMachine, Findings: []lint.Finding{finding}}},
			{Path: id, Name: message, Role: "machine", Err: errors.New(message + "x"), Problems: []format.Problem{{File: file, Line: line, Column: column, Message: message}}},
		}}
		for _, form := range format.All() {
			text := write(t, form.Name, r, format.Options{})
			if !utf8.ValidString(text) {
				t.Errorf("%s: not UTF-8: %q", form.Name, text)
			}
			if strings.ContainsAny(text, "\x00\x1b") || form.Name != "json" && strings.Contains(text, "\x7f") {
				t.Errorf("%s: control characters: %q", form.Name, text)
			}
			switch form.Name {
			case "json", "sarif":
				if !json.Valid([]byte(text)) {
					t.Errorf("%s: not JSON: %q", form.Name, text)
				}
			case "junit":
				if err := xml.Unmarshal([]byte(text), new(junit.Testsuites)); err != nil {
					t.Errorf("junit: %v: %q", err, text)
				}
			case "github", "text":
				if n := strings.Count(text, "\n"); n > 5 {
					t.Errorf("%s: a message broke out of its line: %q", form.Name, text)
				}
			}
		}
	})
}
