package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/module"
	"github.com/captf-toolkit/captf/sdk/runtime"
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

// flag is how the variable is named on the command line.
func (v Variable) flag() string {
	if v.Role == "" {
		return v.Name
	}
	return string(v.Role) + "." + v.Name
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
	// given are the variables as they were given, by name.
	given map[string]Variable
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
		uv := userVariables{given: map[string]Variable{}}
		for _, name := range slices.Sorted(maps.Keys(chosen)) {
			decl := view.Variable(name)
			value := variableValue(decl, given[chosen[name]].Value)
			if problem := misfit(decl, value, given[chosen[name]].Value); problem != "" {
				problems = append(problems, fmt.Sprintf("--var %s: variable %s of the %s module (%s): %s", given[chosen[name]].flag(), name, role,
					m.place(decl.DefRange.Filename, decl.DefRange.Start.Line), problem))
				continue
			}
			if _, vs := contract.ParseVariables(spec, []contract.Variable{{Name: name, Value: value}}); len(vs) > 0 {
				problems = append(problems, fmt.Sprintf("variable %s of the %s module: %s", name, role, vs[0].Message))
			}
			uv.vars = append(uv.vars, contract.Variable{Name: name, Value: value})
			uv.given[name] = given[chosen[name]]
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

// misfit says why a value does not fit the type of its variable, "" if it does.
// It never holds the value.
func misfit(decl *module.Variable, raw json.RawMessage, text string) string {
	implied, err := ctyjson.ImpliedType(raw)
	if err != nil {
		return "the value is no JSON"
	}
	value, err := ctyjson.Unmarshal(raw, implied)
	if err != nil {
		return "the value is no JSON"
	}
	if value.IsNull() {
		if !decl.Nullable && !decl.HasDefault {
			return "null is given, but it has nullable = false"
		}
		return ""
	}
	if decl.TypeDefaults != nil {
		value = decl.TypeDefaults.Apply(value)
	}
	_, err = convert.Convert(value, decl.Type)
	if err == nil {
		return ""
	}
	kind := decl.Type.FriendlyNameForConstraint()
	if text == strings.TrimSpace(text) && !json.Valid([]byte(text)) && !decl.Type.IsPrimitiveType() {
		return fmt.Sprintf("the value must be JSON for %s, and it is no valid JSON: %s", article(kind), syntaxError(text))
	}
	reason := err.Error()
	var at cty.PathError
	if errors.As(err, &at) && len(at.Path) > 0 {
		reason = pathText(at.Path) + ": " + at.Error()
	}
	return fmt.Sprintf("the value must be %s: %s", article(kind), reason)
}

// article puts the indefinite article before the name of a type.
func article(kind string) string {
	if kind != "" && strings.ContainsRune("aeiou", rune(kind[0])) {
		return "an " + kind
	}
	return "a " + kind
}

// syntaxError says where a text stops being JSON, without its content.
func syntaxError(text string) string {
	var v any
	err := json.Unmarshal([]byte(text), &v)
	if se, ok := errors.AsType[*json.SyntaxError](err); ok {
		if se.Offset >= int64(len(text)) {
			return "it ends too early"
		}
		return fmt.Sprintf("it breaks at character %d", se.Offset)
	}
	return "it cannot be read"
}

// pathText is a path inside a value, such as .zones[0].name.
func pathText(path cty.Path) string {
	var b strings.Builder
	for _, step := range path {
		switch s := step.(type) {
		case cty.GetAttrStep:
			b.WriteString("." + s.Name)
		case cty.IndexStep:
			if key, ok := literalKey(s.Key); ok {
				b.WriteString("[" + key + "]")
			}
		}
	}
	return b.String()
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

// checkValidations plans once with the variables that were given and have
// validation blocks, so that a value which the module refuses is said before
// anything is made. What else may be wrong with the plan, the story tells.
func (d *roleDir) checkValidations(ctx context.Context, view *module.Module) error {
	var checked []*module.Variable
	for _, v := range view.Variables {
		if _, ok := d.user.given[v.Name]; ok && len(v.Validations) > 0 {
			checked = append(checked, v)
		}
	}
	if len(checked) == 0 {
		return nil
	}
	o := &object{role: d, name: "variables", dir: filepath.Join(d.dir, ".variables")}
	w, err := o.prepare(sample(d.member.role), d.plainRoot(), nil)
	if err != nil {
		return err
	}
	err = d.r.process(ctx, func() (*runtime.Result, error) { return w.Plan(ctx, runtime.PlanOptions{NoRefresh: true}) })
	if ctx.Err() != nil {
		return err
	}
	re, ok := errors.AsType[*runtime.RunError](err)
	if !ok {
		return nil // the plan is good
	}
	var problems []string
	for _, g := range re.Diagnostics {
		v := refusing(checked, g)
		if v == nil {
			continue
		}
		message, _, _ := strings.Cut(g.Detail, "\n\nThis was checked by")
		problems = append(problems, fmt.Sprintf("--var %s: the %s module refuses the value of variable %s (%s): %s", d.user.given[v.Name].flag(),
			d.member.role, v.Name, d.member.place(v.DefRange.Filename, v.DefRange.Start.Line), strings.Join(strings.Fields(message), " ")))
	}
	if len(problems) > 0 {
		return &VariableError{Problems: problems}
	}
	return nil
}

// validationRule is how the runtimes tell which validation block refused a value.
var validationRule = regexp.MustCompile(`validation rule at (\S+?):(\d+),`)

// refusing returns the variable whose validation a diagnostic is about; nil if
// it is about none of them.
func refusing(checked []*module.Variable, g runtime.Diagnostic) *module.Variable {
	m := validationRule.FindStringSubmatch(strings.Join(strings.Fields(g.Detail), " "))
	if m == nil {
		return nil
	}
	line, err := strconv.Atoi(m[2])
	if err != nil {
		return nil
	}
	for _, v := range checked {
		for _, rule := range v.Validations {
			if rule.DefRange.Start.Line == line && filepath.Base(m[1]) == filepath.Base(rule.DefRange.Filename) {
				return v
			}
		}
	}
	return nil
}

// Sensitive tells that a module of the set marks the variable sensitive, so
// that its value is not to be shown.
func (s *Set) Sensitive(v Variable) bool {
	for role, m := range s.members {
		if v.Role != "" && v.Role != role {
			continue
		}
		for _, view := range []*module.Module{m.tree.Terraform, m.tree.OpenTofu} {
			if view == nil {
				continue
			}
			if slices.ContainsFunc(view.Variables, func(d *module.Variable) bool { return d.Name == v.Name && d.Sensitive }) {
				return true
			}
		}
	}
	return false
}
