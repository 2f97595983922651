variable "captf_cluster_outputs" {
  type    = any
  default = null
}

resource "openstack_lb_members_v2" "api" {
  pool_id = var.captf_cluster_outputs.pool_id

  member {
    address       = openstack_compute_instance_v2.node.access_ip_v4
    protocol_port = 6443
  }
}

resource "openstack_compute_instance_v2" "node" {
  name = "node"
}
