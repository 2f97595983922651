package v1alpha1

import (
	"encoding/base64"
	"encoding/json"

	"github.com/captf-toolkit/captf/contract"
)

// DecodeInputs implements contract.Definition.
func (d *definition) DecodeInputs(role contract.Role, values map[string]json.RawMessage) (contract.Inputs, contract.Violations) {
	tree, vs := d.parseInputs(role, values)
	if len(vs) > 0 {
		return nil, vs
	}
	t := record(tree)
	switch role {
	case contract.RoleCluster:
		return clusterInputs(t), nil
	case contract.RoleMachine:
		in := &contract.MachineInputs{
			CommonInputs:      commonInputsOf(t),
			MachineName:       t.text("machine_name"),
			FailureDomain:     t.optionalText("failure_domain"),
			KubernetesVersion: t.optionalText("kubernetes_version"),
			ControlPlane:      t.flag("control_plane"),
		}
		in.ClusterOutputs, in.Bootstrap, vs = runInputsOf(t)
		return in, vs
	default:
		scaling := t.object("autoscaling")
		in := &contract.PoolInputs{
			CommonInputs:          commonInputsOf(t),
			MachinePoolName:       t.text("machinepool_name"),
			Replicas:              t.whole("replicas"),
			FailureDomains:        t.texts("failure_domains"),
			ClusterFailureDomains: t.texts("cluster_failure_domains"),
			KubernetesVersion:     t.optionalText("kubernetes_version"),
			NodeLabels:            t.textMap("node_labels"),
			Autoscaling: contract.Autoscaling{
				Enabled: scaling.flag("enabled"), Min: scaling.whole("min"), Max: scaling.whole("max"),
			},
		}
		in.ClusterOutputs, in.Bootstrap, vs = runInputsOf(t)
		return in, vs
	}
}

func clusterInputs(t record) *contract.ClusterInputs {
	in := &contract.ClusterInputs{
		CommonInputs:            commonInputsOf(t),
		ControlPlaneEndpoint:    endpointOf(t.object("control_plane_endpoint")),
		KubernetesVersion:       t.optionalText("kubernetes_version"),
		ControlPlaneInitialized: t.flag("control_plane_initialized"),
	}
	if n := t.object("cluster_network"); n != nil {
		in.ClusterNetwork = &contract.ClusterNetwork{
			Pods:          n.texts("pods"),
			Services:      n.texts("services"),
			ServiceDomain: n.optionalText("service_domain"),
			APIServerPort: n.optionalWhole("api_server_port"),
		}
	}
	return in
}

func commonInputsOf(t record) contract.CommonInputs {
	cluster, self := t.object("captf_cluster"), t.object("captf_object")
	return contract.CommonInputs{
		Cluster:  contract.NamespacedName{Name: cluster.text("name"), Namespace: cluster.text("namespace")},
		Object:   contract.NamespacedName{Name: self.text("name"), Namespace: self.text("namespace")},
		Template: t.object("captf_tags").text(TagTemplate),
	}
}

// runInputsOf returns what machines and pools have in common.
func runInputsOf(t record) (json.RawMessage, contract.Bootstrap, contract.Violations) {
	var vs contract.Violations
	exports, broken := contract.CanonicalJSON(inputPath("captf_cluster_outputs"), t["captf_cluster_outputs"])
	if broken != nil {
		vs = append(vs, *broken)
	}
	data, err := base64.StdEncoding.DecodeString(t.text("bootstrap_data"))
	if err != nil {
		// The shape was checked, so this cannot be; an error may quote the payload.
		vs = append(vs, contract.Violation{
			Path: inputPath("bootstrap_data"), Rule: contract.RulePattern, Reason: contract.ReasonInvalid,
			Message: "does not have the right form; it must be padded standard base64",
		})
	}
	return exports, contract.Bootstrap{Data: data, Format: t.text("bootstrap_format")}, vs
}
