package report_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/sdk/conformance"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/report"
)

// TestConformanceSchema: the schema of the report of captf contract test is
// generated, reports fit it, and their runs are read as those of a harness run.
func TestConformanceSchema(t *testing.T) {
	const path = "../../docs/reference/conformance.schema.json"
	golden.Assert(t, path, generate(t, "../conformance", &conformance.Report{}, "urn:captf:conformance:report", "Report of captf contract test"))
	schema, err := jsonschema.NewCompiler().Compile(path)
	if err != nil {
		t.Fatal(err)
	}
	rs := pageResults()
	for name, r := range map[string]*conformance.Report{
		"nothing": conformance.New("v1alpha1", nil, nil, nil),
		"several": conformance.New("v1alpha1", rs["full"].Modules, []report.Check{{Name: "lint", Verdict: harness.VerdictFailed, Findings: []report.CheckFinding{{ID: "a/b", Severity: "error", Message: "m"}}}},
			[]*harness.Result{rs["passed"], rs["full"], rs["stalled"], rs["error"]}),
	} {
		raw := write(t, r.JSON)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(r.Runs) == 0 {
			continue
		}
		got, err := report.Read(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(r.Runs) {
			t.Errorf("%s: %d runs are read, want %d", name, len(got), len(r.Runs))
		}
		if diff := cmp.Diff(r.Runs[1], got[1]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		_ = write(t, func(w io.Writer) error { return r.HTML(w, report.HTMLOptions{}) })
	}
}
