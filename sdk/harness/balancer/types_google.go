package balancer

const gcp = "hashicorp/google"

var google = slicesOf(
	forwarding("google_compute_forwarding_rule", "port_range", "ports"), forwarding("google_compute_global_forwarding_rule", "port_range"),
	backendService("google_compute_region_backend_service"), backendService("google_compute_backend_service"),
	Type{
		Name: "google_compute_target_pool", Cloud: gcp, Source: doc(gcp, "google_compute_target_pool"),
		Pool: &Pool{}, Members: []string{"instances"},
	},
	Type{
		Name: "google_compute_instance_group", Cloud: gcp, Source: doc(gcp, "google_compute_instance_group", "modules.md 3.1"),
		Pool: &Pool{Ports: []string{"named_port.port"}}, Members: []string{"instances"},
	},
	Type{
		Name: "google_compute_network_endpoint_group", Cloud: gcp, Source: doc(gcp, "google_compute_network_endpoint_group"),
		Pool: &Pool{Ports: []string{"default_port"}},
	},
	Type{
		Name: "google_compute_network_endpoints", Cloud: gcp, Source: doc(gcp, "google_compute_network_endpoints"),
		Members: []string{"network_endpoints"},
	},
	Type{
		Name: "google_compute_instance_group_membership", Cloud: gcp, Source: doc(gcp, "google_compute_instance_group_membership", "modules.md 3.2"),
		Attachment: &Attachment{Pool: "instance_group", Target: "instance"},
	},
	endpointGCP("google_compute_network_endpoint", "network_endpoint_group"),
	endpointGCP("google_compute_region_network_endpoint", "region_network_endpoint_group"),
	Type{Name: "google_compute_instance", Cloud: gcp, Source: doc(gcp, "google_compute_instance", "modules.md 3.2"), Instance: true, Placement: "zone"},
	Type{Name: "google_compute_instance_from_template", Cloud: gcp, Source: doc(gcp, "google_compute_instance_from_template"), Instance: true, Placement: "zone"},
	checkGCP("google_compute_health_check"), checkGCP("google_compute_region_health_check"),
	Type{Name: "google_compute_instance_template", Cloud: gcp, Source: doc(gcp, "google_compute_instance_template", "modules.md 3.3"), Launches: true},
	Type{Name: "google_compute_region_instance_template", Cloud: gcp, Source: doc(gcp, "google_compute_region_instance_template"), Launches: true},
	managedGroup("google_compute_instance_group_manager"), managedGroup("google_compute_region_instance_group_manager"),
	Type{
		Name: "google_compute_firewall", Cloud: gcp, Source: doc(gcp, "google_compute_firewall", "modules.md 3.1"),
		Firewall: &Firewall{Rules: "allow", Group: "network", Protocol: "protocol", Ranges: []string{"ports"}, Direction: "^direction", Ingress: []string{"INGRESS", ""}},
	},
)

func forwarding(name string, ports ...string) Type {
	return Type{
		Name: name, Cloud: gcp, Source: doc(gcp, name, "modules.md 3.1"),
		Frontend: &Frontend{}, Listener: &Listening{Ports: ports},
	}
}

func backendService(name string) Type {
	return Type{Name: name, Cloud: gcp, Source: doc(gcp, name, "modules.md 3.1"), Pool: &Pool{}}
}

func endpointGCP(name, group string) Type {
	return Type{Name: name, Cloud: gcp, Source: doc(gcp, name), Attachment: &Attachment{Port: "port", Pool: group, Target: "instance", Otherwise: []string{"ip_address"}}}
}

func checkGCP(name string) Type {
	return Type{
		Name: name, Cloud: gcp, Source: doc(gcp, name, "modules.md 3.1"),
		Health: &HealthCheck{
			Interval: "check_interval_sec", Timeout: "timeout_sec", Healthy: "healthy_threshold", Unhealthy: "unhealthy_threshold",
			DefaultInterval: 5, DefaultHealthy: 2, DefaultUnhealthy: 2,
			Protocols: map[string]string{"tcp_health_check": "TCP", "ssl_health_check": "TLS", "http_health_check": "HTTP", "https_health_check": "HTTPS", "http2_health_check": "HTTPS", "grpc_health_check": "GRPC"},
			Port:      "port", Path: "request_path",
		},
	}
}

func managedGroup(name string) Type {
	return Type{Name: name, Cloud: gcp, Source: doc(gcp, name, "modules.md 3.3"), Group: &Group{Rolls: "update_policy.type", Values: []string{"PROACTIVE"}}}
}
