output "provider_id_list" {
  value = distinct(local.ids)
}

locals {
  ids = ["a"]
}
