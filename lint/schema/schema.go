// Package schema writes the JSON Schema of the variables that a user can set on
// an object, for the image label io.captf.variables-schema (lint.md 6).
//
// Not in this package: reading modules (package sdk/module), and the subset of
// JSON Schema itself, how it is read and how values are judged by it (package
// contract/image).
package schema

import (
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/sdk/module"
)

// Of returns the schema of the user variables of a root module that plays the
// role of the spec: one line of compact JSON, the same for the same module.
// Contract inputs and reserved names are left out, a variable without default is
// required, and a variable without a readable type accepts anything.
func Of(root *module.Module, spec contract.RoleSpec) ([]byte, error) {
	top := &image.Schema{Type: "object", Properties: map[string]*image.Schema{}, Closed: true}
	for _, v := range root.Variables {
		if _, ok := spec.Input(v.Name); ok || strings.HasPrefix(v.Name, contract.ReservedPrefix) {
			continue
		}
		top.Properties[v.Name] = &image.Schema{}
		if v.HasType {
			top.Properties[v.Name] = image.SchemaOf(v.Type)
		}
		if !v.HasDefault {
			top.Required = append(top.Required, v.Name)
		}
	}
	slices.Sort(top.Required)
	return top.MarshalJSON()
}
