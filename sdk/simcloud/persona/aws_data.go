package persona

import (
	"slices"

	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// awsData follows *_data_source.go of the same services.
func awsData() map[string]simcloud.DataRule {
	zones := func(c *simcloud.Context) []any {
		region := c.Settings().Region
		return []any{region + "a", region + "b", region + "c"}
	}
	ami := func(label string) simcloud.Value {
		return func(c *simcloud.Context) any { return "ami-" + c.Hex("ami/"+label, 17) }
	}
	known := func(filter string, fallback simcloud.Value) simcloud.Value {
		return func(c *simcloud.Context) any {
			// What a user brings is there.
			if ids := filterValues(c, filter); len(ids) > 0 {
				return ids
			}
			return fallback(c)
		}
	}
	three := func(prefix string) simcloud.Value {
		return func(c *simcloud.Context) any {
			return []any{prefix + c.Hex("0", 17), prefix + c.Hex("1", 17), prefix + c.Hex("2", 17)}
		}
	}
	return map[string]simcloud.DataRule{
		"aws_availability_zones": {Values: values{
			"id": simcloud.Text("{region}"), "names": func(c *simcloud.Context) any { return zones(c) }, "group_names": func(c *simcloud.Context) any { return []any{c.Settings().Region} },
			"zone_ids": func(c *simcloud.Context) any {
				var ids []any
				for _, z := range zones(c) {
					ids = append(ids, zoneIDOf(z.(string))) //nolint:forcetypeassert // They are texts.
				}
				return ids
			},
		}},
		"aws_region": {Values: values{
			"id": simcloud.Text("{region}"), "name": simcloud.Text("{region}"), "region": simcloud.Text("{region}"),
			"endpoint": simcloud.Text("ec2.{region}.amazonaws.com"), "description": simcloud.Text("Simulated ({region})"),
		}},
		"aws_partition": {Values: values{
			"id": simcloud.Const("aws"), "partition": simcloud.Const("aws"), "dns_suffix": simcloud.Const("amazonaws.com"), "reverse_dns_prefix": simcloud.Const("com.amazonaws"),
		}},
		"aws_caller_identity": {Values: values{
			"id": simcloud.Text("{account}"), "account_id": simcloud.Text("{account}"), "arn": simcloud.Text("arn:aws:iam::{account}:user/captf"), "user_id": awsUniqueID("AIDA"),
		}},
		"aws_iam_policy_document": {Values: values{"json": policyDocument, "minified_json": policyDocument, "id": simcloud.Text("{digits:10}"), "version": simcloud.Const("2012-10-17")}},
		"aws_ami": {Values: values{
			"id": ami("0"), "image_id": simcloud.Copy("id"), "arn": simcloud.Text("arn:aws:ec2:{region}::image/{attr:id}"), "state": simcloud.Const("available"),
			"architecture": amiFilter("architecture", "x86_64"), "name": amiName, "root_device_name": simcloud.Const("/dev/sda1"), "root_device_type": simcloud.Const("ebs"),
			"virtualization_type": simcloud.Const("hvm"), "hypervisor": simcloud.Const("xen"), "image_type": simcloud.Const("machine"), "public": simcloud.Const(true),
			"creation_date": simcloud.Const("2026-01-01T00:00:00.000Z"), "ena_support": simcloud.Const(true), "platform_details": simcloud.Const("Linux/UNIX"),
			"root_snapshot_id": simcloud.Text("snap-{hex:17}"),
		}},
		// The newest comes first.
		"aws_ami_ids": {Values: values{
			"ids": func(c *simcloud.Context) any { return []any{ami("0")(c), ami("1")(c)} }, "id": simcloud.Text("{digits:10}"),
		}},
		"aws_instances": {
			Of: "aws_instance", Match: map[string]string{"instance_tags": "tags", "instance_state_names": "instance_state"},
			Filter: map[string]string{
				"availability-zone": "availability_zone", "instance-state-name": "instance_state", "image-id": "ami", "instance-id": "id", "subnet-id": "subnet_id",
				"instance-type": "instance_type", "private-ip-address": "private_ip", "ip-address": "public_ip", "instance.group-id": "vpc_security_group_ids",
				"network-interface.subnet-id": "subnet_id", "instance-lifecycle": "instance_lifecycle", "vpc-id": "", "iam-instance-profile.arn": "",
			},
			List:   map[string]string{"ids": "id", "private_ips": "private_ip", "public_ips": "public_ip"},
			Values: values{"id": simcloud.Text("{region}"), "ipv6_addresses": simcloud.Const([]any{})},
			Read:   runningOnly,
		},
		"aws_instance": {
			Match: map[string]string{"instance_id": "id", "instance_tags": "tags"}, Strict: true,
			Filter: map[string]string{"instance-state-name": "instance_state", "image-id": "ami", "instance-id": "id"},
		},
		"aws_autoscaling_group": {Strict: true},
		"aws_subnets": {
			Of: "aws_subnet", Filter: map[string]string{"subnet-id": "id"}, List: map[string]string{"ids": "id"},
			Values: values{"id": simcloud.Text("{region}"), "ids": known("subnet-id", three("subnet-"))},
		},
		"aws_subnet": {
			Filter: map[string]string{"subnet-id": "id"},
			Values: values{
				"id": simcloud.Text("subnet-{hex:17}"), "arn": simcloud.Text("arn:aws:ec2:{region}:{account}:subnet/{attr:id}"), "vpc_id": simcloud.Text("vpc-{hex:17}"), "state": simcloud.Const("available"),
				"availability_zone": func(c *simcloud.Context) any {
					return c.Settings().Region + string("abc"[c.Pick("zone/"+c.Text("id"), 3)])
				},
				"availability_zone_id": zoneID, "cidr_block": subnetOfUser, "available_ip_address_count": simcloud.Const(251), "map_public_ip_on_launch": simcloud.Const(false),
			},
		},
		"aws_vpcs": {Of: "aws_vpc", Filter: map[string]string{"vpc-id": "id"}, List: map[string]string{"ids": "id"}, Values: values{"id": simcloud.Text("{region}"), "ids": known("vpc-id", three("vpc-"))}},
		"aws_vpc": {
			Filter: map[string]string{"vpc-id": "id"},
			Values: values{
				"id": simcloud.Text("vpc-{hex:17}"), "arn": simcloud.Text("arn:aws:ec2:{region}:{account}:vpc/{attr:id}"), "cidr_block": simcloud.Const("10.0.0.0/16"), "state": simcloud.Const("available"),
				"enable_dns_hostnames": simcloud.Const(true), "enable_dns_support": simcloud.Const(true), "instance_tenancy": simcloud.Const("default"), "main_route_table_id": simcloud.Text("rtb-{hex:17}"),
			},
		},
		"aws_security_groups": {Of: "aws_security_group", Filter: map[string]string{"group-id": "id", "group-name": "name"}, Values: values{"ids": known("group-id", three("sg-")), "id": simcloud.Text("{region}")}},
		"aws_security_group": {
			Filter: map[string]string{"group-id": "id", "group-name": "name"},
			Values: values{"id": simcloud.Text("sg-{hex:17}"), "name": simcloud.Const("default"), "arn": simcloud.Text("arn:aws:ec2:{region}:{account}:security-group/{attr:id}"), "vpc_id": simcloud.Text("vpc-{hex:17}")},
		},
		"aws_lb":              {Match: map[string]string{"arn": "arn", "name": "name"}, Strict: true},
		"aws_lb_target_group": {Match: map[string]string{"arn": "arn", "name": "name"}, Strict: true},
		"aws_ssm_parameter": {Values: values{
			"id": simcloud.Copy("name"), "type": simcloud.Const("String"), "version": simcloud.Const(1), "value": ami("ssm"), "insecure_value": ami("ssm"),
			"arn": simcloud.Text("arn:aws:ssm:{region}:{account}:parameter{attr:name}"),
		}},
		"aws_route53_zone": {Values: values{"zone_id": simcloud.Text("Z0{digits:18}"), "id": simcloud.Copy("zone_id"), "arn": simcloud.Text("arn:aws:route53:::hostedzone/{attr:id}")}},
		"aws_ec2_instance_type": {Values: values{
			"id": simcloud.Copy("instance_type"), "default_vcpus": simcloud.Const(2), "default_cores": simcloud.Const(1), "default_threads_per_core": simcloud.Const(2),
			"memory_size": simcloud.Const(8192), "supported_architectures": simcloud.Const([]any{"x86_64"}), "maximum_network_interfaces": simcloud.Const(3),
			"maximum_ipv4_addresses_per_interface": simcloud.Const(10), "current_generation": simcloud.Const(true), "hypervisor": simcloud.Const("nitro"),
		}},
		"aws_iam_role": {Values: values{"id": simcloud.Copy("name"), "arn": simcloud.Text("arn:aws:iam::{account}:role/{attr:name}"), "path": simcloud.Const("/"), "unique_id": awsUniqueID("AROA")}},
		"aws_iam_instance_profile": {Values: values{
			"id": simcloud.Copy("name"), "arn": simcloud.Text("arn:aws:iam::{account}:instance-profile/{attr:name}"), "role_name": simcloud.Copy("name"),
			"role_arn": simcloud.Text("arn:aws:iam::{account}:role/{attr:name}"), "path": simcloud.Const("/"),
		}},
	}
}

// runningOnly: without states only instances that run are listed.
func runningOnly(c *simcloud.Context) error {
	if c.Attr("instance_state_names") != nil || len(filterValues(c, "instance-state-name")) > 0 {
		return nil
	}
	found := list(c, "ids")
	lists := map[string][]any{"ids": {}, "private_ips": {}, "public_ips": {}}
	for _, o := range c.Objects("aws_instance") {
		if !slices.Contains(found, o.ID) || o.Text("instance_state") != "running" {
			continue
		}
		lists["ids"] = append(lists["ids"], o.ID)
		lists["private_ips"] = append(lists["private_ips"], o.Text("private_ip"))
		if public := o.Text("public_ip"); public != "" {
			lists["public_ips"] = append(lists["public_ips"], public)
		}
	}
	for name, l := range lists {
		c.Set(name, l)
	}
	return nil
}

func amiFilter(name, fallback string) simcloud.Value {
	return func(c *simcloud.Context) any {
		if v := filterValues(c, name); len(v) > 0 {
			return v[0]
		}
		return fallback
	}
}

// amiName is a name that the filter fits.
func amiName(c *simcloud.Context) any {
	v := filterValues(c, "name")
	if len(v) == 0 {
		return "simulated-" + c.Hex("name", 8)
	}
	out := []rune{}
	for _, r := range v[0] {
		switch r {
		case '*':
			out = append(out, []rune(c.Digits("name", 10))...)
		case '?':
			out = append(out, 'v')
		default:
			out = append(out, r)
		}
	}
	return string(out)
}

// subnetOfUser is a range for a subnet that was there before, another one for each.
func subnetOfUser(c *simcloud.Context) any {
	return "10." + c.Digits("b/"+c.Text("id"), 2) + "." + c.Digits("c/"+c.Text("id"), 2) + ".0/24"
}
