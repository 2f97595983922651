package contract

// ShapeKind is the structural kind of a value.
type ShapeKind string

// The kinds of shape. Numbers are always whole: the contract has no fractions,
// because the inputs hash must be exact (contract.md 13).
const (
	KindAny     ShapeKind = "any"
	KindString  ShapeKind = "string"
	KindInteger ShapeKind = "integer"
	KindBool    ShapeKind = "bool"
	KindList    ShapeKind = "list"
	KindMap     ShapeKind = "map"
	KindObject  ShapeKind = "object"
)

// Shape describes the values accepted at one place of an input or output: the
// type and the limits. Everything that speaks about types derives from it: the
// HCL type expression, the JSON Schema, decoding, lint checks and the
// reference pages.
type Shape struct {
	// Kind is the structural kind.
	Kind ShapeKind
	// Nullable tells that null is accepted here, with the meaning that the row gives it.
	Nullable bool
	// MinLength and MaxLength bound a string's characters, or the items of a
	// list or map; a MaxLength of 0 means no bound.
	MinLength, MaxLength int
	// Min and Max bound an integer, both inclusive; nil means no bound.
	Min, Max *int64
	// Enum lists the accepted strings; empty accepts all.
	Enum []string
	// Pattern is a regular expression (RE2, anchored) for strings; empty accepts all.
	Pattern string
	// Format names the pattern for people, such as "base64".
	Format string
	// Elem is the shape of the elements of a list or map.
	Elem *Shape
	// Attributes are the attributes of an object, in contract order.
	Attributes []Attribute
	// Closed tells that an object accepts no further attribute. Inputs are
	// closed, outputs are open (contract.md 5).
	Closed bool
	// AsMap tells that the type of an object with fixed keys is written
	// map(T), T being the type of its attributes; captf_tags is one.
	AsMap bool
	// UniqueBy names the attribute whose values must differ between the items
	// of a list of objects; "" asks for nothing.
	UniqueBy string
	// IntegersOnly forbids a fraction or an exponent anywhere inside a KindAny value.
	IntegersOnly bool
	// Truncate is the number of list items that are kept; longer lists are
	// accepted and cut with a notice (contract.md 18 X2). 0 keeps all.
	Truncate int
}

// Attribute is one attribute of an object shape.
type Attribute struct {
	// Name is the attribute's name.
	Name string
	// Shape is what the attribute holds.
	Shape Shape
	// Optional tells that the attribute may be absent.
	Optional bool
	// Default is the value that an absent or null optional attribute gets; nil leaves it null.
	Default any
	// Doc says in one sentence what the attribute means.
	Doc string
}

// Attribute returns the attribute with the given name.
func (s Shape) Attribute(name string) (Attribute, bool) {
	for _, a := range s.Attributes {
		if a.Name == name {
			return a, true
		}
	}
	return Attribute{}, false
}
