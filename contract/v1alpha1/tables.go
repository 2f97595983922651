package v1alpha1

import "github.com/captf-toolkit/captf/contract"

// Version is the version token of this contract.
const Version = "v1alpha1"

// Bounds used by several rows (contract.md 16).
const (
	maxName        = 256
	maxProviderID  = 512
	maxHost        = 512
	maxPort        = 65535
	maxAddresses   = 256
	maxDomains     = 100
	maxMembers     = 10000
	maxInstances   = 1000
	maxCIDRs       = 100
	maxCIDR        = 43
	maxServiceName = 253

	maxRendered = 1_000_000 // bytes of main.tf.json and terraform.tfvars.json together (B-333)
)

// base64Pattern accepts padded standard base64, the empty string included (contract.md 10.1).
const base64Pattern = `^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$`

func text(minLen, maxLen int) contract.Shape {
	return contract.Shape{Kind: contract.KindString, MinLength: minLen, MaxLength: maxLen}
}

func constant(value string) contract.Shape {
	return contract.Shape{Kind: contract.KindString, Enum: []string{value}}
}

func boolean() contract.Shape { return contract.Shape{Kind: contract.KindBool} }

func integer(lower, upper int64) contract.Shape {
	return contract.Shape{Kind: contract.KindInteger, Min: new(lower), Max: new(upper)}
}

func count() contract.Shape {
	return contract.Shape{Kind: contract.KindInteger, Min: new(int64(0))}
}

func list(elem contract.Shape, maxItems int) contract.Shape {
	return contract.Shape{Kind: contract.KindList, Elem: &elem, MaxLength: maxItems}
}

func mapOf(elem contract.Shape) contract.Shape {
	return contract.Shape{Kind: contract.KindMap, Elem: &elem}
}

func object(attributes ...contract.Attribute) contract.Shape {
	return contract.Shape{Kind: contract.KindObject, Attributes: attributes}
}

func closed(attributes ...contract.Attribute) contract.Shape {
	return contract.Shape{Kind: contract.KindObject, Attributes: attributes, Closed: true}
}

func nullable(s contract.Shape) contract.Shape {
	s.Nullable = true
	return s
}

func enum[T ~string](values []T) contract.Shape {
	s := contract.Shape{Kind: contract.KindString}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// endpointShape is the one shape of an endpoint, as input and as output.
func endpointShape() contract.Shape {
	return closed(
		contract.Attribute{Name: "host", Shape: text(1, maxHost), Doc: "DNS name or IP address."},
		contract.Attribute{Name: "port", Shape: integer(1, maxPort), Doc: "TCP port."},
	)
}

func addressesShape() contract.Shape {
	return list(object(
		contract.Attribute{Name: "type", Shape: enum(contract.AddressTypes()), Doc: "Kind of the address, with Cluster API's names."},
		contract.Attribute{Name: "address", Shape: text(1, maxName), Doc: "The address itself."},
	), maxAddresses)
}

// tagKeys are the keys of captf_tags, in canonical order; there are never
// others (contract.md 6.1).
const (
	TagCluster   = "captf.io/cluster"
	TagKind      = "captf.io/kind"
	TagManagedBy = "captf.io/managed-by"
	TagName      = "captf.io/name"
	TagNamespace = "captf.io/namespace"
	TagTemplate  = "captf.io/template"
	// ManagedBy is the constant value of TagManagedBy.
	ManagedBy = "captf"
)

func tagsShape(role contract.Role) contract.Shape {
	s := closed(
		contract.Attribute{Name: TagCluster, Shape: text(1, 0), Doc: "Name of the Cluster."},
		contract.Attribute{Name: TagNamespace, Shape: text(1, 0), Doc: "Namespace of the object."},
		contract.Attribute{Name: TagKind, Shape: constant(role.Kind()), Doc: "Kind of the object; it equals the role's kind."},
		contract.Attribute{Name: TagName, Shape: text(1, 0), Doc: "Name of the object."},
		contract.Attribute{Name: TagManagedBy, Shape: constant(ManagedBy), Doc: "Always captf."},
		contract.Attribute{Name: TagTemplate, Shape: text(0, 0), Doc: "Template that the object was cloned from, \"\" when there is none."},
	)
	s.AsMap = true
	return s
}

func commonInputs(role contract.Role) []contract.Input {
	return []contract.Input{
		{
			Name: "captf_contract", Shape: constant(Version), Common: true,
			Source: "constant",
			Doc:    "Version of the module contract. A module can assert the version it was written for.",
		},
		{
			Name: "captf_cluster", Common: true,
			Shape: closed(
				contract.Attribute{Name: "name", Shape: text(1, 0), Doc: "Name of the Cluster."},
				contract.Attribute{Name: "namespace", Shape: text(1, 0), Doc: "Namespace of the Cluster."},
			),
			Source: "owning Cluster",
			Doc:    "Name and namespace of the owning Cluster.",
		},
		{
			Name: "captf_object", Common: true,
			Shape: closed(
				contract.Attribute{Name: "kind", Shape: constant(role.Kind()), Doc: "Kind of the object; it equals the role's kind."},
				contract.Attribute{Name: "name", Shape: text(1, 0), Doc: "Name of the object."},
				contract.Attribute{Name: "namespace", Shape: text(1, 0), Doc: "Namespace of the object."},
			),
			Source: "the object that is reconciled",
			Doc:    "Kind, name and namespace of the object that this module is run for. The name may differ from the name of the owning Machine or MachinePool (CP-052).",
		},
		{
			Name: "captf_tags", Common: true, Shape: tagsShape(role),
			Source: "the object and its Cluster",
			Doc:    "Tags for every resource that can be tagged. Exactly six keys; clouds with a smaller alphabet need a documented, injective mapping in the module.",
		},
	}
}

func clusterOutputsInput() contract.Input {
	return contract.Input{
		Name: "captf_cluster_outputs", Common: true,
		Shape:      contract.Shape{Kind: contract.KindAny, IntegersOnly: true},
		MayDefault: true,
		Source:     "output exports of the cluster module, from its state; {} for an externally managed cluster",
		Doc:        "The exports of the cluster module, verbatim. It is complete when a module first sees it, and never changes for a machine that is provisioned.",
	}
}

func bootstrapInputs(role contract.Role) []contract.Input {
	return []contract.Input{
		{
			Name: "bootstrap_data", Sensitive: true, Rotates: role == contract.RoleMachinePool,
			Shape:  contract.Shape{Kind: contract.KindString, Pattern: base64Pattern, Format: "base64"},
			Source: "key value of the bootstrap Secret, base64 encoded",
			Doc:    "Bootstrap payload, base64 encoded. Opaque: the decoded bytes may be gzip and need not be UTF-8; control-plane payloads hold private keys.",
		},
		{
			Name: "bootstrap_format", Shape: enum([]string{"cloud-config", "ignition"}),
			Source: "key format of the bootstrap Secret; cloud-config when absent or empty",
			Doc:    "Format of the decoded bootstrap payload. A module that supports only one must fail loudly on the other (CP-047).",
		},
	}
}

func versionInput(source, doc string) contract.Input {
	return contract.Input{
		Name: "kubernetes_version", Shape: nullable(text(1, maxName)), MayDefault: true,
		Source: source, Doc: doc,
	}
}

func healthOutput() contract.Output {
	return contract.Output{
		Name: "health", Common: true, Null: contract.NullInvalid,
		Shape: object(
			contract.Attribute{Name: "state", Shape: enum(contract.HealthStates()), Doc: "State as the cloud sees it."},
			contract.Attribute{Name: "healthy", Shape: boolean(), Doc: "Consulted only while state is running."},
			contract.Attribute{Name: "message", Shape: nullable(text(0, 0)), Optional: true, Doc: "Text for people, shown in the condition."},
			contract.Attribute{Name: "reasons", Shape: list(text(0, 0), 0), Optional: true, Default: []any{}, Doc: "Reasons for machines."},
		),
		MapsTo: "condition InfrastructureHealthy",
		Doc:    "Health of the infrastructure as the cloud sees it. While the state is pending the object stays unprovisioned; never wait for a Node.",
	}
}

func clusterSpec() contract.RoleSpec {
	tolerated := clusterOutputsInput()
	tolerated.Doc = "Never passed to a cluster module; it is tolerated so that one variables file can serve all roles."
	return contract.RoleSpec{
		Role: contract.RoleCluster,
		Inputs: append(commonInputs(contract.RoleCluster),
			contract.Input{
				Name: "control_plane_endpoint", Shape: nullable(endpointShape()), MayDefault: true,
				Source: "an endpoint that the module does not own; null asks for one",
				Doc:    "Endpoint that somebody else provides; null asks the module for one. When it is not null the module creates no endpoint and echoes this one (CP-002).",
			},
			versionInput("Cluster.spec.topology.version, verbatim; null without a topology",
				"Kubernetes version of the topology. It may carry build metadata such as +rke2r1; strip it before comparing (CP-050)."),
			contract.Input{
				Name: "control_plane_initialized", Shape: boolean(),
				Source: "Cluster.status.initialization.controlPlaneInitialized, latched",
				Doc:    "Whether the workload cluster's API has answered. Anything that needs that API must be gated on it (CP-007); it turns true exactly once.",
			},
			contract.Input{
				Name: "cluster_network", MayDefault: true,
				Shape: nullable(closed(
					contract.Attribute{Name: "pods", Shape: list(text(1, maxCIDR), maxCIDRs), Doc: "CIDRs of Pods, [] when unset."},
					contract.Attribute{Name: "services", Shape: list(text(1, maxCIDR), maxCIDRs), Doc: "CIDRs of Services, [] when unset."},
					contract.Attribute{Name: "service_domain", Shape: nullable(text(1, maxServiceName)), Doc: "DNS domain of Services, null when unset."},
					contract.Attribute{Name: "api_server_port", Shape: nullable(integer(1, maxPort)), Doc: "Port of the API server on the nodes, null when unset (then 6443)."},
				)),
				Source: "Cluster.spec.clusterNetwork; null only if none of the four is set",
				Doc:    "Network settings of the Cluster. All four attributes are present when it is not null.",
			},
		),
		Tolerated: []contract.Input{tolerated},
		Outputs: []contract.Output{
			{
				Name: "control_plane_endpoint", Shape: endpointOutputShape(), Null: contract.NullAllowed,
				MapsTo: "TerraformCluster.spec.controlPlaneEndpoint, then Cluster.spec.controlPlaneEndpoint, once",
				Doc:    "Endpoint of the control plane. It must be set no later than the apply that provisions the cluster when the input is null (CP-001), and stay identical for life (CP-003).",
			},
			{
				Name: "failure_domains", Null: contract.NullAllowed,
				Shape:  failureDomainsShape(),
				MapsTo: "TerraformCluster.status.failureDomains, then Cluster.status.failureDomains",
				Doc:    "Failure domains that machines may be placed in. Each name must be accepted by the machine module (CP-014).",
			},
			{
				Name: "exports", Shape: contract.Shape{Kind: contract.KindAny, IntegersOnly: true},
				Null: contract.NullDefault, NullValue: map[string]any{},
				MapsTo: "captf_cluster_outputs of machines and pools; copied to TerraformCluster.status.exports",
				Doc:    "Identifiers that machine and machinepool modules need. A stable interface: no secrets, whole numbers only, nothing that changes by itself (CP-011, CP-012).",
			},
			healthOutput(),
		},
	}
}

// endpointOutputShape is open: outputs may carry further attributes.
func endpointOutputShape() contract.Shape {
	s := endpointShape()
	s.Closed = false
	return s
}

func failureDomainsShape() contract.Shape {
	s := list(object(
		contract.Attribute{Name: "name", Shape: text(1, maxName), Doc: "Name of the failure domain; unique in the list."},
		contract.Attribute{Name: "control_plane", Shape: boolean(), Optional: true, Default: true, Doc: "Whether control-plane machines may be placed in it."},
		contract.Attribute{Name: "attributes", Shape: mapOf(text(0, 0)), Optional: true, Default: map[string]any{}, Doc: "Free attributes, shown to people."},
	), maxDomains)
	s.UniqueBy = "name"
	return s
}

func machineSpec() contract.RoleSpec {
	inputs := append(commonInputs(contract.RoleMachine), clusterOutputsInput(),
		contract.Input{
			Name: "machine_name", Shape: text(1, 0),
			Source: "name of the owning Machine",
			Doc:    "Name of the owning Machine. Under RKE2 it differs from captf_object.name (CP-052).",
		})
	inputs = append(inputs, bootstrapInputs(contract.RoleMachine)...)
	inputs = append(inputs,
		contract.Input{
			Name: "failure_domain", Shape: nullable(text(1, maxName)), MayDefault: true,
			Source: "Machine.spec.failureDomain",
			Doc:    "Failure domain to place the instance in, null when none is asked for. The instance must be placed there and the output must echo it (CP-045).",
		},
		versionInput("Machine.spec.version, verbatim",
			"Kubernetes version of the machine. It may carry build metadata such as +rke2r1; strip it before an image lookup (CP-050)."),
		contract.Input{
			Name: "control_plane", Shape: boolean(),
			Source: "whether the Machine carries the label cluster.x-k8s.io/control-plane",
			Doc:    "Whether the machine joins the control plane. Only then it joins the API backend, in the same apply (CP-030, CP-031).",
		})
	return contract.RoleSpec{
		Role:   contract.RoleMachine,
		Inputs: inputs,
		Outputs: []contract.Output{
			{
				Name: "provider_id", Shape: text(1, maxProviderID), Null: contract.NullPending, EmptyIsNull: true,
				MapsTo: "TerraformMachine.spec.providerID, then Machine.spec.providerID",
				Doc:    "Provider id of the instance, exactly as the Node will carry it. Constant for life; null once the instance is gone (CP-040).",
			},
			{
				Name: "addresses", Shape: addressesShape(), Null: contract.NullPending,
				MapsTo: "TerraformMachine.status.addresses, then Machine.status.addresses",
				Doc:    "Addresses of the instance. At least one, InternalIP among them if there is any (CP-042).",
			},
			{
				Name: "failure_domain", Shape: text(1, maxName), Null: contract.NullAllowed,
				MapsTo: "TerraformMachine.status.failureDomain, then Machine.status.failureDomain",
				Doc:    "Failure domain that the instance is in. It must equal the input when that is not null (CP-045).",
			},
			{
				Name: "interruptible", Shape: boolean(), Null: contract.NullDefault, NullValue: false,
				MapsTo: "TerraformMachine.status.interruptible, then the Node label cluster.x-k8s.io/interruptible",
				Doc:    "Whether the cloud may stop the instance at any time. Declare it even without support for such instances.",
			},
			healthOutput(),
		},
	}
}

func poolSpec() contract.RoleSpec {
	inputs := append(commonInputs(contract.RoleMachinePool), clusterOutputsInput(),
		contract.Input{
			Name: "machinepool_name", Shape: text(1, 0),
			Source: "name of the owning MachinePool",
			Doc:    "Name of the owning MachinePool.",
		},
		contract.Input{
			Name: "replicas", Shape: count(), UnhashedIf: "autoscaling.enabled",
			Source: "MachinePool.spec.replicas (1 when unset); while autoscaled the observed size, clamped into the range",
			Doc:    "Wanted size of the group. Size the group to it exactly; while autoscaling ignore changes of the desired capacity.",
		})
	inputs = append(inputs, bootstrapInputs(contract.RoleMachinePool)...)
	inputs = append(inputs,
		contract.Input{
			Name: "failure_domains", Shape: list(text(1, maxName), maxDomains),
			Source: "MachinePool.spec.failureDomains",
			Doc:    "Failure domains to spread the members over; empty leaves the choice to the module.",
		},
		contract.Input{
			Name: "cluster_failure_domains", Shape: list(text(1, maxName), maxDomains),
			Source: "names in the cluster module's output failure_domains",
			Doc:    "Names of all failure domains of the cluster.",
		},
		versionInput("MachinePool.spec.template.spec.version, verbatim",
			"Kubernetes version of the members. A change must roll the instances (CP-062)."),
		contract.Input{
			Name: "node_labels", Shape: mapOf(text(0, 0)),
			Source: "MachinePool.spec.template.metadata.labels",
			Doc:    "Labels for the members' Nodes. The module hands them to the kubelet; a change updates the launch configuration and replaces nothing.",
		},
		contract.Input{
			Name: "autoscaling",
			Shape: closed(
				contract.Attribute{Name: "enabled", Shape: boolean(), Doc: "Whether the group scales itself."},
				contract.Attribute{Name: "min", Shape: count(), Doc: "Least size; 0 when not enabled."},
				contract.Attribute{Name: "max", Shape: count(), Doc: "Greatest size; 0 when not enabled."},
			),
			Source: "annotations cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size and -max-size",
			Doc:    "Range in which the group scales itself. All zero when it does not.",
		})
	return contract.RoleSpec{
		Role:   contract.RoleMachinePool,
		Inputs: inputs,
		Outputs: []contract.Output{
			{
				Name: "provider_id", Shape: text(1, maxProviderID), Null: contract.NullAllowed, EmptyIsNull: true,
				MapsTo: "TerraformMachinePool.spec.providerID",
				Doc:    "Id of the scaling group. It may stay null.",
			},
			{
				Name: "provider_id_list", Shape: list(text(1, maxProviderID), maxMembers), Null: contract.NullPending,
				MapsTo: "TerraformMachinePool.spec.providerIDList, then MachinePool.spec.providerIDList",
				Doc:    "Provider ids of all members that are not terminated, whatever their health, sorted. Cluster API deletes the Node of a member that is missing (CP-063).",
			},
			{
				Name: "replicas", Shape: count(), Null: contract.NullPending,
				MapsTo: "TerraformMachinePool.status.replicas, then MachinePool.status.replicas",
				Doc:    "Desired capacity of the group as the cloud reports it. It equals the length of provider_id_list unless the group is scaling.",
			},
			{
				Name: "instances", Shape: instancesShape(), Null: contract.NullPending,
				MapsTo: "TerraformMachinePool.status.instances",
				Doc:    "Members with their state. Lists beyond 1000 are cut in the status.",
			},
			healthOutput(),
		},
	}
}

func instancesShape() contract.Shape {
	s := list(object(
		contract.Attribute{Name: "provider_id", Shape: text(1, maxProviderID), Doc: "Provider id of the member."},
		contract.Attribute{Name: "instance_id", Shape: nullable(text(1, maxName)), Optional: true, Doc: "The cloud's id of the member."},
		contract.Attribute{Name: "addresses", Shape: addressesShape(), Optional: true, Default: []any{}, Doc: "Addresses of the member."},
		contract.Attribute{Name: "failure_domain", Shape: nullable(text(1, maxName)), Optional: true, Doc: "Failure domain of the member."},
		contract.Attribute{Name: "state", Shape: nullable(enum(contract.HealthStates())), Optional: true, Doc: "State of the member."},
	), 0)
	s.Truncate = maxInstances
	return s
}

func limits() []contract.Limit {
	return []contract.Limit{
		{Item: LimitRenderedInputs, Value: maxRendered, Unit: "bytes", Doc: "main.tf.json and terraform.tfvars.json together; beyond it nothing is run (InputsTooLarge)."},
		{Item: LimitRenderedInputsAlert, Value: 900_000, Unit: "bytes", Doc: "Rendered inputs beyond it raise an alert."},
		{Item: LimitPublishedExports, Value: contract.MaxPublishedExports, Unit: "bytes", Doc: "Compact JSON of exports; beyond it the copy in status is cleared, machines and pools still get the value."},
		{Item: LimitInlineVariables, Value: contract.MaxInlineVariables, Unit: "items", Doc: "Keys in spec.variables; at least 1 when set."},
		{Item: LimitVariableSources, Value: contract.MaxVariableSources, Unit: "items", Doc: "Entries in spec.variablesFrom."},
		{Item: LimitVariablesSchema, Value: 32_768, Unit: "bytes", Doc: "Compact JSON of the image label io.captf.variables-schema."},
		{Item: LimitPracticalPool, Value: 2_000, Unit: "items", Doc: "Members of a pool beyond which the object may outgrow what etcd stores."},
	}
}

// The items of the limits table.
const (
	LimitRenderedInputs      = "rendered inputs"
	LimitRenderedInputsAlert = "rendered inputs, alert"
	LimitPublishedExports    = "published exports"
	LimitInlineVariables     = "inline user variables"
	LimitVariableSources     = "user variable sources"
	LimitVariablesSchema     = "variables schema"
	LimitPracticalPool       = "practical pool size"
)

func changes() []contract.Change {
	return []contract.Change{
		{Date: "2026-11-29", Text: "First published tables of v1alpha1.", Compatible: true},
	}
}
