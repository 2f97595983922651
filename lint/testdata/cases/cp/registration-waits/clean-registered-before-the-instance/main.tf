resource "openstack_networking_port_v2" "node" {
  name = "node"
}

resource "openstack_lb_member_v2" "api" {
  address       = openstack_networking_port_v2.node.all_fixed_ips[0]
  protocol_port = 6443
}

resource "openstack_compute_instance_v2" "node" {
  name       = "node"
  depends_on = [openstack_lb_member_v2.api]

  network {
    port = openstack_networking_port_v2.node.id
  }

  provisioner "remote-exec" {
    inline = ["cloud-init status --wait"]
  }
}
