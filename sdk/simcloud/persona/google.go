package persona

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// What replaces an object and what is planned by default follows google/services/{compute,…} of
// hashicorp/terraform-provider-google 6.x; limits and texts of refusals follow the references of the
// Compute Engine, IAM and Secret Manager APIs.

// Google is the persona of hashicorp/google.
func Google() *simcloud.Persona {
	return &simcloud.Persona{
		Source: "hashicorp/google", Title: "Google Cloud",
		Settings:  simcloud.Settings{Region: "europe-west1", Account: "captf-simulated"},
		Configure: configureGoogle,
		Types:     join(googleNetwork(), googleBalancer(), googleCompute(), googleGroups(), googleOther()),
		Data:      googleData(),
		Cloud:     []string{"project", "region", "creation_timestamp"}, ForceNew: []string{"project"},
		Values: values{
			"project": simcloud.Text("{account}"), "creation_timestamp": simcloud.Const("2026-01-01T00:00:00.000-00:00"), "fingerprint": simcloud.Text("{hex:11}="),
			"label_fingerprint": simcloud.Text("{hex:11}="), "etag": simcloud.Text("Bw{hex:8}="),
		},
		Refusals: map[simcloud.Refusal]string{
			simcloud.RefuseExists:   "googleapi: Error 409: The resource already exists, alreadyExists",
			simcloud.RefuseInUse:    "googleapi: Error 400: The resource is already being used by another resource, resourceInUseByAnotherResource",
			simcloud.RefuseQuota:    "googleapi: Error 403: Quota 'CPUS' exceeded. Limit: 24.0 in region, quotaExceeded",
			simcloud.RefuseConflict: "googleapi: Error 400: The resource is not ready, resourceNotReady",
			simcloud.RefuseGone:     "googleapi: Error 404: The resource was not found, notFound",
		},
	}
}

func configureGoogle(config map[string]any) simcloud.Settings {
	s := simcloud.Settings{Tags: map[string]string{}, More: map[string]string{}}
	s.Region, _ = config["region"].(string)
	s.Account, _ = config["project"].(string)
	s.More["zone"], _ = config["zone"].(string)
	if m, ok := config["default_labels"].(map[string]any); ok {
		for k, v := range m {
			s.Tags[k], _ = v.(string)
		}
	}
	if config["add_terraform_attribution_label"] != false {
		s.Tags["goog-terraform-provisioned"] = "true"
	}
	return s
}

const googleAPI = "https://www.googleapis.com/compute/v1/"

// place is the part of a path that says where an object is.
type place string

const (
	global   place = "global"
	regional place = "region"
	zonal    place = "zone"
)

// path is the id of an object, such as projects/p/zones/z/instances/i.
func (p place) path(collection string) simcloud.Value {
	return func(c *simcloud.Context) any {
		where := string(p)
		if p != global {
			where += "s/" + last(c.Text(string(p)), "/")
		}
		return "projects/" + c.Text("project") + "/" + where + "/" + collection + "/" + c.Text("name")
	}
}

// link is the same as a link.
func link(c *simcloud.Context) any { return googleAPI + c.Text("id") }

// google is the rule of a type that has an id, a self link and a place.
func google(kind simcloud.Kind, where place, collection string, rule simcloud.TypeRule) simcloud.TypeRule {
	rule.Kind = kind
	rule.ForceNew = append(rule.ForceNew, "name")
	v := values{"id": where.path(collection), "self_link": link}
	if where != global {
		rule.ForceNew = append(rule.ForceNew, string(where))
	}
	if where == zonal {
		v["zone"] = googleZone
	}
	maps.Copy(v, rule.Values)
	rule.Values = v
	rule.Create = chain(googleName, orNothing(rule.Create))
	return rule
}

func orNothing(h simcloud.Hook) simcloud.Hook {
	if h == nil {
		return func(*simcloud.Context) error { return nil }
	}
	return h
}

func googleZone(c *simcloud.Context) any {
	if z := c.Settings().More["zone"]; z != "" {
		return z
	}
	return c.Settings().Region + "-b"
}

var googleName = named("name", regexp.MustCompile(`^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$`),
	"googleapi: Error 400: Invalid value for field 'resource.name': '%s'. Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)', invalid")

// same tells that two references, each a name, a path or a link, mean one object.
func same(a, b string) bool {
	a, b = strings.TrimPrefix(a, googleAPI), strings.TrimPrefix(b, googleAPI)
	if a == "" || b == "" {
		return false
	}
	if strings.Contains(a, "/") && strings.Contains(b, "/") {
		return a == b
	}
	return last(a, "/") == last(b, "/")
}

// refersTo tells that a value, at a path through lists, means the object with an id.
func refersTo(x any, path, id string) bool {
	switch v := x.(type) {
	case string:
		return path == "" && same(v, id)
	case []any:
		for _, e := range v {
			if refersTo(e, path, id) {
				return true
			}
		}
	case map[string]any:
		head, rest, _ := strings.Cut(path, ".")
		return head != "" && refersTo(v[head], rest, id)
	}
	return false
}

// heldBy refuses a delete while another object refers to this one: pairs of type and path.
func heldBy(pairs ...string) simcloud.Hook {
	return func(c *simcloud.Context) error {
		id := c.Text("id")
		for i := 0; i+1 < len(pairs); i += 2 {
			for _, o := range c.Objects(pairs[i]) {
				if refersTo(o.Attributes, pairs[i+1], id) {
					return fmt.Errorf("googleapi: Error 400: The resource '%s' is already being used by '%s', resourceInUseByAnotherResource", id, o.ID)
				}
			}
		}
		return nil
	}
}

// numeric is an id of digits.
var numeric = simcloud.Text("{digits:19}")

func googleNetwork() types {
	address := func(where place, collection string) simcloud.TypeRule {
		return google(simcloud.KindAddress, where, collection, simcloud.TypeRule{
			ForceNew: []string{"address", "address_type", "description", "ip_version", "network", "prefix_length", "purpose"},
			Defaults: map[string]any{"address_type": "EXTERNAL"},
			Values: values{"address": func(c *simcloud.Context) any {
				if c.Text("address_type") != "INTERNAL" {
					return publicAddress(c)
				}
				return c.Address(googleRange(c, c.Text("subnetwork")))
			}, "prefix_length": simcloud.Const(0)},
			Delete: heldBy("google_compute_*forwarding_rule", "ip_address"),
		})
	}
	regionalAddress := address(regional, "addresses")
	regionalAddress.ForceNew = append(regionalAddress.ForceNew, "network_tier", "subnetwork")
	maps.Copy(regionalAddress.Values, (values{"network_tier": simcloud.Const("PREMIUM"), "purpose": simcloud.Const("GCE_ENDPOINT"), "subnetwork": simcloud.Const(""), "users": simcloud.Const([]any{})}))
	return types{
		"google_compute_network": google(simcloud.KindNetwork, global, "networks", simcloud.TypeRule{
			ForceNew: []string{"auto_create_subnetworks", "description", "enable_ula_internal_ipv6", "internal_ipv6_range", "mtu", "network_profile"},
			Defaults: map[string]any{"auto_create_subnetworks": true, "delete_default_routes_on_create": false, "network_firewall_policy_enforcement_order": "AFTER_CLASSIC_FIREWALL"},
			Values: values{
				"mtu": simcloud.Const(0), "routing_mode": simcloud.Const("REGIONAL"), "gateway_ipv4": simcloud.Const(""), "network_id": numeric, "numeric_id": simcloud.Copy("network_id"),
				"internal_ipv6_range": simcloud.Const(""), "bgp_best_path_selection_mode": simcloud.Const("LEGACY"), "bgp_inter_region_cost": simcloud.Const(""),
				"bgp_always_compare_med": simcloud.Const(false),
			},
			Delete: heldBy("google_compute_subnetwork", "network", "google_compute_firewall", "network", "google_compute_router", "network"),
		}),
		"google_compute_subnetwork": google(simcloud.KindSubnet, regional, "subnetworks", simcloud.TypeRule{
			ForceNew: []string{"description", "network", "purpose", "reserved_internal_range", "ip_collection"},
			Values: values{
				"region": simcloud.Text("{region}"), "gateway_address": func(c *simcloud.Context) any { return googleGateway(c.Text("ip_cidr_range")) }, "purpose": simcloud.Const("PRIVATE"),
				"stack_type": simcloud.Const("IPV4_ONLY"), "private_ipv6_google_access": simcloud.Const("DISABLE_GOOGLE_ACCESS"), "subnetwork_id": numeric,
				"external_ipv6_prefix": simcloud.Const(""), "internal_ipv6_prefix": simcloud.Const(""), "ipv6_cidr_range": simcloud.Const(""), "ipv6_gce_endpoint": simcloud.Const(""),
				"ip_cidr_range": simcloud.Const("10.0.0.0/24"), "private_ip_google_access": simcloud.Const(false), "state": simcloud.Const(""),
			},
			Delete: heldBy("google_compute_instance", "network_interface.subnetwork", "google_compute_address", "subnetwork", "google_compute_forwarding_rule", "subnetwork"),
		}),
		"google_compute_firewall": google(simcloud.KindFirewall, global, "firewalls", simcloud.TypeRule{
			ForceNew: []string{"direction", "network"}, Defaults: map[string]any{"priority": 1000, "disabled": false},
			Values: values{"direction": simcloud.Const("INGRESS"), "destination_ranges": simcloud.Const([]any{}), "source_ranges": simcloud.Const([]any{}), "enable_logging": simcloud.Const(false)},
		}),
		"google_compute_router": google(simcloud.KindOther, regional, "routers", simcloud.TypeRule{
			ForceNew: []string{"network", "encrypted_interconnect_router"}, Values: values{"region": simcloud.Text("{region}")},
		}),
		"google_compute_router_nat": {
			ForceNew: []string{"name", "router", "region", "type"}, Defaults: map[string]any{"icmp_idle_timeout_sec": 30, "tcp_established_idle_timeout_sec": 1200, "tcp_time_wait_timeout_sec": 120, "tcp_transitory_idle_timeout_sec": 30, "udp_idle_timeout_sec": 30, "type": "PUBLIC"},
			Values: values{
				"region": simcloud.Text("{region}"), "id": simcloud.Text("{attr:project}/{attr:region}/{attr:router}/{attr:name}"), "auto_network_tier": simcloud.Const("PREMIUM"),
				"enable_dynamic_port_allocation": simcloud.Const(false), "enable_endpoint_independent_mapping": simcloud.Const(false), "endpoint_types": simcloud.Const([]any{"ENDPOINT_TYPE_VM"}),
				"min_ports_per_vm": simcloud.Const(64), "nat_ip_allocate_option": simcloud.Const("AUTO_ONLY"), "drain_nat_ips": simcloud.Const([]any{}),
			},
			Create: googleName,
		},
		"google_compute_address":        regionalAddress,
		"google_compute_global_address": address(global, "addresses"),
	}
}

// googleRange is the range of a subnetwork, by any reference.
func googleRange(c *simcloud.Context, ref string) string {
	for _, o := range c.Objects("google_compute_subnetwork") {
		if same(o.ID, ref) {
			return o.Text("ip_cidr_range")
		}
	}
	return "10.128.0.0/20"
}

func googleBalancer() types {
	check := func(where place, collection string) simcloud.TypeRule {
		return google(simcloud.KindOther, where, collection, simcloud.TypeRule{
			Defaults: map[string]any{
				"check_interval_sec": 5, "timeout_sec": 5, "healthy_threshold": 2, "unhealthy_threshold": 2, "tcp_health_check.proxy_header": "NONE",
				"https_health_check.proxy_header": "NONE", "https_health_check.request_path": "/", "http_health_check.proxy_header": "NONE", "http_health_check.request_path": "/",
			},
			Values: values{"type": func(c *simcloud.Context) any {
				for _, kind := range []string{"tcp", "ssl", "http", "https", "http2", "grpc"} {
					if len(objects(c.Attr(kind+"_health_check"))) > 0 {
						return strings.ToUpper(kind)
					}
				}
				return ""
			}},
			Delete: heldBy("google_compute_*backend_service", "health_checks"),
		})
	}
	backend := func(where place, scheme string) simcloud.TypeRule {
		return google(simcloud.KindTarget, where, "backendServices", simcloud.TypeRule{
			ForceNew: []string{"load_balancing_scheme"},
			Defaults: map[string]any{"load_balancing_scheme": scheme, "backend.balancing_mode": "UTILIZATION"},
			Values: values{
				"generated_id": numeric, "protocol": simcloud.Const("TCP"), "session_affinity": simcloud.Const("NONE"), "timeout_sec": simcloud.Const(30), "port_name": simcloud.Const(""),
				"connection_draining_timeout_sec": simcloud.Const(300), "backend.capacity_scaler": simcloud.Const(1), "backend.max_utilization": simcloud.Const(0),
			},
			Create: backendGroups, Update: backendGroups,
			Delete: heldBy("google_compute_*target_tcp_proxy", "backend_service", "google_compute_*forwarding_rule", "backend_service"),
		})
	}
	regionalBackend := backend(regional, "INTERNAL")
	regionalBackend.ForceNew = append(regionalBackend.ForceNew, "network")
	proxy := func(where place) simcloud.TypeRule {
		return google(simcloud.KindOther, where, "targetTcpProxies", simcloud.TypeRule{
			ForceNew: []string{"description", "proxy_bind"}, Defaults: map[string]any{"proxy_header": "NONE"}, Values: values{"proxy_id": numeric, "proxy_bind": simcloud.Const(false)},
			Delete: heldBy("google_compute_*forwarding_rule", "target"),
		})
	}
	regionalProxy := proxy(regional)
	regionalProxy.ForceNew = append(regionalProxy.ForceNew, "backend_service", "proxy_header")
	rule := func(where place) simcloud.TypeRule {
		return google(simcloud.KindListener, where, "forwardingRules", simcloud.TypeRule{
			ForceNew: []string{"description", "ip_address", "ip_protocol", "ip_version", "load_balancing_scheme", "network", "network_tier", "port_range", "subnetwork"},
			Defaults: map[string]any{"load_balancing_scheme": "EXTERNAL"},
			Values: values{
				"ip_address": forwardingAddress, "ip_protocol": simcloud.Const("TCP"), "network_tier": simcloud.Const("PREMIUM"), "base_forwarding_rule": simcloud.Const(""),
				"network": simcloud.Const(""), "subnetwork": simcloud.Const(""), "psc_connection_id": simcloud.Const(""), "psc_connection_status": simcloud.Const(""),
				"forwarding_rule_id": numeric, "port_range": simcloud.Const(""),
			},
			Create: alone("googleapi: Error 400: Invalid value for field 'resource.IPAddress': '%s'. The specified IP address and port range conflict with another forwarding rule, invalid",
				"ip_address", "ip_protocol", "port_range"),
		})
	}
	regionalRule := rule(regional)
	regionalRule.ForceNew = append(regionalRule.ForceNew, "all_ports", "backend_service", "ports", "service_label", "is_mirroring_collector")
	regionalRule.Values["service_name"] = simcloud.Const("")
	regionalRule.Values["ports"] = simcloud.Const([]any{})
	regionalRule.Values["ip_version"] = simcloud.Const("")
	globalRule := rule(global)
	return types{
		"google_compute_health_check":              check(global, "healthChecks"),
		"google_compute_region_health_check":       check(regional, "healthChecks"),
		"google_compute_backend_service":           backend(global, "EXTERNAL"),
		"google_compute_region_backend_service":    regionalBackend,
		"google_compute_target_tcp_proxy":          proxy(global),
		"google_compute_region_target_tcp_proxy":   regionalProxy,
		"google_compute_forwarding_rule":           regionalRule,
		"google_compute_global_forwarding_rule":    globalRule,
		"google_compute_target_pool":               google(simcloud.KindTarget, regional, "targetPools", simcloud.TypeRule{ForceNew: []string{"description", "failover_ratio", "session_affinity"}, Values: values{"instances": simcloud.Const([]any{})}}),
		"google_compute_network_endpoint_group":    google(simcloud.KindTarget, zonal, "networkEndpointGroups", simcloud.TypeRule{ForceNew: []string{"default_port", "description", "network", "network_endpoint_type", "subnetwork"}, Values: values{"size": simcloud.Const(0), "generated_id": numeric}}),
		"google_compute_network_endpoint":          {Kind: simcloud.KindAttachment, ForceNew: []string{"instance", "ip_address", "network_endpoint_group", "port", "zone"}, Parents: []string{"network_endpoint_group"}, Cloud: []string{"zone"}, Values: values{"zone": googleZone, "id": simcloud.Text("{attr:project}/{attr:zone}/{attr:network_endpoint_group}/{attr:instance}/{attr:ip_address}/{attr:port}")}},
		"google_compute_instance_group":            instanceGroup(),
		"google_compute_instance_group_membership": membership(),
		"google_compute_security_policy": google(simcloud.KindFirewall, global, "securityPolicies", simcloud.TypeRule{
			ForceNew: []string{"type"}, Values: values{"type": simcloud.Const("CLOUD_ARMOR")},
			Delete: heldBy("google_compute_backend_service", "security_policy"),
		}),
	}
}

// backendGroups: of the groups that the simulated cloud could have, each has to be there.
func backendGroups(c *simcloud.Context) error {
	for _, b := range objects(c.Attr("backend")) {
		group, _ := b["group"].(string)
		if !strings.Contains(group, "projects/"+c.Settings().Account+"/") || !strings.Contains(group, "/instanceGroups/") {
			continue
		}
		found := false
		for _, typ := range []string{"google_compute_instance_group", "google_compute_instance_group_manager", "google_compute_region_instance_group_manager"} {
			for _, o := range c.Objects(typ) {
				found = found || same(o.ID, group) || same(o.Text("instance_group"), group)
			}
		}
		if !found && len(c.Objects("google_compute_instance_group")) > 0 {
			return fmt.Errorf("googleapi: Error 404: The resource '%s' was not found, notFound", strings.TrimPrefix(group, googleAPI))
		}
	}
	return nil
}

// forwardingAddress is one of the subnetwork, or of the internet.
func forwardingAddress(c *simcloud.Context) any {
	if strings.HasPrefix(c.Text("load_balancing_scheme"), "INTERNAL") {
		return c.Address(googleRange(c, c.Text("subnetwork")))
	}
	return publicAddress(c)
}

// instanceGroup is a group whose members are put into it.
func instanceGroup() simcloud.TypeRule {
	return google(simcloud.KindTarget, zonal, "instanceGroups", simcloud.TypeRule{
		ForceNew: []string{"description", "network"},
		Values:   values{"instances": simcloud.Const([]any{}), "size": func(c *simcloud.Context) any { return len(list(c, "instances")) }, "network": simcloud.Const("")},
		Delete:   heldBy("google_compute_*backend_service", "backend.group"),
	})
}

// membership puts one instance into a group, which then reports it.
func membership() simcloud.TypeRule {
	change := func(add bool) simcloud.Hook {
		return func(c *simcloud.Context) error {
			for _, g := range c.Objects("google_compute_instance_group") {
				if !same(g.ID, c.Text("instance_group")) || g.Text("zone") != c.Text("zone") {
					continue
				}
				members := []any{}
				for _, m := range texts(g.Get("instances")) {
					if !same(m, c.Text("instance")) {
						members = append(members, m)
					}
				}
				if add {
					if len(members) < len(texts(g.Get("instances"))) {
						return fmt.Errorf("googleapi: Error 400: Resource '%s' is already a member of '%s', memberAlreadyExists", c.Text("instance"), g.ID)
					}
					members = append(members, c.Text("instance"))
				}
				g.Attributes["instances"], g.Attributes["size"] = members, len(members)
				return c.Put(*g)
			}
			return nil // one that was there before, or is gone
		}
	}
	return simcloud.TypeRule{
		Kind: simcloud.KindAttachment, ForceNew: []string{"instance", "instance_group", "zone"}, Parents: []string{"instance_group"},
		Values: values{"zone": googleZone, "id": func(c *simcloud.Context) any {
			return fmt.Sprintf("projects/%s/zones/%s/instanceGroups/%s/%s", c.Text("project"), c.Text("zone"), last(c.Text("instance_group"), "/"), c.Text("instance"))
		}},
		Create: change(true), Delete: change(false),
	}
}
