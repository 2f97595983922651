terraform {
  required_providers {
    openstack = { source = "terraform-provider-openstack/openstack" }
  }
}

resource "openstack_lb_member_v2" "a" {
  pool_id       = "p"
  address       = "10.0.0.9"
  protocol_port = 6443
}
resource "openstack_lb_member_v2" "b" {
  pool_id       = "p"
  address       = openstack_lb_member_v2.a.address
  protocol_port = openstack_lb_member_v2.a.protocol_port
  depends_on    = [openstack_lb_member_v2.a]
}
