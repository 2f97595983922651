package format

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/captf-toolkit/captf/lint"
)

// JUnit writes a suite a module and a test case a check. Errors, and in strict
// mode warnings, fail their case, so that the file says what the exit code says;
// what does not fail is the case's output. A module that cannot be read is a
// case with an error.
func JUnit(w io.Writer, r Result, _ Options) error {
	all := junit.Testsuites{Name: "tfcapi-lint"}
	for _, m := range r.Modules {
		all.AddSuite(junitSuite(m, r.Rules))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	return all.WriteXML(w)
}

func junitSuite(m Module, rules []lint.Rule) junit.Testsuite {
	suite := junit.Testsuite{Name: xmlText(m.Path), Package: xmlText(m.Role), Time: "0"}
	if m.Report == nil {
		suite.AddTestcase(junit.Testcase{
			Name: "load", Classname: xmlText(m.Path),
			Error: &junit.Result{Message: "cannot read the module", Type: "load", Data: xmlText(m.errorText())},
		})
		return suite
	}
	byID := map[string][]lint.Finding{}
	for _, f := range m.Report.Findings {
		byID[f.ID] = append(byID[f.ID], f)
	}
	for _, rule := range rules {
		if rule.For(m.Report.Role) {
			suite.AddTestcase(junitCase(m, rule.ID, byID[rule.ID]))
		}
	}
	return suite
}

func junitCase(m Module, id string, findings []lint.Finding) junit.Testcase {
	tc := junit.Testcase{Name: xmlText(id), Classname: xmlText(m.Path)}
	var failing, notes []string
	severity := lint.SeverityWarning
	for _, f := range findings {
		line := fmt.Sprintf("%s %s:%d %s", f.Severity, joinPath(m.Path, f.File), f.Line, withRemedy(f))
		if !lint.Count([]lint.Finding{f}).Failed(m.Strict) {
			notes = append(notes, xmlText(line))
			continue
		}
		if f.Severity == lint.SeverityError {
			severity = lint.SeverityError
		}
		failing = append(failing, xmlText(line))
	}
	if len(failing) > 0 {
		tc.Failure = &junit.Result{
			Message: fmt.Sprintf("%d finding(s)", len(failing)), Type: string(severity), Data: strings.Join(failing, "\n"),
		}
	}
	if len(notes) > 0 {
		tc.SystemOut = &junit.Output{Data: strings.Join(notes, "\n")}
	}
	return tc
}

// xmlText replaces what XML 1.0 cannot hold; line ends stay.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r < ' ', r == 0x7f, r >= 0xd800 && r <= 0xdfff, r == 0xfffe, r == 0xffff:
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}
