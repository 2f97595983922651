output "provider_id_list" {
  value = distinct(sort(compact(local.ids)))
}

locals {
  ids = ["a"]
}
