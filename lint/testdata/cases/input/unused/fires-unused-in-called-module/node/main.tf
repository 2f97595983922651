variable "zone" {
  type = string
}

module "inner" {
  source = "./inner"
  zone   = var.zone
}
