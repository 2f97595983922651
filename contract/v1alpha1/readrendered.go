package v1alpha1

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/captf-toolkit/captf/contract"
)

// ReadRendered implements contract.Definition. The names in the values decide
// what is an input: those of the role's table and those with the reserved
// prefix, which no user variable has; the root says which user variables are
// sensitive.
func (d *definition) ReadRendered(role contract.Role, root, values []byte) (map[string]json.RawMessage, []contract.Variable, contract.Violations) {
	spec, known := d.specs[role]
	if !known {
		return nil, nil, unknownRole(role)
	}
	rootTree, broken := contract.ParseJSON("root", root)
	if broken != nil {
		return nil, nil, contract.Violations{*broken}
	}
	tree, broken := contract.ParseJSON("values", values)
	if broken != nil {
		return nil, nil, contract.Violations{*broken}
	}
	given, ok := tree.(map[string]any)
	file, isObject := rootTree.(map[string]any)
	if !ok || !isObject {
		return nil, nil, contract.Violations{{
			Path: "values", Rule: contract.RuleType, Reason: contract.ReasonInvalid,
			Message: "the record is not what a render writes: both files must hold a JSON object",
		}}
	}
	canon, vs := canonical("values", given)
	if len(vs) > 0 {
		return nil, nil, vs
	}
	declared := record(file).object("variable")
	inputs := map[string]json.RawMessage{}
	var vars []contract.Variable
	for _, name := range slices.Sorted(maps.Keys(canon)) {
		if isInput(spec, name) {
			inputs[name] = canon[name]
			continue
		}
		vars = append(vars, contract.Variable{
			Name: name, Value: canon[name], Sensitive: declared.object(name).flag("sensitive"),
		})
	}
	return inputs, vars, nil
}

func isInput(spec contract.RoleSpec, name string) bool {
	broken := contract.CheckVariableName(spec, name)
	_, input := spec.Input(name)
	return input || broken != nil
}
