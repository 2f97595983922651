package balancer

const oci = "oracle/oci"

// loopbackOCI is why a backend set that keeps the client's address has no hairpin (modules.md 1.6).
var loopbackOCI = &NoHairpin{
	Path: "is_preserve_source", Values: []string{"true"},
	Why: "a network load balancer that preserves the source cannot lead a backend back to itself: set is_preserve_source = false",
}

var oracle = slicesOf(
	balancerOCI("oci_network_load_balancer_network_load_balancer"), balancerOCI("oci_load_balancer_load_balancer"), balancerOCI("oci_load_balancer"),
	listenerOCI("oci_network_load_balancer_listener"), listenerOCI("oci_load_balancer_listener"),
	Type{
		Name: "oci_network_load_balancer_backend_set", Cloud: oci, Source: doc(oci, "oci_network_load_balancer_backend_set", "modules.md 5.1"),
		Pool: &Pool{NoHairpin: loopbackOCI}, Members: []string{"backends"}, Health: checkOCI("interval_in_millis"),
	},
	Type{
		Name: "oci_load_balancer_backend_set", Cloud: oci, Source: doc(oci, "oci_load_balancer_backend_set"),
		Pool: &Pool{}, Health: checkOCI("interval_ms"),
	},
	Type{
		Name: "oci_network_load_balancer_backend", Cloud: oci, Source: doc(oci, "oci_network_load_balancer_backend", "modules.md 5.2"),
		Attachment: &Attachment{Port: "port", Pool: "backend_set_name", Target: "target_id", Otherwise: []string{"ip_address"}},
	},
	Type{
		Name: "oci_load_balancer_backend", Cloud: oci, Source: doc(oci, "oci_load_balancer_backend"),
		Attachment: &Attachment{Port: "port", Pool: "backendset_name", Target: "ip_address"},
	},
	Type{Name: "oci_core_instance", Cloud: oci, Source: doc(oci, "oci_core_instance", "modules.md 5.2"), Instance: true},
	Type{Name: "oci_core_instance_configuration", Cloud: oci, Source: doc(oci, "oci_core_instance_configuration", "modules.md 5.3"), Launches: true},
	Type{Name: "oci_core_instance_pool", Cloud: oci, Source: doc(oci, "oci_core_instance_pool", "modules.md 5.3"), Group: &Group{Never: true}},
	Type{
		Name: "oci_core_network_security_group_security_rule", Cloud: oci, Source: doc(oci, "oci_core_network_security_group_security_rule", "modules.md 5.1"),
		Firewall: &Firewall{
			Group: "network_security_group_id", Direction: "direction", Ingress: []string{"INGRESS"}, Protocol: "protocol",
			From: "tcp_options.destination_port_range.min", To: "tcp_options.destination_port_range.max",
		},
	},
	Type{
		Name: "oci_core_security_list", Cloud: oci, Source: doc(oci, "oci_core_security_list"),
		Firewall: &Firewall{Rules: "ingress_security_rules", Group: "id", Protocol: "protocol", From: "tcp_options.min", To: "tcp_options.max"},
	},
)

func balancerOCI(name string) Type {
	return Type{Name: name, Cloud: oci, Source: doc(oci, name, "modules.md 5.1"), Frontend: &Frontend{Groups: []string{"network_security_group_ids"}}}
}

func listenerOCI(name string) Type {
	return Type{Name: name, Cloud: oci, Source: doc(oci, name, "modules.md 5.1"), Listener: &Listening{Ports: []string{"port"}}}
}

func checkOCI(interval string) *HealthCheck {
	return &HealthCheck{
		Interval: "health_checker." + interval, Milliseconds: true, Timeout: "health_checker.timeout_in_millis", Healthy: "health_checker.retries", Unhealthy: "health_checker.retries",
		DefaultInterval: 10, DefaultHealthy: 3, DefaultUnhealthy: 3,
		Protocol: "health_checker.protocol", Port: "health_checker.port", Path: "health_checker.url_path", Codes: "health_checker.return_code",
	}
}
