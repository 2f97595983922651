// Package schema writes the JSON Schema of the variables that a user can set on
// an object, for the image label io.captf.variables-schema (lint.md 6).
//
// Not in this package: reading modules (package sdk/module), the label itself
// (package contract/image), and validation of values against the schema.
package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/module"
)

// node is a schema of the supported subset; encoding it sorts the properties.
type node struct {
	Type       string           `json:"type,omitempty"`
	Properties map[string]*node `json:"properties,omitempty"`
	Required   []string         `json:"required,omitempty"`
	Items      *node            `json:"items,omitempty"`
	Prefix     []*node          `json:"prefixItems,omitempty"`
	// Additional is a *node, or false for the closed root object.
	Additional any `json:"additionalProperties,omitempty"`
}

// Of returns the schema of the user variables of a root module that plays the
// role of the spec: one line of compact JSON, the same for the same module.
// Contract inputs and reserved names are left out, a variable without default is
// required, and a variable without a readable type accepts anything.
func Of(root *module.Module, spec contract.RoleSpec) ([]byte, error) {
	top := &node{Type: "object", Properties: map[string]*node{}, Additional: false}
	for _, v := range root.Variables {
		if _, ok := spec.Input(v.Name); ok || strings.HasPrefix(v.Name, contract.ReservedPrefix) {
			continue
		}
		top.Properties[v.Name] = &node{}
		if v.HasType {
			top.Properties[v.Name] = ofType(v.Type)
		}
		if !v.HasDefault {
			top.Required = append(top.Required, v.Name)
		}
	}
	slices.Sort(top.Required)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(top); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func ofType(t cty.Type) *node {
	switch {
	case t == cty.String:
		return &node{Type: "string"}
	case t == cty.Number:
		return &node{Type: "number"}
	case t == cty.Bool:
		return &node{Type: "boolean"}
	case t.IsListType(), t.IsSetType():
		return &node{Type: "array", Items: ofType(t.ElementType())}
	case t.IsMapType():
		return &node{Type: "object", Additional: ofType(t.ElementType())}
	case t.IsObjectType():
		return ofObject(t)
	case t.IsTupleType():
		n := &node{Type: "array", Prefix: []*node{}}
		for _, e := range t.TupleElementTypes() {
			n.Prefix = append(n.Prefix, ofType(e))
		}
		return n
	}
	return &node{}
}

// ofObject leaves the object open: the language ignores unknown attributes.
func ofObject(t cty.Type) *node {
	n := &node{Type: "object", Properties: map[string]*node{}}
	for name, at := range t.AttributeTypes() {
		n.Properties[name] = ofType(at)
		if !t.AttributeOptional(name) {
			n.Required = append(n.Required, name)
		}
	}
	slices.Sort(n.Required)
	return n
}
