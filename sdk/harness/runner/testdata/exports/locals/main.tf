variable "captf_cluster_outputs" {}

locals {
  exports = var.captf_cluster_outputs
  network = local.exports.network
  soft    = try(var.captf_cluster_outputs.api, null)
  other   = { network = "no" }
}

output "a" {
  value = local.network.id
}
output "b" {
  value = local.soft
}
output "c" {
  value = local.soft.target
}
output "d" {
  value = local.other.network
}
