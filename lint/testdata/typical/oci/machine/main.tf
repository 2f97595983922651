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

resource "oci_core_instance" "node" {
  display_name = var.machine_name
  fault_domain = local.domain
  shape        = "VM.Standard.E5.Flex"

  metadata = {
    user_data = var.bootstrap_data
  }
}

resource "oci_network_load_balancer_backend" "api" {
  for_each                 = var.control_plane ? try(local.exports.backend_sets, {}) : {}
  network_load_balancer_id = local.exports.balancer_id
  backend_set_name         = each.value.name
  port                     = each.value.port
  target_id                = oci_core_instance.node.id
}

output "addresses" {
  value = concat(
    [{ type = "InternalIP", address = oci_core_instance.node.private_ip }],
    try(oci_core_instance.node.public_ip, "") == "" ? [] : [{ type = "ExternalIP", address = oci_core_instance.node.public_ip }],
  )
}

output "failure_domain" {
  value = oci_core_instance.node.fault_domain
}
