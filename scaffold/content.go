package scaffold

import "github.com/captf-toolkit/captf/contract"

// Marker stands in every place of a generated module where something real has to
// take the place of a stand-in, so that one grep finds them all.
const Marker = "REPLACE"

// variable is a user variable of a generated module.
type variable struct {
	Name, Type, Default, Description string
}

// export is a key of the cluster module's exports.
type export struct {
	Name, Description string
}

// roleContent is what a generated module of a role is about, beyond the
// contract's tables and the templates of its resources.
type roleContent struct {
	Title, Purpose          string
	HealthOf, HealthMessage string
	Variables               []variable
	Exports                 []export
	// Duties are the rules that an author is most likely to break when the
	// stand-ins go.
	Duties []string
}

var sizeVariable = variable{
	Name: "size", Type: "string", Default: `"small"`,
	Description: "Size of an instance, in the cloud's own terms.",
}

var contents = map[contract.Role]roleContent{
	contract.RoleCluster: {
		Title:         "Cluster module",
		Purpose:       "Makes what the machines of one cluster share: network, firewalls, load balancer, endpoint.",
		HealthOf:      "the cluster's own resources, never about machines",
		HealthMessage: "The load balancer is ready.",
		Variables: []variable{{
			Name: "zones", Type: "list(string)", Default: `["zone-a", "zone-b", "zone-c"]`,
			Description: "Zones that machines are spread over; each becomes a failure domain.",
		}},
		Exports: []export{
			{"schema", "Version of this table."},
			{"cluster_name", "Name that the cluster's resources share, within the limits of the cloud."},
			{"backend_id", "Backend that control-plane machines join."},
			{"zones", "Zones that machines may be placed in."},
		},
		Duties: []string{
			"The endpoint is there with the first apply and never changes (CP-001, CP-003).",
			"An endpoint that somebody else provides is used as it is, and no load balancer is made beside it (CP-002).",
			"The module is running before there is any machine, and nothing needs the cluster's own API before `control_plane_initialized` is true (CP-006, CP-007).",
			"Exports hold identifiers only: no secret, no fraction, nothing that changes by itself (CP-011, CP-012).",
			"A destroy succeeds when all machines are gone already (CP-025).",
		},
	},
	contract.RoleMachine: {
		Title:         "Machine module",
		Purpose:       "Makes exactly one node: the instance with its disk and address, and its place behind the load balancer.",
		HealthOf:      "the instance",
		HealthMessage: "The instance is running.",
		Variables:     []variable{sizeVariable},
		Duties: []string{
			"`provider_id` equals what the Node will carry, to the letter, and stays the same for life; null once the instance is gone (CP-040).",
			"A control-plane machine joins the API backend in the same apply; a worker never does (CP-030, CP-031).",
			"The instance is placed in `failure_domain` whenever one is given (CP-045).",
			"The payload of `bootstrap_data` is passed on unmodified; a format that is not supported fails loudly (CP-047).",
			"A destroy works after an apply that failed half-way, and twice in a row (CP-038).",
		},
	},
	contract.RoleMachinePool: {
		Title:         "Machine pool module",
		Purpose:       "Makes one scaling group of workers with its launch configuration.",
		HealthOf:      "the group and its members",
		HealthMessage: "The group is running.",
		Variables:     []variable{sizeVariable},
		Duties: []string{
			"`provider_id_list` holds every member that is not terminated, whatever its health: Cluster API deletes the Node of one that is missing (CP-063).",
			"A change of `bootstrap_data` updates the launch configuration and replaces no member (CP-061).",
			"A change of `kubernetes_version` rolls the members (CP-062).",
			"Members get `node_labels` as labels of their Nodes.",
			"While `autoscaling` is enabled the desired capacity is in `ignore_changes`.",
		},
	},
}

// samples are the values of inputs in generated tests, where the one that
// follows from the shape says too little to a reader.
var samples = map[string]string{
	"captf_cluster_outputs":   `{ backend_id = "backend-1" }`,
	"captf_cluster":           `{ name = "dev", namespace = "default" }`,
	"machine_name":            `"dev-control-plane-x7k2p"`,
	"machinepool_name":        `"dev-pool"`,
	"bootstrap_data":          `"I2Nsb3VkLWNvbmZpZwo="`,
	"failure_domain":          `"zone-a"`,
	"kubernetes_version":      `"v1.31.4"`,
	"replicas":                `3`,
	"cluster_failure_domains": `["zone-a", "zone-b", "zone-c"]`,
	"node_labels":             `{ "example.com/team" = "a" }`,
}
