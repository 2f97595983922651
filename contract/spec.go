package contract

// Input is one row of a role's input table.
type Input struct {
	// Name is the name of the variable.
	Name string
	// Shape is the type and limits of the rendered value; Shape.Nullable tells
	// that null is rendered when the value is not known or not set.
	Shape Shape
	// Common tells that every role has this input.
	Common bool
	// Sensitive tells that the value is secret: the module must declare the
	// variable sensitive and nothing may print it.
	Sensitive bool
	// MayDefault tells that the module's declaration may carry `default = null`.
	// On every other input a default would hide a bug of the controller
	// (lint.md 4.4).
	MayDefault bool
	// UnhashedIf is the path of a boolean input that takes this one out of the
	// inputs hash while it is true; "" always hashes (contract.md 13).
	UnhashedIf string
	// Rotates tells that the value changes by itself, without anybody asking for
	// something else: an approval outlives such a change, so the approval hash
	// leaves the input out (B-345).
	Rotates bool
	// Source says where the value comes from.
	Source string
	// Doc says what a module does with it; the first sentence serves as the
	// variable's description.
	Doc string
}

// NullRule is what a null output means (contract.md 4).
type NullRule string

// The meanings of a null output.
const (
	// NullPending: the value is not known yet; the object waits.
	NullPending NullRule = "pending"
	// NullAllowed: null is a value of its own.
	NullAllowed NullRule = "allowed"
	// NullDefault: null stands for Output.NullValue.
	NullDefault NullRule = "default"
	// NullInvalid: null is an error.
	NullInvalid NullRule = "invalid"
)

// Output is one row of a role's output table.
type Output struct {
	// Name is the name of the output.
	Name string
	// Shape is the type and limits of a value that is not null.
	Shape Shape
	// Null is what null means.
	Null NullRule
	// NullValue is what null stands for when Null is NullDefault.
	NullValue any
	// EmptyIsNull tells that "" is read as null.
	EmptyIsNull bool
	// Common tells that every role has this output.
	Common bool
	// MapsTo says which field of which object the value ends in.
	MapsTo string
	// Doc says what the value means; the first sentence serves as the output's description.
	Doc string
}

// RoleSpec holds the tables of one role.
type RoleSpec struct {
	// Role is the role described.
	Role Role
	// Inputs are rendered for every object of the role, in contract order:
	// common ones first.
	Inputs []Input
	// Tolerated are names with the reserved prefix that a module of the role
	// may declare although they are never rendered; each needs a default.
	Tolerated []Input
	// Outputs must be declared by the module, in contract order; health is last.
	Outputs []Output
}

// Input returns the input row with the given name.
func (s RoleSpec) Input(name string) (Input, bool) {
	for _, in := range s.Inputs {
		if in.Name == name {
			return in, true
		}
	}
	return Input{}, false
}

// Output returns the output row with the given name.
func (s RoleSpec) Output(name string) (Output, bool) {
	for _, out := range s.Outputs {
		if out.Name == name {
			return out, true
		}
	}
	return Output{}, false
}

// Limit is one row of the table of sizes and counts that no Shape can state
// (contract.md 16).
type Limit struct {
	// Item is what is limited.
	Item string
	// Value is the bound, in Unit.
	Value int64
	// Unit is the unit of Value: bytes, items or seconds.
	Unit string
	// Doc says what happens beyond it.
	Doc string
}

// Change is one entry of the contract's changelog.
type Change struct {
	// Date is the day of the change, as YYYY-MM-DD.
	Date string
	// Text says what changed.
	Text string
	// Compatible tells that modules written before need no edit.
	Compatible bool
}

// ReservedPrefix starts the names of variables and outputs that belong to the
// contract (contract.md 3 R4).
const ReservedPrefix = "captf_"
