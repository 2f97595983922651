package v1alpha1

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/captf-toolkit/captf/contract"
)

// defaultFormat is the bootstrap format when the Secret names none (contract.md 10.1).
const defaultFormat = "cloud-config"

// values returns the inputs as a tree of plain values, one for each input of
// the role. It settles what a typed value leaves open: the default bootstrap
// format, {} for outputs that a cluster does not have, [] for nil lists.
func values(in contract.Inputs) (map[string]any, contract.Violations) {
	switch in := in.(type) {
	case *contract.ClusterInputs:
		if in != nil {
			return clusterValues(in), nil
		}
	case *contract.MachineInputs:
		if in != nil {
			return machineValues(in)
		}
	case *contract.PoolInputs:
		if in != nil {
			return poolValues(in)
		}
	}
	return nil, contract.Violations{{
		Path: "inputs", Rule: contract.RuleRole, Reason: contract.ReasonInvalid,
		Message: fmt.Sprintf("are %T; they must be the inputs of one of the roles %s", in, contract.RoleNames()),
	}}
}

func commonValues(role contract.Role, in contract.CommonInputs) map[string]any {
	return map[string]any{
		"captf_contract": Version,
		"captf_cluster":  map[string]any{"name": in.Cluster.Name, "namespace": in.Cluster.Namespace},
		"captf_object": map[string]any{
			"kind": role.Kind(), "name": in.Object.Name, "namespace": in.Object.Namespace,
		},
		"captf_tags": map[string]any{
			TagCluster:   in.Cluster.Name,
			TagNamespace: in.Object.Namespace,
			TagKind:      role.Kind(),
			TagName:      in.Object.Name,
			TagManagedBy: ManagedBy,
			TagTemplate:  in.Template,
		},
	}
}

func clusterValues(in *contract.ClusterInputs) map[string]any {
	out := commonValues(contract.RoleCluster, in.CommonInputs)
	out["control_plane_endpoint"] = nil
	if e := in.ControlPlaneEndpoint; e != nil {
		out["control_plane_endpoint"] = map[string]any{"host": e.Host, "port": whole(e.Port)}
	}
	out["kubernetes_version"] = optional(in.KubernetesVersion)
	out["control_plane_initialized"] = in.ControlPlaneInitialized
	out["cluster_network"] = nil
	if n := in.ClusterNetwork; n != nil {
		out["cluster_network"] = map[string]any{
			"pods":            texts(n.Pods),
			"services":        texts(n.Services),
			"service_domain":  optional(n.ServiceDomain),
			"api_server_port": optionalWhole(n.APIServerPort),
		}
	}
	return out
}

func machineValues(in *contract.MachineInputs) (map[string]any, contract.Violations) {
	out := commonValues(contract.RoleMachine, in.CommonInputs)
	vs := addClusterOutputs(out, in.ClusterOutputs)
	addBootstrap(out, in.Bootstrap)
	out["machine_name"] = in.MachineName
	out["failure_domain"] = optional(in.FailureDomain)
	out["kubernetes_version"] = optional(in.KubernetesVersion)
	out["control_plane"] = in.ControlPlane
	return out, vs
}

func poolValues(in *contract.PoolInputs) (map[string]any, contract.Violations) {
	out := commonValues(contract.RoleMachinePool, in.CommonInputs)
	vs := addClusterOutputs(out, in.ClusterOutputs)
	addBootstrap(out, in.Bootstrap)
	out["machinepool_name"] = in.MachinePoolName
	out["replicas"] = whole(in.Replicas)
	out["failure_domains"] = texts(in.FailureDomains)
	out["cluster_failure_domains"] = texts(in.ClusterFailureDomains)
	out["kubernetes_version"] = optional(in.KubernetesVersion)
	labels := make(map[string]any, len(in.NodeLabels))
	for key, value := range in.NodeLabels {
		labels[key] = value
	}
	out["node_labels"] = labels
	out["autoscaling"] = map[string]any{
		"enabled": in.Autoscaling.Enabled,
		"min":     whole(in.Autoscaling.Min),
		"max":     whole(in.Autoscaling.Max),
	}
	return out, vs
}

// addClusterOutputs adds the exports of the cluster; null and absent are {} (B-274).
func addClusterOutputs(out map[string]any, exports json.RawMessage) contract.Violations {
	const name = "captf_cluster_outputs"
	out[name] = map[string]any{}
	if len(exports) == 0 {
		return nil
	}
	value, broken := contract.ParseJSON(inputPath(name), exports)
	if broken != nil {
		return contract.Violations{*broken}
	}
	if value != nil {
		out[name] = value
	}
	return nil
}

func addBootstrap(out map[string]any, b contract.Bootstrap) {
	out["bootstrap_data"] = base64.StdEncoding.EncodeToString(b.Data)
	out["bootstrap_format"] = b.Format
	if b.Format == "" {
		out["bootstrap_format"] = defaultFormat
	}
}

func whole(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

func optionalWhole(n *int64) any {
	if n == nil {
		return nil
	}
	return whole(*n)
}

func optional(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

func texts(list []string) []any {
	out := make([]any, 0, len(list))
	for _, s := range list {
		out = append(out, s)
	}
	return out
}

func inputPath(name string) string { return "inputs." + name }

// InputValues implements contract.Definition.
func (d *definition) InputValues(in contract.Inputs) (map[string]json.RawMessage, contract.Violations) {
	tree, vs := values(in)
	if len(vs) > 0 {
		return nil, vs
	}
	out := make(map[string]json.RawMessage, len(tree))
	for name, value := range tree {
		raw, broken := contract.CanonicalJSON(inputPath(name), value)
		if broken != nil {
			vs = append(vs, *broken)
		}
		out[name] = raw
	}
	if len(vs) > 0 {
		vs.Sort()
		return nil, vs
	}
	return out, nil
}

// ValidateInputs implements contract.Definition.
func (d *definition) ValidateInputs(role contract.Role, values map[string]json.RawMessage) contract.Violations {
	_, vs := d.parseInputs(role, values)
	return vs
}

// parseInputs parses and checks plain data.
func (d *definition) parseInputs(role contract.Role, raw map[string]json.RawMessage) (map[string]any, contract.Violations) {
	if _, known := d.specs[role]; !known {
		return nil, unknownRole(role)
	}
	tree := make(map[string]any, len(raw))
	var vs contract.Violations
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		value, broken := contract.ParseJSON(inputPath(name), raw[name])
		if broken != nil {
			vs = append(vs, *broken)
			// The value is there, so it is not reported as missing as well.
			continue
		}
		tree[name] = value
	}
	vs = append(vs, d.checkInputs(role, tree, raw)...)
	vs.Sort()
	return tree, vs
}

// checkInputs checks parsed inputs against the tables. Names in given, but not
// in tree, could not be parsed and have been reported.
func (d *definition) checkInputs(role contract.Role, tree map[string]any, given map[string]json.RawMessage) contract.Violations {
	spec := d.specs[role]
	var vs contract.Violations
	for _, in := range spec.Inputs {
		value, present := tree[in.Name]
		_, broken := given[in.Name]
		switch {
		case present && value == nil && !in.Shape.Nullable:
			vs = append(vs, contract.Violation{
				Path: inputPath(in.Name), Rule: contract.RuleNull, Reason: contract.ReasonInvalid,
				Message: "is null; it needs " + in.Shape.Describe(),
			})
		case present:
			vs = append(vs, in.Shape.Validate(inputPath(in.Name), value)...)
		case !broken:
			vs = append(vs, contract.Violation{
				Path: inputPath(in.Name), Rule: contract.RuleRequired, Reason: contract.ReasonMissing,
				Message: "is missing; every input of the role is rendered: add " + in.Shape.Describe(),
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		if _, known := spec.Input(name); known || tree[name] == nil && tolerated(spec, name) {
			continue
		}
		vs = append(vs, contract.Violation{
			Path: inputPath(name), Rule: contract.RuleAdditional, Reason: contract.ReasonInvalid,
			Message: fmt.Sprintf("is not an input of the role %s; remove it", role),
		})
	}
	return vs
}

func tolerated(spec contract.RoleSpec, name string) bool {
	return slices.ContainsFunc(spec.Tolerated, func(in contract.Input) bool { return in.Name == name })
}

func unknownRole(role contract.Role) contract.Violations {
	return contract.Violations{{
		Path: "role", Rule: contract.RuleRole, Reason: contract.ReasonInvalid,
		Message: fmt.Sprintf("is %q; it must be one of %s", string(role), contract.RoleNames()),
	}}
}
