package flow

import (
	"reflect"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// listOfStrings is what sort and compact take, and so convert any list to.
var listOfStrings = cty.List(cty.String)

// listOf returns a list of items alike that may be empty or is not.
func listOf(item Value, mayBeEmpty bool, r hcl.Range) Value {
	out := list(item, r)
	out.Conditional = mayBeEmpty
	return out
}

// anyOf returns a list that has all of the items, in some order.
func anyOf(items []Value, r hcl.Range) Value {
	if len(items) == 0 {
		return tuple(nil, r)
	}
	return list(union(r, items...), r)
}

// concat keeps the types of tuples; as soon as all arguments are lists, which a
// Tuple can be as well, the items get one type.
func concat(r hcl.Range, args []Value) Value {
	var all []Value
	exact, empty := true, true
	for _, v := range args {
		empty = empty && v.mayBeEmpty()
		if v.Kind == Tuple {
			all = append(all, v.Items...)
			continue
		}
		exact = false
		all = append(all, v.element())
	}
	if same := unifiedItems(all...); !reflect.DeepEqual(all, same) {
		for i := range all { // converted if all are lists, as they are if one is a tuple
			all[i] = all[i].loosened()
		}
	}
	switch {
	case exact:
		return tuple(all, r)
	case len(all) == 0:
		return listOf(unknown(r), true, r)
	}
	// Which of the items there are cannot be told.
	return listOf(union(r, all...), empty || len(args) > 1, r)
}

func tolist(r hcl.Range, args []Value) Value {
	return args[0].each(func(v Value) Value {
		switch v.Kind {
		case Tuple:
			return tuple(unifiedItems(v.Items...), r)
		case Null, List:
			return v
		}
		return listOf(v.element(), v.mayBeEmpty(), r)
	})
}

// distinct returns a list with the same items, equal ones once; toset likewise.
func distinct(r hcl.Range, args []Value) Value {
	return args[0].each(func(v Value) Value {
		switch v.Kind {
		case Null:
			return v
		case Tuple:
			return anyOf(unifiedItems(v.Items...), r)
		}
		return listOf(v.element(), v.mayBeEmpty(), r)
	})
}

// strings returns a list as one of strings. Items that no conversion makes a
// string stay: the runtime refuses them, and what is refused is worth reporting.
func (v Value) strings() Value {
	item := func(v Value) Value {
		return v.each(func(v Value) Value {
			switch v.Kind {
			case Object, Tuple, List, Map:
				return v
			}
			return v.converted(cty.String, nil)
		})
	}
	return v.each(func(v Value) Value {
		switch v.Kind {
		case Tuple:
			items := make([]Value, 0, len(v.Items))
			for _, i := range v.Items {
				items = append(items, item(i))
			}
			return tuple(items, v.Range)
		case List:
			return listOf(item(*v.Item), v.Conditional, v.Range)
		}
		return typed(listOfStrings, v.Range)
	})
}

// sorted returns the items as strings.
func sorted(r hcl.Range, args []Value) Value {
	return args[0].strings().each(func(v Value) Value {
		switch v.Kind {
		case Tuple:
			return anyOf(v.Items, r)
		case List:
			return listOf(*v.Item, v.Conditional, r)
		}
		return typed(listOfStrings, r) // sort refuses null
	})
}

// compact returns the items as strings, without those that are null or empty.
func compact(r hcl.Range, args []Value) Value {
	return args[0].strings().each(func(v Value) Value {
		switch v.Kind {
		case Tuple:
			var kept []Value
			exact := true
			for _, item := range v.Items {
				item, certain := filled(item)
				if item != nil {
					kept = append(kept, *item)
				}
				exact = exact && (certain || item == nil)
			}
			if exact {
				return tuple(kept, r)
			}
			return listOf(union(r, kept...), true, r)
		case List:
			item, _ := filled(*v.Item)
			if item == nil {
				return tuple(nil, r)
			}
			return listOf(*item, true, r)
		}
		return typed(listOfStrings, r)
	})
}

// filled returns what compact keeps of an item, nil if nothing, and whether the
// item certainly stays.
func filled(item Value) (kept *Value, certain bool) {
	var rest []Value
	certain = true
	for _, alt := range item.Each() {
		switch {
		case alt.Kind == Null, alt.Kind == Known && alt.Known.RawEquals(cty.StringVal("")):
			certain = false
		default:
			certain = certain && alt.Kind == Known
			rest = append(rest, alt)
		}
	}
	if len(rest) == 0 {
		return nil, false
	}
	v := union(item.Range, rest...)
	return &v, certain
}

func reverse(r hcl.Range, args []Value) Value {
	return args[0].each(func(v Value) Value {
		switch v.Kind {
		case Tuple:
			items := slices.Clone(v.Items)
			slices.Reverse(items)
			return tuple(items, r)
		case Null, List, Typed:
			return v
		}
		return listOf(v.element(), true, r)
	})
}

func slice(r hcl.Range, args []Value) Value { return listOf(args[0].element(), true, r) }

// tomap gives the values one type.
func tomap(r hcl.Range, args []Value) Value {
	return args[0].each(func(v Value) Value {
		switch v.Kind {
		case Null, Map:
			return v
		case Object:
			if v.Open {
				return v.loosened()
			}
			names := sortedKeys(v.Attributes)
			items := make([]Value, 0, len(names))
			for _, name := range names {
				items = append(items, v.Attributes[name])
			}
			attrs := make(map[string]Value, len(names))
			for i, item := range unifiedItems(items...) {
				attrs[names[i]] = item
			}
			return object(attrs, v.Range)
		case Typed:
			if v.Type.IsMapType() {
				return v
			}
		}
		return unknown(r)
	})
}
