locals {
  dir = "m"
}
module "m" {
  source = "./${local.dir}"
}
