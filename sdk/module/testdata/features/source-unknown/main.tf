variable "dir" {
  type    = string
  default = "m"
}
module "m" {
  source = "./${lower(var.dir)}"
}
