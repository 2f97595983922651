output "provider_id_list" {
  value = sort([for m in local.members : m.id if m.zone != ""])
}

locals {
  members = []
}
