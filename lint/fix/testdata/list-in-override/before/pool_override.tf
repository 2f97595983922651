output "provider_id_list" {
  value = local.members[*].id
}
