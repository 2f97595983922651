variable "tags" {
  type    = map(string)
  default = {}
}
module "net" {
  source = "./modules/net"
  tags   = var.tags
}
module "twice" {
  source = "./modules//net/../net/"
  count  = 2
  tags   = { index = tostring(count.index) }
}
module "windows" {
  source = ".\\modules\\net"
  tags   = {}
}
output "id" {
  value = module.net.id
}
