output "provider_id_list" {
  value = [for m in local.members : m.id if m.healthy]
}

locals {
  members = []
}
