package image

import (
	"slices"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/lint"
)

// rule is a check of an image.
type rule struct {
	lint.Rule
	// check looks at the image of one platform. It is nil for checks that are
	// made elsewhere: of the reference as a whole.
	check func(*checker)
}

// Rules returns every check of an image, in the order of the reference page.
func Rules() []lint.Rule {
	out := make([]lint.Rule, 0, len(all))
	for _, r := range all {
		out = append(out, r.Rule)
	}
	return out
}

var all = slices.Concat(layoutRules, runtimeRules, mirrorRules, labelRules, userRules, platformRules, trustRules)

var (
	isError   = []lint.Severity{lint.SeverityError}
	isWarning = []lint.Severity{lint.SeverityWarning}
	isInfo    = []lint.Severity{lint.SeverityInfo}

	errorOrInfo        = []lint.Severity{lint.SeverityError, lint.SeverityInfo}
	warningOrInfo      = []lint.Severity{lint.SeverityWarning, lint.SeverityInfo}
	errorWarningOrInfo = []lint.Severity{lint.SeverityError, lint.SeverityWarning, lint.SeverityInfo}

	onlyMachine = []contract.Role{contract.RoleMachine}
)
