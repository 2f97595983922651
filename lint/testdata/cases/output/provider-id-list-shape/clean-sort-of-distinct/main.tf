output "provider_id_list" {
  value = sort(distinct(local.ids))
}

locals {
  ids = ["a"]
}
