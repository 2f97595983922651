variable "captf_cluster_outputs" {}

module "net" {
  source  = "./net"
  network = var.captf_cluster_outputs.network
  all     = try(var.captf_cluster_outputs, {})
  plain   = "x"
}
