package inputs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
)

// render renders the inputs of a result into it.
func (b *Builder) render(opts contract.RenderOptions, out *Result) error {
	rendered, vs := b.Contract.Render(out.Inputs, out.Variables, opts)
	switch {
	case len(vs) == 0:
		out.Rendered, out.Bytes = rendered, rendered.Size()
		return nil
	case vs.Has(contract.RuleSize):
		size, err := b.measure(opts, out.Inputs, out.Variables)
		if err != nil {
			return err
		}
		out.Bytes = size
		out.Gate = &Gate{Type: infrav1.ApplyJobSucceededCondition, Value: conditions.Value{
			Status: metav1.ConditionFalse, Reason: infrav1.InputsTooLargeReason, Message: messages(vs),
		}}
		return nil
	default:
		// Kubernetes and Cluster API admit nothing that the contract refuses, so there is no reason that says it better.
		return fmt.Errorf("rendering the inputs: %s", messages(vs))
	}
}

// measure returns the size of files that are too large for the contract to return them. The root depends on the names of
// variables and not on any value, so it is rendered with the large values left out.
func (b *Builder) measure(opts contract.RenderOptions, in contract.Inputs, vars []contract.Variable) (int, error) {
	values, vs := b.Contract.InputValues(in)
	if len(vs) > 0 {
		return 0, fmt.Errorf("measuring the inputs: %s", messages(vs))
	}
	small := make([]contract.Variable, 0, len(vars))
	for _, v := range vars {
		canonical, broken := canonicalValue(v.Value)
		if broken != nil {
			return 0, fmt.Errorf("measuring the inputs: %s", messages(contract.Violations{*broken}))
		}
		values[v.Name] = canonical
		small = append(small, contract.Variable{Name: v.Name, Value: json.RawMessage("null"), Sensitive: v.Sensitive})
	}
	rendered, vs := b.Contract.Render(emptied(in), small, opts)
	if len(vs) > 0 {
		return 0, fmt.Errorf("measuring the inputs: %s", messages(vs))
	}
	var file bytes.Buffer
	enc := json.NewEncoder(&file)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(values); err != nil {
		return 0, fmt.Errorf("measuring the inputs: %w", err)
	}
	return len(rendered.Root) + file.Len(), nil
}

// canonicalValue returns a value as it is rendered.
func canonicalValue(raw json.RawMessage) (json.RawMessage, *contract.Violation) {
	value, broken := contract.ParseJSON("variables", raw)
	if broken != nil {
		return nil, broken
	}
	return contract.CanonicalJSON("variables", value)
}

// emptied returns inputs of the same role without what can be large.
func emptied(in contract.Inputs) contract.Inputs {
	switch in := in.(type) {
	case *contract.MachineInputs:
		out := *in
		out.ClusterOutputs, out.Bootstrap.Data = nil, nil
		return &out
	case *contract.PoolInputs:
		out := *in
		out.ClusterOutputs, out.Bootstrap.Data, out.NodeLabels = nil, nil, nil
		return &out
	default:
		return in
	}
}

// Rehash hashes recorded files anew, for a record whose hash is of another scheme (B-344). The error tells that they cannot
// be hashed; then the object is applied once.
func Rehash(d contract.Definition, role contract.Role, files Files) (contract.Hashes, error) {
	values, vars, vs := d.ReadRendered(role, files.Root, files.Values)
	if len(vs) > 0 {
		return contract.Hashes{}, fmt.Errorf("reading recorded inputs: %s", messages(vs))
	}
	hashes, vs := d.Hash(role, values, vars)
	if len(vs) > 0 {
		return contract.Hashes{}, fmt.Errorf("hashing recorded inputs: %s", messages(vs))
	}
	return hashes, nil
}

// Decode returns recorded files as values, nil when there are none or they are older than the contract's tables.
func Decode(d contract.Definition, role contract.Role, files Files) contract.Inputs {
	if files.Empty() {
		return nil
	}
	values, _, vs := d.ReadRendered(role, files.Root, files.Values)
	if len(vs) > 0 {
		return nil
	}
	in, vs := d.DecodeInputs(role, values)
	if len(vs) > 0 {
		return nil
	}
	return in
}

// messages joins violations for people; none of them quotes a sensitive value.
func messages(vs contract.Violations) string {
	list := make([]string, 0, len(vs))
	for _, v := range vs {
		list = append(list, v.Path+" "+v.Message)
	}
	return strings.Join(list, "; ")
}
