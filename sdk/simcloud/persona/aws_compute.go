package persona

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// userDataLimit is how many bytes of user data EC2 takes, before it encodes them.
const userDataLimit = 16384

// awsCompute follows ec2_instance.go, ec2_launch_template.go, ebs_*.go in internal/service/ec2
// and group.go, policy.go in internal/service/autoscaling.
func awsCompute() types {
	return types{
		"aws_instance": {
			Kind: simcloud.KindInstance,
			ForceNew: []string{
				"ami", "associate_public_ip_address", "availability_zone", "enable_primary_ipv6", "ephemeral_block_device", "hibernation", "ipv6_addresses", "key_name",
				"network_interface", "placement_group", "placement_partition_number", "private_ip", "security_groups", "subnet_id",
				"user_data?user_data_replace_on_change", "user_data_base64?user_data_replace_on_change",
				"root_block_device.encrypted", "root_block_device.kms_key_id", "ebs_block_device.device_name", "ebs_block_device.encrypted", "ebs_block_device.snapshot_id",
				"cpu_options", "enclave_options.enabled", "instance_market_options",
			},
			Defaults: map[string]any{
				"force_destroy": false, "get_password_data": false, "source_dest_check": true, "user_data_replace_on_change": false,
				"root_block_device.delete_on_termination": true, "ebs_block_device.delete_on_termination": true,
			},
			Values: values{
				"id": simcloud.Text("i-{hex:17}"), "arn": arn("ec2:{region}:{account}:instance/{attr:id}"), "instance_state": simcloud.Const("running"),
				"ami": simcloud.Text("ami-{hex:17}"), "instance_type": simcloud.Const("m1.small"),
				"availability_zone": simcloud.OneOf(simcloud.From("aws_subnet", "subnet_id", "availability_zone"), simcloud.Text("{region}a")),
				"subnet_id":         simcloud.Text("subnet-{hex:17}"), "vpc_security_group_ids": simcloud.Const([]any{}), "security_groups": simcloud.Const([]any{}),
				"associate_public_ip_address": func(c *simcloud.Context) any { return awsPublic(c) },
				"private_ip":                  simcloud.AddressIn("aws_subnet", "subnet_id", "cidr_block", "10.0.0.0/16"),
				"private_dns":                 func(c *simcloud.Context) any { return awsPrivateName(c.Text("private_ip"), c.Settings().Region) },
				"public_ip": func(c *simcloud.Context) any {
					if !awsPublic(c) {
						return ""
					}
					return publicAddress(c)
				},
				"public_dns":                   func(c *simcloud.Context) any { return awsPublicName(c.Text("public_ip"), c.Settings().Region) },
				"primary_network_interface_id": simcloud.Text("eni-{hex:17}"), "instance_lifecycle": awsLifecycle,
				"spot_instance_request_id": func(c *simcloud.Context) any {
					if awsLifecycle(c) == "spot" {
						return "sir-" + c.Hex("spot", 8)
					}
					return ""
				},
				"key_name": simcloud.Const(""), "iam_instance_profile": simcloud.Const(""), "outpost_arn": simcloud.Const(""), "password_data": simcloud.Const(""),
				"host_id": simcloud.Const(""), "placement_group": simcloud.Const(""), "placement_group_id": simcloud.Const(""), "placement_partition_number": simcloud.Const(0),
				"ipv6_addresses": simcloud.Const([]any{}), "ipv6_address_count": simcloud.Const(0), "secondary_private_ips": simcloud.Const([]any{}),
				"tenancy": simcloud.Const("default"), "instance_initiated_shutdown_behavior": simcloud.Const("stop"), "user_data_base64": simcloud.Const(""),
				"root_block_device.volume_id": simcloud.Text("vol-{hex:17}"), "root_block_device.device_name": simcloud.Const("/dev/sda1"),
				"root_block_device.volume_type": simcloud.Const("gp3"), "root_block_device.volume_size": simcloud.Const(8), "root_block_device.iops": simcloud.Const(3000),
				"root_block_device.throughput": simcloud.Const(125), "root_block_device.kms_key_id": simcloud.Const(""), "root_block_device.tags_all": simcloud.Const(map[string]any{}),
				"ebs_block_device.volume_id":     simcloud.Text("vol-{hex:17}"),
				"metadata_options.http_endpoint": simcloud.Const("enabled"), "metadata_options.http_tokens": simcloud.Const("optional"),
				"metadata_options.http_put_response_hop_limit": simcloud.Const(1), "metadata_options.instance_metadata_tags": simcloud.Const("disabled"),
				"metadata_options.http_protocol_ipv6": simcloud.Const("disabled"),
			},
			Create: chain(awsTags, awsUserData("user_data", "user_data_base64"), awsPlacement, awsGroupsExist), Update: awsTags,
			Stopped:   map[string]any{"instance_state": "stopped", "public_ip": "", "public_dns": ""},
			Addresses: []string{"private_ip", "private_dns", "public_ip", "public_dns"},
		},
		"aws_launch_template": {
			Kind: simcloud.KindTemplate, ForceNew: []string{"name", "name_prefix"},
			Values: values{
				"id": simcloud.Text("lt-{hex:17}"), "arn": arn("ec2:{region}:{account}:launch-template/{attr:id}"), "name": prefixed("name_prefix"),
				"latest_version": func(c *simcloud.Context) any { return awsTemplateVersion(c) + 1 },
				"default_version": func(c *simcloud.Context) any {
					old := c.Object("aws_launch_template", c.Text("id"))
					if old != nil && !c.Bool("update_default_version") {
						return old.Get("default_version")
					}
					return c.Attr("latest_version")
				},
			},
			Recompute: []string{"latest_version", "default_version"},
			Create: chain(awsTags,
				named("name", regexp.MustCompile(`^[a-zA-Z0-9().\-/_]{3,128}$`), "api error InvalidLaunchTemplateName.MalformedException: the launch template name %q is invalid"),
				alone("api error InvalidLaunchTemplateName.AlreadyExistsException: launch template name %s already in use", "name"),
				awsUserData("", "user_data")),
			Update: chain(awsTags, awsUserData("", "user_data")),
		},
		"aws_autoscaling_group": {
			Kind: simcloud.KindGroup, ForceNew: []string{"name", "name_prefix"},
			Defaults: map[string]any{
				"force_delete": false, "force_delete_warm_pool": false, "health_check_grace_period": 300, "ignore_failed_scaling_activities": false,
				"metrics_granularity": "1Minute", "protect_from_scale_in": false, "wait_for_capacity_timeout": "10m",
				"instance_refresh.preferences.auto_rollback": false, "instance_refresh.preferences.skip_matching": false,
				"instance_refresh.preferences.scale_in_protected_instances": "Ignore", "instance_refresh.preferences.standby_instances": "Ignore",
				"instance_refresh.preferences.min_healthy_percentage": 90,
			},
			Values: values{
				"name": prefixed("name_prefix"), "id": simcloud.Copy("name"),
				"arn":              arn("autoscaling:{region}:{account}:autoScalingGroup:{uuid}:autoScalingGroupName/{attr:name}"),
				"desired_capacity": simcloud.Copy("min_size"), "default_cooldown": simcloud.Const(300), "health_check_type": simcloud.Const("EC2"),
				"availability_zones": func(c *simcloud.Context) any {
					zones := []any{}
					for _, place := range awsPlaces(c) {
						zone, _, _ := strings.Cut(place, "|")
						zones = append(zones, zone)
					}
					return zones
				},
				"vpc_zone_identifier": simcloud.Const([]any{}), "load_balancers": simcloud.Const([]any{}), "target_group_arns": simcloud.Const([]any{}),
				"service_linked_role_arn": simcloud.Text("arn:aws:iam::{account}:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"),
				"predicted_capacity":      simcloud.Const(0), "warm_pool_size": simcloud.Const(0),
				"launch_template.id":   awsTemplateAttribute("id"),
				"launch_template.name": awsTemplateAttribute("name"),
			},
			Create: chain(
				named("name", regexp.MustCompile(`^[^:]{1,255}$`), "api error ValidationError: group name %q is invalid"),
				alone("api error AlreadyExists: AutoScalingGroup by this name already exists - a group with the name %s already exists", "name"),
				awsGroupBounds, awsGroup.resize),
			Update: chain(awsGroupBounds, awsGroup.resize), Read: awsGroup.tick,
		},
		"aws_autoscaling_policy": {
			ForceNew: []string{"name", "autoscaling_group_name"}, Defaults: map[string]any{"policy_type": "SimpleScaling", "enabled": true},
			Values: values{"id": simcloud.Copy("name"), "arn": arn("autoscaling:{region}:{account}:scalingPolicy:{uuid}:autoScalingGroupName/{attr:autoscaling_group_name}:policyName/{attr:name}")},
			Create: awsGroupExists,
		},
		"aws_autoscaling_attachment":     {Kind: simcloud.KindAttachment, ForceNew: []string{"autoscaling_group_name", "elb", "lb_target_group_arn"}, Create: awsGroupExists},
		"aws_autoscaling_lifecycle_hook": {ForceNew: []string{"name", "autoscaling_group_name"}, Values: values{"id": simcloud.Copy("name")}, Create: awsGroupExists},
		"aws_ebs_volume": {
			Kind: simcloud.KindVolume, ForceNew: []string{"availability_zone", "encrypted", "kms_key_id", "outpost_arn", "snapshot_id"},
			Values: values{
				"id": simcloud.Text("vol-{hex:17}"), "arn": arn("ec2:{region}:{account}:volume/{attr:id}"), "type": simcloud.Const("gp3"), "size": simcloud.Const(8),
				"encrypted": simcloud.Const(false), "kms_key_id": simcloud.Const(""), "snapshot_id": simcloud.Const(""),
			},
			Create: awsTags, Update: awsTags,
			UsedBy: []simcloud.Reference{{Type: "aws_volume_attachment", Attribute: "volume_id"}},
		},
		"aws_volume_attachment": {
			ForceNew: []string{"device_name", "instance_id", "volume_id"}, Values: values{"id": simcloud.Text("vai-{digits:10}")},
			Create: alone("api error VolumeInUse: %s is already attached to an instance", "volume_id"),
		},
		"aws_key_pair": {
			ForceNew: []string{"key_name", "key_name_prefix", "public_key"},
			Values: values{
				"key_name": prefixed("key_name_prefix"), "id": simcloud.Copy("key_name"), "arn": arn("ec2:{region}:{account}:key-pair/{attr:key_name}"),
				"key_pair_id": simcloud.Text("key-{hex:17}"), "key_type": simcloud.Const("rsa"),
			},
			Create: alone("api error InvalidKeyPair.Duplicate: the keypair '%s' already exists", "key_name"),
		},
		"aws_placement_group": {
			ForceNew: []string{"name", "partition_count", "spread_level", "strategy"},
			Values:   values{"id": simcloud.Copy("name"), "placement_group_id": simcloud.Text("pg-{hex:17}"), "arn": arn("ec2:{region}:{account}:placement-group/{attr:name}")},
			Create:   alone("api error InvalidPlacementGroup.Duplicate: the placement group '%s' already exists", "name"),
			UsedBy:   []simcloud.Reference{{Type: "aws_instance", Attribute: "placement_group"}},
		},
	}
}

// awsPublic tells whether an instance gets a public address.
func awsPublic(c *simcloud.Context) bool {
	if b, ok := c.Attr("associate_public_ip_address").(bool); ok && c.Path() != "associate_public_ip_address" {
		return b
	}
	if subnet := c.Object("aws_subnet", c.Text("subnet_id")); subnet != nil {
		return subnet.Get("map_public_ip_on_launch") == true
	}
	return false
}

func awsLifecycle(c *simcloud.Context) any {
	if market, _ := object(c.Attr("instance_market_options"))["market_type"].(string); market == "spot" {
		return "spot"
	}
	return ""
}

func awsPrivateName(address, region string) string {
	if address == "" {
		return ""
	}
	name := "ip-" + strings.ReplaceAll(address, ".", "-")
	if region == "us-east-1" {
		return name + ".ec2.internal"
	}
	return name + "." + region + ".compute.internal"
}

func awsPublicName(address, region string) string {
	if address == "" {
		return ""
	}
	return "ec2-" + strings.ReplaceAll(address, ".", "-") + "." + region + ".compute.amazonaws.com"
}

// awsUserData refuses user data that is too large.
func awsUserData(plain, encoded string) simcloud.Hook {
	return func(c *simcloud.Context) error {
		size := 0
		if plain != "" {
			size = len(c.Text(plain))
		}
		if raw, err := base64.StdEncoding.DecodeString(c.Text(encoded)); err == nil {
			size = max(size, len(raw))
		} else {
			return fmt.Errorf("api error InvalidParameterValue: invalid BASE64 encoding of user data: %w", err)
		}
		if size > userDataLimit {
			return fmt.Errorf("api error InvalidParameterValue: user data is limited to %d bytes", userDataLimit)
		}
		return nil
	}
}

// awsPlacement: an instance is in the zone of its subnet.
func awsPlacement(c *simcloud.Context) error {
	subnet := c.Object("aws_subnet", c.Text("subnet_id"))
	if subnet == nil {
		return nil // one that was there before
	}
	if zone := c.Text("availability_zone"); zone != subnet.Text("availability_zone") {
		return fmt.Errorf("api error InvalidParameterValue: the availability zone '%s' is not the one of the subnet '%s'", zone, subnet.ID)
	}
	return nil
}

// awsGroupsExist: a security group of another network is refused.
func awsGroupsExist(c *simcloud.Context) error {
	subnet := c.Object("aws_subnet", c.Text("subnet_id"))
	if subnet == nil {
		return nil
	}
	for _, id := range list(c, "vpc_security_group_ids") {
		if group := c.Object("aws_security_group", id); group != nil && group.Text("vpc_id") != subnet.Text("vpc_id") {
			return fmt.Errorf("api error InvalidParameter: security group %s and subnet %s belong to different networks", id, subnet.ID)
		}
	}
	return nil
}

func awsTemplateVersion(c *simcloud.Context) int {
	old := c.Object("aws_launch_template", c.Text("id"))
	if old == nil {
		return 0
	}
	n, _ := strconv.Atoi(old.Text("latest_version"))
	return n
}

// awsTemplate is the launch template of a scaling group, by id or name.
func awsTemplate(c *simcloud.Context) *simcloud.Object {
	block := object(c.Attr("launch_template"))
	if block == nil {
		block = object(object(object(c.Attr("mixed_instances_policy"))["launch_template"])["launch_template_specification"])
	}
	for _, o := range c.Objects("aws_launch_template") {
		id, name := block["id"], block["name"]
		if id == nil && name == nil {
			id, name = block["launch_template_id"], block["launch_template_name"]
		}
		if id == any(o.ID) || name == any(o.Text("name")) {
			return o
		}
	}
	return nil
}

func awsTemplateAttribute(path string) simcloud.Value {
	return func(c *simcloud.Context) any {
		if o := awsTemplate(c); o != nil {
			return o.Get(path)
		}
		return nil
	}
}

// awsPlaces are the zones of a scaling group, each with its subnet.
func awsPlaces(c *simcloud.Context) []string {
	var out []string
	for _, id := range list(c, "vpc_zone_identifier") {
		var zone string
		if o := c.Object("aws_subnet", id); o != nil {
			zone = o.Text("availability_zone")
		} else {
			zone = c.Settings().Region + string("abc"[c.Pick("zone/"+id, 3)])
		}
		out = append(out, zone+"|"+id)
	}
	if len(out) == 0 {
		for _, zone := range list(c, "availability_zones") {
			out = append(out, zone+"|")
		}
	}
	return out
}

// awsGroupBounds moves the desired capacity into the bounds, as the API does.
func awsGroupBounds(c *simcloud.Context) error {
	low, high := c.Int("min_size"), c.Int("max_size")
	if low > high {
		return fmt.Errorf("api error ValidationError: max bound, %d, must be greater than or equal to min bound, %d", high, low)
	}
	c.Set("desired_capacity", max(low, min(high, c.Int("desired_capacity"))))
	if block := object(c.Attr("launch_template")); block != nil && awsTemplate(c) == nil && block["id"] != nil {
		return fmt.Errorf("api error InvalidLaunchTemplateId.NotFound: the specified launch template, with template ID %v, does not exist", block["id"])
	}
	return nil
}

func awsGroupExists(c *simcloud.Context) error {
	name := c.Text("autoscaling_group_name")
	for _, o := range c.Objects("aws_autoscaling_group") {
		if o.Text("name") == name {
			return nil
		}
	}
	if len(c.Objects("aws_autoscaling_group")) == 0 {
		return nil // one that was there before
	}
	return fmt.Errorf("api error ValidationError: AutoScalingGroup name not found - AutoScalingGroup '%s' not found", name)
}

const (
	awsGroupTag    = "aws:autoscaling:groupName"
	awsTemplateTag = "aws:ec2launchtemplate:id"
)

var awsGroup = group{
	state: "instance_state", starting: "pending", running: "running",
	members: func(c *simcloud.Context) []*simcloud.Object {
		var out []*simcloud.Object
		for _, o := range c.Objects("aws_instance") {
			tags, _ := o.Get("tags").(map[string]any)
			if tags[awsGroupTag] == any(c.Text("name")) && o.Region == c.Settings().Region {
				out = append(out, o)
			}
		}
		return out
	},
	places: awsPlaces,
	place:  func(o *simcloud.Object) string { return o.Text("availability_zone") + "|" + o.Text("subnet_id") },
	size:   func(c *simcloud.Context) int { return c.Int("desired_capacity") },
	stale: func(c *simcloud.Context, o *simcloud.Object) bool {
		template := awsTemplate(c)
		tags, _ := o.Get("tags").(map[string]any)
		return template != nil && object(c.Attr("instance_refresh")) != nil && tags[awsTemplateTag] != any(template.ID)
	},
	build: func(c *simcloud.Context, place, label string) simcloud.Object {
		zone, subnet, _ := strings.Cut(place, "|")
		region := c.Settings().Region
		cidr, public := "10.0.0.0/16", false
		if o := c.Object("aws_subnet", subnet); o != nil {
			cidr, public = o.Text("cidr_block"), o.Get("map_public_ip_on_launch") == true
		}
		tags := map[string]any{awsGroupTag: c.Text("name")}
		attrs := map[string]any{
			"id": "i-" + c.Hex(label, 17), "availability_zone": zone, "subnet_id": subnet, "associate_public_ip_address": public,
			"vpc_security_group_ids": []any{}, "instance_lifecycle": "", "tenancy": "default", "source_dest_check": true, "monitoring": false,
		}
		attrs["arn"] = fmt.Sprintf("arn:aws:ec2:%s:%s:instance/%s", region, c.Settings().Account, attrs["id"])
		if template := awsTemplate(c); template != nil {
			tags[awsTemplateTag] = template.ID
			attrs["ami"], attrs["instance_type"], attrs["key_name"] = template.Get("image_id"), template.Get("instance_type"), template.Get("key_name")
			attrs["iam_instance_profile"] = object(template.Get("iam_instance_profile"))["name"]
			attrs["vpc_security_group_ids"] = template.Get("vpc_security_group_ids")
			if card := object(template.Get("network_interfaces")); card != nil {
				attrs["vpc_security_group_ids"] = card["security_groups"]
				if s, _ := card["associate_public_ip_address"].(string); s != "" {
					public = s == "true"
				}
			}
			if object(template.Get("instance_market_options"))["market_type"] == any("spot") {
				attrs["instance_lifecycle"] = "spot"
			}
			for _, s := range objects(template.Get("tag_specifications")) {
				if m, ok := s["tags"].(map[string]any); ok && s["resource_type"] == any("instance") {
					maps.Copy(tags, m)
				}
			}
		}
		for _, t := range objects(c.Attr("tag")) {
			if key, ok := t["key"].(string); ok && t["propagate_at_launch"] == true {
				tags[key] = t["value"]
			}
		}
		attrs["tags"], attrs["tags_all"] = tags, tags
		attrs["private_ip"] = addressBeside(c, "aws_instance", "private_ip", cidr, label)
		attrs["private_dns"] = awsPrivateName(attrs["private_ip"].(string), region) //nolint:forcetypeassert // It is set above.
		attrs["public_ip"], attrs["public_dns"] = "", ""
		if public {
			address := addressBeside(c, "aws_instance", "public_ip", "198.18.0.0/15", label)
			attrs["public_ip"], attrs["public_dns"], attrs["associate_public_ip_address"] = address, awsPublicName(address, region), true
		}
		id, _ := attrs["id"].(string)
		return simcloud.Object{Type: "aws_instance", ID: id, Kind: simcloud.KindInstance, Region: region, Attributes: attrs}
	},
}
