package flow

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// Kind is what is known about a value.
type Kind int

// The kinds of value.
const (
	// Unknown: nothing is known.
	Unknown Kind = iota
	// Null: it is null.
	Null
	// Known: it is the string, number or bool in Value.Known.
	Known
	// Typed: only its type is known, in Value.Type; it may also be null.
	Typed
	// Object: it is an object or map with the attributes in Value.Attributes.
	Object
	// Tuple: it is a list, set or tuple with the items in Value.Items.
	Tuple
	// List: it is a list, set or tuple of any number of items like Value.Item.
	List
	// Map: it is an object or map with any keys and values like Value.Item.
	Map
	// Union: it is one of Value.Alternatives; which one cannot be told.
	Union
)

// Value is what is known about the value of an expression.
type Value struct {
	Kind Kind
	// Range is where the value is written: for a literal that is reached
	// through a local it is the literal.
	Range hcl.Range
	// Known is a primitive value that is neither null nor unknown.
	Known cty.Value
	// Type is the type of a Typed value.
	Type cty.Type
	// Attributes are those of an Object.
	Attributes map[string]Value
	// Open tells that an Object can have attributes beyond those listed.
	Open bool
	// Items are those of a Tuple.
	Items []Value
	// Item stands for every item of a List or Map.
	Item *Value
	// Conditional tells that a List or Map may be empty: a condition may have left
	// out items, or the collection that it is made from may have none.
	Conditional bool
	// Alternatives are those of a Union: at least two, none of them a union.
	Alternatives []Value

	// size is the number of values inside, itself included; 0 counts as 1.
	size int
}

// maxSize bounds the values inside one value. Text that names a local twice in
// the next one, and so on, describes a value too large to look through.
const maxSize = 10_000

// textPerValue is how many bytes of text count as one value more.
const textPerValue = 64

// bounded returns the value, or an unknown one if it is too large.
func (v Value) bounded() Value {
	n := 1
	if v.primitive() == cty.String && v.Kind == Known {
		n += len(v.Known.AsString()) / textPerValue
	}
	for _, list := range [][]Value{v.Items, v.Alternatives} {
		for _, item := range list {
			n += max(item.size, 1)
		}
	}
	for _, a := range v.Attributes {
		n += max(a.size, 1)
	}
	if v.Item != nil {
		n += max(v.Item.size, 1)
	}
	if n > maxSize {
		return unknown(v.Range)
	}
	v.size = n
	return v
}

func unknown(r hcl.Range) Value { return Value{Range: r} }

func null(r hcl.Range) Value { return Value{Kind: Null, Range: r} }

func known(v cty.Value, r hcl.Range) Value { return Value{Kind: Known, Known: v, Range: r} }

func typed(t cty.Type, r hcl.Range) Value {
	if t == cty.NilType || t == cty.DynamicPseudoType {
		return unknown(r)
	}
	return Value{Kind: Typed, Type: t, Range: r}
}

func object(attrs map[string]Value, r hcl.Range) Value {
	return Value{Kind: Object, Attributes: attrs, Range: r}
}

func tuple(items []Value, r hcl.Range) Value { return Value{Kind: Tuple, Items: items, Range: r} }

func list(item Value, r hcl.Range) Value { return Value{Kind: List, Item: &item, Range: r} }

func mapOf(item Value, r hcl.Range) Value { return Value{Kind: Map, Item: &item, Range: r} }

// union returns the value that is one of the given ones.
func union(r hcl.Range, values ...Value) Value {
	var flat []Value
	nulls := 0
	for _, v := range values {
		alternatives := []Value{v}
		if v.Kind == Union {
			alternatives = v.Alternatives
		}
		for _, a := range alternatives {
			if a.Kind == Null {
				if nulls++; nulls > 1 {
					continue
				}
			}
			flat = append(flat, a)
		}
	}
	switch len(flat) {
	case 0:
		return unknown(r)
	case 1:
		return flat[0]
	}
	if len(flat) > maxAlternatives {
		return unknown(r)
	}
	return Value{Kind: Union, Alternatives: flat, Range: r}
}

// maxAlternatives bounds unions: nested conditionals multiply.
const maxAlternatives = 64

// Each returns the alternatives of a union, else the value itself.
func (v Value) Each() []Value {
	if v.Kind == Union {
		return v.Alternatives
	}
	return []Value{v}
}

// MayBeNull tells that the value is, or has an alternative that is, a null that
// is written in the text. A Typed or Unknown value does not count.
func (v Value) MayBeNull() bool {
	return slices.ContainsFunc(v.Each(), func(a Value) bool { return a.Kind == Null })
}

// AlwaysNull tells that the value cannot be anything but null.
func (v Value) AlwaysNull() bool { return v.Kind == Null }

// each applies fn to the alternatives.
func (v Value) each(fn func(Value) Value) Value {
	if v.Kind != Union {
		return fn(v)
	}
	out := make([]Value, 0, len(v.Alternatives))
	for _, a := range v.Alternatives {
		out = append(out, fn(a))
	}
	return union(v.Range, out...)
}

// primitive returns the primitive type of a value, or NilType.
func (v Value) primitive() cty.Type {
	switch {
	case v.Kind == Known:
		return v.Known.Type()
	case v.Kind == Typed && v.Type.IsPrimitiveType():
		return v.Type
	}
	return cty.NilType
}

// element returns what an item of a collection is, given that there is one.
func (v Value) element() Value {
	switch v.Kind {
	case Tuple:
		if len(v.Items) == 0 {
			return unknown(v.Range)
		}
		return union(v.Range, v.Items...)
	case Object:
		if v.Open || len(v.Attributes) == 0 {
			return unknown(v.Range)
		}
		var items []Value
		for _, name := range sortedKeys(v.Attributes) {
			items = append(items, v.Attributes[name])
		}
		return union(v.Range, items...)
	case List, Map:
		return *v.Item
	case Typed:
		if v.Type.IsCollectionType() {
			return typed(v.Type.ElementType(), v.Range)
		}
	case Union:
		var items []Value
		for _, a := range v.Alternatives {
			if a.Kind != Null && (a.Kind != Tuple || len(a.Items) > 0) { // of nothing there is no item
				items = append(items, a.element())
			}
		}
		return union(v.Range, items...)
	}
	return unknown(v.Range)
}

// mayBeEmpty tells that a collection need not have an item.
func (v Value) mayBeEmpty() bool {
	switch v.Kind {
	case Tuple:
		return len(v.Items) == 0
	case Object:
		return len(v.Attributes) == 0
	case List, Map:
		return v.Conditional
	case Union:
		return slices.ContainsFunc(v.Alternatives, Value.mayBeEmpty)
	}
	return true
}

// FromCty returns a value that is known from the outside, such as a default.
func FromCty(v cty.Value, r hcl.Range) Value {
	if v == cty.NilVal {
		return unknown(r)
	}
	if v.IsMarked() {
		v, _ = v.UnmarkDeep()
	}
	t := v.Type()
	switch {
	case v.IsNull():
		return null(r)
	case !v.IsKnown():
		return typed(t, r)
	case t.IsPrimitiveType():
		return known(v, r)
	case t.IsObjectType() || t.IsMapType():
		attrs := map[string]Value{}
		for it := v.ElementIterator(); it.Next(); {
			k, e := it.Element()
			attrs[k.AsString()] = FromCty(e, r)
		}
		return object(attrs, r)
	case t.IsTupleType() || t.IsListType() || t.IsSetType():
		var items []Value
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			items = append(items, FromCty(e, r))
		}
		return tuple(items, r)
	}
	return unknown(r)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
