package conformance_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/sdk/conformance"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/report"
)

const noop = "../../modules/noop"

func run(plane, scenario string, verdict harness.Verdict, qs ...harness.Requirement) *harness.Result {
	return &harness.Result{Verdict: verdict, ControlPlane: plane, Scenario: scenario, Requirements: qs}
}

func requirement(id string, status harness.Status) harness.Requirement {
	return harness.Requirement{ID: id, Role: contract.RoleMachine, Level: "MUST", Title: "title of " + id, Status: status, Reason: "reason of " + id, Remedy: "remedy of " + id}
}

// reports are what the golden files show.
func reports() map[string]*conformance.Report {
	lint := report.Check{Name: "lint of the machine module", Verdict: harness.VerdictPassed, Summary: "no findings in set/machine"}
	bad := report.Check{Name: "lint of the cluster module", Verdict: harness.VerdictFailed, Summary: "1 error in set/cluster", Findings: []report.CheckFinding{
		{ID: "output/required", Severity: "error", Message: "an output is missing", Place: "set/cluster/outputs.tf:1:1", Remedy: "declare it"}, {ID: "x/y", Severity: "info", Message: "by the way"},
	}}
	passed := func(plane string) *harness.Result {
		return run(plane, "life", harness.VerdictPassed, requirement("CP-008", harness.StatusPassed), requirement("CP-039", harness.StatusPassed), requirement("CP-018", harness.StatusManual), requirement("CP-060", harness.StatusNotApplicable))
	}
	failed := run("kcp", "K4", harness.VerdictFailed, requirement("CP-035", harness.StatusFailed), requirement("CP-008", harness.StatusNotApplicable))
	failed.NotPlayed = []harness.NotPlayed{{Scenario: "K7", Reason: "it needs a cloud: add --simulate"}}
	simulated := passed("rke2")
	simulated.Simulated = []harness.Simulated{{Provider: "hashicorp/aws", Schema: "derived"}}
	modules := map[contract.Role]string{contract.RoleMachine: "set/machine"}
	hostile := run("k\x1bcp", "<b>\n", "odd\x07", requirement("\xff", "odd"))
	chosen := conformance.New("v1alpha1", modules, []report.Check{lint}, []*harness.Result{run("kcp", "K1", harness.VerdictPassed, requirement("CP-039", harness.StatusPassed))})
	chosen.Narrow()
	return map[string]*conformance.Report{
		"chosen":  chosen,
		"passed":  conformance.New("v1alpha1", modules, []report.Check{lint}, []*harness.Result{passed("kcp"), simulated}),
		"failed":  conformance.New("v1alpha1", modules, []report.Check{lint, bad}, []*harness.Result{passed("kcp"), failed}),
		"error":   conformance.New("v1alpha1", modules, []report.Check{lint}, []*harness.Result{passed("kcp"), run("kcp", "K1", harness.VerdictError)}),
		"nothing": conformance.New("v1alpha1", nil, []report.Check{lint}, nil),
		"hostile": conformance.New("v\x1b1", nil, []report.Check{{Name: "\x1b[2J", Verdict: "\x07", Summary: "</text>"}}, []*harness.Result{hostile}),
	}
}

func write(t *testing.T, fn func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := fn(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReports(t *testing.T) {
	for name, r := range reports() {
		text := write(t, func(w io.Writer) error { return r.Text(w, report.TextOptions{}) })
		golden.Assert(t, filepath.Join("testdata", name+".txt"), text)
		if bytes.ContainsFunc(text, func(c rune) bool { return c < ' ' && c != '\n' || c == 0x7f }) {
			t.Errorf("%s: the text holds a control character: %q", name, text)
		}
		golden.Assert(t, filepath.Join("testdata", name+".svg"), write(t, r.Badge().SVG))
		golden.Assert(t, filepath.Join("testdata", name+".badge.json"), write(t, r.Badge().Endpoint))
		var doc struct {
			Title string `xml:"title"`
		}
		if err := xml.Unmarshal(write(t, r.Badge().SVG), &doc); err != nil || !strings.Contains(doc.Title, r.Badge().Message) {
			t.Errorf("%s: the badge is %q: %v", name, doc.Title, err)
		}
		if !json.Valid(write(t, r.JSON)) {
			t.Errorf("%s: no JSON", name)
		}
	}
}

func TestVerdicts(t *testing.T) {
	for name, want := range map[string]harness.Verdict{
		"passed": harness.VerdictPassed, "failed": harness.VerdictFailed, "error": harness.VerdictError, "nothing": harness.VerdictError,
	} {
		if got := reports()[name].Verdict; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// A requirement that fails once fails; one that holds anywhere holds.
func TestTogether(t *testing.T) {
	r := reports()["failed"]
	got := map[string]harness.Status{}
	for _, q := range r.Requirements {
		got[q.ID] = q.Status
	}
	for id, want := range map[string]harness.Status{
		"CP-035": harness.StatusFailed, "CP-008": harness.StatusPassed, "CP-018": harness.StatusManual, "CP-060": harness.StatusNotApplicable,
	} {
		if got[id] != want {
			t.Errorf("%s is %q, want %q", id, got[id], want)
		}
	}
	if r.Requirements[0].ID != "CP-035" || r.Requirements[0].FailedIn[0] != "kcp/K4" {
		t.Errorf("the first is %+v", r.Requirements[0])
	}
}

func TestLint(t *testing.T) {
	for _, role := range contract.Roles() {
		c := conformance.Lint(conformance.LintOptions{Definition: versions.Default(), Role: role, Dir: filepath.Join(noop, string(role)), Strict: true})
		if c.Verdict != harness.VerdictPassed {
			t.Errorf("%s: %+v", role, c)
		}
	}
	o := conformance.LintOptions{Definition: versions.Default(), Role: contract.RoleMachine, Dir: filepath.Join(noop, "cluster")}
	c := conformance.Lint(o)
	if c.Verdict != harness.VerdictFailed || len(c.Findings) == 0 || !strings.Contains(c.Findings[0].Place, "noop/cluster") {
		t.Errorf("a cluster module as a machine's: %+v", c)
	}
	o.Dir = t.TempDir()
	if c := conformance.Lint(o); c.Verdict != harness.VerdictError || c.Summary == "" {
		t.Errorf("no module: %+v", c)
	}
}

// Warnings fail only if they shall, and not where they are allowed.
func TestStrict(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(noop, "machine"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "more.tf"), []byte("variable \"size\" {\n  type = string\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := conformance.LintOptions{Definition: versions.Default(), Role: contract.RoleMachine, Dir: dir}
	loose := conformance.Lint(o)
	o.Strict = true
	strict := conformance.Lint(o)
	for _, f := range strict.Findings {
		o.AllowWarnings = append(o.AllowWarnings, f.ID)
	}
	allowed := conformance.Lint(o)
	if loose.Verdict != harness.VerdictPassed || strict.Verdict != harness.VerdictFailed || allowed.Verdict != harness.VerdictPassed {
		t.Errorf("loose %s, strict %s, allowed %s: %+v", loose.Verdict, strict.Verdict, allowed.Verdict, strict.Findings)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWriteErrors(t *testing.T) {
	r := reports()["failed"]
	for name, fn := range map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return r.Text(w, report.TextOptions{}) }, "json": r.JSON, "svg": r.Badge().SVG, "endpoint": r.Badge().Endpoint,
		"html": func(w io.Writer) error { return r.HTML(w, report.HTMLOptions{}) },
	} {
		if fn(broken{}) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
