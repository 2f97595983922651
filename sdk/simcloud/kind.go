package simcloud

import "regexp"

// names tell the kind of a type that no rule knows, the first that fits.
var names = []struct {
	kind Kind
	name *regexp.Regexp
}{
	{KindAttachment, regexp.MustCompile(`(target_group_attachment|_lb_member(_v\d)?|_backend_address_pool_association|_lb_backend|load_balancer_backend|lb_target)$`)},
	{KindTemplate, regexp.MustCompile(`_(launch_template|instance_template|launch_configuration|instance_configuration)$`)},
	{KindGroup, regexp.MustCompile(`_(autoscaling_group|instance_group_manager|region_instance_group_manager|virtual_machine_scale_set|scale_set|instance_pool)$`)},
	{KindListener, regexp.MustCompile(`_(listener(_v\d)?|lb_rule|forwarding_rule|global_forwarding_rule)$`)},
	{KindTarget, regexp.MustCompile(`_(lb_target_group|lb_pool(_v\d)?|backend_address_pool|backend_service|backend_set|target_pool)$`)},
	{KindBalancer, regexp.MustCompile(`_(lb|alb|elb|load_?balancer(_v\d)?|network_load_balancer_network_load_balancer)$`)},
	{KindFirewall, regexp.MustCompile(`_(security_group|secgroup|firewall|security_list|security_rule)(_rule)?(_v\d)?$|_(ingress|egress)_rule$`)},
	{KindSubnet, regexp.MustCompile(`_(subnet|subnetwork)(_v\d)?$`)},
	{KindPort, regexp.MustCompile(`_(network_interface|networking_port(_v\d)?|nic|vnic)$`)},
	{KindAddress, regexp.MustCompile(`_(eip|public_ip|floatingip(_v\d)?|compute_address|reserved_ip|floating_ip)$`)},
	{KindNetwork, regexp.MustCompile(`_(vpc|vcn|network(_v\d)?|virtual_network)$`)},
	{KindVolume, regexp.MustCompile(`_(volume(_v\d)?|ebs_volume|disk|managed_disk)$`)},
	{KindImage, regexp.MustCompile(`_(ami|image(_v\d)?)$`)},
	{KindRecord, regexp.MustCompile(`_(route53_record|record|recordset(_v\d)?|record_set|[a-z]+_record)$`)},
	{KindIdentity, regexp.MustCompile(`_(iam_[a-z_]+|role|role_policy|instance_profile|service_account|user_assigned_identity)$`)},
	{KindInstance, regexp.MustCompile(`_(instance(_v\d)?|virtual_machine|server|droplet|vm|machine)$`)},
}

// kindByName guesses the kind of a type that no rule knows.
func kindByName(typ string) Kind {
	for _, n := range names {
		if n.name.MatchString(typ) {
			return n.kind
		}
	}
	return KindOther
}
