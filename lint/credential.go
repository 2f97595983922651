package lint

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// credentialNames are the argument names that hold credentials (lint.md 4.2).
var credentialNames = []string{
	"access_key", "secret_key", "secret_access_key", "session_token", "token",
	"access_token", "auth_token", "bearer_token", "api_token", "api_key", "apikey",
	"password", "passphrase", "client_secret", "client_certificate",
	"client_certificate_password", "client_key", "private_key",
	"private_key_password", "ssh_private_key", "secret",
}

// credentialLine finds an argument or key with such a name that is given a string.
var credentialLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)"?\b(?:` + strings.Join(credentialNames, "|") + `)"?\s*[=:]`)
})

// IsCredentialName tells that an argument with this name holds a credential;
// case does not matter (lint.md 4.2).
func IsCredentialName(name string) bool {
	return slices.Contains(credentialNames, strings.ToLower(name))
}

// CredentialNames returns the names that IsCredentialName knows.
func CredentialNames() []string { return slices.Clone(credentialNames) }
