output "provider_id_list" {
  value = sort([for index, id in local.member_ids : id if index > 0])
}
