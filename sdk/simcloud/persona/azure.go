package persona

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// What replaces an object and what is planned by default follows internal/services/{compute,network,loadbalancer,…}
// of hashicorp/terraform-provider-azurerm 5.x; limits and texts of refusals follow the naming rules and the
// references of Azure Resource Manager.

// Azure is the persona of hashicorp/azurerm.
func Azure() *simcloud.Persona {
	return &simcloud.Persona{
		Source: "hashicorp/azurerm", Title: "Azure",
		Settings: simcloud.Settings{Account: "11111111-2222-4333-8444-555555555555"},
		Configure: func(config map[string]any) simcloud.Settings {
			id, _ := config["subscription_id"].(string)
			return simcloud.Settings{Account: id}
		},
		Types: join(azureNetwork(), azureBalancer(), azureCompute(), azureOther()),
		Data:  azureData(),
		Values: values{
			"tenant_id": simcloud.Const(azureTenant),
		},
		Refusals: map[simcloud.Refusal]string{
			simcloud.RefuseExists:   "a resource with the ID already exists - to be managed via Terraform this resource needs to be imported into the State",
			simcloud.RefuseInUse:    "unexpected status 400 (400 Bad Request) with error: InUseResourceCannotBeDeleted: the resource is in use",
			simcloud.RefuseQuota:    "unexpected status 409 (409 Conflict) with error: OperationNotAllowed: Operation could not be completed as it results in exceeding approved Total Regional Cores quota",
			simcloud.RefuseConflict: "unexpected status 409 (409 Conflict) with error: AnotherOperationInProgress: another operation on this or dependent resource is in progress",
			simcloud.RefuseGone:     "unexpected status 404 (404 Not Found) with error: ResourceNotFound: the resource was not found",
		},
	}
}

const azureTenant = "66666666-7777-4888-8999-aaaaaaaaaaaa"

// arm is the id of a resource in a resource group.
func arm(kind string) simcloud.Value {
	return func(c *simcloud.Context) any {
		return fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/%s/%s", c.Settings().Account, c.Text("resource_group_name"), kind, c.Text("name"))
	}
}

// under is the id of a resource below another one.
func under(parent, kind string) simcloud.Value {
	return func(c *simcloud.Context) any { return c.Text(parent) + "/" + kind + "/" + c.Text("name") }
}

// azure is the rule of a type in a resource group and place.
func azure(kind simcloud.Kind, armType string, rule simcloud.TypeRule) simcloud.TypeRule {
	rule.Kind = kind
	rule.ForceNew = append(rule.ForceNew, "name", "resource_group_name", "location")
	if rule.Values == nil {
		rule.Values = values{}
	}
	rule.Values["id"] = arm(armType)
	rule.Create = chain(azureGroupExists, azureTags, orNothing(rule.Create))
	rule.Update = chain(azureTags, orNothing(rule.Update))
	return rule
}

// azureGroupExists: once the simulated cloud has resource groups, what is made has to be in one of them.
func azureGroupExists(c *simcloud.Context) error {
	groups := c.Objects("azurerm_resource_group")
	for _, g := range groups {
		if strings.EqualFold(g.Text("name"), c.Text("resource_group_name")) {
			return nil
		}
	}
	if len(groups) == 0 {
		return nil
	}
	return fmt.Errorf("unexpected status 404 (404 Not Found) with error: ResourceGroupNotFound: Resource group '%s' could not be found", c.Text("resource_group_name"))
}

// azureTags refuses tags that Azure refuses.
func azureTags(c *simcloud.Context) error {
	m, _ := c.Attr("tags").(map[string]any)
	for k := range m {
		if strings.ContainsAny(k, `<>%&\?/`) {
			return fmt.Errorf("unexpected status 400 (400 Bad Request) with error: InvalidTagNameCharacters: the tag name '%s' has reserved characters '<,>,%%,&,\\,?,/'", k)
		}
	}
	return atMost("tags", 50, 512, "unexpected status 400 (400 Bad Request) with error: TooManyTags or InvalidTagValue")(c)
}

// armHeldBy refuses a delete while another object refers to this one: pairs of type and path.
func armHeldBy(pairs ...string) simcloud.Hook {
	return func(c *simcloud.Context) error {
		id := strings.ToLower(c.Text("id"))
		for i := 0; i+1 < len(pairs); i += 2 {
			for _, o := range c.Objects(pairs[i]) {
				if o.ID != c.Text("id") && refersToFold(o.Attributes, pairs[i+1], id) {
					return fmt.Errorf("unexpected status 400 (400 Bad Request) with error: InUseResourceCannotBeDeleted: %s is in use by %s and cannot be deleted", c.Text("id"), o.ID)
				}
			}
		}
		return nil
	}
}

// refersToFold tells that a value, at a path through lists, is an id in lower case.
func refersToFold(x any, path, id string) bool {
	switch v := x.(type) {
	case string:
		return path == "" && strings.ToLower(v) == id
	case []any:
		for _, e := range v {
			if refersToFold(e, path, id) {
				return true
			}
		}
	case map[string]any:
		head, rest, _ := strings.Cut(path, ".")
		return head != "" && refersToFold(v[head], rest, id)
	}
	return false
}

func azureNetwork() types {
	association := func(a, b string) simcloud.TypeRule {
		return simcloud.TypeRule{ForceNew: []string{a, b}, Values: values{"id": simcloud.Text("{attr:" + a + "}|{attr:" + b + "}")}}
	}
	one := func(a, b string) simcloud.TypeRule {
		rule := association(a, b)
		rule.Values = values{"id": simcloud.Copy(a)}
		return rule
	}
	return types{
		"azurerm_resource_group": {
			ForceNew: []string{"name", "location"}, Values: values{"id": simcloud.Text("/subscriptions/{account}/resourceGroups/{attr:name}")},
			Create: chain(azureTags, named("name", regexp.MustCompile(`^[-\w._()]{0,89}[-\w_()]$`), "%q may only contain alphanumeric characters, dash, underscores, parentheses and periods, and at most 90 of them")),
			Update: azureTags, Delete: azureGroupEmpty,
		},
		"azurerm_virtual_network": azure(simcloud.KindNetwork, "Microsoft.Network/virtualNetworks", simcloud.TypeRule{
			Values: values{"guid": uuid, "dns_servers": simcloud.Const([]any{}), "subnet": simcloud.Const([]any{})},
			Delete: azureSubnetsGone,
		}),
		"azurerm_subnet": {
			Kind: simcloud.KindSubnet, ForceNew: []string{"name", "resource_group_name", "virtual_network_name"},
			Defaults: map[string]any{"default_outbound_access_enabled": true, "private_endpoint_network_policies": "Disabled", "private_link_service_network_policies_enabled": true},
			Values: values{"id": func(c *simcloud.Context) any {
				return fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Network/virtualNetworks/%s/subnets/%s", c.Settings().Account, c.Text("resource_group_name"), c.Text("virtual_network_name"), c.Text("name"))
			}, "network_security_group_id": simcloud.Const(""), "route_table_id": simcloud.Const("")},
			Create: azureGroupExists,
			Delete: armHeldBy("azurerm_network_interface", "ip_configuration.subnet_id", "azurerm_lb", "frontend_ip_configuration.subnet_id",
				"azurerm_linux_virtual_machine_scale_set", "network_interface.ip_configuration.subnet_id"),
		},
		"azurerm_network_security_group": azure(simcloud.KindFirewall, "Microsoft.Network/networkSecurityGroups", simcloud.TypeRule{
			Values: values{"security_rule": simcloud.Const([]any{})},
			Delete: armHeldBy("azurerm_network_interface_security_group_association", "network_security_group_id", "azurerm_subnet_network_security_group_association", "network_security_group_id"),
		}),
		"azurerm_network_security_rule": {
			Kind: simcloud.KindFirewall, ForceNew: []string{"name", "network_security_group_name", "resource_group_name"},
			Values: values{"id": func(c *simcloud.Context) any {
				return fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Network/networkSecurityGroups/%s/securityRules/%s", c.Settings().Account, c.Text("resource_group_name"), c.Text("network_security_group_name"), c.Text("name"))
			}},
			Create: chain(azureGroupExists, azurePriority,
				alone("unexpected status 400 (400 Bad Request) with error: SecurityRuleConflict: security rule has the same priority and direction as another one of %s", "network_security_group_name", "resource_group_name", "priority", "direction")),
		},
		"azurerm_application_security_group": azure(simcloud.KindFirewall, "Microsoft.Network/applicationSecurityGroups", simcloud.TypeRule{
			Delete: armHeldBy("azurerm_network_interface_application_security_group_association", "application_security_group_id"),
		}),
		"azurerm_public_ip": azure(simcloud.KindAddress, "Microsoft.Network/publicIPAddresses", simcloud.TypeRule{
			ForceNew: []string{"sku", "sku_tier", "zones", "ip_version", "public_ip_prefix_id"},
			Defaults: map[string]any{"ddos_protection_mode": "VirtualNetworkInherited", "idle_timeout_in_minutes": 4, "ip_version": "IPv4", "sku": "Standard", "sku_tier": "Regional"},
			Values:   values{"ip_address": publicAddress, "fqdn": simcloud.Const("")},
			Delete:   armHeldBy("azurerm_lb", "frontend_ip_configuration.public_ip_address_id", "azurerm_network_interface", "ip_configuration.public_ip_address_id", "azurerm_nat_gateway_public_ip_association", "public_ip_address_id"),
		}),
		"azurerm_network_interface": azure(simcloud.KindPort, "Microsoft.Network/networkInterfaces", simcloud.TypeRule{
			ForceNew: []string{"edge_zone"},
			Values: values{
				"private_ip_address": simcloud.Copy("ip_configuration.0.private_ip_address"), "private_ip_addresses": func(c *simcloud.Context) any { return []any{c.Text("ip_configuration.0.private_ip_address")} },
				"mac_address": simcloud.Const(""), "virtual_machine_id": simcloud.Const(""), "applied_dns_servers": simcloud.Const([]any{}), "internal_domain_name_suffix": simcloud.Text("{hex:24}.ax.internal.cloudapp.net"),
				"ip_configuration.private_ip_address": azureAddress("subnet_id"), "ip_configuration.primary": simcloud.Const(true), "ip_configuration.gateway_load_balancer_frontend_ip_configuration_id": simcloud.Const(""),
			},
			Delete: armHeldBy("azurerm_linux_virtual_machine", "network_interface_ids"),
		}),
		"azurerm_network_interface_security_group_association":             association("network_interface_id", "network_security_group_id"),
		"azurerm_network_interface_application_security_group_association": association("network_interface_id", "application_security_group_id"),
		"azurerm_nat_gateway":                               azure(simcloud.KindOther, "Microsoft.Network/natGateways", simcloud.TypeRule{ForceNew: []string{"sku_name", "zones"}, Defaults: map[string]any{"idle_timeout_in_minutes": 4, "sku_name": "Standard"}, Values: values{"resource_guid": uuid}, Delete: armHeldBy("azurerm_subnet_nat_gateway_association", "nat_gateway_id")}),
		"azurerm_nat_gateway_public_ip_association":         association("nat_gateway_id", "public_ip_address_id"),
		"azurerm_route_table":                               azure(simcloud.KindOther, "Microsoft.Network/routeTables", simcloud.TypeRule{Values: values{"route": simcloud.Const([]any{}), "subnets": simcloud.Const([]any{})}, Delete: armHeldBy("azurerm_subnet_route_table_association", "route_table_id")}),
		"azurerm_subnet_nat_gateway_association":            one("subnet_id", "nat_gateway_id"),
		"azurerm_subnet_network_security_group_association": one("subnet_id", "network_security_group_id"),
		"azurerm_subnet_route_table_association":            one("subnet_id", "route_table_id"),
	}
}

// azureGroupEmpty: the provider does not delete a group in which something is left.
func azureGroupEmpty(c *simcloud.Context) error {
	prefix := strings.ToLower(c.Text("id")) + "/"
	for _, o := range c.Objects("azurerm_*") {
		if strings.HasPrefix(strings.ToLower(o.ID), prefix) && o.ID != c.Text("id") {
			return fmt.Errorf("deleting Resource Group %q: the Resource Group still contains Resources: %s", c.Text("name"), o.ID)
		}
	}
	return nil
}

func azureSubnetsGone(c *simcloud.Context) error {
	prefix := strings.ToLower(c.Text("id")) + "/subnets/"
	for _, o := range c.Objects("azurerm_subnet") {
		if strings.HasPrefix(strings.ToLower(o.ID), prefix) {
			return armHeldBy("azurerm_network_interface", "ip_configuration.subnet_id")(c)
		}
	}
	return nil
}

func azurePriority(c *simcloud.Context) error {
	if p := c.Int("priority"); p < 100 || p > 4096 {
		return fmt.Errorf("unexpected status 400 (400 Bad Request) with error: SecurityRuleInvalidPriority: security rule has invalid priority %d; it should be between 100 and 4096", p)
	}
	return nil
}

// azureAddress is an address of the subnet that the block of the attribute names.
func azureAddress(subnet string) simcloud.Value {
	return func(c *simcloud.Context) any {
		return c.Address(azureRange(c, c.Text(regexp.MustCompile(`[^.]+$`).ReplaceAllString(c.Path(), subnet))))
	}
}

func azureRange(c *simcloud.Context, id string) string {
	for _, o := range c.Objects("azurerm_subnet") {
		if l := texts(o.Get("address_prefixes")); strings.EqualFold(o.ID, id) && len(l) > 0 {
			return l[0]
		}
	}
	return "10.5.0.0/16"
}

func azureBalancer() types {
	child := func(kind simcloud.Kind, armType string, rule simcloud.TypeRule) simcloud.TypeRule {
		rule.Kind = kind
		rule.ForceNew = append(rule.ForceNew, "name", "loadbalancer_id")
		if rule.Values == nil {
			rule.Values = values{}
		}
		rule.Values["id"] = under("loadbalancer_id", armType)
		rule.Create = chain(azureBalancerExists, orNothing(rule.Create))
		return rule
	}
	frontend := func(c *simcloud.Context) any {
		return c.Text("loadbalancer_id") + "/frontendIPConfigurations/" + c.Text("frontend_ip_configuration_name")
	}
	return types{
		"azurerm_lb": azure(simcloud.KindBalancer, "Microsoft.Network/loadBalancers", simcloud.TypeRule{
			ForceNew: []string{"sku", "sku_tier", "edge_zone", "frontend_ip_configuration.zones"}, Defaults: map[string]any{"sku": "Standard", "sku_tier": "Regional"},
			Values: values{
				"private_ip_address": simcloud.Copy("frontend_ip_configuration.0.private_ip_address"), "private_ip_addresses": func(c *simcloud.Context) any {
					if s := c.Text("frontend_ip_configuration.0.private_ip_address"); s != "" {
						return []any{s}
					}
					return []any{}
				},
				"frontend_ip_configuration.id": func(c *simcloud.Context) any {
					return c.Text("id") + "/frontendIPConfigurations/" + c.Text(regexp.MustCompile(`[^.]+$`).ReplaceAllString(c.Path(), "name"))
				},
				"frontend_ip_configuration.private_ip_address":            azureFrontend,
				"frontend_ip_configuration.private_ip_address_allocation": simcloud.Const("Dynamic"), "frontend_ip_configuration.private_ip_address_version": simcloud.Const("IPv4"),
				"frontend_ip_configuration.gateway_load_balancer_frontend_ip_configuration_id": simcloud.Const(""), "frontend_ip_configuration.public_ip_prefix_id": simcloud.Const(""),
				"frontend_ip_configuration.inbound_nat_rules": simcloud.Const([]any{}), "frontend_ip_configuration.load_balancer_rules": simcloud.Const([]any{}), "frontend_ip_configuration.outbound_rules": simcloud.Const([]any{}),
			},
			Delete: azureChildren,
		}),
		"azurerm_lb_backend_address_pool": child(simcloud.KindTarget, "backendAddressPools", simcloud.TypeRule{
			Values: values{"backend_ip_configurations": simcloud.Const([]any{}), "inbound_nat_rules": simcloud.Const([]any{}), "load_balancing_rules": simcloud.Const([]any{}), "outbound_rules": simcloud.Const([]any{})},
			Delete: armHeldBy("azurerm_lb_rule", "backend_address_pool_ids", "azurerm_network_interface_backend_address_pool_association", "backend_address_pool_id"),
		}),
		"azurerm_lb_backend_address_pool_address": {
			Kind: simcloud.KindAttachment, ForceNew: []string{"name", "backend_address_pool_id"}, Parents: []string{"backend_address_pool_id"},
			Values: values{"id": under("backend_address_pool_id", "addresses"), "inbound_nat_rule_port_mapping": simcloud.Const([]any{})},
		},
		"azurerm_network_interface_backend_address_pool_association": {
			Kind: simcloud.KindAttachment, ForceNew: []string{"network_interface_id", "ip_configuration_name", "backend_address_pool_id"}, Parents: []string{"backend_address_pool_id"},
			Values: values{"id": simcloud.Text("{attr:network_interface_id}/ipConfigurations/{attr:ip_configuration_name}|{attr:backend_address_pool_id}")},
			Create: azurePoolExists,
		},
		"azurerm_lb_probe": child(simcloud.KindOther, "probes", simcloud.TypeRule{
			Defaults: map[string]any{"interval_in_seconds": 15, "number_of_probes": 2}, Values: values{"load_balancer_rules": simcloud.Const([]any{})},
			Delete: armHeldBy("azurerm_lb_rule", "probe_id"),
		}),
		"azurerm_lb_rule": child(simcloud.KindListener, "loadBalancingRules", simcloud.TypeRule{
			Values: values{"frontend_ip_configuration_id": frontend},
			Create: alone("unexpected status 400 (400 Bad Request) with error: RulesUseSameFrontendPortProtocolAndVmIpConfig: two rules of %s use the same frontend port and protocol",
				"loadbalancer_id", "frontend_ip_configuration_name", "frontend_port", "protocol"),
		}),
		"azurerm_lb_nat_rule": {
			Kind: simcloud.KindListener, ForceNew: []string{"name", "loadbalancer_id", "resource_group_name"},
			Values: values{"id": under("loadbalancer_id", "inboundNatRules"), "frontend_ip_configuration_id": frontend, "backend_ip_configuration_id": simcloud.Const(""), "floating_ip_enabled": simcloud.Const(false)},
			Create: azureBalancerExists,
		},
		"azurerm_lb_outbound_rule": child(simcloud.KindOther, "outboundRules", simcloud.TypeRule{}),
	}
}

// azureFrontend is an address of the subnet, none for a public frontend.
func azureFrontend(c *simcloud.Context) any {
	if c.Text(regexp.MustCompile(`[^.]+$`).ReplaceAllString(c.Path(), "public_ip_address_id")) != "" {
		return ""
	}
	return azureAddress("subnet_id")(c)
}

// azureBalancerExists: a part of a load balancer that is gone cannot be made.
func azureBalancerExists(c *simcloud.Context) error {
	id := c.Text("loadbalancer_id")
	if !strings.Contains(id, c.Settings().Account) {
		return nil
	}
	for _, o := range c.Objects("azurerm_lb") {
		if strings.EqualFold(o.ID, id) {
			return nil
		}
	}
	if len(c.Objects("azurerm_lb")) == 0 {
		return nil
	}
	return fmt.Errorf("retrieving Load Balancer %q: unexpected status 404 (404 Not Found) with error: ResourceNotFound", id)
}

func azurePoolExists(c *simcloud.Context) error {
	id := c.Text("backend_address_pool_id")
	pools := c.Objects("azurerm_lb_backend_address_pool")
	for _, o := range pools {
		if strings.EqualFold(o.ID, id) {
			return nil
		}
	}
	if len(pools) == 0 {
		return nil
	}
	return fmt.Errorf("unexpected status 400 (400 Bad Request) with error: InvalidResourceReference: resource %s was not found", id)
}

// azureChildren: a load balancer goes with its parts.
func azureChildren(c *simcloud.Context) error {
	prefix := strings.ToLower(c.Text("id")) + "/"
	for _, o := range c.Objects("azurerm_lb_*") {
		if strings.HasPrefix(strings.ToLower(o.ID), prefix) {
			c.Remove(o.Type, o.ID)
		}
	}
	return nil
}

// azureCustomData: custom data has at most 65,535 bytes, before it is encoded.
func azureCustomData(c *simcloud.Context) error {
	raw, err := base64.StdEncoding.DecodeString(c.Text("custom_data"))
	if err != nil {
		return fmt.Errorf("unexpected status 400 (400 Bad Request) with error: InvalidParameter: custom data must be in Base64 encoding and with a maximum length of 87380 characters: %w", err)
	}
	if len(raw) > 65535 {
		return errors.New("unexpected status 400 (400 Bad Request) with error: InvalidParameter: custom data must be in Base64 encoding and with a maximum length of 87380 characters")
	}
	return nil
}

func azureCompute() types {
	vmName := named("name", regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9-_.]{0,62}[a-zA-Z0-9_])?$`), "unexpected status 400 (400 Bad Request) with error: InvalidParameter: the VM name %q is longer than 64 characters or has special characters")
	return types{
		"azurerm_linux_virtual_machine": azure(simcloud.KindInstance, "Microsoft.Compute/virtualMachines", simcloud.TypeRule{
			ForceNew: []string{
				"admin_username", "admin_password", "admin_ssh_key", "availability_set_id", "computer_name", "custom_data", "eviction_policy", "platform_fault_domain", "priority",
				"proximity_placement_group_id", "secure_boot_enabled", "source_image_id", "source_image_reference", "virtual_machine_scale_set_id", "vtpm_enabled", "zone", "os_disk.storage_account_type",
				"os_disk.name", "plan", "edge_zone", "disable_password_authentication",
			},
			Defaults: map[string]any{"priority": "Regular", "max_bid_price": -1, "extensions_time_budget": "PT1H30M", "platform_fault_domain": -1, "bypass_platform_safety_checks_on_user_schedule_enabled": false},
			Values: values{
				"virtual_machine_id": uuid, "computer_name": simcloud.Copy("name"), "disable_password_authentication": simcloud.Const(true), "allow_extension_operations": simcloud.Const(true),
				"provision_vm_agent": simcloud.Const(true), "patch_mode": simcloud.Const("ImageDefault"), "patch_assessment_mode": simcloud.Const("ImageDefault"), "vm_agent_platform_updates_enabled": simcloud.Const(false),
				"disk_controller_type": simcloud.Const(""), "private_ip_address": azureCard("private_ip_address"), "private_ip_addresses": azureCard("private_ip_addresses"),
				"public_ip_address": simcloud.Const(""), "public_ip_addresses": simcloud.Const([]any{}),
				"os_disk.name": simcloud.Text("{attr:name}_OsDisk_1_{hex:32}"), "os_disk.disk_size_gb": simcloud.Const(30), "os_disk.storage_account_type": simcloud.Const("Standard_LRS"),
				"os_disk.id": func(c *simcloud.Context) any {
					return strings.Replace(c.Text("id"), "/virtualMachines/", "/disks/", 1) + "_OsDisk"
				},
				"os_managed_disk_id": func(c *simcloud.Context) any {
					return strings.Replace(c.Text("id"), "/virtualMachines/", "/disks/", 1) + "_OsDisk"
				},
				"identity.principal_id": uuid, "identity.tenant_id": simcloud.Const(azureTenant),
			},
			Create: chain(vmName, azureCustomData, azureCards),
			// It is no attribute of the resource: data.azurerm_virtual_machine tells it.
			Stopped: map[string]any{"power_state": "deallocated"}, Addresses: []string{"private_ip_address", "private_ip_addresses"},
		}),
		"azurerm_linux_virtual_machine_scale_set": azure(simcloud.KindGroup, "Microsoft.Compute/virtualMachineScaleSets", simcloud.TypeRule{
			ForceNew: []string{
				"admin_username", "computer_name_prefix", "priority", "eviction_policy", "zone_balance", "platform_fault_domain_count", "proximity_placement_group_id",
				"os_disk.storage_account_type", "secure_boot_enabled", "vtpm_enabled", "edge_zone", "provision_vm_agent",
			},
			Defaults: map[string]any{"priority": "Regular", "max_bid_price": -1, "upgrade_mode": "Manual", "overprovision": true, "provision_vm_agent": true, "single_placement_group": true, "zone_balance": false, "extensions_time_budget": "PT1H30M", "disable_password_authentication": true, "do_not_run_extensions_on_overprovisioned_machines": false},
			Values:   values{"unique_id": uuid, "computer_name_prefix": simcloud.Copy("name"), "platform_fault_domain_count": simcloud.Const(1), "instances": simcloud.Const(0)},
			Create:   chain(azureCustomData, azureGroup.resize), Update: chain(azureCustomData, azureGroup.resize), Read: azureGroup.tick,
			Delete: armHeldBy("azurerm_monitor_autoscale_setting", "target_resource_id"),
		}),
		"azurerm_orchestrated_virtual_machine_scale_set": azure(simcloud.KindGroup, "Microsoft.Compute/virtualMachineScaleSets", simcloud.TypeRule{Values: values{"unique_id": uuid, "single_placement_group": simcloud.Const(false), "instances": simcloud.Const(0)}}),
		"azurerm_monitor_autoscale_setting": azure(simcloud.KindOther, "Microsoft.Insights/autoScaleSettings", simcloud.TypeRule{
			ForceNew: []string{"target_resource_id"}, Defaults: map[string]any{"enabled": true}, Create: azureScale, Update: azureScale,
		}),
		"azurerm_availability_set": azure(simcloud.KindOther, "Microsoft.Compute/availabilitySets", simcloud.TypeRule{
			ForceNew: []string{"managed", "platform_fault_domain_count", "platform_update_domain_count"}, Defaults: map[string]any{"managed": true, "platform_fault_domain_count": 3, "platform_update_domain_count": 5},
			Delete: armHeldBy("azurerm_linux_virtual_machine", "availability_set_id"),
		}),
		"azurerm_proximity_placement_group": azure(simcloud.KindOther, "Microsoft.Compute/proximityPlacementGroups", simcloud.TypeRule{}),
		"azurerm_managed_disk": azure(simcloud.KindVolume, "Microsoft.Compute/disks", simcloud.TypeRule{
			ForceNew: []string{"create_option", "zone", "source_resource_id"}, Values: values{"disk_size_gb": simcloud.Const(10), "tier": simcloud.Const("P10"), "source_uri": simcloud.Const("")},
			Delete: armHeldBy("azurerm_virtual_machine_data_disk_attachment", "managed_disk_id"),
		}),
		"azurerm_virtual_machine_data_disk_attachment": {
			ForceNew: []string{"managed_disk_id", "virtual_machine_id", "lun"}, Values: values{"id": func(c *simcloud.Context) any {
				return c.Text("virtual_machine_id") + "/dataDisks/" + last(c.Text("managed_disk_id"), "/")
			}},
		},
	}
}

// azureCard is an attribute of the first network interface of a machine.
func azureCard(path string) simcloud.Value {
	return func(c *simcloud.Context) any {
		for _, id := range list(c, "network_interface_ids") {
			for _, o := range c.Objects("azurerm_network_interface") {
				if strings.EqualFold(o.ID, id) {
					return o.Get(path)
				}
			}
		}
		return nil
	}
}

// azureCards: a network interface belongs to one machine.
func azureCards(c *simcloud.Context) error {
	for _, id := range list(c, "network_interface_ids") {
		for _, o := range c.Objects("azurerm_linux_virtual_machine") {
			if refersToFold(o.Attributes, "network_interface_ids", strings.ToLower(id)) && !strings.EqualFold(o.ID, c.Text("id")) {
				return fmt.Errorf("unexpected status 400 (400 Bad Request) with error: NicInUse: network interface %s is used by existing resource %s", id, o.ID)
			}
		}
	}
	return nil
}

// azureScale: a setting moves the size of its scale set into its bounds.
func azureScale(c *simcloud.Context) error {
	capacity := object(object(c.Attr("profile"))["capacity"])
	bound := func(name string) int {
		n, _ := strconv.Atoi(fmt.Sprint(capacity[name]))
		return n
	}
	if bound("minimum") > bound("maximum") {
		return fmt.Errorf("unexpected status 400 (400 Bad Request) with error: BadRequest: minimum capacity %d is greater than maximum capacity %d", bound("minimum"), bound("maximum"))
	}
	for _, o := range c.Objects("azurerm_linux_virtual_machine_scale_set") {
		if !strings.EqualFold(o.ID, c.Text("target_resource_id")) {
			continue
		}
		n, _ := strconv.Atoi(o.Text("instances"))
		o.Attributes["instances"] = max(bound("minimum"), min(bound("maximum"), n))
		return c.Put(*o) // its members follow when it is looked at
	}
	return nil
}

// azureMember is the type of the members of a scale set, which no resource manages.
const azureMember = "azurerm_linux_virtual_machine_scale_set_vm"

var azureGroup = group{
	state: "power_state", starting: "starting", running: "running",
	members: func(c *simcloud.Context) []*simcloud.Object {
		var out []*simcloud.Object
		for _, o := range c.Objects(azureMember) {
			if strings.HasPrefix(o.ID, c.Text("id")+"/") {
				out = append(out, o)
			}
		}
		return out
	},
	places: func(c *simcloud.Context) []string {
		if zones := list(c, "zones"); len(zones) > 0 {
			return zones
		}
		return []string{""}
	},
	place: func(o *simcloud.Object) string { return o.Text("zone") },
	size:  func(c *simcloud.Context) int { return c.Int("instances") },
	build: func(c *simcloud.Context, zone, label string) simcloud.Object {
		number := last(label, "/")
		n, _ := strconv.Atoi(number)
		id := c.Text("id") + "/virtualMachines/" + strconv.Itoa(n-1)
		configuration := object(object(c.Attr("network_interface"))["ip_configuration"])
		subnet, _ := configuration["subnet_id"].(string)
		return simcloud.Object{Type: azureMember, ID: id, Kind: simcloud.KindInstance, Attributes: map[string]any{
			"id": id, "instance_id": strconv.Itoa(n - 1), "zone": zone, "name": c.Text("name") + "_" + strconv.Itoa(n-1),
			"computer_name": c.Text("computer_name_prefix") + fmt.Sprintf("%06d", n-1), "virtual_machine_id": c.UUID(label),
			"private_ip_address": addressBeside(c, azureMember, "private_ip_address", azureRange(c, subnet), label),
		}}
	},
}

func azureOther() types {
	return types{
		"azurerm_user_assigned_identity": azure(simcloud.KindIdentity, "Microsoft.ManagedIdentity/userAssignedIdentities", simcloud.TypeRule{
			Values: values{"client_id": uuid, "principal_id": uuid, "tenant_id": simcloud.Const(azureTenant)},
		}),
		"azurerm_role_assignment": {
			Kind: simcloud.KindIdentity, ForceNew: []string{"condition", "condition_version", "description", "name", "principal_id", "role_definition_id", "role_definition_name", "scope"},
			Values: values{
				"name": uuid, "id": simcloud.Text("{attr:scope}/providers/Microsoft.Authorization/roleAssignments/{attr:name}"), "principal_type": simcloud.Const("ServicePrincipal"),
				"role_definition_id": simcloud.Text("/subscriptions/{account}/providers/Microsoft.Authorization/roleDefinitions/{uuid}"), "role_definition_name": simcloud.Const("Contributor"),
				"condition_version": simcloud.Const(""), "skip_service_principal_aad_check": simcloud.Const(false),
			},
			Create: alone("unexpected status 409 (409 Conflict) with error: RoleAssignmentExists: the role assignment of %s already exists", "principal_id", "scope", "role_definition_name", "role_definition_id"),
		},
		"azurerm_private_dns_zone": {
			ForceNew: []string{"name", "resource_group_name"}, Values: values{"id": arm("Microsoft.Network/privateDnsZones"), "number_of_record_sets": simcloud.Const(1)},
			Create: azureGroupExists, Delete: armHeldBy("azurerm_private_dns_zone_virtual_network_link", "private_dns_zone_id"),
		},
		"azurerm_private_dns_a_record": {Kind: simcloud.KindRecord, ForceNew: []string{"name", "private_dns_zone_id"}, Values: values{"id": under("private_dns_zone_id", "A"), "fqdn": func(c *simcloud.Context) any {
			return c.Text("name") + "." + last(c.Text("private_dns_zone_id"), "/") + "."
		}}},
		"azurerm_private_dns_zone_virtual_network_link": {ForceNew: []string{"name", "private_dns_zone_id", "virtual_network_id"}, Values: values{"id": under("private_dns_zone_id", "virtualNetworkLinks"), "resolution_policy": simcloud.Const("Default")}},
		"azurerm_storage_account": azure(simcloud.KindOther, "Microsoft.Storage/storageAccounts", simcloud.TypeRule{
			ForceNew: []string{"account_kind", "is_hns_enabled"},
			Values:   values{"access_tier": simcloud.Const("Hot"), "large_file_share_enabled": simcloud.Const(false), "primary_blob_endpoint": simcloud.Text("https://{attr:name}.blob.core.windows.net/")},
			Create:   named("name", regexp.MustCompile(`^[a-z0-9]{3,24}$`), "name (%q) can only consist of lowercase letters and numbers, and must be between 3 and 24 characters long"),
		}),
		"azurerm_storage_container": {ForceNew: []string{"name", "storage_account_id"}, Values: values{"id": simcloud.Text("{attr:storage_account_id}/blobServices/default/containers/{attr:name}"), "has_immutability_policy": simcloud.Const(false), "has_legal_hold": simcloud.Const(false), "metadata": simcloud.Const(map[string]any{})}},
		"azurerm_storage_blob":      {ForceNew: []string{"name", "type", "source_content", "storage_container_id"}, Values: values{"id": simcloud.Text("{attr:storage_container_id}/{attr:name}"), "access_tier": simcloud.Const("Hot"), "metadata": simcloud.Const(map[string]any{})}},
	}
}

func azureData() map[string]simcloud.DataRule {
	byName := func(armType string, more values) simcloud.DataRule {
		v := values{"id": arm(armType), "location": simcloud.Const("westeurope")}
		maps.Copy(v, more)
		return simcloud.DataRule{Values: v}
	}
	return map[string]simcloud.DataRule{
		"azurerm_client_config": {Values: values{"id": simcloud.Text("{uuid}"), "subscription_id": simcloud.Text("{account}"), "tenant_id": simcloud.Const(azureTenant), "client_id": uuid, "object_id": uuid}},
		"azurerm_subscription":  {Values: values{"id": simcloud.Text("/subscriptions/{account}"), "subscription_id": simcloud.Text("{account}"), "tenant_id": simcloud.Const(azureTenant), "state": simcloud.Const("Enabled")}},
		"azurerm_location": {Values: values{
			"id": simcloud.Text("/subscriptions/{account}/locations/{attr:location}"), "display_name": simcloud.Copy("location"),
			"zone_mappings": func(c *simcloud.Context) any {
				var out []any
				for _, z := range []string{"1", "2", "3"} {
					out = append(out, map[string]any{"logical_zone": z, "physical_zone": c.Text("location") + "-az" + z})
				}
				return out
			},
		}},
		"azurerm_resources":              {Read: azureListing, Values: values{"id": simcloud.Text("resource-{uuid}"), "name": simcloud.Const(""), "type": simcloud.Const(""), "resource_group_name": simcloud.Const(""), "resources": simcloud.Const([]any{})}},
		"azurerm_resource_group":         {Values: values{"id": simcloud.Text("/subscriptions/{account}/resourceGroups/{attr:name}"), "location": simcloud.Const("westeurope")}},
		"azurerm_virtual_network":        byName("Microsoft.Network/virtualNetworks", values{"address_space": simcloud.Const([]any{"10.0.0.0/8"}), "subnets": simcloud.Const([]any{"nodes"})}),
		"azurerm_user_assigned_identity": byName("Microsoft.ManagedIdentity/userAssignedIdentities", values{"client_id": uuid, "principal_id": uuid}),
		"azurerm_virtual_machine": {
			Of: "azurerm_linux_virtual_machine", Strict: true, Match: map[string]string{"name": "name", "resource_group_name": "resource_group_name"},
			Values: values{"power_state": simcloud.Const("running")}, Read: azurePower,
		},
		"azurerm_virtual_machine_scale_set": {
			Of: "azurerm_linux_virtual_machine_scale_set", Strict: true, Match: map[string]string{"name": "name", "resource_group_name": "resource_group_name"}, Read: azureMembers,
		},
	}
}

// azureListing lists what the simulated cloud has, and what a user names.
func azureListing(c *simcloud.Context) error {
	rows := []any{}
	name, kind, in := c.Text("name"), c.Text("type"), c.Text("resource_group_name")
	for _, o := range c.Objects("azurerm_*") {
		parts := strings.Split(o.ID, "/") // /subscriptions/S/resourceGroups/G/providers/P/T/N
		if len(parts) != 9 || parts[5] != "providers" {
			continue
		}
		of := parts[6] + "/" + parts[7]
		if (name != "" && !strings.EqualFold(name, parts[8])) || (kind != "" && !strings.EqualFold(kind, of)) || (in != "" && !strings.EqualFold(in, parts[4])) {
			continue
		}
		rows = append(rows, map[string]any{"id": o.ID, "name": parts[8], "type": of, "resource_group_name": parts[4], "location": o.Text("location"), "tags": o.Get("tags")})
	}
	c.Set("resources", rows)
	return nil
}

// azurePower: a machine that was stopped out of band says so here alone.
func azurePower(c *simcloud.Context) error {
	for _, o := range c.Objects("azurerm_linux_virtual_machine") {
		if o.Text("name") == c.Text("name") && o.Text("power_state") != "" {
			c.Set("power_state", o.Text("power_state"))
		}
	}
	return nil
}

func azureMembers(c *simcloud.Context) error {
	rows := []any{}
	for _, o := range c.Objects(azureMember) {
		if !strings.Contains(strings.ToLower(o.ID), strings.ToLower("/"+c.Text("name")+"/")) {
			continue
		}
		rows = append(rows, map[string]any{
			"instance_id": o.Text("instance_id"), "name": o.Text("name"), "computer_name": o.Text("computer_name"), "power_state": o.Text("power_state"), "zone": o.Text("zone"),
			"private_ip_address": o.Text("private_ip_address"), "private_ip_addresses": []any{o.Text("private_ip_address")}, "public_ip_address": "", "public_ip_addresses": []any{},
			"latest_model_applied": true, "virtual_machine_id": o.Text("virtual_machine_id"),
		})
	}
	c.Set("instances", rows)
	return nil
}
