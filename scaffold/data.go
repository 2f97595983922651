package scaffold

import (
	"fmt"
	"strconv"
	"strings"
	"text/template"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/mitchellh/go-wordwrap"
	"github.com/zclconf/go-cty/cty"

	"github.com/captf-toolkit/captf/contract"
)

// commentWidth is where comments that come from the tables are wrapped.
const commentWidth = 96

// moduleData is what the templates of one module see.
type moduleData struct {
	roleContent
	Contract string
	Role     contract.Role
	Kind     string
	Command  Runtime
	Provider *Provider
	Set      bool
	Marker   string

	// Schema is the version string of the cluster module's exports.
	Schema string
	// Scheme starts provider ids.
	Scheme string
	// HealthStates lists the states that there are, for people.
	HealthStates string

	Inputs  []inputData
	Outputs []outputData
	// Tests are the runs of the test file.
	Tests string
}

// rootData is what the templates at the root of the directory see; the module's
// own fields are those of the first module.
type rootData struct {
	*moduleData
	Modules []*moduleData
	Roles   []contract.Role
}

type inputData struct {
	Name, Type, Summary, Detail string
	Nullable                    bool
	Default                     bool
	Sensitive                   bool
	Validations                 []validation
	Sample                      string
}

type outputData struct {
	Name, Summary, Detail, Value string
}

type validation struct {
	Condition, Message string
}

func newModuleData(o Options, def contract.Definition, role contract.Role) (*moduleData, error) {
	d := &moduleData{
		roleContent: contents[role],
		Contract:    def.Version(), Role: role, Kind: role.Kind(),
		Command: o.Runtime, Provider: o.Provider, Set: o.Set, Marker: Marker,
		Schema: "example-cluster/v1", Scheme: "example",
	}
	if o.Provider != nil {
		d.Schema, d.Scheme = o.Provider.Name()+"-cluster/v1", o.Provider.Name()
	}
	states := contract.HealthStates()
	for i, state := range states {
		switch {
		case i == len(states)-1:
			d.HealthStates += " and "
		case i > 0:
			d.HealthStates += ", "
		}
		d.HealthStates += string(state)
	}
	spec := def.Spec(role)
	for _, in := range spec.Inputs {
		d.Inputs = append(d.Inputs, newInputData(in))
	}
	for _, out := range spec.Outputs {
		value, err := outputValue(d, out)
		if err != nil {
			return nil, err
		}
		summary, detail := splitDoc(out.Doc)
		d.Outputs = append(d.Outputs, outputData{Name: out.Name, Summary: summary, Detail: detail, Value: value})
	}
	tests, err := render("templates/module/"+string(role)+"/tests.tmpl", d)
	d.Tests = string(tests)
	return d, err
}

func newInputData(in contract.Input) inputData {
	summary, detail := splitDoc(in.Doc)
	return inputData{
		Name: in.Name, Type: in.Shape.TypeExpr(), Summary: summary, Detail: detail,
		Nullable: in.Shape.Nullable, Default: in.MayDefault, Sensitive: in.Sensitive,
		Validations: validations(in), Sample: sample(in),
	}
}

// splitDoc returns the first sentence of a text of the tables, which serves as
// description, and the whole text if there is more to it.
func splitDoc(doc string) (summary, detail string) {
	if i := strings.Index(doc, ". "); i >= 0 {
		return doc[:i+1], doc
	}
	return doc, ""
}

// validations states in HCL what the shape of an input says about its value, as
// far as a module gains from checking it again: constants, choices and whole
// numbers. A controller never breaks them; a hand-written root may.
func validations(in contract.Input) []validation {
	ref := "var." + in.Name
	var all []validation
	add := func(name string, s contract.Shape) {
		ref := "var." + name
		switch {
		case s.Nullable:
		case len(s.Enum) == 1:
			all = append(all, validation{ref + " == " + strconv.Quote(s.Enum[0]), name + " must be " + s.Enum[0] + "."})
		case len(s.Enum) > 1:
			all = append(all, validation{"contains([" + quoted(s.Enum) + "], " + ref + ")", name + " must be one of " + strings.Join(s.Enum, ", ") + "."})
		}
	}
	add(in.Name, in.Shape)
	if in.Shape.Kind == contract.KindInteger && !in.Shape.Nullable {
		condition, message := "floor("+ref+") == "+ref, in.Name+" must be a whole number"
		if in.Shape.Min != nil {
			condition += fmt.Sprintf(" && %s >= %d", ref, *in.Shape.Min)
			message += fmt.Sprintf(" of at least %d", *in.Shape.Min)
		}
		if in.Shape.Max != nil {
			condition += fmt.Sprintf(" && %s <= %d", ref, *in.Shape.Max)
			message += fmt.Sprintf(" of at most %d", *in.Shape.Max)
		}
		all = append(all, validation{condition, message + "."})
	}
	if in.Shape.Kind == contract.KindObject && !in.Shape.Nullable && !in.Shape.AsMap {
		for _, a := range in.Shape.Attributes {
			add(in.Name+"."+a.Name, a.Shape)
		}
	}
	return all
}

func quoted(values []string) string {
	q := make([]string, 0, len(values))
	for _, v := range values {
		q = append(q, strconv.Quote(v))
	}
	return strings.Join(q, ", ")
}

// sample returns a value for the input, as HCL.
func sample(in contract.Input) string {
	if s, ok := samples[in.Name]; ok {
		return s
	}
	return sampleOf(in.Shape, in.Name)
}

// sampleOf returns a value that the shape accepts; name is the name of the input
// or attribute.
func sampleOf(s contract.Shape, name string) string {
	switch {
	case s.Nullable:
		return "null"
	case len(s.Enum) > 0:
		return strconv.Quote(s.Enum[0])
	}
	switch s.Kind {
	case contract.KindInteger:
		if s.Min != nil {
			return strconv.FormatInt(*s.Min, 10)
		}
		return "0"
	case contract.KindBool:
		return "false"
	case contract.KindList:
		return "[]"
	case contract.KindMap, contract.KindAny:
		return "{}"
	case contract.KindObject:
		return sampleObject(s)
	}
	switch {
	case s.MinLength == 0:
		return `""`
	case strings.HasSuffix(name, "namespace"):
		return `"default"`
	default:
		return `"dev"`
	}
}

func sampleObject(s contract.Shape) string {
	parts := make([]string, 0, len(s.Attributes))
	for _, a := range s.Attributes {
		if a.Optional {
			continue
		}
		key := a.Name
		if s.AsMap {
			key = strconv.Quote(key)
		}
		parts = append(parts, key+" = "+sampleOf(a.Shape, a.Name))
	}
	if s.AsMap {
		return "{\n" + strings.Join(parts, "\n") + "\n}"
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// functions are what templates may call.
var functions = template.FuncMap{
	"clutter": clutter,
	// quote makes a string of HCL, template sequences escaped.
	"quote": func(s string) string {
		return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes())
	},
	// comment makes comment lines, or nothing of an empty text.
	"comment": func(s string) string {
		if s == "" {
			return ""
		}
		lines := strings.Split(wordwrap.WrapString(s, commentWidth-2), "\n")
		return "# " + strings.Join(lines, "\n# ") + "\n"
	},
	"join": func(sep string, roles []contract.Role) string {
		names := make([]string, 0, len(roles))
		for _, r := range roles {
			names = append(names, string(r))
		}
		return strings.Join(names, sep)
	},
	"repeat": strings.Repeat,
}
