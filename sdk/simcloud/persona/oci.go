package persona

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// What replaces an object is what the documentation of oracle/terraform-provider-oci does not call updatable, as
// .ci/schemas tells with -force-new; limits and texts of refusals follow the references of the Core Services,
// Network Load Balancer and Identity APIs.

// OCI is the persona of oracle/oci.
func OCI() *simcloud.Persona {
	return &simcloud.Persona{
		Source: "oracle/oci", Title: "OCI",
		Settings: simcloud.Settings{Region: "eu-frankfurt-1", Account: "ocid1.tenancy.oc1..aaaaaaaasimulated"},
		Configure: func(config map[string]any) simcloud.Settings {
			region, _ := config["region"].(string)
			tenancy, _ := config["tenancy_ocid"].(string)
			return simcloud.Settings{Region: region, Account: tenancy}
		},
		Types: join(ociNetwork(), ociBalancer(), ociCompute(), ociOther()),
		Data:  ociData(),
		Values: values{
			"time_created": simcloud.Const("2026-01-01 00:00:00 +0000 UTC"), "defined_tags": simcloud.Const(map[string]any{}), "freeform_tags": simcloud.Const(map[string]any{}),
			"system_tags": simcloud.Const(map[string]any{}), "security_attributes": simcloud.Const(map[string]any{}), "display_name": simcloud.Text("simulated-{digits:14}"), "lifecycle_details": simcloud.Const(""),
		},
		Refusals: map[simcloud.Refusal]string{
			simcloud.RefuseExists:   "409-NotAuthorizedOrResourceAlreadyExists, the resource already exists",
			simcloud.RefuseInUse:    "409-Conflict, the resource is in use",
			simcloud.RefuseQuota:    "400-LimitExceeded, the following service limits were exceeded: standard-e5-core-count",
			simcloud.RefuseConflict: "409-Conflict, invalid State Transition of NLB lifeCycle state from Updating to Updating",
			simcloud.RefuseGone:     "404-NotAuthorizedOrNotFound, authorization failed or requested resource not found",
		},
	}
}

// ocid is an id such as ocid1.instance.oc1.eu-frankfurt-1.….
func ocid(kind string) simcloud.Value {
	return func(c *simcloud.Context) any { return ociID(c, kind, c.Path()) }
}

func ociID(c *simcloud.Context, kind, label string) string {
	return "ocid1." + kind + ".oc1." + c.Settings().Region + ".a" + c.Hex(kind+"/"+label, 59)
}

// ociDomains are the availability domains of the region.
func ociDomains(c *simcloud.Context) []string {
	name := strings.ToUpper(strings.ReplaceAll(c.Settings().Region, "_", "-"))
	return []string{"Sim:" + name + "-AD-1", "Sim:" + name + "-AD-2", "Sim:" + name + "-AD-3"}
}

// ociTags: a resource has at most 10 free-form tags.
var ociTags = atMost("freeform_tags", 10, 100, "400-InvalidParameter, freeform tags exceed the limits")

// oci is the rule of a type with an OCID.
func oci(kind simcloud.Kind, name string, rule simcloud.TypeRule) simcloud.TypeRule {
	rule.Kind = kind
	v := values{"id": ocid(name)}
	maps.Copy(v, rule.Values)
	rule.Values = v
	rule.Create, rule.Update = chain(ociTags, orNothing(rule.Create)), chain(ociTags, orNothing(rule.Update))
	return rule
}

// available is the state of networks and the like.
func available(more values) values {
	if more == nil {
		more = values{}
	}
	more["state"] = simcloud.Const("AVAILABLE")
	return more
}

func ociNetwork() types {
	return types{
		"oci_core_vcn": oci(simcloud.KindNetwork, "vcn", simcloud.TypeRule{
			ForceNew: []string{"cidr_block", "dns_label", "byoipv6cidr_details", "ipv6private_cidr_blocks", "is_ipv6enabled", "is_oracle_gua_allocation_enabled"},
			Values: available(values{
				"cidr_block": simcloud.OneOf(simcloud.Copy("cidr_blocks.0"), simcloud.Const("10.0.0.0/16")), "cidr_blocks": func(c *simcloud.Context) any { return []any{c.Text("cidr_block")} },
				"default_dhcp_options_id": ocid("dhcpoptions"), "default_route_table_id": ocid("routetable"), "default_security_list_id": ocid("securitylist"), "dns_label": simcloud.Const(""),
				"vcn_domain_name": simcloud.Const(""), "ipv6cidr_blocks": simcloud.Const([]any{}), "byoipv6cidr_blocks": simcloud.Const([]any{}),
			}),
			UsedBy: []simcloud.Reference{
				{Type: "oci_core_subnet", Attribute: "vcn_id"}, {Type: "oci_core_network_security_group", Attribute: "vcn_id"}, {Type: "oci_core_internet_gateway", Attribute: "vcn_id"},
				{Type: "oci_core_nat_gateway", Attribute: "vcn_id"}, {Type: "oci_core_service_gateway", Attribute: "vcn_id"}, {Type: "oci_core_route_table", Attribute: "vcn_id"},
			},
		}),
		"oci_core_subnet": oci(simcloud.KindSubnet, "subnet", simcloud.TypeRule{
			ForceNew: []string{"availability_domain", "dns_label", "prohibit_internet_ingress", "prohibit_public_ip_on_vnic", "vcn_id"},
			Values: available(values{
				"cidr_block": simcloud.Const("10.0.0.0/24"), "availability_domain": simcloud.Const(""), "dns_label": simcloud.Const(""), "dhcp_options_id": simcloud.From("oci_core_vcn", "vcn_id", "default_dhcp_options_id"),
				"route_table_id":    simcloud.From("oci_core_vcn", "vcn_id", "default_route_table_id"),
				"security_list_ids": func(c *simcloud.Context) any { return []any{c.Text("vcn_id") + ".default"} },
				"ipv4cidr_blocks":   func(c *simcloud.Context) any { return []any{c.Text("cidr_block")} }, "ipv6cidr_block": simcloud.Const(""), "ipv6cidr_blocks": simcloud.Const([]any{}),
				"virtual_router_ip": func(c *simcloud.Context) any { return googleGateway(c.Text("cidr_block")) }, "subnet_domain_name": simcloud.Const(""),
			}),
			Create: ociSubnetRange,
			UsedBy: []simcloud.Reference{
				{Type: "oci_core_instance", Attribute: "create_vnic_details.subnet_id"}, {Type: "oci_network_load_balancer_network_load_balancer", Attribute: "subnet_id"},
			},
		}),
		"oci_core_network_security_group": oci(simcloud.KindFirewall, "networksecuritygroup", simcloud.TypeRule{
			ForceNew: []string{"vcn_id"}, Values: available(nil), Delete: ociRules,
			UsedBy: []simcloud.Reference{{Type: "oci_core_instance", Attribute: "create_vnic_details.nsg_ids"}, {Type: "oci_network_load_balancer_network_load_balancer", Attribute: "network_security_group_ids"}},
		}),
		"oci_core_network_security_group_security_rule": {
			Kind: simcloud.KindFirewall,
			ForceNew: []string{
				"description", "destination", "destination_type", "direction", "icmp_options", "network_security_group_id", "protocol", "source", "source_type", "stateless", "tcp_options", "udp_options",
			},
			Values: values{
				"id": func(c *simcloud.Context) any { return strings.ToUpper(c.Hex("rule", 6)) }, "is_valid": simcloud.Const(true), "stateless": simcloud.Const(false), "destination": simcloud.Const(""),
				"destination_type": simcloud.Const(""), "source_type": simcloud.Const(""), "description": simcloud.Const(""),
			},
		},
		"oci_core_security_list":    oci(simcloud.KindFirewall, "securitylist", simcloud.TypeRule{ForceNew: []string{"vcn_id"}, Values: available(nil)}),
		"oci_core_internet_gateway": oci(simcloud.KindOther, "internetgateway", simcloud.TypeRule{ForceNew: []string{"vcn_id"}, Values: available(values{"route_table_id": simcloud.Const("")})}),
		"oci_core_nat_gateway":      oci(simcloud.KindOther, "natgateway", simcloud.TypeRule{ForceNew: []string{"public_ip_id", "vcn_id"}, Values: available(values{"nat_ip": publicAddress, "public_ip_id": ocid("publicip"), "route_table_id": simcloud.Const("")})}),
		"oci_core_service_gateway":  oci(simcloud.KindOther, "servicegateway", simcloud.TypeRule{ForceNew: []string{"vcn_id"}, Values: available(values{"route_table_id": simcloud.Const(""), "services.service_name": simcloud.Const("All Services")})}),
		"oci_core_route_table":      oci(simcloud.KindOther, "routetable", simcloud.TypeRule{ForceNew: []string{"vcn_id"}, Values: available(values{"route_rules.destination_type": simcloud.Const("CIDR_BLOCK"), "route_rules.route_type": simcloud.Const("STATIC"), "route_rules.cidr_block": simcloud.Const(""), "route_rules.description": simcloud.Const("")}), UsedBy: []simcloud.Reference{{Type: "oci_core_subnet", Attribute: "route_table_id"}}}),
		"oci_core_public_ip":        oci(simcloud.KindAddress, "publicip", simcloud.TypeRule{ForceNew: []string{"lifetime", "public_ip_pool_id"}, Values: values{"ip_address": publicAddress, "state": simcloud.Const("AVAILABLE"), "scope": simcloud.Const("REGION"), "assigned_entity_id": simcloud.Const("")}}),
	}
}

// ociSubnetRange: a subnet lies in its VCN and beside the others.
func ociSubnetRange(c *simcloud.Context) error {
	p, err := netip.ParsePrefix(c.Text("cidr_block"))
	if err != nil {
		return fmt.Errorf("400-InvalidParameter, cidrBlock %q is no CIDR", c.Text("cidr_block"))
	}
	if vcn := c.Object("oci_core_vcn", c.Text("vcn_id")); vcn != nil {
		inside := false
		for _, s := range texts(vcn.Get("cidr_blocks")) {
			all, err := netip.ParsePrefix(s)
			inside = inside || err == nil && all.Contains(p.Addr()) && all.Bits() <= p.Bits()
		}
		if !inside {
			return fmt.Errorf("400-InvalidParameter, the requested CIDR %s is invalid: it is not within the VCN's CIDR", p)
		}
	}
	for _, o := range c.Objects("oci_core_subnet") {
		other, err := netip.ParsePrefix(o.Text("cidr_block"))
		if err == nil && o.Text("vcn_id") == c.Text("vcn_id") && other.Overlaps(p) {
			return fmt.Errorf("400-InvalidParameter, the requested CIDR %s is invalid: subnet %s with CIDR %s overlaps with this CIDR", p, o.ID, other)
		}
	}
	return nil
}

// ociRules: a group goes with its rules.
func ociRules(c *simcloud.Context) error {
	for _, o := range c.Objects("oci_core_network_security_group_security_rule") {
		if o.Text("network_security_group_id") == c.Text("id") {
			c.Remove(o.Type, o.ID)
		}
	}
	return nil
}

func ociBalancer() types {
	below := func(collection string) simcloud.Value {
		return func(c *simcloud.Context) any {
			return "networkLoadBalancers/" + c.Text("network_load_balancer_id") + "/" + collection + "/" + c.Text("name")
		}
	}
	return types{
		"oci_network_load_balancer_network_load_balancer": oci(simcloud.KindBalancer, "networkloadbalancer", simcloud.TypeRule{
			ForceNew: []string{"assigned_ipv6", "assigned_private_ipv4", "is_private", "reserved_ips", "subnet_id", "subnet_ipv6cidr"},
			Values: values{
				"state": simcloud.Const("ACTIVE"), "is_private": simcloud.Const(false), "is_preserve_source_destination": simcloud.Const(false), "is_symmetric_hash_enabled": simcloud.Const(false),
				"nlb_ip_version": simcloud.Const("IPV4"), "time_updated": simcloud.Const("2026-01-01 00:00:00 +0000 UTC"), "ip_addresses": ociBalancerAddresses, "reserved_ips.id": simcloud.Const(""),
			},
			Delete: ociChildren,
		}),
		"oci_network_load_balancer_backend_set": {
			Kind: simcloud.KindTarget, ForceNew: []string{"name", "network_load_balancer_id"},
			Values: values{
				"id": below("backendSets"), "backends": simcloud.Const([]any{}), "ip_version": simcloud.Const("IPV4"), "is_fail_open": simcloud.Const(false), "is_preserve_source": simcloud.Const(true),
				"is_instant_failover_enabled": simcloud.Const(false), "is_instant_failover_tcp_reset_enabled": simcloud.Const(true), "are_operationally_active_backends_preferred": simcloud.Const(false),
				"health_checker.interval_in_millis": simcloud.Const(10000), "health_checker.timeout_in_millis": simcloud.Const(3000), "health_checker.retries": simcloud.Const(3), "health_checker.port": simcloud.Const(0),
				"health_checker.return_code": simcloud.Const(0), "health_checker.request_data": simcloud.Const(""), "health_checker.response_data": simcloud.Const(""), "health_checker.response_body_regex": simcloud.Const(""),
				"health_checker.url_path": simcloud.Const(""),
			},
			Create: ociBalancerExists, Delete: ociSetInUse,
		},
		"oci_network_load_balancer_listener": {
			Kind: simcloud.KindListener, ForceNew: []string{"name", "network_load_balancer_id"},
			Values: values{"id": below("listeners"), "ip_version": simcloud.Const("IPV4"), "is_ppv2enabled": simcloud.Const(false), "l3ip_idle_timeout": simcloud.Const(0), "tcp_idle_timeout": simcloud.Const(360), "udp_idle_timeout": simcloud.Const(0)},
			Create: chain(ociBalancerExists, alone("409-Conflict, a listener of %s has the same port and protocol", "network_load_balancer_id", "port", "protocol")),
		},
		"oci_network_load_balancer_backend": {
			Kind: simcloud.KindAttachment, ForceNew: []string{"backend_set_name", "ip_address", "name", "network_load_balancer_id", "port", "target_id"}, Parents: []string{"network_load_balancer_id"},
			Values: values{
				"name": func(c *simcloud.Context) any {
					return or(c, "target_id", c.Text("ip_address")) + ":" + strconv.Itoa(c.Int("port"))
				},
				"id": func(c *simcloud.Context) any {
					return "networkLoadBalancers/" + c.Text("network_load_balancer_id") + "/backendSets/" + c.Text("backend_set_name") + "/backends/" + c.Text("name")
				},
				"ip_address": simcloud.From("oci_core_instance", "target_id", "private_ip"), "is_backup": simcloud.Const(false), "is_drain": simcloud.Const(false), "is_offline": simcloud.Const(false), "weight": simcloud.Const(1),
				"target_id": simcloud.Const(""),
			},
			Create: chain(ociBalancerExists, alone("409-Conflict, backend %s already exists", "name", "network_load_balancer_id", "backend_set_name")),
		},
	}
}

// ociBalancerAddresses are a private address, and a public one if the balancer is not private.
func ociBalancerAddresses(c *simcloud.Context) any {
	cidr := "10.0.0.0/24"
	if o := c.Object("oci_core_subnet", c.Text("subnet_id")); o != nil {
		cidr = o.Text("cidr_block")
	}
	row := func(address string, public bool) any {
		return map[string]any{"ip_address": address, "ip_version": "IPV4", "is_public": public, "reserved_ips": []any{}}
	}
	out := []any{row(or(c, "assigned_private_ipv4", c.Address(cidr)), false)}
	if !c.Bool("is_private") {
		if s, ok := publicAddress(c).(string); ok {
			out = append([]any{row(s, true)}, out...)
		}
	}
	return out
}

func ociBalancerExists(c *simcloud.Context) error {
	all := c.Objects("oci_network_load_balancer_network_load_balancer")
	for _, o := range all {
		if o.ID == c.Text("network_load_balancer_id") {
			return nil
		}
	}
	if len(all) == 0 {
		return nil
	}
	return errors.New("404-NotAuthorizedOrNotFound, unknown resource: network load balancer " + c.Text("network_load_balancer_id"))
}

// ociChildren: a load balancer goes with all that is in it.
func ociChildren(c *simcloud.Context) error {
	for _, o := range c.Objects("oci_network_load_balancer_*") {
		if o.Text("network_load_balancer_id") == c.Text("id") {
			c.Remove(o.Type, o.ID)
		}
	}
	return nil
}

// ociSetInUse: a backend set stays while a listener names it.
func ociSetInUse(c *simcloud.Context) error {
	for _, o := range c.Objects("oci_network_load_balancer_listener") {
		if o.Text("network_load_balancer_id") == c.Text("network_load_balancer_id") && o.Text("default_backend_set_name") == c.Text("name") {
			return fmt.Errorf("400-InvalidParameter, backend set %s is used by listener %s", c.Text("name"), o.Text("name"))
		}
	}
	for _, o := range c.Objects("oci_network_load_balancer_backend") {
		if o.Text("network_load_balancer_id") == c.Text("network_load_balancer_id") && o.Text("backend_set_name") == c.Text("name") {
			c.Remove(o.Type, o.ID)
		}
	}
	return nil
}

func ociCompute() types {
	return types{
		"oci_core_instance": oci(simcloud.KindInstance, "instance", simcloud.TypeRule{
			ForceNew: []string{
				"availability_domain", "compute_cluster_id", "hostname_label", "image", "instance_configuration_id", "ipxe_script", "is_pv_encryption_in_transit_enabled", "metadata",
				"preemptible_instance_config", "subnet_id", "create_vnic_details.private_ip", "create_vnic_details.subnet_id", "create_vnic_details.assign_private_dns_record", "launch_options.firmware",
				"launch_volume_attachments", "platform_config.type", "placement_constraint_details", "source_details.instance_source_image_filter_details",
			},
			Defaults: map[string]any{"state": "RUNNING"},
			Values: values{
				"boot_volume_id": ocid("bootvolume"), "fault_domain": func(c *simcloud.Context) any { return "FAULT-DOMAIN-" + strconv.Itoa(1+c.Pick("domain", 3)) }, "image": simcloud.Copy("source_details.0.source_id"),
				"private_ip": ociAddress, "public_ip": func(c *simcloud.Context) any {
					if c.Text("create_vnic_details.0.assign_public_ip") == "true" {
						return publicAddress(c)
					}
					return ""
				},
				"subnet_id": simcloud.Copy("create_vnic_details.0.subnet_id"), "launch_mode": simcloud.Const("PARAVIRTUALIZED"), "hostname_label": simcloud.Copy("create_vnic_details.0.hostname_label"),
				"extended_metadata": simcloud.Const(map[string]any{}), "metadata": simcloud.Const(map[string]any{}), "is_cross_numa_node": simcloud.Const(false), "create_vnic_details.private_ip": ociAddress,
				"capacity_reservation_id": simcloud.Const(""), "compute_cluster_id": simcloud.Const(""), "dedicated_vm_host_id": simcloud.Const(""), "instance_configuration_id": simcloud.Const(""), "ipxe_script": simcloud.Const(""),
				"create_vnic_details.assign_public_ip": simcloud.Const("false"), "create_vnic_details.nsg_ids": simcloud.Const([]any{}), "create_vnic_details.hostname_label": simcloud.Const(""),
				"source_details.boot_volume_size_in_gbs": simcloud.Const("47"),
			},
			Create: chain(ociMetadata, ociDomain), Stopped: map[string]any{"state": "STOPPED"}, Addresses: []string{"private_ip", "create_vnic_details.private_ip", "public_ip"},
		}),
		"oci_core_instance_configuration": oci(simcloud.KindTemplate, "instanceconfiguration", simcloud.TypeRule{
			ForceNew: []string{"gmc_configs", "instance_details", "instance_id", "source"}, Values: values{"deferred_fields": simcloud.Const([]any{}), "source": simcloud.Const("NONE"), "instance_id": simcloud.Const("")},
			UsedBy: []simcloud.Reference{{Type: "oci_core_instance_pool", Attribute: "instance_configuration_id"}},
		}),
		"oci_core_instance_pool": oci(simcloud.KindGroup, "instancepool", simcloud.TypeRule{
			ForceNew: []string{"load_balancers"}, Defaults: map[string]any{"state": "RUNNING"},
			Values: values{
				"actual_size": simcloud.Copy("size"), "current_size": simcloud.Copy("size"), "pool_type": simcloud.Const("MANAGED"), "instance_display_name_formatter": simcloud.Const(""), "instance_hostname_formatter": simcloud.Const(""),
				"placement_configurations.fault_domains": simcloud.Const([]any{}), "placement_configurations.primary_subnet_id": simcloud.Const(""),
			},
			Recompute: []string{"actual_size", "current_size"}, Create: ociGroup.resize, Update: ociGroup.resize, Read: ociGroup.tick,
			UsedBy: []simcloud.Reference{{Type: "oci_autoscaling_auto_scaling_configuration", Attribute: "auto_scaling_resources.id"}},
		}),
		"oci_autoscaling_auto_scaling_configuration": oci(simcloud.KindOther, "autoscalingconfiguration", simcloud.TypeRule{
			ForceNew: []string{"auto_scaling_resources", "policies"}, Values: values{"cool_down_in_seconds": simcloud.Const(300), "is_enabled": simcloud.Const(true), "max_resource_count": simcloud.Const(0), "min_resource_count": simcloud.Const(0)},
		}),
		"oci_core_volume": oci(simcloud.KindVolume, "volume", simcloud.TypeRule{
			ForceNew: []string{"availability_domain", "cluster_placement_group_id", "size_in_mbs", "source_details", "volume_backup_id"}, Values: values{"state": simcloud.Const("AVAILABLE"), "size_in_gbs": simcloud.Const("50"), "vpus_per_gb": simcloud.Const("10"), "is_hydrated": simcloud.Const(true)},
			UsedBy: []simcloud.Reference{{Type: "oci_core_volume_attachment", Attribute: "volume_id"}},
		}),
		"oci_core_volume_attachment": oci(simcloud.KindOther, "volumeattachment", simcloud.TypeRule{ForceNew: []string{"attachment_type", "device", "display_name", "instance_id", "is_read_only", "is_shareable", "use_chap", "volume_id"}, Values: values{"state": simcloud.Const("ATTACHED")}}),
		"oci_core_image":             oci(simcloud.KindImage, "image", simcloud.TypeRule{ForceNew: []string{"image_source_details", "instance_id", "launch_mode"}, Values: values{"state": simcloud.Const("AVAILABLE")}}),
	}
}

func ociRange(c *simcloud.Context, subnet string) string {
	if o := c.Object("oci_core_subnet", subnet); o != nil {
		return o.Text("cidr_block")
	}
	return "10.7.0.0/16"
}

// ociAddress is one address for the instance and its network card.
func ociAddress(c *simcloud.Context) any {
	if s, ok := c.Attr("create_vnic_details.0.private_ip").(string); ok && s != "" && !strings.HasPrefix(c.Path(), "create_vnic_details") {
		return s
	}
	return c.Address(ociRange(c, c.Text("create_vnic_details.0.subnet_id")))
}

// ociMetadata: all metadata together have at most 32,000 bytes.
func ociMetadata(c *simcloud.Context) error {
	m, _ := c.Attr("metadata").(map[string]any)
	n := 0
	for k, x := range m {
		v, _ := x.(string)
		n += len(k) + len(v) + len(`"":"",`)
	}
	if n > 32000 {
		return fmt.Errorf("400-InvalidParameter, metadata and extended metadata are %d bytes, which exceeds the maximum of 32000 bytes", n)
	}
	return nil
}

// ociDomain: an instance is in a domain of the region, unless the tenancy is not the simulated one.
func ociDomain(c *simcloud.Context) error {
	domain := c.Text("availability_domain")
	if !strings.HasPrefix(domain, "Sim:") {
		return nil
	}
	if slices.Contains(ociDomains(c), domain) {
		return nil
	}
	return fmt.Errorf("400-InvalidParameter, availability domain %s does not exist in %s", domain, c.Settings().Region)
}

const ociPoolTag = "oci:compute:instancepool"

var ociGroup = group{
	state: "state", starting: "PROVISIONING", running: "RUNNING",
	members: func(c *simcloud.Context) []*simcloud.Object {
		var out []*simcloud.Object
		for _, o := range c.Objects("oci_core_instance") {
			if m, _ := o.Get("system_tags").(map[string]any); m[ociPoolTag] == any(c.Text("id")) {
				out = append(out, o)
			}
		}
		return out
	},
	places: func(c *simcloud.Context) []string {
		var out []string
		for _, p := range objects(c.Attr("placement_configurations")) {
			domain, _ := p["availability_domain"].(string)
			subnet, _ := p["primary_subnet_id"].(string)
			for _, s := range objects(p["primary_vnic_subnets"]) {
				subnet, _ = s["subnet_id"].(string)
			}
			out = append(out, domain+"|"+subnet)
		}
		return out
	},
	place: func(o *simcloud.Object) string { return o.Text("availability_domain") + "|" + o.Text("subnet_id") },
	size:  func(c *simcloud.Context) int { return c.Int("size") },
	build: func(c *simcloud.Context, place, label string) simcloud.Object {
		domain, subnet, _ := strings.Cut(place, "|")
		id := ociID(c, "instance", label)
		return simcloud.Object{Type: "oci_core_instance", ID: id, Kind: simcloud.KindInstance, Attributes: map[string]any{
			"id": id, "availability_domain": domain, "subnet_id": subnet, "fault_domain": "FAULT-DOMAIN-" + strconv.Itoa(1+c.Pick(label, 3)), "display_name": "inst-" + c.Hex(label, 5) + "-" + c.Text("display_name"),
			"compartment_id": c.Text("compartment_id"), "system_tags": map[string]any{ociPoolTag: c.Text("id")}, "public_ip": "",
			"private_ip": addressBeside(c, "oci_core_instance", "private_ip", ociRange(c, subnet), label),
		}}
	},
}

func ociOther() types {
	name := regexp.MustCompile(`^[\w.-]{1,100}$`)
	identity := func(kind string, force ...string) simcloud.TypeRule {
		return oci(simcloud.KindIdentity, kind, simcloud.TypeRule{
			ForceNew: append([]string{"name"}, force...), Values: values{"state": simcloud.Const("ACTIVE"), "name": simcloud.Text("simulated-{hex:8}")}, Unique: [][]string{{"name"}},
			Create: named("name", name, "400-InvalidParameter, name %q has more than 100 characters, or others than letters, digits, periods, dashes and underscores"),
		})
	}
	return types{
		"oci_identity_dynamic_group": identity("dynamicgroup", "compartment_id"), "oci_identity_policy": identity("policy", "compartment_id"),
		"oci_identity_tag_namespace": identity("tagnamespace"), "oci_identity_tag": identity("tagdefinition", "tag_namespace_id"),
		"oci_dns_zone":  oci(simcloud.KindOther, "dns-zone", simcloud.TypeRule{ForceNew: []string{"name", "scope", "view_id", "zone_type"}, Values: values{"state": simcloud.Const("ACTIVE"), "scope": simcloud.Const("GLOBAL")}}),
		"oci_dns_rrset": {Kind: simcloud.KindRecord, ForceNew: []string{"domain", "rtype", "scope", "view_id", "zone_name_or_id"}, Values: values{"id": simcloud.Text("zoneNameOrId/{attr:zone_name_or_id}/domain/{attr:domain}/rtype/{attr:rtype}")}},
	}
}

func ociData() map[string]simcloud.DataRule {
	rows := func(name string, list func(c *simcloud.Context) []any) simcloud.DataRule {
		return simcloud.DataRule{Values: values{name: func(c *simcloud.Context) any { return list(c) }}}
	}
	// listing tells what the simulated cloud has of a type, else what a user names.
	listing := func(name, typ string, user func(c *simcloud.Context) []any) simcloud.DataRule {
		return rows(name, func(c *simcloud.Context) []any {
			var out []any
			for _, o := range c.Objects(typ) {
				if ids := filterValues(c, "id"); len(ids) > 0 && ids[0] != o.ID {
					continue
				}
				out = append(out, o.Attributes)
			}
			if len(out) == 0 && user != nil {
				return user(c)
			}
			return out
		})
	}
	brought := func(kind string) func(c *simcloud.Context) []any {
		return func(c *simcloud.Context) []any {
			ids := filterValues(c, "id")
			if len(ids) == 0 {
				ids = []string{ociID(c, kind, "user")}
			}
			var out []any
			for _, id := range ids {
				out = append(out, map[string]any{"id": id, "compartment_id": c.Text("compartment_id"), "state": "AVAILABLE", "display_name": kind, "cidr_block": "10.7.0.0/16", "vcn_id": or(c, "vcn_id", ociID(c, "vcn", "user"))})
			}
			return out
		}
	}
	return map[string]simcloud.DataRule{
		"oci_identity_availability_domains": rows("availability_domains", func(c *simcloud.Context) []any {
			var out []any
			for _, d := range ociDomains(c) {
				out = append(out, map[string]any{"id": ociID(c, "availabilitydomain", d), "name": d, "compartment_id": c.Text("compartment_id")})
			}
			return out
		}),
		"oci_identity_fault_domains": rows("fault_domains", func(c *simcloud.Context) []any {
			var out []any
			for _, n := range []string{"1", "2", "3"} {
				out = append(out, map[string]any{"name": "FAULT-DOMAIN-" + n, "id": ociID(c, "faultdomain", n), "availability_domain": c.Text("availability_domain"), "compartment_id": c.Text("compartment_id")})
			}
			return out
		}),
		"oci_identity_region_subscriptions": rows("region_subscriptions", func(c *simcloud.Context) []any {
			return []any{map[string]any{"region_name": c.Settings().Region, "region_key": "SIM", "is_home_region": true, "status": "READY"}}
		}),
		"oci_core_subnets": listing("subnets", "oci_core_subnet", brought("subnet")),
		"oci_core_vcns":    listing("virtual_networks", "oci_core_vcn", brought("vcn")),
		"oci_core_images": rows("images", func(c *simcloud.Context) []any {
			return []any{map[string]any{"id": ociID(c, "image", "0"), "display_name": or(c, "display_name", "image"), "state": "AVAILABLE", "compartment_id": c.Text("compartment_id")}}
		}),
		"oci_core_instance_pool_instances": rows("instances", func(c *simcloud.Context) []any {
			out := []any{}
			for _, o := range c.Objects("oci_core_instance") {
				if m, _ := o.Get("system_tags").(map[string]any); m[ociPoolTag] != any(c.Text("instance_pool_id")) {
					continue
				}
				state := o.Text("state")
				out = append(out, map[string]any{
					"id": o.ID, "instance_id": o.ID, "availability_domain": o.Text("availability_domain"), "fault_domain": o.Text("fault_domain"), "display_name": o.Text("display_name"),
					"state": state[:1] + strings.ToLower(state[1:]), "compartment_id": o.Text("compartment_id"),
				})
			}
			return out
		}),
		"oci_core_instance":      {Strict: true, Match: map[string]string{"instance_id": "id"}},
		"oci_core_instance_pool": {Strict: true, Match: map[string]string{"instance_pool_id": "id"}},
	}
}
