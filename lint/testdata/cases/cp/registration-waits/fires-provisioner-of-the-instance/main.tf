resource "openstack_compute_instance_v2" "node" {
  name = "node"

  provisioner "file" {
    content     = "x"
    destination = "/etc/motd"
  }
}

resource "openstack_lb_member_v2" "api" {
  address       = openstack_compute_instance_v2.node.access_ip_v4
  protocol_port = 6443
}
