package flow

import (
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// converted returns the value as a variable of the type holds it.
func (v Value) converted(t cty.Type, defaults *typeexpr.Defaults) Value {
	if t == cty.NilType || t == cty.DynamicPseudoType {
		return v
	}
	return v.each(func(v Value) Value { return v.convertedOne(t, defaults) })
}

func (v Value) convertedOne(t cty.Type, defaults *typeexpr.Defaults) Value {
	switch v.Kind {
	case Null:
		return v
	case Known:
		if !t.IsPrimitiveType() {
			return typed(t, v.Range)
		}
		c, err := convert.Convert(v.Known, t)
		if err != nil {
			return unknown(v.Range) // the runtime refuses it, in its own words
		}
		return known(c, v.Range)
	case Object:
		return v.convertedObject(t, defaults)
	case Map:
		if t.IsMapType() {
			c := mapOf(v.Item.converted(t.ElementType(), nested(defaults, "")), v.Range)
			c.Conditional = v.Conditional
			return c
		}
	case Tuple:
		if t.IsListType() || t.IsSetType() {
			items := make([]Value, 0, len(v.Items))
			for _, item := range v.Items {
				items = append(items, item.converted(t.ElementType(), nested(defaults, "")))
			}
			if t.IsSetType() { // equal items become one
				return list(union(v.Range, items...), v.Range)
			}
			return tuple(items, v.Range)
		}
	case List:
		if t.IsListType() || t.IsSetType() {
			c := list(v.Item.converted(t.ElementType(), nested(defaults, "")), v.Range)
			c.Conditional = v.Conditional
			return c
		}
	}
	return typed(t, v.Range)
}

func (v Value) convertedObject(t cty.Type, defaults *typeexpr.Defaults) Value {
	if t.IsMapType() {
		attrs := make(map[string]Value, len(v.Attributes))
		for name, a := range v.Attributes {
			attrs[name] = a.converted(t.ElementType(), nested(defaults, ""))
		}
		return Value{Kind: Object, Attributes: attrs, Open: v.Open, Range: v.Range}
	}
	if !t.IsObjectType() {
		return typed(t, v.Range)
	}
	attrs := map[string]Value{}
	for name, at := range t.AttributeTypes() {
		a, ok := v.Attributes[name]
		switch {
		case !ok && v.Open:
			attrs[name] = typed(at, v.Range)
			continue
		case !ok:
			a = null(v.Range)
		}
		if a.Kind == Null && defaults != nil {
			if d, ok := defaults.DefaultValues[name]; ok {
				a = FromCty(d, v.Range)
			}
		}
		attrs[name] = a.converted(at, nested(defaults, name))
	}
	return object(attrs, v.Range)
}

// nested returns the defaults one level down; typeexpr keeps those of elements
// under the empty name.
func nested(d *typeexpr.Defaults, name string) *typeexpr.Defaults {
	if d == nil {
		return nil
	}
	return d.Children[name]
}
