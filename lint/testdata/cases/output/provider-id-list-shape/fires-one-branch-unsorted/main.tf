output "provider_id_list" {
  value = var.replicas > 0 ? local.ids : []
}

locals {
  ids = ["a"]
}

variable "replicas" {
  type = number
}
