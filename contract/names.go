package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// StateSuffix returns the suffix in the names of an object's state: the first
// 16 hex digits of sha256("<namespace>/<Kind>/<name>"), then -c, -m or -mp
// (contract.md 12, B-400). It never ends in a number, which Terraform would take
// for the index of a part.
func StateSuffix(role Role, namespace, name string) string {
	return shortHash(namespace+"/"+role.Kind()+"/"+name) + "-" + role.ShortKind()
}

// StateSecretName returns the name of the Secret that holds an object's state,
// or its first part.
func StateSecretName(role Role, namespace, name string) string {
	return "tfstate-default-" + StateSuffix(role, namespace, name)
}

// InputsSecretName returns the name of the Secret with the inputs of the
// newest apply that was started (contract.md 13, B-360).
func InputsSecretName(role Role, name string) string {
	return secretName("captf-inputs-" + role.ShortKind() + "-" + name)
}

// AppliedSecretName returns the name of the Secret with the inputs of the
// newest apply that succeeded (contract.md 13, B-361).
func AppliedSecretName(role Role, name string) string {
	return secretName("captf-applied-" + role.ShortKind() + "-" + name)
}

// maxSecretName is the longest name that Kubernetes accepts for a Secret.
const maxSecretName = 253

// secretName shortens a name that is too long: its beginning, then a hash of
// the whole (B-366).
func secretName(name string) string {
	if len(name) <= maxSecretName {
		return name
	}
	hash := shortHash(name)
	return strings.TrimRight(name[:maxSecretName-len(hash)-1], "-.") + "-" + hash
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:16]
}
