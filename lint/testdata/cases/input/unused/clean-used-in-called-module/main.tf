variable "failure_domain" {
  type    = string
  default = null
}

variable "bootstrap_format" {
  type = string
}

locals {
  zone = var.failure_domain
}

module "node" {
  source = "./node"
  zone   = local.zone
  format = var.bootstrap_format
}

module "elsewhere" {
  source  = "example/node/null"
  version = "1.0.0"
  zone    = local.zone
}
