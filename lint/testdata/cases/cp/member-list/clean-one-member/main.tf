resource "openstack_lb_member_v2" "api" {
  pool_id       = "pool"
  address       = "10.0.0.1"
  protocol_port = 6443
}
