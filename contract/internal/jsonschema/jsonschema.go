// Package jsonschema states the tables of a contract version as JSON Schemas
// (draft 2020-12), one for the inputs and one for the outputs of each role.
//
// A schema cannot state every rule: unique names in a list of objects, equality
// of an output with an input, numbers written without a fraction, names used
// once. The contract package states those.
//
// Not in this package: validating anything, and the checked-in files (package
// schemas).
package jsonschema

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/captf-toolkit/captf/contract"
)

const draft = "https://json-schema.org/draft/2020-12/schema"

// wholeNumbers is the definition of a value of any shape whose numbers are whole.
const wholeNumbers = "wholeNumbers"

// schema is one JSON Schema; the order of its fields is that of the file.
type schema struct {
	Schema          string             `json:"$schema,omitempty"`
	ID              string             `json:"$id,omitempty"`
	Title           string             `json:"title,omitempty"`
	Description     string             `json:"description,omitempty"`
	Ref             string             `json:"$ref,omitempty"`
	Type            any                `json:"type,omitempty"`
	Not             *schema            `json:"not,omitempty"`
	Const           any                `json:"const,omitempty"`
	Enum            []any              `json:"enum,omitempty"`
	MinLength       int                `json:"minLength,omitempty"`
	MaxLength       int                `json:"maxLength,omitempty"`
	Pattern         string             `json:"pattern,omitempty"`
	ContentEncoding string             `json:"contentEncoding,omitempty"`
	Minimum         *int64             `json:"minimum,omitempty"`
	Maximum         *int64             `json:"maximum,omitempty"`
	MinItems        int                `json:"minItems,omitempty"`
	MaxItems        int                `json:"maxItems,omitempty"`
	Items           *schema            `json:"items,omitempty"`
	MinProperties   int                `json:"minProperties,omitempty"`
	MaxProperties   int                `json:"maxProperties,omitempty"`
	Required        []string           `json:"required,omitempty"`
	Properties      properties         `json:"properties,omitempty"`
	Additional      any                `json:"additionalProperties,omitempty"`
	Default         any                `json:"default,omitempty"`
	Definitions     map[string]*schema `json:"$defs,omitempty"`
}

// properties are the properties of an object, in contract order.
type properties []property

type property struct {
	name   string
	schema *schema
}

// MarshalJSON writes the properties as an object in their order.
func (ps properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range ps {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(p.name)
		if err != nil {
			return nil, err
		}
		value, err := encode(p.schema)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Inputs returns the schema of the rendered inputs of a role.
func Inputs(d contract.Definition, role contract.Role) ([]byte, error) {
	spec := d.Spec(role)
	root := newRoot(d, role, "inputs", "Values that the generated root passes to a "+string(role)+" module.")
	root.Additional = false
	for _, in := range spec.Inputs {
		root.add(in.Name, in.Doc, build(in.Shape), true)
	}
	for _, in := range spec.Tolerated {
		root.add(in.Name, in.Doc, &schema{Type: "null"}, false)
	}
	return root.file()
}

// Outputs returns the schema of the outputs of a role: an object with a member
// for each output that the module declares, null where the value is null.
func Outputs(d contract.Definition, role contract.Role) ([]byte, error) {
	spec := d.Spec(role)
	root := newRoot(d, role, "outputs", "Outputs of a "+string(role)+" module.")
	for _, out := range spec.Outputs {
		shape := out.Shape
		shape.Nullable = out.Null != contract.NullInvalid
		if out.EmptyIsNull {
			shape.MinLength = 0
		}
		root.add(out.Name, out.Doc, build(shape), true)
	}
	return root.file()
}

func newRoot(d contract.Definition, role contract.Role, side, doc string) *schema {
	return &schema{
		Schema:      draft,
		ID:          fmt.Sprintf("urn:captf:contract:%s:%s:%s", d.Version(), role, side),
		Title:       fmt.Sprintf("Module contract %s: %s of the role %s", d.Version(), side, role),
		Description: doc,
		Type:        "object",
	}
}

func (s *schema) add(name, doc string, value *schema, required bool) {
	value.Description = doc
	s.Properties = append(s.Properties, property{name, value})
	if required {
		s.Required = append(s.Required, name)
	}
	if value.Ref != "" {
		s.Definitions = map[string]*schema{wholeNumbers: {
			Description: "Any value in which every number is whole.",
			Type:        []string{"null", "boolean", "string", "integer", "array", "object"},
			Items:       &schema{Ref: "#/$defs/" + wholeNumbers},
			Additional:  &schema{Ref: "#/$defs/" + wholeNumbers},
		}}
	}
}

func (s *schema) file() ([]byte, error) {
	compact, err := encode(s)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, compact, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// encode writes JSON without HTML escaping: the file is for people as well.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// build returns the schema of a shape.
func build(s contract.Shape) *schema {
	out := &schema{}
	switch s.Kind {
	case contract.KindString:
		out.Type = "string"
		out.MinLength, out.MaxLength, out.Pattern = s.MinLength, s.MaxLength, s.Pattern
		if s.Format == "base64" {
			out.ContentEncoding = s.Format
		}
		setEnum(out, s)
	case contract.KindInteger:
		out.Type = "integer"
		out.Minimum, out.Maximum = s.Min, s.Max
	case contract.KindBool:
		out.Type = "boolean"
	case contract.KindList:
		out.Type = "array"
		out.MinItems, out.MaxItems, out.Items = s.MinLength, s.MaxLength, build(*s.Elem)
	case contract.KindMap:
		out.Type = "object"
		out.MinProperties, out.MaxProperties, out.Additional = s.MinLength, s.MaxLength, build(*s.Elem)
	case contract.KindObject:
		buildObject(out, s)
	default:
		buildAny(out, s)
		return out
	}
	if s.Nullable {
		out.Type = []any{out.Type, "null"}
	}
	return out
}

func setEnum(out *schema, s contract.Shape) {
	if len(s.Enum) == 1 && !s.Nullable {
		out.Const = s.Enum[0]
		return
	}
	for _, value := range s.Enum {
		out.Enum = append(out.Enum, value)
	}
	if len(s.Enum) > 0 && s.Nullable {
		out.Enum = append(out.Enum, nil)
	}
}

func buildObject(out *schema, s contract.Shape) {
	out.Type = "object"
	if s.Closed {
		out.Additional = false
	}
	for _, a := range s.Attributes {
		value := build(a.Shape)
		value.Description = a.Doc
		value.Default = a.Default
		out.Properties = append(out.Properties, property{a.Name, value})
		if !a.Optional {
			out.Required = append(out.Required, a.Name)
		}
	}
}

func buildAny(out *schema, s contract.Shape) {
	if s.IntegersOnly {
		out.Ref = "#/$defs/" + wholeNumbers
	}
	if !s.Nullable {
		out.Not = &schema{Type: "null"}
	}
}
