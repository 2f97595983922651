package balancer

const (
	hetzner = "hetznercloud/hcloud"
	ocean   = "digitalocean/digitalocean"
	ibm     = "IBM-Cloud/ibm"
	akamai  = "linode/linode"
	alibaba = "aliyun/alicloud"
	scale   = "scaleway/scaleway"
	vultr   = "vultr/vultr"
	nsx     = "vmware/nsxt"
	vsphere = "vmware/vsphere"
	exo     = "exoscale/exoscale"
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
		Attachment: &Attachment{Pool: "load_balancer_id", Target: "server_id", Otherwise: []string{"ip"}}, Selects: "label_selector",
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
		Attachment: &Attachment{Port: "port", Pool: "pool", Target: "target_id", Otherwise: []string{"target_address"}},
	},
	Type{Name: "ibm_is_instance", Cloud: ibm, Source: doc(ibm, "ibm_is_instance"), Instance: true},
	Type{
		Name: "ibm_is_security_group_rule", Cloud: ibm, Source: doc(ibm, "ibm_is_security_group_rule"),
		Firewall: &Firewall{
			Group: "group", Direction: "direction", Ingress: []string{"inbound"},
			Blocks: map[string]string{"tcp": "tcp", "udp": "udp", "icmp": "icmp"}, From: "port_min", To: "port_max",
		},
	},
	Type{Name: "linode_nodebalancer", Cloud: akamai, Source: doc(akamai, "linode_nodebalancer"), Frontend: &Frontend{}},
	Type{
		Name: "linode_nodebalancer_config", Cloud: akamai, Source: doc(akamai, "linode_nodebalancer_config"),
		Listener: &Listening{Ports: []string{"port"}}, Pool: &Pool{},
	},
	Type{
		Name: "linode_nodebalancer_node", Cloud: akamai, Source: doc(akamai, "linode_nodebalancer_node"),
		Attachment: &Attachment{Pool: "config_id", Target: "address"},
	},
	Type{Name: "linode_instance", Cloud: akamai, Source: doc(akamai, "linode_instance"), Instance: true},
	Type{Name: "alicloud_slb_backend_server", Cloud: alibaba, Source: doc(alibaba, "alicloud_slb_backend_server"), Members: []string{"backend_servers"}},
	Type{Name: "alicloud_slb_attachment", Cloud: alibaba, Source: doc(alibaba, "alicloud_slb_attachment"), Members: []string{"instance_ids"}},
	Type{Name: "alicloud_instance", Cloud: alibaba, Source: doc(alibaba, "alicloud_instance"), Instance: true},
	Type{Name: "scaleway_lb", Cloud: scale, Source: doc(scale, "scaleway_lb"), Frontend: &Frontend{}},
	Type{
		Name: "scaleway_lb_frontend", Cloud: scale, Source: doc(scale, "scaleway_lb_frontend"),
		Listener: &Listening{Ports: []string{"inbound_port"}},
	},
	Type{
		Name: "scaleway_lb_backend", Cloud: scale, Source: doc(scale, "scaleway_lb_backend"),
		Pool: &Pool{Ports: []string{"forward_port"}}, Members: []string{"server_ips"},
	},
	Type{Name: "scaleway_instance_server", Cloud: scale, Source: doc(scale, "scaleway_instance_server"), Instance: true},
	Type{
		Name: "vultr_load_balancer", Cloud: vultr, Source: doc(vultr, "vultr_load_balancer"),
		Frontend: &Frontend{}, Members: []string{"attached_instances"},
		Listener: &Listening{Ports: []string{"forwarding_rules.frontend_port"}, Targets: []string{"forwarding_rules.backend_port"}},
	},
	Type{Name: "vultr_instance", Cloud: vultr, Source: doc(vultr, "vultr_instance"), Instance: true},
	Type{Name: "nsxt_policy_lb_pool", Cloud: nsx, Source: doc(nsx, "nsxt_policy_lb_pool"), Pool: &Pool{}, Members: []string{"member"}},
	Type{Name: "vsphere_virtual_machine", Cloud: vsphere, Source: doc(vsphere, "vsphere_virtual_machine"), Instance: true},
	Type{Name: "exoscale_compute_instance", Cloud: exo, Source: doc(exo, "exoscale_compute_instance"), Instance: true},
	waiting("hashicorp/time", "time_sleep"), waiting("hashicorp/null", "null_resource"),
	waiting("hashicorp/kubernetes", "kubernetes_manifest"), waiting("hashicorp/helm", "helm_release"),
	waiting("gavinbunney/kubectl", "kubectl_manifest"),
)

// waiting is a type that makes nothing in a cloud: what depends on it comes after
// a time, a script or a workload API.
func waiting(cloud, name string) Type {
	return Type{Name: name, Cloud: cloud, Source: doc(cloud, name), Waits: true}
}
