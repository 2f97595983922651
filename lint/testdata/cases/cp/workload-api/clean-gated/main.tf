variable "control_plane_initialized" {
  type = bool
}

locals {
  once = var.control_plane_initialized ? toset(["this"]) : toset([])
}

resource "terraform_data" "ready" {
  for_each = local.once
}

resource "helm_release" "cni" {
  for_each = terraform_data.ready
  name     = "cilium"
}

module "addons" {
  source = "./addons"
  count  = var.control_plane_initialized ? 1 : 0
}
