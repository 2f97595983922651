package simcloud

import (
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// dynamic is a value whose type the schema leaves open.
type dynamic struct {
	typ   tftypes.Type
	value any
}

// MarshalJSON implements [json.Marshaler]: the type goes with the value.
func (d dynamic) MarshalJSON() ([]byte, error) {
	typ, err := json.Marshal(d.typ)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{dynamicKey: json.RawMessage(typ), "value": d.value})
}

// dynamicKey is a key that no attribute can have.
const dynamicKey = "$type"

// maxDepth is how deep values may be nested.
const maxDepth = 64

// plain turns a value into plain Go. Unknown values become unknown{}.
func plain(v tftypes.Value) any { return plainAt(v, 0) }

func plainAt(v tftypes.Value, depth int) any {
	switch {
	case v.Type() == nil || depth > maxDepth:
		return nil
	case !v.IsKnown():
		return unknown{}
	case v.IsNull():
		return nil
	}
	t := v.Type()
	switch {
	case t.Is(tftypes.String):
		var s string
		if v.As(&s) == nil {
			return s
		}
	case t.Is(tftypes.Bool):
		var b bool
		if v.As(&b) == nil {
			return b
		}
	case t.Is(tftypes.Number):
		n := new(big.Float)
		if v.As(&n) == nil {
			return json.Number(decimal(n))
		}
	case t.Is(tftypes.Object{}), t.Is(tftypes.Map{}):
		var m map[string]tftypes.Value
		if v.As(&m) != nil {
			return nil
		}
		object, _ := t.(tftypes.Object)
		out := make(map[string]any, len(m))
		for k, x := range m {
			out[k] = plainDynamic(object.AttributeTypes[k], x, depth+1)
		}
		return out
	default:
		var l []tftypes.Value
		if v.As(&l) != nil {
			return nil
		}
		out := make([]any, len(l))
		for i, x := range l {
			out[i] = plainDynamic(elementType(t, i), x, depth+1)
		}
		return out
	}
	return nil
}

// decimal is a number in digits, without an exponent where that is short.
func decimal(n *big.Float) string {
	const short = 256
	if n.IsInt() && n.MantExp(nil) <= short {
		return n.Text('f', 0)
	}
	return n.Text('g', -1)
}

// plainDynamic keeps the type of a value where the schema leaves it open.
func plainDynamic(declared tftypes.Type, v tftypes.Value, depth int) any {
	x := plainAt(v, depth)
	if _, open := x.(unknown); open || x == nil || declared == nil || !declared.Is(tftypes.DynamicPseudoType) {
		return x
	}
	return dynamic{typ: v.Type(), value: x}
}

// elementType is the type of the elements of a collection, nil if it has none.
func elementType(t tftypes.Type, i int) tftypes.Type {
	switch t := t.(type) {
	case tftypes.List:
		return t.ElementType
	case tftypes.Set:
		return t.ElementType
	case tftypes.Map:
		return t.ElementType
	case tftypes.Tuple:
		if i < len(t.ElementTypes) {
			return t.ElementTypes[i]
		}
	}
	return nil
}

// typed turns plain Go into a value of a type. Attributes of objects that are not
// there are null, and so are those that are there and that the type has not; a value
// that cannot be one of the type is an error.
func typed(t tftypes.Type, x any) (tftypes.Value, error) { return typedAt(t, x, "", 0) }

func typedAt(t tftypes.Type, x any, path string, depth int) (tftypes.Value, error) {
	if depth > maxDepth {
		return tftypes.Value{}, fmt.Errorf("%s: values are nested more than %d deep", path, maxDepth)
	}
	switch v := x.(type) {
	case nil:
		return tftypes.NewValue(t, nil), nil
	case unknown:
		return tftypes.NewValue(t, tftypes.UnknownValue), nil
	case dynamic:
		if t.Is(tftypes.DynamicPseudoType) {
			return typedAt(v.typ, v.value, path, depth+1)
		}
		return typedAt(t, v.value, path, depth+1)
	}
	switch {
	case t.Is(tftypes.DynamicPseudoType):
		return guessed(x, path, depth)
	case t.Is(tftypes.String):
		switch v := x.(type) {
		case string, json.Number, bool:
			return tftypes.NewValue(t, text(v)), nil
		}
	case t.Is(tftypes.Bool):
		switch x {
		case true, "true":
			return tftypes.NewValue(t, true), nil
		case false, "false":
			return tftypes.NewValue(t, false), nil
		}
	case t.Is(tftypes.Number):
		if s := text(x); s != "" {
			if n, _, err := big.ParseFloat(s, 10, 512, big.ToNearestEven); err == nil {
				return tftypes.NewValue(t, n), nil
			}
		}
	case t.Is(tftypes.Object{}):
		if m, ok := x.(map[string]any); ok {
			object := t.(tftypes.Object) //nolint:forcetypeassert // Is said so.
			out := make(map[string]tftypes.Value, len(object.AttributeTypes))
			for k, at := range object.AttributeTypes {
				e, err := typedAt(at, m[k], path+"."+k, depth+1)
				if err != nil {
					return tftypes.Value{}, err
				}
				out[k] = e
			}
			return tftypes.NewValue(t, out), nil
		}
	case t.Is(tftypes.Map{}):
		if m, ok := x.(map[string]any); ok {
			out := make(map[string]tftypes.Value, len(m))
			for k := range m {
				e, err := typedAt(elementType(t, 0), m[k], path+"."+k, depth+1)
				if err != nil {
					return tftypes.Value{}, err
				}
				out[k] = e
			}
			return tftypes.NewValue(t, out), nil
		}
	default:
		if l, ok := x.([]any); ok {
			out := make([]tftypes.Value, 0, len(l))
			for i, y := range l {
				et := elementType(t, i)
				if et == nil {
					return tftypes.Value{}, fmt.Errorf("%s: it has more elements than its type", path)
				}
				e, err := typedAt(et, y, fmt.Sprintf("%s.%d", path, i), depth+1)
				if err != nil {
					return tftypes.Value{}, err
				}
				out = append(out, e)
			}
			return tftypes.NewValue(t, out), nil
		}
	}
	return tftypes.Value{}, fmt.Errorf("%s: a value of type %s cannot be made from %T", path, t, x)
}

// guessed makes a value whose type follows from the plain one.
func guessed(x any, path string, depth int) (tftypes.Value, error) {
	switch v := x.(type) {
	case string:
		return tftypes.NewValue(tftypes.String, v), nil
	case bool:
		return tftypes.NewValue(tftypes.Bool, v), nil
	case json.Number:
		return typedAt(tftypes.Number, v, path, depth+1)
	case []any:
		var types []tftypes.Type
		var values []tftypes.Value
		for i, y := range v {
			e, err := typedAt(tftypes.DynamicPseudoType, y, fmt.Sprintf("%s.%d", path, i), depth+1)
			if err != nil {
				return tftypes.Value{}, err
			}
			types, values = append(types, e.Type()), append(values, e)
		}
		return tftypes.NewValue(tftypes.Tuple{ElementTypes: types}, values), nil
	case map[string]any:
		types, values := map[string]tftypes.Type{}, map[string]tftypes.Value{}
		for k, y := range v {
			e, err := typedAt(tftypes.DynamicPseudoType, y, path+"."+k, depth+1)
			if err != nil {
				return tftypes.Value{}, err
			}
			types[k], values[k] = e.Type(), e
		}
		return tftypes.NewValue(tftypes.Object{AttributeTypes: types}, values), nil
	}
	return tftypes.Value{}, fmt.Errorf("%s: a value cannot be made from %T", path, x)
}

// thaw restores the types of dynamic values that were read from a file.
func thaw(x any) (any, error) {
	switch v := x.(type) {
	case map[string]any:
		if raw, ok := v[dynamicKey]; ok {
			text, err := json.Marshal(raw)
			if err != nil {
				return nil, err
			}
			typ, err := parseType(text)
			if err != nil {
				return nil, err
			}
			value, err := thaw(v["value"])
			return dynamic{typ: typ, value: value}, err
		}
		for k := range v {
			y, err := thaw(v[k])
			if err != nil {
				return nil, err
			}
			v[k] = y
		}
	case []any:
		for i := range v {
			y, err := thaw(v[i])
			if err != nil {
				return nil, err
			}
			v[i] = y
		}
	}
	return x, nil
}
