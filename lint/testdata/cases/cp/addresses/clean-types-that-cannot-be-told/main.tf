output "addresses" {
  value = [for a in openstack_compute_instance_v2.node.network : { type = a.name, address = a.fixed_ip_v4 }]
}

resource "openstack_compute_instance_v2" "node" {
  name = "node"
}
