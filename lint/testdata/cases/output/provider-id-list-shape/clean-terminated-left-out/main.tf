output "provider_id_list" {
  value = sort([
    for m in local.members : m.id
    if m.state != "terminated" && m.state != "shutting-down" && !contains(["DELETING", "DELETED"], m.status)
  ])
}

locals {
  members = []
}
