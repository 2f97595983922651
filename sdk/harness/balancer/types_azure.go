package balancer

const azurerm = "hashicorp/azurerm"

var azure = slicesOf(
	Type{Name: "azurerm_lb", Cloud: azurerm, Source: doc(azurerm, "azurerm_lb", "modules.md 4.1"), Frontend: &Frontend{}},
	Type{
		Name: "azurerm_lb_rule", Cloud: azurerm, Source: doc(azurerm, "azurerm_lb_rule", "modules.md 4.1"),
		Listener: &Listening{Ports: []string{"frontend_port"}, Targets: []string{"backend_port"}},
	},
	Type{Name: "azurerm_lb_backend_address_pool", Cloud: azurerm, Source: doc(azurerm, "azurerm_lb_backend_address_pool", "modules.md 4.1"), Pool: &Pool{}},
	Type{
		Name: "azurerm_lb_probe", Cloud: azurerm, Source: doc(azurerm, "azurerm_lb_probe", "modules.md 4.1"),
		Health: &HealthCheck{
			Interval: "interval_in_seconds", Healthy: "probe_threshold", Unhealthy: "number_of_probes",
			DefaultInterval: 15, DefaultHealthy: 1, DefaultUnhealthy: 2,
			Protocol: "protocol", Port: "port", Path: "request_path",
		},
	},
	Type{
		Name: "azurerm_lb_backend_address_pool_address", Cloud: azurerm, Source: doc(azurerm, "azurerm_lb_backend_address_pool_address"),
		Attachment: &Attachment{Pool: "backend_address_pool_id", Target: "ip_address"},
	},
	Type{
		Name: "azurerm_network_interface_backend_address_pool_association", Cloud: azurerm, Source: doc(azurerm, "azurerm_network_interface_backend_address_pool_association", "modules.md 4.2"),
		Attachment: &Attachment{Pool: "backend_address_pool_id", Target: "network_interface_id", Before: true},
	},
	Type{
		Name: "azurerm_network_interface_application_gateway_backend_address_pool_association", Cloud: azurerm,
		Source:     doc(azurerm, "azurerm_network_interface_application_gateway_backend_address_pool_association"),
		Attachment: &Attachment{Pool: "backend_address_pool_id", Target: "network_interface_id", Before: true},
	},
	Type{Name: "azurerm_network_interface", Cloud: azurerm, Source: doc(azurerm, "azurerm_network_interface", "modules.md 4.2"), Instance: true},
	Type{Name: "azurerm_linux_virtual_machine", Cloud: azurerm, Source: doc(azurerm, "azurerm_linux_virtual_machine", "modules.md 4.2"), Instance: true},
	Type{Name: "azurerm_virtual_machine", Cloud: azurerm, Source: doc(azurerm, "azurerm_virtual_machine"), Instance: true},
	scaleSet("azurerm_linux_virtual_machine_scale_set"), scaleSet("azurerm_orchestrated_virtual_machine_scale_set"),
	Type{
		Name: "azurerm_network_security_rule", Cloud: azurerm, Source: doc(azurerm, "azurerm_network_security_rule", "modules.md 4.1"),
		Firewall: ruleAzure("", "network_security_group_name"),
	},
	Type{
		Name: "azurerm_network_security_group", Cloud: azurerm, Source: doc(azurerm, "azurerm_network_security_group", "modules.md 4.1"),
		Firewall: ruleAzure("security_rule", "name"),
	},
)

func ruleAzure(rules, group string) *Firewall {
	return &Firewall{
		Rules: rules, Group: group, Direction: "direction", Ingress: []string{"Inbound"}, Access: "access", Deny: []string{"Deny"}, Priority: "priority",
		Protocol: "protocol", Ranges: []string{"destination_port_range", "destination_port_ranges"}, AllowedByDefault: true,
	}
}

func scaleSet(name string) Type {
	return Type{Name: name, Cloud: azurerm, Source: doc(azurerm, name, "modules.md 4.4"), Group: &Group{Rolls: "upgrade_mode", Values: []string{"Automatic", "Rolling"}}}
}
