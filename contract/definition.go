package contract

import "encoding/json"

// Definition is one version of the contract: the tables, and the rules that
// range over them. A Definition is safe for concurrent use.
//
// Values go in and out in two forms: as Go values (Inputs, ClusterOutputs and
// so on), and as plain data, a map from the name of an input or output to its
// JSON, for records, fixtures and tools.
type Definition interface {
	// Version returns the version token, such as v1alpha1.
	Version() string
	// Spec returns the tables of a role. The result must not be changed.
	Spec(role Role) RoleSpec
	// Limits returns the table of sizes and counts.
	Limits() []Limit
	// Changes returns the changelog, newest first.
	Changes() []Change

	// Render turns the inputs of one object into the files of the generated
	// root and their hash. It returns nothing but violations when a value is
	// outside the contract, and equal bytes for equal inputs.
	Render(in Inputs, vars []Variable, opts RenderOptions) (*Rendered, Violations)
	// RenderRestore returns the root that a saved state is pushed with: the
	// backend block and nothing else, without hashes (B-332, B-413).
	RenderRestore(opts RenderOptions) (*Rendered, Violations)
	// InputValues returns the inputs as plain data, exactly as Render would
	// render them, without checking them.
	InputValues(in Inputs) (map[string]json.RawMessage, Violations)
	// ValidateInputs checks rendered inputs, as plain data, against the tables.
	ValidateInputs(role Role, values map[string]json.RawMessage) Violations
	// DecodeInputs is the inverse of InputValues: it checks plain data and
	// returns it as Go values, nil when there are violations.
	DecodeInputs(role Role, values map[string]json.RawMessage) (Inputs, Violations)
	// ReadRendered takes the files of an earlier Render apart again, for a
	// record to be compared or hashed once more (B-344).
	ReadRendered(role Role, root, values []byte) (map[string]json.RawMessage, []Variable, Violations)
	// Hash computes the hashes of inputs given as plain data. It does not check
	// them against the tables, because a record may be older than those; a
	// value without canonical form is a violation.
	Hash(role Role, values map[string]json.RawMessage, vars []Variable) (Hashes, Violations)

	// DecodeCluster decodes and validates the outputs of a cluster module.
	//
	// Each of the decoders returns what it could decode, never nil: an output
	// with a violation keeps its zero value, the others are there.
	DecodeCluster(values Values) (*ClusterOutputs, Violations)
	// DecodeMachine decodes and validates the outputs of a machine module that
	// was given in; a nil in compares with no input.
	DecodeMachine(values Values, in *MachineInputs) (*MachineOutputs, Violations)
	// DecodePool decodes and validates the outputs of a machinepool module.
	DecodePool(values Values) (*PoolOutputs, Violations)
}

// Decode decodes the outputs of a module of any role. The inputs are those
// that the module was given, nil when they are not known; only a machine's are
// looked at.
func Decode(d Definition, role Role, values Values, in Inputs) (Outputs, Violations) {
	switch role {
	case RoleCluster:
		return d.DecodeCluster(values)
	case RoleMachine:
		machine, _ := in.(*MachineInputs)
		return d.DecodeMachine(values, machine)
	case RoleMachinePool:
		return d.DecodePool(values)
	default:
		return nil, Violations{{
			Path: "role", Rule: RuleRole, Reason: ReasonInvalid,
			Message: "is " + quote(string(role)) + "; it must be one of " + RoleNames(),
		}}
	}
}
