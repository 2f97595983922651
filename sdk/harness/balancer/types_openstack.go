package balancer

const osc = "terraform-provider-openstack/openstack"

var openstack = slicesOf(
	Type{Name: "openstack_lb_loadbalancer_v2", Cloud: osc, Source: doc(osc, "openstack_lb_loadbalancer_v2", "modules.md 6.1"), Frontend: &Frontend{Groups: []string{"security_group_ids"}}},
	Type{
		Name: "openstack_lb_listener_v2", Cloud: osc, Source: doc(osc, "openstack_lb_listener_v2", "modules.md 6.1"),
		Listener: &Listening{Ports: []string{"protocol_port"}, Pools: []string{"default_pool_id"}},
	},
	Type{Name: "openstack_lb_pool_v2", Cloud: osc, Source: doc(osc, "openstack_lb_pool_v2", "modules.md 6.1"), Pool: &Pool{Listener: "listener_id"}},
	Type{
		Name: "openstack_lb_monitor_v2", Cloud: osc, Source: doc(osc, "openstack_lb_monitor_v2", "modules.md 6.1"),
		Health: &HealthCheck{
			Interval: "delay", Timeout: "timeout", Healthy: "max_retries", Unhealthy: "max_retries_down",
			DefaultUnhealthy: 3, Protocol: "type", Path: "url_path", Codes: "expected_codes",
		},
	},
	Type{
		Name: "openstack_lb_member_v2", Cloud: osc, Source: doc(osc, "openstack_lb_member_v2", "modules.md 6.2"),
		Attachment: &Attachment{Port: "protocol_port", Pool: "pool_id", Target: "address", Before: true},
	},
	Type{Name: "openstack_lb_members_v2", Cloud: osc, Source: doc(osc, "openstack_lb_members_v2"), Members: []string{"member"}},
	Type{Name: "openstack_compute_instance_v2", Cloud: osc, Source: doc(osc, "openstack_compute_instance_v2", "modules.md 6.2"), Instance: true, Placement: "availability_zone"},
	Type{Name: "openstack_networking_port_v2", Cloud: osc, Source: doc(osc, "openstack_networking_port_v2", "modules.md 6.2"), Instance: true},
	Type{
		Name: "openstack_networking_secgroup_rule_v2", Cloud: osc, Source: doc(osc, "openstack_networking_secgroup_rule_v2", "modules.md 6.1"),
		Firewall: &Firewall{
			Group: "security_group_id", Direction: "direction", Ingress: []string{"ingress"}, Protocol: "protocol", From: "port_range_min", To: "port_range_max",
		},
	},
)
