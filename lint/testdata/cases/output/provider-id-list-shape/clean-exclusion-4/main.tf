output "provider_id_list" {
  value = sort([for m in local.members : m.id if !contains(toset(["terminated"]), m.state)])
}

locals {
  members = [{ id = "a", state = "running" }]
}
