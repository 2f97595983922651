output "provider_id_list" {
  value = sort(local.ids)
}

locals {
  ids = ["a"]
}
