variable "captf_cluster_outputs" {
  type    = any
  default = null
}

variable "machine_name" {
  type = string
}

variable "bootstrap_data" {
  type      = string
  sensitive = true
}

variable "failure_domain" {
  type    = string
  default = null
}

variable "control_plane" {
  type = bool
}

locals {
  exports = var.captf_cluster_outputs
  domains = sort(keys(local.exports.failure_domains))
  domain = coalesce(
    var.failure_domain,
    local.domains[parseint(substr(sha256(var.machine_name), 0, 8), 16) % length(local.domains)],
  )
}

resource "openstack_networking_port_v2" "node" {
  name = var.machine_name

  fixed_ip {
    subnet_id = local.exports.subnet_id
  }
}

resource "openstack_lb_member_v2" "api" {
  for_each      = var.control_plane ? try(local.exports.api.pools, {}) : {}
  pool_id       = each.value.id
  protocol_port = each.value.port
  address       = openstack_networking_port_v2.node.all_fixed_ips[0]
  subnet_id     = local.exports.subnet_id
}

resource "openstack_compute_instance_v2" "node" {
  name              = var.machine_name
  availability_zone = local.domain
  user_data         = var.bootstrap_data

  network {
    port = openstack_networking_port_v2.node.id
  }

  depends_on = [openstack_lb_member_v2.api]
}

output "addresses" {
  value = concat(
    [for ip in openstack_networking_port_v2.node.all_fixed_ips : { type = "InternalIP", address = ip }],
    [{ type = "Hostname", address = var.machine_name }],
  )
}

output "failure_domain" {
  value = try(openstack_compute_instance_v2.node.availability_zone, var.failure_domain)
}
