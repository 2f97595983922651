module "self" {
  source = "."
}
module "up" {
  source = ".."
}
module "missing_dot" {
  source = "modules/net"
}
