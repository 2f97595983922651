output "provider_id_list" {
  value = sort([for m in local.members : m.id if !contains(["terminated", "stopped"], m.state)])
}

locals {
  members = []
}
