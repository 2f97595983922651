package persona

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// What replaces an object and what is planned by default follows the schemas in
// internal/service/{ec2,elbv2,autoscaling,iam,s3,…} of hashicorp/terraform-provider-aws
// 6.x (ForceNew and RequiresReplace, Default); limits and texts of refusals follow the
// API references of the services.

// AWS is the persona of hashicorp/aws.
func AWS() *simcloud.Persona {
	return &simcloud.Persona{
		Source: "hashicorp/aws", Title: "AWS",
		Settings:  simcloud.Settings{Region: "eu-central-1", Account: "012345678901"},
		Configure: configureAWS,
		Types:     join(awsNetwork(), awsCompute(), awsBalancer(), awsIdentity(), awsStorage(), awsNames()),
		Data:      awsData(),
		// Every type has a region of its own since 6.0, and moving there is a new object.
		ForceNew: []string{"region"},
		Values: values{
			"owner_id": simcloud.Text("{account}"),
		},
		Refusals: map[simcloud.Refusal]string{
			simcloud.RefuseExists:   "api error EntityAlreadyExists: the name is taken",
			simcloud.RefuseInUse:    "api error DependencyViolation: resource has a dependent object",
			simcloud.RefuseQuota:    "api error VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit allows for the instance bucket that the specified instance type belongs to",
			simcloud.RefuseConflict: "api error ConflictException: another operation on the resource is in progress",
			simcloud.RefuseGone:     "api error NotFound: the resource does not exist",
		},
	}
}

func configureAWS(config map[string]any) simcloud.Settings {
	region, _ := config["region"].(string)
	tags := map[string]string{}
	if m, ok := object(config["default_tags"])["tags"].(map[string]any); ok {
		for k, v := range m {
			tags[k], _ = v.(string)
		}
	}
	return simcloud.Settings{Region: region, Tags: tags}
}

// arn fills a pattern that follows arn:aws:.
func arn(pattern string) simcloud.Value { return simcloud.Text("arn:aws:" + pattern) }

// prefixed is a name, made from name_prefix or a default as the provider does when none is set.
func prefixed(prefixPath string) simcloud.Value {
	return func(c *simcloud.Context) any {
		return or(c, prefixPath, "terraform-") + "2026" + c.Digits(c.Path(), 22)
	}
}

// awsTags refuses tags that AWS refuses.
var awsTags = atMost("tags", 50, 128, "api error InvalidParameterValue: tags exceed the limits")

// awsNetwork follows vpc_*.go in internal/service/ec2.
func awsNetwork() types {
	return types{
		"aws_vpc": {
			Kind:     simcloud.KindNetwork,
			ForceNew: []string{"cidr_block", "ipv4_ipam_pool_id", "ipv4_netmask_length"},
			Defaults: map[string]any{"enable_dns_support": true, "instance_tenancy": "default"},
			Values: values{
				"id": simcloud.Text("vpc-{hex:17}"), "arn": arn("ec2:{region}:{account}:vpc/{attr:id}"), "cidr_block": simcloud.Const("10.0.0.0/16"),
				"default_network_acl_id": simcloud.Text("acl-{hex:17}"), "default_route_table_id": simcloud.Text("rtb-{hex:17}"),
				"default_security_group_id": simcloud.Text("sg-{hex:17}"), "dhcp_options_id": simcloud.Text("dopt-{hex:17}"),
				"main_route_table_id":  simcloud.Copy("default_route_table_id"),
				"enable_dns_hostnames": simcloud.Const(false), "enable_network_address_usage_metrics": simcloud.Const(false),
				"ipv6_association_id": simcloud.Const(""), "ipv6_cidr_block": simcloud.Const(""), "ipv6_ipam_pool_id": simcloud.Const(""),
				"ipv6_cidr_block_network_border_group": simcloud.Const(""), "ipv6_netmask_length": simcloud.Const(0),
			},
			Create: chain(awsTags, vpcRange), Update: awsTags,
			UsedBy: []simcloud.Reference{
				{Type: "aws_subnet", Attribute: "vpc_id"}, {Type: "aws_security_group", Attribute: "vpc_id"},
				{Type: "aws_internet_gateway", Attribute: "vpc_id"}, {Type: "aws_route_table", Attribute: "vpc_id"}, {Type: "aws_vpc_endpoint", Attribute: "vpc_id"},
			},
		},
		"aws_subnet": {
			Kind:     simcloud.KindSubnet,
			ForceNew: []string{"vpc_id", "availability_zone", "availability_zone_id", "cidr_block", "ipv6_native", "outpost_arn"},
			Defaults: map[string]any{
				"assign_ipv6_address_on_creation": false, "enable_dns64": false, "ipv6_native": false, "map_public_ip_on_launch": false,
				"enable_resource_name_dns_a_record_on_launch": false, "enable_resource_name_dns_aaaa_record_on_launch": false,
			},
			Values: values{
				"id": simcloud.Text("subnet-{hex:17}"), "arn": arn("ec2:{region}:{account}:subnet/{attr:id}"),
				"availability_zone": simcloud.Text("{region}a"), "availability_zone_id": zoneID,
				"ipv6_cidr_block_association_id": simcloud.Const(""), "ipv6_cidr_block": simcloud.Const(""),
				"private_dns_hostname_type_on_launch": simcloud.Const("ip-name"),
			},
			Create: chain(awsTags, subnetRange), Update: awsTags,
			UsedBy: []simcloud.Reference{
				{Type: "aws_instance", Attribute: "subnet_id"}, {Type: "aws_network_interface", Attribute: "subnet_id"}, {Type: "aws_nat_gateway", Attribute: "subnet_id"},
				{Type: "aws_lb", Attribute: "subnets"}, {Type: "aws_elb", Attribute: "subnets"}, {Type: "aws_vpc_endpoint", Attribute: "subnet_ids"},
			},
		},
		"aws_internet_gateway": {
			Values: values{"id": simcloud.Text("igw-{hex:17}"), "arn": arn("ec2:{region}:{account}:internet-gateway/{attr:id}"), "vpc_id": simcloud.Const("")},
			Create: chain(awsTags, oneGateway), Update: awsTags, Delete: mappedAddresses,
		},
		"aws_nat_gateway": {
			ForceNew: []string{"allocation_id", "connectivity_type", "private_ip", "subnet_id"},
			Defaults: map[string]any{"connectivity_type": "public"},
			Values: values{
				"id": simcloud.Text("nat-{hex:17}"), "association_id": simcloud.Text("eipassoc-{hex:17}"), "network_interface_id": simcloud.Text("eni-{hex:17}"),
				"private_ip": simcloud.AddressIn("aws_subnet", "subnet_id", "cidr_block", "10.0.0.0/16"),
				"public_ip":  simcloud.From("aws_eip", "allocation_id", "public_ip"),
			},
			Create: awsTags, Update: awsTags,
		},
		"aws_route_table": {
			ForceNew: []string{"vpc_id"},
			Values:   values{"id": simcloud.Text("rtb-{hex:17}"), "arn": arn("ec2:{region}:{account}:route-table/{attr:id}")},
			Create:   awsTags, Update: awsTags,
			UsedBy: []simcloud.Reference{{Type: "aws_route_table_association", Attribute: "route_table_id"}},
		},
		"aws_route": {
			ForceNew: []string{"route_table_id", "destination_cidr_block", "destination_ipv6_cidr_block", "destination_prefix_list_id"},
			Values: values{
				"id": simcloud.Text("r-{attr:route_table_id}{digits:10}"), "origin": simcloud.Const("CreateRoute"), "state": simcloud.Const("active"),
				"instance_id": simcloud.Const(""), "instance_owner_id": simcloud.Const(""), "network_interface_id": simcloud.Const(""),
			},
			Create: alone("api error RouteAlreadyExists: the route identified by %s already exists", "destination_cidr_block", "route_table_id"),
		},
		"aws_route_table_association": {
			ForceNew: []string{"subnet_id", "gateway_id"},
			Values:   values{"id": simcloud.Text("rtbassoc-{hex:17}")},
			Create:   alone("api error Resource.AlreadyAssociated: the specified association for route table conflicts with an existing association of %s", "subnet_id"),
		},
		"aws_vpc_endpoint": {
			ForceNew: []string{"service_name", "vpc_id", "vpc_endpoint_type", "service_region"},
			Defaults: map[string]any{"vpc_endpoint_type": "Gateway"},
			Values: values{
				"id": simcloud.Text("vpce-{hex:17}"), "arn": arn("ec2:{region}:{account}:vpc-endpoint/{attr:id}"), "state": simcloud.Const("available"),
				"prefix_list_id": simcloud.Text("pl-{hex:8}"), "cidr_blocks": simcloud.Const([]any{}), "requester_managed": simcloud.Const(false),
			},
			Create: awsTags, Update: awsTags,
		},
		"aws_security_group": {
			Kind:     simcloud.KindFirewall,
			ForceNew: []string{"name", "name_prefix", "description", "vpc_id"},
			Defaults: map[string]any{"description": "Managed by Terraform", "revoke_rules_on_delete": false},
			Values: values{
				"id": simcloud.Text("sg-{hex:17}"), "arn": arn("ec2:{region}:{account}:security-group/{attr:id}"),
				"name": prefixed("name_prefix"), "vpc_id": simcloud.Text("vpc-{hex:17}"),
				"ingress": simcloud.Const([]any{}), "egress": simcloud.Const([]any{}),
			},
			Create: chain(awsTags,
				named("name", regexp.MustCompile(`^(?:[^s]|s[^g]|sg[^-]).{0,254}$`), "api error InvalidParameterValue: invalid value %q for parameter groupName"),
				alone("api error InvalidGroup.Duplicate: the security group '%s' already exists for VPC", "name", "vpc_id")),
			Update: awsTags, Delete: revokeRules,
			UsedBy: []simcloud.Reference{
				{Type: "aws_instance", Attribute: "vpc_security_group_ids"}, {Type: "aws_network_interface", Attribute: "security_groups"},
				{Type: "aws_lb", Attribute: "security_groups"}, {Type: "aws_elb", Attribute: "security_groups"}, {Type: "aws_vpc_endpoint", Attribute: "security_group_ids"},
			},
		},
		"aws_security_group_rule": {
			Kind: simcloud.KindFirewall,
			ForceNew: []string{
				"type", "from_port", "to_port", "protocol", "cidr_blocks", "ipv6_cidr_blocks", "prefix_list_ids", "security_group_id", "self", "source_security_group_id",
			},
			Defaults: map[string]any{"self": false},
			Values:   values{"id": simcloud.Text("sgrule-{digits:10}"), "security_group_rule_id": simcloud.Text("sgr-{hex:17}"), "source_security_group_id": simcloud.Const("")},
		},
		"aws_vpc_security_group_ingress_rule": securityGroupRule(),
		"aws_vpc_security_group_egress_rule":  securityGroupRule(),
		"aws_network_interface": {
			Kind:     simcloud.KindPort,
			ForceNew: []string{"subnet_id", "interface_type", "ipv4_prefix_count", "private_ip"},
			Defaults: map[string]any{"source_dest_check": true},
			Values: values{
				"id": simcloud.Text("eni-{hex:17}"), "arn": arn("ec2:{region}:{account}:network-interface/{attr:id}"),
				"private_ip":       simcloud.AddressIn("aws_subnet", "subnet_id", "cidr_block", "10.0.0.0/16"),
				"private_ips":      func(c *simcloud.Context) any { return []any{c.Text("private_ip")} },
				"private_dns_name": simcloud.Const(""), "outpost_arn": simcloud.Const(""), "interface_type": simcloud.Const("interface"),
				"security_groups": simcloud.Const([]any{}),
			},
			Create: awsTags, Update: awsTags,
			UsedBy: []simcloud.Reference{{Type: "aws_network_interface_attachment", Attribute: "network_interface_id"}},
		},
		"aws_network_interface_attachment": {
			ForceNew: []string{"instance_id", "network_interface_id", "device_index"},
			Values:   values{"id": simcloud.Text("eni-attach-{hex:17}"), "attachment_id": simcloud.Copy("id"), "status": simcloud.Const("attached")},
		},
		"aws_eip": {
			Kind:     simcloud.KindAddress,
			ForceNew: []string{"address", "domain", "network_border_group", "public_ipv4_pool"},
			Values: values{
				"id": simcloud.Text("eipalloc-{hex:17}"), "allocation_id": simcloud.Copy("id"), "arn": arn("ec2:{region}:{account}:elastic-ip/{attr:id}"),
				"public_ip": publicAddress, "public_dns": simcloud.Const(""), "domain": simcloud.Const("vpc"), "association_id": simcloud.Const(""),
				"instance": simcloud.Const(""), "network_interface": simcloud.Const(""), "private_ip": simcloud.Const(""), "private_dns": simcloud.Const(""),
				"public_ipv4_pool": simcloud.Const("amazon"), "network_border_group": simcloud.Text("{region}"),
			},
			Create: awsTags, Update: awsTags,
			UsedBy: []simcloud.Reference{{Type: "aws_nat_gateway", Attribute: "allocation_id"}},
		},
		"aws_eip_association": {
			ForceNew: []string{"allocation_id", "instance_id", "network_interface_id", "private_ip_address", "public_ip"},
			Values:   values{"id": simcloud.Text("eipassoc-{hex:17}"), "public_ip": simcloud.From("aws_eip", "allocation_id", "public_ip")},
		},
	}
}

// publicAddress is of a range that is for tests of network devices and routed nowhere.
func publicAddress(c *simcloud.Context) any { return c.Address("198.18.0.0/15") }

// securityGroupRule follows vpc_security_group_ingress_rule.go: all but the group changes in place.
func securityGroupRule() simcloud.TypeRule {
	return simcloud.TypeRule{
		Kind: simcloud.KindFirewall, ForceNew: []string{"security_group_id"},
		Values: values{
			"id": simcloud.Text("sgr-{hex:17}"), "security_group_rule_id": simcloud.Copy("id"), "arn": arn("ec2:{region}:{account}:security-group-rule/{attr:id}"),
		},
		Create: chain(awsTags, oneSource, alone("api error InvalidPermission.Duplicate: the specified rule already exists in security group %s",
			"security_group_id", "ip_protocol", "from_port", "to_port", "cidr_ipv4", "cidr_ipv6", "prefix_list_id", "referenced_security_group_id")),
		Update: chain(awsTags, oneSource),
	}
}

// oneSource: the provider takes exactly one of the four.
func oneSource(c *simcloud.Context) error {
	n := 0
	for _, path := range []string{"cidr_ipv4", "cidr_ipv6", "prefix_list_id", "referenced_security_group_id"} {
		if c.Text(path) != "" {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("invalid attribute combination: %d of cidr_ipv4, cidr_ipv6, prefix_list_id and referenced_security_group_id are set, exactly one has to be", n)
	}
	return nil
}

// awsNames are records and keys.
func awsNames() types {
	return types{
		"aws_route53_zone": {
			ForceNew: []string{"name", "delegation_set_id"},
			Defaults: map[string]any{"comment": "Managed by Terraform", "force_destroy": false},
			Values: values{
				"id": func(c *simcloud.Context) any { return "Z" + strings.ToUpper(c.Hex("zone", 20)) }, "zone_id": simcloud.Copy("id"),
				"arn": simcloud.Text("arn:aws:route53:::hostedzone/{attr:id}"), "primary_name_server": simcloud.Text("ns-{digits:3}.awsdns-00.com"),
				"name_servers": simcloud.Const([]any{"ns-0.awsdns-00.com", "ns-512.awsdns-00.net", "ns-1024.awsdns-00.org", "ns-1536.awsdns-00.co.uk"}),
			},
			UsedBy: []simcloud.Reference{{Type: "aws_route53_record", Attribute: "zone_id"}},
		},
		"aws_route53_record": {
			Kind: simcloud.KindRecord, ForceNew: []string{"zone_id", "set_identifier"},
			Values: values{"id": simcloud.Text("{attr:zone_id}_{attr:name}_{attr:type}"), "fqdn": simcloud.Copy("name"), "allow_overwrite": simcloud.Const(false)},
		},
		"aws_kms_key": {
			ForceNew: []string{"customer_master_key_spec", "custom_key_store_id", "key_usage", "multi_region", "xks_key_id"},
			Defaults: map[string]any{
				"bypass_policy_lockout_safety_check": false, "customer_master_key_spec": "SYMMETRIC_DEFAULT", "enable_key_rotation": false, "is_enabled": true,
				"key_usage": "ENCRYPT_DECRYPT",
			},
			Values: values{
				"id": simcloud.Text("{uuid}"), "key_id": simcloud.Copy("id"), "arn": arn("kms:{region}:{account}:key/{attr:id}"), "multi_region": simcloud.Const(false),
			},
		},
		"aws_kms_alias": {
			ForceNew: []string{"name", "name_prefix"},
			Values:   values{"id": simcloud.Copy("name"), "arn": arn("kms:{region}:{account}:{attr:name}"), "target_key_arn": simcloud.From("aws_kms_key", "target_key_id", "arn")},
			Unique:   [][]string{{"name"}},
		},
		"aws_secretsmanager_secret": {
			ForceNew: []string{"name", "name_prefix"},
			Defaults: map[string]any{"force_overwrite_replica_secret": false, "recovery_window_in_days": 30},
			Values: values{
				"name": prefixed("name_prefix"), "id": simcloud.Copy("arn"), "arn": arn("secretsmanager:{region}:{account}:secret:{attr:name}-{hex:6}"),
				"policy": simcloud.Const(""),
			},
			Create: alone("api error ResourceExistsException: the operation failed because the secret %s already exists", "name"),
		},
		"aws_secretsmanager_secret_version": {
			ForceNew: []string{"secret_id", "secret_string", "secret_binary"},
			Values: values{
				"version_id": simcloud.Text("terraform-2026{digits:22}"), "id": simcloud.Text("{attr:secret_id}|{attr:version_id}"), "arn": simcloud.Copy("secret_id"),
				"version_stages": simcloud.Const([]any{"AWSCURRENT"}), "has_secret_string_wo": simcloud.Const(false),
			},
		},
		"aws_ssm_parameter": {
			ForceNew:  []string{"name"},
			Values:    values{"id": simcloud.Copy("name"), "arn": arn("ssm:{region}:{account}:parameter/{attr:name}"), "data_type": simcloud.Const("text"), "tier": simcloud.Const("Standard")},
			Recompute: []string{"version"}, Unique: [][]string{{"name"}},
		},
	}
}

// policyDocument writes the JSON that data.aws_iam_policy_document is for.
func policyDocument(c *simcloud.Context) any {
	type principals = map[string]any
	statements := []any{}
	few := func(l []string) any {
		if len(l) == 1 {
			return l[0]
		}
		return l
	}
	who := func(x any) any {
		out := principals{}
		for _, p := range objects(x) {
			kind, _ := p["type"].(string)
			out[kind] = few(texts(p["identifiers"]))
			if kind == "*" {
				return "*"
			}
		}
		return out
	}
	for _, s := range objects(c.Attr("statement")) {
		out := map[string]any{"Effect": "Allow"}
		for argument, key := range map[string]string{"sid": "Sid", "effect": "Effect"} {
			if text, _ := s[argument].(string); text != "" {
				out[key] = text
			}
		}
		for argument, key := range map[string]string{"actions": "Action", "not_actions": "NotAction", "resources": "Resource", "not_resources": "NotResource"} {
			if l := texts(s[argument]); len(l) > 0 {
				out[key] = few(l)
			}
		}
		for argument, key := range map[string]string{"principals": "Principal", "not_principals": "NotPrincipal"} {
			if len(objects(s[argument])) > 0 {
				out[key] = who(s[argument])
			}
		}
		if conditions := objects(s["condition"]); len(conditions) > 0 {
			all := map[string]map[string]any{}
			for _, condition := range conditions {
				test, _ := condition["test"].(string)
				variable, _ := condition["variable"].(string)
				if all[test] == nil {
					all[test] = map[string]any{}
				}
				all[test][variable] = few(texts(condition["values"]))
			}
			out["Condition"] = all
		}
		statements = append(statements, out)
	}
	document := map[string]any{"Version": or(c, "version", "2012-10-17"), "Statement": statements}
	if id := c.Text("policy_id"); id != "" {
		document["Id"] = id
	}
	raw, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil
	}
	return string(raw)
}
