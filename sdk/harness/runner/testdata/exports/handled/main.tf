variable "captf_cluster_outputs" {}

output "try" {
  value = try(var.captf_cluster_outputs.tried.id, "none")
}
output "try_last" {
  value = try(local.x, var.captf_cluster_outputs.last)
}
output "try_alone" {
  value = try(var.captf_cluster_outputs.alone)
}
output "can" {
  value = can(var.captf_cluster_outputs.can.id)
}
output "lookup" {
  value = lookup(var.captf_cluster_outputs.map, "key", null)
}
output "lookup_without" {
  value = lookup(var.captf_cluster_outputs.plain, "key")
}
output "then" {
  value = try(var.captf_cluster_outputs.then, {}).more
}
output "both" {
  value = [try(var.captf_cluster_outputs.both, null), var.captf_cluster_outputs.both]
}
output "core" {
  value = core::try(var.captf_cluster_outputs.namespaced, null)
}
locals {
  x = 1
}
