variable "failure_domain" {
  type    = string
  default = null
}

variable "kubernetes_version" {
  type    = string
  default = null
}

locals {
  zone  = var.failure_domain
  never = var.kubernetes_version
}

module "node" {
  source = "./node"
  zone   = local.zone
}
