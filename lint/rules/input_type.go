package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/lint"
)

var inputType = lint.Rule{
	ID:         "input/type",
	Severities: errorOrWarning,
	Summary:    "The declared type of a contract input cannot hold every value that the root passes (error), holds it only after a conversion, or is missing (warning).",
	Why:        "A type that does not fit fails at plan, for every object or for the first with an unusual value; a conversion changes what the module sees.",
	Fix:        "Use the contract type.",
	Bad: `variable "control_plane" {
  type = number
}`,
	Good: `variable "control_plane" {
  type = bool
}`,
	Rules: []string{"lint.md 4", "lint.md 4.3", "lint.md 9 L4, L13"},
	Check: func(c *lint.Context) {
		for in, v := range declaredInputs(c) {
			fix := "write type = " + in.Shape.TypeExpr()
			if !v.HasType {
				c.Warnf(v.DefRange, fix, "the contract input %q has no type", v.Name)
				continue
			}
			verdict := fits(in.Shape, v.Type)
			switch verdict.level {
			case fitsNever:
				c.Errorf(v.RangeOf("type"), fix, "the contract input %q is %s, which its type %s cannot hold: %s",
					v.Name, in.Shape.TypeExpr(), typeText(v.Type), verdict.why)
			case fitsConverted:
				c.Warnf(v.RangeOf("type"), fix, "the contract input %q is %s, and its type %s holds that only in part or converted: %s",
					v.Name, in.Shape.TypeExpr(), typeText(v.Type), verdict.why)
			}
		}
	},
}

// typeText writes a type as in HCL, cut so that a message stays readable.
func typeText(t cty.Type) string {
	s := strings.Join(strings.Fields(typeexpr.TypeString(t)), " ")
	if len(s) > 120 {
		s = s[:117] + "..."
	}
	return s
}

// fit is how well a declared type takes the values of a shape.
type fit struct {
	level fitLevel
	why   string
}

type fitLevel int

const (
	fitsAlways fitLevel = iota
	fitsConverted
	fitsNever
)

func never(format string, args ...any) fit { return fit{fitsNever, fmt.Sprintf(format, args...)} }

func converted(why string) fit { return fit{fitsConverted, why} }

// fits applies the acceptance table of lint.md 4.3: s is the contract's shape,
// t the declared type.
func fits(s contract.Shape, t cty.Type) fit {
	if t == cty.DynamicPseudoType {
		return fit{}
	}
	switch s.Kind {
	case contract.KindAny:
		return converted("the contract allows any value here, so use any")
	case contract.KindString, contract.KindInteger, contract.KindBool:
		return fitsPrimitive(s, t)
	case contract.KindList:
		return fitsList(s, t)
	case contract.KindMap:
		return fitsMap(s, t)
	default:
		if s.AsMap {
			return fitsFixedMap(s, t)
		}
		return fitsObject(s, t)
	}
}

func fitsPrimitive(s contract.Shape, t cty.Type) fit {
	want := s.Type()
	switch {
	case t == want:
		return fit{}
	case t == cty.String:
		return converted("the value becomes a string")
	}
	return never("it takes no %s", want.FriendlyName())
}

func fitsList(s contract.Shape, t cty.Type) fit {
	switch {
	case t.IsListType():
		return inside("items", fits(*s.Elem, t.ElementType()))
	case t.IsSetType():
		if f := inside("items", fits(*s.Elem, t.ElementType())); f.level == fitsNever {
			return f
		}
		return converted("a set has no order and drops duplicates")
	}
	return never("it takes no list")
}

func fitsMap(s contract.Shape, t cty.Type) fit {
	switch {
	case t.IsMapType():
		return inside("values", fits(*s.Elem, t.ElementType()))
	case t.IsObjectType():
		return converted("other keys are dropped, and a missing one fails the run")
	}
	return never("it takes no map")
}

// fitsFixedMap is for a map whose keys the contract fixes, such as captf_tags.
func fitsFixedMap(s contract.Shape, t cty.Type) fit {
	if t.IsObjectType() {
		for _, name := range sortedAttributes(t) {
			a, known := s.Attribute(name)
			if !known && !t.AttributeOptional(name) {
				return never("no key %q is ever passed", name)
			}
			if known {
				if f := inside(name, fits(a.Shape, t.AttributeType(name))); f.level == fitsNever {
					return f
				}
			}
		}
	}
	return fitsMap(contract.Shape{Kind: contract.KindMap, Elem: &s.Attributes[0].Shape}, t)
}

func fitsObject(s contract.Shape, t cty.Type) fit {
	switch {
	case t.IsMapType():
		return fitsObjectAsMap(s, t.ElementType())
	case !t.IsObjectType():
		return never("it takes no object")
	}
	worst := fit{}
	for _, name := range sortedAttributes(t) {
		a, known := s.Attribute(name)
		if !known {
			if !t.AttributeOptional(name) {
				return never("no attribute %q is ever passed; remove it or make it optional()", name)
			}
			continue
		}
		if f := inside(name, fits(a.Shape, t.AttributeType(name))); f.level > worst.level {
			worst = f
		}
	}
	return worst
}

// fitsObjectAsMap is for map(elem) where the contract has an object: all
// attributes become one type (lint.md 9 L4).
func fitsObjectAsMap(s contract.Shape, elem cty.Type) fit {
	types := make([]cty.Type, 0, len(s.Attributes))
	for _, a := range s.Attributes {
		types = append(types, a.Shape.Type().WithoutOptionalAttributesDeep())
	}
	if elem == cty.DynamicPseudoType {
		if common, _ := convert.Unify(types); common == cty.NilType || common == cty.DynamicPseudoType {
			return never("the attributes have no common type, as the values of a map must")
		}
		return converted("the attributes become the values of a map")
	}
	for _, a := range s.Attributes {
		if f := fits(a.Shape, elem); f.level == fitsNever {
			return inside(a.Name, f)
		}
	}
	return converted("the attributes become the values of a map")
}

func inside(name string, f fit) fit {
	if f.level != fitsAlways {
		f.why = name + ": " + f.why
	}
	return f
}

func sortedAttributes(t cty.Type) []string {
	var names []string
	for name := range t.AttributeTypes() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
