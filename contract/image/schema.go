package image

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/captf-toolkit/captf/contract"
)

// MaxVariablesSchema is the size limit of the label io.captf.variables-schema
// in bytes (contract.md 16).
const MaxVariablesSchema = 32768

// Schema is a JSON Schema of the subset that the label io.captf.variables-schema
// may use (lint.md 6): the types of variables, nothing else. The zero value
// accepts anything.
type Schema struct {
	// Type is object, array, string, number, boolean, or empty for any.
	Type string
	// Properties and Required describe an object, Closed one that takes no
	// other properties.
	Properties map[string]*Schema
	Required   []string
	Closed     bool
	// Additional is the schema of a map's values.
	Additional *Schema
	// Items is the schema of a list's items, Prefix those of a tuple's.
	Items  *Schema
	Prefix []*Schema
}

// The types of the subset.
const (
	typeObject  = "object"
	typeArray   = "array"
	typeString  = "string"
	typeNumber  = "number"
	typeBoolean = "boolean"
)

// SchemaOf returns the schema of a variable's type constraint. Nested objects
// stay open: the language ignores attributes that a type does not have.
func SchemaOf(t cty.Type) *Schema {
	switch {
	case t == cty.String:
		return &Schema{Type: typeString}
	case t == cty.Number:
		return &Schema{Type: typeNumber}
	case t == cty.Bool:
		return &Schema{Type: typeBoolean}
	case t.IsListType(), t.IsSetType():
		return &Schema{Type: typeArray, Items: SchemaOf(t.ElementType())}
	case t.IsMapType():
		return &Schema{Type: typeObject, Additional: SchemaOf(t.ElementType())}
	case t.IsTupleType():
		s := &Schema{Type: typeArray, Prefix: []*Schema{}}
		for _, e := range t.TupleElementTypes() {
			s.Prefix = append(s.Prefix, SchemaOf(e))
		}
		return s
	case t.IsObjectType():
		s := &Schema{Type: typeObject, Properties: map[string]*Schema{}}
		for name, at := range t.AttributeTypes() {
			s.Properties[name] = SchemaOf(at)
			if !t.AttributeOptional(name) {
				s.Required = append(s.Required, name)
			}
		}
		slices.Sort(s.Required)
		return s
	}
	return &Schema{}
}

// MarshalJSON writes compact JSON with the properties sorted by name, so that
// equal schemas are equal labels.
func (s *Schema) MarshalJSON() ([]byte, error) {
	type keywords struct {
		Type       string             `json:"type,omitempty"`
		Properties map[string]*Schema `json:"properties,omitempty"`
		Required   []string           `json:"required,omitempty"`
		Items      *Schema            `json:"items,omitempty"`
		Prefix     []*Schema          `json:"prefixItems,omitzero"`
		Additional any                `json:"additionalProperties,omitempty"`
	}
	k := keywords{Type: s.Type, Properties: s.Properties, Required: s.Required, Items: s.Items, Prefix: s.Prefix}
	switch {
	case s.Additional != nil:
		k.Additional = s.Additional
	case s.Closed:
		k.Additional = false
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(k); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Label returns the schema as the value of io.captf.variables-schema: one line.
// The encoder of a caller would escape HTML again, so it is not used.
func (s *Schema) Label() (string, error) {
	b, err := s.MarshalJSON()
	if err != nil {
		return "", fmt.Errorf("writing the variables schema: %w", err)
	}
	return string(b), nil
}

// ParseSchema reads the value of the label. The schema describes an object, the
// variables by name.
func ParseSchema(label string) (*Schema, contract.Violations) {
	at := LabelVariablesSchema.path()
	if len(label) > MaxVariablesSchema {
		return nil, contract.Violations{invalid(at, contract.RuleSize,
			"has %d bytes; at most %d are allowed: give large variables the type any, or shorten their types", len(label), MaxVariablesSchema)}
	}
	value, broken := contract.ParseJSON(at, []byte(label))
	if broken != nil {
		return nil, contract.Violations{*broken}
	}
	s, vs := parseSchema(at, value)
	if len(vs) == 0 && s.Type != typeObject {
		vs = append(vs, invalid(at, contract.RuleType, `does not describe an object; generate it with "tfcapi-lint schema"`))
	}
	if len(vs) > 0 {
		vs.Sort()
		return nil, vs
	}
	return s, nil
}

func parseSchema(at string, value any) (*Schema, contract.Violations) {
	members, ok := value.(map[string]any)
	if !ok {
		return nil, contract.Violations{invalid(at, contract.RuleType, "is not an object; a schema is")}
	}
	s := &Schema{}
	var vs contract.Violations
	for _, name := range slices.Sorted(maps.Keys(members)) {
		read, known := keywords[name]
		if !known {
			vs = append(vs, invalid(at, contract.RuleAdditional, "uses the keyword %q; only %s are supported: generate it with \"tfcapi-lint schema\"", name, keywordNames))
			continue
		}
		vs = append(vs, read(s, at+"."+name, members[name])...)
	}
	if len(vs) > 0 {
		return s, vs
	}
	return s, s.check(at)
}

// keywordNames lists the keywords for people; a test compares it with keywords.
const keywordNames = "additionalProperties, items, prefixItems, properties, required, type"

// keywords read the keywords of the subset into a schema.
var keywords map[string]func(s *Schema, at string, value any) contract.Violations

func init() { // parseSchema and the keywords call each other
	keywords = map[string]func(s *Schema, at string, value any) contract.Violations{
		"type":                 readType,
		"properties":           readProperties,
		"required":             readRequired,
		"items":                readItems,
		"prefixItems":          readPrefixItems,
		"additionalProperties": readAdditional,
	}
}

func readType(s *Schema, at string, value any) contract.Violations {
	name, _ := value.(string)
	if !slices.Contains([]string{typeObject, typeArray, typeString, typeNumber, typeBoolean}, name) {
		return contract.Violations{invalid(at, contract.RuleEnum, "must be one of object, array, string, number, boolean")}
	}
	s.Type = name
	return nil
}

func readProperties(s *Schema, at string, value any) contract.Violations {
	members, ok := value.(map[string]any)
	if !ok {
		return contract.Violations{invalid(at, contract.RuleType, "must be an object with a schema for each property")}
	}
	var vs contract.Violations
	s.Properties = make(map[string]*Schema, len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		child, found := parseSchema(at+"."+name, members[name])
		s.Properties[name] = child
		vs = append(vs, found...)
	}
	return vs
}

func readRequired(s *Schema, at string, value any) contract.Violations {
	items, ok := value.([]any)
	for _, item := range items {
		name, isString := item.(string)
		ok = ok && isString && !slices.Contains(s.Required, name)
		s.Required = append(s.Required, name)
	}
	if !ok {
		return contract.Violations{invalid(at, contract.RuleType, "must be a list of different names")}
	}
	slices.Sort(s.Required)
	return nil
}

func readItems(s *Schema, at string, value any) contract.Violations {
	var vs contract.Violations
	s.Items, vs = parseSchema(at, value)
	return vs
}

func readPrefixItems(s *Schema, at string, value any) contract.Violations {
	items, ok := value.([]any)
	if !ok {
		return contract.Violations{invalid(at, contract.RuleType, "must be a list of schemas")}
	}
	var vs contract.Violations
	s.Prefix = []*Schema{}
	for i, item := range items {
		child, found := parseSchema(fmt.Sprintf("%s[%d]", at, i), item)
		s.Prefix = append(s.Prefix, child)
		vs = append(vs, found...)
	}
	return vs
}

func readAdditional(s *Schema, at string, value any) contract.Violations {
	if open, ok := value.(bool); ok {
		s.Closed = !open
		return nil
	}
	var vs contract.Violations
	s.Additional, vs = parseSchema(at, value)
	return vs
}

// check finds keywords that do not go with the type.
func (s *Schema) check(at string) contract.Violations {
	var vs contract.Violations
	object := s.Properties != nil || s.Required != nil || s.Closed || s.Additional != nil
	list := s.Items != nil || s.Prefix != nil
	if object && s.Type != typeObject || list && s.Type != typeArray {
		vs = append(vs, invalid(at, contract.RuleType, "has keywords that do not go with its type"))
	}
	if s.Items != nil && s.Prefix != nil || s.Properties != nil && s.Additional != nil {
		vs = append(vs, invalid(at, contract.RuleType, "describes two types at once"))
	}
	for _, name := range s.Required {
		if _, ok := s.Properties[name]; !ok {
			vs = append(vs, invalid(at, contract.RuleRequired, "requires %q, which is not among its properties", name))
		}
	}
	return vs
}

// typ returns the type constraint that the schema was made from, or one that
// accepts the same values.
func (s *Schema) typ() cty.Type {
	switch s.Type {
	case typeString:
		return cty.String
	case typeNumber:
		return cty.Number
	case typeBoolean:
		return cty.Bool
	case typeArray:
		if s.Items != nil {
			return cty.List(s.Items.typ())
		}
		var types []cty.Type
		for _, p := range s.Prefix {
			types = append(types, p.typ())
		}
		if s.Prefix != nil {
			return cty.Tuple(types)
		}
		return cty.DynamicPseudoType // a list of anything; only a schema written by hand says so
	case typeObject:
		if s.Additional != nil {
			return cty.Map(s.Additional.typ())
		}
		types := make(map[string]cty.Type, len(s.Properties))
		var optional []string
		for name, p := range s.Properties {
			types[name] = p.typ()
			if !slices.Contains(s.Required, name) {
				optional = append(optional, name)
			}
		}
		return cty.ObjectWithOptionalAttrs(types, optional)
	}
	return cty.DynamicPseudoType
}

// Validate checks the variables of an object against the schema (B-316): no
// unknown name, every required one given, and each value convertible to its
// type by the rules of the language, so "3" is a number and null is accepted.
// The messages name the variable, never its value.
func (s *Schema) Validate(variables map[string]json.RawMessage) contract.Violations {
	var vs contract.Violations
	for _, name := range s.Required {
		if _, ok := variables[name]; !ok {
			vs = append(vs, contract.Violation{
				Path: "variables." + name, Rule: contract.RuleRequired, Reason: contract.ReasonInvalid,
				Message: "is required by the module and not set",
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		at := "variables." + name
		property, known := s.Properties[name]
		switch {
		case known:
			vs = append(vs, property.validate(at, variables[name])...)
		case s.Additional != nil:
			vs = append(vs, s.Additional.validate(at, variables[name])...)
		case s.Closed:
			vs = append(vs, invalid(at, contract.RuleAdditional, "is no variable of the module; it has %s", names(s.Properties)))
		}
	}
	vs.Sort()
	return vs
}

func (s *Schema) validate(at string, raw json.RawMessage) contract.Violations {
	if _, broken := contract.ParseJSON(at, raw); broken != nil {
		return contract.Violations{*broken}
	}
	implied, err := ctyjson.ImpliedType(raw)
	if err != nil {
		return contract.Violations{invalid(at, contract.RuleJSON, "is not valid JSON")}
	}
	value, err := ctyjson.Unmarshal(raw, implied)
	if err != nil {
		return contract.Violations{invalid(at, contract.RuleJSON, "is not valid JSON")}
	}
	if _, err := convert.Convert(value, s.typ()); err != nil {
		return contract.Violations{invalid(at+placeOf(err), contract.RuleType,
			"has the wrong type; it is declared as %s", s.typ().FriendlyNameForConstraint())}
	}
	return nil
}

// placeOf returns where in a value a conversion went wrong. The rest of the
// error is not used: it can quote the keys of a map, which are part of the value.
func placeOf(err error) string {
	var at cty.PathError
	if !errors.As(err, &at) {
		return ""
	}
	var b strings.Builder
	for _, step := range at.Path {
		switch s := step.(type) {
		case cty.GetAttrStep:
			b.WriteString("." + s.Name)
		case cty.IndexStep:
			key := "…"
			if s.Key.Type() == cty.Number {
				key = s.Key.AsBigFloat().Text('f', -1)
			}
			b.WriteString("[" + key + "]")
		}
	}
	return b.String()
}

// names lists the properties for people, cut when there are many.
func names(properties map[string]*Schema) string {
	const shown = 10
	list := slices.Sorted(maps.Keys(properties))
	switch {
	case len(list) == 0:
		return "none"
	case len(list) > shown:
		return fmt.Sprintf("%s and %d more", join(list[:shown]), len(list)-shown)
	}
	return join(list)
}
