output "provider_id_list" {
  value = sort([for m in local.members : m.id if alltrue([m.state != "terminated", m.healthy])])
}

locals {
  members = [{ id = "a", state = "running", healthy = true }]
}
