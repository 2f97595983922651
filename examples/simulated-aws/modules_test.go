// Package simulatedaws_test tests the module set in this directory.
package simulatedaws_test

import (
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/rules"
	"github.com/captf-toolkit/captf/sdk/module/readmetest"
)

func TestLintsCleanUnderStrict(t *testing.T) {
	t.Parallel()
	for _, role := range contract.Roles() {
		report, err := lint.Run(lint.Options{Dir: string(role), Role: role, Contract: versions.Default(), Rules: rules.All()})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Findings {
			if f.Severity != lint.SeverityInfo {
				t.Errorf("%s: %+v", role, f)
			}
		}
	}
}

// TestReadme asserts that the tables of the READMEs say what the modules declare.
// With -update it writes them.
func TestReadme(t *testing.T) {
	t.Parallel()
	for _, role := range contract.Roles() {
		readmetest.Assert(t, string(role), versions.Default().Spec(role))
	}
}
