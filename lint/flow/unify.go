package flow

import (
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// unified returns alternatives of one value as they are once they had to get
// one type, as the branches of a conditional have.
func unified(values ...Value) []Value { return unify(values, Value.loosenedPrimitive) }

// unifiedItems returns the items of a collection as they are once they had to
// get one type.
func unifiedItems(values ...Value) []Value { return unify(values, Value.loosened) }

// unify converts values as the runtimes do: primitives of different types become
// strings, and objects and lists are unified inside. What it cannot follow goes
// through loosen, which forgets what a conversion might change.
func unify(values []Value, loosen func(Value) Value) []Value {
	var alts []Value // all alternatives but null, which has no type
	for _, v := range values {
		for _, alt := range v.Each() {
			if alt.Kind != Null {
				alts = append(alts, alt)
			}
		}
	}
	if len(alts) < 2 {
		return values
	}
	out, ok := unifyPrimitives(alts)
	if !ok {
		out, ok = unifyObjects(alts, loosen)
	}
	if !ok {
		out, ok = unifyLists(alts, loosen)
	}
	if !ok {
		out = make([]Value, 0, len(alts))
		for _, alt := range alts {
			out = append(out, loosen(alt))
		}
	}
	// Put the alternatives back where they were.
	result := make([]Value, 0, len(values))
	for _, v := range values {
		result = append(result, v.each(func(alt Value) Value {
			if alt.Kind == Null {
				return alt
			}
			alt, out = out[0], out[1:]
			return alt
		}))
	}
	return result
}

func unifyPrimitives(alts []Value) ([]Value, bool) {
	want := alts[0].primitive()
	mixed := false
	for _, alt := range alts {
		t := alt.primitive()
		if t == cty.NilType {
			return nil, false
		}
		if t != want {
			mixed = true
			if t == cty.String {
				want = t
			}
		}
	}
	if !mixed {
		return alts, true
	}
	if want != cty.String { // the runtimes refuse a number beside a bool
		return nil, false
	}
	out := make([]Value, 0, len(alts))
	for _, alt := range alts {
		out = append(out, alt.converted(want, nil))
	}
	return out, true
}

// unifyObjects is for objects with the same attributes; others become maps.
func unifyObjects(alts []Value, loosen func(Value) Value) ([]Value, bool) {
	objects := make([]Value, 0, len(alts))
	for _, alt := range alts {
		o := alt.expanded()
		if o.Kind != Object || o.Open || len(objects) > 0 && !slices.Equal(sortedKeys(o.Attributes), sortedKeys(objects[0].Attributes)) {
			return nil, false
		}
		objects = append(objects, o)
	}
	out := make([]Value, 0, len(alts))
	for _, alt := range alts {
		if alt.Kind == Object {
			attrs := make(map[string]Value, len(alt.Attributes))
			alt.Attributes = attrs
		}
		out = append(out, alt)
	}
	for _, name := range sortedKeys(objects[0].Attributes) {
		column := make([]Value, 0, len(objects))
		for _, o := range objects {
			column = append(column, o.Attributes[name])
		}
		for i, v := range unify(column, loosen) {
			if out[i].Kind == Object {
				out[i].Attributes[name] = v
			}
		}
	}
	return out, true
}

// expanded returns a typed object as one with typed attributes.
func (v Value) expanded() Value {
	if v.Kind != Typed || !v.Type.IsObjectType() {
		return v
	}
	attrs := map[string]Value{}
	for name, t := range v.Type.AttributeTypes() {
		attrs[name] = typed(t, v.Range)
	}
	return object(attrs, v.Range)
}

// unifyLists is for tuples, item by item if they have the same length, and lists.
func unifyLists(alts []Value, loosen func(Value) Value) ([]Value, bool) {
	sameLength := true
	var all []Value
	for _, alt := range alts {
		switch {
		case alt.Kind == Tuple:
			sameLength = sameLength && alts[0].Kind == Tuple && len(alt.Items) == len(alts[0].Items)
			all = append(all, alt.Items...)
		case alt.Kind == List:
			sameLength = false
			all = append(all, *alt.Item)
		case alt.Kind == Typed && (alt.Type.IsListType() || alt.Type.IsSetType()):
			sameLength = false
			all = append(all, alt.element())
		default:
			return nil, false
		}
	}
	if !sameLength {
		all = unify(all, loosen)
	} else {
		n := len(alts[0].Items)
		for i := range n {
			var column []Value
			for j := range alts {
				column = append(column, all[j*n+i])
			}
			for j, v := range unify(column, loosen) {
				all[j*n+i] = v
			}
		}
	}
	out := make([]Value, 0, len(alts))
	for _, alt := range alts {
		n := 1
		switch alt.Kind {
		case Tuple:
			n = len(alt.Items)
			alt.Items = slices.Clone(all[:n])
		case List:
			item := all[0]
			alt.Item = &item
		}
		all = all[n:]
		out = append(out, alt)
	}
	return out, true
}

// loosenedPrimitive forgets a number or bool, which may have become a string.
func (v Value) loosenedPrimitive() Value {
	return v.each(func(v Value) Value {
		if t := v.primitive(); t != cty.NilType && t != cty.String {
			return unknown(v.Range)
		}
		return v
	})
}

// loosened forgets numbers and bools on every level.
func (v Value) loosened() Value {
	switch v.Kind {
	case Union:
		return v.each(Value.loosened)
	case Object:
		attrs := make(map[string]Value, len(v.Attributes))
		for name, a := range v.Attributes {
			attrs[name] = a.loosened()
		}
		v.Attributes = attrs
	case Tuple:
		items := make([]Value, 0, len(v.Items))
		for _, item := range v.Items {
			items = append(items, item.loosened())
		}
		v.Items = items
	case List, Map:
		item := v.Item.loosened()
		v.Item = &item
	case Typed:
		if !v.Type.IsPrimitiveType() {
			return unknown(v.Range)
		}
	}
	return v.loosenedPrimitive()
}
