variable "control_plane_addresses" {
  type    = list(string)
  default = []
}

resource "openstack_lb_member_v2" "api" {
  for_each      = toset(var.control_plane_addresses)
  pool_id       = openstack_lb_pool_v2.api.id
  address       = each.key
  protocol_port = 6443
}

resource "openstack_lb_pool_v2" "api" {
  protocol = "TCP"
}
