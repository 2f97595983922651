variable "captf_cluster_outputs" {}

locals {
  has_api = can(var.captf_cluster_outputs.api)
}

resource "x" "counted" {
  count  = local.has_api ? 1 : 0
  target = var.captf_cluster_outputs.api.target_group
  subnet = var.captf_cluster_outputs.subnet
}

output "conditional" {
  value = try(var.captf_cluster_outputs.dns, null) == null ? null : var.captf_cluster_outputs.dns.zone
}
output "unguarded" {
  value = local.has_api ? var.captf_cluster_outputs.elsewhere : null
}
