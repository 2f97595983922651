package scenario

import (
	"encoding/json"
	"fmt"

	reflector "github.com/invopop/jsonschema"

	"github.com/captf-toolkit/captf/sdk/harness"
)

// Schema returns the JSON Schema (2020-12) of scenario files. It cannot say what
// is possible in which order; reading a file does.
func Schema() ([]byte, error) {
	r := &reflector.Reflector{FieldNameTag: "yaml", Anonymous: true, DoNotReference: true, RequiredFromJSONSchemaTags: true}
	s := r.Reflect(&File{})
	s.Title, s.Description = "Scenario of captf harness", "A story that is played on a set of modules: what the user asks for, what goes wrong, and what is expected in the end."
	s.Required = required[File]()
	steps, _ := s.Properties.Get("steps")
	step := steps.Items
	step.OneOf = nil
	for _, name := range []string{"ask", "fault", "remediate", "move"} {
		step.OneOf = append(step.OneOf, &reflector.Schema{Required: []string{name}})
	}
	fault, _ := step.Properties.Get("fault")
	fault.Required = required[Fault]()
	kind, _ := fault.Properties.Get("kind")
	for _, info := range harness.Faults() {
		kind.Enum = append(kind.Enum, string(info.Kind))
	}
	for _, name := range []string{"remediate"} {
		loosen(step, name)
	}
	loosen(fault, "machine")
	end, _ := s.Properties.Get("end")
	stalled, _ := end.Properties.Get("stalled")
	stalled.Required = required[EndStall]()
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the schema of scenarios: %w", err)
	}
	return append(text, '\n'), nil
}

// loosen lets a name of a machine be a number too, as it is read.
func loosen(s *reflector.Schema, name string) {
	p, _ := s.Properties.Get(name)
	p.Type = ""
	p.OneOf = []*reflector.Schema{{Type: "string", MinLength: one()}, {Type: "integer", Minimum: "1"}}
}

func one() *uint64 {
	n := uint64(1)
	return &n
}
