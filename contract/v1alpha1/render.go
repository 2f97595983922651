package v1alpha1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/contract"
)

// The generated root's module call (contract.md 12).
const (
	moduleName    = "role"
	defaultSource = "../../module"
	// defaultBackend is empty and completed at init: state goes through a
	// broker, so nothing about it belongs into a file.
	defaultBackend = "http"
)

// Render implements contract.Definition.
func (d *definition) Render(in contract.Inputs, vars []contract.Variable, opts contract.RenderOptions) (*contract.Rendered, contract.Violations) {
	tree, vs := values(in)
	if len(vs) > 0 {
		return nil, vs
	}
	spec := d.specs[in.Role()]
	vs = d.checkInputs(spec.Role, tree, nil)
	user, found := contract.ParseVariables(spec, vars)
	vs = append(vs, found...)
	root, found := rootFile(spec, vars, opts)
	vs = append(vs, found...)
	if len(vs) > 0 {
		vs.Sort()
		return nil, vs
	}
	inputs, vs := canonical("inputs", tree)
	if len(vs) > 0 {
		return nil, vs
	}
	variables, vs := canonical("variables", user)
	if len(vs) > 0 {
		return nil, vs
	}
	h := hashes(spec, tree, inputs, variables, sensitiveNames(vars))
	out := &contract.Rendered{
		Root:         root,
		Values:       valuesFile(inputs, variables),
		Hash:         h.Inputs,
		ApprovalHash: h.Approval,
	}
	if size := out.Size(); size > maxRendered {
		return nil, contract.Violations{{
			Path: "inputs", Rule: contract.RuleSize, Reason: contract.ReasonInvalid,
			Message: fmt.Sprintf("render to %d bytes; at most %d are allowed: shorten the bootstrap payload, the cluster's exports or the user variables", size, maxRendered),
		}}
	}
	return out, nil
}

// RenderRestore implements contract.Definition.
func (d *definition) RenderRestore(opts contract.RenderOptions) (*contract.Rendered, contract.Violations) {
	backend, vs := backendBlock(opts.Backend)
	if len(vs) > 0 {
		return nil, vs
	}
	text, broken := contract.CanonicalJSON("root", map[string]any{"terraform": map[string]any{"backend": backend}})
	if broken != nil {
		return nil, contract.Violations{*broken}
	}
	return &contract.Rendered{Root: file(text), Values: file(members{}.json())}, nil
}

// valuesFile returns terraform.tfvars.json.
func valuesFile(inputs, user members) []byte {
	all := make(members, len(inputs)+len(user))
	maps.Copy(all, inputs)
	maps.Copy(all, user)
	return file(all.json())
}

// rootFile returns main.tf.json.
func rootFile(spec contract.RoleSpec, vars []contract.Variable, opts contract.RenderOptions) ([]byte, contract.Violations) {
	backend, vs := backendBlock(opts.Backend)
	source, found := moduleSource(opts.ModuleSource)
	vs = append(vs, found...)
	if len(vs) > 0 {
		return nil, vs
	}
	variables := map[string]any{}
	call := map[string]any{"source": source}
	for _, in := range spec.Inputs {
		variables[in.Name] = variableBlock(in.Shape.Nullable, in.Sensitive)
		call[in.Name] = "${var." + in.Name + "}"
	}
	for _, v := range vars {
		variables[v.Name] = variableBlock(false, v.Sensitive)
		call[v.Name] = "${var." + v.Name + "}"
	}
	outputs := map[string]any{}
	for _, out := range spec.Outputs {
		outputs[out.Name] = map[string]any{
			"value":     "${module." + moduleName + "." + out.Name + "}",
			"sensitive": true,
		}
	}
	text, broken := contract.CanonicalJSON("root", map[string]any{
		"terraform": map[string]any{"backend": backend},
		"variable":  variables,
		"module":    map[string]any{moduleName: call},
		"output":    outputs,
	})
	if broken != nil {
		return nil, contract.Violations{*broken}
	}
	return file(text), nil
}

// variableBlock declares a variable without a type, so that the module's own
// type does every conversion, which is the stricter test (contract.md 12).
func variableBlock(nullable, sensitive bool) map[string]any {
	block := map[string]any{}
	if nullable {
		block["default"] = nil
	}
	if sensitive {
		block["sensitive"] = true
	}
	return block
}

// backendBlock returns the content of the backend block.
func backendBlock(b contract.Backend) (map[string]any, contract.Violations) {
	if b.Type == "" {
		b.Type = defaultBackend
	}
	config := any(map[string]any{})
	if b.Config != nil {
		raw, err := json.Marshal(b.Config)
		if err != nil {
			return nil, refuseOption("options.backend", "has settings that are no JSON: "+err.Error())
		}
		var broken *contract.Violation
		if config, broken = contract.ParseJSON("options.backend", raw); broken != nil {
			return nil, contract.Violations{*broken}
		}
	}
	if hasTemplate(config) {
		return nil, refuseOption("options.backend", "holds ${ or %{, which the runtimes read differently; use another path")
	}
	return map[string]any{b.Type: config}, nil
}

// moduleSource accepts local paths only: nothing may be downloaded for the
// call, and both runtimes take a path without ./ or ../ for an address.
func moduleSource(source string) (string, contract.Violations) {
	switch {
	case source == "":
		return defaultSource, nil
	case hasTemplate(source):
		return "", refuseOption("options.moduleSource", "holds ${ or %{, which the runtimes read differently; use another path")
	case strings.HasPrefix(source, "./"), strings.HasPrefix(source, "../"):
		return source, nil
	default:
		return "", refuseOption("options.moduleSource", "is no local path; it must start with ./ or ../")
	}
}

func refuseOption(path, message string) contract.Violations {
	return contract.Violations{{Path: path, Rule: contract.RuleOption, Reason: contract.ReasonInvalid, Message: message}}
}

// hasTemplate tells that a text in the value looks like a template. Terraform
// takes the texts of a backend block and of a module source literally, OpenTofu
// evaluates them, so there is no way to write one that means the same to both.
func hasTemplate(value any) bool {
	switch v := value.(type) {
	case string:
		return strings.Contains(v, "${") || strings.Contains(v, "%{")
	case []any:
		return slices.ContainsFunc(v, hasTemplate)
	case map[string]any:
		for _, item := range v {
			if hasTemplate(item) {
				return true
			}
		}
	}
	return false
}

// file lays canonical JSON out for people: two spaces a level and a newline at
// the end (B-299).
func file(canonical []byte) []byte {
	var b bytes.Buffer
	// The text was written by us, so it indents.
	_ = json.Indent(&b, canonical, "", "  ")
	b.WriteByte('\n')
	return b.Bytes()
}
