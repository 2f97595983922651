output "provider_id_list" {
  value = local.sorted
}

locals {
  sorted = sort(["b", "a"])
}
