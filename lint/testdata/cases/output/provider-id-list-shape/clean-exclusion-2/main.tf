output "provider_id_list" {
  value = sort([for m in local.members : m.id if alltrue([m.state != "terminated"])])
}

locals {
  members = [{ id = "a", state = "running" }]
}
