// Package versions holds the contract versions that this release supports.
// Adding one means adding a row here; consumers need no edit.
//
// Not in this package: anything about a version itself.
package versions

import (
	"fmt"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/v1alpha1"
)

// definitions lists the supported versions, newest first.
var definitions = []contract.Definition{
	v1alpha1.Definition(),
}

// All returns the supported versions, newest first.
func All() []contract.Definition { return definitions }

// Default returns the newest supported version.
func Default() contract.Definition { return definitions[0] }

// Names returns the tokens of the supported versions, newest first.
func Names() []string {
	names := make([]string, 0, len(definitions))
	for _, d := range definitions {
		names = append(names, d.Version())
	}
	return names
}

// Get returns the version with the given token. The error lists what there is.
func Get(version string) (contract.Definition, error) {
	for _, d := range definitions {
		if d.Version() == version {
			return d, nil
		}
	}
	return nil, fmt.Errorf("looking up contract version %q: supported are %s", version, strings.Join(Names(), ", "))
}
