package balancer

const (
	hetzner = "hetznercloud/hcloud"
	ocean   = "digitalocean/digitalocean"
	ibm     = "IBM-Cloud/ibm"
)

var others = slicesOf(
	Type{Name: "hcloud_load_balancer", Cloud: hetzner, Source: doc(hetzner, "hcloud_load_balancer"), Frontend: &Frontend{}},
	Type{
		Name: "hcloud_load_balancer_service", Cloud: hetzner, Source: doc(hetzner, "hcloud_load_balancer_service"),
		Listener: &Listening{Ports: []string{"listen_port"}, Targets: []string{"destination_port"}},
		Health: &HealthCheck{
			Interval: "health_check.interval", Timeout: "health_check.timeout", Healthy: "health_check.retries", Unhealthy: "health_check.retries",
			DefaultInterval: 15, DefaultHealthy: 3, DefaultUnhealthy: 3,
			Protocol: "health_check.protocol", Port: "health_check.port", Path: "health_check.http.path", Codes: "health_check.http.status_codes", Own: "destination_port",
		},
	},
	Type{
		Name: "hcloud_load_balancer_target", Cloud: hetzner, Source: doc(hetzner, "hcloud_load_balancer_target", "a target of type label_selector is pattern B"),
		Attachment: &Attachment{Pool: "load_balancer_id", Target: "server_id"}, Selects: "label_selector",
	},
	Type{Name: "hcloud_server", Cloud: hetzner, Source: doc(hetzner, "hcloud_server"), Instance: true, Selector: &Selector{Path: "labels"}},
	Type{
		Name: "hcloud_firewall", Cloud: hetzner, Source: doc(hetzner, "hcloud_firewall"),
		Firewall: &Firewall{Rules: "rule", Group: "id", Direction: "direction", Ingress: []string{"in"}, Protocol: "protocol", Ranges: []string{"port"}},
	},
	Type{
		Name: "digitalocean_loadbalancer", Cloud: ocean, Source: doc(ocean, "digitalocean_loadbalancer", "with droplet_tag it is pattern B"),
		Frontend: &Frontend{},
		Listener: &Listening{Ports: []string{"forwarding_rule.entry_port"}, Targets: []string{"forwarding_rule.target_port"}},
		Members:  []string{"droplet_ids"}, Selects: "droplet_tag",
		Health: &HealthCheck{
			Interval: "healthcheck.check_interval_seconds", Timeout: "healthcheck.response_timeout_seconds", Healthy: "healthcheck.healthy_threshold", Unhealthy: "healthcheck.unhealthy_threshold",
			DefaultInterval: 10, DefaultHealthy: 5, DefaultUnhealthy: 3, Protocol: "healthcheck.protocol", Port: "healthcheck.port", Path: "healthcheck.path",
		},
	},
	Type{
		Name: "digitalocean_loadbalancer_droplet", Cloud: ocean, Source: doc(ocean, "digitalocean_loadbalancer_droplet"),
		Attachment: &Attachment{Pool: "loadbalancer_id", Target: "droplet_id"},
	},
	Type{Name: "digitalocean_droplet", Cloud: ocean, Source: doc(ocean, "digitalocean_droplet"), Instance: true, Selector: &Selector{Path: "tags"}},
	Type{
		Name: "digitalocean_firewall", Cloud: ocean, Source: doc(ocean, "digitalocean_firewall"),
		Firewall: &Firewall{Rules: "inbound_rule", Group: "id", Protocol: "protocol", Ranges: []string{"port_range"}},
	},
	Type{Name: "ibm_is_lb", Cloud: ibm, Source: doc(ibm, "ibm_is_lb"), Frontend: &Frontend{Groups: []string{"security_groups"}}},
	Type{Name: "ibm_is_lb_listener", Cloud: ibm, Source: doc(ibm, "ibm_is_lb_listener"), Listener: &Listening{Ports: []string{"port"}}},
	Type{
		Name: "ibm_is_lb_pool", Cloud: ibm, Source: doc(ibm, "ibm_is_lb_pool"), Pool: &Pool{},
		Health: &HealthCheck{
			Interval: "health_delay", Timeout: "health_timeout", Unhealthy: "health_retries",
			DefaultHealthy: 1, Protocol: "health_type", Port: "health_monitor_port", Path: "health_monitor_url",
		},
	},
	Type{
		Name: "ibm_is_lb_pool_member", Cloud: ibm, Source: doc(ibm, "ibm_is_lb_pool_member"),
		Attachment: &Attachment{Port: "port", Pool: "pool", Target: "target_id"},
	},
	Type{Name: "ibm_is_instance", Cloud: ibm, Source: doc(ibm, "ibm_is_instance"), Instance: true},
	Type{
		Name: "ibm_is_security_group_rule", Cloud: ibm, Source: doc(ibm, "ibm_is_security_group_rule"),
		Firewall: &Firewall{
			Group: "group", Direction: "direction", Ingress: []string{"inbound"},
			Blocks: map[string]string{"tcp": "tcp", "udp": "udp", "icmp": "icmp"}, From: "port_min", To: "port_max",
		},
	},
	waiting("hashicorp/time", "time_sleep"), waiting("hashicorp/null", "null_resource"),
	waiting("hashicorp/kubernetes", "kubernetes_manifest"), waiting("hashicorp/helm", "helm_release"),
	waiting("gavinbunney/kubectl", "kubectl_manifest"),
)

// waiting is a type that makes nothing in a cloud: what depends on it comes after
// a time, a script or a workload API.
func waiting(cloud, name string) Type {
	return Type{Name: name, Cloud: cloud, Source: doc(cloud, name), Waits: true}
}
