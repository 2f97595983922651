output "provider_id_list" {
  value = sort([for m in local.members : m.id if m.state != "terminated" && m.lifecycle_state == "ACTIVE"])
}

locals {
  members = []
}
