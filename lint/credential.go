package lint

import (
	"regexp"
	"strings"
	"sync"

	"github.com/captf-toolkit/captf/contract"
)

// credentialLine finds an argument or key that is named like a credential and
// given a value (lint.md 4.2).
var credentialLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)"?\b(?:` + strings.Join(contract.SecretNames(), "|") + `)"?\s*[=:]`)
})
