output "provider_id_list" {
  value = reverse(sort(local.ids))
}

locals {
  ids = ["a"]
}
