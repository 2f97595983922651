output "provider_id_list" {
  value = sort([for m in local.members : m.id if contains(["terminated"], m.state) == false])
}

locals {
  members = [{ id = "a", state = "running" }]
}
