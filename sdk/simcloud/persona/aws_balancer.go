package persona

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// awsBalancer follows load_balancer.go, target_group.go, listener.go and
// target_group_attachment.go in internal/service/elbv2, and load_balancer.go in internal/service/elb.
func awsBalancer() types {
	elbName := regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?$`)
	return types{
		"aws_lb": {
			Kind:     simcloud.KindBalancer,
			ForceNew: []string{"name", "name_prefix", "internal", "load_balancer_type", "customer_owned_ipv4_pool"},
			Defaults: map[string]any{
				"load_balancer_type": "application", "client_keep_alive": 3600, "desync_mitigation_mode": "defensive", "drop_invalid_header_fields": false,
				"enable_cross_zone_load_balancing": false, "enable_deletion_protection": false, "enable_http2": true,
				"enable_tls_version_and_cipher_suite_headers": false, "enable_waf_fail_open": false, "enable_xff_client_port": false, "enable_zonal_shift": false,
				"idle_timeout": 60, "preserve_host_header": false, "xff_header_processing_mode": "append",
			},
			Values: values{
				"name": func(c *simcloud.Context) any { return or(c, "name_prefix", "tf-lb-") + c.Digits("name", 26)[:20] },
				"arn": func(c *simcloud.Context) any {
					return fmt.Sprintf("arn:aws:elasticloadbalancing:%s:%s:loadbalancer/%s/%s/%s", c.Settings().Region, c.Settings().Account, elbKind(c), c.Text("name"), c.Hex("arn", 16))
				},
				"id": simcloud.Copy("arn"), "arn_suffix": func(c *simcloud.Context) any { return strings.SplitN(c.Text("arn"), ":loadbalancer/", 2)[1] },
				"dns_name": func(c *simcloud.Context) any {
					number := last(c.Text("arn"), "/")
					if elbKind(c) == "net" {
						return fmt.Sprintf("%s-%s.elb.%s.amazonaws.com", c.Text("name"), number, c.Settings().Region)
					}
					name := c.Text("name")
					if c.Bool("internal") {
						name = "internal-" + name
					}
					return fmt.Sprintf("%s-%s.%s.elb.amazonaws.com", name, c.Digits("dns", 10), c.Settings().Region)
				},
				"zone_id": func(c *simcloud.Context) any { return "Z" + strings.ToUpper(c.Hex("zone", 13)) },
				"vpc_id": simcloud.OneOf(simcloud.From("aws_subnet", "subnets", "vpc_id"), func(c *simcloud.Context) any {
					if o := c.Object("aws_subnet", or(c, "subnet_mapping.0.subnet_id", "-")); o != nil {
						return o.Get("vpc_id")
					}
					return "vpc-" + c.Hex("vpc", 17)
				}),
				"subnets": func(c *simcloud.Context) any {
					ids := []any{}
					for _, m := range objects(c.Attr("subnet_mapping")) {
						ids = append(ids, m["subnet_id"])
					}
					return ids
				},
				"internal": simcloud.Const(false), "ip_address_type": simcloud.Const("ipv4"), "security_groups": simcloud.Const([]any{}),
				"enforce_security_group_inbound_rules_on_private_link_traffic": simcloud.Const(""), "dns_record_client_routing_policy": simcloud.Const("any_availability_zone"),
			},
			Create: chain(awsTags, elbNamed(elbName, "load balancer"),
				alone("api error DuplicateLoadBalancerName: a load balancer with the same name '%s' exists, but with different settings", "name"), elbSubnets),
			Update: awsTags, Delete: elbDelete,
		},
		"aws_lb_target_group": {
			Kind:     simcloud.KindTarget,
			ForceNew: []string{"name", "name_prefix", "ip_address_type", "port", "protocol", "protocol_version", "target_type", "vpc_id"},
			Defaults: map[string]any{
				"deregistration_delay": "300", "lambda_multi_value_headers_enabled": false, "proxy_protocol_v2": false, "slow_start": 0, "target_type": "instance",
				"health_check.enabled": true, "health_check.healthy_threshold": 3, "health_check.interval": 30, "health_check.port": "traffic-port",
				"health_check.protocol": "HTTP", "health_check.unhealthy_threshold": 3,
			},
			Values: values{
				"name": func(c *simcloud.Context) any { return or(c, "name_prefix", "tf-") + c.Digits("name", 26)[:20] },
				"arn":  arn("elasticloadbalancing:{region}:{account}:targetgroup/{attr:name}/{hex:16}"), "id": simcloud.Copy("arn"),
				"arn_suffix":             func(c *simcloud.Context) any { return strings.Replace(last(c.Text("arn"), ":"), ":", "", 1) },
				"connection_termination": simcloud.Const(false), "ip_address_type": simcloud.Const("ipv4"), "load_balancer_arns": simcloud.Const([]any{}),
				"load_balancing_algorithm_type": simcloud.Const(""), "load_balancing_anomaly_mitigation": simcloud.Const(""), "load_balancing_cross_zone_enabled": simcloud.Const("use_load_balancer_configuration"),
				"preserve_client_ip": simcloud.Const("true"), "protocol_version": simcloud.Const(""),
				"health_check.timeout": simcloud.Const(10), "health_check.path": simcloud.Const(""), "health_check.matcher": simcloud.Const(""),
			},
			Create: chain(awsTags, elbNamed(elbName, "target group"),
				alone("api error DuplicateTargetGroupName: a target group with the same name '%s' exists, but with different settings", "name")),
			Update: awsTags,
			UsedBy: []simcloud.Reference{
				{Type: "aws_lb_listener", Attribute: "default_action.target_group_arn", To: "arn"},
				{Type: "aws_lb_listener", Attribute: "default_action.forward.target_group.arn", To: "arn"},
			},
		},
		"aws_lb_listener": {
			Kind: simcloud.KindListener, ForceNew: []string{"load_balancer_arn"},
			Values: values{
				"arn": func(c *simcloud.Context) any {
					return strings.Replace(c.Text("load_balancer_arn"), ":loadbalancer/", ":listener/", 1) + "/" + c.Hex("arn", 16)
				},
				"id": simcloud.Copy("arn"), "protocol": simcloud.Const("HTTP"), "ssl_policy": simcloud.Const(""), "tcp_idle_timeout_seconds": simcloud.Const(350),
				"default_action.order": simcloud.Const(1),
			},
			Create: chain(awsTags, elbParent("load_balancer_arn", "aws_lb", "LoadBalancerNotFound: one or more load balancers not found"),
				alone("api error DuplicateListener: a listener already exists on this port for this load balancer '%s'", "load_balancer_arn", "port")),
			Update: awsTags,
		},
		"aws_lb_target_group_attachment": {
			Kind: simcloud.KindAttachment, ForceNew: []string{"availability_zone", "port", "target_group_arn", "target_id"}, Parents: []string{"target_group_arn"},
			Values: values{"id": simcloud.Text("{attr:target_group_arn}-2026{digits:22}")},
			Create: chain(elbParent("target_group_arn", "aws_lb_target_group", "TargetGroupNotFound: target groups '%s' not found"), elbTarget),
		},
		"aws_elb": {
			Kind: simcloud.KindBalancer, ForceNew: []string{"name", "name_prefix", "internal"},
			Defaults: map[string]any{"connection_draining": false, "connection_draining_timeout": 300, "cross_zone_load_balancing": true, "idle_timeout": 60, "desync_mitigation_mode": "defensive"},
			Values: values{
				"name": func(c *simcloud.Context) any { return or(c, "name_prefix", "tf-lb-") + c.Digits("name", 26)[:20] }, "id": simcloud.Copy("name"),
				"arn": arn("elasticloadbalancing:{region}:{account}:loadbalancer/{attr:name}"), "dns_name": simcloud.Text("{attr:name}-{digits:9}.{region}.elb.amazonaws.com"),
				"internal": simcloud.Const(false), "security_groups": simcloud.Const([]any{}), "subnets": simcloud.Const([]any{}), "instances": simcloud.Const([]any{}),
				"source_security_group": simcloud.Text("{account}/default"), "source_security_group_id": simcloud.Text("sg-{hex:17}"),
			},
			Create: chain(awsTags, elbNamed(elbName, "load balancer"), alone("api error DuplicateLoadBalancerName: the load balancer name '%s' is in use", "name")), Update: awsTags,
		},
		"aws_elb_attachment": {Kind: simcloud.KindAttachment, ForceNew: []string{"elb", "instance"}, Parents: []string{"elb"}},
	}
}

// elbKind is the word for the type of a load balancer in its ARN.
func elbKind(c *simcloud.Context) string {
	switch c.Text("load_balancer_type") {
	case "network":
		return "net"
	case "gateway":
		return "gwy"
	}
	return "app"
}

// elbNamed: names have at most 32 characters.
func elbNamed(form *regexp.Regexp, what string) simcloud.Hook {
	return func(c *simcloud.Context) error {
		name := c.Text("name")
		switch {
		case len(name) > 32:
			return fmt.Errorf("api error ValidationError: %s name '%s' cannot be longer than '32' characters", what, name)
		case !form.MatchString(name):
			return fmt.Errorf("api error ValidationError: %s name '%s' must contain only alphanumeric characters and hyphens, and must not begin or end with a hyphen", what, name)
		case strings.HasPrefix(name, "internal-") && what == "load balancer":
			return fmt.Errorf("api error ValidationError: %s name '%s' must not begin with 'internal-'", what, name)
		}
		return nil
	}
}

// elbSubnets: a load balancer has one subnet in each zone, and an application load balancer two zones.
func elbSubnets(c *simcloud.Context) error {
	zones := map[string]string{}
	ids := list(c, "subnets")
	for _, id := range ids {
		o := c.Object("aws_subnet", id)
		if o == nil {
			continue // one that was there before
		}
		zone := o.Text("availability_zone")
		if other := zones[zone]; other != "" {
			return fmt.Errorf("api error InvalidConfigurationRequest: a load balancer cannot be attached to multiple subnets in the same availability zone: %s and %s", other, id)
		}
		zones[zone] = id
	}
	if elbKind(c) == "app" && len(ids) == 1 {
		return errors.New("api error ValidationError: at least two subnets in two different availability zones must be specified")
	}
	return nil
}

// elbDelete: deletion protection holds, and the listeners go with the load balancer.
func elbDelete(c *simcloud.Context) error {
	if c.Bool("enable_deletion_protection") {
		return fmt.Errorf("api error OperationNotPermitted: load balancer '%s' cannot be deleted because deletion protection is enabled", c.Text("arn"))
	}
	for _, o := range c.Objects("aws_lb_listener") {
		if o.Text("load_balancer_arn") == c.Text("arn") {
			c.Remove(o.Type, o.ID)
		}
	}
	return nil
}

// elbParent: a parent whose ARN is of the simulated account has to be there. Those of other
// accounts, and there are no others in the simulated cloud, are the user's.
func elbParent(path, typ, text string) simcloud.Hook {
	return func(c *simcloud.Context) error {
		id := c.Text(path)
		if !strings.Contains(id, ":"+c.Settings().Account+":") || c.Object(typ, id) != nil {
			return nil
		}
		if strings.Contains(text, "%s") {
			text = fmt.Sprintf(text, id)
		}
		return fmt.Errorf("api error %s", text)
	}
}

// elbTarget: only an instance that runs can be registered.
func elbTarget(c *simcloud.Context) error {
	id := c.Text("target_id")
	if !strings.HasPrefix(id, "i-") {
		return nil
	}
	o := c.Object("aws_instance", id)
	if o == nil {
		return fmt.Errorf("api error InvalidTarget: the following targets are not valid: the instance '%s' does not exist", id)
	}
	if state := o.Text("instance_state"); state != "running" {
		return fmt.Errorf("api error InvalidTarget: the following targets are not in a running state and cannot be registered: '%s'", id)
	}
	return nil
}
