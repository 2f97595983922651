variable "captf_cluster_outputs" {
  type    = any
  default = null
}

variable "control_plane" {
  type = bool
}

locals {
  labels = var.control_plane ? { role = "control-plane" } : {}
}

resource "hcloud_server" "node" {
  name    = var.captf_cluster_outputs.prefix
  labels  = local.labels
}
