variable "captf_cluster_outputs" {}

locals {
  a = local.b
  b = local.a
  c = try(local.c, var.captf_cluster_outputs.x)
}

output "x" {
  value = local.a.x == null ? local.c.y : var.captf_cluster_outputs.z
}
