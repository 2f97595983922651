package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
)

// JUnit writes the result as JUnit XML: a suite for each role with a test case
// for each requirement (suite set for those of no role). What does not apply,
// or needs a person, is skipped. A suite named harness holds the run itself: it
// fails when the run stalled and has an error when the run could not be played.
// With several results the suites' names start with their scenario.
func JUnit(w io.Writer, results ...*harness.Result) error {
	all := junit.Testsuites{Name: "captf harness"}
	total := 0.0
	for _, r := range results {
		prefix := ""
		if len(results) > 1 {
			prefix = xmlText(r.Scenario) + "/"
		}
		total += r.Timing.Total
		for _, suite := range suitesOf(r) {
			suite.Name = prefix + suite.Name
			all.AddSuite(suite)
		}
	}
	all.Time = fmt.Sprintf("%.3f", total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	if err := all.WriteXML(w); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func suitesOf(r *harness.Result) []junit.Testsuite {
	suites := []junit.Testsuite{runSuite(r)}
	for _, role := range append(contract.Roles(), "") {
		suite := junit.Testsuite{Name: cmp.Or(string(role), "set"), Package: xmlText(r.Modules[role]), Time: "0"}
		for _, q := range r.Requirements {
			if q.Role == role || role == "" && q.Role.Kind() == "" {
				suite.AddTestcase(testcase(q))
			}
		}
		if len(suite.Testcases) > 0 {
			suites = append(suites, suite)
		}
	}
	return suites
}

// runSuite is the suite of the run itself.
func runSuite(r *harness.Result) junit.Testsuite {
	suite := junit.Testsuite{Name: "harness", Time: fmt.Sprintf("%.3f", r.Timing.Total)}
	suite.AddProperty("runtime", xmlText(r.Runtime))
	suite.AddProperty("seed", strconv.FormatUint(r.Seed, 10))
	suite.AddProperty("verdict", xmlText(string(r.Verdict)))
	tc := junit.Testcase{
		Name: xmlText(r.Scenario), Classname: xmlText("harness." + r.ControlPlane), Time: fmt.Sprintf("%.3f", r.Timing.Total),
	}
	if s := r.Stalled; s != nil && !s.Expected {
		tc.Failure = &junit.Result{
			Type: "stalled", Message: xmlText(fmt.Sprintf("stalled at %s: waits for %s", s.Gate, s.WaitsFor)),
			Data: xmlText(facts("object", s.Object, "output", s.Output, "requirement", s.Requirement, "what happens", s.Message, "what to do", s.Remedy)),
		}
	}
	if r.Error != "" {
		tc.Error = &junit.Result{Type: "error", Message: xmlText(line(r.Error)), Data: xmlText(r.Error)}
	}
	pairs := []string{"still exists", strings.Join(r.Left, ", "), "kept", r.Kept}
	for _, n := range r.Notes {
		pairs = append(pairs, "note on the "+string(n.Role)+" module", strings.TrimSpace(n.Message+" "+n.Place))
	}
	if out := facts(pairs...); out != "" {
		tc.SystemOut = &junit.Output{Data: xmlText(out)}
	}
	suite.AddTestcase(tc)
	return suite
}

func testcase(q harness.Requirement) junit.Testcase {
	tc := junit.Testcase{Name: xmlText(strings.TrimSpace(q.ID + " " + q.Title)), Classname: xmlText(string(q.Role)), Time: "0"}
	switch q.Status {
	case harness.StatusFailed:
		tc.Failure = &junit.Result{
			Type: xmlText(q.Level), Message: xmlText(line(q.Reason)),
			Data: xmlText(facts("why", q.Reason, "seen", strings.Join(q.Evidence, "; "), "what to do", q.Remedy)),
		}
	case harness.StatusNotApplicable, harness.StatusManual:
		tc.Skipped = &junit.Result{Message: xmlText(line(string(q.Status) + ": " + q.Reason))}
	case harness.StatusPassed:
		if len(q.Evidence) > 0 {
			tc.SystemOut = &junit.Output{Data: xmlText(strings.Join(q.Evidence, "\n"))}
		}
	}
	return tc
}

// facts writes name and value pairs one a line, without the empty ones.
func facts(pairs ...string) string {
	var out []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, pairs[i]+": "+line(pairs[i+1]))
		}
	}
	return strings.Join(out, "\n")
}

// xmlText replaces what XML 1.0 cannot hold, which CDATA does not escape.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return r
		case r < 0x20, r == 0x7F, r >= 0xD800 && r <= 0xDFFF, r == 0xFFFE, r == 0xFFFF:
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
