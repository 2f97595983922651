package balancer

const aws = "hashicorp/aws"

// loopbackAWS is why a target group that keeps the client's address has no hairpin (modules.md 1.6).
var loopbackAWS = &NoHairpin{
	Path: "preserve_client_ip", Values: []string{"true"},
	Why: "a network load balancer that preserves the client's address cannot lead an instance back to itself: set preserve_client_ip = \"false\"",
}

var amazon = slicesOf(
	networkLB("aws_lb"), networkLB("aws_alb"),
	listenerAWS("aws_lb_listener"), listenerAWS("aws_alb_listener"),
	targetGroup("aws_lb_target_group"), targetGroup("aws_alb_target_group"),
	targetAWS("aws_lb_target_group_attachment"), targetAWS("aws_alb_target_group_attachment"),
	Type{
		Name: "aws_elb", Cloud: aws, Source: doc(aws, "aws_elb"),
		Frontend: &Frontend{Groups: []string{"security_groups"}},
		Listener: &Listening{Ports: []string{"listener.lb_port"}, Targets: []string{"listener.instance_port"}},
		Members:  []string{"instances"},
		Health: &HealthCheck{
			Interval: "health_check.interval", Timeout: "health_check.timeout", Healthy: "health_check.healthy_threshold", Unhealthy: "health_check.unhealthy_threshold",
			DefaultInterval: 30, DefaultHealthy: 10, DefaultUnhealthy: 2, Path: "health_check.target",
		},
	},
	Type{Name: "aws_elb_attachment", Cloud: aws, Source: doc(aws, "aws_elb_attachment"), Attachment: &Attachment{Pool: "elb", Target: "instance"}},
	Type{Name: "aws_instance", Cloud: aws, Source: doc(aws, "aws_instance", "modules.md 2.2"), Instance: true, Placement: "availability_zone"},
	Type{Name: "aws_spot_instance_request", Cloud: aws, Source: doc(aws, "aws_spot_instance_request"), Instance: true, Placement: "availability_zone"},
	Type{Name: "aws_network_interface", Cloud: aws, Source: doc(aws, "aws_network_interface"), Instance: true},
	Type{Name: "aws_launch_template", Cloud: aws, Source: doc(aws, "aws_launch_template", "modules.md 2.3"), Launches: true},
	Type{
		Name: "aws_autoscaling_group", Cloud: aws, Source: doc(aws, "aws_autoscaling_group", "modules.md 2.3"),
		Group: &Group{Rolls: "instance_refresh.strategy"},
	},
	Type{
		Name: "aws_security_group", Cloud: aws, Source: doc(aws, "aws_security_group"),
		Firewall: &Firewall{Rules: "ingress", Group: "id", Protocol: "protocol", From: "from_port", To: "to_port"},
	},
	Type{
		Name: "aws_security_group_rule", Cloud: aws, Source: doc(aws, "aws_security_group_rule"),
		Firewall: &Firewall{Group: "security_group_id", Direction: "type", Ingress: []string{"ingress"}, Protocol: "protocol", From: "from_port", To: "to_port"},
	},
	Type{
		Name: "aws_vpc_security_group_ingress_rule", Cloud: aws, Source: doc(aws, "aws_vpc_security_group_ingress_rule", "modules.md 2.1"),
		Firewall: &Firewall{Group: "security_group_id", Protocol: "ip_protocol", From: "from_port", To: "to_port"},
	},
)

func slicesOf(types ...Type) []Type { return types }

func networkLB(name string) Type {
	return Type{Name: name, Cloud: aws, Source: doc(aws, name, "modules.md 2.1"), Frontend: &Frontend{Groups: []string{"security_groups"}}}
}

func listenerAWS(name string) Type {
	return Type{
		Name: name, Cloud: aws, Source: doc(aws, name, "modules.md 2.1"),
		Listener: &Listening{Ports: []string{"port"}, Pools: []string{"default_action.target_group_arn", "default_action.forward.target_group.arn"}},
	}
}

func targetGroup(name string) Type {
	return Type{
		Name: name, Cloud: aws, Source: doc(aws, name, "modules.md 2.1"),
		Pool: &Pool{Ports: []string{"port"}, NoHairpin: loopbackAWS},
		Health: &HealthCheck{
			Interval: "health_check.interval", Timeout: "health_check.timeout", Healthy: "health_check.healthy_threshold", Unhealthy: "health_check.unhealthy_threshold",
			DefaultInterval: 30, DefaultHealthy: 3, DefaultUnhealthy: 3,
			Protocol: "health_check.protocol", Port: "health_check.port", Path: "health_check.path", Codes: "health_check.matcher", Own: "port",
		},
	}
}

func targetAWS(name string) Type {
	return Type{Name: name, Cloud: aws, Source: doc(aws, name, "modules.md 2.2"), Attachment: &Attachment{Port: "port", Pool: "target_group_arn", Target: "target_id"}}
}
