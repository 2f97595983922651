package runner

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/module"
)

// Variable is a user variable as it was given on the command line.
type Variable struct {
	// Role is the module it is for; "" is every module of the set that declares it.
	Role contract.Role
	Name string
	// Value is text, or JSON where the module's variable is no string.
	Value string
}

// ParseVariable reads NAME=VALUE or ROLE.NAME=VALUE.
func ParseVariable(arg string) (Variable, error) {
	name, value, ok := strings.Cut(arg, "=")
	if !ok {
		return Variable{}, fmt.Errorf("parsing variable %q: it must be NAME=VALUE or ROLE.NAME=VALUE", arg)
	}
	v := Variable{Name: strings.TrimSpace(name), Value: value}
	if role, rest, ok := strings.Cut(v.Name, "."); ok {
		r, err := contract.ParseRole(role)
		if err != nil {
			return Variable{}, fmt.Errorf("parsing variable %q: what stands before the dot is a role: %w", v.Name, err)
		}
		v.Role, v.Name = r, rest
	}
	if v.Name == "" {
		return Variable{}, fmt.Errorf("parsing variable %q: it has no name", arg)
	}
	return v, nil
}

// VariableError lists what is wrong with the variables that were given for a
// set: unknown names, wrong values, required ones that are missing.
type VariableError struct {
	// Problems are whole sentences, in order of the roles. None holds a value.
	Problems []string
}

// Error lists the problems, one a line.
func (e *VariableError) Error() string { return strings.Join(e.Problems, "\n") }

// userVariables are the variables of one module after assignment.
type userVariables struct {
	vars []contract.Variable
	// secrets are the values that the module declares sensitive.
	secrets []string
}

// assign gives each variable to the modules that it is for.
func assign(s *Set, rt module.Runtime, def contract.Definition, given []Variable) (map[contract.Role]userVariables, error) {
	var problems []string
	out := map[contract.Role]userVariables{}
	used := make([]bool, len(given))
	for _, role := range s.Roles() {
		m := s.members[role]
		view, err := m.view(rt)
		if err != nil {
			return nil, err
		}
		spec := def.Spec(role)
		chosen := map[string]int{}
		for i, v := range given {
			if v.Role != "" && v.Role != role {
				continue
			}
			if view.Variable(v.Name) == nil || contract.CheckVariableName(spec, v.Name) != nil {
				continue
			}
			used[i] = true
			// A later one wins, and one for this role over one for all.
			if old, ok := chosen[v.Name]; !ok || v.Role != "" || given[old].Role == "" {
				chosen[v.Name] = i
			}
		}
		var uv userVariables
		for _, name := range slices.Sorted(maps.Keys(chosen)) {
			decl := view.Variable(name)
			value := variableValue(decl, given[chosen[name]].Value)
			if _, vs := contract.ParseVariables(spec, []contract.Variable{{Name: name, Value: value}}); len(vs) > 0 {
				problems = append(problems, fmt.Sprintf("variable %s of the %s module: %s", name, role, vs[0].Message))
			}
			uv.vars = append(uv.vars, contract.Variable{Name: name, Value: value})
			if decl.Sensitive {
				uv.secrets = append(uv.secrets, given[chosen[name]].Value)
			}
		}
		for _, decl := range view.Variables {
			_, set := chosen[decl.Name]
			if set || decl.HasDefault || contract.CheckVariableName(spec, decl.Name) != nil {
				continue
			}
			problems = append(problems, fmt.Sprintf("the %s module needs a value for variable %s, which has no default (%s): give it with --var %s=VALUE",
				role, decl.Name, m.place(decl.DefRange.Filename, decl.DefRange.Start.Line), decl.Name))
		}
		out[role] = uv
	}
	for i, v := range given {
		if !used[i] {
			problems = append(problems, unused(s, rt, def, v))
		}
	}
	if len(problems) > 0 {
		return nil, &VariableError{Problems: problems}
	}
	return out, nil
}

// unused says why a variable is for no module of the set.
func unused(s *Set, rt module.Runtime, def contract.Definition, v Variable) string {
	roles := s.Roles()
	if v.Role != "" {
		if s.members[v.Role] == nil {
			return fmt.Sprintf("variable %s.%s: the set has no %s module", v.Role, v.Name, v.Role)
		}
		roles = []contract.Role{v.Role}
	}
	var have []string
	for _, role := range roles {
		if broken := contract.CheckVariableName(def.Spec(role), v.Name); broken != nil {
			return fmt.Sprintf("variable %s %s", v.Name, broken.Message)
		}
		view, err := s.members[role].view(rt)
		if err != nil {
			return err.Error()
		}
		for _, decl := range view.Variables {
			if contract.CheckVariableName(def.Spec(role), decl.Name) == nil && !slices.Contains(have, decl.Name) {
				have = append(have, decl.Name)
			}
		}
	}
	slices.Sort(have)
	who := "no module of the set declares it"
	if v.Role != "" {
		who = fmt.Sprintf("the %s module does not declare it", v.Role)
	}
	if len(have) == 0 {
		return fmt.Sprintf("variable %s: %s, nor any other variable beside the contract's", v.Name, who)
	}
	return fmt.Sprintf("variable %s: %s; declared are %s", v.Name, who, strings.Join(have, ", "))
}

// variableValue is a value as JSON: the text itself for a string variable, what
// it says where it is JSON for any other type, else the text, which the
// module's type converts (contract.md 7).
func variableValue(decl *module.Variable, text string) json.RawMessage {
	if decl.Type != cty.String && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	raw, err := json.Marshal(text)
	if err != nil { // a string always marshals
		return json.RawMessage(`""`)
	}
	return raw
}
