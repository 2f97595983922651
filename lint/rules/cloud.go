package rules

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/captf-toolkit/captf/lint/flow"
	"github.com/captf-toolkit/captf/sdk/module"
)

// instances are the resource types that are one machine. Data sources of the
// same name, or of its plural, look machines up.
var instances = map[string]bool{
	"alicloud_instance": true, "aws_instance": true, "aws_spot_instance_request": true,
	"azurerm_linux_virtual_machine": true, "azurerm_virtual_machine": true, "azurerm_windows_virtual_machine": true,
	"digitalocean_droplet": true, "exoscale_compute_instance": true, "google_compute_instance": true,
	"google_compute_instance_from_template": true, "hcloud_server": true, "ibm_is_instance": true, "linode_instance": true,
	"oci_core_instance": true, "openstack_compute_instance_v2": true, "scaleway_instance_server": true,
	"vsphere_virtual_machine": true, "vultr_instance": true,
}

// instanceLookups are the data sources that find machines and are not named like
// the type of the machine or its plural.
var instanceLookups = map[string]bool{
	"aws_instances": true, "azurerm_virtual_machines": true, "digitalocean_droplets": true, "google_compute_instances": true,
	"hcloud_servers": true, "ibm_is_instances": true, "linode_instances": true, "oci_core_instances": true,
	"scaleway_instance_servers": true,
}

// isInstance tells that a resource is a machine, or a data source finds machines.
func isInstance(r *module.Resource) bool {
	return instances[r.Type] || r.Mode == module.Data && instanceLookups[r.Type]
}

// attachments are the resource types that make one machine a member of a load
// balancer's backends (control-planes.md 6, pattern A), with the arguments that
// name the machine.
var attachments = map[string][]string{
	"aws_alb_target_group_attachment":         {"target_id"},
	"aws_elb_attachment":                      {"instance"},
	"aws_lb_target_group_attachment":          {"target_id"},
	"azurerm_lb_backend_address_pool_address": {"ip_address"},
	"azurerm_network_interface_application_gateway_backend_address_pool_association": {"network_interface_id"},
	"azurerm_network_interface_backend_address_pool_association":                     {"network_interface_id"},
	"google_compute_instance_group_membership":                                       {"instance"},
	"google_compute_network_endpoint":                                                {"instance", "ip_address"},
	"google_compute_region_network_endpoint":                                         {"instance", "ip_address", "fqdn"},
	"hcloud_load_balancer_target":                                                    {"server_id", "ip"},
	"ibm_is_lb_pool_member":                                                          {"target_address", "target_id"},
	"linode_nodebalancer_node":                                                       {"address"},
	"oci_load_balancer_backend":                                                      {"ip_address"},
	"oci_network_load_balancer_backend":                                              {"target_id", "ip_address"},
	"openstack_lb_member_v2":                                                         {"address"},
}

// memberList is an argument or block that holds every member of something.
type memberList struct {
	arguments []string
	// shared tells that the list belongs to something that is there already;
	// otherwise the resource makes what the members are in, with the name in the
	// argument.
	shared bool
	name   string
}

// memberLists are the resource types that can hold the complete list of members.
var memberLists = map[string]memberList{
	"alicloud_slb_attachment":       {arguments: []string{"instance_ids"}, shared: true},
	"alicloud_slb_backend_server":   {arguments: []string{"backend_servers"}, shared: true},
	"aws_elb":                       {arguments: []string{"instances"}, name: "name"},
	"digitalocean_loadbalancer":     {arguments: []string{"droplet_ids"}, name: "name"},
	"google_compute_instance_group": {arguments: []string{"instances"}, name: "name"},
	"google_compute_network_endpoints": {
		arguments: []string{"network_endpoints"}, shared: true,
	},
	"google_compute_target_pool":                                            {arguments: []string{"instances"}, name: "name"},
	"nsxt_policy_lb_pool":                                                   {arguments: []string{"member"}, name: "display_name"},
	"oci_network_load_balancer_backend_set":                                 {arguments: []string{"backends"}, shared: true},
	"oci_network_load_balancer_network_load_balancers_backend_sets_unified": {arguments: []string{"backends"}, shared: true},
	"openstack_lb_members_v2":                                               {arguments: []string{"member"}, shared: true},
	"scaleway_lb_backend":                                                   {arguments: []string{"server_ips"}, shared: true},
	"vultr_load_balancer":                                                   {arguments: []string{"attached_instances"}, name: "label"},
}

// listeners are the resource types that serve a port, with the argument, or the
// block and the argument in it, that names the port.
var listeners = map[string][]string{
	"aws_alb_listener":                      {"port"},
	"aws_elb":                               {"listener", "lb_port"},
	"aws_lb_listener":                       {"port"},
	"azurerm_lb_rule":                       {"frontend_port"},
	"digitalocean_loadbalancer":             {"forwarding_rule", "entry_port"},
	"google_compute_forwarding_rule":        {"port_range"},
	"google_compute_global_forwarding_rule": {"port_range"},
	"hcloud_load_balancer_service":          {"listen_port"},
	"ibm_is_lb_listener":                    {"port"},
	"linode_nodebalancer_config":            {"port"},
	"oci_load_balancer_listener":            {"port"},
	"oci_network_load_balancer_listener":    {"port"},
	"openstack_lb_listener_v2":              {"protocol_port"},
	"scaleway_lb_frontend":                  {"inbound_port"},
}

// argument is an argument of a resource, wherever in its blocks it stands.
type argument struct {
	path []string
	attr *hcl.Attribute
}

// arguments returns the arguments that are, or stand in a block, named so; the
// blocks that a dynamic block makes count.
func arguments(r *module.Resource, name string) []argument {
	var out []argument
	r.Body.Walk(func(path []string, a *hcl.Attribute) {
		if len(path) == 0 && a.Name == name || len(path) > 0 && path[0] == name {
			out = append(out, argument{slices.Clone(path), a})
		}
	})
	for _, b := range r.Body.Blocks() {
		if b.Type == "dynamic" && slices.Equal(b.Labels, []string{name}) {
			b.Body.Walk(func(path []string, a *hcl.Attribute) {
				out = append(out, argument{slices.Clone(path), a})
			})
		}
	}
	return out
}

// maxScopes bounds the calls of modules that are looked into: modules that call
// each other twice multiply.
const maxScopes = 2_000

// scopes returns the scope of the root module and those of the local modules
// that it calls: a module that is called twice has two.
func scopes(root *flow.Scope) []*flow.Scope {
	all := []*flow.Scope{root}
	for i := 0; i < len(all) && len(all) < maxScopes; i++ {
		for _, call := range all[i].Module.Calls {
			if child := all[i].Child(call); child != nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// isManaged tells that a resource is managed and of a type in the table.
func isManaged[V any](r *module.Resource, table map[string]V) bool {
	_, ok := table[r.Type]
	return ok && r.Mode == module.Managed
}
