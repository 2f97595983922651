package persona

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"

	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// What replaces an object and what is planned by default follows openstack/resource_openstack_*.go of
// terraform-provider-openstack 3.4; limits and texts of refusals follow the API references of Nova,
// Neutron, Octavia and Swift.

// OpenStack is the persona of terraform-provider-openstack/openstack.
func OpenStack() *simcloud.Persona {
	return &simcloud.Persona{
		Source: "terraform-provider-openstack/openstack", Title: "OpenStack",
		Settings: simcloud.Settings{Region: "RegionOne", Account: "5f6e0a3c9b7d4c1e8a2b0d9f6c3e1a7b"},
		Configure: func(config map[string]any) simcloud.Settings {
			region, _ := config["region"].(string)
			tenant, _ := config["tenant_id"].(string)
			return simcloud.Settings{Region: region, Account: tenant}
		},
		Types: join(openstackNetwork(), openstackCompute(), openstackBalancer(), openstackStorage()),
		Data:  openstackData(),
		// Every type has a region of its own.
		ForceNew: []string{"region"},
		Values:   values{"tenant_id": simcloud.Text("{account}"), "project_id": simcloud.Text("{account}")},
		Refusals: map[simcloud.Refusal]string{
			simcloud.RefuseExists:   "409 Conflict: the resource already exists",
			simcloud.RefuseInUse:    "409 Conflict: the resource is in use",
			simcloud.RefuseQuota:    "403 Forbidden: Quota exceeded for instances, cores: requested 1, 2, but already used 10, 20 of 10, 20 instances, cores",
			simcloud.RefuseConflict: "409 Conflict: Load Balancer is immutable and cannot be updated",
			simcloud.RefuseGone:     "404 Not Found: the resource could not be found",
		},
	}
}

// uuid is an id of any OpenStack service.
var uuid = simcloud.Text("{uuid}")

func openstackNetwork() types {
	return types{
		"openstack_networking_network_v2": {
			Kind: simcloud.KindNetwork, ForceNew: []string{"tenant_id", "segments", "availability_zone_hints"},
			Values: values{
				"id": uuid, "admin_state_up": simcloud.Const(true), "external": simcloud.Const(false), "shared": simcloud.Const(false), "mtu": simcloud.Const(1450),
				"port_security_enabled": simcloud.Const(true), "transparent_vlan": simcloud.Const(false), "dns_domain": simcloud.Const(""), "qos_policy_id": simcloud.Const(""),
				"availability_zone_hints": simcloud.Const([]any{}),
			},
			UsedBy: []simcloud.Reference{{Type: "openstack_networking_subnet_v2", Attribute: "network_id"}, {Type: "openstack_networking_port_v2", Attribute: "network_id"}},
		},
		"openstack_networking_subnet_v2": {
			Kind: simcloud.KindSubnet, ForceNew: []string{"network_id", "cidr", "prefix_length", "tenant_id", "ip_version", "ipv6_address_mode", "ipv6_ra_mode", "subnetpool_id"},
			Defaults: map[string]any{"ip_version": 4, "enable_dhcp": true, "no_gateway": false},
			Values: values{
				"id": uuid, "cidr": simcloud.Const("192.168.0.0/24"), "gateway_ip": firstAddress, "ipv6_address_mode": simcloud.Const(""), "ipv6_ra_mode": simcloud.Const(""),
				"service_types": simcloud.Const([]any{}),
			},
			UsedBy: []simcloud.Reference{
				{Type: "openstack_networking_port_v2", Attribute: "fixed_ip.subnet_id"}, {Type: "openstack_networking_router_interface_v2", Attribute: "subnet_id"},
				{Type: "openstack_lb_loadbalancer_v2", Attribute: "vip_subnet_id"},
			},
		},
		"openstack_networking_router_v2": {
			ForceNew: []string{"tenant_id", "availability_zone_hints"},
			Values: values{
				"id": uuid, "admin_state_up": simcloud.Const(true), "distributed": simcloud.Const(false), "enable_snat": simcloud.Const(true), "external_network_id": simcloud.Const(""),
				"external_qos_policy_id": simcloud.Const(""), "availability_zone_hints": simcloud.Const([]any{}),
			},
			UsedBy: []simcloud.Reference{{Type: "openstack_networking_router_interface_v2", Attribute: "router_id"}},
		},
		"openstack_networking_router_interface_v2": {
			ForceNew: []string{"router_id", "subnet_id", "port_id"}, Values: values{"port_id": uuid, "id": simcloud.Copy("port_id")},
		},
		"openstack_networking_port_v2": {
			Kind: simcloud.KindPort, ForceNew: []string{"network_id", "tenant_id", "mac_address"},
			Values: values{
				"id": uuid, "admin_state_up": simcloud.Const(true), "all_fixed_ips": portAddresses, "all_security_group_ids": simcloud.Copy("security_group_ids"),
				"mac_address": simcloud.Text("fa:16:3e:{hex:2}:{hex:2}:{hex:2}"), "device_id": simcloud.Const(""), "device_owner": simcloud.Const(""), "dns_name": simcloud.Const(""),
				"dns_assignment": simcloud.Const([]any{}), "port_security_enabled": simcloud.Const(true), "qos_policy_id": simcloud.Const(""),
			},
			Create: subnetOfNetwork,
			UsedBy: []simcloud.Reference{{Type: "openstack_networking_trunk_v2", Attribute: "port_id"}},
		},
		"openstack_networking_secgroup_v2": {
			Kind: simcloud.KindFirewall, ForceNew: []string{"tenant_id", "delete_default_rules"},
			Values: values{"id": uuid, "stateful": simcloud.Const(true), "description": simcloud.Const("")},
			Create: named("name", regexp.MustCompile(`^.{1,255}$`), "400 Bad Request: invalid input for name: '%s' exceeds maximum length of 255"),
			UsedBy: []simcloud.Reference{{Type: "openstack_networking_port_v2", Attribute: "security_group_ids"}},
			Delete: groupRules,
		},
		"openstack_networking_secgroup_rule_v2": {
			Kind: simcloud.KindFirewall,
			ForceNew: []string{
				"description", "direction", "ethertype", "port_range_min", "port_range_max", "protocol", "remote_address_group_id", "remote_group_id", "remote_ip_prefix",
				"security_group_id", "tenant_id",
			},
			Values: values{"id": uuid, "remote_group_id": simcloud.Const(""), "remote_ip_prefix": simcloud.Const(""), "remote_address_group_id": simcloud.Const("")},
			Create: alone("409 Conflict: SecurityGroupRuleExists: security group rule already exists in group %s",
				"security_group_id", "direction", "ethertype", "protocol", "port_range_min", "port_range_max", "remote_group_id", "remote_ip_prefix"),
		},
		"openstack_networking_floatingip_v2": {
			Kind: simcloud.KindAddress, ForceNew: []string{"address", "dns_domain", "dns_name", "pool", "subnet_id", "tenant_id"},
			Values: values{
				"id": uuid, "address": publicAddress, "port_id": simcloud.Const(""), "fixed_ip": portAddress("port_id"), "subnet_id": simcloud.Const(""),
				"dns_name": simcloud.Const(""), "dns_domain": simcloud.Const(""),
			},
		},
		"openstack_networking_floatingip_associate_v2": {
			ForceNew: []string{"floating_ip"}, Values: values{"id": uuid, "fixed_ip": portAddress("port_id")},
		},
		"openstack_networking_trunk_v2": {ForceNew: []string{"port_id", "tenant_id"}, Values: values{"id": uuid}},
	}
}

// firstAddress is what a subnet's gateway gets.
func firstAddress(c *simcloud.Context) any {
	if p, err := netip.ParsePrefix(c.Text("cidr")); err == nil && !c.Bool("no_gateway") {
		return nth(p.Masked().Addr(), 1)
	}
	return ""
}

// portAddresses are the addresses of a port: those that are asked for, else one of each of its subnets.
func portAddresses(c *simcloud.Context) any {
	out := []any{}
	for _, f := range objects(c.Attr("fixed_ip")) {
		if s, _ := f["ip_address"].(string); s != "" {
			out = append(out, s)
			continue
		}
		id, _ := f["subnet_id"].(string)
		out = append(out, c.Address(subnetRangeOf(c, id, "")))
	}
	if len(out) == 0 && !c.Bool("no_fixed_ip") {
		out = append(out, c.Address(subnetRangeOf(c, "", c.Text("network_id"))))
	}
	return out
}

// subnetRangeOf is the range of a subnet, by its id or its network.
func subnetRangeOf(c *simcloud.Context, id, network string) string {
	for _, o := range c.Objects("openstack_networking_subnet_v2") {
		if o.ID == id || (network != "" && o.Text("network_id") == network) {
			return o.Text("cidr")
		}
	}
	return "10.6.0.0/16"
}

func portAddress(by string) simcloud.Value {
	return func(c *simcloud.Context) any {
		if o := c.Object("openstack_networking_port_v2", c.Text(by)); o != nil {
			if l := texts(o.Get("all_fixed_ips")); len(l) > 0 {
				return l[0]
			}
		}
		return ""
	}
}

// subnetOfNetwork: the addresses of a port are of subnets of its network.
func subnetOfNetwork(c *simcloud.Context) error {
	for _, f := range objects(c.Attr("fixed_ip")) {
		id, _ := f["subnet_id"].(string)
		if o := c.Object("openstack_networking_subnet_v2", id); o != nil && o.Text("network_id") != c.Text("network_id") {
			return fmt.Errorf("400 Bad Request: InvalidIpForNetwork: IP address is not a valid IP for any of the subnets on the specified network: subnet %s is not on network %s", id, c.Text("network_id"))
		}
	}
	return nil
}

// groupRules: a group goes with its rules.
func groupRules(c *simcloud.Context) error {
	for _, o := range c.Objects("openstack_networking_secgroup_rule_v2") {
		if o.Text("security_group_id") == c.Text("id") || o.Text("remote_group_id") == c.Text("id") {
			c.Remove(o.Type, o.ID)
		}
	}
	return nil
}

func openstackCompute() types {
	return types{
		"openstack_compute_instance_v2": {
			Kind: simcloud.KindInstance,
			ForceNew: []string{
				"availability_zone", "block_device", "config_drive", "image_id", "image_name", "key_pair", "network.access_network", "network.fixed_ip_v4", "network.fixed_ip_v6", "network.name",
				"network.port", "network.uuid", "network_mode", "personality", "scheduler_hints", "user_data",
			},
			Defaults: map[string]any{"power_state": "active", "stop_before_destroy": false, "force_delete": false, "block_device.boot_index": 0, "network.access_network": false},
			Values: values{
				"id": uuid, "availability_zone": simcloud.Const("nova"), "created": simcloud.Const("2026-01-01T00:00:00Z"), "updated": simcloud.Const("2026-01-01T00:00:00Z"),
				"flavor_id": uuid, "flavor_name": simcloud.Const("m1.large"), "hypervisor_hostname": simcloud.Const(""),
				"image_id": bootedFromVolume(uuid), "image_name": bootedFromVolume(simcloud.Const("image")), "security_groups": simcloud.Const([]any{}),
				"all_metadata": simcloud.Copy("metadata"), "all_tags": simcloud.Copy("tags"), "access_ip_v6": simcloud.Const(""),
				"access_ip_v4": simcloud.OneOf(simcloud.Copy("network.0.fixed_ip_v4"), func(c *simcloud.Context) any { return c.Address("10.6.0.0/16") }),
				"network.name": simcloud.Const("private"), "network.uuid": networkOfPort, "network.port": simcloud.Const(""),
				"network.mac": simcloud.Text("fa:16:3e:{hex:2}:{hex:2}:{hex:2}"), "network.fixed_ip_v6": simcloud.Const(""), "network.fixed_ip_v4": addressOfPort,
			},
			Create: chain(novaName, novaUserData, novaPorts), Stopped: map[string]any{"power_state": "shutoff"}, Addresses: []string{"access_ip_v4"},
		},
		"openstack_compute_servergroup_v2":      {ForceNew: []string{"name", "policies", "rules", "value_specs"}, Values: values{"id": uuid, "members": simcloud.Const([]any{})}},
		"openstack_compute_keypair_v2":          {ForceNew: []string{"name", "public_key", "user_id", "value_specs"}, Values: values{"id": simcloud.Copy("name")}, Unique: [][]string{{"name"}}},
		"openstack_compute_volume_attach_v2":    {ForceNew: []string{"instance_id", "volume_id", "device"}, Values: values{"id": simcloud.Text("{attr:instance_id}/{attr:volume_id}"), "device": simcloud.Const("/dev/vdb")}},
		"openstack_compute_interface_attach_v2": {ForceNew: []string{"instance_id", "port_id", "network_id", "fixed_ip"}, Values: values{"id": simcloud.Text("{attr:instance_id}/{attr:port_id}"), "port_id": uuid}},
	}
}

// bootedFromVolume is what a server without an image has.
func bootedFromVolume(image simcloud.Value) simcloud.Value {
	return func(c *simcloud.Context) any {
		if len(objects(c.Attr("block_device"))) > 0 && c.Text("image_id") == "" && c.Text("image_name") == "" {
			return "Attempt to boot from volume - no image supplied"
		}
		return image(c)
	}
}

// portIn is the port of the network block whose attribute is made.
func portIn(c *simcloud.Context) *simcloud.Object {
	port := c.Text(regexp.MustCompile(`[^.]+$`).ReplaceAllString(c.Path(), "port"))
	return c.Object("openstack_networking_port_v2", port)
}

func networkOfPort(c *simcloud.Context) any {
	if o := portIn(c); o != nil {
		return o.Get("network_id")
	}
	return c.UUID(c.Path())
}

func addressOfPort(c *simcloud.Context) any {
	if o := portIn(c); o != nil {
		if l := texts(o.Get("all_fixed_ips")); len(l) > 0 {
			return l[0]
		}
	}
	return c.Address(subnetRangeOf(c, "", c.Text(regexp.MustCompile(`[^.]+$`).ReplaceAllString(c.Path(), "uuid"))))
}

func novaName(c *simcloud.Context) error {
	if n := len(c.Text("name")); n < 1 || n > 255 {
		return fmt.Errorf("400 Bad Request: invalid input for field/attribute name: %d characters, at most 255 are allowed", n)
	}
	return nil
}

// novaUserData: user data has at most 65,535 characters of base64.
func novaUserData(c *simcloud.Context) error {
	if n := len(c.Text("user_data")); n > 65535 {
		return fmt.Errorf("400 Bad Request: invalid input for field/attribute user_data: %d characters, at most 65535 are allowed", n)
	}
	return nil
}

// novaPorts: a port belongs to one server.
func novaPorts(c *simcloud.Context) error {
	for _, n := range objects(c.Attr("network")) {
		port, _ := n["port"].(string)
		for _, o := range c.Objects("openstack_compute_instance_v2") {
			for _, other := range objects(o.Get("network")) {
				if port != "" && other["port"] == any(port) {
					return fmt.Errorf("409 Conflict: port %s is still in use", port)
				}
			}
		}
	}
	return nil
}

func openstackBalancer() types {
	name := named("name", regexp.MustCompile(`^.{0,255}$`), "400 Bad Request: invalid input for field/attribute name: '%s' exceeds maximum length of 255")
	return types{
		"openstack_lb_loadbalancer_v2": {
			Kind: simcloud.KindBalancer, ForceNew: []string{"availability_zone", "flavor_id", "loadbalancer_provider", "tenant_id", "vip_address", "vip_network_id", "vip_port_id", "vip_subnet_id"},
			Defaults: map[string]any{"admin_state_up": true},
			Values: values{
				"id": uuid, "vip_address": simcloud.AddressIn("openstack_networking_subnet_v2", "vip_subnet_id", "cidr", "10.6.0.0/16"), "vip_port_id": uuid, "vip_subnet_id": uuid,
				"vip_network_id": simcloud.OneOf(simcloud.From("openstack_networking_subnet_v2", "vip_subnet_id", "network_id"), uuid), "loadbalancer_provider": simcloud.Const("amphora"),
				"flavor_id": simcloud.Const(""), "security_group_ids": simcloud.Const([]any{}),
			},
			Create: name,
			UsedBy: []simcloud.Reference{{Type: "openstack_lb_listener_v2", Attribute: "loadbalancer_id"}, {Type: "openstack_lb_pool_v2", Attribute: "loadbalancer_id"}},
		},
		"openstack_lb_listener_v2": {
			Kind: simcloud.KindListener, ForceNew: []string{"loadbalancer_id", "protocol", "protocol_port", "tenant_id"}, Defaults: map[string]any{"admin_state_up": true},
			Values: values{
				"id": uuid, "name": simcloud.Const(""), "connection_limit": simcloud.Const(-1), "default_pool_id": simcloud.Const(""), "timeout_client_data": simcloud.Const(50000),
				"timeout_member_connect": simcloud.Const(5000), "timeout_member_data": simcloud.Const(50000), "timeout_tcp_inspect": simcloud.Const(0),
				"alpn_protocols": simcloud.Const([]any{}), "tls_versions": simcloud.Const([]any{}), "tls_ciphers": simcloud.Const(""),
			},
			Create: chain(name, octaviaParent("loadbalancer_id", "openstack_lb_loadbalancer_v2"),
				alone("409 Conflict: another Listener on this Load Balancer %s is already using this protocol_port", "loadbalancer_id", "protocol_port")),
			UsedBy: []simcloud.Reference{{Type: "openstack_lb_pool_v2", Attribute: "listener_id"}},
		},
		"openstack_lb_pool_v2": {
			Kind: simcloud.KindTarget, ForceNew: []string{"listener_id", "loadbalancer_id", "protocol", "tenant_id"}, Defaults: map[string]any{"admin_state_up": true},
			Values: values{"id": uuid, "alpn_protocols": simcloud.Const([]any{}), "tls_versions": simcloud.Const([]any{}), "tls_ciphers": simcloud.Const("")},
			Create: chain(name, octaviaParent("listener_id", "openstack_lb_listener_v2"), octaviaParent("loadbalancer_id", "openstack_lb_loadbalancer_v2")),
			Delete: octaviaChildren,
		},
		"openstack_lb_monitor_v2": {
			ForceNew: []string{"pool_id", "tenant_id", "type"}, Defaults: map[string]any{"admin_state_up": true},
			Values: values{
				"id": uuid, "max_retries_down": simcloud.Const(3), "http_method": simcloud.Const(""), "url_path": simcloud.Const(""), "expected_codes": simcloud.Const(""),
			},
			Create: chain(octaviaParent("pool_id", "openstack_lb_pool_v2"), monitorTimes, alone("409 Conflict: this pool %s already has a health monitor", "pool_id")),
		},
		"openstack_lb_member_v2": {
			Kind: simcloud.KindAttachment, ForceNew: []string{"address", "pool_id", "protocol_port", "subnet_id", "tenant_id"}, Parents: []string{"pool_id"},
			Defaults: map[string]any{"admin_state_up": true},
			Values:   values{"id": uuid, "weight": simcloud.Const(1)},
			Create: chain(octaviaParent("pool_id", "openstack_lb_pool_v2"),
				alone("409 Conflict: another member on this pool is already using ip address %s on this protocol_port", "address", "pool_id", "protocol_port")),
		},
		"openstack_lb_members_v2": {Kind: simcloud.KindAttachment, ForceNew: []string{"pool_id"}, Parents: []string{"pool_id"}, Values: values{"id": simcloud.Copy("pool_id"), "member.id": uuid}},
	}
}

// octaviaParent: a child of something that Octavia has not is refused. Load balancers are hardly ever brought, so
// this holds as soon as the simulated cloud has any.
func octaviaParent(path, typ string) simcloud.Hook {
	return func(c *simcloud.Context) error {
		id := c.Text(path)
		if id == "" || len(c.Objects(typ)) == 0 || c.Object(typ, id) != nil {
			return nil
		}
		return fmt.Errorf("404 Not Found: %s %s not found", typ, id)
	}
}

// octaviaChildren: a pool goes with its monitor and members.
func octaviaChildren(c *simcloud.Context) error {
	for _, typ := range []string{"openstack_lb_monitor_v2", "openstack_lb_member_v2", "openstack_lb_members_v2"} {
		for _, o := range c.Objects(typ) {
			if o.Text("pool_id") == c.Text("id") {
				c.Remove(o.Type, o.ID)
			}
		}
	}
	return nil
}

// monitorTimes: a check has to end before the next begins.
func monitorTimes(c *simcloud.Context) error {
	if c.Int("timeout") > c.Int("delay") {
		return errors.New("400 Bad Request: delay must be greater than or equal to timeout")
	}
	return nil
}

func openstackStorage() types {
	return types{
		"openstack_blockstorage_volume_v3": {
			Kind: simcloud.KindVolume, ForceNew: []string{"availability_zone", "image_id", "name", "snapshot_id", "source_vol_id", "backup_id", "volume_type", "scheduler_hints"},
			Plain: []string{"name"}, Values: values{"id": uuid, "availability_zone": simcloud.Const("nova"), "volume_type": simcloud.Const("default"), "metadata": simcloud.Const(map[string]any{}), "attachment": simcloud.Const([]any{})},
			UsedBy: []simcloud.Reference{{Type: "openstack_compute_volume_attach_v2", Attribute: "volume_id"}},
		},
		"openstack_images_image_v2":            {Kind: simcloud.KindImage, ForceNew: []string{"container_format", "disk_format", "image_source_url", "local_file_path"}, Values: values{"id": uuid, "image_id": simcloud.Copy("id"), "status": simcloud.Const("active"), "owner": simcloud.Text("{account}")}},
		"openstack_objectstorage_container_v1": {ForceNew: []string{"name"}, Values: values{"id": simcloud.Copy("name"), "storage_policy": simcloud.Const("default"), "storage_class": simcloud.Const("")}, Unique: [][]string{{"name"}}, Delete: swiftEmpty},
		"openstack_objectstorage_object_v1":    {ForceNew: []string{"container_name", "name"}, Values: values{"id": simcloud.Text("{attr:container_name}/{attr:name}"), "etag": simcloud.Text("{hex:32}"), "content_type": simcloud.Const("application/octet-stream")}, Recompute: []string{"etag", "last_modified", "trans_id"}},
		"openstack_objectstorage_tempurl_v1":   {ForceNew: []string{"container", "object", "method", "ttl", "split", "key", "digest"}, Values: values{"id": simcloud.Text("{hex:40}"), "url": simcloud.Text("https://swift.sim.internal/v1/AUTH_{account}/{attr:container}/{attr:object}?temp_url_sig={hex:40}&temp_url_expires=1767225600")}},
		"openstack_dns_zone_v2":                {ForceNew: []string{"name", "type"}, Values: values{"id": uuid, "type": simcloud.Const("PRIMARY"), "ttl": simcloud.Const(3600)}, Unique: [][]string{{"name"}}, UsedBy: []simcloud.Reference{{Type: "openstack_dns_recordset_v2", Attribute: "zone_id"}}},
		"openstack_dns_recordset_v2":           {Kind: simcloud.KindRecord, ForceNew: []string{"name", "type", "zone_id"}, Values: values{"id": simcloud.Text("{attr:zone_id}/{uuid}"), "type": simcloud.Const("A"), "ttl": simcloud.Const(3600)}},
	}
}

// swiftEmpty: a container goes when it is empty, or with all that is in it if that is wanted.
func swiftEmpty(c *simcloud.Context) error {
	for _, o := range c.Objects("openstack_objectstorage_object_v1") {
		if o.Text("container_name") != c.Text("name") {
			continue
		}
		if !c.Bool("force_destroy") {
			return fmt.Errorf("409 Conflict: container %s is not empty", c.Text("name"))
		}
		c.Remove(o.Type, o.ID)
	}
	return nil
}

func openstackData() map[string]simcloud.DataRule {
	return map[string]simcloud.DataRule{
		"openstack_compute_availability_zones_v2": {Values: values{"names": simcloud.Const([]any{"az-1", "az-2", "az-3"}), "id": simcloud.Text("{digits:10}")}},
		"openstack_networking_subnet_ids_v2": {
			Of: "openstack_networking_subnet_v2", List: map[string]string{"ids": "id"},
			// A subnet that a user names by its id is there.
			Values: values{"ids": func(c *simcloud.Context) any { return []any{or(c, "subnet_id", c.UUID("subnet"))} }, "id": simcloud.Text("{digits:10}")},
			Match:  map[string]string{"sort_key": "", "sort_direction": "", "name_regex": ""},
		},
		"openstack_networking_subnet_v2": {
			Match: map[string]string{"subnet_id": "id"},
			Values: values{
				"id": simcloud.OneOf(simcloud.Copy("subnet_id"), uuid), "subnet_id": simcloud.Copy("id"), "network_id": uuid, "cidr": simcloud.Const("10.6.0.0/16"), "gateway_ip": simcloud.Const("10.6.0.1"),
				"ip_version": simcloud.Const(4), "enable_dhcp": simcloud.Const(true), "name": simcloud.Const("nodes"),
			},
		},
		"openstack_networking_network_v2": {
			Match:  map[string]string{"network_id": "id"},
			Values: values{"id": simcloud.OneOf(simcloud.Copy("network_id"), uuid), "admin_state_up": simcloud.Const("true"), "shared": simcloud.Const("false")},
		},
		"openstack_networking_secgroup_v2": {Match: map[string]string{"secgroup_id": "id"}, Values: values{"id": simcloud.OneOf(simcloud.Copy("secgroup_id"), uuid)}},
		"openstack_lb_loadbalancer_v2": {
			Match: map[string]string{"loadbalancer_id": "id"}, Strict: true,
			Values: values{"provisioning_status": simcloud.Const("ACTIVE"), "operating_status": simcloud.Const("ONLINE"), "loadbalancer_id": simcloud.Copy("id")},
		},
		"openstack_compute_instance_v2": {Strict: true, Match: map[string]string{"id": "id"}},
		"openstack_compute_flavor_v2": {Values: values{
			"id": simcloud.OneOf(simcloud.Copy("flavor_id"), uuid), "extra_specs": simcloud.Const(map[string]any{}),
		}},
		"openstack_images_image_v2":     {Values: values{"id": uuid}},
		"openstack_images_image_ids_v2": {Values: values{"ids": func(c *simcloud.Context) any { return []any{c.UUID("0"), c.UUID("1")} }, "id": simcloud.Text("{digits:10}")}},
	}
}
