package contract

import (
	"slices"
	"strings"
)

// secretNames are names under which credentials are kept (lint.md 4.2).
var secretNames = []string{
	"access_key", "secret_key", "secret_access_key", "session_token", "token",
	"access_token", "auth_token", "bearer_token", "api_token", "api_key", "apikey",
	"password", "passphrase", "client_secret", "client_certificate",
	"client_certificate_password", "client_key", "private_key",
	"private_key_password", "ssh_private_key", "secret",
}

// SecretName tells that an argument or attribute with this name holds a
// credential; case does not matter (lint.md 4.2).
func SecretName(name string) bool {
	return slices.Contains(secretNames, strings.ToLower(name))
}

// MaybeSecretName tells that a name is that of a credential, or ends in one behind
// an underscore or hyphen, such as kubeconfig_password. It is a guess: the value
// may be the name of something secret.
func MaybeSecretName(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "-", "_")
	return slices.ContainsFunc(secretNames, func(s string) bool { return name == s || strings.HasSuffix(name, "_"+s) })
}

// SecretNames returns the names that SecretName knows.
func SecretNames() []string { return slices.Clone(secretNames) }
