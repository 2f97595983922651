package persona

import (
	"maps"
	"regexp"
	"strings"

	"github.com/captf-toolkit/captf/sdk/simcloud"
)

func googleData() map[string]simcloud.DataRule {
	named := func(where place, collection string, more values) simcloud.DataRule {
		v := values{"id": where.path(collection), "self_link": link}
		maps.Copy(v, more)
		return simcloud.DataRule{Values: v}
	}
	return map[string]simcloud.DataRule{
		"google_client_config": {Values: values{
			"id": simcloud.Text("projects/{account}/regions/{region}/zones/"), "project": simcloud.Text("{account}"), "region": simcloud.Text("{region}"),
			"zone": func(c *simcloud.Context) any { return c.Settings().More["zone"] }, "access_token": simcloud.Text("ya29.{hex:40}"), "default_labels": simcloud.Const(map[string]any{}),
		}},
		"google_project": {Values: values{
			"project_id": simcloud.Text("{account}"), "id": simcloud.Text("projects/{attr:project_id}"), "number": simcloud.Text("{digits:12}"), "name": simcloud.Copy("project_id"),
		}},
		"google_compute_zones": {Values: values{
			"id": simcloud.Text("projects/{account}/regions/{region}"), "project": simcloud.Text("{account}"), "names": func(c *simcloud.Context) any { return googleZones(or(c, "region", c.Settings().Region)) },
		}},
		"google_compute_regions": {Values: values{"names": func(c *simcloud.Context) any { return []any{c.Settings().Region} }, "id": simcloud.Text("projects/{account}")}},
		"google_compute_network": named(global, "networks", nil),
		"google_compute_subnetwork": named(regional, "subnetworks", values{
			"ip_cidr_range": simcloud.Const("10.128.0.0/20"), "region": simcloud.Text("{region}"), "name": simcloud.Const("nodes"), "network": simcloud.Text(googleAPI + "projects/{account}/global/networks/default"),
			"gateway_address": simcloud.Const("10.128.0.1"),
		}),
		"google_compute_subnetworks": {Values: values{"id": simcloud.Text("projects/{account}/regions/{region}"), "region": simcloud.Text("{region}"), "subnetworks": googleSubnetworks}},
		"google_compute_image": {Values: values{
			"name": func(c *simcloud.Context) any { return or(c, "family", "image") + "-v" + c.Digits("image", 8) }, "id": simcloud.Text("projects/{attr:project}/global/images/{attr:name}"), "self_link": link,
			"status": simcloud.Const("READY"), "disk_size_gb": simcloud.Const(20), "image_id": simcloud.Text("{digits:19}"), "project": simcloud.Text("{account}"),
		}},
		"google_compute_instance":       {Strict: true, Match: map[string]string{"name": "name", "zone": "zone"}},
		"google_compute_instance_group": {Values: values{"instances": simcloud.Const([]any{}), "size": simcloud.Const(0)}},
		"google_compute_region_instance_group": {
			Of: "google_compute_region_instance_group_manager", Strict: true, Match: map[string]string{"self_link": "instance_group"},
			Values: values{"instances": googleMembers, "size": func(c *simcloud.Context) any { return len(googleMembersOf(c)) }, "id": simcloud.Copy("self_link")},
		},
		"google_service_account": {Values: values{
			"email": func(c *simcloud.Context) any {
				id := c.Text("account_id")
				if strings.Contains(id, "@") {
					return id
				}
				return id + "@" + or(c, "project", c.Settings().Account) + ".iam.gserviceaccount.com"
			},
			"name": simcloud.Text("projects/{account}/serviceAccounts/{attr:email}"), "id": simcloud.Copy("name"), "member": simcloud.Text("serviceAccount:{attr:email}"), "unique_id": simcloud.Text("{digits:21}"),
		}},
	}
}

var quoted = regexp.MustCompile(`(name|purpose)\s*(?:=|:|eq)\s*"?([a-zA-Z0-9_-]+)"?`)

// googleSubnetworks lists those that the filter asks for; what a user names is there.
func googleSubnetworks(c *simcloud.Context) any {
	asked := map[string]string{}
	for _, m := range quoted.FindAllStringSubmatch(c.Text("filter"), -1) {
		asked[m[1]] = m[2]
	}
	row := func(name, network, cidr string) any {
		id := "projects/" + or(c, "project", c.Settings().Account) + "/regions/" + or(c, "region", c.Settings().Region) + "/subnetworks/" + name
		return map[string]any{
			"name": name, "ip_cidr_range": cidr, "self_link": googleAPI + id, "network": network, "network_name": last(network, "/"), "network_self_link": network, "description": "",
			"private_ip_google_access": false,
		}
	}
	out := []any{}
	for _, o := range c.Objects("google_compute_subnetwork") {
		purpose := asked["purpose"]
		if (asked["name"] == "" || asked["name"] == o.Text("name")) && (purpose == "" || purpose == o.Text("purpose")) {
			out = append(out, row(o.Text("name"), o.Text("network"), o.Text("ip_cidr_range")))
		}
	}
	if len(out) > 0 {
		return out
	}
	network := googleAPI + "projects/" + c.Settings().Account + "/global/networks/default"
	if strings.HasSuffix(asked["purpose"], "MANAGED_PROXY") {
		return []any{row("proxies", network, "10.129.0.0/23")}
	}
	name := asked["name"]
	if name == "" {
		name = "nodes"
	}
	return []any{row(name, network, "10.128.0.0/20")}
}

func googleMembersOf(c *simcloud.Context) []*simcloud.Object {
	var out []*simcloud.Object
	for _, o := range c.Objects("google_compute_instance") {
		m, _ := o.Get("metadata").(map[string]any)
		by, _ := m["created-by"].(string)
		if by != "" && (last(by, "/") == c.Text("name") || last(by, "/") == last(c.Text("self_link"), "/")) {
			out = append(out, o)
		}
	}
	return out
}

func googleMembers(c *simcloud.Context) any {
	out := []any{}
	for _, o := range googleMembersOf(c) {
		out = append(out, map[string]any{"instance": o.Text("self_link"), "status": o.Text("current_status"), "named_ports": []any{}})
	}
	return out
}
