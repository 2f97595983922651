variable "labels" {
  type = map(string)
}

variable "zones" {
  type = list(string)
}

output "labels" {
  value = var.labels
}

module "inner" {
  source = "./inner"
  zones  = var.zones
}

output "zones" {
  value = module.inner.zones
}
