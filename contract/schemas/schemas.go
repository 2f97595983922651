// Package schemas holds the JSON Schemas (draft 2020-12) of the module
// contract, generated from its tables by
//
//	go generate ./contract/...
//
// They serve tools that are not written in Go: <version>/<role>.inputs.schema.json
// judges what a generated root passes to a module, <role>.outputs.schema.json an
// object with the module's outputs. Go code uses the contract package, which
// knows rules that a schema cannot state.
//
// Not in this package: generating the schemas.
package schemas

import (
	"embed"
	"fmt"

	"github.com/captf-toolkit/captf/contract"
)

//go:embed v1alpha1
var files embed.FS

// Inputs returns the schema of a role's rendered inputs.
func Inputs(version string, role contract.Role) ([]byte, error) {
	return read(version, role, "inputs")
}

// Outputs returns the schema of a role's outputs.
func Outputs(version string, role contract.Role) ([]byte, error) {
	return read(version, role, "outputs")
}

// Name returns the path of a schema below the folder of this package.
func Name(version string, role contract.Role, side string) string {
	return fmt.Sprintf("%s/%s.%s.schema.json", version, role, side)
}

func read(version string, role contract.Role, side string) ([]byte, error) {
	b, err := files.ReadFile(Name(version, role, side))
	if err != nil {
		return nil, fmt.Errorf("reading the schema for %s of role %q in contract version %q: there is none", side, role, version)
	}
	return b, nil
}
