package report_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/harness/compare"
	"github.com/captf-toolkit/captf/sdk/report"
)

// TestRead: what JSON writes is read as it was.
func TestRead(t *testing.T) {
	rs := pageResults()
	for name, list := range map[string][]*harness.Result{"one": {rs["full"]}, "several": {rs["passed"], rs["stalled"], rs["full"]}} {
		got, err := report.Read(bytes.NewReader(write(t, func(w io.Writer) error { return report.JSON(w, list...) })))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(list, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestReadOthers: a file that is no report is refused, and why is said.
func TestReadOthers(t *testing.T) {
	good := `{"verdict":"passed","scenario":"K1","controlPlane":"kcp","requirements":[],"steps":[]}`
	for text, want := range map[string]string{
		"":                             "it is empty",
		" \n":                          "it is empty",
		"{\n  \"verdict\": oops}":      "2:14: it is no JSON",
		"<html>":                       "1:1: it is no JSON",
		"{\"a\":1":                     "1:6: it is no JSON",
		"{}":                           `it has no "verdict"`,
		"[]":                           "the list is empty",
		"3":                            "it is no object",
		"null":                         `it has no "verdict"`,
		"[" + good + ", {}]":           `result 2 of 2: it has no "verdict"`,
		`{"findings": []}`:             `it has no "verdict"`,
		`{"runs": [{"verdict": "x"}]}`: `it has no "scenario"`,
		strings.Replace(good, `"passed"`, `"fine"`, 1):       `its verdict is "fine"`,
		strings.Replace(good, `"K1"`, `7`, 1):                "scenario is a number",
		strings.Replace(good, `"steps":[]`, `"steps":{}`, 1): "steps is a object",
	} {
		_, err := report.Read(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), "no JSON") && !errors.Is(err, report.ErrNoReport) {
			t.Errorf("%s: %v is not ErrNoReport", text, err)
		}
	}
	if got, err := report.Read(strings.NewReader(strings.Replace(good, "{", `{"of a later version": {"x": 1}, `, 1))); err != nil || len(got) != 1 {
		t.Errorf("a report with more than is known: %v %v", got, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"verdict":"passed","scenario":"K1","controlPlane":"kcp","requirements":[{"id":"x"}],"steps":[{"at":1}]}`))
	f.Add([]byte(`{"runs":[{}]}`))
	f.Add([]byte(`[1,2]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		rs, err := report.Read(bytes.NewReader(raw))
		if err != nil {
			return
		}
		d := compare.Results(rs, rs)
		write(t, func(w io.Writer) error { return report.DiffText(w, d, report.DiffOptions{}) })
		write(t, func(w io.Writer) error { return report.HTML(w, report.HTMLOptions{}, rs...) })
	})
}

// differences are what the golden files show.
func differences() map[string]compare.Difference {
	rs := pageResults()
	changed := *rs["full"]
	changed.Verdict, changed.Requirements, changed.Left, changed.Runtime = harness.VerdictPassed, rs["passed"].Requirements, nil, "Terraform v1.11.4"
	changed.Steps = append(append([]harness.StoryStep{}, changed.Steps[:8]...), changed.Steps[12:]...)
	changed.Timing = harness.Timing{Total: 7, Runtime: 6.4, Runs: 40}
	hostile := *rs["hostile"]
	other := hostile
	other.Verdict, other.Runtime, other.Left = harness.VerdictFailed, "\x1b[31m", []string{"a\nb"}
	other.Steps = []harness.StoryStep{{Type: "ty\x1bpe", Object: "ki\nnd/name"}}
	other.Requirements = []harness.Requirement{{ID: "\x07", Role: contract.Role("\xff"), Status: harness.StatusFailed, Reason: "\x1b]0;x\x07"}}
	return map[string]compare.Difference{
		"same":    compare.Results([]*harness.Result{rs["full"]}, []*harness.Result{rs["full"]}),
		"changed": compare.Results([]*harness.Result{rs["full"], rs["error"]}, []*harness.Result{&changed}),
		"hostile": compare.Results([]*harness.Result{&hostile}, []*harness.Result{&other}),
	}
}

func TestDiffs(t *testing.T) {
	for name, d := range differences() {
		o := report.DiffOptions{A: "before.json", B: "after\n.json"}
		raw := write(t, func(w io.Writer) error { return report.DiffText(w, d, o) })
		golden.Assert(t, filepath.Join("testdata", "diff."+name+".txt"), raw)
		checkPlain(t, name, raw)
		golden.Assert(t, filepath.Join("testdata", "diff."+name+".json"), write(t, func(w io.Writer) error { return report.DiffJSON(w, d) }))
	}
	golden.Assert(t, filepath.Join("testdata", "diff.colors.txt"), write(t, func(w io.Writer) error {
		return report.DiffText(w, differences()["changed"], report.DiffOptions{A: "a", B: "b", Colors: true})
	}))
	if err := report.DiffText(brokenWriter{}, differences()["changed"], report.DiffOptions{}); err == nil {
		t.Error("an error of writing is not reported")
	}
}

// TestDiffSchema: the schema of differences is generated, and differences fit it.
func TestDiffSchema(t *testing.T) {
	const path = "../../docs/reference/harness-diff.schema.json"
	golden.Assert(t, path, generate(t, "../harness/compare", &compare.Difference{}, "urn:captf:harness:diff", "Difference of captf harness diff"))
	schema, err := jsonschema.NewCompiler().Compile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range differences() {
		if name == "hostile" {
			continue // it has a role that there is not
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(write(t, func(w io.Writer) error { return report.DiffJSON(w, d) })))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
