output "provider_id_list" {
  value = reverse(sort(local.member_ids))
}
