output "provider_id_list" {
  value = (var.replicas == 0 ? [] : sort(local.ids))
}

locals {
  ids = ["a"]
}

variable "replicas" {
  type = number
}
