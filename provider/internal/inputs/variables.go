package inputs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/image"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// variables collects, merges and checks the user's variables (B-310 to B-316).
func (b *Builder) variables(ctx context.Context, obj infrav1.Workspace, schema *image.Schema) ([]contract.Variable, *Gate, error) {
	spec := obj.Workspace()
	sources, err := Sources(ctx, b.Live, obj.GetNamespace(), spec.VariablesFrom)
	if err != nil {
		return nil, nil, err
	}
	merged, vs := Variables(b.Contract.Spec(obj.Role()), spec, sources, schema)
	if gate := variablesGate(vs); gate != nil {
		return nil, gate, nil
	}
	return merged, nil, nil
}

// Sources reads the sources of variables, in their order. One that does not exist or lacks its label is there with Found
// unset (B-312); an error is one of the API.
func Sources(ctx context.Context, reader client.Reader, namespace string, list []infrav1.VariablesSource) ([]contract.VariableSource, error) {
	out := make([]contract.VariableSource, 0, len(list))
	for _, entry := range list {
		source := contract.VariableSource{
			Format:   contract.VariableFormat(entry.Format),
			Optional: entry.Optional != nil && *entry.Optional,
		}
		var err error
		switch {
		case entry.SecretRef != nil:
			source.Name, source.Secret = "Secret/"+entry.SecretRef.Name, true
			err = readSecret(ctx, reader, client.ObjectKey{Namespace: namespace, Name: entry.SecretRef.Name}, &source)
		case entry.ConfigMapRef != nil:
			source.Name = "ConfigMap/" + entry.ConfigMapRef.Name
			err = readConfigMap(ctx, reader, client.ObjectKey{Namespace: namespace, Name: entry.ConfigMapRef.Name}, &source)
		default:
			source.Name = "an entry without configMapRef and secretRef"
		}
		if err != nil {
			return nil, fmt.Errorf("reading the source of variables %s: %w", source.Name, err)
		}
		out = append(out, source)
	}
	return out, nil
}

func readSecret(ctx context.Context, reader client.Reader, key client.ObjectKey, into *contract.VariableSource) error {
	var secret corev1.Secret
	if err := reader.Get(ctx, key, &secret); err != nil {
		return client.IgnoreNotFound(err)
	}
	if labelled(&secret) {
		into.Found, into.Data = true, secret.Data
	}
	return nil
}

func readConfigMap(ctx context.Context, reader client.Reader, key client.ObjectKey, into *contract.VariableSource) error {
	var configMap corev1.ConfigMap
	if err := reader.Get(ctx, key, &configMap); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !labelled(&configMap) {
		return nil
	}
	into.Found, into.Data = true, make(map[string][]byte, len(configMap.Data)+len(configMap.BinaryData))
	maps.Copy(into.Data, configMap.BinaryData)
	for name, value := range configMap.Data {
		into.Data[name] = []byte(value)
	}
	return nil
}

func labelled(obj client.Object) bool { return obj.GetLabels()[infrav1.LabelVariables] == "true" }

// Variables merges the inline variables over the sources and checks the result against the image's schema, nil for none. A
// violation with contract.ReasonMissing is about a source, one with contract.ReasonInvalid about a variable; then there is
// no result. No message holds a value.
func Variables(spec contract.RoleSpec, workspace *infrav1.WorkspaceSpec, sources []contract.VariableSource, schema *image.Schema) ([]contract.Variable, contract.Violations) {
	inline := make(map[string]json.RawMessage, len(workspace.Variables))
	for name, value := range workspace.Variables {
		inline[name] = value.Raw
		if len(value.Raw) == 0 { // the API machinery reads null as nothing
			inline[name] = json.RawMessage("null")
		}
	}
	merged, vs := contract.MergeVariables(spec, sources, inline)
	if len(vs) > 0 || schema == nil {
		return merged, vs
	}
	values := make(map[string]json.RawMessage, len(merged))
	sensitive := map[string]bool{}
	for _, v := range merged {
		values[v.Name] = v.Value
		sensitive["variables."+v.Name] = v.Sensitive
	}
	vs = schema.Validate(values)
	for i := range vs {
		// The path into a sensitive value is part of the value.
		if name := variablePath(vs[i].Path); sensitive[name] {
			vs[i].Path = name
		}
	}
	if len(vs) > 0 {
		return nil, vs
	}
	return merged, nil
}

// variablePath cuts a path below variables to the variable.
func variablePath(path string) string {
	const prefix = "variables."
	rest, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return path
	}
	if end := strings.IndexAny(rest, ".["); end >= 0 {
		rest = rest[:end]
	}
	return prefix + rest
}
