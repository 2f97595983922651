output "provider_id_list" {
  value = sort([for m in local.members : m.id if m.state == null || m.state != "terminated"])
}

locals {
  members = [{ id = "a", state = "running" }]
}
