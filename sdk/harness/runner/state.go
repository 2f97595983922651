package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/runtime"
)

// resources are the managed objects in a state, deposed ones too: they still exist.
func resources(s *runtime.State) ([]harness.Resource, error) {
	var out []harness.Resource
	for _, r := range s.Resources {
		if !r.Managed {
			continue
		}
		hr := harness.Resource{Address: relative(r.Address), Type: r.Type}
		if r.Deposed != "" {
			hr.Address += " (deposed " + r.Deposed + ")"
		}
		for _, on := range r.Dependencies {
			hr.DependsOn = append(hr.DependsOn, relative(on))
		}
		attributes := map[string]any{}
		if len(r.Attributes) > 0 {
			if err := decodeNumbers(r.Attributes, &attributes); err != nil {
				return nil, fmt.Errorf("reading the attributes of %s: %w", hr.Address, err)
			}
		}
		for name, v := range attributes {
			attributes[name] = unwrapDynamic(v)
		}
		hr.Values = attributes
		out = append(out, hr)
	}
	return out, nil
}

// decodeNumbers decodes JSON and keeps numbers exact.
func decodeNumbers(raw []byte, to any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return dec.Decode(to)
}

// unwrapDynamic returns the value of an attribute without a fixed type, such as
// the input of terraform_data: a state holds it together with its type.
func unwrapDynamic(v any) any {
	m, ok := v.(map[string]any)
	if !ok || len(m) != 2 {
		return v
	}
	value, hasValue := m["value"]
	typ, hasType := m["type"]
	if !hasValue || !hasType {
		return v
	}
	rawType, err := json.Marshal(typ)
	if err != nil {
		return v
	}
	t, err := ctyjson.UnmarshalType(rawType)
	if err != nil {
		return v
	}
	rawValue, err := json.Marshal(value)
	if err != nil {
		return v
	}
	// An object that has a value and a type by itself seldom fits together so.
	if _, err := ctyjson.Unmarshal(rawValue, t); err != nil {
		return v
	}
	return value
}

// actions are the runtime's actions on infrastructure. What only changes the
// state's bookkeeping (moves, imports, forgetting) is never a change of the
// infrastructure and is not listed (contract.md 14.3).
var actions = map[runtime.Action]harness.Action{
	runtime.Create: harness.ActionCreate, runtime.Update: harness.ActionUpdate,
	runtime.Replace: harness.ActionReplace, runtime.Delete: harness.ActionDelete,
}

func changes(planned []runtime.Change) []harness.Change {
	var out []harness.Change
	for _, c := range planned {
		if a, ok := actions[c.Action]; ok {
			address := relative(c.Address)
			out = append(out, harness.Change{Address: address, Type: resourceType(address), Action: a})
		}
	}
	return out
}

// resourceType is the type in a resource's address, "" if it has none.
func resourceType(address string) string {
	_, resource, err := splitAddress(address)
	if err != nil {
		return ""
	}
	typ, _, _ := strings.Cut(resource, ".")
	return typ
}

// plannedContent is what a plan says that resources will be: an object with
// each managed resource's address, its values and what is not known yet.
// Nothing that differs between two plans of the same thing is in it.
func plannedContent(p *tfjson.Plan) (json.RawMessage, error) {
	type content struct {
		Values  any `json:"values"`
		Unknown any `json:"unknown,omitempty"`
	}
	out := map[string]content{}
	for _, c := range p.ResourceChanges {
		if c.Mode != tfjson.ManagedResourceMode || c.Change == nil || c.Change.Actions.Delete() {
			continue
		}
		out[relative(c.Address)] = content{Values: c.Change.After, Unknown: c.Change.AfterUnknown}
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encoding the planned content: %w", err)
	}
	return raw, nil
}

// plannedOutputs keeps the outputs that a plan knows whole.
func plannedOutputs(run *harness.Run, p *tfjson.Plan) error {
	run.PlannedOutputs = map[string]json.RawMessage{}
	for name, c := range p.OutputChanges {
		if c == nil || c.AfterUnknown != false || c.After == nil {
			continue
		}
		raw, err := json.Marshal(c.After)
		if err != nil {
			return fmt.Errorf("encoding the planned output %s: %w", name, err)
		}
		run.PlannedOutputs[name] = raw
	}
	return nil
}
