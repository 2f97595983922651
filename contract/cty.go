package contract

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// Type returns the type constraint of the shape, as a variable declaration of
// a module would state it. Optional attributes are marked so; their defaults
// are not part of a type. An object with AsMap is a map of the type of its
// attributes, and a shape that accepts anything is the dynamic type.
func (s Shape) Type() cty.Type {
	switch s.Kind {
	case KindString:
		return cty.String
	case KindInteger:
		return cty.Number
	case KindBool:
		return cty.Bool
	case KindList:
		return cty.List(s.Elem.Type())
	case KindMap:
		return cty.Map(s.Elem.Type())
	case KindObject:
		return s.objectType()
	default:
		return cty.DynamicPseudoType
	}
}

func (s Shape) objectType() cty.Type {
	if s.AsMap {
		return cty.Map(s.Attributes[0].Shape.Type())
	}
	attributes := make(map[string]cty.Type, len(s.Attributes))
	var optional []string
	for _, a := range s.Attributes {
		attributes[a.Name] = a.Shape.Type()
		if a.Optional {
			optional = append(optional, a.Name)
		}
	}
	return cty.ObjectWithOptionalAttrs(attributes, optional)
}

// TypeExpr returns the type constraint of the shape as HCL source on one line,
// laid out as terraform fmt and tofu fmt leave it: object({ host = string, port = number }).
// Attributes keep contract order.
func (s Shape) TypeExpr() string {
	switch s.Kind {
	case KindString:
		return "string"
	case KindInteger:
		return "number"
	case KindBool:
		return "bool"
	case KindList:
		return "list(" + s.Elem.TypeExpr() + ")"
	case KindMap:
		return "map(" + s.Elem.TypeExpr() + ")"
	case KindObject:
		return s.objectTypeExpr()
	default:
		return "any"
	}
}

func (s Shape) objectTypeExpr() string {
	if s.AsMap {
		return "map(" + s.Attributes[0].Shape.TypeExpr() + ")"
	}
	if len(s.Attributes) == 0 {
		return "object({})"
	}
	parts := make([]string, 0, len(s.Attributes))
	for _, a := range s.Attributes {
		parts = append(parts, a.Name+" = "+a.typeExpr())
	}
	return "object({ " + strings.Join(parts, ", ") + " })"
}

func (a Attribute) typeExpr() string {
	expr := a.Shape.TypeExpr()
	switch {
	case !a.Optional:
		return expr
	case a.Default == nil:
		return "optional(" + expr + ")"
	default:
		return fmt.Sprintf("optional(%s, %s)", expr, Literal(a.Default))
	}
}

// Literal returns a default of the tables as HCL source. The tables hold only
// scalars and empty collections, whose JSON is HCL too.
func Literal(value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		panic("contract table holds a default that is no JSON: " + err.Error())
	}
	return string(b)
}
