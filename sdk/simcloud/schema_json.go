package simcloud

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// What `providers schema -json` prints.
type (
	jsonSchema struct {
		Version int64      `json:"version"`
		Block   *jsonBlock `json:"block"`
	}
	jsonBlock struct {
		Attributes map[string]*jsonAttribute `json:"attributes,omitempty"`
		Blocks     map[string]*jsonNested    `json:"block_types,omitempty"`
		Deprecated bool                      `json:"deprecated,omitzero"`
	}
	jsonNested struct {
		Nesting string     `json:"nesting_mode"`
		Block   *jsonBlock `json:"block"`
		Min     int64      `json:"min_items,omitzero"`
		Max     int64      `json:"max_items,omitzero"`
	}
	jsonAttribute struct {
		Type       *jsonType   `json:"type,omitempty"`
		Nested     *jsonObject `json:"nested_type,omitempty"`
		Required   bool        `json:"required,omitzero"`
		Optional   bool        `json:"optional,omitzero"`
		Computed   bool        `json:"computed,omitzero"`
		Sensitive  bool        `json:"sensitive,omitzero"`
		WriteOnly  bool        `json:"write_only,omitzero"`
		Deprecated bool        `json:"deprecated,omitzero"`
	}
	jsonObject struct {
		Attributes map[string]*jsonAttribute `json:"attributes"`
		Nesting    string                    `json:"nesting_mode"`
	}
	jsonFunction struct {
		Parameters []*jsonParameter `json:"parameters,omitempty"`
		Variadic   *jsonParameter   `json:"variadic_parameter,omitempty"`
		Return     *jsonType        `json:"return_type"`
		Summary    string           `json:"summary,omitzero"`
	}
	jsonParameter struct {
		Name     string    `json:"name"`
		Type     *jsonType `json:"type"`
		Nullable bool      `json:"is_nullable,omitzero"`
		Unknown  bool      `json:"allow_unknown_values,omitzero"`
	}
)

// jsonType is a type in its JSON form, such as ["list","string"].
type jsonType struct{ t tftypes.Type }

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (t *jsonType) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	typ, err := readType(d, 0)
	t.t = typ
	return err
}

// parseType reads a type from its JSON form.
func parseType(b []byte) (tftypes.Type, error) {
	var t jsonType
	err := json.Unmarshal(b, &t)
	return t.t, err
}

var primitives = map[string]tftypes.Type{
	"string": tftypes.String, "bool": tftypes.Bool, "number": tftypes.Number, "dynamic": tftypes.DynamicPseudoType,
}

// readType reads a type token by token: a schema has tens of thousands of them.
func readType(d *jsontext.Decoder, depth int) (tftypes.Type, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("at %s: types are nested more than %d deep", d.StackPointer(), maxDepth)
	}
	tok, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case '"':
		name := tok.String()
		if t := primitives[name]; t != nil {
			return t, nil
		}
		return nil, fmt.Errorf("at %s: %q is no type", d.StackPointer(), name)
	case '[':
	default:
		return nil, fmt.Errorf("at %s: a type is a JSON string or list", d.StackPointer())
	}
	tok, err = d.ReadToken()
	if err != nil {
		return nil, err
	}
	if tok.Kind() != '"' {
		return nil, fmt.Errorf("at %s: a type's list begins with a string", d.StackPointer())
	}
	t, err := readComplex(d, tok.String(), depth)
	if err != nil {
		return nil, err
	}
	tok, err = d.ReadToken()
	if err == nil && tok.Kind() != ']' {
		err = fmt.Errorf("at %s: a type has more parts than are known", d.StackPointer())
	}
	return t, err
}

func readComplex(d *jsontext.Decoder, kind string, depth int) (tftypes.Type, error) {
	switch kind {
	case "list", "set", "map":
		e, err := readType(d, depth+1)
		if err != nil {
			return nil, err
		}
		switch kind {
		case "list":
			return tftypes.List{ElementType: e}, nil
		case "set":
			return tftypes.Set{ElementType: e}, nil
		}
		return tftypes.Map{ElementType: e}, nil
	case "object":
		return readObject(d, depth)
	case "tuple":
		tok, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		if tok.Kind() != '[' {
			return nil, fmt.Errorf("at %s: the types of a tuple are a JSON list", d.StackPointer())
		}
		var types []tftypes.Type
		for d.PeekKind() != ']' {
			e, err := readType(d, depth+1)
			if err != nil {
				return nil, err
			}
			types = append(types, e)
		}
		_, err = d.ReadToken()
		return tftypes.Tuple{ElementTypes: types}, err
	}
	return nil, fmt.Errorf("at %s: %q is no kind of type", d.StackPointer(), kind)
}

func readObject(d *jsontext.Decoder, depth int) (tftypes.Type, error) {
	tok, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	if tok.Kind() != '{' {
		return nil, fmt.Errorf("at %s: the attributes of an object type are a JSON object", d.StackPointer())
	}
	types := map[string]tftypes.Type{}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if types[key], err = readType(d, depth+1); err != nil {
			return nil, err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	if d.PeekKind() == '[' { // optional attributes, which values do not know
		if err := d.SkipValue(); err != nil {
			return nil, err
		}
	}
	return tftypes.Object{AttributeTypes: types}, nil
}

var blockNesting = map[string]tfprotov6.SchemaNestedBlockNestingMode{
	"single": tfprotov6.SchemaNestedBlockNestingModeSingle, "list": tfprotov6.SchemaNestedBlockNestingModeList,
	"set": tfprotov6.SchemaNestedBlockNestingModeSet, "map": tfprotov6.SchemaNestedBlockNestingModeMap,
	"group": tfprotov6.SchemaNestedBlockNestingModeGroup,
}

var objectNesting = map[string]tfprotov6.SchemaObjectNestingMode{
	"single": tfprotov6.SchemaObjectNestingModeSingle, "list": tfprotov6.SchemaObjectNestingModeList,
	"set": tfprotov6.SchemaObjectNestingModeSet, "map": tfprotov6.SchemaObjectNestingModeMap,
}

func (j *jsonSchema) schema() (*tfprotov6.Schema, error) {
	b, err := j.Block.block(0)
	return &tfprotov6.Schema{Version: j.Version, Block: b}, err
}

func (j *jsonBlock) block(depth int) (*tfprotov6.SchemaBlock, error) {
	out := &tfprotov6.SchemaBlock{}
	if j == nil {
		return out, nil
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("blocks are nested more than %d deep", maxDepth)
	}
	var err error
	if out.Attributes, err = attributes(j.Attributes, depth); err != nil {
		return nil, err
	}
	out.Deprecated = j.Deprecated
	for _, name := range keys(j.Blocks) {
		n := j.Blocks[name]
		if n == nil {
			return nil, fmt.Errorf("block %s: it is null", name)
		}
		mode, ok := blockNesting[n.Nesting]
		if !ok {
			return nil, fmt.Errorf("block %s: %q is no way to nest blocks", name, n.Nesting)
		}
		b, err := n.Block.block(depth + 1)
		if err != nil {
			return nil, fmt.Errorf("block %s: %w", name, err)
		}
		out.BlockTypes = append(out.BlockTypes, &tfprotov6.SchemaNestedBlock{
			TypeName: name, Block: b, Nesting: mode, MinItems: n.Min, MaxItems: n.Max,
		})
	}
	return out, nil
}

func attributes(list map[string]*jsonAttribute, depth int) ([]*tfprotov6.SchemaAttribute, error) {
	out := make([]*tfprotov6.SchemaAttribute, 0, len(list))
	for _, name := range keys(list) {
		a, err := list[name].attribute(name, depth)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		out = append(out, a)
	}
	return out, nil
}

func (j *jsonAttribute) attribute(name string, depth int) (*tfprotov6.SchemaAttribute, error) {
	if j == nil {
		return nil, errors.New("it is null")
	}
	out := &tfprotov6.SchemaAttribute{
		Name: name, Required: j.Required, Optional: j.Optional, Computed: j.Computed,
		Sensitive: j.Sensitive, WriteOnly: j.WriteOnly, Deprecated: j.Deprecated,
	}
	switch {
	case j.Nested != nil:
		if depth > maxDepth {
			return nil, fmt.Errorf("attributes are nested more than %d deep", maxDepth)
		}
		mode, ok := objectNesting[j.Nested.Nesting]
		if !ok {
			return nil, fmt.Errorf("%q is no way to nest attributes", j.Nested.Nesting)
		}
		nested, err := attributes(j.Nested.Attributes, depth+1)
		if err != nil {
			return nil, err
		}
		out.NestedType = &tfprotov6.SchemaObject{Nesting: mode, Attributes: nested}
	case j.Type != nil && j.Type.t != nil:
		out.Type = j.Type.t
	default:
		return nil, errors.New("it has no type")
	}
	return out, nil
}

func (j *jsonFunction) function() (*tfprotov6.Function, error) {
	if j.Return == nil || j.Return.t == nil {
		return nil, errors.New("it has no type of result")
	}
	out := &tfprotov6.Function{Return: &tfprotov6.FunctionReturn{Type: j.Return.t}, Summary: j.Summary}
	for i, p := range j.Parameters {
		x, err := p.parameter()
		if err != nil {
			return nil, fmt.Errorf("parameter %d: %w", i+1, err)
		}
		out.Parameters = append(out.Parameters, x)
	}
	if j.Variadic != nil {
		x, err := j.Variadic.parameter()
		if err != nil {
			return nil, fmt.Errorf("the last parameter: %w", err)
		}
		out.VariadicParameter = x
	}
	return out, nil
}

func (j *jsonParameter) parameter() (*tfprotov6.FunctionParameter, error) {
	if j == nil || j.Type == nil || j.Type.t == nil {
		return nil, errors.New("it has no type")
	}
	return &tfprotov6.FunctionParameter{Name: j.Name, Type: j.Type.t, AllowNullValue: j.Nullable, AllowUnknownValues: j.Unknown}, nil
}
