variable "network" {}
variable "all" {}
variable "plain" {}

locals {
  subnet = var.network.subnet_id
  plain  = var.plain.no
}

module "deep" {
  source = "../deep"
  images = var.all.images
}
