variable "dir" {
  default = "m"
}
locals {
  inner = "./${var.dir}"
  outer = local.inner
}
module "m" {
  source = local.outer
}
module "n" {
  source = "${path.module}/m"
}
